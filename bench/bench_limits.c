/* SPDX-License-Identifier: Apache-2.0
 * The limits of one thread as JSON, for compare_models; bench_limits N: of N threads that read memory at once, for
 * decode. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/limits.h"

enum { SWEEP_FLOATS = 64 << 20, SWEEPS = 5, MOST_THREADS = 64 };

struct sweep {
    const struct sc_kernels *kernels;
    pthread_barrier_t *together;
    float *x; /* that no cache holds */
    double gbs[SWEEPS];
    volatile float sum;
};

/* Sums of a level's vectors, begun by all threads at once. */
static void *run_sweep(void *arg)
{
    struct sweep *sweep = arg;
    sc_memory_prefer_huge(sweep->x, SWEEP_FLOATS * sizeof(float)); /* as weights have them */
    for (int i = 0; i < SWEEP_FLOATS; i++) {
        sweep->x[i] = 1;
    }
    for (int i = 0; i < SWEEPS; i++) {
        (void)pthread_barrier_wait(sweep->together);
        const double start = thread_seconds();
        sweep->sum += sweep->kernels->sum(sweep->x, SWEEP_FLOATS);
        sweep->gbs[i] = 1e-9 * SWEEP_FLOATS * sizeof(float) / (thread_seconds() - start);
    }
    return NULL;
}

/* GB/s of n threads together, in the best round. */
static double sweep_speed(const struct sc_kernels *kernels, int n)
{
    static struct sweep sweeps[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    pthread_barrier_t together;
    bool ready = pthread_barrier_init(&together, NULL, (unsigned)n) == 0;
    for (int t = 0; ready && t < n; t++) {
        sweeps[t] = (struct sweep){kernels, &together, malloc(SWEEP_FLOATS * sizeof(float)), {0}, 0};
        ready = sweeps[t].x && pthread_create(&threads[t], NULL, run_sweep, &sweeps[t]) == 0;
    }
    if (!ready) {
        fprintf(stderr, "bench_limits: no memory or no threads\n");
        exit(1);
    }
    double best = 0, sum[SWEEPS] = {0};
    for (int t = 0; t < n; t++) {
        (void)pthread_join(threads[t], NULL);
        free(sweeps[t].x);
        for (int i = 0; i < SWEEPS; i++) {
            sum[i] += sweeps[t].gbs[i];
        }
    }
    for (int i = 0; i < SWEEPS; i++) {
        best = fmax(best, sum[i]);
    }
    return best;
}

int main(int argc, char **argv)
{
    const struct sc_kernels *kernels;
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    if (n < 1 || n > MOST_THREADS || sc_kernels_best(&kernels) != SC_OK) {
        fprintf(stderr, "bench_limits: %s\n", n < 1 || n > MOST_THREADS ? "1 to 64 threads" : sc_error_last()->text);
        return 1;
    }
    printf("{\"level\": \"%s\", \"gflops\": %.1f, \"gbs\": %.2f}\n", kernels->name, tile_speed(kernels),
        sweep_speed(kernels, n));
    return 0;
}
