/* SPDX-License-Identifier: Apache-2.0
 * Views with other strides: Transpose permutes them, Expand sets them to 0. */
#include <string.h>

#include "ops/shape/shape.h"

static enum sc_status params_transpose(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_ints), params));
    struct sc_ints *perm = *params;
    SC_TRY(sc_node_ints(node, "perm", &perm->n, &perm->values));
    uint32_t seen = 0;
    for (int i = 0; i < perm->n; i++) {
        const int64_t axis = perm->values[i];
        if (perm->n > SC_MAX_RANK || axis < -perm->n || axis >= perm->n) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "perm entry %d of %d is %lld", i, perm->n, (long long)axis);
        }
        seen |= 1U << (axis < 0 ? axis + perm->n : axis);
    }
    if (perm->n > 0 && seen != (1U << perm->n) - 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "perm is not a permutation of %d axes", perm->n);
    }
    return SC_OK;
}

/* The input's axis that becomes axis i. */
static int source_axis(const struct sc_ints *perm, int rank, int i)
{
    if (perm->n < 0) {
        return rank - 1 - i;
    }
    return (int)(perm->values[i] < 0 ? perm->values[i] + rank : perm->values[i]);
}

static enum sc_status infer_transpose(struct sc_infer *infer)
{
    const struct sc_ints *perm = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    if (in->rank < 0) {
        sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        return SC_OK;
    }
    if (perm->n >= 0 && perm->n != in->rank) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "perm has %d entries, the input has rank %d", perm->n, in->rank);
    }
    int64_t dims[SC_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        dims[i] = in->dims[source_axis(perm, in->rank, i)];
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, in->rank, dims);
    }
    return SC_OK;
}

static void run_transpose(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct sc_tensor *out = sc_call_out(call, 0);
    for (int i = 0; i < in->rank; i++) {
        out->strides[i] = in->strides[source_axis(call->params, in->rank, i)];
    }
    out->data = in->data;
}

/* Broadcasts both ways. A dim that only one side knows: 1 gives way to the other, more than 1 stays. */
static enum sc_status infer_expand(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *shape = infer->in[1];
    if (!shape->value || in->rank < 0) {
        const bool ranks = in->rank >= 0 && shape->rank == 1 && shape->dims[0] >= 0 && shape->dims[0] <= SC_MAX_RANK;
        if (ranks) {
            const int longer = shape->dims[0] > in->rank ? (int)shape->dims[0] : in->rank;
            sc_fact_of_rank(sc_infer_out(infer, 0), in->type, longer);
        } else {
            sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        }
        return SC_OK;
    }
    int64_t values[SC_MAX_RANK];
    struct sc_ints list;
    SC_TRY(sc_input_ints(infer, 1, values, &list));
    const int rank = list.n > in->rank ? list.n : in->rank;
    int64_t dims[SC_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        const int64_t a = i - (rank - in->rank) >= 0 ? in->dims[i - (rank - in->rank)] : 1;
        const int64_t b = i - (rank - list.n) >= 0 ? values[i - (rank - list.n)] : 1;
        if (b < 0 || (a >= 0 && a != 1 && b != 1 && a != b)) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "dim %lld cannot be expanded to %lld",
                (long long)a, (long long)b);
        }
        dims[i] = a == 1 || a < 0 ? (b == 1 ? a : b) : a;
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, rank, dims);
    }
    return SC_OK;
}

static void run_expand(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct sc_tensor *out = sc_call_out(call, 0);
    const int ahead = out->rank - in->rank;
    for (int i = 0; i < out->rank; i++) {
        out->strides[i] = i >= ahead && in->dims[i - ahead] == out->dims[i] ? in->strides[i - ahead] : 0;
    }
    out->data = in->data;
}

#define TRANSPOSE(version)                                                                                             \
    {                                                                                                                  \
        .domain = "", .name = "Transpose", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW, .strided = 1,         \
        .params = params_transpose, .infer = infer_transpose, .run = run_transpose                                     \
    }
#define EXPAND(version)                                                                                                \
    {                                                                                                                  \
        .domain = "", .name = "Expand", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW, .strided = 1,            \
        .infer = infer_expand, .resolve = sc_resolve_by_infer, .run = run_expand                                       \
    }

const struct sc_op sc_ops_shape_transpose[] = {
    TRANSPOSE(1),
    TRANSPOSE(13),
    TRANSPOSE(21),
    TRANSPOSE(23),
    TRANSPOSE(24),
    TRANSPOSE(25),
    EXPAND(8),
    EXPAND(13),
    {.name = NULL},
};
