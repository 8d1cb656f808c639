/* SPDX-License-Identifier: Apache-2.0
 * States that are made once for a text. One that attention alone reads is seen as a cache of so many positions, so that
 * a microbatch has rows of many texts, and lies as such from the start: keys are turned once. */
#include <stdlib.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/shape/shape.h"
#include "runtime/state_store.h"

bool sc_state_is_viewed(const struct sc_state_pair *pair)
{
    return pair->kind == SC_STATE_PAGED || (pair->kind == SC_STATE_CONSTANT && pair->node >= 0);
}

int64_t sc_state_source(const struct sc_state_pair *pair, const struct sc_tensor *made)
{
    if (sc_state_is_viewed(pair) && made->rank == 4) {
        return made->dims[2];
    }
    for (int d = 0; d < pair->rank && d < made->rank; d++) {
        if (pair->dims[d] == 0 && made->dims[d] > 0) {
            return made->dims[d];
        }
    }
    return 1;
}

/* [1, heads, positions, width] */
static enum sc_status check_view(const struct sc_state_pair *pair, const struct sc_tensor *made)
{
    char got[128];
    return made->rank == 4 && made->type == pair->type && made->dims[0] == 1 && made->dims[1] == pair->heads &&
            made->dims[2] > 0 && made->dims[3] == pair->width
        ? SC_OK
        : sc_fail(SC_BAD_INPUT, "a state for cross-attention is %s %s, want %s [1, %lld, positions, %lld]",
              sc_type_name(made->type), sc_dims_text(made->rank, made->dims, got, sizeof got), sc_type_name(pair->type),
              (long long)pair->heads, (long long)pair->width);
}

/* Room in memory of the state for so many pages, which nobody else has. */
static enum sc_status make_room(struct sc_dense_state *dense, int64_t n_pages, size_t page_bytes)
{
    const size_t bytes = (size_t)n_pages * page_bytes;
    if (n_pages > dense->n_pages) {
        void **pages = realloc(dense->pages, (size_t)n_pages * sizeof *pages);
        dense->pages = pages ? pages : dense->pages;
        dense->n_pages = pages ? n_pages : dense->n_pages;
        SC_TRY(pages ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for %lld pages of a state", (long long)n_pages));
    }
    if (bytes > dense->bytes) {
        free(dense->memory);
        dense->memory = aligned_alloc(SC_PAGE_ROWS, bytes); /* whole cache lines, as 64 positions of any type are */
        dense->bytes = dense->memory ? bytes : 0;
    }
    return dense->memory ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes of state", bytes);
}

enum sc_status sc_state_expect_constant(struct sc_state_store *store, int p, int slot, int64_t length)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    struct sc_dense_state *dense = &store->dense[p * store->options.n_slots + slot];
    struct sc_state_view *view = &store->views[p * store->options.n_slots + slot];
    const int64_t n_pages = sc_pages_for(length);
    const size_t page_bytes = (size_t)sc_state_page_bytes(pair);
    const int64_t dims[] = {n_pages, pair->heads, pair->width, SC_PAGE_ROWS};
    SC_TRY(sc_dims_check("a state", pair->type, 4, dims));
    SC_TRY(make_room(dense, n_pages, page_bytes));
    for (int64_t i = 0; i < n_pages; i++) {
        dense->pages[i] = (char *)dense->memory + (size_t)i * page_bytes;
    }
    memset(dense->pages[n_pages - 1], 0, page_bytes); /* what is past the length is read, and adds nothing */
    view->pages = dense->pages;
    view->n_pages = n_pages;
    view->length = length;
    int64_t *capacity = &store->fed[p].capacity; /* of all slots there have been: scratch is as large as that */
    *capacity = length > *capacity ? length : *capacity;
    return SC_OK;
}

enum sc_status sc_state_keep_constant(struct sc_state_store *store, int p, int slot, const struct sc_tensor *made)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    SC_TRY(check_view(pair, made));
    const int64_t length = made->dims[2];
    SC_TRY(sc_state_expect_constant(store, p, slot, length));
    const struct sc_state_view *view = &store->views[p * store->options.n_slots + slot];
    const size_t bytes = sc_type_bytes(made->type);
    for (int64_t at = 0; at < length; at += SC_PAGE_ROWS) {
        const int64_t left = length - at;
        struct sc_move move = {.bytes = bytes,
            .to = view->pages[at / SC_PAGE_ROWS],
            .from = sc_const_at(made->data, at * made->strides[2], bytes)};
        sc_move_axis(&move, pair->heads, view->head_stride, made->strides[1]);
        sc_move_axis(&move, left < SC_PAGE_ROWS ? left : SC_PAGE_ROWS, view->row_stride, made->strides[2]);
        sc_move_axis(&move, pair->width, view->column_stride, made->strides[3]);
        sc_move_run(&move, NULL);
    }
    return SC_OK;
}
