/* SPDX-License-Identifier: Apache-2.0
 * Results of products turned into channels, and planes under few taps. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

/* One block of up to 16 x 16. */
SC_INLINE void turn_block(
    const float *x, int64_t x_stride, int rows, int columns, const float *bias, float *y, int64_t y_stride)
{
    v16 block[16];
    for (int i = 0; i < 16; i++) {
        block[i] = i < rows ? v_load_n(x + i * x_stride, columns) : v_zero();
    }
    v_turn(block);
    for (int j = 0; j < columns; j++) {
        v_store_n(y + j * y_stride, bias != NULL ? v_add(block[j], v_set(bias[j])) : block[j], rows);
    }
}

void K(turn)(
    const float *x, int64_t x_stride, int64_t rows, int64_t columns, const float *bias, float *y, int64_t y_stride)
{
    for (int64_t j = 0; j < columns; j += 16) {
        const int n = columns - j < 16 ? (int)(columns - j) : 16;
        const float *add = bias != NULL ? bias + j : NULL;
        for (int64_t i = 0; i < rows; i += 16) {
            const int m = rows - i < 16 ? (int)(rows - i) : 16;
            const float *from = x + i * x_stride + j;
            float *to = y + j * y_stride + i;
            if (m == 16 && n == 16) {
                turn_block(from, x_stride, 16, 16, add, to, y_stride);
            } else {
                turn_block(from, x_stride, m, n, add, to, y_stride);
            }
        }
    }
}

enum { TAP_VECTORS = 4 }; /* side by side */

void K(taps)(
    const float *x, const int64_t *offsets, const float *w, int64_t n_taps, const float *bias, float *y, int64_t n)
{
    const v16 shift = v_set(bias != NULL ? *bias : 0.0f);
    int64_t i = 0;
    for (; i + TAP_VECTORS * 16 <= n; i += TAP_VECTORS * 16) {
        v16 sum[TAP_VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < TAP_VECTORS; v++) {
            sum[v] = v_zero();
        }
        for (int64_t t = 0; t < n_taps; t++) {
            const v16 weight = v_set(w[t]);
            const float *from = x + offsets[t] + i;
#pragma GCC unroll 4
            for (int v = 0; v < TAP_VECTORS; v++) {
                sum[v] = v_fma(weight, v_load(from + v * 16), sum[v]);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < TAP_VECTORS; v++) {
            v_store(y + i + v * 16, bias != NULL ? v_add(sum[v], shift) : sum[v]);
        }
    }
    for (; i < n; i += 16) {
        const int rest = n - i < 16 ? (int)(n - i) : 16;
        v16 sum = v_zero();
        for (int64_t t = 0; t < n_taps; t++) {
            sum = v_fma(v_set(w[t]), v_load_n(x + offsets[t] + i, rest), sum);
        }
        v_store_n(y + i, bias != NULL ? v_add(sum, shift) : sum, rest);
    }
}

SC_INLINE v16 larger(v16 x, v16 y)
{
    return v_select(m_or(v_lt(x, y), v_nan(y)), y, x);
}

void K(taps_max)(const float *x, const int64_t *offsets, int64_t n_taps, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += 16) {
        const int rest = n - i < 16 ? (int)(n - i) : 16;
        v16 best = v_set(-INFINITY);
        if (rest == 16) {
            for (int64_t t = 0; t < n_taps; t++) {
                best = larger(best, v_load(x + offsets[t] + i));
            }
        } else {
            for (int64_t t = 0; t < n_taps; t++) {
                best = larger(best, v_load_n(x + offsets[t] + i, rest));
            }
        }
        v_store_n(y + i, best, rest);
    }
}
