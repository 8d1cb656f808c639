/* SPDX-License-Identifier: Apache-2.0
 * A count of owners for each page, and a stack of those that have none: what was given back last is taken first, so
 * that few pages of the pool are ever touched. */
#include "runtime/pages.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/value.h"

struct sc_pages {
    struct sc_pages_options options;
    int32_t *owners; /* by page */
    int64_t *free; /* [n_free], a stack */
    int64_t n_free;
    int64_t *held; /* by slot */
    int64_t *tables; /* by slot, by index: a page */
};

enum sc_status sc_pages_create(const struct sc_pages_options *options, struct sc_pages **out)
{
    const size_t n_slots = (size_t)options->n_slots, n_pages = (size_t)options->n_pages;
    struct sc_pages *pages = calloc(1, sizeof *pages);
    if (pages) {
        pages->options = *options;
        pages->owners = calloc(n_pages + 1, sizeof *pages->owners);
        pages->free = calloc(n_pages + 1, sizeof *pages->free);
        pages->held = calloc(n_slots, sizeof *pages->held);
        pages->tables = calloc(n_slots * (size_t)options->slot_pages + 1, sizeof *pages->tables);
    }
    if (!pages || !pages->owners || !pages->free || !pages->held || !pages->tables) {
        sc_pages_free(pages);
        return sc_fail(SC_NO_MEMORY, "out of memory for a table of %lld pages", (long long)options->n_pages);
    }
    while (pages->n_free < options->n_pages) {
        pages->free[pages->n_free] = options->n_pages - 1 - pages->n_free;
        pages->n_free++;
    }
    *out = pages;
    return SC_OK;
}

void sc_pages_free(struct sc_pages *pages)
{
    if (pages) {
        free(pages->owners);
        free(pages->free);
        free(pages->held);
        free(pages->tables);
        free(pages);
    }
}

static int64_t *table_of(const struct sc_pages *pages, int slot)
{
    return pages->tables + slot * pages->options.slot_pages;
}

static void changed(const struct sc_pages *pages, int slot, int64_t index, int64_t copied_from)
{
    if (pages->options.changed) {
        pages->options.changed(pages->options.arg, slot, index, table_of(pages, slot)[index], copied_from);
    }
}

static void give_back(struct sc_pages *pages, int64_t page)
{
    if (--pages->owners[page] == 0) {
        pages->free[pages->n_free++] = page;
    }
}

void sc_pages_drop(struct sc_pages *pages, int slot)
{
    const int64_t *table = table_of(pages, slot);
    while (pages->held[slot] > 0) {
        give_back(pages, table[--pages->held[slot]]);
    }
}

enum sc_status sc_pages_share(struct sc_pages *pages, int slot, int from, int64_t n)
{
    const int64_t wanted = sc_pages_for(n);
    if (slot == from || wanted > pages->held[from]) {
        return sc_fail(SC_BAD_INPUT, "slot %d is to begin as the first %lld positions of slot %d, which has %lld pages",
            slot, (long long)n, from, (long long)pages->held[from]);
    }
    sc_pages_drop(pages, slot);
    for (int64_t i = 0; i < wanted; i++) {
        const int64_t page = table_of(pages, from)[i];
        table_of(pages, slot)[i] = page;
        pages->owners[page]++;
        pages->held[slot]++;
        changed(pages, slot, i, -1);
    }
    return SC_OK;
}

/* The page at `index` becomes one that the slot alone has. */
static enum sc_status own(struct sc_pages *pages, int slot, int64_t index)
{
    int64_t *page = &table_of(pages, slot)[index];
    const bool there = index < pages->held[slot];
    if (there && pages->owners[*page] == 1) {
        return SC_OK;
    }
    if (pages->n_free == 0 || index >= pages->options.slot_pages) {
        return sc_fail(SC_LIMIT, "slot %d wants one more page than there is room for: it has %lld, the pool %lld", slot,
            (long long)pages->held[slot], (long long)pages->options.n_pages);
    }
    const int64_t before = there ? *page : -1;
    *page = pages->free[--pages->n_free];
    pages->owners[*page] = 1;
    pages->held[slot] += !there;
    changed(pages, slot, index, before);
    if (there) {
        give_back(pages, before);
    }
    return SC_OK;
}

