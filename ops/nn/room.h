/* SPDX-License-Identifier: Apache-2.0
 * Scratch memory shared out piece by piece. The same calls say how much there has to be: `at` is NULL then, and so is each
 * piece. */
#ifndef SC_OPS_NN_ROOM_H
#define SC_OPS_NN_ROOM_H

#include <stddef.h>
#include <stdint.h>

struct sc_room {
    char *at; /* aligned to 64 */
    size_t used;
};

/* n elements, aligned to 64. */
static inline void *sc_room_take(struct sc_room *room, int64_t n, size_t bytes)
{
    void *piece = room->at ? room->at + room->used : NULL;
    room->used += ((size_t)n * bytes + 63) / 64 * 64;
    return piece;
}

#endif
