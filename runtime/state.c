/* SPDX-License-Identifier: Apache-2.0
 * A page of the pool is 64 positions of every paged pair; its parts lie in one reserved mapping, pair after pair. A
 * view per (pair, slot) follows the table of pages. */
#include <stdlib.h>
#include <string.h>

#include "runtime/state_store.h"
#include "tensor/page.h"

enum sc_type sc_state_type(const struct sc_state_pair *pair)
{
    return sc_page_type(pair->format, pair->type);
}

const char *sc_state_type_name(const struct sc_state_pair *pair)
{
    return sc_page_name(pair->format, pair->type);
}

int64_t sc_state_page_bytes(const struct sc_state_pair *pair)
{
    return pair->heads * sc_page_row_bytes(pair->format, pair->type, pair->width) * SC_PAGE_ROWS;
}

int64_t sc_state_capacity(const struct sc_state_pair *pair, int64_t context)
{
    if (pair->kind == SC_STATE_CONSTANT) {
        return INT32_MAX; /* as long as its source, which the context does not bound */
    }
    return pair->capacity > 0 && pair->capacity < context ? pair->capacity : context;
}

static int64_t pair_pages(const struct sc_state_pair *pair, int64_t context)
{
    return sc_pages_for(sc_state_capacity(pair, context));
}

/* Of the pool: as many as there are, but no more than all slots can fill. */
static int64_t pool_pages(int64_t n_pages, int n_slots, int64_t slot_pages)
{
    return n_pages > 0 && n_pages < n_slots * slot_pages ? n_pages : n_slots * slot_pages;
}

int64_t sc_state_pair_bytes(const struct sc_state_pair *pair, const struct sc_state_options *options)
{
    return pair->kind == SC_STATE_PAGED
        ? pool_pages(options->n_pages, options->n_slots, pair_pages(pair, options->context)) * sc_state_page_bytes(pair)
        : 0;
}

/* Bytes of all pages. Heads and width come from the model file. */
static enum sc_status count_bytes(const struct sc_state_options *options, int64_t n_pages, int64_t *bytes)
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
        const int64_t page = sc_state_page_bytes(pair) > 0 ? sc_state_page_bytes(pair) : 1;
        if (n_pages > (most - *bytes) / page) {
            return sc_fail(SC_NO_MEMORY, "out of memory for caches of %lld positions in %d slots",
                (long long)options->context, options->n_slots);
        }
        *bytes += n_pages * sc_state_page_bytes(pair);
    }
    return SC_OK;
}

/* A slot has another page: all pairs' views of it follow. */
static void page_changed(void *arg, int slot, int64_t index, int64_t page, int64_t copied_from)
{
    struct sc_state_store *store = arg;
    for (int p = 0; p < store->options.n_pairs; p++) {
        const size_t bytes = (size_t)sc_state_page_bytes(&store->options.pairs[p]);
        if (!store->parts[p] || index >= pair_pages(&store->options.pairs[p], store->options.context)) {
            continue;
        }
        char *to = store->parts[p] + (size_t)page * bytes;
        if (copied_from >= 0) {
            memcpy(to, store->parts[p] + (size_t)copied_from * bytes, bytes);
        }
        store->views[p * store->options.n_slots + slot].pages[index] = to;
    }
}

/* How pages lie. Those of constant states come with each text. */
static enum sc_status make_views(struct sc_state_store *store, int p)
{
    const struct sc_state_options *options = &store->options;
    const struct sc_state_pair *pair = &options->pairs[p];
    const int64_t n_pages = pair->kind == SC_STATE_PAGED ? pair_pages(pair, options->context) : 0;
    for (int slot = 0; slot < options->n_slots; slot++) {
        struct sc_state_view *view = &store->views[p * options->n_slots + slot];
        view->pages = sc_arena_array(&store->arena, (size_t)n_pages, sizeof *view->pages);
        if (!view->pages) {
            return SC_NO_MEMORY;
        }
        view->n_pages = n_pages;
        const int64_t head = sc_page_row_bytes(pair->format, pair->type, pair->width) * SC_PAGE_ROWS;
        view->format = pair->format;
        view->head_stride = head / (int64_t)sc_type_bytes(sc_state_type(pair));
        view->row_stride = pair->keys ? 1 : pair->width;
        view->column_stride = pair->keys ? SC_PAGE_ROWS : 1;
    }
    return SC_OK;
}

