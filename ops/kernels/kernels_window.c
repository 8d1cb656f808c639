/* SPDX-License-Identifier: Apache-2.0
 * Results of products turned into channels, rows of planes, and planes under few taps. */
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

void K(copy_rows)(const float *x, int64_t x_stride, int step, int64_t rows, int64_t n, float *y, int64_t y_stride)
{
    for (int64_t i = 0; i < n; i += 16) {
        const int rest = n - i < 16 ? (int)(n - i) : 16;
        m16 low, high;
        m_spread(m_first(rest), &low, &high);
        const float *from = x + i * step;
        float *to = y + i;
        for (int64_t r = 0; r < rows; r++, from += x_stride, to += y_stride) {
            if (step == 2) {
                v_store_n(to, v_even(v_load_mask(from, low), v_load_mask(from + 16, high)), rest);
            } else if (rest == 16) {
                v_store(to, v_load(from));
            } else {
                v_store_n(to, v_load_n(from, rest), rest);
            }
        }
    }
}

/* V vectors side by side, the last of `last` lanes. */
SC_INLINE void taps_body(const float *x, const int64_t *offsets, const float *w, int64_t n_taps, const float *bias,
    float *y, int last, const int V)
{
    v16 sum[SC_TILE_ROWS];
#pragma GCC unroll 8
    for (int v = 0; v < V; v++) {
        sum[v] = v_zero();
    }
    for (int64_t t = 0; t < n_taps; t++) {
        const v16 weight = v_set(w[t]);
        const float *from = x + offsets[t];
#pragma GCC unroll 8
        for (int v = 0; v < V - 1; v++) {
            sum[v] = v_fma(weight, v_load(from + v * 16), sum[v]);
        }
        sum[V - 1] = v_fma(weight, v_load_n(from + (V - 1) * 16, last), sum[V - 1]);
    }
    const v16 shift = v_set(bias != NULL ? *bias : 0.0f);
#pragma GCC unroll 8
    for (int v = 0; v < V; v++) {
        sum[v] = bias != NULL ? v_add(sum[v], shift) : sum[v];
        if (v < V - 1) {
            v_store(y + v * 16, sum[v]);
        }
    }
    v_store_n(y + (V - 1) * 16, sum[V - 1], last);
}

/* As many sums at once as a tile has rows: one alone would wait for itself at each tap. */
void K(taps)(
    const float *x, const int64_t *offsets, const float *w, int64_t n_taps, const float *bias, float *y, int64_t n)
{
    for (int64_t left = n; left > 0;) {
        const int vectors = left < SC_TILE_ROWS * 16 ? (int)(left + 15) / 16 : SC_TILE_ROWS;
        const int last = left < vectors * 16 ? (int)left - (vectors - 1) * 16 : 16;
        switch (vectors) {
#define X(V, P)                                                                                                        \
    case V:                                                                                                            \
        taps_body(x, offsets, w, n_taps, bias, y, last, V);                                                            \
        break;
            SC_TILE_LIST(X)
#undef X
        default:
            break;
        }
        left -= (vectors - 1) * 16 + last;
        x += vectors * 16;
        y += vectors * 16;
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
