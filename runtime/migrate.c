/* SPDX-License-Identifier: Apache-2.0
 * For each pair: the lengths of all slots and who has which pages; then the pages in use, or the dense states, in
 * chunks. Both ends know from the first message what follows. */
#include "runtime/migrate.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/parcel.h"
#include "runtime/stage.h"
#include "runtime/state_store.h"

struct move {
    struct sc_session *session;
    const struct sc_state_pair *pair;
    struct sc_pair_place from, to; /* stores are NULL where this rank is not that end */
    char *chunk;
    int64_t *head; /* lengths of slots, then a packed table of pages */
    int64_t *mine; /* a packed table, of the new owner */
    bool *used; /* by page of the old owner */
    int64_t *target, *source; /* by page of the old, of the new owner: the other one; -1: none */
    struct sc_slots broken; /* that cannot go on */
    enum sc_status status; /* the first failure here; messages go on after it */
    struct sc_error error;
};

static void note(struct move *move, enum sc_status status)
{
    if (status != SC_OK && move->status == SC_OK) {
        move->status = status;
        move->error = *sc_error_last();
    }
}

/* From the old owner's memory to the new owner's, which have the same name here. */
static enum sc_status pass(struct move *move, void *data, size_t bytes)
{
    struct sc_value value;
    if (move->from.rank == move->to.rank) {
        return SC_OK;
    }
    if (!move->from.store) {
        return sc_parcel_take(move->session, move->from.rank, data, bytes);
    }
    sc_wire_bytes_value(data, bytes, &value);
    return sc_parcel_send(move->session, move->to.rank, SC_WIRE_CONTROL, &value);
}

/* The first pair of a store brings the table. Pairs that come from other stages have the same slots in other pages when
 * a microbatch once failed between those stages: which of ours is meant follows from who has it. A slot on which the
 * two do not agree is broken. */
static void find_targets(struct move *move)
{
    struct sc_state_store *store = move->to.store;
    const int n_slots = store->options.n_slots;
    const int64_t n_pages = sc_pages_count(store->table), slot_pages = sc_pages_for(store->options.context);
    const int64_t *held = move->head + n_slots, *theirs = held + n_slots, *ours = move->mine + n_slots;
    if (!store->tabled) {
        store->tabled = true;
        note(move, sc_pages_unpack(store->table, held));
    }
    sc_pages_pack(store->table, move->mine);
    for (int64_t page = 0; page < n_pages; page++) {
        move->target[page] = move->source[page] = -1;
    }
    for (int slot = 0; slot < n_slots; slot++) {
        bool same = held[slot] == move->mine[slot];
        for (int64_t i = slot * slot_pages; same && i < slot * slot_pages + held[slot]; i++) {
            const int64_t from = theirs[i], to = ours[i];
            same = from >= 0 && from < n_pages && (move->target[from] < 0 || move->target[from] == to) &&
                (move->source[to] < 0 || move->source[to] == from);
            if (same) {
                move->target[from] = to;
                move->source[to] = from;
            }
        }
        if (!same) {
            sc_slots_add(&move->broken, slot);
        }
    }
}

/* Which pages the table of the head says are in use. */
static void find_used(const struct move *move, const struct sc_state_store *store)
{
    const int n_slots = store->options.n_slots;
    const int64_t n_pages = sc_pages_count(store->table), slot_pages = sc_pages_for(store->options.context);
    const int64_t *held = move->head + n_slots, *tables = held + n_slots;
    memset(move->used, 0, (size_t)n_pages * sizeof *move->used);
    for (int slot = 0; slot < n_slots; slot++) {
        for (int64_t i = 0; i < held[slot] && i < slot_pages; i++) {
            const int64_t page = tables[slot * slot_pages + i];
            if (page >= 0 && page < n_pages) {
                move->used[page] = true;
            }
        }
    }
}

/* Pages in use, as many at a time as a chunk holds. */
static enum sc_status move_pages(struct move *move, int64_t n_pages)
{
    const size_t page_bytes = (size_t)sc_state_page_bytes(move->pair);
    const size_t most = page_bytes < SC_PARCEL_BYTES ? SC_PARCEL_BYTES / (page_bytes ? page_bytes : 1) : 1;
    const char *from = move->from.store ? move->from.store->parts[move->from.index] : NULL;
    char *to = move->to.store ? move->to.store->parts[move->to.index] : NULL;
    for (int64_t page = 0; page < n_pages;) {
        const int64_t first = page;
        size_t n = 0;
        for (; page < n_pages && n < most; page++) {
            if (move->used[page] && from) {
                memcpy(move->chunk + n * page_bytes, from + (size_t)page * page_bytes, page_bytes);
            }
            n += move->used[page];
        }
        if (n > 0) {
            SC_TRY(pass(move, move->chunk, n * page_bytes));
        }
        n = 0;
        for (int64_t i = first; i < page && to; i++) {
            if (move->used[i] && move->target[i] >= 0) {
                memcpy(to + (size_t)move->target[i] * page_bytes, move->chunk + n * page_bytes, page_bytes);
            }
            n += move->used[i];
        }
    }
    return SC_OK;
}

