/* SPDX-License-Identifier: Apache-2.0
 * Concat and Split: blocks copied side by side along one axis, and apart. */
#include <string.h>

#include "ops/shape/shape.h"

struct params {
    int64_t axis, n_outputs; /* n_outputs: Split-18's num_outputs, else -1 */
    struct sc_ints split;
};

static enum sc_status params_concat(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    return sc_node_int(node, "axis", 1, &((struct params *)*params)->axis);
}

static enum sc_status join_dim(const struct sc_infer *infer, int64_t *dim, int64_t other, int axis, bool joined)
{
    if (joined) {
        *dim = *dim >= 0 && other >= 0 ? *dim + other : *dim == 0 ? other : other == 0 ? *dim : SC_DIM_UNKNOWN;
        return SC_OK;
    }
    if (*dim >= 0 && other >= 0 && *dim != other) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "inputs have the dims %lld and %lld at axis %d",
            (long long)*dim, (long long)other, axis);
    }
    if (*dim < 0 && (other >= 0 || *dim == SC_DIM_UNKNOWN)) {
        *dim = other;
    }
    return SC_OK;
}

static enum sc_status infer_concat(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    if (infer->n_in < 1) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "there are no inputs");
    }
    SC_TRY(sc_infer_needs(infer, infer->n_in));
    struct sc_fact sum = *infer->in[0];
    sum.value = NULL;
    sum.kind = SC_KIND_TENSOR;
    int axis = 0;
    for (int i = 0; i < infer->n_in; i++) {
        const struct sc_fact *in = infer->in[i];
        if (in->rank < 0) {
            sc_fact_of_type(sc_infer_out(infer, 0), in->type);
            return SC_OK;
        }
        if (in->rank != sum.rank) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "inputs have the ranks %d and %d", sum.rank, in->rank);
        }
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, sum.rank, &axis));
        for (int d = 0; i > 0 && d < sum.rank; d++) {
            SC_TRY(join_dim(infer, &sum.dims[d], in->dims[d], d, d == axis));
        }
    }
    if (sc_infer_out(infer, 0)) {
        *infer->out[0] = sum;
    }
    return SC_OK;
}

static void run_concat(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct sc_tensor *out = sc_call_out(call, 0);
    const int axis = (int)(p->axis < 0 ? p->axis + out->rank : p->axis);
    const size_t bytes = sc_type_bytes(out->type);
    int64_t at = 0;
    for (int i = 0; i < call->n_in; i++) {
        const struct sc_tensor *in = sc_call_in(call, i);
        struct sc_move move = {
            .bytes = bytes, .to = sc_at(out->data, at * out->strides[axis], bytes), .from = in->data};
        for (int d = 0; d < in->rank; d++) {
            sc_move_axis(&move, in->dims[d], out->strides[d], in->strides[d]);
        }
        sc_move_run(&move, call->team);
        at += in->dims[axis];
    }
}

static enum sc_status params_split(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "axis", 0, &p->axis));
    SC_TRY(sc_node_int(node, "num_outputs", -1, &p->n_outputs));
    SC_TRY(sc_node_ints(node, "split", &p->split.n, &p->split.values));
    if (p->n_outputs != -1 && p->n_outputs != node->n_out) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "num_outputs is %lld, the node has %d outputs",
            (long long)p->n_outputs, node->n_out);
    }
    return SC_OK;
}

static int64_t list_at(const struct params *p, const struct sc_tensor *list, int i)
{
    return list ? sc_index_at(list, i) : p->split.values[i];
}

/* The sizes follow from the dim alone when no list is given: equal, the last one smaller (18 and later). */
static enum sc_status split_size(
    const struct sc_infer *infer, const struct sc_tensor *list, int64_t dim, int i, int64_t *size)
{
    const struct params *p = infer->params;
    const int n = infer->node->n_out;
    if (list || p->split.n >= 0) {
        *size = list_at(p, list, i);
        return *size >= 0
            ? SC_OK
            : sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "split has the entry %lld", (long long)*size);
    }
    *size = SC_DIM_UNKNOWN;
    if (dim < 0) {
        return SC_OK;
    }
    if (p->n_outputs < 0 && dim % n != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a dim of %lld cannot be split in %d equal parts",
            (long long)dim, n);
    }
    const int64_t chunk = (dim + n - 1) / n;
    const int64_t left = dim - chunk * i;
    *size = left < 0 ? 0 : left < chunk ? left : chunk;
    return SC_OK;
}

