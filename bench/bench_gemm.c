/* SPDX-License-Identifier: Apache-2.0
 * Products of one thread beside OpenBLAS and a sweep that only reads, in one run. The weights are cold for few rows:
 * copies of B are taken in turn, more of them than any cache holds. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "ops/kernels/gemm.h"

#define COLD_BYTES ((size_t)768 << 20) /* of copies of B in turn */
#define MIN_SECONDS 0.25
#define ROUNDS 5 /* the best of them counts: the machine is not ours alone */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "bench_gemm: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    sc_memory_prefer_huge(memory, bytes); /* as weights have them */
    return memory;
}

static void fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

/* Everything one shape needs: A, copies of B plain and packed, C of both. */
struct setup {
    const struct sc_kernels *kernels;
    int64_t M, K, N;
    size_t copies, packed_bytes;
    float *a, *b, *c, *c_blas;
    char *packed;
};

static void run_ours(const struct setup *s, size_t i)
{
    const struct sc_gemm gemm = {.type = SC_F32,
        .M = s->M,
        .N = s->N,
        .K = s->K,
        .a = s->a,
        .a_stride = s->K,
        .packed = s->packed + i % s->copies * s->packed_bytes,
        .c = s->c,
        .c_stride = s->N};
    sc_gemm_run(s->kernels, NULL, &gemm, NULL);
}

static void run_blas(const struct setup *s, size_t i)
{
    const float *b = s->b + i % s->copies * (size_t)(s->K * s->N);
    const int M = (int)s->M, N = (int)s->N, K = (int)s->K;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1.0f, s->a, K, b, N, 0.0f, s->c_blas, N);
}

/* Only reads: the sum of sixteen lanes of each copy. */
static float swept;

static void run_sweep(const struct setup *s, size_t i)
{
    const char *from = s->packed + i % s->copies * s->packed_bytes;
    swept += s->kernels->sum((const float *)(const void *)from, (int64_t)(s->packed_bytes / sizeof(float)));
}

/* Seconds per call: the best round of each of three, taken in turn so that a disturbance meets all. */
static void measure(const struct setup *s, double seconds[3])
{
    void (*const what[3])(const struct setup *, size_t) = {run_ours, run_blas, run_sweep};
    size_t turn[3] = {0};
    for (int w = 0; w < 3; w++) {
        seconds[w] = 1e30;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int w = 0; w < 3; w++) {
            const double start = now();
            double passed = 0;
            int calls = 0;
            while (passed < MIN_SECONDS / ROUNDS) {
                what[w](s, turn[w]++);
                calls++;
                passed = now() - start;
            }
            seconds[w] = fmin(seconds[w], passed / calls);
        }
    }
}

/* The largest difference from a sum in double, in units of the bound k 2^-24 sum |a b|. */
static double error_of(const struct setup *s, const float *c)
{
    double worst = 0;
    for (int64_t at = 0; at < s->M * s->N; at += 977) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < s->K; k++) {
            const double product = (double)s->a[at / s->N * s->K + k] * (double)s->b[k * s->N + at % s->N];
            sum += product;
            size += fabs(product);
        }
        worst = fmax(worst, fabs((double)c[at] - sum) / (size * (double)s->K * 0x1p-24));
    }
    return worst;
}

static void bench(const struct sc_kernels *kernels, int64_t M, int64_t K, int64_t N)
{
    struct setup s = {.kernels = kernels, .M = M, .K = K, .N = N};
    const size_t plain_bytes = (size_t)(K * N) * sizeof(float);
    s.packed_bytes = sc_gemm_packed_bytes(SC_F32, K, N);
    s.copies = M <= 16 ? COLD_BYTES / plain_bytes + 1 : 1;
    s.a = need((size_t)(M * K) * sizeof(float));
    s.b = need(plain_bytes * s.copies);
    s.c = need((size_t)(M * N) * sizeof(float));
    s.c_blas = need((size_t)(M * N) * sizeof(float));
    s.packed = need(s.packed_bytes * s.copies);
    fill(s.a, (size_t)(M * K), 1);
    fill(s.b, (size_t)(K * N), 2);
    for (size_t i = 0; i < s.copies; i++) {
        if (i > 0) {
            memcpy(s.b + i * (size_t)(K * N), s.b, plain_bytes);
        }
        const struct sc_gemm_b b = {SC_F32, K, N, s.b, N, 1};
        sc_gemm_pack(kernels, NULL, &b, s.packed + i * s.packed_bytes);
    }
    run_ours(&s, 0);
    run_blas(&s, 0);
    const double wrong = error_of(&s, s.c), wrong_blas = error_of(&s, s.c_blas);
    double seconds[3];
    measure(&s, seconds);
    const double operations = 2e-9 * (double)(M * N * K), bytes = 1e-9 * (double)plain_bytes;
    printf("%5lld %5lld %5lld | %8.1f %8.1f %6.2f | %7.1f %7.1f %7.1f %6.2f |", (long long)M, (long long)K,
        (long long)N, operations / seconds[0], operations / seconds[1], seconds[1] / seconds[0], bytes / seconds[0],
        bytes / seconds[1], bytes / seconds[2], seconds[2] / seconds[0]);
    printf(" %s %s\n", wrong <= 1 ? "right" : "WRONG", wrong_blas <= 1 ? "right" : "WRONG");
    fflush(stdout);
    free(s.a);
    free(s.b);
    free(s.c);
    free(s.c_blas);
    free(s.packed);
}

int main(int argc, char **argv)
{
    static const int64_t rows[] = {1, 2, 4, 8, 16, 64, 256};
    static const int64_t shapes[][2] = {{1024, 4096}, {2048, 8192}};
    const struct sc_kernels *kernels;
    if (sc_kernels_best(&kernels) != SC_OK) {
        fprintf(stderr, "bench_gemm: %s\n", sc_error_last()->text);
        return 2;
    }
    openblas_set_num_threads(1);
    printf("level %s, %s, core %s, one thread; sweep: reading B and adding\n", kernels->name, openblas_get_config(),
        openblas_get_corename());
    printf("                  |      GFLOP/s     ours/  |          GB/s of B       ours/  | result\n");
    printf("    M     K     N |     ours OpenBLAS  BLAS  |    ours    BLAS   sweep  sweep | ours  BLAS\n");
    for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); shape++) {
        for (size_t m = 0; m < sizeof(rows) / sizeof(rows[0]); m++) {
            if (argc < 2 || strtoll(argv[1], NULL, 10) == rows[m]) {
                bench(kernels, rows[m], shapes[shape][0], shapes[shape][1]);
            }
        }
    }
    return swept == 12345.0f; /* so that the sweep is not dropped */
}
