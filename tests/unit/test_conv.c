/* SPDX-License-Identifier: Apache-2.0
 * Claims about the ways of Conv: each is the chain of multiply-adds that the definition spells, to the last bit, on
 * every level and by any number of threads. */
#include "op_case.h"

#include <math.h>

#include "tensor/convert.h"

struct shape {
    int axes, images, groups, channels, maps; /* of a group */
    int in[3], kernel[3], stride[3], dilation[3], begin[3], end[3];
    bool bias;
};

static void fill(float *x, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int32_t)seed >> 8) / 4194304.0F;
    }
}

static int out_size(const struct shape *s, int d)
{
    const int window = (s->kernel[d] - 1) * s->dilation[d] + 1;
    return (s->in[d] + s->begin[d] + s->end[d] - window) / s->stride[d] + 1;
}

static float step(bool fused, float w, float x, float sum)
{
    const float product = w * x;
    return fused ? fmaf(w, x, sum) : product + sum;
}

/* One output, its chain over channels and kernel entries in order. */
static float chain(const struct shape *s, bool fused, const float *x, const float *w, const int *at)
{
    float sum = 0;
    for (int c = 0; c < s->channels; c++) {
        for (int k0 = 0; k0 < s->kernel[0]; k0++) {
            for (int k1 = 0; k1 < s->kernel[1]; k1++) {
                for (int k2 = 0; k2 < s->kernel[2]; k2++) {
                    const int k[3] = {k0, k1, k2};
                    int64_t offset = c;
                    bool inside = true;
                    for (int d = 0; d < 3; d++) {
                        const int p = at[d] * s->stride[d] - s->begin[d] + k[d] * s->dilation[d];
                        inside = inside && p >= 0 && p < s->in[d];
                        offset = offset * s->in[d] + p;
                    }
                    sum = step(fused, *w++, inside ? x[offset] : 0.0F, sum);
                }
            }
        }
    }
    return sum;
}

static void reference(const struct shape *s, bool fused, const float *x, const float *w, const float *bias, float *y)
{
    const int plane = s->in[0] * s->in[1] * s->in[2], taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    for (int row = 0; row < s->images * s->groups * s->maps; row++) {
        const int group = row / s->maps, map = row % (s->groups * s->maps); /* group counts through the images */
        int at[3];
        for (at[0] = 0; at[0] < out_size(s, 0); at[0]++) {
            for (at[1] = 0; at[1] < out_size(s, 1); at[1]++) {
                for (at[2] = 0; at[2] < out_size(s, 2); at[2]++) {
                    const float sum = chain(
                        s, fused, x + (int64_t)group * s->channels * plane, w + (int64_t)map * s->channels * taps, at);
                    *y++ = bias ? sum + bias[map] : sum;
                }
            }
        }
    }
}

struct data {
    enum sc_type type;
    bool constant; /* the weights */
    const void *x, *w, *bias; /* bias may be NULL */
};

static void run_case(struct op_case *c, const struct shape *s, const struct data *data)
{
    const int skip = 3 - s->axes;
    int64_t *lists = sc_arena_array(&c->arena, 32, sizeof *lists);
    int64_t x_dims[5] = {s->images, s->groups * s->channels}, w_dims[5] = {s->groups * s->maps, s->channels};
    for (int d = 0; d < s->axes; d++) {
        lists[d] = s->stride[skip + d];
        lists[8 + d] = s->dilation[skip + d];
        lists[16 + d] = s->begin[skip + d];
        lists[16 + s->axes + d] = s->end[skip + d];
        x_dims[2 + d] = s->in[skip + d];
        w_dims[2 + d] = s->kernel[skip + d];
    }
    op_int(c, "group", s->groups);
    op_ints(c, "strides", s->axes, lists);
    op_ints(c, "dilations", s->axes, lists + 8);
    op_ints(c, "pads", 2 * s->axes, lists + 16);
    op_in(c, data->type, data->x, 2 + s->axes, x_dims);
    op_in(c, data->type, data->w, 2 + s->axes, w_dims);
    if (data->bias) {
        op_in(c, data->type, data->bias, DIMS(s->groups * s->maps));
    }
    c->constant[1] = data->constant;
    assert_int_equal(op_run(c), SC_OK);
}

