/* SPDX-License-Identifier: Apache-2.0
 * MultiHeadAttention between its two files: multi_head.c (what it is) and multi_head_run.c (what it does). */
#ifndef SC_OPS_MS_MULTI_HEAD_H
#define SC_OPS_MS_MULTI_HEAD_H

#include "ops/ms/added.h"
#include "ops/op.h"

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
    SC_MHA_N_IN
};

/* How query, key and value come. */
enum sc_mha_form {
    SC_MHA_APART, /* each [batch, rows, heads * width] */
    SC_MHA_PACKED, /* all in query: [batch, rows, heads, 3, width] */
    SC_MHA_PAIRS, /* keys and values in key: [batch, rows, heads, 2, width] */
    SC_MHA_KEPT /* key and value [batch, heads, rows, width], ready as they are */
};

struct sc_mha_params {
    int64_t heads, causal;
    float scale; /* 0: 1 / sqrt(width) */
    float hidden; /* what is added to scores of keys that the mask hides */
};

/* Sizes; unknown ones are SC_DIM_UNKNOWN. */
struct sc_mha_sizes {
    enum sc_mha_form form;
    int64_t batch, n, n_kv, past, total, width, v_width;
    bool resident;
};

/* From the values of a call, which resolve has checked. Of caches that are kept, the longest. */
struct sc_mha_sizes sc_mha_call_sizes(const struct sc_call *call);

struct sc_added sc_mha_added(const struct sc_call *call, const struct sc_mha_sizes *sizes);

size_t sc_mha_scratch(const struct sc_call *call);
void sc_mha_run(const struct sc_call *call);

#endif
