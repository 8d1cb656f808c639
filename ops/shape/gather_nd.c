/* SPDX-License-Identifier: Apache-2.0
 * GatherND and ScatterND: the last axis of the indices holds coordinates of slices of the data. */
#include <string.h>

#include "ops/cost.h"
#include "ops/shape/scatter.h"
#include "ops/shape/shape.h"

struct params {
    int64_t batch_dims;
    enum sc_reduction reduction;
};

static enum sc_status params_nd(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "batch_dims", 0, &p->batch_dims));
    if (p->batch_dims < 0 || p->batch_dims > SC_MAX_RANK) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "batch_dims is %lld", (long long)p->batch_dims);
    }
    return sc_reduction_read(graph, node, &p->reduction);
}

/* Number of coordinates in a tuple, checked against the rank of the data. */
static enum sc_status tuple_length(const struct sc_infer *infer, int64_t *length)
{
    const struct params *p = infer->params;
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *indices = infer->in[1];
    if (in->rank < 1 || indices->rank < 1 || p->batch_dims >= indices->rank || p->batch_dims > in->rank) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "data has rank %d and indices rank %d", in->rank, indices->rank);
    }
    *length = indices->dims[indices->rank - 1];
    if (*length > in->rank - p->batch_dims) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "indices have %lld coordinates for rank %d",
            (long long)*length, in->rank);
    }
    for (int64_t i = 0; i < p->batch_dims; i++) {
        if (in->dims[i] >= 0 && indices->dims[i] >= 0 && in->dims[i] != indices->dims[i]) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "batch dim %lld is %lld and %lld",
                (long long)i, (long long)in->dims[i], (long long)indices->dims[i]);
        }
    }
    return SC_OK;
}

static enum sc_status infer_gather(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *indices = infer->in[1];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, in->type);
    if (in->rank < 0 || indices->rank < 0) {
        return SC_OK;
    }
    int64_t length;
    SC_TRY(tuple_length(infer, &length));
    if (length < 0) {
        return SC_OK;
    }
    const int64_t rank = indices->rank - 1 + in->rank - length - p->batch_dims;
    if (rank > SC_MAX_RANK) {
        return sc_node_fail(
            infer->graph, infer->node, SC_LIMIT, "the result's rank %lld is over %d", (long long)rank, SC_MAX_RANK);
    }
    int64_t dims[SC_MAX_RANK];
    int n = 0;
    for (int i = 0; i < indices->rank - 1; i++) {
        dims[n++] = indices->dims[i];
    }
    for (int i = (int)(p->batch_dims + length); i < in->rank; i++) {
        dims[n++] = in->dims[i];
    }
    if (out) {
        sc_fact_tensor(out, in->type, n, dims);
    }
    return SC_OK;
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
    if (in->rank < 0 || indices->rank < 0) {
        return SC_OK;
    }
    int64_t length;
    SC_TRY(tuple_length(infer, &length));
    if (length < 0 || updates->rank < 0) {
        return SC_OK;
    }
    bool fits = updates->rank == indices->rank - 1 + in->rank - length;
    for (int i = 0; fits && i < updates->rank; i++) {
        const int64_t want = i < indices->rank - 1 ? indices->dims[i] : in->dims[i - (indices->rank - 1) + length];
        fits = want < 0 || updates->dims[i] < 0 || want == updates->dims[i];
    }
    if (!fits) {
        char text[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "updates %s do not fit data and indices",
            sc_dims_text(updates->rank, updates->dims, text, sizeof text));
    }
    return SC_OK;
}

/* Both operators, seen as slices: tuple t of the indices names one slice of the data. */
struct slices {
    const struct sc_tensor *data, *indices;
    int64_t length, per_batch, tuples; /* per_batch: tuples that share the batch coordinates */
    int batch_dims;
    int64_t slice; /* elements */
};

static struct slices slices_of(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct slices s = {.data = sc_call_in(call, 0), .indices = sc_call_in(call, 1), .batch_dims = (int)p->batch_dims};
    const int last = s.indices->rank - 1;
    s.length = s.indices->dims[last];
    s.tuples = sc_dims_product(s.indices->dims, 0, last);
    s.per_batch = sc_dims_product(s.indices->dims, s.batch_dims, last);
    s.slice = sc_dims_product(s.data->dims, s.batch_dims + (int)s.length, s.data->rank);
    return s;
}

static int64_t slice_offset(const struct slices *s, int64_t tuple)
{
    int64_t offset = 0;
    if (s->batch_dims > 0) {
        offset = tuple / s->per_batch * sc_dims_product(s->data->dims, s->batch_dims, s->data->rank);
    }
    for (int64_t i = 0; i < s->length; i++) {
        const int axis = s->batch_dims + (int)i;
        const int64_t index = sc_index_at(s->indices, tuple * s->length + i);
        offset += (index < 0 ? index + s->data->dims[axis] : index) * s->data->strides[axis];
    }
    return offset;
}

static enum sc_status resolve_nd(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct slices s = slices_of(call);
    for (int64_t i = 0, n = s.tuples * s.length; i < n; i++) {
        const int64_t index = sc_index_at(s.indices, i);
        const int64_t dim = s.data->dims[s.batch_dims + (int)(i % s.length)];
        if (index < -dim || index >= dim) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "index %lld is outside of axis %lld, which has %lld entries", (long long)index,
                (long long)(s.batch_dims + i % s.length), (long long)dim);
        }
    }
    return SC_OK;
}

static void run_gather(const struct sc_call *call)
{
    const struct slices s = slices_of(call);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(out->type);
    if (sc_tensor_count(out) == 0) {
        return;
    }
    for (int64_t t = 0; t < s.tuples; t++) {
        memcpy(sc_at(out->data, t * s.slice, bytes), sc_const_at(s.data->data, slice_offset(&s, t), bytes),
            (size_t)s.slice * bytes);
    }
}

static void run_scatter(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct slices s = slices_of(call);
    const struct sc_tensor *updates = sc_call_in(call, 2);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(out->type);
    if (sc_tensor_count(out) == 0) {
        return;
    }
    if (out->data != s.data->data) {
        sc_tensor_copy_dense(s.data, out->data);
    }
    for (int64_t t = 0; t < s.tuples; t++) {
        sc_element_combine(out->type, p->reduction, sc_at(out->data, slice_offset(&s, t), bytes),
            sc_const_at(updates->data, t * s.slice, bytes), s.slice);
    }
}

#define GATHER_ND(version)                                                                                             \
    {                                                                                                                  \
        .domain = "", .name = "GatherND", .since = (version), .flags = SC_OP_PURE, .params = params_nd,                \
        .infer = infer_gather, .resolve = resolve_nd, .run = run_gather, .cost = sc_cost_picked                        \
    }
#define SCATTER_ND(version)                                                                                            \
    {                                                                                                                  \
        .domain = "", .name = "ScatterND", .since = (version), .flags = SC_OP_PURE | SC_OP_IN_PLACE,                   \
        .params = params_nd, .infer = infer_scatter, .resolve = resolve_nd, .run = run_scatter                         \
    }

const struct sc_op sc_ops_shape_gather_nd[] = {
    GATHER_ND(11),
    GATHER_ND(12),
    GATHER_ND(13),
    SCATTER_ND(11),
    SCATTER_ND(13),
    SCATTER_ND(16),
    SCATTER_ND(18),
    {.name = NULL},
};
