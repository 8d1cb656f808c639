/* SPDX-License-Identifier: Apache-2.0
 * NonZero and Compress: how much there is to copy depends on the data, so resolve counts first. */
#include <string.h>

#include "ops/cost.h"
#include "ops/shape/element.h"
#include "ops/shape/shape.h"

static enum sc_status infer_non_zero(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const int64_t dims[2] = {infer->in[0]->rank >= 0 ? infer->in[0]->rank : SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], SC_I64, 2, dims);
    }
    return SC_OK;
}

static enum sc_status resolve_non_zero(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    const size_t bytes = sc_type_bytes(in->type);
    int64_t n = 0;
    for (int64_t i = 0, count = sc_tensor_count(in); i < count; i++) {
        n += sc_element_is_set(in->type, sc_const_at(in->data, i, bytes));
    }
    const int64_t dims[2] = {in->rank, n};
    return sc_resolve_dims(call, 0, SC_I64, 2, dims);
}

static void run_non_zero(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(in->type);
    const int64_t n = out->dims[1];
    int64_t *y = out->data;
    int64_t found = 0;
    for (int64_t i = 0, count = sc_tensor_count(in); i < count; i++) {
        if (!sc_element_is_set(in->type, sc_const_at(in->data, i, bytes))) {
            continue;
        }
        int64_t rest = i;
        for (int d = in->rank - 1; d >= 0; d--) {
            y[d * n + found] = rest % in->dims[d];
            rest /= in->dims[d];
        }
        found++;
    }
}

struct params {
    bool flat; /* no axis: of the flattened input */
    int64_t axis;
};

static enum sc_status params_compress(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->flat = !sc_node_attribute(node, "axis");
    return sc_node_int(node, "axis", 0, &p->axis);
}

static enum sc_status infer_compress(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    return sc_infer_some(infer, p->flat, p->axis);
}

/* The input as [outer, dim, inner]. */
struct view {
    int64_t outer, dim, inner;
};

static struct view view_of(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    if (p->flat) {
        return (struct view){1, sc_tensor_count(in), 1};
    }
    const int axis = (int)(p->axis < 0 ? p->axis + in->rank : p->axis);
    return (struct view){
        sc_dims_product(in->dims, 0, axis), in->dims[axis], sc_dims_product(in->dims, axis + 1, in->rank)};
}

static enum sc_status resolve_compress(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *condition = sc_call_in(call, 1);
    int axis = 0;
    if (!p->flat) {
        SC_TRY(sc_axis(call->graph, call->node, "axis", p->axis, in->rank, &axis));
    }
    const struct view view = view_of(call);
    if (condition->rank != 1 || condition->type != SC_BOOL || condition->dims[0] > view.dim) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "the condition is not a list of at most %lld booleans", (long long)view.dim);
    }
    int64_t n = 0;
    for (int64_t i = 0; i < condition->dims[0]; i++) {
        n += ((const unsigned char *)condition->data)[i] != 0;
    }
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, in->dims, sizeof(dims));
    dims[axis] = n;
    return sc_resolve_dims(call, 0, in->type, p->flat ? 1 : in->rank, dims);
}

static void run_compress(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *condition = sc_call_in(call, 1);
    const struct view view = view_of(call);
    const size_t slice = (size_t)view.inner * sc_type_bytes(in->type);
    char *to = sc_call_out(call, 0)->data;
    for (int64_t o = 0; o < view.outer && slice > 0; o++) {
        for (int64_t i = 0; i < condition->dims[0]; i++) {
            if (((const unsigned char *)condition->data)[i]) {
                memcpy(to, sc_const_at(in->data, o * view.dim + i, slice), slice);
                to += slice;
            }
        }
    }
}

#define NON_ZERO(version)                                                                                              \
    {                                                                                                                  \
        .domain = "", .name = "NonZero", .since = (version), .flags = SC_OP_PURE, .infer = infer_non_zero,             \
        .resolve = resolve_non_zero, .run = run_non_zero                                                               \
    }
#define COMPRESS(version)                                                                                              \
    {                                                                                                                  \
        .domain = "", .name = "Compress", .since = (version), .flags = SC_OP_PURE, .params = params_compress,          \
        .infer = infer_compress, .resolve = resolve_compress, .run = run_compress, .cost = sc_cost_picked              \
    }

const struct sc_op sc_ops_shape_select[] = {
    NON_ZERO(9), NON_ZERO(13), COMPRESS(9), COMPRESS(11), COMPRESS(28), {.name = NULL}};
