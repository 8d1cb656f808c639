/* SPDX-License-Identifier: Apache-2.0
 * What a rank remembers between microbatches: the caches of its own layers. */
#ifndef SC_RUNTIME_STATE_H
#define SC_RUNTIME_STATE_H

#include "comm/wire.h"
#include "model/graph.h"

enum sc_state_kind {
    SC_STATE_PAGED, /* appended to in place by the operator that joins it: the graph's value is a SC_KIND_STATE */
    SC_STATE_DENSE, /* an ordinary tensor that the graph makes anew each time: the output of one microbatch is the next
                      one's input */
    SC_STATE_CONSTANT /* a tensor that microbatches of no new positions make, once for a text, and all later ones read:
                         as a SC_KIND_STATE where attention alone does, else as it is */
};

/* A graph input and a graph output that continue each other, found by decode/. Indices are values of the main graph. */
struct sc_state_pair {
    int in, out;
    int node; /* the operator that joins them, or reads a constant state as a cache; -1: none */
    enum sc_state_kind kind;
    enum sc_type type;
    int64_t heads, width; /* paged, and constant with a node: [1, heads, positions, width] */
    bool joined; /* paged, keys: the tensor is [2, batch, heads / 2, positions, width]; later half of heads: values */
    int64_t capacity; /* positions that the graph itself allows; 0: as many as asked for */
    bool keys; /* in pages: those are [head][width][64], as the attention routine reads keys; else [head][64][width] */
    enum sc_page_format format; /* paged: how pages hold numbers (tensor/page.h) */
    int rank; /* dense: dims of the empty state; a dim that grows is 0, the batch is 1 */
    int64_t dims[SC_MAX_RANK];
};

/* The states of one stage, keyed by (slot, pair). Paged ones lie in pages of 64 positions from a pool that all slots
 * share, which is reserved when the store is made and touched when it is first written. A microbatch's rows say where
 * they continue: a cache anywhere in what it holds, so that going back to an earlier position needs no call; a dense
 * state where it stands, or at 0. A row may begin as another slot: pages are then shared until one of the two writes
 * into them. A stage, not a rank, has a store: two stages of a rank are not at the same microbatch. Belongs to the
 * thread that drives the session.
 *
 * For each microbatch: drop ──► begin ──► feed, for each pair ──► the stage runs ──► keep, or cut when it failed */
struct sc_state_store;

struct sc_state_options {
    int n_pairs;
    const struct sc_state_pair *pairs; /* of this stage */
    int n_slots;
    int64_t context; /* positions a slot may reach; a pair's own capacity may be less */
    int64_t n_pages; /* of the pool; 0: enough for every slot to reach its context */
};

/* The pair's input is a SC_KIND_STATE, of as many rows as the microbatch. */
bool sc_state_is_viewed(const struct sc_state_pair *pair);

enum sc_status sc_state_store_create(const struct sc_state_options *options, struct sc_state_store **store);
void sc_state_store_free(struct sc_state_store *store); /* safe on NULL */

/* A slot, or some, hold nothing any more, and their pages are free. */
void sc_state_drop(struct sc_state_store *store, int slot);
void sc_state_drop_all(struct sc_state_store *store, const struct sc_slots *slots);

/* Gives the rows' slots pages of their own for the positions that are to be written, and pages of another slot where a
 * row begins as that. SC_LIMIT when the pool has no more; SC_BAD_INPUT for a slot out of range, or one that holds less
 * than is to be shared. */
enum sc_status sc_state_begin(struct sc_state_store *store, const struct sc_row *rows, int n_rows);

/* The value to feed as pair's input for these rows: a state with one view per row, or the dense tensor of the only
 * row's slot (as it was kept last; the empty one when the row starts at position 0). Fails with SC_LIMIT when a row
 * would not fit, SC_BAD_INPUT for a slot out of range. The value is the store's and valid until the next call for the
 * same pair. */
enum sc_status sc_state_feed(
    struct sc_state_store *store, int pair, const struct sc_row *rows, int n_rows, const struct sc_value **value);

/* After a run that went well: the slots of the rows hold the rows' positions. A dense pair's new value is copied into
 * memory of the store. */
enum sc_status sc_state_keep(
    struct sc_state_store *store, int pair, const struct sc_row *rows, int n_rows, const struct sc_value *value);

/* After a microbatch that failed here or before: its rows' slots hold no more than what was there before it, whatever
 * later microbatches or other pairs have done. Rows are as they came. */
void sc_state_cut(struct sc_state_store *store, int pair, const struct sc_row *rows, int n_rows);

/* A slot's state from outside of a run: saved, loaded, given by a caller. It is the dense tensor that the model's file
 * declares, [1, heads, length, width] for a paged pair, read and written in pieces; SC_BAD_INPUT for a slot or elements
 * out of range. Where pages have a format of their own it is what they hold: the same dims of the format's type, and of
 * q8_0 [1, heads, length, bytes of a row]: codes, then scales. */
enum sc_type sc_state_type(const struct sc_state_pair *pair); /* of that tensor */
const char *sc_state_type_name(const struct sc_state_pair *pair); /* what it stands for: "float", "q8_0" */
int64_t sc_state_length(
    const struct sc_state_store *store, int pair, int slot); /* positions; of a constant state those of its source */
enum sc_status sc_state_shape(const struct sc_state_store *store, int pair, int slot, struct sc_tensor *shape);
enum sc_status sc_state_read(const struct sc_state_store *store, int pair, int slot, int64_t at, int64_t n, void *to);

/* The slot, dropped before, holds `length` positions in a state of this shape, whose elements are still to be written.
 * SC_BAD_INPUT when it does not fit the pair, SC_LIMIT when there is no room. */
enum sc_status sc_state_expect(
    struct sc_state_store *store, int pair, int slot, int64_t length, const struct sc_tensor *shape);
enum sc_status sc_state_write(
    struct sc_state_store *store, int pair, int slot, int64_t at, int64_t n, const void *from);

/* From one store to another, as a value that travels: what a row has added to its slot's pages, in the order of the
 * pages; a dense state whole once the prompt ends, a constant one once a row that adds nothing has made it (nothing
 * else). It is given by a store whose step has made it, and taken after sc_state_begin for the row, which the slot then
 * holds. SC_PEER for a value that is none of these. */
enum sc_status sc_state_give(
    struct sc_state_store *store, int pair, const struct sc_row *row, struct sc_arena *arena, struct sc_value *value);
enum sc_status sc_state_take(
    struct sc_state_store *store, int pair, const struct sc_row *row, const struct sc_value *value);

/* Bytes that all slots take in pages of the pair when they are full; 0 for dense pairs. Of options: slots, context and
 * pages. */
int64_t sc_state_pair_bytes(const struct sc_state_pair *pair, const struct sc_state_options *options);

#endif
