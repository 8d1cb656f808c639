/* SPDX-License-Identifier: Apache-2.0
 * The inside of a decoder, for decoder.c and generate.c. */
#ifndef SC_DECODE_DECODER_PARTS_H
#define SC_DECODE_DECODER_PARTS_H

#include "decode/decoder.h"

struct sc_decoder {
    struct sc_model *model;
    struct sc_decoder_options options;
    int n_pairs;
    struct sc_state_pair *pairs; /* in the model's arena */
    int logits; /* graph value */
    int64_t n_vocabulary;
    struct sc_feeds *feeds;
    struct sc_sampler *sampler;
    struct sc_session *session;
    float *row; /* [n_vocabulary] */
    bool *seen; /* [n_vocabulary]: tokens of the text so far, where they matter */
    struct sc_fact *facts; /* per graph input */
    const struct sc_value **results; /* per graph output */
};

/* Draws the token that stands at `position` of a slot's text. */
enum sc_status sc_decoder_draw(
    struct sc_decoder *decoder, const float *row, int slot, int64_t position, int64_t *token);

#endif
