/* SPDX-License-Identifier: Apache-2.0
 * MaxPool and AveragePool by bands: each entry of the window is a run of memory. Over more than two axes the result is
 * made of slices of the last two, and each slice of as many layers of the input as the window has entries along the
 * others; layers are pooled one by one. Narrow types are widened to f32, the rows of a band at a time. A part is one
 * band of some slices. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/pool.h"
#include "ops/room.h"
#include "ops/tile.h"
#include "tensor/convert.h"

/* What one worker works in, one after the other. */
struct room {
    float *copy, *result, *layer; /* layer: results of one more layer */
    int64_t *offsets;
    float *ones, *counts; /* AveragePool: weights; how many count, by column, and times those by row */
    float *wide, *narrow; /* rows of the input; rows of results, before they are rounded */
};

static bool is_narrow(const struct sc_pool *pool)
{
    return pool->x->type != SC_F32;
}

/* Returns the bytes of a worker's room; `at` may be NULL when these alone are asked for. */
static size_t open_room(const struct sc_pool *pool, char *at, struct room *room)
{
    const struct sc_band *band = &pool->band;
    const bool average = pool->kind == SC_POOL_AVERAGE, narrow = is_narrow(pool);
    const int64_t reads = band->phase[0] * band->stride[0];
    const int64_t rows = reads < band->in[0] ? reads : band->in[0];
    struct sc_room left = {at, 0};
    room->copy = sc_room_take(&left, 1, band->copy_bytes);
    room->result = sc_room_take(&left, 1, band->result_bytes);
    room->layer = sc_room_take(&left, pool->layers > 1, band->result_bytes);
    room->offsets = sc_room_take(&left, 1, band->offsets_bytes);
    room->ones = sc_room_take(&left, average ? band->taps : 0, sizeof(float));
    room->counts = sc_room_take(&left, average ? 2 * band->out[1] : 0, sizeof(float));
    room->wide = sc_room_take(&left, narrow ? rows * band->in[1] : 0, sizeof(float));
    room->narrow = sc_room_take(&left, narrow ? band->rows * band->out[1] : 0, sizeof(float));
    return left.used;
}

void sc_pool_open_bands(struct sc_pool *pool)
{
    const struct sc_window *w = &pool->window;
    struct sc_window last = {.axes = w->axes < 2 ? w->axes : 2};
    pool->outer = w->axes - last.axes;
    pool->layers = sc_dims_product(w->kernel, 0, pool->outer);
    pool->slices = pool->planes * sc_dims_product(w->out, 0, pool->outer);
    for (int i = 0; i < last.axes; i++) {
        last.in[i] = w->in[pool->outer + i];
        last.out[i] = w->out[pool->outer + i];
        last.kernel[i] = w->kernel[pool->outer + i];
        last.stride[i] = w->stride[pool->outer + i];
        last.dilation[i] = w->dilation[pool->outer + i];
        last.begin[i] = w->begin[pool->outer + i];
    }
    const bool can = pool->x->type != SC_F64 && pool->y && !pool->indices && !pool->global && pool->kind != SC_POOL_LP;
    if (!can || !sc_band_open(&last, &pool->band)) {
        memset(&pool->band, 0, sizeof(pool->band));
        return;
    }
    struct room room;
    pool->room_bytes = open_room(pool, NULL, &room);
}

int64_t sc_pool_band_parts(const struct sc_pool *pool)
{
    return sc_parts(pool->slices, pool->band.planes) * pool->band.n;
}

/* Where layer `layer` of the slice at position `at` of the outer axes begins in a plane, or -1 where it is outside. */
static int64_t find_layer(const struct sc_pool *pool, const int64_t *at, int64_t layer)
{
    const struct sc_window *w = &pool->window;
    int64_t offset = 0;
    for (int i = pool->outer - 1; i >= 0; i--) {
        const int64_t entry = layer % w->kernel[i];
        const int64_t x = at[i] * w->stride[i] - w->begin[i] + entry * w->dilation[i];
        layer /= w->kernel[i];
        if (x < 0 || x >= w->in[i]) {
            return -1;
        }
        offset += x * pool->strides[i];
    }
    return offset;
}

