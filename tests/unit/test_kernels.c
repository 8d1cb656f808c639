/* SPDX-License-Identifier: Apache-2.0
 * Every slot of every level against double references, at all short lengths and misaligned starts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/kernels/kernels.h"

#define MAX_N 70
#define GUARD 123.5f

/* Runs the statement after it once per level that this CPU has, as `kernels`. */
#define EACH_LEVEL                                                                                                     \
    for (int isa = 0; isa < SC_ISA_N; isa++)                                                                           \
        for (const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa); kernels != NULL; kernels = NULL)

static uint32_t random_bits(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static float random_float(uint64_t *state)
{
    return (float)((double)random_bits(state) / 4294967296.0 * 8.0 - 4.0);
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double negative(double x)
{
    return -x;
}

static double relu(double x)
{
    return x <= 0 ? 0 : x;
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double gelu_erf(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}

static double gelu_tanh(double x)
{
    const double inner = sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    return x * sigmoid(2 * inner);
}

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double hard_swish(double x)
{
    return x * fmin(fmax(x / 6 + 0.5, 0), 1);
}

/* In the order of SC_UNARY_F32. rint: the rounding mode is to nearest even. */
static double (*const reference[SC_UNARY_N])(double) = {exp, log, sqrt, tanh, sigmoid, erf, sin, cos, negative, fabs,
    reciprocal, floor, ceil, rint, relu, silu, gelu_erf, gelu_tanh, softplus, hard_swish, asin, acos, atan, expm1};

static int is_expanded(int which)
{
    return which == SC_UNARY_silu || which == SC_UNARY_gelu_erf || which == SC_UNARY_gelu_tanh ||
        which == SC_UNARY_hard_swish;
}

static double ulp(double x)
{
    int exponent;
    frexp(x, &exponent);
    return fabs(x) < 0x1p-126 ? 0x1p-149 : ldexp(1.0, exponent - 24);
}

static void check_unary(const struct sc_kernels *kernels, int which, float x, float y)
{
    const double want = reference[which](x);
    /* the bound that kernels.h promises: 2 ulp, and 2.5 for sigmoid, silu, gelu and hard_swish */
    const double unit = is_expanded(which) && x < 0 ? ulp(x) : ulp(want);
    const double bound = is_expanded(which) || which == SC_UNARY_sigmoid ? 2.5 : 2.0;
    bool right = fabs((double)y - want) <= bound * unit;
    if (isnan(want)) {
        right = isnan(y);
    } else if (fabs(want) >= 0x1.ffffffp127) {
        right = isinf(y) && (y > 0) == (want > 0);
    }
    if (!right) {
        fail_msg("%s unary %d of %a: got %a, want %a", kernels->name, which, (double)x, (double)y, want);
    }
}

static void unary_is_within_its_bound_over_all_of_f32(void **state)
{
    (void)state;
    static float x[1024], y[1024];
    EACH_LEVEL
    {
        for (int which = 0; which < SC_UNARY_N; which++) {
            uint64_t bits = 0;
            while (bits < 0x100000000u) {
                for (int i = 0; i < 1024; i++, bits += 40009) {
                    x[i] = from_bits((uint32_t)bits);
                }
                kernels->unary[which](x, y, 1024);
                for (int i = 0; i < 1024; i++) {
                    if (!(is_expanded(which) && x[i] < -1e10f)) { /* there, x * 0 may be x * -inf: the case below */
                        check_unary(kernels, which, x[i], y[i]);
                    }
                }
            }
        }
    }
}

static const float special[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-126f, -0x1.8p-130f, 0.5f, -0.5f, 1.5f, 2.5f,
    -2.5f, 1.0f, -1.0f, 88.7f, 88.8f, -87.5f, -103.9f, -104.1f, 0x1p23f, -0x1p23f, 8388607.5f, 1e5f, 100000.01f, 1e30f,
    0x1.fffffep127f, -0x1.fffffep127f, INFINITY, -INFINITY, NAN};
#define N_SPECIAL ((int)(sizeof(special) / sizeof(special[0])))

static void unary_of_special_numbers_is_right(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        for (int which = 0; which < SC_UNARY_N; which++) {
            float y[N_SPECIAL];
            kernels->unary[which](special, y, N_SPECIAL);
            for (int i = 0; i < N_SPECIAL; i++) {
                if (is_expanded(which) && special[i] == -INFINITY) {
                    assert_true(isnan(y[i])); /* -inf * 0, as the expansions say */
                } else {
                    check_unary(kernels, which, special[i], y[i]);
                }
                const int keeps_zero = which == SC_UNARY_floor || which == SC_UNARY_ceil || which == SC_UNARY_round ||
                    which == SC_UNARY_sin || which == SC_UNARY_tanh || which == SC_UNARY_erf ||
                    which == SC_UNARY_asin || which == SC_UNARY_atan;
                if (keeps_zero && special[i] == 0.0f) {
                    assert_int_equal(signbit(y[i]) != 0, signbit(special[i]) != 0);
                }
            }
        }
    }
}

/* Not on its place, on n, or on writing in place; and nothing past n is touched. */
static void unary_depends_on_the_element_alone(void **state)
{
    (void)state;
    uint64_t seed = 7;
    float x[MAX_N + 8], all[MAX_N + 8], y[MAX_N + 16];
    for (int i = 0; i < MAX_N + 8; i++) {
        x[i] = random_float(&seed) * (i % 5 == 0 ? 1e6f : 1.0f);
    }
    EACH_LEVEL
    {
        for (int which = 0; which < SC_UNARY_N; which++) {
            kernels->unary[which](x, all, MAX_N + 8);
            for (int n = 0; n <= MAX_N; n++) {
                const int shift = n % 8;
                for (int i = 0; i < MAX_N + 16; i++) {
                    y[i] = GUARD;
                }
                memcpy(y + 3, x + shift, sizeof(float) * (size_t)n);
                kernels->unary[which](y + 3, y + 3, n);
                assert_memory_equal(y + 3, all + shift, sizeof(float) * (size_t)n);
                assert_true(y[2] == GUARD && y[3 + n] == GUARD);
            }
        }
    }
}

static float binary_reference(int which, float a, float b)
{
    switch (which) {
    case SC_BINARY_add:
        return a + b;
    case SC_BINARY_sub:
        return a - b;
    case SC_BINARY_mul:
        return a * b;
    case SC_BINARY_div:
        return a / b;
    case SC_BINARY_max:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    default:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    }
}

static void check_binary(const struct sc_kernels *kernels, int which, int a_step, int b_step, int n)
{
    uint64_t seed = 9;
    float a[MAX_N] = {0}, b[MAX_N + 1] = {0}, y[MAX_N + 1];
    for (int i = 0; i < n; i++) {
        a[i] = i % 7 == 3 ? special[i % N_SPECIAL] : random_float(&seed);
        b[i + 1] = i % 5 == 3 ? special[(i * 3) % N_SPECIAL] : random_float(&seed);
    }
    y[n] = GUARD;
    kernels->binary[which](a, a_step, b + 1, b_step, y, n);
    for (int i = 0; i < n; i++) {
        const float want = binary_reference(which, a[i * a_step], b[1 + i * b_step]);
        assert_true(y[i] == want || (isnan(y[i]) && isnan(want)));
    }
    assert_true(y[n] == GUARD);
}

static void binary_equals_c_for_all_steps_and_lengths(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        for (int which = 0; which < SC_BINARY_N; which++) {
            for (int n = 0; n <= MAX_N; n++) {
                for (int steps = 0; steps < 4; steps++) {
                    check_binary(kernels, which, steps & 1, steps >> 1, n);
                }
            }
        }
    }
}

static void binary_may_overwrite_its_single_value(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        float a[40], b[40];
        for (int i = 0; i < 40; i++) {
            a[i] = (float)(i + 2);
            b[i] = 10.0f;
        }
        kernels->binary[SC_BINARY_mul](a, 0, b, 1, a, 40);
        for (int i = 0; i < 40; i++) {
            assert_true(a[i] == 20.0f);
        }
    }
}