static void check(const struct shape *s)
{
    const int64_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    const int64_t n_x = (int64_t)s->images * s->groups * s->channels * s->in[0] * s->in[1] * s->in[2];
    const int64_t n_w = s->groups * s->maps * s->channels * taps, n_bias = s->groups * s->maps;
    const int64_t n_y = s->images * n_bias * out_size(s, 0) * out_size(s, 1) * out_size(s, 2);
    float *x = malloc((size_t)(n_x + n_w + n_bias + n_y) * sizeof *x);
    assert_non_null(x);
    float *w = x + n_x, *bias = w + n_w, *want = bias + n_bias;
    fill(x, n_x + n_w + n_bias, (uint32_t)(n_x + n_w));
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa);
        if (!kernels) {
            continue;
        }
        reference(s, isa != SC_ISA_BASE, x, w, s->bias ? bias : NULL, want);
        for (int threads = 1; threads <= 3; threads += 2) {
            struct op_case c;
            op_open(&c, "", "Conv", 11, 1);
            c.kernels = kernels;
            const struct sc_team_options options = {.n_workers = threads};
            assert_int_equal(sc_team_create(&options, &c.team), SC_OK);
            run_case(&c, s, &(struct data){SC_F32, true, x, w, s->bias ? bias : NULL});
            assert_int_equal(sc_tensor_count(&c.out[0].u.tensor), n_y);
            assert_memory_equal(op_out(&c, 0), want, (size_t)n_y * sizeof *want);
            sc_team_free(c.team);
            op_close(&c);
        }
    }
    free(x);
}

/* 16-bit floats: the chain of the widened numbers, its end with the bias rounded once. */
static void check_narrow(const struct shape *s, enum sc_type type, bool constant)
{
    const int64_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2], n_bias = s->groups * s->maps;
    const int64_t n_x = (int64_t)s->images * s->groups * s->channels * s->in[0] * s->in[1] * s->in[2];
    const int64_t n_w = n_bias * s->channels * taps, n_in = n_x + n_w + n_bias;
    const int64_t n_y = s->images * n_bias * out_size(s, 0) * out_size(s, 1) * out_size(s, 2);
    float *wide = malloc((size_t)(n_in + n_y) * sizeof *wide), *y = wide + n_in;
    uint16_t *narrow = malloc((size_t)(n_in + n_y) * sizeof *narrow), *want = narrow + n_in;
    assert_true(wide && narrow);
    fill(wide, n_in, (uint32_t)n_in);
    sc_convert(SC_F32, wide, type, narrow, n_in, 0);
    sc_convert(type, narrow, SC_F32, wide, n_in, 0);
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa);
        if (!kernels) {
            continue;
        }
        reference(s, isa != SC_ISA_BASE, wide, wide + n_x, s->bias ? wide + n_x + n_w : NULL, y);
        sc_convert(SC_F32, y, type, want, n_y, 0);
        struct op_case c;
        op_open(&c, "", "Conv", 22, 1);
        c.kernels = kernels;
        const struct sc_team_options options = {.n_workers = 2};
        assert_int_equal(sc_team_create(&options, &c.team), SC_OK);
        run_case(&c, s, &(struct data){type, constant, narrow, narrow + n_x, s->bias ? narrow + n_x + n_w : NULL});
        assert_memory_equal(op_out(&c, 0), want, (size_t)n_y * sizeof *want);
        sc_team_free(c.team);
        op_close(&c);
    }
    free(wide);
    free(narrow);
}

#define PLAIN                                                                                                          \
    {                                                                                                                  \
        1, 1, 1                                                                                                        \
    }

static void columns_are_the_chain_to_the_last_bit(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {2, 2, 1, 3, 5, {1, 9, 11}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, true},
        {2, 1, 1, 70, 33, {1, 7, 7}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, false},
        {2, 1, 2, 4, 9, {1, 20, 37}, {1, 5, 3}, {1, 2, 3}, {1, 1, 2}, {0, 3, 0}, {0, 1, 5}, true},
        {2, 2, 2, 30, 11, {1, 8, 16}, PLAIN, PLAIN, PLAIN, {0}, {0}, true}, /* read in place */
        {2, 3, 1, 130, 17, {1, 6, 8}, PLAIN, PLAIN, PLAIN, {0}, {0}, true},
        {2, 1, 1, 300, 40, {1, 1, 1}, PLAIN, PLAIN, PLAIN, {0}, {0}, true},
        {1, 2, 1, 8, 6, {1, 1, 100}, {1, 1, 7}, {1, 1, 2}, PLAIN, {0, 0, 6}, {0}, true},
        {3, 1, 1, 2, 3, {5, 6, 7}, {2, 3, 2}, {2, 1, 1}, {1, 2, 1}, {1, 0, 1}, {0, 2, 1}, false},
        {2, 1, 1, 1, 4, {1, 3, 3}, {1, 2, 2}, PLAIN, {1, 4, 4}, {0, 4, 4}, {0, 4, 4}, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check(&shapes[i]);
    }
}

static void many_blocks_of_positions_and_maps_change_no_bit(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {2, 1, 1, 40, 260, {1, 12, 17}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, true},
        {2, 1, 1, 3, 40, {1, 70, 70}, {1, 7, 7}, {1, 2, 2}, PLAIN, {0, 3, 3}, {0, 3, 3}, true},
        {2, 1, 1, 700, 100, {1, 9, 13}, {1, 2, 2}, PLAIN, PLAIN, {0}, {0}, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check(&shapes[i]);
    }
}

