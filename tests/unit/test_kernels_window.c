/* SPDX-License-Identifier: Apache-2.0
 * What convolution and pooling read and write by, on every level against plain C. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops/kernels/kernels.h"

#define GUARD 123.5f

/* Runs the statement after it once per level that this CPU has, as `kernels`. */
#define EACH_LEVEL                                                                                                     \
    for (int isa = 0; isa < SC_ISA_N; isa++)                                                                           \
        for (const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa); kernels != NULL; kernels = NULL)

static float random_float(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(uint32_t)(*state >> 32) / 4294967296.0 * 8.0 - 4.0);
}

/* Sixteen windows over rows of `width` results, of 2 x 3 entries, three planes. */
static void check_windows(const struct sc_kernels *kernels, int width, int stride, int dilation, int first, int n)
{
    enum { CHANNELS = 3, HEIGHT = 9, TAPS = 6, STEP = 24 };
    const int columns = width * stride;
    const int64_t in[2] = {HEIGHT, columns}, strides[2] = {columns, 1}, kernel[2] = {2, 3},
                  dilations[2] = {1, dilation};
    int32_t starts[2][16];
    for (int j = 0; j < 16; j++) {
        starts[0][j] = (first + j) / width * stride - 1;
        starts[1][j] = (first + j) % width * stride - dilation;
    }
    float *x = malloc((size_t)(CHANNELS * HEIGHT * columns) * sizeof *x),
          y[CHANNELS * TAPS * STEP]; /* exact, for asan */
    assert_non_null(x);
    uint64_t seed = 5;
    for (int i = 0; i < CHANNELS * HEIGHT * columns; i++) {
        x[i] = random_float(&seed);
    }
    for (int i = 0; i < CHANNELS * TAPS * STEP; i++) {
        y[i] = GUARD;
    }
    const struct sc_windows windows = {.x = x,
        .channels = CHANNELS,
        .plane = HEIGHT * columns,
        .axes = 2,
        .starts = (const int32_t(*)[16])starts,
        .in = in,
        .strides = strides,
        .kernel = kernel,
        .dilation = dilations,
        .n = n,
        .to = y,
        .row_step = STEP};
    kernels->gather_windows(&windows);
    for (int i = 0; i < CHANNELS * TAPS * STEP; i++) {
        const int j = i % STEP, entry = i / STEP % TAPS, c = i / STEP / TAPS;
        const int row = j < 16 ? starts[0][j] + entry / 3 : 0,
                  column = j < 16 ? starts[1][j] + entry % 3 * dilation : 0;
        const bool inside = j < n && row >= 0 && row < HEIGHT && column >= 0 && column < columns;
        const float want = inside ? x[(c * HEIGHT + row) * columns + column] : 0.0f;
        assert_true(y[i] == (j < 16 ? want : GUARD));
    }
    free(x);
}

static void windows_are_gathered_and_zeros_outside(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 5, 7, 14, 16, 20, 40}; /* from one piece of lanes to sixteen */
    EACH_LEVEL
    {
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            for (int stride = 1; stride <= 3; stride++) {
                for (int first = 0; first < 20; first += 6) {
                    check_windows(kernels, widths[w], stride, 1 + first % 4, first, 16);
                    check_windows(kernels, widths[w], stride, 1, first, 1 + first / 2);
                }
            }
        }
    }
}

static void turned_rows_are_columns_with_their_bias(void **state)
{
    (void)state;
    enum { MOST = 35, STRIDE = 40 };
    static float x[MOST * STRIDE], bias[MOST], y[MOST * STRIDE];
    uint64_t seed = 8;
    for (int i = 0; i < MOST * STRIDE; i++) {
        x[i] = random_float(&seed);
        bias[i % MOST] = random_float(&seed);
    }
    EACH_LEVEL
    {
        for (int size = 0; size <= MOST * MOST; size += 3) {
            const int rows = size / MOST, columns = size % MOST;
            for (int i = 0; i < MOST * STRIDE; i++) {
                y[i] = GUARD;
            }
            kernels->turn(x, STRIDE, rows, columns, size % 2 ? bias : NULL, y, STRIDE);
            for (int i = 0; i < MOST * STRIDE; i++) {
                const int row = i % STRIDE, column = i / STRIDE;
                const bool inside = row < rows && column < columns;
                const float from = inside ? x[row * STRIDE + column] : GUARD;
                assert_true(y[i] == (inside && size % 2 ? from + bias[column] : from));
            }
        }
    }
}

