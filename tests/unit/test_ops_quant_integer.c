/* SPDX-License-Identifier: Apache-2.0
 * Products and convolutions of 8-bit integers against plain loops, on every level and by several threads: integers are
 * exact. */
#include "op_case.h"

#include <math.h>

enum { MOST = 1 << 18 };

static uint8_t a[MOST], b[MOST], zeros[MOST];
static int32_t sums[MOST];

static void fill(uint8_t *x, int n, uint32_t seed)
{
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (uint8_t)(seed >> 24);
    }
}

static int widen(enum sc_type type, uint8_t byte)
{
    return type == SC_I8 ? (int8_t)byte : byte;
}

/* Runs the operator on every level by one thread and three, and holds its result against `want`. */
static void check(void (*open)(struct op_case *c, const void *shape), const void *shape, enum sc_type type,
    const void *want, size_t bytes)
{
    for (int isa = 0; isa < SC_ISA_N; isa++) {
        for (int threads = 1; sc_kernels_at((enum sc_isa)isa) && threads <= 3; threads += 2) {
            struct op_case c;
            open(&c, shape);
            c.kernels = sc_kernels_at((enum sc_isa)isa);
            const struct sc_team_options options = {.n_workers = threads};
            assert_int_equal(sc_team_create(&options, &c.team), SC_OK);
            assert_int_equal(op_run(&c), SC_OK);
            assert_int_equal(c.out[0].u.tensor.type, type);
            assert_int_equal(sc_tensor_bytes(&c.out[0].u.tensor), bytes);
            assert_memory_equal(op_out(&c, 0), want, bytes);
            sc_team_free(c.team);
            op_close(&c);
        }
    }
}

struct product {
    int64_t batch, M, K, N; /* batch: of A, against one B unless `batches` */
    enum sc_type a, b;
    bool rows, columns; /* a zero point and scale for each, else one for all */
    bool batches; /* B has as many matrices as A */
    bool packed; /* B is constant */
    bool linear; /* QLinearMatMul, else MatMulInteger */
};

static const float scales[4] = {0.25F, 0.5F, 0.0009765625F, 2.0F}; /* powers of two: products are exact */
static float a_scales[256], b_scales[256];

static void open_product(struct op_case *c, const void *shape)
{
    const struct product *p = shape;
    const int64_t rows = p->rows ? p->batch * p->M : 1, columns = p->columns ? p->N : 1;
    op_open(c, "", p->linear ? "QLinearMatMul" : "MatMulInteger", 10, 1);
    op_in(c, p->a, a, DIMS(p->batch, p->M, p->K));
    if (p->linear) {
        op_in(c, SC_F32, a_scales, DIMS(rows));
        op_in(c, p->a, zeros, DIMS(rows));
    }
    c->constant[c->node.n_in] = p->packed;
    op_in(c, p->b, b, DIMS(p->batches ? p->batch : 1, p->K, p->N));
    if (p->linear) {
        op_in(c, SC_F32, b_scales, DIMS(columns));
        op_in(c, p->b, zeros + 1, DIMS(columns));
        op_in(c, SC_F32, scales, DIMS(1));
        op_in(c, SC_I8, zeros + 3, DIMS(1));
        return;
    }
    op_in(c, p->a, zeros, DIMS(rows));
    op_in(c, p->b, zeros + 1, DIMS(columns));
}

static int32_t multiply(const struct product *p, int64_t row, int64_t n)
{
    const int a_zero = widen(p->a, zeros[p->rows ? row : 0]), b_zero = widen(p->b, zeros[1 + (p->columns ? n : 0)]);
    const uint8_t *matrix = b + (p->batches ? row / p->M * p->K * p->N : 0);
    int32_t sum = 0;
    for (int64_t k = 0; k < p->K; k++) {
        sum += (widen(p->a, a[row * p->K + k]) - a_zero) * (widen(p->b, matrix[k * p->N + n]) - b_zero);
    }
    return sum;
}

