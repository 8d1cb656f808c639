/* SPDX-License-Identifier: Apache-2.0
 * States that are made once for a text. One that attention alone reads is seen as a cache of so many positions, so that a
 * microbatch has rows of many texts, whatever memory each lies in. */
#include <stdlib.h>

#include "ops/infer.h"
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

enum sc_status sc_state_view_constant(struct sc_state_store *store, int p, int slot)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    struct sc_dense_state *dense = &store->dense[p * store->options.n_slots + slot];
    struct sc_state_view *view = &store->views[p * store->options.n_slots + slot];
    const struct sc_tensor *made = &dense->value.u.tensor;
    SC_TRY(check_view(pair, made));
    const int64_t length = made->dims[2], n_pages = sc_pages_for(length);
    if (n_pages > dense->n_pages) {
        void **pages = realloc(dense->pages, (size_t)n_pages * sizeof *pages);
        if (!pages) {
            return sc_fail(SC_NO_MEMORY, "out of memory for %lld pages of a state", (long long)n_pages);
        }
        dense->pages = pages;
        dense->n_pages = n_pages;
    }
    const size_t page_bytes = SC_PAGE_ROWS * (size_t)pair->width * sc_type_bytes(pair->type);
    for (int64_t i = 0; i < n_pages; i++) {
        dense->pages[i] = (char *)dense->memory + (size_t)i * page_bytes;
    }
    *view = (struct sc_state_view){.pages = dense->pages,
        .n_pages = n_pages,
        .length = length,
        .head_stride = length * pair->width,
        .row_stride = pair->width,
        .column_stride = 1};
    int64_t *capacity = &store->fed[p].capacity; /* of all slots there have been: scratch is as large as that */
    *capacity = length > *capacity ? length : *capacity;
    return SC_OK;
}