static void points_are_the_chain_to_the_last_bit(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {2, 1, 1, 20, 48, {1, 7, 7}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, true},
        {2, 2, 2, 40, 64, {1, 14, 14}, PLAIN, PLAIN, PLAIN, {0}, {0}, true},
        {2, 1, 3, 300, 16, {1, 1, 1}, PLAIN, PLAIN, PLAIN, {0}, {0}, false},
        {2, 1, 1, 31, 250, {1, 9, 9}, {1, 2, 3}, {1, 2, 2}, {1, 3, 1}, {0, 2, 0}, {0, 1, 3}, true},
        {1, 2, 1, 1, 100, {1, 1, 9}, {1, 1, 3}, PLAIN, PLAIN, {0, 0, 1}, {0, 0, 1}, true},
        /* several blocks of positions, read in place and gathered */
        {2, 1, 1, 9, 64, {1, 17, 17}, PLAIN, PLAIN, PLAIN, {0}, {0}, true},
        {2, 2, 1, 300, 32, {1, 16, 16}, {1, 2, 2}, PLAIN, PLAIN, {0}, {0}, true},
        {3, 1, 1, 5, 1600, {2, 3, 3}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, false},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check(&shapes[i]);
    }
}

static void depthwise_is_the_chain_to_the_last_bit(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {2, 2, 5, 1, 1, {1, 7, 7}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, true},
        {2, 1, 3, 1, 2, {1, 15, 14}, {1, 5, 5}, {1, 2, 2}, PLAIN, {0, 2, 2}, {0, 2, 2}, true},
        {2, 1, 2, 1, 1, {1, 19, 23}, {1, 3, 2}, {1, 3, 2}, {1, 2, 5}, {0, 0, 7}, {0, 5, 1}, false},
        {2, 1, 2, 1, 1, {1, 200, 130}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, true},
        {2, 1, 2, 1, 1, {1, 151, 222}, {1, 3, 3}, {1, 2, 2}, PLAIN, {0, 0, 1}, {0, 1, 1}, true},
        {1, 2, 4, 1, 3, {1, 1, 50}, {1, 1, 4}, {1, 1, 3}, PLAIN, {0, 0, 3}, {0}, true},
        {2, 1, 3, 1, 1, {1, 2, 2}, {1, 2, 2}, PLAIN, {1, 3, 3}, {0, 5, 5}, {0, 5, 5}, true},
        {2, 1, 300, 1, 1, {1, 5, 6}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check(&shapes[i]);
    }
}

static void images_of_a_batch_do_not_touch_each_other(void **state)
{
    (void)state;
    const struct shape two = {2, 2, 1, 6, 20, {1, 10, 10}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 1}, true};
    struct shape one = two;
    one.images = 1;
    float x[2 * 6 * 100], w[20 * 6 * 9], bias[20];
    fill(x, 2 * 6 * 100, 1);
    fill(w, 20 * 6 * 9, 2);
    fill(bias, 20, 3);
    struct op_case both, second;
    op_open(&both, "", "Conv", 11, 1);
    op_open(&second, "", "Conv", 11, 1);
    run_case(&both, &two, &(struct data){SC_F32, true, x, w, bias});
    run_case(&second, &one, &(struct data){SC_F32, true, x + 6 * 100, w, bias});
    assert_memory_equal((const float *)op_out(&both, 0) + 20 * 100, op_out(&second, 0), 20 * 100 * sizeof(float));
    op_close(&both);
    op_close(&second);
}

static void narrow_types_are_rounded_once(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {2, 2, 1, 5, 20, {1, 9, 8}, {1, 3, 3}, PLAIN, PLAIN, {0, 1, 1}, {0, 1, 0}, true},
        {2, 1, 2, 3, 4, {1, 7, 7}, {1, 1, 1}, PLAIN, PLAIN, {0}, {0}, false},
        {2, 1, 6, 1, 1, {1, 12, 11}, {1, 5, 3}, {1, 2, 2}, PLAIN, {0, 2, 1}, {0, 2, 1}, true},
        {1, 2, 1, 4, 3, {1, 1, 50}, {1, 1, 4}, {1, 1, 3}, {1, 1, 2}, {0, 0, 3}, {0, 0, 3}, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check_narrow(&shapes[i], SC_F16, true);
        check_narrow(&shapes[i], SC_F16, false);
        check_narrow(&shapes[i], SC_BF16, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_chain_to_the_last_bit),
        cmocka_unit_test(many_blocks_of_positions_and_maps_change_no_bit),
        cmocka_unit_test(points_are_the_chain_to_the_last_bit),
        cmocka_unit_test(depthwise_is_the_chain_to_the_last_bit),
        cmocka_unit_test(narrow_types_are_rounded_once),
        cmocka_unit_test(images_of_a_batch_do_not_touch_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
