/* SPDX-License-Identifier: Apache-2.0
 * Attention of one thread: one new token over a long cache, against a sweep that only reads the cache, and a prompt. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ops/kernels/attention.h"
#include "tensor/page.h"

#define KV_HEADS 4
#define GROUP 4
#define WIDTH 128
#define MAX_PAGES 256
#define ROUNDS 5

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
        fprintf(stderr, "bench_attention: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

/* n_q queries at the end of `length` keys. paged: keys [head][width][64] as our cache keeps them, in this format; else
 * [head][position][width]. */
struct shape {
    enum sc_type type;
    bool paged;
    enum sc_page_format format;
};

static void bench(const struct sc_kernels *kernels, const struct shape *shape, int64_t n_q, int64_t length)
{
    const enum sc_type type = shape->type;
    const bool paged = shape->paged;
    const size_t row_bytes = (size_t)sc_page_row_bytes(shape->format, type, WIDTH);
    const int64_t n_pages = (length + 63) / 64, row = KV_HEADS * GROUP * WIDTH;
    const size_t element = sc_type_bytes(type), cache_bytes = (size_t)(n_pages * 64 * KV_HEADS) * row_bytes;
    char *k = need(cache_bytes), *v = need(cache_bytes), *q = need((size_t)(n_q * row) * element);
    char *y = need((size_t)(n_q * row) * element);
    void *k_pages[MAX_PAGES], *v_pages[MAX_PAGES];
    const size_t in_page = sc_type_bytes(sc_page_type(shape->format, type));
    const int64_t part = 64 * (int64_t)(row_bytes / in_page);
    const int64_t head = paged ? part : n_pages * 64 * WIDTH, page = paged ? KV_HEADS * part : 64 * WIDTH;
    for (int64_t i = 0; i < n_pages; i++) {
        k_pages[i] = k + (size_t)(i * page) * in_page;
        v_pages[i] = v + (size_t)(i * page) * in_page;
    }
    const struct sc_state_view keys = {
        k_pages, n_pages, length, head, paged ? 1 : WIDTH, paged ? 64 : 1, shape->format};
    const struct sc_state_view values = {v_pages, n_pages, length, head, WIDTH, 1, shape->format};
    const int64_t offset = length - n_q;
    const struct sc_attention attention = {.type = type,
        .v_type = type,
        .batch = 1,
        .q_heads = KV_HEADS * GROUP,
        .kv_heads = KV_HEADS,
        .n_q = n_q,
        .qk_width = WIDTH,
        .v_width = WIDTH,
        .q = q,
        .q_strides = {n_q * row, WIDTH, row, 1},
        .keys = &keys,
        .values = &values,
        .offset = &offset,
        .scale = 0.1,
        .causal = true,
        .left_window = -1,
        .right_window = -1,
        .y = y,
        .y_strides = {n_q * row, WIDTH, row, 1},
        .tap = SC_TAP_NONE};
    void *scratch = need(sc_attention_scratch_bytes(&attention, length, 1));
    double best = 1e30, sweep = 1e30;
    volatile float sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = now();
        sc_attention_run(kernels, NULL, &attention, scratch);
        const double middle = now();
        sum = sum + kernels->sum((const float *)(const void *)k, (int64_t)(cache_bytes / sizeof(float)));
        sum = sum + kernels->sum((const float *)(const void *)v, (int64_t)(cache_bytes / sizeof(float)));
        best = fmin(best, middle - start);
        sweep = fmin(sweep, now() - middle);
    }
    const double pairs = (double)n_q * ((double)length - 0.5 * (double)(n_q - 1)) * KV_HEADS * GROUP;
    printf("%-8s %-6s %5lld %6lld | %9.3f ms %7.1f GFLOP/s %7.1f GB/s  sweep %5.1f GB/s\n",
        sc_page_name(shape->format, type), paged ? "paged" : "dense", (long long)n_q, (long long)length, best * 1e3,
        pairs * 4 * WIDTH / best * 1e-9, 2e-9 * (double)cache_bytes / best, 2e-9 * (double)cache_bytes / sweep);
    free(k);
    free(v);
    free(q);
    free(y);
    free(scratch);
}

int main(void)
{
    static const struct shape shapes[] = {{SC_F32, true, SC_PAGE_AS_TYPE}, {SC_F32, false, SC_PAGE_AS_TYPE},
        {SC_F16, true, SC_PAGE_AS_TYPE}, {SC_F16, false, SC_PAGE_AS_TYPE}, {SC_BF16, true, SC_PAGE_AS_TYPE},
        {SC_BF16, false, SC_PAGE_AS_TYPE}, {SC_F32, true, SC_PAGE_F16}, {SC_F32, true, SC_PAGE_Q8_0}};
    const struct sc_kernels *kernels;
    if (sc_kernels_best(&kernels) != SC_OK) {
        fprintf(stderr, "bench_attention: %s\n", sc_error_last()->text);
        return 2;
    }
    printf("level %s, %d heads of queries over %d of keys, width %d, one thread\n", kernels->name, KV_HEADS * GROUP,
        KV_HEADS, WIDTH);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bench(kernels, &shapes[i], 1, 16384);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bench(kernels, &shapes[i], 512, 2048);
    }
    return 0;
}
