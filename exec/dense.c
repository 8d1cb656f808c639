/* SPDX-License-Identifier: Apache-2.0
 * The copying step between a strided value and an operator that wants it dense. */
#include "exec/step.h"

static enum sc_status infer(struct sc_infer *infer)
{
    *infer->out[0] = *infer->in[0];
    return SC_OK;
}

static void run(const struct sc_call *call)
{
    if (call->in[0]->kind != SC_KIND_TENSOR) { /* a sequence that went through a view: its tensors are dense already */
        *call->out[0] = *call->in[0];
        return;
    }
    sc_tensor_copy_dense(sc_call_in(call, 0), sc_call_out(call, 0)->data);
}

const struct sc_op sc_op_dense = {
    .domain = "sc", .name = "Dense", .since = 1, .flags = SC_OP_PURE, .strided = 1, .infer = infer, .run = run};