static void products_are_exact_for_all_types_and_zero_points(void **state)
{
    (void)state;
    static const struct product products[] = {
        {1, 1, 7, 5, SC_U8, SC_U8, false, false, false, false, false},
        {1, 5, 37, 70, SC_U8, SC_I8, true, true, false, true, false},
        {1, 17, 300, 33, SC_I8, SC_U8, false, true, false, false, true},
        {1, 130, 500, 200, SC_I8, SC_I8, true, false, false, true, true},
        {1, 3, 2000, 20, SC_U8, SC_U8, true, true, false, false, true},
        {3, 4, 9, 18, SC_U8, SC_I8, true, true, true, true, true},
        {2, 70, 33, 16, SC_I8, SC_U8, true, false, true, false, false},
        {3, 2, 0, 3, SC_U8, SC_U8, false, false, false, false, true},
    };
    static int8_t bytes[MOST];
    for (int i = 0; i < 256; i++) {
        a_scales[i] = scales[i % 4];
        b_scales[i] = scales[i / 4 % 4] / 64;
    }
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const struct product *p = &products[i];
        const int64_t n = p->batch * p->M * p->N;
        fill(a, (int)(p->batch * p->M * p->K), 1);
        fill(b, (int)(p->batch * p->K * p->N), 2);
        fill(zeros, MOST, 3);
        for (int64_t at = 0; at < n; at++) {
            const int64_t row = at / p->N, column = at % p->N;
            sums[at] = multiply(p, row, column);
            const double factor =
                (double)a_scales[p->rows ? row : 0] * (double)b_scales[p->columns ? column : 0] / (double)scales[0];
            const double value = rint((double)sums[at] * factor) + (int8_t)zeros[3];
            bytes[at] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
        }
        check(open_product, p, p->linear ? SC_I8 : SC_I32, p->linear ? (void *)bytes : (void *)sums,
            (size_t)n * (p->linear ? 1 : sizeof *sums));
    }
}

/* Square windows over square pictures, pads of half a window. */
struct convolution {
    int64_t channels, size, maps, kernel, stride, groups, images;
    bool linear; /* QLinearConv, with a bias and a scale per map; else ConvInteger */
    bool packed; /* W is constant */
};

static int32_t bias[4] = {100, -3000, 7, 0};

static void open_convolution(struct op_case *c, const void *shape)
{
    const struct convolution *s = shape;
    op_open(c, "", s->linear ? "QLinearConv" : "ConvInteger", 10, 1);
    int64_t *lists = sc_arena_array(&c->arena, 6, sizeof *lists);
    assert_non_null(lists);
    for (int i = 0; i < 6; i++) {
        lists[i] = i < 4 ? s->kernel / 2 : s->stride;
    }
    op_int(c, "group", s->groups);
    op_ints(c, "pads", 4, lists);
    op_ints(c, "strides", 2, lists + 4);
    op_in(c, SC_U8, a, DIMS(s->images, s->channels, s->size, s->size));
    if (s->linear) {
        op_in(c, SC_F32, scales, DIMS(1));
        op_in(c, SC_U8, zeros, DIMS(1));
    }
    c->constant[c->node.n_in] = s->packed;
    op_in(c, SC_I8, b, DIMS(s->maps, s->channels / s->groups, s->kernel, s->kernel));
    if (s->linear) {
        op_in(c, SC_F32, scales, DIMS(s->maps));
        op_in(c, SC_I8, zeros + 1, DIMS(1));
        op_in(c, SC_F32, scales + 1, DIMS(1));
        op_in(c, SC_U8, zeros + 2, DIMS(1));
        op_in(c, SC_I32, bias, DIMS(s->maps));
    } else {
        op_in(c, SC_U8, zeros, DIMS(1));
        op_in(c, SC_I8, zeros + 1, DIMS(1));
    }
}

