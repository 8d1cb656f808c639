/* SPDX-License-Identifier: Apache-2.0
 * Unigram: the likeliest way to spell a word by tokens, each of which has a score. */
#ifndef SC_TEXT_UNIGRAM_H
#define SC_TEXT_UNIGRAM_H

#include <stdbool.h>

#include "base/json.h"
#include "text/vocabulary.h"

/* Zeros: no model; release is safe on it. */
struct sc_unigram {
    struct sc_vocabulary *vocabulary; /* the model's tokens; borrowed. NULL: no model */
    double *scores; /* by id: the logarithm of a probability */
    size_t most_bytes; /* of a token */
    int64_t unknown; /* -1: there is no token for characters without one */
    double unknown_score;
    bool byte_fallback; /* what has no token becomes <0xHH> tokens, if all of its bytes have one */
    struct sc_arena scratch; /* for one word */
};

/* Whether the "model" of a file is of this kind. */
bool sc_unigram_is_one(const struct sc_json *model);

/* Fills the vocabulary and the scores, in the arena. Release also after a failure. */
enum sc_status sc_unigram_read(
    const struct sc_json *model, struct sc_arena *arena, struct sc_vocabulary *vocabulary, struct sc_unigram *unigram);
void sc_unigram_release(struct sc_unigram *unigram);

/* Ids of one word, borrowed until the next call. Characters without a token side by side are one unknown. */
enum sc_status sc_unigram_encode(
    struct sc_unigram *unigram, const char *word, size_t bytes, const int32_t **ids, size_t *n_ids);

#endif
