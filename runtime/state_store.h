/* SPDX-License-Identifier: Apache-2.0
 * The inside of a state store, for state.c and state_copy.c. */
#ifndef SC_RUNTIME_STATE_STORE_H
#define SC_RUNTIME_STATE_STORE_H

#include "runtime/pages.h"
#include "runtime/state.h"

/* One dense state, in memory that grows with it. */
struct sc_dense_state {
    struct sc_value value;
    void *memory;
    size_t bytes;
    void **pages; /* of a constant state that is viewed: where each 64 positions begin; `value` is not set */
    int64_t n_pages; /* room for so many */
};

struct sc_state_store {
    struct sc_arena arena;
    struct sc_state_options options;
    struct sc_pages *table; /* NULL: no pair is paged */
    bool tabled; /* while it is filled from other stores: one has brought its table */
    void *memory; /* of all pages; zero-filled by the system when first touched */
    char **parts; /* by pair: its part of page 0, the others follow; NULL for dense ones */
    struct sc_state_view *views; /* by pair, by slot */
    struct sc_dense_state *dense; /* by pair, by slot */
    int64_t *lengths; /* by pair, by slot: positions that it holds */
    struct sc_state *fed; /* by pair: what sc_state_feed hands out */
    struct sc_value *values; /* by pair */
};

int64_t sc_state_page_bytes(const struct sc_state_pair *pair); /* the pair's part of a page */
int64_t sc_state_capacity(const struct sc_state_pair *pair, int64_t context); /* positions */
int64_t sc_state_source(
    const struct sc_state_pair *pair, const struct sc_tensor *made); /* positions of a constant one */

/* The slot has pages for another constant state that is viewed, of `length` > 0 positions that are still to be written;
 * or what was made is written into them too. */
enum sc_status sc_state_expect_constant(struct sc_state_store *store, int pair, int slot, int64_t length);
enum sc_status sc_state_keep_constant(struct sc_state_store *store, int pair, int slot, const struct sc_tensor *made);
enum sc_status sc_state_check_slot(const struct sc_state_store *store, int slot);

#endif