/* Lane i mod 16 takes element i, lanes join by halves: the definition, in plain C. */
static float sum_reference(const float *x, int64_t n)
{
    float l[16] = {0};
    for (int64_t i = 0; i < n; i++) {
        l[i % 16] = l[i % 16] + x[i];
    }
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            l[i] = l[i] + l[i + half];
        }
    }
    return l[0];
}

static void sum_has_the_one_tree_on_every_level(void **state)
{
    (void)state;
    uint64_t seed = 11;
    float x[MAX_N + 3];
    for (int i = 0; i < MAX_N + 3; i++) {
        x[i] = random_float(&seed);
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX_N; n++) {
            const float got = kernels->sum(x + n % 3, n), want = sum_reference(x + n % 3, n);
            assert_memory_equal(&got, &want, sizeof(got));
        }
    }
}

static void sum_squares_is_right_and_padding_adds_nothing(void **state)
{
    (void)state;
    uint64_t seed = 12;
    float x[MAX_N], padded[MAX_N + 32];
    for (int i = 0; i < MAX_N; i++) {
        x[i] = random_float(&seed);
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX_N; n++) {
            double want = 0;
            for (int i = 0; i < n; i++) {
                want += ((double)x[i] - 0.75) * ((double)x[i] - 0.75);
            }
            const float got = kernels->sum_squares(x, 0.75f, n);
            /* each square is off by 3 roundings at most, and goes through at most 5 + 4 sums: 12 * 2^-24 */
            assert_true(fabs((double)got - want) <= want * 12 * 0x1p-24);
            memcpy(padded, x, sizeof(float) * (size_t)n);
            for (int i = n; i < n + 32; i++) {
                padded[i] = 0.75f;
            }
            const float same = kernels->sum_squares(padded, 0.75f, n + 32);
            assert_memory_equal(&got, &same, sizeof(got));
        }
    }
}

