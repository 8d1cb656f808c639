/* SPDX-License-Identifier: Apache-2.0
 * Attributes of every kind. Bodies are written from here: the recursion is as deep as the file that they came from. */
#include <string.h>

#include "model/write.h"

static enum sc_status write_strings(
    struct sc_writer *writer, const struct sc_attribute *attribute, Sc__Onnx__AttributeProto *proto)
{
    proto->strings = sc_arena_array(writer->arena, (size_t)attribute->n, sizeof *proto->strings);
    if (!proto->strings) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < attribute->n; i++) {
        const struct sc_string *string = &attribute->u.strings[i];
        proto->strings[proto->n_strings++] = (ProtobufCBinaryData){string->bytes, (uint8_t *)(uintptr_t)string->data};
    }
    return SC_OK;
}

static enum sc_status write_tensors(
    struct sc_writer *writer, const struct sc_attribute *attribute, Sc__Onnx__AttributeProto *proto)
{
    proto->tensors = sc_arena_array(writer->arena, (size_t)attribute->n, sizeof(Sc__Onnx__TensorProto *));
    if (!proto->tensors) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < attribute->n; i++) {
        SC_TRY(sc_write_tensor(writer->arena, &attribute->u.tensor[i], "", &proto->tensors[proto->n_tensors]));
        proto->n_tensors++;
    }
    return SC_OK;
}

static enum sc_status write_graphs(
    struct sc_writer *writer, const struct sc_attribute *attribute, Sc__Onnx__AttributeProto *proto)
{
    proto->graphs = sc_arena_array(writer->arena, (size_t)attribute->n, sizeof(Sc__Onnx__GraphProto *));
    if (!proto->graphs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < attribute->n; i++) {
        SC_TRY(sc_write_graph(writer, &attribute->u.graph[i], &proto->graphs[proto->n_graphs]));
        proto->n_graphs++;
    }
    return SC_OK;
}

static enum sc_status write_value(
    struct sc_writer *writer, const struct sc_attribute *attribute, Sc__Onnx__AttributeProto *proto)
{
    switch (attribute->type) {
    case SC_ATTRIBUTE_FLOAT:
        proto->has_f = 1;
        proto->f = attribute->u.f;
        return SC_OK;
    case SC_ATTRIBUTE_INT:
        proto->has_i = 1;
        proto->i = attribute->u.i;
        return SC_OK;
    case SC_ATTRIBUTE_STRING:
        proto->has_s = 1;
        proto->s = (ProtobufCBinaryData){attribute->u.s.bytes, (uint8_t *)(uintptr_t)attribute->u.s.data};
        return SC_OK;
    case SC_ATTRIBUTE_TENSOR:
        return sc_write_tensor(writer->arena, attribute->u.tensor, "", &proto->t);
    case SC_ATTRIBUTE_GRAPH:
        return sc_write_graph(writer, attribute->u.graph, &proto->g);
    case SC_ATTRIBUTE_FLOATS:
        proto->n_floats = (size_t)attribute->n;
        proto->floats = (float *)(uintptr_t)attribute->u.floats;
        return SC_OK;
    case SC_ATTRIBUTE_INTS:
        proto->n_ints = (size_t)attribute->n;
        proto->ints = (int64_t *)(uintptr_t)attribute->u.ints;
        return SC_OK;
    case SC_ATTRIBUTE_STRINGS:
        return write_strings(writer, attribute, proto);
    case SC_ATTRIBUTE_TENSORS:
        return write_tensors(writer, attribute, proto);
    case SC_ATTRIBUTE_GRAPHS:
        return write_graphs(writer, attribute, proto);
    case SC_ATTRIBUTE_SPARSE_TENSOR:
        return sc_write_sparse(writer->arena, attribute->u.tensor, &proto->sparse_tensor);
    case SC_ATTRIBUTE_TYPE_PROTO:
        return sc_write_type(writer, attribute->u.type, &proto->tp);
    }
    return sc_fail(SC_INTERNAL, "attribute '%s' has the unknown type %d", attribute->name, (int)attribute->type);
}

static enum sc_status write_attribute(
    struct sc_writer *writer, const struct sc_attribute *attribute, Sc__Onnx__AttributeProto **result)
{
    Sc__Onnx__AttributeProto *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__attribute_proto__init(proto);
    proto->name = sc_write_text(attribute->name);
    proto->has_type = 1;
    proto->type = (Sc__Onnx__AttributeProto__AttributeType)attribute->type;
    *result = proto;
    if (attribute->ref) {
        proto->ref_attr_name = sc_write_text(attribute->ref);
        return SC_OK;
    }
    return write_value(writer, attribute, proto);
}

enum sc_status sc_write_attributes(
    struct sc_writer *writer, int n, const struct sc_attribute *attributes, Sc__Onnx__AttributeProto ***protos)
{
    *protos = sc_arena_array(writer->arena, (size_t)n, sizeof(Sc__Onnx__AttributeProto *));
    if (!*protos) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        SC_TRY(write_attribute(writer, &attributes[i], &(*protos)[i]));
    }
    return SC_OK;
}
