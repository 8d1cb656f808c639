/* SPDX-License-Identifier: Apache-2.0
 * Experts of QMoE that no kernel of codes reads: float8e4m3fn, and whole numbers of 3 bits. Some columns at a time
 * become floats. */
#ifndef SC_OPS_MS_QMOE_WHOLE_H
#define SC_OPS_MS_QMOE_WHOLE_H

#include "ops/ms/moe.h"

enum { SC_QMOE_GLOBAL_SCALE = 15 }; /* fc1_global_scale; then that of FC2 */

/* quant_type, and what of other attributes goes with it; p->whole says whether the rest of this file is for the
 * node. */
enum sc_status sc_qmoe_whole_params(
    const struct sc_graph *graph, const struct sc_node *node, const char *quant_type, struct sc_moe_params *p);

/* Weights, scales and zero points of a layer that is there. */
enum sc_status sc_qmoe_whole_check(
    const struct sc_infer *infer, const struct sc_moe_kind *kind, const struct sc_moe_sizes *sizes, int layer);

/* arg of the multiply function, whose scratch is that of the call. */
struct sc_qmoe_whole {
    const struct sc_call *call;
    const struct sc_moe_kind *kind;
    const struct sc_moe *moe;
};

size_t sc_qmoe_whole_scratch(const struct sc_moe *moe, int n_workers);
void sc_qmoe_whole_multiply(void *arg, int64_t expert, enum sc_moe_layer layer, int64_t M, const float *a, float *c);

#endif
