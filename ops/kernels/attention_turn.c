/* SPDX-License-Identifier: Apache-2.0
 * Rows of keys become columns. */
#include <string.h>
#ifdef __SSE__
#include <immintrin.h>
#endif

#include "ops/kernels/attention_rows.h"

#define BLOCK SC_PAGE_ROWS

/* Turns 4 x 4 numbers. */
static void turn_four(const float *from, int64_t row_stride, float *to)
{
#ifdef __SSE__
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + row_stride);
    __m128 c = _mm_loadu_ps(from + 2 * row_stride), d = _mm_loadu_ps(from + 3 * row_stride);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + BLOCK, b);
    _mm_storeu_ps(to + 2 * BLOCK, c);
    _mm_storeu_ps(to + 3 * BLOCK, d);
#else
    for (int i = 0; i < 16; i++) {
        to[i / 4 * BLOCK + i % 4] = from[i % 4 * row_stride + i / 4];
    }
#endif
}

void sc_attention_turn(
    const float *from, int64_t row_stride, int64_t column_stride, int64_t n, int64_t width, float *to)
{
    for (int64_t d0 = 0; d0 < width; d0 += 16) {
        const int64_t end = width < d0 + 16 ? width : d0 + 16;
        int64_t j = 0;
        for (; column_stride == 1 && end - d0 == 16 && j + 4 <= n; j += 4) {
            for (int64_t d = d0; d < end; d += 4) {
                turn_four(from + j * row_stride + d, row_stride, to + d * BLOCK + j);
            }
        }
        for (; j < n; j++) {
            for (int64_t d = d0; d < end; d++) {
                to[d * BLOCK + j] = from[j * row_stride + d * column_stride];
            }
        }
        for (int64_t d = d0; n < BLOCK && d < end; d++) {
            memset(to + d * BLOCK + n, 0, (size_t)(BLOCK - n) * sizeof(float));
        }
    }
}
