/* SPDX-License-Identifier: Apache-2.0
 * AttributeProto to sc_attribute. Bodies are loaded from here: the recursion ends because the walker bounds nesting. */
#include <limits.h>
#include <string.h>

#include "model/load.h"

/* Text with a NUL after it, so that attributes can be read as C strings. */
static enum sc_status copy_string(struct sc_loader *loader, const ProtobufCBinaryData *from, struct sc_string *to)
{
    to->bytes = from->len;
    to->data = sc_arena_text(loader->arena, (const char *)from->data, from->len);
    return to->data ? SC_OK : SC_NO_MEMORY;
}

static enum sc_status copy_strings(
    struct sc_loader *loader, const Sc__Onnx__AttributeProto *proto, struct sc_attribute *attribute)
{
    struct sc_string *strings = sc_arena_array(loader->arena, proto->n_strings, sizeof *strings);
    if (!strings) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < proto->n_strings; i++) {
        SC_TRY(copy_string(loader, &proto->strings[i], &strings[i]));
    }
    attribute->u.strings = strings;
    return SC_OK;
}

static enum sc_status copy_numbers(struct sc_loader *loader, size_t n, size_t size, const void *from, const void **to)
{
    void *copy = sc_arena_array(loader->arena, n, size);
    if (!copy) {
        return SC_NO_MEMORY;
    }
    if (n) {
        memcpy(copy, from, n * size);
    }
    *to = copy;
    return SC_OK;
}

static enum sc_status load_tensors(struct sc_loader *loader, const char *name, size_t n,
    Sc__Onnx__TensorProto *const *protos, struct sc_attribute *attribute)
{
    struct sc_tensor *tensors = sc_arena_array(loader->arena, n, sizeof *tensors);
    if (!tensors) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        SC_TRY(sc_load_tensor(loader, name, protos[i], &tensors[i]));
    }
    attribute->u.tensor = tensors;
    return SC_OK;
}

static enum sc_status load_sparse(
    struct sc_loader *loader, const Sc__Onnx__AttributeProto *proto, struct sc_attribute *attribute)
{
    struct sc_tensor *tensor = sc_arena_alloc(loader->arena, sizeof *tensor);
    struct sc_weight weight;
    if (!tensor) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_load_sparse(loader, attribute->name, proto->sparse_tensor, &weight));
    SC_TRY(sc_weight_tensor(&weight, loader->arena, tensor));
    attribute->u.tensor = tensor;
    return SC_OK;
}

static enum sc_status load_graphs(struct sc_loader *loader, struct sc_scope *scope, size_t n,
    Sc__Onnx__GraphProto *const *protos, struct sc_attribute *attribute)
{
    if (!scope || n > 1) { /* no operator has several graphs in one attribute */
        return sc_fail(SC_UNSUPPORTED, "attribute '%s' has graphs where none can be", attribute->name);
    }
    struct sc_graph *graph = NULL;
    if (n == 1) {
        graph = sc_model_new_graph(loader->model);
        if (!graph) {
            return SC_NO_MEMORY;
        }
        struct sc_scope body = {
            .graph = graph, .outer = scope, .opsets = scope->opsets, .n_opsets = scope->n_opsets, .node = scope->node};
        SC_TRY(sc_load_graph(loader, protos[0], &body));
    }
    attribute->u.graph = graph;
    return SC_OK;
}

static enum sc_status load_type_attribute(
    struct sc_loader *loader, const Sc__Onnx__AttributeProto *proto, struct sc_attribute *attribute)
{
    struct sc_fact *fact = sc_arena_alloc(loader->arena, sizeof *fact);
    attribute->u.type = fact;
    return fact ? sc_load_type(loader, attribute->name, proto->tp, fact) : SC_NO_MEMORY;
}

/* Files from before types were written down have exactly one value. */
static int guess_type(const Sc__Onnx__AttributeProto *proto)
{
    return proto->has_f    ? SC_ATTRIBUTE_FLOAT
        : proto->has_i     ? SC_ATTRIBUTE_INT
        : proto->has_s     ? SC_ATTRIBUTE_STRING
        : proto->t         ? SC_ATTRIBUTE_TENSOR
        : proto->g         ? SC_ATTRIBUTE_GRAPH
        : proto->n_floats  ? SC_ATTRIBUTE_FLOATS
        : proto->n_ints    ? SC_ATTRIBUTE_INTS
        : proto->n_strings ? SC_ATTRIBUTE_STRINGS
                           : 0;
}

static enum sc_status missing(const struct sc_attribute *attribute)
{
    return sc_fail(SC_BAD_MODEL, "attribute '%s' has no value of its type %d", attribute->name, (int)attribute->type);
}

