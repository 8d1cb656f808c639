/* SPDX-License-Identifier: Apache-2.0
 * Memory that is given back all at once. */
#ifndef SC_BASE_ARENA_H
#define SC_BASE_ARENA_H

#include <stddef.h>

/* A list of growing blocks; allocations are cut from the newest. Nothing is freed singly.
 *
 *   zeros ── sc_arena_alloc ──► in use ── sc_arena_reset ──► empty, keeps its largest block
 *                                  └──────────── sc_arena_release ───┴──► zeros
 *
 * A zeroed struct is an empty arena; release is safe on it. An arena belongs to one thread at a time. */
struct sc_arena {
    struct sc_arena_block *newest;
    size_t used_bytes; /* given out since the last reset */
    size_t limit_bytes; /* 0: none. Past it sc_arena_alloc returns NULL */
};

/* Zeroed memory aligned to 64 bytes when bytes >= 64, else to 16. Never NULL for 0 bytes.
 * NULL when memory is out: the error of the thread is then set (SC_NO_MEMORY). */
void *sc_arena_alloc(struct sc_arena *arena, size_t bytes);

/* As sc_arena_alloc for count * size bytes; an overflowing product is out of memory. */
void *sc_arena_array(struct sc_arena *arena, size_t count, size_t size);

/* A copy of length bytes of text, with a terminating NUL. */
char *sc_arena_text(struct sc_arena *arena, const char *text, size_t length);

char *sc_arena_printf(struct sc_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Moves everything that `other` gave out into `arena`, where it then lives; `other` is empty afterwards. */
void sc_arena_adopt(struct sc_arena *arena, struct sc_arena *other);

void sc_arena_reset(struct sc_arena *arena);
void sc_arena_release(struct sc_arena *arena);

#endif
