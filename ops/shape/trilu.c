/* SPDX-License-Identifier: Apache-2.0
 * Trilu and EyeLike: what lies on which side of a diagonal. OneHot: one element set along a new axis. */
#include <string.h>

#include "ops/shape/shape.h"
#include "tensor/convert.h"

struct params {
    int64_t upper, k, type, axis;
};

static enum sc_status params_trilu(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    return sc_node_int(node, "upper", 1, &((struct params *)*params)->upper);
}

static enum sc_status infer_trilu(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    if (in->rank >= 0 && in->rank < 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input has rank %d, want 2 or more", in->rank);
    }
    sc_infer_shape_of(infer, 0, in, in->type);
    return SC_OK;
}

static enum sc_status resolve_trilu(const struct sc_call *call)
{
    const struct sc_tensor *k = sc_call_in(call, 1);
    SC_TRY(sc_resolve_by_infer(call));
    if (k && sc_tensor_count(k) != 1) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "k is not a scalar");
    }
    return SC_OK;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void run_trilu(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(in->type);
    const int64_t rows = in->dims[in->rank - 2];
    const int64_t columns = in->dims[in->rank - 1];
    const int64_t limit = rows + columns + 1;
    const int64_t k = sc_call_in(call, 1) ? clamp(sc_index_at(sc_call_in(call, 1), 0), -limit, limit) : 0;
    for (int64_t i = 0, n = columns ? sc_tensor_count(in) / columns : 0; i < n; i++) {
        /* upper keeps columns from `edge` on, lower those before it */
        const int64_t edge = clamp(i % rows + k + (p->upper ? 0 : 1), 0, columns);
        const int64_t first = p->upper ? edge : 0;
        const int64_t end = p->upper ? columns : edge;
        const int64_t row = i * columns;
        if (out->data != in->data) {
            memcpy(sc_at(out->data, row + first, bytes), sc_const_at(in->data, row + first, bytes),
                (size_t)(end - first) * bytes);
        }
        memset(sc_at(out->data, row, bytes), 0, (size_t)first * bytes);
        memset(sc_at(out->data, row + end, bytes), 0, (size_t)(columns - end) * bytes);
    }
}

static enum sc_status params_eye(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "k", 0, &p->k));
    SC_TRY(sc_node_int(node, "dtype", 0, &p->type));
    if (p->type != 0 && (!sc_type_valid(p->type) || !sc_convertible((enum sc_type)p->type))) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "dtype is %lld", (long long)p->type);
    }
    return SC_OK;
}

static enum sc_status infer_eye(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    if (in->rank >= 0 && in->rank != 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input has rank %d, want 2", in->rank);
    }
    sc_infer_shape_of(infer, 0, in, p->type ? (enum sc_type)p->type : in->type);
    return SC_OK;
}

static void run_eye(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(out->type);
    unsigned char one[16];
    const float number = 1.0F;
    sc_convert(SC_F32, &number, out->type, one, 1, 0);
    memset(out->data, 0, sc_tensor_bytes(out));
    for (int64_t i = 0; i < out->dims[0]; i++) {
        int64_t column;
        if (!__builtin_add_overflow(i, p->k, &column) && column >= 0 && column < out->dims[1]) {
            memcpy(sc_at(out->data, i * out->dims[1] + column, bytes), one, bytes);
        }
    }
}

static enum sc_status params_one_hot(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    return sc_node_int(node, "axis", -1, &((struct params *)*params)->axis);
}

static int64_t number_at(const struct sc_tensor *t, int64_t i)
{
    int64_t number;
    sc_convert(t->type, sc_const_at(t->data, i, sc_type_bytes(t->type)), SC_I64, &number, 1, 0);
    return number;
}

static enum sc_status infer_one_hot(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *depth = infer->in[1];
    const struct sc_fact *values = infer->in[2];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, values->type);
    if (values->rank >= 0 && (values->rank != 1 || (values->dims[0] >= 0 && values->dims[0] != 2))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "values are not a pair");
    }
    if (in->rank < 0) {
        return SC_OK;
    }
    if (in->rank >= SC_MAX_RANK) {
        return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "the result's rank is over %d", SC_MAX_RANK);
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, in->rank + 1, &axis));
    int64_t dims[SC_MAX_RANK];
    for (int i = 0, from = 0; i <= in->rank; i++) {
        dims[i] = i == axis ? SC_DIM_UNKNOWN : in->dims[from++];
    }
    if (depth->value) {
        if (sc_tensor_count(depth->value) != 1 || !sc_convertible(depth->value->type)) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "depth is not a number");
        }
        dims[axis] = number_at(depth->value, 0);
        if (dims[axis] < 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "depth is %lld", (long long)dims[axis]);
        }
    }
    if (out) {
        sc_fact_tensor(out, values->type, in->rank + 1, dims);
    }
    return SC_OK;
}

static void run_one_hot(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *values = sc_call_in(call, 2);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(out->type);
    const int axis = (int)(p->axis < 0 ? p->axis + out->rank : p->axis);
    const int64_t depth = out->dims[axis];
    const int64_t inner = sc_dims_product(out->dims, axis + 1, out->rank);
    sc_fill(out->data, values->data, bytes, sc_tensor_count(out));
    for (int64_t i = 0, n = sc_tensor_count(in); i < n; i++) {
        const int64_t index = number_at(in, i);
        if (index >= -depth && index < depth) { /* others have no element set */
            const int64_t to = (i / inner * depth + (index < 0 ? index + depth : index)) * inner + i % inner;
            memcpy(sc_at(out->data, to, bytes), sc_const_at(values->data, 1, bytes), bytes);
        }
    }
}

#define EYE(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "EyeLike", .since = (version), .flags = SC_OP_PURE, .strided = 1, .params = params_eye,  \
        .infer = infer_eye, .run = run_eye                                                                             \
    }
#define ONE_HOT(version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = "OneHot", .since = (version), .flags = SC_OP_PURE, .params = params_one_hot,             \
        .infer = infer_one_hot, .resolve = sc_resolve_by_infer, .run = run_one_hot                                     \
    }

const struct sc_op sc_ops_shape_trilu[] = {
    {.domain = "",
        .name = "Trilu",
        .since = 14,
        .flags = SC_OP_PURE | SC_OP_IN_PLACE,
        .params = params_trilu,
        .infer = infer_trilu,
        .resolve = resolve_trilu,
        .run = run_trilu},
    EYE(9),
    EYE(22),
    ONE_HOT(9),
    ONE_HOT(11),
    ONE_HOT(28),
    {.name = NULL},
};
