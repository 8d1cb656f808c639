/* SPDX-License-Identifier: Apache-2.0
 * What the steps of a tokenizer hand on: lists of texts. */
#ifndef SC_TEXT_PIECES_H
#define SC_TEXT_PIECES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* A text, or an added token (id >= 0) that later steps leave alone. The text is borrowed from the arena or the input.
 */
struct sc_piece {
    const char *text;
    size_t bytes;
    bool at_start; /* begins where the whole input begins */
    int64_t id; /* -1: text */
};

enum { SC_MAX_TEXT = 64 << 20 }; /* steps of a file may double a text again and again: past this it is SC_LIMIT */

/* Grows by doubling in the arena. Zeros with an arena: an empty list. */
struct sc_pieces {
    struct sc_arena *arena;
    struct sc_piece *items;
    size_t n;
    size_t capacity;
};

/* Empty texts are left out. */
enum sc_status sc_pieces_add(struct sc_pieces *pieces, struct sc_piece piece);

#endif
