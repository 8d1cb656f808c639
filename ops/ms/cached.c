/* SPDX-License-Identifier: Apache-2.0
 * Every kind of cache becomes views of 64-row pages, is written through them, and read through them. */
#include "ops/ms/cached.h"

#include <string.h>

#include "ops/nn/cache.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

/* Rows that dense memory holds: of the present, or of K and V themselves. */
static int64_t dense_room(const struct sc_cached_attention *c)
{
    return c->state_k ? 0 : c->present_room > 0 ? c->present_room : c->n_new;
}

size_t sc_cached_scratch_bytes(const struct sc_cached_attention *cached, int64_t max_length, int n_workers)
{
    const size_t batch = (size_t)cached->attention.batch;
    return sc_room_round(2 * batch * sizeof(struct sc_state_view)) +
        sc_room_round(2 * batch * (size_t)sc_pages_for(dense_room(cached)) * sizeof(void *)) +
        sc_attention_scratch_bytes(&cached->attention, max_length, n_workers);
}

static const struct sc_cache_codes *codes_of(const struct sc_attention *a, bool key)
{
    return key ? a->k_codes : a->v_codes;
}

/* Of a head's row in a cache. */
static int64_t row_elements(const struct sc_attention *a, bool key)
{
    const int64_t width = key ? a->qk_width : a->v_width;
    return codes_of(a, key) ? sc_codes_bytes(codes_of(a, key)->type, width) : width;
}

static void dense_view(
    const struct sc_cached_attention *c, bool key, int64_t b, void **pages, struct sc_state_view *view)
{
    const struct sc_attention *a = &c->attention;
    const struct sc_cache_codes *codes = codes_of(a, key);
    const int64_t width = row_elements(a, key);
    const size_t bytes = codes ? 1 : sc_type_bytes(a->type);
    int64_t strides[4] = {a->kv_heads * c->present_room * width, c->present_room * width, width, 1};
    void *data = key ? c->present_k : c->present_v;
    if (!data) {
        memcpy(strides, key ? c->k_strides : c->v_strides, sizeof(strides));
        const void *rows = key ? c->k : c->v;
        memcpy(&data, &rows, sizeof(data)); /* views are not const; nothing is written through this one */
    }
    sc_cache_view_dense(view, pages, dense_room(c), sc_at(data, b * strides[0], bytes), bytes, strides);
}

struct job {
    const struct sc_cached_attention *c;
    const struct sc_kernels *kernels;
    struct sc_state_view *views; /* keys of all batch rows, then values */
};

/* Part: batch row and which of keys and values. Past rows, then new ones. */
static void write_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_cached_attention *c = job->c;
    const struct sc_attention *a = &c->attention;
    const bool key = part < a->batch;
    const int64_t b = part % a->batch;
    const struct sc_state_view *view = &job->views[part];
    const int64_t width = row_elements(a, key);
    const struct sc_cache_codes *codes = codes_of(a, key);
    const size_t bytes = sc_type_bytes(a->type);
    const void *past = key ? c->past_k : c->past_v;
    struct sc_cache_rows rows = {.type = codes ? SC_U8 : a->type, .heads = a->kv_heads, .width = width};
    if (past && !c->state_k && past != (key ? c->present_k : c->present_v)) {
        rows.n = c->start[b] < c->past_room ? c->start[b] : c->past_room;
        rows.data = sc_const_at(past, b * a->kv_heads * c->past_room * width, sc_type_bytes(rows.type));
        rows.head_stride = c->past_room * width;
        rows.row_stride = width;
        rows.column_stride = 1;
        sc_cache_write(job->kernels, view, 0, &rows);
    }
    const int64_t *strides = key ? c->k_strides : c->v_strides;
    rows.type = a->type;
    rows.width = key ? a->qk_width : a->v_width;
    rows.codes = codes;
    rows.n = c->length[b] - c->start[b] < c->n_new ? c->length[b] - c->start[b] : c->n_new;
    rows.data = sc_const_at(key ? c->k : c->v, b * strides[0], bytes);
    rows.head_stride = strides[1];
    rows.row_stride = strides[2];
    rows.column_stride = strides[3];
    sc_cache_write(job->kernels, view, c->start[b], &rows);
}

void sc_cached_run(
    const struct sc_cached_attention *cached, const struct sc_kernels *kernels, struct sc_team *team, void *scratch)
{
    struct sc_attention a = cached->attention;
    const int64_t n_pages = sc_pages_for(dense_room(cached));
    struct sc_state_view *views = scratch;
    void **pages = (void *)((char *)scratch + sc_room_round(2 * (size_t)a.batch * sizeof(*views)));
    char *room = (char *)pages + sc_room_round(2 * (size_t)a.batch * (size_t)n_pages * sizeof(*pages));
    for (int64_t i = 0; i < 2 * a.batch; i++) {
        const bool key = i < a.batch;
        if (cached->state_k) {
            views[i] = (key ? cached->state_k : cached->state_v)->rows[i % a.batch];
        } else {
            dense_view(cached, key, i % a.batch, pages + i * n_pages, &views[i]);
        }
    }
    if ((cached->state_k && cached->n_new > 0) || cached->present_k) {
        struct job job = {cached, kernels, views};
        sc_team_for(team, 2 * a.batch, write_part, &job);
    }
    for (int64_t i = 0; i < 2 * a.batch; i++) {
        views[i].length = cached->length[i % a.batch];
    }
    a.keys = views;
    a.values = views + a.batch;
    a.offset = cached->start;
    if (a.batch > 0 && a.n_q > 0) {
        sc_attention_run(kernels, team, &a, room);
    }
}
