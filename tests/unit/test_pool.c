/* SPDX-License-Identifier: Apache-2.0
 * Claims about pooling by bands: against the definition, window by window. */
#include "op_case.h"

#include <math.h>

#include "tensor/convert.h"

enum { AXES = 3, MOST = 40000 };

/* One axis of them may be of one element alone. */
struct shape {
    int planes, in[AXES], kernel[AXES], stride[AXES], dilation[AXES], begin[AXES], end[AXES];
    bool ceil, include;
};

/* Whole numbers and, where the type has them, halves; exact in every type. */
static void fill(float *x, int64_t n, enum sc_type type)
{
    uint32_t seed = 9;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        const int number = (int)(seed >> 25) - (type == SC_U8 ? 0 : 64);
        x[i] = (float)number / (sc_type_is_int(type) ? 1.0F : 2.0F);
    }
}

/* One window: its largest, or its sum and how many count. NaN once it was met. */
static double window(const struct shape *s, bool average, const float *x, const int64_t *at)
{
    double best = -INFINITY, sum = 0;
    int inside = 0, padded = 0;
    for (int k = 0; k < s->kernel[0] * s->kernel[1] * s->kernel[2]; k++) {
        const int entry[AXES] = {k / s->kernel[2] / s->kernel[1], k / s->kernel[2] % s->kernel[1], k % s->kernel[2]};
        bool in = true, in_pads = true;
        int64_t offset = 0;
        for (int d = 0; d < AXES; d++) {
            const int64_t place = at[d] * s->stride[d] - s->begin[d] + entry[d] * s->dilation[d];
            in = in && place >= 0 && place < s->in[d];
            in_pads = in_pads && place < s->in[d] + s->end[d];
            offset = offset * s->in[d] + place;
        }
        padded += in_pads;
        if (in) {
            const double value = (double)x[offset];
            inside++;
            sum += value;
            best = isnan(value) || value > best ? value : best;
        }
    }
    return average ? sum / (s->include ? padded : inside) : best;
}

static void list(struct op_case *c, const char *name, int axes, const int *values, int64_t *room)
{
    for (int d = 0; d < axes; d++) {
        room[d] = values[AXES - axes + d];
    }
    op_ints(c, name, axes, room);
}

static void open_pool(struct op_case *c, const struct shape *s, bool average, int64_t room[5][2 * AXES])
{
    const int axes = s->in[0] > 1 ? 3 : 2;
    op_open(c, "", average ? "AveragePool" : "MaxPool", average ? 19 : 12, 1);
    list(c, "kernel_shape", axes, s->kernel, room[0]);
    list(c, "strides", axes, s->stride, room[1]);
    list(c, "dilations", axes, s->dilation, room[2]);
    for (int d = 0; d < axes; d++) {
        room[3][d] = s->begin[AXES - axes + d];
        room[3][axes + d] = s->end[AXES - axes + d];
    }
    op_ints(c, "pads", 2 * axes, room[3]);
    op_int(c, "ceil_mode", s->ceil);
    if (average) {
        op_int(c, "count_include_pad", s->include);
    }
}

static void check_output(struct op_case *c, const struct shape *s, bool average, const float *x)
{
    const struct sc_tensor *y = &c->out[0].u.tensor;
    const int64_t plane = (int64_t)s->in[0] * s->in[1] * s->in[2], n = sc_tensor_count(y);
    float *got = sc_arena_array(&c->arena, (size_t)n, sizeof *got);
    assert_non_null(got);
    sc_convert(y->type, op_out(c, 0), SC_F32, got, n, 0);
    const double step = y->type == SC_F16 ? 0x1p-11
        : y->type == SC_BF16              ? 0x1p-8
                                          : 0x1p-23; /* rounded once; f32 twice */
    for (int64_t i = 0; i < n; i++) {
        const int64_t tall = y->dims[y->rank - 2], wide = y->dims[y->rank - 1], deep = y->rank == 5 ? y->dims[2] : 1;
        const int64_t at[AXES] = {i / wide / tall % deep, i / wide % tall, i % wide};
        const double want = window(s, average, x + i / (wide * tall * deep) * plane, at);
        const double bound = average ? step * fabs(want) : 0;
        assert_true(isnan(want) ? isnan(got[i]) : fabs((double)got[i] - want) <= bound);
    }
}