static void rows_are_copied_by_steps(void **state)
{
    (void)state;
    enum { ROWS = 3, MOST = 40, STRIDE = 50 };
    uint64_t seed = 9;
    EACH_LEVEL
    {
        for (int n = 0; n <= MOST; n++) {
            for (int step = 1; step <= 2; step++) {
                const int width = n * step + 3, size = n > 0 ? (ROWS - 1) * width + (n - 1) * step + 1 : 1;
                float *x = malloc((size_t)size * sizeof *x), y[ROWS * STRIDE]; /* exact, for asan */
                assert_non_null(x);
                for (int i = 0; i < size; i++) {
                    x[i] = random_float(&seed);
                }
                for (int i = 0; i < ROWS * STRIDE; i++) {
                    y[i] = GUARD;
                }
                kernels->copy_rows(x, width, step, ROWS, n, y, STRIDE);
                for (int i = 0; i < ROWS * STRIDE; i++) {
                    const int row = i / STRIDE, column = i % STRIDE;
                    assert_true(y[i] == (column < n ? x[row * width + column * step] : GUARD));
                }
                free(x);
            }
        }
    }
}

static void taps_are_chains_in_order(void **state)
{
    (void)state;
    enum { MAX = 150 };
    float x[2 * MAX], y[MAX + 1];
    const float w[3] = {0.3f, -1.7f, 2.1f}, bias = 0.7f;
    const int64_t offsets[3] = {5, 0, 131};
    uint64_t seed = 6;
    for (int i = 0; i < 2 * MAX; i++) {
        x[i] = random_float(&seed);
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX; n++) {
            y[n] = GUARD;
            kernels->taps(x, offsets, w, 3, n % 2 ? &bias : NULL, y, n);
            for (int i = 0; i < n; i++) {
                float sum = 0;
                for (int t = 0; t < 3; t++) {
                    const float in = x[offsets[t] + i], product = w[t] * in;
                    sum = isa == SC_ISA_BASE ? product + sum : fmaf(w[t], in, sum);
                }
                assert_true(y[i] == (n % 2 ? sum + bias : sum));
            }
            assert_true(y[n] == GUARD);
        }
    }
}

static void taps_max_is_the_largest_and_keeps_nan(void **state)
{
    (void)state;
    enum { MAX = 70 };
    float x[2 * MAX], y[MAX + 1];
    const int64_t offsets[3] = {5, 0, 61};
    uint64_t seed = 7;
    for (int i = 0; i < 2 * MAX; i++) {
        x[i] = random_float(&seed);
    }
    x[30] = NAN;
    EACH_LEVEL
    {
        for (int n = 0; n <= MAX; n++) {
            y[n] = GUARD;
            kernels->taps_max(x, offsets, 3, y, n);
            for (int i = 0; i < n; i++) {
                const float a = x[5 + i], b = x[i], c = x[61 + i];
                const bool nan = isnan(a) || isnan(b) || isnan(c);
                assert_true(nan ? isnan(y[i]) : y[i] == fmaxf(a, fmaxf(b, c)));
            }
            assert_true(y[n] == GUARD);
        }
        kernels->taps_max(x, offsets, 0, y, 3);
        assert_true(y[2] == -INFINITY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_gathered_and_zeros_outside),
        cmocka_unit_test(turned_rows_are_columns_with_their_bias),
        cmocka_unit_test(rows_are_copied_by_steps),
        cmocka_unit_test(taps_are_chains_in_order),
        cmocka_unit_test(taps_max_is_the_largest_and_keeps_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