static enum sc_status check_split_list(const struct sc_infer *infer, const struct sc_tensor *list, int64_t dim)
{
    const struct params *p = infer->params;
    const int n = infer->node->n_out;
    if (list && (list->rank > 1 || (list->type != SC_I64 && list->type != SC_I32))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "split is not a list of integers");
    }
    const int64_t entries = list ? sc_tensor_count(list) : p->split.n;
    if ((list || p->split.n >= 0) && entries != n) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "split has %lld entries for %d outputs", (long long)entries, n);
    }
    if ((!list && p->split.n < 0) || dim < 0) {
        return SC_OK;
    }
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        const int64_t size = list_at(p, list, i);
        if (size < 0 || size > dim - sum) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
                "split entry %d is %lld, %lld of %lld are left", i, (long long)size, (long long)(dim - sum),
                (long long)dim);
        }
        sum += size;
    }
    if (sum != dim) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "split sums to %lld, the dim is %lld",
            (long long)sum, (long long)dim);
    }
    return SC_OK;
}

static enum sc_status infer_split(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *list = sc_infer_in(infer, 1);
    int axis = 0;
    if (in->rank >= 0) {
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, in->rank, &axis));
        SC_TRY(check_split_list(infer, list ? list->value : NULL, in->dims[axis]));
    }
    for (int i = 0; i < infer->n_out; i++) {
        if (!infer->out[i]) {
            continue;
        }
        if (in->rank < 0) {
            sc_fact_of_type(infer->out[i], in->type);
            continue;
        }
        sc_fact_tensor(infer->out[i], in->type, in->rank, in->dims);
        infer->out[i]->dims[axis] = SC_DIM_UNKNOWN;
        if (!list || list->value) {
            SC_TRY(split_size(infer, list ? list->value : NULL, in->dims[axis], i, &infer->out[i]->dims[axis]));
        }
    }
    return SC_OK;
}

/* As many outputs as the node has, so not sc_resolve_by_infer. */
static enum sc_status resolve_split(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *list = sc_call_in(call, 1);
    const struct sc_infer infer = {.graph = call->graph, .node = call->node, .params = call->params};
    int axis;
    SC_TRY(sc_axis(call->graph, call->node, "axis", p->axis, in->rank, &axis));
    SC_TRY(check_split_list(&infer, list, in->dims[axis]));
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, in->dims, sizeof(dims));
    for (int i = 0; i < call->n_out; i++) {
        SC_TRY(split_size(&infer, list, in->dims[axis], i, &dims[axis]));
        SC_TRY(sc_resolve_dims(call, i, in->type, in->rank, dims));
    }
    return SC_OK;
}

static void run_split(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_infer infer = {.graph = call->graph, .node = call->node, .params = call->params};
    const int axis = (int)(p->axis < 0 ? p->axis + in->rank : p->axis);
    const size_t bytes = sc_type_bytes(in->type);
    int64_t at = 0;
    for (int i = 0; i < call->n_out; i++) {
        struct sc_tensor *out = sc_call_out(call, i);
        int64_t size = 0;
        (void)split_size(&infer, sc_call_in(call, 1), in->dims[axis], i, &size); /* resolve has checked it */
        if (out) {
            struct sc_move move = {
                .bytes = bytes, .to = out->data, .from = sc_const_at(in->data, at * in->strides[axis], bytes)};
            for (int d = 0; d < in->rank; d++) {
                sc_move_axis(&move, out->dims[d], out->strides[d], in->strides[d]);
            }
            sc_move_run(&move, call->team);
        }
        at += size;
    }
}

#define CONCAT(version)                                                                                                \
    {                                                                                                                  \
        .domain = "", .name = "Concat", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .strided = ~0U,         \
        .params = params_concat, .infer = infer_concat, .run = run_concat                                              \
    }
#define SPLIT(version)                                                                                                 \
    {                                                                                                                  \
        .domain = "", .name = "Split", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .strided = 1,            \
        .params = params_split, .infer = infer_split, .resolve = resolve_split, .run = run_split                       \
    }

const struct sc_op sc_ops_shape_concat[] = {
    CONCAT(1), CONCAT(4), CONCAT(11), CONCAT(13), SPLIT(1), SPLIT(2), SPLIT(11), SPLIT(13), SPLIT(18), {.name = NULL}};
