/* SPDX-License-Identifier: Apache-2.0
 * Byte pair encoding: merges within a word, by rank. */
#ifndef SC_TEXT_BPE_H
#define SC_TEXT_BPE_H

#include <stdbool.h>

#include "base/json.h"
#include "text/vocabulary.h"

/* Zeros: no model; release is safe on it. */
struct sc_bpe {
    struct sc_vocabulary *vocabulary; /* the model's tokens; borrowed */
    struct sc_merge_slot *merges; /* [n_slots], open addressing by pair */
    size_t n_slots;
    int64_t unknown; /* -1: characters without token are dropped; -2: the token for them is not in the vocabulary */
    bool fuses_unknown; /* one unknown token for a run */
    bool byte_fallback; /* characters without token become <0xHH> tokens, if all of theirs exist */
    bool ignores_merges; /* a word that is a token is not merged */
    const char *prefix; /* of every symbol but the first of a word; NULL: none */
    size_t prefix_bytes;
    const char *suffix; /* of the last symbol of a word; NULL: none */
    size_t suffix_bytes;
    struct sc_arena scratch; /* for one word */
};

/* Reads the "model" of the file: fills the vocabulary (in the arena) and the merges. Release also after a failure. */
enum sc_status sc_bpe_read(
    const struct sc_json *model, struct sc_arena *arena, struct sc_vocabulary *vocabulary, struct sc_bpe *bpe);
void sc_bpe_release(struct sc_bpe *bpe);

/* Ids of one word, borrowed until the next call. Time: n log n in the characters of the word. */
enum sc_status sc_bpe_encode(struct sc_bpe *bpe, const char *word, size_t bytes, const int32_t **ids, size_t *n_ids);

#endif
