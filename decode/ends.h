/* SPDX-License-Identifier: Apache-2.0
 * The tokens that end a text. */
#ifndef SC_DECODE_ENDS_H
#define SC_DECODE_ENDS_H

#include "base/arena.h"
#include "text/tokenizer.h"

/* The ids that the first of genai_config.json, generation_config.json and config.json to have a field eos_token_id
 * says; else those of the tokenizer's tokens that usually end a text. SC_BAD_MODEL for a field that is no id and no
 * list of ids. */
enum sc_status sc_ends_read(
    const char *folder, const struct sc_tokenizer *tokenizer, struct sc_arena *arena, int *n, int64_t **ids);

#endif
