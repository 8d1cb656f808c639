/* SPDX-License-Identifier: Apache-2.0
 * Gather picks whole slices along an axis, GatherElements single elements. */
#include <string.h>

#include "ops/cost.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

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
        const int64_t index = indices->type == SC_I64 ? ((const int64_t *)indices->data)[i] : sc_index_at(indices, i);
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

#define TILE 256
#define PART_ELEMENTS 16384

struct elements {
    const struct sc_tensor *in, *indices, *out;
    int axis;
};

/* A run along the last axis of the result: element k is from[index[k] * axis + k * last]. */
struct run {
    const char *from;
    char *to;
    int64_t n, axis, last; /* strides of the data; last is 0 where it is the axis */
    int64_t index[TILE];
};

/* Inlined once per width, so that the element copies are single moves. */
static inline __attribute__((always_inline)) void pick(const struct run *run, size_t width)
{
    const ptrdiff_t w = (ptrdiff_t)width;
    for (int64_t k = 0; k < run->n; k++) {
        memcpy(run->to + k * w, run->from + (run->index[k] * run->axis + k * run->last) * w, width);
    }
}

static void pick_of_width(const struct run *run, size_t width)
{
    switch (width) {
    case 1:
        pick(run, 1);
        break;
    case 2:
        pick(run, 2);
        break;
    case 4:
        pick(run, 4);
        break;
    case 8:
        pick(run, 8);
        break;
    default:
        pick(run, 16);
        break;
    }
}

static void read_indices(const struct sc_tensor *indices, int64_t at, int64_t n, int64_t dim, int64_t *index)
{
    sc_convert(indices->type, sc_const_at(indices->data, at, sc_type_bytes(indices->type)), SC_I64, index, n, 0);
    for (int64_t k = 0; k < n; k++) {
        index[k] += index[k] >> 63 & dim;
    }
}

static void elements_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct elements *e = arg;
    const int64_t all = sc_tensor_count(e->out), last = e->out->rank - 1;
    const int64_t end = (part + 1) * PART_ELEMENTS < all ? (part + 1) * PART_ELEMENTS : all;
    const size_t bytes = sc_type_bytes(e->out->type);
    struct run run = {.axis = e->in->strides[e->axis], .last = e->axis == last ? 0 : e->in->strides[last]};
    for (int64_t at = part * PART_ELEMENTS; at < end; at += run.n) {
        int64_t rest = at, from = 0;
        for (int64_t d = last; d >= 0; d--) {
            from += d == e->axis ? 0 : rest % e->out->dims[d] * e->in->strides[d];
            rest /= e->out->dims[d];
        }
        const int64_t in_row = e->out->dims[last] - at % e->out->dims[last];
        run.n = in_row < end - at ? in_row : end - at;
        run.n = run.n < TILE ? run.n : TILE;
        run.from = sc_const_at(e->in->data, from, bytes);
        run.to = sc_at(e->out->data, at, bytes);
        read_indices(e->indices, at, run.n, e->in->dims[e->axis], run.index);
        pick_of_width(&run, bytes);
    }
}

static void run_gather_elements(const struct sc_call *call)
{
    struct elements e = {.in = sc_call_in(call, 0), .indices = sc_call_in(call, 1), .out = sc_call_out(call, 0)};
    const int64_t axis = *(const int64_t *)call->params, n = sc_tensor_count(e.out);
    e.axis = (int)(axis < 0 ? axis + e.in->rank : axis);
    if (n > 0) {
        sc_team_for(call->team, sc_parts(n, PART_ELEMENTS), elements_part, &e);
    }
}

#define GATHER(version)                                                                                                \
    {                                                                                                                  \
        .domain = "", .name = "Gather", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_axis,  \
        .infer = infer_gather, .resolve = resolve_indices, .run = run_gather, .cost = sc_cost_picked                   \
    }
#define GATHER_ELEMENTS(version)                                                                                       \
    {                                                                                                                  \
        .domain = "", .name = "GatherElements", .since = (version), .flags = SC_OP_PURE, .strided = 1,                 \
        .params = params_axis, .infer = infer_gather_elements, .resolve = resolve_indices, .run = run_gather_elements, \
        .cost = sc_cost_picked                                                                                         \
    }

const struct sc_op sc_ops_shape_gather[] = {
    GATHER(1), GATHER(11), GATHER(13), GATHER_ELEMENTS(11), GATHER_ELEMENTS(13), {.name = NULL}};
