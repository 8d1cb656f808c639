/* SPDX-License-Identifier: Apache-2.0
 * All downsets of a graph, smallest first, while they are few: each comes from a smaller one by adding a unit that is
 * ready, and is looked up by the sum of its units' hashes. */
#include <string.h>

#include "base/random.h"
#include "partitioner/cut_parts.h"

struct building {
    const struct sc_units *units;
    struct sc_arena *arena;
    int max_sets;
    struct sc_downsets *sets;
    int n_steps, cap_steps;
    uint64_t *unit_hash, *hash; /* per unit, per set */
    int *table; /* open addressing; 1 + set */
    size_t n_slots; /* a power of 2, more than twice the sets */
};

static uint64_t *bits_of(const struct sc_downsets *sets, int set)
{
    return sets->bits + (size_t)set * sets->n_words;
}

static bool has(const uint64_t *bits, int unit)
{
    return bits[unit / 64] >> (unit % 64) & 1;
}

static enum sc_status add_step(struct building *b, int unit)
{
    struct sc_downsets *sets = b->sets;
    if (b->n_steps == b->cap_steps) {
        const int cap = b->cap_steps ? 2 * b->cap_steps : 1024;
        int *grown = sc_arena_array(b->arena, (size_t)cap, sizeof *grown);
        if (!grown) {
            return SC_NO_MEMORY;
        }
        if (b->n_steps) {
            memcpy(grown, sets->unit, (size_t)b->n_steps * sizeof *grown);
        }
        sets->unit = grown;
        b->cap_steps = cap;
    }
    sets->unit[b->n_steps++] = unit;
    return SC_OK;
}

/* The slot of a set with these bits, or a free one. */
static size_t find_slot(const struct building *b, uint64_t hash, const uint64_t *bits)
{
    size_t slot = hash & (b->n_slots - 1);
    while (b->table[slot]) {
        const int set = b->table[slot] - 1;
        if (b->hash[set] == hash && !memcmp(bits_of(b->sets, set), bits, b->sets->n_words * sizeof *bits)) {
            break;
        }
        slot = (slot + 1) & (b->n_slots - 1);
    }
    return slot;
}

/* Lists the units that can be added to a set: all of those of `from` but `unit`, and readers of `unit` with all that
 * they read in the set. from -1: the empty set. */
static enum sc_status list_steps(struct building *b, int set, int from, int unit)
{
    const struct sc_units *units = b->units;
    const uint64_t *bits = bits_of(b->sets, set);
    if (from < 0) {
        for (int u = 0; u < units->n; u++) {
            if (units->preds.start[u] == units->preds.start[u + 1]) {
                SC_TRY(add_step(b, u));
            }
        }
        return SC_OK;
    }
    for (int s = b->sets->start[from]; s < b->sets->start[from + 1]; s++) {
        if (b->sets->unit[s] != unit) {
            SC_TRY(add_step(b, b->sets->unit[s]));
        }
    }
    for (int e = units->succs.start[unit]; e < units->succs.start[unit + 1]; e++) {
        const int reader = units->succs.item[e];
        bool ready = true;
        for (int r = units->preds.start[reader]; r < units->preds.start[reader + 1] && ready; r++) {
            ready = has(bits, units->preds.item[r]);
        }
        if (ready) {
            SC_TRY(add_step(b, reader));
        }
    }
    return SC_OK;
}

/* Makes the sets that one step leads to, those that are new; *open is false once there are too many. */
static enum sc_status grow_set(struct building *b, int set, uint64_t *bits, int *next, bool *open)
{
    struct sc_downsets *sets = b->sets;
    for (int s = sets->start[set]; s < sets->start[set + 1]; s++) {
        const int unit = sets->unit[s];
        const uint64_t hash = b->hash[set] + b->unit_hash[unit];
        memcpy(bits, bits_of(sets, set), sets->n_words * sizeof *bits);
        bits[unit / 64] |= 1ULL << (unit % 64);
        const size_t slot = find_slot(b, hash, bits);
        if (!b->table[slot]) {
            if (sets->n == b->max_sets) {
                *open = false;
                return SC_OK;
            }
            const int made = sets->n++;
            memcpy(bits_of(sets, made), bits, sets->n_words * sizeof *bits);
            b->hash[made] = hash;
            b->table[slot] = made + 1;
            sets->start[made] = b->n_steps;
            SC_TRY(list_steps(b, made, set, unit));
            sets->start[made + 1] = b->n_steps;
        }
        next[s - sets->start[set]] = b->table[slot] - 1;
    }
    return SC_OK;
}

static enum sc_status open_building(struct building *b)
{
    struct sc_downsets *sets = b->sets;
    const size_t max_sets = (size_t)b->max_sets;
    b->n_slots = 64;
    while (b->n_slots < 2 * max_sets) {
        b->n_slots *= 2;
    }
    sets->n_words = ((size_t)b->units->n + 63) / 64;
    sets->bits = sc_arena_array(b->arena, max_sets, sets->n_words * sizeof *sets->bits);
    sets->start = sc_arena_array(b->arena, max_sets + 1, sizeof *sets->start);
    b->unit_hash = sc_arena_array(b->arena, (size_t)b->units->n, sizeof *b->unit_hash);
    b->hash = sc_arena_array(b->arena, max_sets, sizeof *b->hash);
    b->table = sc_arena_array(b->arena, b->n_slots, sizeof *b->table);
    if (!sets->bits || !sets->start || !b->unit_hash || !b->hash || !b->table) {
        return SC_NO_MEMORY;
    }
    for (int u = 0; u < b->units->n; u++) {
        uint32_t words[4];
        sc_random_words(&(struct sc_random_key){0}, (uint64_t)u, words);
        b->unit_hash[u] = (uint64_t)words[0] << 32 | words[1];
    }
    sets->n = 1;
    b->table[find_slot(b, 0, sets->bits)] = 1;
    SC_TRY(list_steps(b, 0, -1, -1));
    sets->start[1] = b->n_steps;
    return SC_OK;
}

enum sc_status sc_downsets_build(
    const struct sc_units *units, int max_sets, struct sc_arena *arena, struct sc_downsets *downsets)
{
    *downsets = (struct sc_downsets){0};
    struct building b = {.units = units, .arena = arena, .max_sets = max_sets, .sets = downsets};
    SC_TRY(open_building(&b));
    uint64_t *bits = sc_arena_array(arena, downsets->n_words, sizeof *bits);
    int *next = sc_arena_array(arena, (size_t)units->n, sizeof *next), cap_next = 0;
    if (!bits || !next) {
        return SC_NO_MEMORY;
    }
    bool open = true;
    for (int set = 0; set < downsets->n && open; set++) {
        SC_TRY(grow_set(&b, set, bits, next, &open));
        const int from = downsets->start[set], n = downsets->start[set + 1] - from;
        if (cap_next < b.cap_steps) { /* as long as the list of units */
            int *grown = sc_arena_array(arena, (size_t)b.cap_steps, sizeof *grown);
            if (!grown) {
                return SC_NO_MEMORY;
            }
            if (from) {
                memcpy(grown, downsets->next, (size_t)from * sizeof *grown);
            }
            downsets->next = grown;
            cap_next = b.cap_steps;
        }
        if (n) {
            memcpy(downsets->next + from, next, (size_t)n * sizeof *next);
        }
    }
    downsets->n = open ? downsets->n : 0;
    return SC_OK;
}