static enum sc_status make_pool(struct sc_state_store *store)
{
    const struct sc_state_options *options = &store->options;
    const int64_t slot_pages = sc_pages_for(options->context);
    const int64_t n_pages = pool_pages(options->n_pages, options->n_slots, slot_pages);
    int64_t bytes = 0;
    SC_TRY(count_bytes(options, n_pages, &bytes));
    store->memory = calloc(1, (size_t)bytes + SC_PAGE_ROWS);
    if (!store->memory) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %lld bytes of caches", (long long)bytes);
    }
    char *at = (char *)(((uintptr_t)store->memory + SC_PAGE_ROWS - 1) / SC_PAGE_ROWS * SC_PAGE_ROWS); /* cache lines */
    for (int p = 0; p < options->n_pairs; p++) {
        if (sc_state_is_viewed(&options->pairs[p])) {
            store->fed[p].rows = sc_arena_array(&store->arena, SC_WIRE_ROWS, sizeof *store->fed[p].rows);
            SC_TRY(store->fed[p].rows ? SC_OK : SC_NO_MEMORY);
            SC_TRY(make_views(store, p));
        }
        if (options->pairs[p].kind == SC_STATE_PAGED) {
            store->parts[p] = at;
            at += n_pages * sc_state_page_bytes(&options->pairs[p]);
        }
    }
    const struct sc_pages_options table = {.n_slots = options->n_slots,
        .slot_pages = slot_pages,
        .n_pages = n_pages,
        .changed = page_changed,
        .arg = store};
    return at == store->memory ? SC_OK : sc_pages_create(&table, &store->table);
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
    store->parts = sc_arena_array(&store->arena, (size_t)options->n_pairs, sizeof *store->parts);
    enum sc_status status = SC_NO_MEMORY;
    if (pairs && store->views && store->dense && store->lengths && store->fed && store->values && store->parts) {
        for (int p = 0; p < options->n_pairs; p++) {
            pairs[p] = options->pairs[p];
        }
        store->options.pairs = pairs;
        status = make_pool(store);
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
        free(store->dense[i].pages);
    }
    sc_pages_free(store->table);
    free(store->memory);
    sc_arena_release(&store->arena);
    free(store);
}

enum sc_status sc_state_check_slot(const struct sc_state_store *store, int slot)
{
    return slot >= 0 && slot < store->options.n_slots
        ? SC_OK
        : sc_fail(SC_BAD_INPUT, "slot %d is not one of %d", slot, store->options.n_slots);
}

/* The row's slot begins as another one. Dense states are one tensor that no two can have. */
static enum sc_status share(struct sc_state_store *store, const struct sc_row *row)
{
    const int from = row->shares - 1, n_slots = store->options.n_slots;
    SC_TRY(sc_state_check_slot(store, from));
    for (int p = 0; p < store->options.n_pairs; p++) {
        const int64_t length = store->lengths[p * n_slots + from];
        if (!store->parts[p] || length < row->pos) {
            return sc_fail(SC_BAD_INPUT, "slot %d is to begin as the first %lld positions of slot %d, which %s %lld",
                row->slot, (long long)row->pos, from, store->parts[p] ? "holds" : "cannot be shared from its",
                (long long)length);
        }
    }
    SC_TRY(sc_pages_share(store->table, row->slot, from, row->pos));
    for (int p = 0; p < store->options.n_pairs; p++) {
        store->lengths[p * n_slots + row->slot] = row->pos;
    }
    return SC_OK;
}

static enum sc_status begin_row(struct sc_state_store *store, const struct sc_row *row)
{
    SC_TRY(sc_state_check_slot(store, row->slot));
    if (row->shares > 0) {
        SC_TRY(share(store, row));
    }
    const int64_t context = store->options.context;
    if (!store->table || row->pos < 0 || row->n_new < 0 || row->pos > context - row->n_new ||
        row->pos / SC_PAGE_ROWS > sc_pages_held(store->table, row->slot)) {
        return SC_OK; /* sc_state_feed says what is wrong with it */
    }
    if (row->pos == 0) {
        sc_pages_drop(store->table, row->slot);
    }
    return sc_pages_write(store->table, row->slot, row->pos, row->n_new);
}

