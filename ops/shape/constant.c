/* SPDX-License-Identifier: Apache-2.0
 * Constant in all its attribute forms, and ConstantOfShape. */
#include <string.h>

#include "ops/shape/shape.h"

static enum sc_status new_list(struct sc_arena *arena, const struct sc_attribute *a, enum sc_type type, int rank,
    const void *from, struct sc_tensor *tensor)
{
    const int64_t dims[1] = {a->n};
    SC_TRY(sc_tensor_new(arena, type, rank, dims, tensor));
    if (a->n > 0) {
        memcpy(tensor->data, from, (size_t)a->n * sc_type_bytes(type));
    }
    return SC_OK;
}

static enum sc_status params_constant(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_tensor), params));
    struct sc_tensor *tensor = *params;
    static const char *const names[] = {"value", "sparse_value", "value_float", "value_floats", "value_int",
        "value_ints", "value_string", "value_strings"};
    const struct sc_attribute *a = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct sc_attribute *found = sc_node_attribute(node, names[i]);
        if (found && a) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "both '%s' and '%s' are given", a->name, names[i]);
        }
        a = found ? found : a;
    }
    if (!a) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "no value is given");
    }
    switch (a->type) {
    case SC_ATTRIBUTE_TENSOR:
    case SC_ATTRIBUTE_SPARSE_TENSOR:
        *tensor = *a->u.tensor;
        return SC_OK;
    case SC_ATTRIBUTE_FLOAT:
        return new_list(arena, a, SC_F32, 0, &a->u.f, tensor);
    case SC_ATTRIBUTE_FLOATS:
        return new_list(arena, a, SC_F32, 1, a->u.floats, tensor);
    case SC_ATTRIBUTE_INT:
        return new_list(arena, a, SC_I64, 0, &a->u.i, tensor);
    case SC_ATTRIBUTE_INTS:
        return new_list(arena, a, SC_I64, 1, a->u.ints, tensor);
    case SC_ATTRIBUTE_STRING:
        return new_list(arena, a, SC_STRING, 0, &a->u.s, tensor);
    case SC_ATTRIBUTE_STRINGS:
        return new_list(arena, a, SC_STRING, 1, a->u.strings, tensor);
    default:
        return sc_node_fail(graph, node, SC_BAD_MODEL, "attribute '%s' has the type %d", a->name, (int)a->type);
    }
}

static enum sc_status infer_constant(struct sc_infer *infer)
{
    const struct sc_tensor *tensor = infer->params;
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], tensor->type, tensor->rank, tensor->dims);
        infer->out[0]->value = tensor;
    }
    return SC_OK;
}

static void run_constant(const struct sc_call *call)
{
    sc_tensor_copy_dense(call->params, sc_call_out(call, 0)->data);
}

/* The element to fill with; 0 in f32 unless the attribute says otherwise. */
static enum sc_status params_of_shape(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_tensor), params));
    struct sc_tensor *tensor = *params;
    const struct sc_attribute *a = sc_node_attribute(node, "value");
    if (!a) {
        return sc_tensor_new(arena, SC_F32, 0, NULL, tensor);
    }
    if (a->type != SC_ATTRIBUTE_TENSOR || sc_tensor_count(a->u.tensor) != 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "attribute 'value' is not a tensor of one element");
    }
    *tensor = *a->u.tensor;
    return SC_OK;
}

static enum sc_status infer_of_shape(struct sc_infer *infer)
{
    const struct sc_tensor *tensor = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *shape = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!shape->value) {
        if (shape->rank == 1 && shape->dims[0] >= 0 && shape->dims[0] <= SC_MAX_RANK) {
            sc_fact_of_rank(out, tensor->type, (int)shape->dims[0]);
        } else {
            sc_fact_of_type(out, tensor->type);
        }
        return SC_OK;
    }
    int64_t values[SC_MAX_RANK];
    struct sc_ints list;
    SC_TRY(sc_input_ints(infer, 0, values, &list));
    for (int i = 0; i < list.n; i++) {
        if (values[i] < 0) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "the shape has the dim %lld", (long long)values[i]);
        }
    }
    if (out) {
        sc_fact_tensor(out, tensor->type, list.n, values);
    }
    return SC_OK;
}

static void run_of_shape(const struct sc_call *call)
{
    const struct sc_tensor *value = call->params;
    struct sc_tensor *out = sc_call_out(call, 0);
    unsigned char element[16];
    sc_tensor_copy_dense(value, element);
    sc_fill(out->data, element, sc_type_bytes(value->type), sc_tensor_count(out));
}

#define CONSTANT(version)                                                                                              \
    {                                                                                                                  \
        .domain = "", .name = "Constant", .since = (version), .flags = SC_OP_PURE, .params = params_constant,          \
        .infer = infer_constant, .run = run_constant                                                                   \
    }
#define OF_SHAPE(version)                                                                                              \
    {                                                                                                                  \
        .domain = "", .name = "ConstantOfShape", .since = (version), .flags = SC_OP_PURE, .params = params_of_shape,   \
        .infer = infer_of_shape, .resolve = sc_resolve_by_infer, .run = run_of_shape                                   \
    }

const struct sc_op sc_ops_shape_constant[] = {
    CONSTANT(1),
    CONSTANT(9),
    CONSTANT(11),
    CONSTANT(12),
    CONSTANT(13),
    CONSTANT(19),
    CONSTANT(21),
    CONSTANT(23),
    CONSTANT(24),
    CONSTANT(25),
    OF_SHAPE(9),
    OF_SHAPE(20),
    OF_SHAPE(21),
    OF_SHAPE(23),
    OF_SHAPE(24),
    OF_SHAPE(25),
    {.name = NULL},
};
