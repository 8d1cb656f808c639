/* SPDX-License-Identifier: Apache-2.0
 * A list that grows by doubling. */
#include "text/pieces.h"

#include <string.h>

enum sc_status sc_pieces_add(struct sc_pieces *pieces, struct sc_piece piece)
{
    if (piece.bytes == 0) {
        return SC_OK;
    }
    if (pieces->n == pieces->capacity) {
        const size_t capacity = pieces->capacity == 0 ? 16 : 2 * pieces->capacity;
        struct sc_piece *const items = sc_arena_array(pieces->arena, capacity, sizeof *items);
        if (items == NULL) {
            return SC_NO_MEMORY;
        }
        if (pieces->n != 0) {
            memcpy(items, pieces->items, pieces->n * sizeof *items);
        }
        pieces->items = items;
        pieces->capacity = capacity;
    }
    pieces->items[pieces->n++] = piece;
    return SC_OK;
}
