/* SPDX-License-Identifier: Apache-2.0
 * Gradient: what its outputs are. passes/gradient.c puts the nodes that compute them in its place before anything
 * runs, in the main graph, where the tensors that it names are. */
#include "ops/shape/shape.h"
#include "ops/training/rows.h"

static enum sc_status infer_gradient(struct sc_infer *infer)
{
    if (infer->graph->outer) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "is supported in the main graph, not in a body");
    }
    for (int o = 0; o < infer->n_out && o < infer->n_in; o++) {
        const struct sc_fact *x = infer->in[o];
        sc_infer_shape_of(infer, o, x, x ? x->type : SC_TYPE_NONE);
    }
    return SC_OK;
}

static enum sc_status exec_gradient(const struct sc_call *call)
{
    return sc_node_fail(call->graph, call->node, SC_INTERNAL, "was not replaced by its nodes");
}

const struct sc_op sc_ops_training_gradient[] = {
    {.domain = "ai.onnx.preview.training",
        .name = "Gradient",
        .since = 1,
        .infer = infer_gradient,
        .exec = exec_gradient},
    {.name = NULL},
};