static enum sc_status load_value(struct sc_loader *loader, struct sc_scope *scope,
    const Sc__Onnx__AttributeProto *proto, struct sc_attribute *attribute)
{
    const void *numbers = NULL;
    size_t n = 1;
    enum sc_status status = SC_OK;
    switch (attribute->type) {
    case SC_ATTRIBUTE_FLOAT:
        attribute->u.f = proto->f;
        break;
    case SC_ATTRIBUTE_INT:
        attribute->u.i = proto->i;
        break;
    case SC_ATTRIBUTE_STRING:
        status = copy_string(loader, &proto->s, &attribute->u.s);
        break;
    case SC_ATTRIBUTE_TENSOR:
        status = proto->t ? load_tensors(loader, attribute->name, 1, &proto->t, attribute) : missing(attribute);
        break;
    case SC_ATTRIBUTE_GRAPH:
        status = proto->g ? load_graphs(loader, scope, 1, &proto->g, attribute) : missing(attribute);
        break;
    case SC_ATTRIBUTE_FLOATS:
        status = copy_numbers(loader, n = proto->n_floats, sizeof(float), proto->floats, &numbers);
        attribute->u.floats = numbers;
        break;
    case SC_ATTRIBUTE_INTS:
        status = copy_numbers(loader, n = proto->n_ints, sizeof(int64_t), proto->ints, &numbers);
        attribute->u.ints = numbers;
        break;
    case SC_ATTRIBUTE_STRINGS:
        n = proto->n_strings;
        status = copy_strings(loader, proto, attribute);
        break;
    case SC_ATTRIBUTE_TENSORS:
        n = proto->n_tensors;
        status = load_tensors(loader, attribute->name, n, proto->tensors, attribute);
        break;
    case SC_ATTRIBUTE_GRAPHS:
        n = proto->n_graphs;
        status = load_graphs(loader, scope, n, proto->graphs, attribute);
        break;
    case SC_ATTRIBUTE_SPARSE_TENSOR:
        status = proto->sparse_tensor ? load_sparse(loader, proto, attribute) : missing(attribute);
        break;
    case SC_ATTRIBUTE_TYPE_PROTO:
        status = proto->tp ? load_type_attribute(loader, proto, attribute) : missing(attribute);
        break;
    default:
        return sc_fail(SC_UNSUPPORTED, "attribute '%s' has the type %d, which no operator takes", attribute->name,
            (int)proto->type);
    }
    SC_TRY(status);
    if (n > INT_MAX) {
        return sc_fail(SC_LIMIT, "attribute '%s' has %zu values, want at most %d", attribute->name, n, INT_MAX);
    }
    attribute->n = (int)n;
    return SC_OK;
}

static enum sc_status load_attribute(struct sc_loader *loader, struct sc_scope *scope,
    const Sc__Onnx__AttributeProto *proto, struct sc_attribute *attribute)
{
    const char *name = sc_or_empty(proto->name);
    if (!*name) {
        return sc_fail(SC_BAD_MODEL, "an attribute has no name");
    }
    attribute->name = sc_arena_text(loader->arena, name, strlen(name));
    if (!attribute->name) {
        return SC_NO_MEMORY;
    }
    const int type = proto->type ? (int)proto->type : guess_type(proto);
    attribute->type = (enum sc_attribute_type)type;
    const char *ref = sc_or_empty(proto->ref_attr_name);
    if (*ref) {
        if (loader->function < 0) {
            return sc_fail(SC_BAD_MODEL, "attribute '%s' refers to '%s' of a function, but is in none", name, ref);
        }
        attribute->ref = sc_arena_text(loader->arena, ref, strlen(ref));
        return attribute->ref ? SC_OK : SC_NO_MEMORY;
    }
    return load_value(loader, scope, proto, attribute);
}

static enum sc_status check_names(size_t n, const struct sc_attribute *attributes)
{
    struct sc_map names = {0};
    enum sc_status status = SC_OK;
    for (size_t i = 0; i < n && status == SC_OK; i++) {
        const char *name = attributes[i].name;
        if (sc_map_get(&names, name, strlen(name), 0)) {
            status = sc_fail(SC_BAD_MODEL, "attribute '%s' is given twice", name);
        } else {
            status = sc_map_put(&names, name, strlen(name), 1);
        }
    }
    sc_map_release(&names);
    return status;
}

enum sc_status sc_load_attributes(struct sc_loader *loader, struct sc_scope *scope, size_t n,
    Sc__Onnx__AttributeProto *const *attributes, struct sc_attribute **result)
{
    struct sc_attribute *made = sc_arena_array(loader->arena, n, sizeof *made);
    if (!made) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        SC_TRY(load_attribute(loader, scope, attributes[i], &made[i]));
    }
    if (n > 1) {
        SC_TRY(check_names(n, made));
    }
    *result = made;
    return SC_OK;
}
