/* SPDX-License-Identifier: Apache-2.0
 * GroupQueryAttention between its files: group_query.c (what it is), group_query_run.c (what it does),
 * group_query_codes.c (caches that are quantised). */
#ifndef SC_OPS_MS_GROUP_QUERY_H
#define SC_OPS_MS_GROUP_QUERY_H

#include "ops/ms/cached.h"

enum sc_gqa_input {
    SC_GQA_QUERY,
    SC_GQA_KEY,
    SC_GQA_VALUE,
    SC_GQA_PAST_K,
    SC_GQA_PAST_V,
    SC_GQA_SEQLENS,
    SC_GQA_TOTAL,
    SC_GQA_COS,
    SC_GQA_SIN,
    SC_GQA_POSITIONS,
    SC_GQA_BIAS,
    SC_GQA_SINK,
    SC_GQA_K_SCALE,
    SC_GQA_V_SCALE,
    SC_GQA_Q_NORM,
    SC_GQA_K_NORM,
    SC_GQA_QUERY_LENGTHS,
    SC_GQA_N_IN
};

struct sc_gqa_params {
    int64_t q_heads, kv_heads, window, rotary, interleaved, smooth, causal, qk_output;
    int64_t evicts; /* sliding_window_cache: a cache that is full gives up its oldest rows */
    int64_t bits; /* of a number in a quantised cache; 0: caches are as queries are */
    bool channels[2]; /* keys and values: quantised with a scale for each column of each head, else one for all */
    float scale, softcap;
    float q_epsilon, k_epsilon; /* of the norms of heads */
};

/* Sizes; unknown ones are SC_DIM_UNKNOWN. */
struct sc_gqa_sizes {
    int64_t batch, n, width, past, total; /* past: rows that past_key has room for, 0 without one */
    int64_t cache_width; /* of a row of a head in a cache: bytes where that is quantised */
    enum sc_type cache;
    bool packed; /* query holds Q, K and V */
    bool resident;
};

/* From the values of a call, which resolve has checked. with_data: total_sequence_length can be read. */
struct sc_gqa_sizes sc_gqa_call_sizes(const struct sc_call *call, bool with_data);

/* Where the new rows of a batch row start, and how many keys there are then. A first prompt may be padded at its end,
 * and any chunk where query_seqlens says how many of its rows count. */
void sc_gqa_span(const struct sc_call *call, const struct sc_gqa_sizes *s, int64_t b, int64_t *start, int64_t *length);

/* Quantised caches: attributes; the sizes that they have; inputs that do not fit; and the scales [kv_heads][width] of
 * keys (0) or values (1). */
enum sc_status sc_gqa_read_codes(const struct sc_graph *graph, const struct sc_node *node, struct sc_gqa_params *p);
void sc_gqa_find_cache(const struct sc_infer *infer, struct sc_gqa_sizes *sizes);
enum sc_status sc_gqa_check_codes(const struct sc_infer *infer, const struct sc_gqa_sizes *sizes);
void sc_gqa_spread_scales(const struct sc_call *call, int i, int64_t width, float *to);

/* Caches that hold a window (group_query_window.c): whether the call has them; what does not fit them; spans, and a
 * bias, from the first position that they hold, for a present with room for past and new rows; and which of these the
 * outputs keep. */
bool sc_gqa_evicts(const struct sc_call *call, const struct sc_gqa_sizes *sizes);
enum sc_status sc_gqa_check_window(const struct sc_call *call, const struct sc_gqa_sizes *sizes, int64_t b);
void sc_gqa_open_window(const struct sc_call *call, const struct sc_gqa_sizes *sizes,
    struct sc_cached_attention *cached, int64_t *start, int64_t *length);
void sc_gqa_close_window(
    const struct sc_call *call, const struct sc_gqa_sizes *sizes, const struct sc_cached_attention *cached);

size_t sc_gqa_scratch(const struct sc_call *call);
void sc_gqa_run(const struct sc_call *call);

#endif
