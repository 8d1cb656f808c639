/* SPDX-License-Identifier: Apache-2.0
 * Products in double, for models whose scores are rounded once. Each step is rounded on every level, so that all give
 * the same bits. */
#include <string.h>

#include "ops/kernels/level.h"

typedef double quad __attribute__((vector_size(SC_DOUBLE_COLUMNS * sizeof(double))));

void K(double_tile)(const double *x, int64_t x_stride, const double *panel, int64_t n, double *sums)
{
    quad chains[SC_DOUBLE_ROWS];
    memcpy(chains, sums, sizeof chains);
    for (int64_t k = 0; k < n; k++) {
        quad b;
        memcpy(&b, panel + k * SC_DOUBLE_COLUMNS, sizeof b);
#pragma GCC unroll 8
        for (int i = 0; i < SC_DOUBLE_ROWS; i++) {
            chains[i] += x[i * x_stride + k] * b;
        }
    }
    memcpy(sums, chains, sizeof chains);
}
