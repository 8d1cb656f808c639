/* SPDX-License-Identifier: Apache-2.0
 * Convolution for operators that bring other tensors to it. */
#ifndef SC_OPS_NN_CONV_H
#define SC_OPS_NN_CONV_H

#include "ops/nn/window.h"

/* Facts of Conv: X and W in, Y out, Conv's parameters. */
enum sc_status sc_conv_params(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params);
enum sc_status sc_conv_infer(struct sc_infer *infer);
enum sc_status sc_conv_window(const struct sc_infer *infer, struct sc_window *window); /* ranks were checked */

#endif
