/* SPDX-License-Identifier: Apache-2.0
 * MultiHeadAttention and DecoderMaskedMultiHeadAttention, of one query a row, between their files: multi_head.c (what
 * they are), multi_head_run.c (what they do). */
#ifndef SC_OPS_MS_MULTI_HEAD_H
#define SC_OPS_MS_MULTI_HEAD_H

#include "ops/ms/added.h"
#include "ops/op.h"

/* Inputs of the two, in the order of the first; params say where they are. */
enum sc_mha_input {
    SC_MHA_QUERY,
    SC_MHA_KEY,
    SC_MHA_VALUE,
    SC_MHA_BIAS,
    SC_MHA_PADDING,
    SC_MHA_SCORES_BIAS,
    SC_MHA_PAST_K,
    SC_MHA_PAST_V,
    SC_MHA_PAST_LENGTH,
    SC_MHA_BEAMS,
    SC_MHA_BEAM_WIDTH,
    SC_MHA_N_IN
};

/* How query, key and value come. */
enum sc_mha_form {
    SC_MHA_APART, /* each [batch, rows, heads * width] */
    SC_MHA_PACKED, /* all in query: [batch, rows, heads, 3, width] */
    SC_MHA_ABREAST, /* all in query: [batch, rows, 3, heads, width] */
    SC_MHA_PAIRS, /* keys and values in key: [batch, rows, heads, 2, width] */
    SC_MHA_KEPT /* key and value [batch, heads, rows, width], ready as they are */
};

struct sc_mha_params {
    int64_t heads, causal;
    const signed char *at; /* by sc_mha_input: the operator's own input, or -1 */
    int64_t shared; /* past and present have room for positions to come; past_sequence_length says how many there are */
    bool single; /* one query a row */
    float scale; /* 0: 1 / sqrt(width) */
    float hidden; /* what is added to scores of keys that the mask hides */
};

/* Sizes; unknown ones are SC_DIM_UNKNOWN. */
struct sc_mha_sizes {
    enum sc_mha_form form;
    int64_t batch, n, n_kv, past, total, width, v_width;
    int64_t room; /* rows that a present has room for */
    bool resident; /* the past is kept in pages, and appended to there */
    bool viewed; /* key and value are kept in pages, and read there; n_kv is that of the longest row */
};

const struct sc_tensor *sc_mha_in(const struct sc_call *call, enum sc_mha_input input);
struct sc_state *sc_mha_state(const struct sc_call *call, enum sc_mha_input input);

/* From the values of a call, which resolve has checked. with_data: past_sequence_length can be read. Of caches that are
 * kept, the longest. */
struct sc_mha_sizes sc_mha_call_sizes(const struct sc_call *call, bool with_data);

struct sc_added sc_mha_added(const struct sc_call *call, const struct sc_mha_sizes *sizes);

size_t sc_mha_scratch(const struct sc_call *call);
void sc_mha_run(const struct sc_call *call);

#endif
