/* SPDX-License-Identifier: Apache-2.0
 * Which pages of a pool each slot has. No memory and no pairs: a state store moves bytes as it is told here, and a
 * scheduler keeps a table of its own to know what is free. */
#ifndef SC_RUNTIME_PAGES_H
#define SC_RUNTIME_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A slot has pages 0 .. n - 1 of its positions, 64 in each. A page may belong to several slots that begin alike;
 * whoever writes into such a page gets one of its own first. */
struct sc_pages;

/* Slot `slot` has page `page` of the pool as its `index`-th from now on; its content is that of `copied_from`, or
 * nothing yet: -1. */
typedef void sc_pages_changed_fn(void *arg, int slot, int64_t index, int64_t page, int64_t copied_from);

struct sc_pages_options {
    int n_slots;
    int64_t slot_pages; /* most that a slot may have */
    int64_t n_pages; /* of the pool */
    sc_pages_changed_fn *changed; /* NULL: nobody wants to know */
    void *arg;
};

enum sc_status sc_pages_create(const struct sc_pages_options *options, struct sc_pages **pages);
void sc_pages_free(struct sc_pages *pages); /* safe on NULL */

/* Gives all pages of a slot back. */
void sc_pages_drop(struct sc_pages *pages, int slot);

/* The slot drops what it has and begins as the first n positions of another one, whose pages it shares. SC_BAD_INPUT
 * when that one has fewer. */
enum sc_status sc_pages_share(struct sc_pages *pages, int slot, int from, int64_t n);

/* Makes positions pos .. pos + n - 1 the slot's own, to be written; the pages before them must be there. SC_LIMIT when
 * the pool or the slot has no more; pages that were taken until then stay. */
enum sc_status sc_pages_write(struct sc_pages *pages, int slot, int64_t pos, int64_t n);

int64_t sc_pages_held(const struct sc_pages *pages, int slot); /* by a slot, shared ones too */
int64_t sc_pages_n_free(const struct sc_pages *pages);

/* Pages that sc_pages_write would take from the pool for the same arguments. */
int64_t sc_pages_wanted(const struct sc_pages *pages, int slot, int64_t pos, int64_t n);

/* Who has which pages, as plain bytes for a table of the same size elsewhere: pages held, by slot; then the pages, by
 * slot. */
size_t sc_pages_packed_bytes(const struct sc_pages *pages);
void sc_pages_pack(const struct sc_pages *pages, void *to);

/* Takes the place of what the table said. SC_PEER for bytes that are no such table, which is then empty. */
enum sc_status sc_pages_unpack(struct sc_pages *pages, const void *from);

int64_t sc_pages_count(const struct sc_pages *pages); /* of the pool */

#endif
