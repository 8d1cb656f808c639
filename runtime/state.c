/* SPDX-License-Identifier: Apache-2.0
 * Pages are cut from one reserved mapping a store; a page table per (slot, pair) is filled in once. */
#include "runtime/state.h"

#include <stdlib.h>
#include <string.h>

/* One dense state, in memory that grows with it. */
struct sc_dense_state {
    struct sc_value value;
    void *memory;
    size_t bytes;
};

struct sc_state_store {
    struct sc_arena arena;
    struct sc_state_options options;
    void *pages; /* all of them; zero-filled by the system when first touched */
    struct sc_state_view *views; /* by pair, by slot: page tables */
    struct sc_dense_state *dense; /* by pair, by slot */
    int64_t *lengths; /* by pair, by slot: positions that it holds */
    struct sc_state *fed; /* by pair: what sc_state_feed hands out */
    struct sc_value *values; /* by pair */
};

static int64_t page_bytes(const struct sc_state_pair *pair)
{
    return pair->heads * pair->width * SC_PAGE_ROWS * (int64_t)sc_type_bytes(pair->type);
}

static int64_t pair_capacity(const struct sc_state_pair *pair, int64_t context)
{
    return pair->capacity > 0 && pair->capacity < context ? pair->capacity : context;
}

static int64_t pair_pages(const struct sc_state_pair *pair, int64_t context)
{
    return (pair_capacity(pair, context) + SC_PAGE_ROWS - 1) / SC_PAGE_ROWS;
}

int64_t sc_state_pair_bytes(const struct sc_state_pair *pair, int64_t context)
{
    return pair->kind == SC_STATE_PAGED ? pair_pages(pair, context) * page_bytes(pair) : 0;
}

/* Bytes of all pages. Heads and width come from the model file. */
static enum sc_status count_bytes(const struct sc_state_options *options, int64_t *bytes)
{
    const int64_t most = (int64_t)1 << 46;
    *bytes = 0;
    for (int p = 0; p < options->n_pairs; p++) {
        const struct sc_state_pair *pair = &options->pairs[p];
        if (pair->kind != SC_STATE_PAGED) {
            continue;
        }
        const int64_t dims[] = {pair->heads, pair->width, SC_PAGE_ROWS};
        SC_TRY(sc_dims_check("a page of a cache", pair->type, 3, dims));
        const int64_t pages = pair_pages(pair, options->context);
        const int64_t page = page_bytes(pair) > 0 ? page_bytes(pair) : 1;
        if (pages > (most - *bytes) / page / options->n_slots) {
            return sc_fail(SC_NO_MEMORY, "out of memory for caches of %lld positions in %d slots",
                (long long)options->context, options->n_slots);
        }
        *bytes += options->n_slots * pages * page_bytes(pair);
    }
    return SC_OK;
}

static enum sc_status make_views(struct sc_state_store *store)
{
    const struct sc_state_options *options = &store->options;
    char *page = (char *)(((uintptr_t)store->pages + SC_PAGE_ROWS - 1) / SC_PAGE_ROWS * SC_PAGE_ROWS); /* cache lines */
    for (int p = 0; p < options->n_pairs; p++) {
        const struct sc_state_pair *pair = &options->pairs[p];
        if (pair->kind != SC_STATE_PAGED) {
            continue;
        }
        store->fed[p].rows = sc_arena_array(&store->arena, SC_WIRE_ROWS, sizeof *store->fed[p].rows);
        if (!store->fed[p].rows) {
            return SC_NO_MEMORY;
        }
        for (int slot = 0; slot < options->n_slots; slot++) {
            struct sc_state_view *view = &store->views[p * options->n_slots + slot];
            view->n_pages = pair_pages(pair, options->context);
            view->pages = sc_arena_array(&store->arena, (size_t)view->n_pages, sizeof *view->pages);
            if (!view->pages) {
                return SC_NO_MEMORY;
            }
            view->head_stride = pair->width * SC_PAGE_ROWS;
            view->row_stride = pair->keys ? 1 : pair->width;
            view->column_stride = pair->keys ? SC_PAGE_ROWS : 1;
            for (int64_t i = 0; i < view->n_pages; i++, page += page_bytes(pair)) {
                view->pages[i] = page;
            }
        }
    }
    return SC_OK;
}

