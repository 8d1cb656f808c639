/* SPDX-License-Identifier: Apache-2.0
 * MaxPool and AveragePool of f32 over one or two axes: each entry of the window is a run of memory. A part is one band of
 * some planes. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/pool.h"

void sc_pool_open_bands(struct sc_pool *pool)
{
    struct sc_band *band = &pool->band;
    const bool can = pool->x->type == SC_F32 && pool->y && !pool->indices && !pool->global && pool->kind != SC_POOL_LP;
    if (!can || !sc_band_open(&pool->window, band)) {
        memset(band, 0, sizeof(*band));
        return;
    }
    pool->room_bytes = band->copy_bytes + band->result_bytes + band->offsets_bytes;
    if (pool->kind == SC_POOL_AVERAGE) { /* weights of one; counts by column, and times those by row */
        const size_t floats = (size_t)(band->taps + 2 * band->out[1]);
        pool->room_bytes += (floats * sizeof(float) + 63) / 64 * 64;
    }
}

int64_t sc_pool_band_parts(const struct sc_pool *pool)
{
    return sc_parts(pool->planes, pool->band.planes) * pool->band.n;
}

/* Sums of one band become means: rows of `out` from rows a phase apart. */
static void divide(const struct sc_pool *pool, int64_t index, const float *sums, float *counts, float *y)
{
    const struct sc_band *band = &pool->band;
    const struct sc_kernels *k = pool->kernels;
    const int64_t n = band->out[1];
    const int columns = pool->window.axes - 1;
    for (int64_t i = 0; i < n; i++) {
        counts[i] = (float)sc_pool_count(pool, columns, i);
    }
    for (int64_t i = 0; i < sc_band_rows(band, index); i++) {
        const int64_t rows = columns > 0 ? sc_pool_count(pool, 0, index * band->rows + i) : 1;
        k->scale(counts, (float)rows, counts + n, n);
        k->binary[SC_BINARY_div](sums + i * band->phase[1], 1, counts + n, 1, y + i * n, n);
    }
}

void sc_pool_band_part(void *arg, int64_t part, int worker)
{
    const struct sc_pool *pool = arg;
    const struct sc_band *band = &pool->band;
    float *copy = (float *)(void *)(pool->rooms + (size_t)worker * pool->room_bytes);
    float *result = (float *)(void *)((char *)copy + band->copy_bytes);
    int64_t *offsets = (int64_t *)(void *)((char *)result + band->result_bytes);
    float *ones = (float *)(void *)((char *)offsets + band->offsets_bytes);
    const bool average = pool->kind == SC_POOL_AVERAGE;
    sc_band_offsets(band, offsets);
    sc_band_fill(band, average ? 0.0F : -INFINITY, copy);
    for (int64_t t = 0; average && t < band->taps; t++) {
        ones[t] = 1.0F;
    }
    const int64_t index = part % band->n, run = sc_band_run(band, index);
    const int64_t from = part / band->n * band->planes;
    for (int64_t plane = from; plane < from + band->planes && plane < pool->planes; plane++) {
        float *y = (float *)pool->y->data + plane * pool->out_count + index * band->rows * band->out[1];
        const float *x = (const float *)pool->x->data + plane * pool->in_count;
        sc_band_copy(band, pool->kernels, x, index, copy);
        if (average) {
            pool->kernels->taps(copy, offsets, ones, band->taps, NULL, result, run);
            divide(pool, index, result, ones + band->taps, y);
            continue;
        }
        pool->kernels->taps_max(copy, offsets, band->taps, result, run);
        sc_band_put(band, pool->kernels, result, index, y);
    }
}
