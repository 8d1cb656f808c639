/* SPDX-License-Identifier: Apache-2.0
 * ScatterElements (and its old name Scatter) writes single elements along an axis into a copy of the data. Updates are
 * applied in the order of the indices, so that the last one stands and sums are always the same. */
#include <string.h>

#include "ops/shape/element.h"
#include "ops/shape/scatter.h"
#include "ops/shape/shape.h"

enum sc_status sc_reduction_read(const struct sc_graph *graph, const struct sc_node *node, enum sc_reduction *reduction)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *name;
    SC_TRY(sc_node_text(node, "reduction", "none", &name));
    for (int i = 0; i < 5; i++) {
        if (strcmp(name, names[i]) == 0) {
            *reduction = (enum sc_reduction)i;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "reduction is '%s'", name);
}

enum sc_status sc_reduction_check(const struct sc_infer *infer, enum sc_reduction reduction)
{
    const enum sc_type type = infer->in[0]->type;
    if (type != SC_TYPE_NONE && !sc_element_combinable(type, reduction)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_UNSUPPORTED, "a reduction of elements of %s", sc_type_name(type));
    }
    return SC_OK;
}

struct params {
    int64_t axis;
    enum sc_reduction reduction;
};

static enum sc_status params_scatter(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "axis", 0, &p->axis));
    return sc_reduction_read(graph, node, &p->reduction);
}

static enum sc_status infer_scatter(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *indices = infer->in[1];
    const struct sc_fact *updates = infer->in[2];
    sc_infer_shape_of(infer, 0, in, in->type);
    SC_TRY(sc_reduction_check(infer, p->reduction));
    if (in->rank < 0 || indices->rank < 0 || updates->rank < 0) {
        return SC_OK;
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, in->rank, &axis));
    bool fits = indices->rank == in->rank && updates->rank == in->rank;
    for (int i = 0; fits && i < in->rank; i++) {
        const int64_t dim = indices->dims[i];
        fits = dim < 0 ||
            ((updates->dims[i] < 0 || updates->dims[i] == dim) && (i == axis || in->dims[i] < 0 || dim <= in->dims[i]));
    }
    if (!fits) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "the dims of data, indices and updates do not fit each other");
    }
    return SC_OK;
}

static enum sc_status resolve_scatter(const struct sc_call *call)
{
    const struct params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *indices = sc_call_in(call, 1);
    const int64_t dim = in->dims[p->axis < 0 ? p->axis + in->rank : p->axis];
    for (int64_t i = 0, n = sc_tensor_count(indices); i < n; i++) {
        const int64_t index = sc_index_at(indices, i);
        if (index < -dim || index >= dim) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "index %lld is outside of axis %lld, which has %lld entries", (long long)index, (long long)p->axis,
                (long long)dim);
        }
    }
    return SC_OK;
}

static void run_scatter(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *indices = sc_call_in(call, 1);
    const struct sc_tensor *updates = sc_call_in(call, 2);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const int axis = (int)(p->axis < 0 ? p->axis + in->rank : p->axis);
    const size_t bytes = sc_type_bytes(in->type);
    if (out->data != in->data) {
        sc_tensor_copy_dense(in, out->data);
    }
    int64_t at[SC_MAX_RANK] = {0};
    for (int64_t i = 0, n = sc_tensor_count(indices); i < n; i++) {
        const int64_t index = sc_index_at(indices, i);
        int64_t to = (index < 0 ? index + in->dims[axis] : index) * out->strides[axis];
        for (int d = 0; d < in->rank; d++) {
            to += d == axis ? 0 : at[d] * out->strides[d];
        }
        sc_element_combine(
            in->type, p->reduction, sc_at(out->data, to, bytes), sc_const_at(updates->data, i, bytes), 1);
        for (int d = in->rank - 1; d >= 0 && ++at[d] == indices->dims[d]; d--) {
            at[d] = 0;
        }
    }
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE | SC_OP_IN_PLACE, .params = params_scatter, \
        .infer = infer_scatter, .resolve = resolve_scatter, .run = run_scatter                                         \
    }

const struct sc_op sc_ops_shape_scatter[] = {
    ROW(ScatterElements, 11),
    ROW(ScatterElements, 13),
    ROW(ScatterElements, 16),
    ROW(ScatterElements, 18),
    ROW(Scatter, 9),
    ROW(Scatter, 11),
    {.name = NULL},
};
