/* SPDX-License-Identifier: Apache-2.0
 * The pre-tokenizers: they cut a text into the words that BPE merges within. */
#ifndef SC_TEXT_PRETOKENIZE_H
#define SC_TEXT_PRETOKENIZE_H

#include "base/json.h"
#include "text/pieces.h"

/* Steps in order. Zeros: none; release is safe on it. */
struct sc_pretokenizer {
    struct sc_pretokenize_step *steps;
    size_t n_steps;
};

/* node: the "pre_tokenizer" of the file, or NULL. Steps live in the arena. Release also after a failure. */
enum sc_status sc_pretokenizer_read(
    const struct sc_json *node, struct sc_arena *arena, struct sc_pretokenizer *pretokenizer);
void sc_pretokenizer_release(struct sc_pretokenizer *pretokenizer);

/* Replaces the texts of the list by their words; added tokens stay. */
enum sc_status sc_pretokenizer_run(const struct sc_pretokenizer *pretokenizer, struct sc_pieces *pieces);

#endif
