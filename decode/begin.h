/* SPDX-License-Identifier: Apache-2.0
 * How the text of a decoder behind an encoder begins, as the files beside the model say. */
#ifndef SC_DECODE_BEGIN_H
#define SC_DECODE_BEGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* What a user asks for, by the words of the model's vocabulary; NULL: what the files say or, of a language, leave to
 * the model. */
struct sc_begin_wish {
    const char *language; /* "en" */
    const char *task; /* "transcribe", "translate" */
    bool timestamps; /* the token that forbids them is left out */
};

enum { SC_BEGIN_LANGUAGE = 1 }; /* the place in the prompt */

/* Ids are in the arena. */
struct sc_begin {
    int64_t *prompt; /* behind an encoder: decoder_start_token_id, then what is forced to stand behind it */
    int n_prompt;
    int64_t *suppress; /* tokens that are never drawn */
    int n_suppress;
    int64_t *begin_suppress; /* nor as the first */
    int n_begin_suppress;
    int n_languages; /* to choose from by what is heard; 0: none, or it is said */
    int64_t *languages; /* tokens */
    const char **language_names; /* as the vocabulary has them */
    int64_t context; /* positions that the decoder was made for; 0: not said */
};

/* Reads folder/generation_config.json, and of folder/config.json what that leaves out: decoder_start_token_id,
 * forced_bos_token_id, forced_decoder_ids, lang_to_id, task_to_id, no_timestamps_token_id, suppress_tokens,
 * begin_suppress_tokens, max_target_positions (or max_position_embeddings). Fails with SC_BAD_MODEL, naming file and
 * field, for what is no JSON or of another kind, and where no start is said; SC_BAD_USAGE for a language or task that
 * the model does not have. wish NULL: a decoder without an encoder, whose texts begin with their prompts; the rest is
 * read. */
enum sc_status sc_begin_read(
    const char *folder, const struct sc_begin_wish *wish, struct sc_arena *arena, struct sc_begin *begin);

/* The context of these files alone; 0: they do not say, or are not there. */
enum sc_status sc_begin_context(const char *folder, struct sc_arena *arena, int64_t *context);

#endif