enum sc_status sc_pages_write(struct sc_pages *pages, int slot, int64_t pos, int64_t n)
{
    if (pos / SC_PAGE_ROWS > pages->held[slot]) {
        return sc_fail(SC_BAD_INPUT, "slot %d continues at position %lld, but has %lld pages", slot, (long long)pos,
            (long long)pages->held[slot]);
    }
    for (int64_t i = pos / SC_PAGE_ROWS; i < sc_pages_for(pos + n); i++) {
        SC_TRY(own(pages, slot, i));
    }
    return SC_OK;
}

int64_t sc_pages_wanted(const struct sc_pages *pages, int slot, int64_t pos, int64_t n)
{
    int64_t wanted = 0;
    for (int64_t i = pos / SC_PAGE_ROWS; i < sc_pages_for(pos + n); i++) {
        wanted += i >= pages->held[slot] || pages->owners[table_of(pages, slot)[i]] > 1;
    }
    return wanted;
}

int64_t sc_pages_held(const struct sc_pages *pages, int slot)
{
    return pages->held[slot];
}

int64_t sc_pages_n_free(const struct sc_pages *pages)
{
    return pages->n_free;
}

size_t sc_pages_packed_bytes(const struct sc_pages *pages)
{
    const size_t n_slots = (size_t)pages->options.n_slots;
    return (n_slots + n_slots * (size_t)pages->options.slot_pages) * sizeof(int64_t);
}

void sc_pages_pack(const struct sc_pages *pages, void *to)
{
    const size_t held_bytes = (size_t)pages->options.n_slots * sizeof *pages->held;
    memcpy(to, pages->held, held_bytes);
    memcpy((char *)to + held_bytes, pages->tables, sc_pages_packed_bytes(pages) - held_bytes);
}

/* Every slot has as many pages as it may, all of the pool. */
static bool can_be(const struct sc_pages *pages, const int64_t *held, const int64_t *tables)
{
    const struct sc_pages_options *options = &pages->options;
    for (int slot = 0; slot < options->n_slots; slot++) {
        if (held[slot] < 0 || held[slot] > options->slot_pages) {
            return false;
        }
        for (int64_t i = 0; i < held[slot]; i++) {
            const int64_t page = tables[slot * options->slot_pages + i];
            if (page < 0 || page >= options->n_pages) {
                return false;
            }
        }
    }
    return true;
}

enum sc_status sc_pages_unpack(struct sc_pages *pages, const void *from)
{
    const int64_t *held = from, *tables = held + pages->options.n_slots;
    for (int slot = 0; slot < pages->options.n_slots; slot++) {
        sc_pages_drop(pages, slot);
    }
    if (!can_be(pages, held, tables)) {
        return sc_fail(SC_PEER, "a table of pages came that is not one of this pool");
    }
    for (int slot = 0; slot < pages->options.n_slots; slot++) {
        for (int64_t i = 0; i < held[slot]; i++) {
            const int64_t page = tables[slot * pages->options.slot_pages + i];
            table_of(pages, slot)[i] = page;
            pages->owners[page]++;
            pages->held[slot]++;
            changed(pages, slot, i, -1);
        }
    }
    pages->n_free = 0;
    for (int64_t page = pages->options.n_pages - 1; page >= 0; page--) {
        if (pages->owners[page] == 0) {
            pages->free[pages->n_free++] = page;
        }
    }
    return SC_OK;
}

int64_t sc_pages_count(const struct sc_pages *pages)
{
    return pages->options.n_pages;
}
