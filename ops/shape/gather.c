/* SPDX-License-Identifier: Apache-2.0
 * Gather picks whole slices along an axis, GatherElements single elements. */
#include <string.h>

#include "ops/shape/shape.h"

static enum sc_status params_axis(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(int64_t), params));
    return sc_node_int(node, "axis", 0, *params);
}

static enum sc_status infer_gather(struct sc_infer *infer)
{
    const int64_t *axis_of = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *indices = infer->in[1];
    if (in->rank < 0 || indices->rank < 0) {
        sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        return SC_OK;
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", *axis_of, in->rank, &axis));
    const int rank = in->rank + indices->rank - 1;
    if (rank > SC_MAX_RANK) {
        return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "the result's rank %d is over %d", rank, SC_MAX_RANK);
    }
    int64_t dims[SC_MAX_RANK];
    int at = 0;
    for (int i = 0; i < axis; i++) {
        dims[at++] = in->dims[i];
    }
    for (int i = 0; i < indices->rank; i++) {
        dims[at++] = indices->dims[i];
    }
    for (int i = axis + 1; i < in->rank; i++) {
        dims[at++] = in->dims[i];
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, rank, dims);
    }
    return SC_OK;
}

/* Both operators index one axis of the data with signed indices. */
static enum sc_status resolve_indices(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *indices = sc_call_in(call, 1);
    int axis;
    SC_TRY(sc_axis(call->graph, call->node, "axis", *(const int64_t *)call->params, in->rank, &axis));
    const int64_t dim = in->dims[axis];
    const int64_t n = sc_tensor_count(indices);
    for (int64_t i = 0; i < n; i++) {
        const int64_t index = sc_index_at(indices, i);
        if (index < -dim || index >= dim) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "index %lld is outside of axis %d, which has %lld entries", (long long)index, axis, (long long)dim);
        }
    }
    return SC_OK;
}

struct gather {
    const struct sc_tensor *indices;
    const char *from;
    char *to;
    int64_t n, dim, slices, per_part; /* slices: outer * n */
    size_t slice_bytes;
};

static void gather_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct gather *g = arg;
    const int64_t first = part * g->per_part;
    const int64_t end = first + g->per_part < g->slices ? first + g->per_part : g->slices;
    for (int64_t i = first; i < end; i++) {
        const int64_t index = sc_index_at(g->indices, i % g->n);
        const int64_t slice = i / g->n * g->dim + (index < 0 ? index + g->dim : index);
        memcpy(g->to + i * (int64_t)g->slice_bytes, g->from + slice * (int64_t)g->slice_bytes, g->slice_bytes);
    }
}

static void run_gather(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *indices = sc_call_in(call, 1);
    struct sc_tensor *out = sc_call_out(call, 0);
    if (sc_tensor_count(out) == 0) {
        return;
    }
    const int64_t axis_of = *(const int64_t *)call->params;
    const int axis = (int)(axis_of < 0 ? axis_of + in->rank : axis_of);
    struct gather g = {.indices = indices, .from = in->data, .to = out->data, .dim = in->dims[axis]};
    g.n = sc_tensor_count(indices);
    g.slices = sc_dims_product(in->dims, 0, axis) * g.n;
    g.slice_bytes = (size_t)sc_dims_product(in->dims, axis + 1, in->rank) * sc_type_bytes(in->type);
    g.per_part = (int64_t)((1U << 18) / (g.slice_bytes + 16)) + 1;
    sc_team_for(call->team, sc_parts(g.slices, g.per_part), gather_part, &g);
}

static enum sc_status infer_gather_elements(struct sc_infer *infer)
{
    const int64_t *axis_of = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *indices = infer->in[1];
    if (indices->rank < 0) {
        sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        return SC_OK;
    }
    if (in->rank >= 0) {
        int axis;
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", *axis_of, in->rank, &axis));
        if (in->rank != indices->rank) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "data has rank %d, indices have rank %d",
                in->rank, indices->rank);
        }
        for (int i = 0; i < in->rank; i++) {
            if (i != axis && in->dims[i] >= 0 && indices->dims[i] > in->dims[i]) {
                return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
                    "axis %d of the indices has %lld entries, of the data %lld", i, (long long)indices->dims[i],
                    (long long)in->dims[i]);
            }
        }
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, indices->rank, indices->dims);
    }
    return SC_OK;
}

static void run_gather_elements(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *indices = sc_call_in(call, 1);
    struct sc_tensor *out = sc_call_out(call, 0);
    const int64_t axis_of = *(const int64_t *)call->params;
    const int axis = (int)(axis_of < 0 ? axis_of + in->rank : axis_of);
    const size_t bytes = sc_type_bytes(in->type);
    const int64_t n = sc_tensor_count(out);
    int64_t at[SC_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t index = sc_index_at(indices, i);
        int64_t from = (index < 0 ? index + in->dims[axis] : index) * in->strides[axis];
        for (int d = 0; d < in->rank; d++) {
            from += d == axis ? 0 : at[d] * in->strides[d];
        }
        memcpy(sc_at(out->data, i, bytes), sc_const_at(in->data, from, bytes), bytes);
        for (int d = in->rank - 1; d >= 0 && ++at[d] == out->dims[d]; d--) {
            at[d] = 0;
        }
    }
}

#define GATHER(version)                                                                                                \
    {                                                                                                                  \
        .domain = "", .name = "Gather", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_axis,  \
        .infer = infer_gather, .resolve = resolve_indices, .run = run_gather                                           \
    }
#define GATHER_ELEMENTS(version)                                                                                       \
    {                                                                                                                  \
        .domain = "", .name = "GatherElements", .since = (version), .flags = SC_OP_PURE, .strided = 1,                 \
        .params = params_axis, .infer = infer_gather_elements, .resolve = resolve_indices, .run = run_gather_elements  \
    }

const struct sc_op sc_ops_shape_gather[] = {
    GATHER(1), GATHER(11), GATHER(13), GATHER_ELEMENTS(11), GATHER_ELEMENTS(13), {.name = NULL}};
