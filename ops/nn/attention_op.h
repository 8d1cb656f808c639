/* SPDX-License-Identifier: Apache-2.0
 * The Attention operator between its two files: attention.c (what it is) and attention_run.c (what it does). */
#ifndef SC_OPS_NN_ATTENTION_OP_H
#define SC_OPS_NN_ATTENTION_OP_H

#include "ops/kernels/attention.h"
#include "ops/op.h"

enum sc_attention_input {
    SC_ATTENTION_Q,
    SC_ATTENTION_K,
    SC_ATTENTION_V,
    SC_ATTENTION_MASK,
    SC_ATTENTION_PAST_K,
    SC_ATTENTION_PAST_V,
    SC_ATTENTION_NONPAD,
    SC_ATTENTION_DISTANCES, /* of our own: [heads or 1, n], what is added to scores by key - position of the query */
    SC_ATTENTION_N_IN
};

enum sc_attention_output { SC_ATTENTION_Y, SC_ATTENTION_PRESENT_K, SC_ATTENTION_PRESENT_V, SC_ATTENTION_QK };

struct sc_attention_params {
    int64_t q_heads, kv_heads; /* 0: from 4-D inputs */
    float scale; /* 0: 1 / sqrt(head width) */
    float softcap;
    bool causal;
    const float *slopes; /* per query head; NULL: none */
    int n_slopes;
    int64_t before; /* which of DISTANCES is for distance 0 */
    int64_t left_window, right_window; /* -1: none */
    enum sc_attention_tap tap; /* of qk_matmul_output, when it is asked for */
};

/* The sizes of one call; unknown ones are SC_DIM_UNKNOWN. */
struct sc_attention_sizes {
    int64_t batch, q_heads, kv_heads, n_q, n_kv; /* n_kv: rows of the inputs K and V */
    int64_t past, total; /* total: past + n_kv; unknown where a cache is resident */
    int64_t qk_width, v_width;
    bool flat; /* Q, K, V are 3-D: heads side by side in the last dim */
    bool past_resident; /* the past is a state: K and V are appended to it */
    bool kv_resident; /* K and V are states already */
};

enum sc_status sc_attention_sizes_of(const struct sc_infer *infer, struct sc_attention_sizes *sizes);

/* The same from the values of a call, which resolve has checked. */
struct sc_attention_sizes sc_attention_call_sizes(const struct sc_call *call);

size_t sc_attention_op_scratch(const struct sc_call *call);
void sc_attention_op_run(const struct sc_call *call);

#endif
