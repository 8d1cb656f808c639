/* SPDX-License-Identifier: Apache-2.0
 * The inside of a decoder, for decoder.c and generate.c. */
#ifndef SC_DECODE_DECODER_PARTS_H
#define SC_DECODE_DECODER_PARTS_H

#include "decode/decoder.h"
#include "decode/source.h"

struct sc_decoder {
    struct sc_model *model;
    struct sc_decoder_options options;
    int n_pairs;
    struct sc_state_pair *pairs; /* in the model's arena */
    int logits; /* graph value */
    bool apart; /* rows of several slots may be in one microbatch */
    bool exact; /* chunks do not change the text */
    bool shares; /* a slot may begin as another: it is exact, and its states are pages */
    int64_t n_vocabulary;
    struct sc_feeds *feeds;
    struct sc_source_feeds *source; /* NULL: there is no encoder */
    struct sc_sampler *sampler;
    struct sc_session *session;
    int64_t *suppressed; /* tokens that are never drawn, then those that are not drawn first; on every rank */
    int n_never, n_not_first;
    float *row; /* [n_vocabulary] */
    struct sc_fact *facts, *chunk_facts; /* per graph input: of a step; of a chunk of a prompt, where that is another */
    bool has_chunks;
    const struct sc_value **results; /* per graph output */
    struct sc_schedule *schedule; /* of sc_decoder_generate; NULL until then */
};

/* What is wanted of a microbatch is the most that a row of it wants. */
enum sc_want {
    SC_WANT_NOTHING, /* more of the prompt is to come */
    SC_WANT_TOKEN, /* drawn where the logits are */
    SC_WANT_LOGITS /* the rows themselves */
};

/* What travels with a row, for the tail: all that a draw depends on, but for the logits. */
struct sc_row_note {
    uint64_t seed, request;
    double temperature, top_p, min_p;
    int32_t top_k;
    int16_t want; /* enum sc_want */
    int8_t first; /* the text's first token is drawn */
    int8_t tempered;
};

/* suppress.c: rank 0's lists to all ranks; collective. Takes those tokens out of a row of logits [n_vocabulary]: the
 * row, or a copy in decoder->row. */
enum sc_status sc_suppress_share(struct sc_world *world, struct sc_decoder *decoder);
const float *sc_suppress(const struct sc_decoder *decoder, bool first, const float *row);

#endif
