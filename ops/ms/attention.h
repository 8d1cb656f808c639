/* SPDX-License-Identifier: Apache-2.0
 * Attention of com.microsoft between its two files: attention.c (what it is) and attention_run.c (what it does). */
#ifndef SC_OPS_MS_ATTENTION_H
#define SC_OPS_MS_ATTENTION_H

#include "ops/ms/added.h"

enum sc_joint_input {
    SC_JOINT_X,
    SC_JOINT_WEIGHTS,
    SC_JOINT_BIAS,
    SC_JOINT_MASK,
    SC_JOINT_PAST,
    SC_JOINT_SCORES_BIAS,
    SC_JOINT_PAST_LENGTH,
    SC_JOINT_N_IN
};

struct sc_joint_params {
    int64_t heads, causal;
    int64_t shared; /* past and present have room for positions to come; past_sequence_length says how many there are */
    int64_t hidden[3]; /* of Q, K and V; 0: a third of the weights each */
    float scale; /* 0: 1 / sqrt(width) */
    float filter; /* what is added to scores of keys that the mask hides */
};

/* Unknown ones are SC_DIM_UNKNOWN. */
struct sc_joint_sizes {
    int64_t batch, n, inner; /* inner: of a row of the input */
    int64_t hidden, v_hidden; /* of Q and K each, and of V */
    int64_t width, v_width; /* of a head */
    int64_t past, room, total; /* positions before; that present has room for; with the new ones */
    bool resident;
};

/* From the values of a call, which resolve has checked. with_data: past_sequence_length can be read. Of caches that are
 * kept, the longest. */
struct sc_joint_sizes sc_joint_call_sizes(const struct sc_call *call, bool with_data);
struct sc_added sc_joint_added(const struct sc_call *call, const struct sc_joint_sizes *sizes);

size_t sc_joint_scratch(const struct sc_call *call);
void sc_joint_run(const struct sc_call *call);

#endif
