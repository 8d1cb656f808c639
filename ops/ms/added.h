/* SPDX-License-Identifier: Apache-2.0
 * What is added to scores of attention: a mask in any form that com.microsoft has, and attention_bias. */
#ifndef SC_OPS_MS_ADDED_H
#define SC_OPS_MS_ADDED_H

#include "ops/kernels/attention.h"
#include "ops/op.h"

/* Forms of a mask, i32:
 *   [batch]                   keys of each batch row, from the first on, that are seen
 *   [2 * batch]               where they end, then where they begin
 *   [3 * batch + 2]           the same as [batch], before what packed rows have
 *   [batch, total], [batch, n, total]     0: hidden
 *   [batch, 1, most, most]    the same for all positions there can be: query i is row past + i */
struct sc_added {
    const struct sc_tensor *mask, *bias; /* NULL: none. bias: [batch or 1, heads or 1, n, total] */
    float hidden; /* what the mask adds to keys that it hides */
    enum sc_type type; /* of bias and scores */
    int64_t batch, n, past, total;
};

/* Fails with SC_BAD_INPUT, calling the mask `name`, unless mask and bias fit. */
enum sc_status sc_added_check(const struct sc_call *call, const struct sc_added *added, const char *name);

/* Sets the bias of attention: as it lies where there is no mask, else made in room. */
size_t sc_added_bytes(const struct sc_added *added);
void sc_added_set(const struct sc_added *added, void *room, struct sc_attention *attention);

#endif
