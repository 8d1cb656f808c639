/* SPDX-License-Identifier: Apache-2.0
 * RelativePositionBias: what its output is. passes/position_bias.c puts the nodes that compute it in its place before
 * anything runs. */
#include "ops/ms/rows.h"
#include "ops/shape/shape.h"

static enum sc_status infer_position_bias(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *table = infer->in[0];
    const int64_t dims[4] = {1, table->rank == 2 ? table->dims[1] : -1, -1, -1};
    sc_fact_tensor(infer->out[0], table->type, 4, dims);
    return SC_OK;
}

static enum sc_status exec_position_bias(const struct sc_call *call)
{
    return sc_node_fail(call->graph, call->node, SC_INTERNAL, "was not replaced by its nodes");
}

const struct sc_op sc_ops_ms_position_bias[] = {
    {.domain = "com.microsoft",
        .name = "RelativePositionBias",
        .since = 1,
        .infer = infer_position_bias,
        .exec = exec_position_bias},
    {.name = NULL},
};
