/* SPDX-License-Identifier: Apache-2.0
 * Scratch memory shared out piece by piece. The same calls say how much there has to be: `at` is NULL then, and so is
 * each piece. Pieces are aligned to 64. */
#ifndef SC_OPS_ROOM_H
#define SC_OPS_ROOM_H

#include <stddef.h>
#include <stdint.h>

struct sc_room {
    char *at; /* aligned to 64 */
    size_t used;
};

/* What a piece of so many bytes takes. */
static inline size_t sc_room_round(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static inline void *sc_room_bytes(struct sc_room *room, size_t bytes)
{
    void *piece = room->at ? room->at + room->used : NULL;
    room->used += sc_room_round(bytes);
    return piece;
}

/* n elements. */
static inline void *sc_room_take(struct sc_room *room, int64_t n, size_t bytes)
{
    return sc_room_bytes(room, (size_t)n * bytes);
}

#endif