static void check(const struct shape *s, bool average, enum sc_type type)
{
    static float x[MOST];
    static double data[MOST]; /* of any type */
    const int64_t plane = (int64_t)s->in[0] * s->in[1] * s->in[2];
    int64_t room[5][2 * AXES];
    assert_true(s->planes * plane <= MOST);
    fill(x, MOST, type);
    x[plane / 2] = average || sc_type_is_int(type) ? 1.0F : NAN;
    sc_convert(SC_F32, x, type, data, MOST, 0);
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        for (int threads = 1; threads <= 3 && sc_kernels_at((enum sc_isa)isa); threads += 2) {
            struct op_case c;
            open_pool(&c, s, average, room);
            c.kernels = sc_kernels_at((enum sc_isa)isa);
            const struct sc_team_options options = {.n_workers = threads};
            assert_int_equal(sc_team_create(&options, &c.team), SC_OK);
            if (s->in[0] > 1) {
                op_in(&c, type, data, DIMS(1, s->planes, s->in[0], s->in[1], s->in[2]));
            } else {
                op_in(&c, type, data, DIMS(1, s->planes, s->in[1], s->in[2]));
            }
            assert_int_equal(op_run(&c), SC_OK);
            check_output(&c, s, average, x);
            sc_team_free(c.team);
            op_close(&c);
        }
    }
}

#define ONE(a, b)                                                                                                      \
    {                                                                                                                  \
        1, a, b                                                                                                        \
    }
#define NONE(a, b)                                                                                                     \
    {                                                                                                                  \
        0, a, b                                                                                                        \
    }
static const struct shape shapes[] = {
    {3, ONE(23, 31), ONE(3, 3), ONE(2, 2), ONE(1, 1), NONE(1, 1), NONE(1, 1), false, false},
    {5, ONE(14, 14), ONE(2, 2), ONE(2, 2), ONE(1, 1), NONE(0, 0), NONE(0, 0), false, false},
    {2, ONE(100, 130), ONE(3, 3), ONE(1, 1), ONE(1, 1), NONE(1, 1), NONE(1, 1), false, true},
    {400, ONE(5, 7), ONE(5, 3), ONE(1, 3), ONE(1, 2), NONE(2, 1), NONE(2, 1), false, true},
    {1, ONE(7, 7), ONE(7, 7), ONE(1, 1), ONE(1, 1), NONE(0, 0), NONE(0, 0), false, false},
    {2, ONE(10, 11), ONE(3, 2), ONE(2, 2), ONE(1, 1), NONE(0, 1), NONE(0, 0), true, true},
    {2, ONE(12, 12), ONE(3, 3), ONE(4, 3), ONE(2, 2), NONE(1, 0), NONE(0, 2), true, false},
    {3, {8, 10, 12}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, false, false},
    {2, {5, 9, 70}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, false, true},
    {1, {9, 7, 8}, {3, 2, 3}, {3, 1, 2}, {2, 1, 1}, {2, 0, 1}, {1, 1, 0}, true, false},
};

static void max_pool_is_each_windows_largest(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F16, SC_BF16, SC_F64, SC_I8, SC_U8};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int k = 0; k < 6; k++) {
            check(&shapes[i], false, types[k]);
        }
    }
}

static void average_pool_divides_by_what_counts(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F16, SC_BF16, SC_F64};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int k = 0; k < 4; k++) {
            check(&shapes[i], true, types[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_pool_is_each_windows_largest),
        cmocka_unit_test(average_pool_divides_by_what_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