static enum sc_status move_paged(struct move *move)
{
    const struct sc_state_store *any = move->from.store ? move->from.store : move->to.store;
    const size_t lengths_bytes = (size_t)any->options.n_slots * sizeof *move->head;
    if (move->from.store) {
        sc_pages_pack(move->from.store->table, move->head + any->options.n_slots);
    }
    SC_TRY(pass(move, move->head, lengths_bytes + sc_pages_packed_bytes(any->table)));
    if (move->to.store) {
        find_targets(move);
        memcpy(&move->to.store->lengths[move->to.index * any->options.n_slots], move->head, lengths_bytes);
    }
    find_used(move, any);
    return move_pages(move, sc_pages_count(any->table));
}

/* What the new owner must know of a dense state. */
struct dense_head {
    int64_t length, rank, dims[SC_MAX_RANK];
    int64_t type;
};

static enum sc_status move_dense_slot(struct move *move, int slot)
{
    struct dense_head head = {0};
    struct sc_tensor shape;
    if (move->from.store) {
        head.length = sc_state_length(move->from.store, move->from.index, slot);
        SC_TRY(sc_state_shape(move->from.store, move->from.index, slot, &shape));
        head.rank = shape.rank;
        head.type = shape.type;
        memcpy(head.dims, shape.dims, (size_t)shape.rank * sizeof *head.dims);
    }
    SC_TRY(pass(move, &head, sizeof head));
    if (head.length <= 0) {
        return SC_OK;
    }
    if (head.rank < 0 || head.rank > SC_MAX_RANK || head.type != (int64_t)move->pair->type) {
        return sc_fail(SC_PEER, "rank %d sent a state of rank %lld", move->from.rank, (long long)head.rank);
    }
    SC_TRY(sc_dims_check("a state", move->pair->type, (int)head.rank, head.dims));
    sc_tensor_init(&shape, move->pair->type, (int)head.rank, head.dims);
    const enum sc_status fits =
        move->to.store ? sc_state_expect(move->to.store, move->to.index, slot, head.length, &shape) : SC_OK;
    note(move, fits);
    const int64_t count = sc_tensor_count(&shape), most = (int64_t)(SC_PARCEL_BYTES / sc_type_bytes(shape.type));
    for (int64_t at = 0; at < count; at += most) {
        const int64_t n = count - at < most ? count - at : most;
        if (move->from.store) {
            SC_TRY(sc_state_read(move->from.store, move->from.index, slot, at, n, move->chunk));
        }
        SC_TRY(pass(move, move->chunk, (size_t)n * sc_type_bytes(shape.type)));
        if (move->to.store && fits == SC_OK) {
            SC_TRY(sc_state_write(move->to.store, move->to.index, slot, at, n, move->chunk));
        }
    }
    return SC_OK;
}

static enum sc_status move_pair(struct move *move)
{
    if (!move->from.store && !move->to.store) {
        return SC_OK;
    }
    const struct sc_state_store *any = move->from.store ? move->from.store : move->to.store;
    const int n_slots = any->options.n_slots;
    if (move->pair->kind == SC_STATE_PAGED) {
        for (int slot = 0; slot < n_slots && move->from.store; slot++) {
            move->head[slot] = sc_state_length(move->from.store, move->from.index, slot);
        }
        return move_paged(move);
    }
    for (int slot = 0; slot < n_slots; slot++) {
        SC_TRY(move_dense_slot(move, slot));
    }
    return SC_OK;
}

/* Room for the largest head and chunk of all pairs. */
static enum sc_status make_room(struct move *move)
{
    const struct sc_session_options *options = &move->session->options;
    size_t chunk = SC_PARCEL_BYTES;
    for (int p = 0; p < options->n_pairs; p++) {
        const struct sc_state_pair *pair = &options->pairs[p];
        const size_t page = pair->kind == SC_STATE_PAGED ? (size_t)sc_state_page_bytes(pair) : 0;
        chunk = page > chunk ? page : chunk;
    }
    const size_t n_slots = (size_t)options->n_slots, n_pages = n_slots * (size_t)sc_pages_for(options->context) + 1;
    move->chunk = malloc(chunk);
    move->head = calloc(2 * n_slots + n_pages, sizeof *move->head);
    move->mine = calloc(n_slots + n_pages, sizeof *move->mine);
    move->used = calloc(n_pages, sizeof *move->used);
    move->target = calloc(n_pages, sizeof *move->target);
    move->source = calloc(n_pages, sizeof *move->source);
    return move->chunk && move->head && move->mine && move->used && move->target && move->source
        ? SC_OK
        : sc_fail(SC_NO_MEMORY, "out of memory to move caches");
}

static void free_room(struct move *move)
{
    free(move->chunk);
    free(move->head);
    free(move->mine);
    free(move->used);
    free(move->target);
    free(move->source);
}

enum sc_status sc_migrate(struct sc_session *session, const struct sc_pair_place *from, const struct sc_pair_place *to)
{
    struct move move = {.session = session};
    enum sc_status status = sc_world_agree(session->world, make_room(&move));
    for (int p = 0; p < session->options.n_pairs && status == SC_OK; p++) {
        move.pair = &session->options.pairs[p];
        move.from = from[p];
        move.to = to[p];
        status = move_pair(&move);
        sc_team_make_progress(session->team);
    }
    for (int p = 0; p < session->options.n_pairs && status == SC_OK; p++) {
        if (to[p].store) {
            sc_state_drop_all(to[p].store, &move.broken);
        }
    }
    free_room(&move);
    SC_TRY(status); /* a link is broken */
    return move.status == SC_OK ? SC_OK : sc_error_set(&move.error);
}
