/* SPDX-License-Identifier: Apache-2.0
 * What no kernel of a level can beat on one thread: register tiles that never leave the first cache, and reading. */
#ifndef SC_BENCH_LIMITS_H
#define SC_BENCH_LIMITS_H

#include <math.h>
#include <time.h>

#include "ops/kernels/kernels.h"

/* Seconds of this thread, without what others take of its core. */
static inline double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s of the level's best tile. */
static inline double tile_speed(const struct sc_kernels *kernels)
{
    enum { DEPTH = 64, TIMES = 20000, ROUNDS = 30, MOST_ROWS = 8, MOST_PANELS = 6 };
    static float a[MOST_ROWS * DEPTH], b[MOST_PANELS * 16 * DEPTH], c[MOST_ROWS * MOST_PANELS * 16];
    const struct sc_gemm_tile tile = {.m = kernels->gemm_rows,
        .k = DEPTH,
        .panels = kernels->gemm_panels,
        .a = a,
        .a_stride = DEPTH,
        .b = b,
        .panel_stride = 16 * DEPTH,
        .c = c,
        .c_stride = kernels->gemm_panels * 16,
        .n = kernels->gemm_panels * 16};
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = thread_seconds();
        for (int i = 0; i < TIMES; i++) {
            kernels->gemm_tile(&tile);
        }
        best = fmax(best, 2e-9 * TIMES * DEPTH * (double)(tile.m * tile.n) / (thread_seconds() - start));
    }
    return best;
}

#endif