static void max_finds_the_largest_or_nan(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        float x[MAX_N];
        assert_true(kernels->max(x, 0) == -INFINITY);
        for (int n = 1; n <= MAX_N; n++) {
            for (int at = 0; at < n; at++) {
                for (int i = 0; i < n; i++) {
                    x[i] = -5.0f - (float)i;
                }
                x[at] = -4.0f;
                assert_true(kernels->max(x, n) == -4.0f);
                x[at] = NAN;
                assert_true(isnan(kernels->max(x, n)));
            }
        }
    }
}

static void min_finds_the_smallest_or_nan(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        float x[MAX_N];
        assert_true(kernels->min(x, 0) == INFINITY);
        for (int n = 1; n <= MAX_N; n++) {
            for (int at = 0; at < n; at++) {
                for (int i = 0; i < n; i++) {
                    x[i] = 5.0f + (float)i;
                }
                x[at] = 4.0f;
                assert_true(kernels->min(x, n) == 4.0f);
                x[at] = NAN;
                assert_true(isnan(kernels->min(x, n)));
            }
        }
    }
}

static void exp_sum_writes_exp_and_returns_its_sum(void **state)
{
    (void)state;
    uint64_t seed = 13;
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX_N; n++) {
            float x[MAX_N], shifted[MAX_N], y[MAX_N + 1], want[MAX_N];
            for (int i = 0; i < n; i++) {
                x[i] = i % 9 == 4 ? -INFINITY : random_float(&seed);
                shifted[i] = x[i] - 3.0f;
            }
            y[n] = GUARD;
            const float sum = kernels->exp_sum(x, 3.0f, y, n);
            kernels->unary[SC_UNARY_exp](shifted, want, n);
            assert_memory_equal(y, want, sizeof(float) * (size_t)n);
            assert_true(y[n] == GUARD);
            for (int i = 4; i < n; i += 9) {
                assert_true(y[i] == 0.0f);
            }
            const float want_sum = sum_reference(want, n);
            assert_memory_equal(&sum, &want_sum, sizeof(sum));
        }
    }
}

static void scale_shift_rounds_each_step(void **state)
{
    (void)state;
    uint64_t seed = 14;
    float x[MAX_N], w[MAX_N], b[MAX_N], y[MAX_N + 1];
    for (int i = 0; i < MAX_N; i++) {
        x[i] = random_float(&seed);
        w[i] = random_float(&seed);
        b[i] = random_float(&seed);
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX_N; n++) {
            for (int form = 0; form < 4; form++) {
                y[n] = GUARD;
                kernels->scale_shift(x, 0.3f, 1.7f, (form & 1) != 0 ? w : NULL, (form & 2) != 0 ? b : NULL, y, n);
                for (int i = 0; i < n; i++) {
                    float want = (x[i] - 0.3f) * 1.7f;
                    want = (form & 1) != 0 ? want * w[i] : want;
                    want = (form & 2) != 0 ? want + b[i] : want;
                    assert_true(y[i] == want);
                }
                assert_true(y[n] == GUARD);
            }
        }
    }
}

