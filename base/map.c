/* SPDX-License-Identifier: Apache-2.0
 * Linear probing in a power of two of slots, at most three quarters full; the hash multiplies and folds 8 bytes
 * a step. */
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };

/* key == NULL: a free slot. */
struct sc_map_entry {
    const char *key;
    size_t length;
    uint64_t hash;
    int64_t value;
};

/* The halves of the 64-bit product are folded through two 32 x 32 products, which needs no 128-bit type. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t low = (a & 0xffffffffu) * (b | 1u);
    const uint64_t high = (a >> 32) * (b ^ 0x9e3779b97f4a7c15u);
    uint64_t h = low ^ (high << 29 | high >> 35);
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 29;
}

static uint64_t hash_bytes(const char *key, size_t length)
{
    uint64_t h = 0xa0761d6478bd642fu ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, key, 8);
        h = mix(h ^ word, 0xe7037ed1a0b428dbu) + (h << 7 | h >> 57);
        key += 8;
        length -= 8;
    }
    uint64_t tail = 0;
    if (length != 0) {
        memcpy(&tail, key, length);
    }
    return mix(h ^ tail, 0x8ebc6af09c88c6e3u);
}

/* The slot that holds the key, or the free one where it belongs. */
static struct sc_map_entry *find_slot(
    struct sc_map_entry *entries, size_t n_slots, const char *key, size_t length, uint64_t hash)
{
    for (size_t i = hash & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        struct sc_map_entry *const entry = &entries[i];
        if (entry->key == NULL ||
            (entry->hash == hash && entry->length == length && memcmp(entry->key, key, length) == 0)) {
            return entry;
        }
    }
}

static enum sc_status grow(struct sc_map *map)
{
    const size_t n_slots = map->n_slots == 0 ? FIRST_SLOTS : 2 * map->n_slots;
    struct sc_map_entry *const entries =
        n_slots > SIZE_MAX / 2 / sizeof *entries ? NULL : calloc(n_slots, sizeof *entries);
    if (entries == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a map of %zu slots wanted", n_slots);
    }
    for (size_t i = 0; i < map->n_slots; i++) {
        const struct sc_map_entry *const old = &map->entries[i];
        if (old->key != NULL) {
            *find_slot(entries, n_slots, old->key, old->length, old->hash) = *old;
        }
    }
    free(map->entries);
    map->entries = entries;
    map->n_slots = n_slots;
    return SC_OK;
}

enum sc_status sc_map_put(struct sc_map *map, const char *key, size_t length, int64_t value)
{
    if (length == 0) {
        key = ""; /* NULL marks free slots */
    }
    if (map->n_used >= map->n_slots / 4 * 3) {
        SC_TRY(grow(map));
    }
    const uint64_t hash = hash_bytes(key, length);
    struct sc_map_entry *const entry = find_slot(map->entries, map->n_slots, key, length, hash);
    if (entry->key == NULL) {
        *entry = (struct sc_map_entry){.key = key, .length = length, .hash = hash};
        map->n_used++;
    }
    entry->value = value;
    return SC_OK;
}

int64_t sc_map_get(const struct sc_map *map, const char *key, size_t length, int64_t otherwise)
{
    if (map->n_slots == 0) {
        return otherwise;
    }
    if (length == 0) {
        key = "";
    }
    const struct sc_map_entry *const entry =
        find_slot(map->entries, map->n_slots, key, length, hash_bytes(key, length));
    return entry->key == NULL ? otherwise : entry->value;
}

void sc_map_release(struct sc_map *map)
{
    free(map->entries);
    *map = (struct sc_map){0};
}
