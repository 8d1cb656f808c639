/* SPDX-License-Identifier: Apache-2.0
 * Tokens and their ids, both ways. */
#ifndef SC_TEXT_VOCABULARY_H
#define SC_TEXT_VOCABULARY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"

enum { SC_MAX_TOKEN_ID = (1 << 24) - 1 }; /* 64 times the largest vocabulary in use; keeps tables small */

/* Texts live in the arena of the tokenizer. Zeros: empty; release is safe on it. */
struct sc_vocabulary {
    struct sc_map ids;
    struct sc_token *tokens; /* [n_tokens], by id */
    size_t n_tokens; /* one more than the largest id */
    size_t capacity;
};

/* text == NULL: no token has this id. */
struct sc_token {
    const char *text; /* as it is found by spelling, unless its owner changes it */
    size_t bytes;
    bool special;
};

/* Fails with SC_BAD_MODEL when the id is out of range or another token has it. */
enum sc_status sc_vocabulary_add(
    struct sc_vocabulary *vocabulary, struct sc_arena *arena, const char *text, size_t bytes, int64_t id);

/* -1: not there */
int64_t sc_vocabulary_find(const struct sc_vocabulary *vocabulary, const char *text, size_t bytes);

/* NULL: not there */
const struct sc_token *sc_vocabulary_token(const struct sc_vocabulary *vocabulary, int64_t id);

void sc_vocabulary_release(struct sc_vocabulary *vocabulary);

#endif