enum sc_status sc_state_store_create(const struct sc_state_options *options, struct sc_state_store **out)
{
    struct sc_state_store *store = calloc(1, sizeof *store);
    if (!store) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a state store");
    }
    const size_t n = (size_t)options->n_pairs * (size_t)options->n_slots;
    struct sc_state_pair *pairs = sc_arena_array(&store->arena, (size_t)options->n_pairs, sizeof *pairs);
    store->options = *options;
    store->views = sc_arena_array(&store->arena, n, sizeof *store->views);
    store->dense = sc_arena_array(&store->arena, n, sizeof *store->dense);
    store->lengths = sc_arena_array(&store->arena, n, sizeof *store->lengths);
    store->fed = sc_arena_array(&store->arena, (size_t)options->n_pairs, sizeof *store->fed);
    store->values = sc_arena_array(&store->arena, (size_t)options->n_pairs, sizeof *store->values);
    int64_t bytes = 0;
    enum sc_status status = SC_NO_MEMORY;
    if (pairs && store->views && store->dense && store->lengths && store->fed && store->values) {
        for (int p = 0; p < options->n_pairs; p++) {
            pairs[p] = options->pairs[p];
        }
        store->options.pairs = pairs;
        status = count_bytes(options, &bytes);
    }
    if (status == SC_OK) {
        store->pages = calloc(1, (size_t)bytes + SC_PAGE_ROWS);
        status = store->pages ? make_views(store)
                              : sc_fail(SC_NO_MEMORY, "out of memory for %lld bytes of caches", (long long)bytes);
    }
    if (status != SC_OK) {
        sc_state_store_free(store);
        return status;
    }
    *out = store;
    return SC_OK;
}

void sc_state_store_free(struct sc_state_store *store)
{
    if (!store) {
        return;
    }
    for (int i = 0; store->dense && i < store->options.n_pairs * store->options.n_slots; i++) {
        free(store->dense[i].memory);
    }
    free(store->pages);
    sc_arena_release(&store->arena);
    free(store);
}

/* A cache can be continued from any position that it holds, a dense state from the one where it stands. After a failure
 * on the way a slot holds less than a caller who goes on may think, and a dense one may have gone further. */
static enum sc_status check_row(const struct sc_state_store *store, int p, const struct sc_row *row)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    const int64_t capacity = pair_capacity(pair, store->options.context);
    if (row->slot < 0 || row->slot >= store->options.n_slots) {
        return sc_fail(SC_BAD_INPUT, "slot %d is not one of %d", row->slot, store->options.n_slots);
    }
    if (row->pos < 0 || row->n_new < 0 || row->pos > capacity - row->n_new) {
        return sc_fail(SC_LIMIT, "position %lld + %d is past the cache's capacity of %lld", (long long)row->pos,
            row->n_new, (long long)capacity);
    }
    const int64_t length = store->lengths[p * store->options.n_slots + row->slot];
    if (row->pos > length || (pair->kind == SC_STATE_DENSE && row->pos > 0 && row->pos < length)) {
        return sc_fail(SC_BAD_INPUT, "slot %d continues at position %lld, but holds %lld%s", row->slot,
            (long long)row->pos, (long long)length, row->pos < length ? ", which cannot be taken back" : "");
    }
    return SC_OK;
}

