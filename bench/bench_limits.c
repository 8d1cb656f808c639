/* SPDX-License-Identifier: Apache-2.0
 * The limits of one thread as JSON, for compare_models. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/limits.h"

enum { SWEEP_FLOATS = 64 << 20, SWEEPS = 5 };

/* GB/s of reading memory that no cache holds, by sums of a level's vectors. */
static double sweep_speed(const struct sc_kernels *kernels, const float *x)
{
    double best = 0;
    volatile float sum = 0;
    for (int i = 0; i < SWEEPS; i++) {
        const double start = thread_seconds();
        sum += kernels->sum(x, SWEEP_FLOATS);
        best = fmax(best, 1e-9 * SWEEP_FLOATS * sizeof(*x) / (thread_seconds() - start));
    }
    return best;
}

int main(void)
{
    const struct sc_kernels *kernels;
    float *x = malloc(SWEEP_FLOATS * sizeof(*x));
    if (x == NULL || sc_kernels_best(&kernels) != SC_OK) {
        fprintf(stderr, "bench_limits: %s\n", x == NULL ? "no memory" : sc_error_last()->text);
        free(x);
        return 1;
    }
    for (int i = 0; i < SWEEP_FLOATS; i++) {
        x[i] = 1;
    }
    printf("{\"level\": \"%s\", \"gflops\": %.1f, \"gbs\": %.2f}\n", kernels->name, tile_speed(kernels),
        sweep_speed(kernels, x));
    free(x);
    return 0;
}
