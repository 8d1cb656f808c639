/* SPDX-License-Identifier: Apache-2.0
 * The decoders of a tokenizer: from tokens to text. */
#ifndef SC_TEXT_DECODE_TEXT_H
#define SC_TEXT_DECODE_TEXT_H

#include <stdbool.h>

#include "base/json.h"
#include "text/vocabulary.h"

/* Steps in order. Zeros: none, tokens are joined by spaces; release is safe on it. */
struct sc_decoder {
    struct sc_decode_step *steps;
    size_t n_steps;
    bool is_bytes; /* ByteLevel alone: a token is a string of bytes, whatever is around it */
};

/* node: the "decoder" of the file, or NULL. Steps live in the arena. Release also after a failure. */
enum sc_status sc_decoder_read(const struct sc_json *node, struct sc_arena *arena, struct sc_decoder *decoder);
void sc_decoder_release(struct sc_decoder *decoder);

/* NUL-terminated valid UTF-8 in the arena. Changes `tokens`, an array in the arena. */
enum sc_status sc_decoder_run(const struct sc_decoder *decoder, struct sc_token *tokens, size_t n,
    struct sc_arena *arena, char **text, size_t *bytes);

#endif
