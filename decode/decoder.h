/* SPDX-License-Identifier: Apache-2.0
 * A decoder cut over ranks: tokens in, tokens out. */
#ifndef SC_DECODE_DECODER_H
#define SC_DECODE_DECODER_H

#include "decode/begin.h"
#include "decode/feeds.h"
#include "decode/pairs.h"
#include "decode/request.h"
#include "decode/state_file.h"

struct sc_decoder;

/* The same on every rank, but for `check` and `begin`. */
struct sc_decoder_options {
    struct sc_session_options session; /* pairs, input_facts, context and tail are the decoder's to set */
    int64_t context; /* positions; 0: as many as the model has tables and caches for, at most 4096 */
    int64_t depth; /* positions that texts begin with, for planning */
    int64_t usual_context; /* context 0: at most so many; 0: nothing is usual */
    int64_t chunk; /* prompt tokens of one microbatch, at least 1; at most, with max_tbt_ns */
    int64_t max_tbt_ns; /* rank 0: chunks are so short that running texts wait no longer for a token; 0: no bound */
    struct sc_cache_formats formats;
    const struct sc_begin *begin; /* rank 0's, for its tokens that are not drawn; NULL: any is */
    /* Called once vocabulary and context are known and before weights are loaded: may refuse. NULL: nothing to say. */
    enum sc_status (*check)(void *arg, const struct sc_decoder *decoder);
    void *check_arg;
};

/* Life, on every rank together: open ──► rank 0: sc_decoder_generate, any number of times, or a schedule (schedule.h),
 * then sc_session_finish; others: sc_session_serve ──► report ──► close. The sampler runs on the rank that makes the
 * logits; a token id travels. */
enum sc_status sc_decoder_open(struct sc_world *world, struct sc_model *model, const struct sc_decoder_options *options,
    struct sc_decoder **decoder);
void sc_decoder_close(struct sc_decoder *decoder); /* safe on NULL */

struct sc_session *sc_decoder_session(struct sc_decoder *decoder);
struct sc_state_owner sc_decoder_states(const struct sc_decoder *decoder); /* for files of them */
int64_t sc_decoder_context(const struct sc_decoder *decoder);
int64_t sc_decoder_vocabulary(const struct sc_decoder *decoder); /* columns of the logits */

/* What an encoder of it reads; NULL: there is none. */
const struct sc_source_feeds *sc_decoder_source(const struct sc_decoder *decoder);

/* SC_BAD_INPUT for an empty prompt, one that the context does not hold, or an id out of range. */
enum sc_status sc_decoder_check_prompt(const struct sc_decoder *decoder, const int64_t *prompt, int64_t n_prompt);

/* Rows of several slots can be in one microbatch. Otherwise each has its own, and they follow one another. */
bool sc_decoder_rows_apart(const struct sc_decoder *decoder);

/* Rank 0. One request alone, to its end. Fails as sc_schedule_add does, and as a step of it does. */
enum sc_status sc_decoder_generate(struct sc_decoder *decoder, struct sc_request *request);

#endif