enum sc_status sc_state_begin(struct sc_state_store *store, const struct sc_row *rows, int n_rows)
{
    for (int r = 0; r < n_rows; r++) {
        SC_TRY(begin_row(store, &rows[r]));
    }
    return SC_OK;
}

void sc_state_drop(struct sc_state_store *store, int slot)
{
    if (store->table) {
        sc_pages_drop(store->table, slot);
    }
    for (int p = 0; p < store->options.n_pairs; p++) {
        store->lengths[p * store->options.n_slots + slot] = 0;
    }
}

void sc_state_drop_all(struct sc_state_store *store, const struct sc_slots *slots)
{
    for (int slot = 0; slot < store->options.n_slots; slot++) {
        if (sc_slots_has(slots, slot)) {
            sc_state_drop(store, slot);
        }
    }
}

/* A constant state is there once its text was encoded, whatever the row. */
static enum sc_status check_constant(const struct sc_state_store *store, int p, const struct sc_row *row)
{
    SC_TRY(sc_state_check_slot(store, row->slot));
    return store->lengths[p * store->options.n_slots + row->slot] > 0
        ? SC_OK
        : sc_fail(SC_BAD_INPUT, "slot %d goes on with a text whose source was not encoded", row->slot);
}

/* A cache can be continued from any position that it holds, a dense state from the one where it stands. After a failure
 * on the way a slot holds less than a caller who goes on may think, and a dense one may have gone further. */
static enum sc_status check_row(const struct sc_state_store *store, int p, const struct sc_row *row)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    const int64_t capacity = sc_state_capacity(pair, store->options.context);
    if (pair->kind == SC_STATE_CONSTANT) {
        return check_constant(store, p, row);
    }
    SC_TRY(sc_state_check_slot(store, row->slot));
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
    if (row->pos == 0 && pair->kind == SC_STATE_DENSE) {
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
    if (!sc_state_is_viewed(pair)) {
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
    state->n_rows = n_rows;
    const bool paged = pair->kind == SC_STATE_PAGED;
    state->capacity = paged ? sc_state_capacity(pair, store->options.context) : state->capacity;
    for (int r = 0; r < n_rows; r++) {
        state->rows[r] = store->views[p * store->options.n_slots + rows[r].slot];
        if (paged) {
            state->rows[r].length = rows[r].pos;
            state->rows[r].n_pages = sc_pages_for(rows[r].pos + rows[r].n_new); /* nobody writes past what is its own */
        }
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
    const bool constant = store->options.pairs[p].kind == SC_STATE_CONSTANT;
    if (store->options.pairs[p].kind != SC_STATE_PAGED) {
        SC_TRY(sc_state_check_slot(store, rows->slot)); /* a constant one was not fed before */
        SC_TRY(sc_state_is_viewed(&store->options.pairs[p])
                ? sc_state_keep_constant(store, p, rows->slot, &value->u.tensor)
                : keep_dense(&store->dense[first + rows->slot], value));
    }
    for (int r = 0; r < n_rows; r++) {
        store->lengths[first + rows[r].slot] =
            constant ? sc_state_source(&store->options.pairs[p], &value->u.tensor) : rows[r].pos + rows[r].n_new;
    }
    return SC_OK;
}

void sc_state_cut(struct sc_state_store *store, int p, const struct sc_row *rows, int n_rows)
{
    const bool constant = store->options.pairs[p].kind == SC_STATE_CONSTANT;
    for (int r = 0; r < n_rows; r++) {
        const bool known = rows[r].slot >= 0 && rows[r].slot < store->options.n_slots && rows[r].pos >= 0 &&
            !(constant && rows[r].n_new > 0); /* steps only read it */
        int64_t *length = known ? &store->lengths[p * store->options.n_slots + rows[r].slot] : NULL;
        if (length && *length > rows[r].pos) { /* a dense state that went on cannot go back: only from 0 is it whole */
            *length = store->options.pairs[p].kind != SC_STATE_PAGED ? 0 : rows[r].pos;
        }
    }
}