static int32_t convolve(const struct convolution *s, int64_t image, int64_t map, int64_t row, int64_t column)
{
    const int64_t channels = s->channels / s->groups, first = map / (s->maps / s->groups) * channels;
    int32_t sum = 0;
    for (int64_t i = 0; i < channels * s->kernel * s->kernel; i++) {
        const int64_t channel = i / s->kernel / s->kernel;
        const int64_t y = row * s->stride + i / s->kernel % s->kernel - s->kernel / 2;
        const int64_t x = column * s->stride + i % s->kernel - s->kernel / 2;
        if (y >= 0 && y < s->size && x >= 0 && x < s->size) { /* pads are the zero point */
            const int value = a[((image * s->channels + first + channel) * s->size + y) * s->size + x];
            sum += (value - zeros[0]) * ((int8_t)b[map * channels * s->kernel * s->kernel + i] - (int8_t)zeros[1]);
        }
    }
    return sum;
}

static void convolutions_are_exact_and_brought_back_to_bytes(void **state)
{
    (void)state;
    static const struct convolution convolutions[] = {
        {3, 9, 4, 3, 1, 1, 1, false, false},
        {6, 10, 4, 3, 2, 2, 1, true, true},
        {40, 7, 4, 1, 1, 1, 2, true, false},
        {4, 12, 4, 5, 1, 4, 1, false, true},
        {70, 8, 4, 3, 1, 1, 1, true, true},
        {2, 20, 3, 3, 3, 1, 2, false, true},
        {2, 25, 4, 3, 2, 2, 2, true, true},
        {8, 9, 8, 3, 3, 8, 1, false, false},
        {5, 30, 100, 3, 1, 1, 1, false, true},
    };
    static uint8_t bytes[MOST];
    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) {
        const struct convolution *s = &convolutions[i];
        const int64_t out = (s->size - 1) / s->stride + 1;
        const int64_t n = s->images * s->maps * out * out;
        fill(a, (int)(s->images * s->channels * s->size * s->size), 4);
        fill(b, (int)(s->maps * s->channels * s->kernel * s->kernel), 5);
        fill(zeros, 4, 6);
        for (int64_t at = 0; at < n; at++) {
            const int64_t map = at / out / out % s->maps;
            sums[at] = convolve(s, at / out / out / s->maps, map, at / out % out, at % out);
            const double factor = (double)scales[0] * (double)scales[map % 4] / (double)scales[1];
            const double value = rint((double)(sums[at] + bias[map % 4]) * factor) + zeros[2];
            bytes[at] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
        check(open_convolution, s, s->linear ? SC_U8 : SC_I32, s->linear ? (void *)bytes : (void *)sums,
            (size_t)n * (s->linear ? 1 : sizeof *sums));
    }
}

/* Row (1.5, -2) of e4m3fn times columns (4, 0.5) and (57344, 0) of e5m2: 5 becomes 5 * 0.5 * 2 / 0.25, and what is
 * larger than the type has becomes its largest, 448. */
static void products_of_float8_saturate(void **state)
{
    (void)state;
    static const uint8_t row[] = {0x3c, 0xc0}, columns[] = {0x44, 0x7b, 0x38, 0}, none[] = {0}, want[] = {0x5a, 0x7e};
    static const float factors[] = {0.5F, 2, 0.25F};
    struct op_case c;
    op_open(&c, "", "QLinearMatMul", 21, 1);
    op_in(&c, SC_F8E4M3FN, row, DIMS(1, 2));
    op_in(&c, SC_F32, &factors[0], DIMS(1));
    op_in(&c, SC_F8E4M3FN, none, DIMS(1));
    op_in(&c, SC_F8E5M2, columns, DIMS(2, 2));
    op_in(&c, SC_F32, &factors[1], DIMS(1));
    op_in(&c, SC_F8E5M2, none, DIMS(1));
    op_in(&c, SC_F32, &factors[2], DIMS(1));
    op_in(&c, SC_F8E4M3FN, none, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F8E4M3FN, want, DIMS(1, 2));
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact_for_all_types_and_zero_points),
        cmocka_unit_test(products_of_float8_saturate),
        cmocka_unit_test(convolutions_are_exact_and_brought_back_to_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
