/* SPDX-License-Identifier: Apache-2.0
 * Attention with caches as the com.microsoft operators have them: new rows go to a start position of their own in each
 * batch row. */
#ifndef SC_OPS_MS_CACHED_H
#define SC_OPS_MS_CACHED_H

#include "ops/kernels/attention.h"
#include "ops/op.h"

/* K and V: n_new rows per batch row, element (b, head, row, column) at strides. Where they go:
 *   states      appended in place at start[b]; n_new is 0 where they are only read
 *   present     dense [batch, kv_heads, present_room, width]: past rows are copied there first, new ones follow
 *   neither     they are read where they lie; start is 0
 * keys, values and offset of `attention` are set by sc_cached_run; all else is the caller's. Everything was checked. */
struct sc_cached_attention {
    struct sc_attention attention;
    int64_t n_new;
    const void *k, *v;
    int64_t k_strides[4], v_strides[4];
    const struct sc_state *state_k, *state_v;
    const void *past_k, *past_v; /* dense [batch, kv_heads, past_room, width]; NULL: none */
    void *present_k, *present_v;
    int64_t past_room, present_room;
    const int64_t *start, *length; /* per batch row: position of the first new row, keys after it was written */
};

/* Element strides of (batch, head, row, column), columns side by side. */
static inline void sc_cached_strides(int64_t strides[4], int64_t batch, int64_t head, int64_t row)
{
    strides[0] = batch;
    strides[1] = head;
    strides[2] = row;
    strides[3] = 1;
}

/* For keys of at most max_length. */
size_t sc_cached_scratch_bytes(const struct sc_cached_attention *cached, int64_t max_length, int n_workers);

void sc_cached_run(
    const struct sc_cached_attention *cached, const struct sc_kernels *kernels, struct sc_team *team, void *scratch);

#endif
