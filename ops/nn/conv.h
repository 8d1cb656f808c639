/* SPDX-License-Identifier: Apache-2.0
 * Convolution for operators that bring other tensors to it. */
#ifndef SC_OPS_NN_CONV_H
#define SC_OPS_NN_CONV_H

#include "ops/op.h"

/* The row functions of Conv. A caller may make a call of its own: X, W and optional B in, Y out, Conv's parameters,
 * choice 0 with packed weights or SC_PRODUCT_PLAIN without; i32 without bias is allowed too and wraps around. */
enum sc_status sc_conv_params(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params);
enum sc_status sc_conv_infer(struct sc_infer *infer);
size_t sc_conv_scratch(const struct sc_call *call);
void sc_conv_run(const struct sc_call *call);

#endif
