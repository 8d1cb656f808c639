/* SPDX-License-Identifier: Apache-2.0
 * A map from text to 64-bit numbers (indices mostly). */
#ifndef SC_BASE_MAP_H
#define SC_BASE_MAP_H

#include "base/error.h"

/* Open addressing; keys are borrowed: they must outlive the map. Zeros: an empty map; release is safe on it. */
struct sc_map {
    struct sc_map_entry *entries;
    size_t n_slots;
    size_t n_used;
};

/* Adds or replaces. Fails only with SC_NO_MEMORY. */
enum sc_status sc_map_put(struct sc_map *map, const char *key, size_t length, int64_t value);

/* The value, or `otherwise` when the key is not there. */
int64_t sc_map_get(const struct sc_map *map, const char *key, size_t length, int64_t otherwise);

void sc_map_release(struct sc_map *map);

#endif
