/* SPDX-License-Identifier: Apache-2.0
 * RMSNormalization and LayerNormalization: rows over the axes from `axis` on. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/shape/shape.h"

struct params {
    int64_t axis;
    float epsilon;
    bool centre;
};

static enum sc_status params_norm(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->centre = strcmp(node->op, "LayerNormalization") == 0;
    SC_TRY(sc_node_int(node, "axis", -1, &p->axis));
    return sc_node_float(node, "epsilon", 1e-5F, &p->epsilon);
}

static enum sc_status infer_norm(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *bias = sc_infer_in(infer, 2);
    sc_infer_shape_of(infer, 0, x, p->centre ? x->type : infer->in[1]->type);
    if (x->rank < 0) {
        return SC_OK;
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, x->rank, &axis));
    SC_TRY(sc_norm_check_scale(infer, x, infer->in[1]));
    if (bias) {
        SC_TRY(sc_norm_check_scale(infer, x, bias));
    }
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, x->dims, sizeof(dims));
    for (int i = axis; i < x->rank; i++) {
        dims[i] = 1;
    }
    for (int i = 1; i < 3; i++) {
        if (sc_infer_out(infer, i)) {
            sc_fact_tensor(infer->out[i], SC_F32, x->rank, dims);
        }
    }
    return SC_OK;
}

static int call_axis(const struct sc_call *call)
{
    const struct params *p = call->params;
    return (int)(p->axis < 0 ? p->axis + sc_call_in(call, 0)->rank : p->axis);
}

static size_t scratch_norm(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    const int axis = call_axis(call);
    const int64_t n = sc_dims_product(x->dims, axis, x->rank);
    return sc_norm_scratch_bytes(n, sc_team_size(call->team)) + sc_norm_expand_bytes(x, axis, sc_call_in(call, 1)) +
        sc_norm_expand_bytes(x, axis, sc_call_in(call, 2));
}

static void run_norm(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    const struct sc_tensor *scale = sc_call_in(call, 1);
    const struct sc_tensor *bias = sc_call_in(call, 2);
    const struct sc_tensor *y = sc_call_out(call, 0);
    const struct sc_tensor *mean = sc_call_out(call, 1);
    const struct sc_tensor *inverse = sc_call_out(call, 2);
    const int axis = call_axis(call);
    char *scratch = call->scratch;
    struct sc_norm norm = {.kernels = call->kernels,
        .type = x->type,
        .out_type = y->type,
        .rows = sc_dims_product(x->dims, 0, axis),
        .n = sc_dims_product(x->dims, axis, x->rank),
        .x = x->data,
        .y = y->data,
        .epsilon = p->epsilon,
        .centre = p->centre,
        .mean = mean ? mean->data : NULL,
        .inverse = inverse ? inverse->data : NULL};
    norm.scale = sc_norm_expand(x, axis, scale, scratch, &norm.scale_step);
    scratch += sc_norm_expand_bytes(x, axis, scale);
    if (bias) {
        norm.bias = sc_norm_expand(x, axis, bias, scratch, &norm.bias_step);
        scratch += sc_norm_expand_bytes(x, axis, bias);
    }
    norm.scratch = scratch;
    sc_norm_run(&norm, call->team);
}

const struct sc_op sc_ops_nn_row_norm[] = {
    {.domain = "",
        .name = "RMSNormalization",
        .since = 23,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_norm,
        .infer = infer_norm,
        .scratch = scratch_norm,
        .run = run_norm},
    {.domain = "",
        .name = "LayerNormalization", /* as ONNX Runtime has it in graphs of older versions, and as it was taken over */
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_norm,
        .infer = infer_norm,
        .scratch = scratch_norm,
        .run = run_norm},
    {.domain = "",
        .name = "LayerNormalization",
        .since = 17,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_norm,
        .infer = infer_norm,
        .scratch = scratch_norm,
        .run = run_norm},
    {.name = NULL},
};