/* Largest values or sums of the band's windows in one layer, which begins at element `from`. */
static void pool_layer(const struct sc_pool *pool, int64_t from, int64_t index, const struct room *room, float *result)
{
    const struct sc_band *band = &pool->band;
    const struct sc_kernels *k = pool->kernels;
    const int64_t run = sc_band_run(band, index);
    const void *x = sc_const_at(pool->x->data, from, sc_type_bytes(pool->x->type));
    int64_t first = 0, end;
    if (is_narrow(pool)) {
        sc_band_reads(band, index, &first, &end);
        x = sc_const_at(x, first * band->in[1], sc_type_bytes(pool->x->type));
        sc_pool_widen(pool, x, room->wide, (end - first) * band->in[1]);
        x = room->wide;
    }
    sc_band_copy(band, k, x, first, index, room->copy);
    if (pool->kind == SC_POOL_AVERAGE) {
        k->taps(room->copy, room->offsets, room->ones, band->taps, NULL, result, run);
    } else {
        k->taps_max(room->copy, room->offsets, band->taps, result, run);
    }
}

/* All layers of a slice of plane `plane`, joined in order. */
static void pool_layers(
    const struct sc_pool *pool, int64_t plane, const int64_t *at, int64_t index, const struct room *room)
{
    const bool average = pool->kind == SC_POOL_AVERAGE;
    const int64_t run = sc_band_run(&pool->band, index);
    bool any = false;
    for (int64_t layer = 0; layer < pool->layers; layer++) {
        const int64_t offset = find_layer(pool, at, layer);
        if (offset < 0) {
            continue;
        }
        pool_layer(pool, plane * pool->in_count + offset, index, room, any ? room->layer : room->result);
        if (any) {
            pool->kernels->binary[average ? SC_BINARY_add : SC_BINARY_max](
                room->result, 1, room->layer, 1, room->result, run);
        }
        any = true;
    }
    for (int64_t i = 0; i < run && !any; i++) {
        room->result[i] = average ? 0.0F : -INFINITY;
    }
}

/* Sums of one band become means: rows of `out` from rows a phase apart. */
static void divide(const struct sc_pool *pool, const int64_t *at, int64_t index, const struct room *room, float *y)
{
    const struct sc_band *band = &pool->band;
    const struct sc_kernels *k = pool->kernels;
    const int64_t n = band->out[1];
    const int columns = pool->window.axes - 1;
    int64_t layers = 1;
    for (int i = 0; i < pool->outer; i++) {
        layers *= sc_pool_count(pool, i, at[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        room->counts[i] = (float)sc_pool_count(pool, columns, i);
    }
    for (int64_t i = 0; i < sc_band_rows(band, index); i++) {
        const int64_t rows = columns > 0 ? sc_pool_count(pool, columns - 1, index * band->rows + i) : 1;
        k->scale(room->counts, (float)(layers * rows), room->counts + n, n);
        k->binary[SC_BINARY_div](room->result + i * band->phase[1], 1, room->counts + n, 1, y + i * n, n);
    }
}

static void pool_slice(const struct sc_pool *pool, int64_t slice, int64_t index, const struct room *room)
{
    const struct sc_band *band = &pool->band;
    int64_t at[SC_MAX_AXES], rest = slice;
    for (int i = pool->outer - 1; i >= 0; i--) {
        at[i] = rest % pool->window.out[i];
        rest /= pool->window.out[i];
    }
    pool_layers(pool, rest, at, index, room);
    const int64_t to = (slice * band->out[0] + index * band->rows) * band->out[1];
    void *y = sc_at(pool->y->data, to, sc_type_bytes(pool->y->type));
    float *rows = is_narrow(pool) ? room->narrow : y;
    if (pool->kind == SC_POOL_AVERAGE) {
        divide(pool, at, index, room, rows);
    } else {
        sc_band_put(band, pool->kernels, room->result, index, rows);
    }
    if (is_narrow(pool)) {
        sc_pool_narrow(pool, rows, y, sc_band_rows(band, index) * band->out[1]);
    }
}

void sc_pool_band_part(void *arg, int64_t part, int worker)
{
    const struct sc_pool *pool = arg;
    const struct sc_band *band = &pool->band;
    const bool average = pool->kind == SC_POOL_AVERAGE;
    struct room room;
    open_room(pool, pool->rooms + (size_t)worker * pool->room_bytes, &room);
    sc_band_offsets(band, room.offsets);
    sc_band_fill(band, average ? 0.0F : -INFINITY, room.copy);
    for (int64_t t = 0; average && t < band->taps; t++) {
        room.ones[t] = 1.0F;
    }
    const int64_t from = part / band->n * band->planes;
    for (int64_t slice = from; slice < from + band->planes && slice < pool->slices; slice++) {
        pool_slice(pool, slice, part % band->n, &room);
    }
}