static void scale_and_axpy_equal_c(void **state)
{
    (void)state;
    uint64_t seed = 15;
    float x[MAX_N], y[MAX_N + 1], was[MAX_N + 1];
    for (int i = 0; i < MAX_N; i++) {
        x[i] = random_float(&seed);
        was[i] = random_float(&seed);
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX_N; n++) {
            y[n] = GUARD;
            kernels->scale(x, 1.7f, y, n);
            for (int i = 0; i < n; i++) {
                assert_true(y[i] == x[i] * 1.7f);
            }
            memcpy(y, was, sizeof(float) * (size_t)n);
            kernels->axpy(1.7f, x, y, n);
            for (int i = 0; i < n; i++) {
                const float fused = fmaf(1.7f, x[i], was[i]), stepped = 1.7f * x[i] + was[i];
                assert_true(y[i] == (isa == SC_ISA_BASE ? stepped : fused));
            }
            assert_true(y[n] == GUARD);
        }
    }
}

/* Rows overlap: they begin an element apart. */
static void double_tile_rounds_each_step(void **state)
{
    (void)state;
    enum { TILE = SC_DOUBLE_ROWS * SC_DOUBLE_COLUMNS };
    double x[MAX_N + SC_DOUBLE_ROWS], panel[MAX_N * SC_DOUBLE_COLUMNS], sums[TILE + 1];
    uint64_t seed = 4;
    for (int i = 0; i < MAX_N * SC_DOUBLE_COLUMNS; i++) {
        panel[i] = (double)random_float(&seed) / 3;
        x[i % (MAX_N + SC_DOUBLE_ROWS)] = (double)random_float(&seed) / 7;
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX_N; n++) {
            for (int i = 0; i <= TILE; i++) {
                sums[i] = i;
            }
            kernels->double_tile(x, 1, panel, n, sums);
            for (int i = 0; i < TILE; i++) {
                double sum = i;
                for (int k = 0; k < n; k++) {
                    sum += x[i / SC_DOUBLE_COLUMNS + k] * panel[k * SC_DOUBLE_COLUMNS + i % SC_DOUBLE_COLUMNS];
                }
                assert_true(sums[i] == sum);
            }
            assert_true(sums[TILE] == TILE);
        }
    }
}

static void best_obeys_sc_cpu(void **state)
{
    (void)state;
    const struct sc_kernels *best = NULL;
    assert_int_equal(setenv("SC_CPU", "base", 1), 0);
    assert_int_equal(sc_kernels_best(&best), SC_OK);
    assert_string_equal(best->name, "base");
    assert_int_equal(setenv("SC_CPU", "sse9", 1), 0);
    const struct sc_kernels *untouched = best;
    assert_int_equal(sc_kernels_best(&best), SC_BAD_USAGE);
    assert_ptr_equal(best, untouched);
    assert_int_equal(unsetenv("SC_CPU"), 0);
    assert_int_equal(sc_kernels_best(&best), SC_OK);
    EACH_LEVEL
    {
        assert_true(best->isa >= kernels->isa);
        assert_int_equal(kernels->isa, isa);
    }
    assert_null(sc_kernels_at(SC_ISA_N));
    char names[64] = "";
    for (int isa = 0; isa < SC_ISA_N && sc_kernels_at((enum sc_isa)isa); isa++) {
        strcat(names, isa ? " " : "");
        strcat(names, sc_kernels_at((enum sc_isa)isa)->name);
    }
    assert_memory_equal(names, SC_ISA_NAMES, strlen(names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_is_within_its_bound_over_all_of_f32),
        cmocka_unit_test(unary_of_special_numbers_is_right),
        cmocka_unit_test(unary_depends_on_the_element_alone),
        cmocka_unit_test(binary_equals_c_for_all_steps_and_lengths),
        cmocka_unit_test(binary_may_overwrite_its_single_value),
        cmocka_unit_test(sum_has_the_one_tree_on_every_level),
        cmocka_unit_test(sum_squares_is_right_and_padding_adds_nothing),
        cmocka_unit_test(max_finds_the_largest_or_nan),
        cmocka_unit_test(min_finds_the_smallest_or_nan),
        cmocka_unit_test(exp_sum_writes_exp_and_returns_its_sum),
        cmocka_unit_test(scale_shift_rounds_each_step),
        cmocka_unit_test(scale_and_axpy_equal_c),
        cmocka_unit_test(double_tile_rounds_each_step),
        cmocka_unit_test(best_obeys_sc_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