static enum sc_status feed_dense(
    struct sc_state_store *store, int p, const struct sc_row *row, const struct sc_value **value)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    struct sc_dense_state *dense = &store->dense[p * store->options.n_slots + row->slot];
    if (row->pos == 0) {
        dense->value.kind = SC_KIND_TENSOR;
        sc_tensor_init(&dense->value.u.tensor, pair->type, pair->rank, pair->dims);
        const size_t bytes = sc_tensor_bytes(&dense->value.u.tensor);
        if (bytes > dense->bytes || !dense->memory) {
            free(dense->memory);
            dense->bytes = bytes + SC_PAGE_ROWS;
            dense->memory = malloc(dense->bytes);
            if (!dense->memory) {
                dense->bytes = 0;
                return sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes of state", bytes);
            }
        }
        memset(dense->memory, 0, dense->bytes);
        dense->value.u.tensor.data = dense->memory;
    }
    *value = &dense->value;
    return SC_OK;
}

enum sc_status sc_state_feed(
    struct sc_state_store *store, int p, const struct sc_row *rows, int n_rows, const struct sc_value **value)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    for (int r = 0; r < n_rows; r++) {
        SC_TRY(check_row(store, p, &rows[r]));
    }
    if (pair->kind == SC_STATE_DENSE) {
        if (n_rows != 1) {
            return sc_fail(
                SC_BAD_INPUT, "a model with states of its own making takes one row a microbatch, got %d", n_rows);
        }
        return feed_dense(store, p, rows, value);
    }
    struct sc_state *state = &store->fed[p];
    state->type = pair->type;
    state->heads = pair->heads;
    state->width = pair->width;
    state->capacity = pair_capacity(pair, store->options.context);
    state->n_rows = n_rows;
    for (int r = 0; r < n_rows; r++) {
        state->rows[r] = store->views[p * store->options.n_slots + rows[r].slot];
        state->rows[r].length = rows[r].pos;
    }
    store->values[p].kind = SC_KIND_STATE;
    store->values[p].u.state = state;
    *value = &store->values[p];
    return SC_OK;
}

static enum sc_status keep_dense(struct sc_dense_state *dense, const struct sc_value *value)
{
    const size_t bytes = sc_tensor_bytes(&value->u.tensor);
    if (value->u.tensor.data == dense->memory) { /* a state that the graph passes through */
        return SC_OK;
    }
    if (bytes > dense->bytes) {
        void *bigger = malloc(2 * bytes); /* doubling: a state that grows by a row a step is seldom moved */
        if (!bigger) {
            return sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes of state", 2 * bytes);
        }
        free(dense->memory);
        dense->memory = bigger;
        dense->bytes = 2 * bytes;
    }
    dense->value = *value;
    sc_tensor_copy_dense(&value->u.tensor, dense->memory);
    sc_dense_strides(value->u.tensor.rank, value->u.tensor.dims, dense->value.u.tensor.strides);
    dense->value.u.tensor.data = dense->memory;
    return SC_OK;
}

enum sc_status sc_state_keep(
    struct sc_state_store *store, int p, const struct sc_row *rows, int n_rows, const struct sc_value *value)
{
    const int first = p * store->options.n_slots;
    if (store->options.pairs[p].kind == SC_STATE_DENSE) {
        SC_TRY(keep_dense(&store->dense[first + rows->slot], value));
    }
    for (int r = 0; r < n_rows; r++) {
        store->lengths[first + rows[r].slot] = rows[r].pos + rows[r].n_new;
    }
    return SC_OK;
}

void sc_state_cut(struct sc_state_store *store, int p, const struct sc_row *rows, int n_rows)
{
    for (int r = 0; r < n_rows; r++) {
        const bool known = rows[r].slot >= 0 && rows[r].slot < store->options.n_slots && rows[r].pos >= 0;
        int64_t *length = known ? &store->lengths[p * store->options.n_slots + rows[r].slot] : NULL;
        if (length && *length > rows[r].pos) { /* a dense state that went on cannot go back: only from 0 is it whole */
            *length = store->options.pairs[p].kind == SC_STATE_DENSE ? 0 : rows[r].pos;
        }
    }
}
