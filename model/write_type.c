/* SPDX-License-Identifier: Apache-2.0
 * Facts as declared types. */
#include "model/write.h"

static enum sc_status write_dim(
    const struct sc_writer *writer, int64_t dim, Sc__Onnx__TensorShapeProto__Dimension **result)
{
    Sc__Onnx__TensorShapeProto__Dimension *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__tensor_shape_proto__dimension__init(proto);
    if (dim >= 0) {
        proto->value_case = SC__ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        proto->dim_value = dim;
    } else if (dim != SC_DIM_UNKNOWN && -2 - dim < writer->model->n_symbols) {
        proto->value_case = SC__ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        proto->dim_param = sc_write_text(writer->model->symbols[-2 - dim]);
    }
    *result = proto;
    return SC_OK;
}

static enum sc_status write_shape(
    const struct sc_writer *writer, const struct sc_fact *fact, Sc__Onnx__TensorShapeProto **result)
{
    Sc__Onnx__TensorShapeProto *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__tensor_shape_proto__init(proto);
    proto->n_dim = (size_t)fact->rank;
    proto->dim = sc_arena_array(writer->arena, proto->n_dim, sizeof(Sc__Onnx__TensorShapeProto__Dimension *));
    if (!proto->dim) {
        return SC_NO_MEMORY;
    }
    for (size_t d = 0; d < proto->n_dim; d++) {
        SC_TRY(write_dim(writer, fact->dims[d], &proto->dim[d]));
    }
    *result = proto;
    return SC_OK;
}

static enum sc_status write_tensor_type(
    const struct sc_writer *writer, const struct sc_fact *fact, Sc__Onnx__TypeProto *type)
{
    Sc__Onnx__TypeProto__Tensor *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__type_proto__tensor__init(proto);
    proto->has_elem_type = 1;
    proto->elem_type = (int32_t)fact->type;
    type->value_case = SC__ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = proto;
    return fact->rank >= 0 ? write_shape(writer, fact, &proto->shape) : SC_OK;
}

/* Makes `type` a sequence or optional, whose item is returned. */
static enum sc_status write_around(
    const struct sc_writer *writer, enum sc_kind kind, Sc__Onnx__TypeProto *type, Sc__Onnx__TypeProto **item)
{
    *item = sc_arena_alloc(writer->arena, sizeof **item);
    void *made =
        sc_arena_alloc(writer->arena, sizeof(Sc__Onnx__TypeProto__Sequence) + sizeof(Sc__Onnx__TypeProto__Optional));
    if (!*item || !made) {
        return SC_NO_MEMORY;
    }
    sc__onnx__type_proto__init(*item);
    if (kind == SC_KIND_SEQUENCE) {
        sc__onnx__type_proto__sequence__init(made);
        type->value_case = SC__ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
        type->sequence_type = made;
        type->sequence_type->elem_type = *item;
    } else {
        sc__onnx__type_proto__optional__init(made);
        type->value_case = SC__ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
        type->optional_type = made;
        type->optional_type->elem_type = *item;
    }
    return SC_OK;
}

/* Makes `type` a map, the type of whose values is returned. */
static enum sc_status write_map(
    const struct sc_writer *writer, const struct sc_fact *fact, Sc__Onnx__TypeProto *type, Sc__Onnx__TypeProto **value)
{
    Sc__Onnx__TypeProto__Map *map = sc_arena_alloc(writer->arena, sizeof *map);
    *value = sc_arena_alloc(writer->arena, sizeof **value);
    if (!*value || !map) {
        return SC_NO_MEMORY;
    }
    sc__onnx__type_proto__init(*value);
    sc__onnx__type_proto__map__init(map);
    map->has_key_type = 1;
    map->key_type = (int32_t)fact->key_type;
    map->value_type = *value;
    type->value_case = SC__ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
    type->map_type = map;
    return SC_OK;
}

enum sc_status sc_write_type(struct sc_writer *writer, const struct sc_fact *fact, Sc__Onnx__TypeProto **type)
{
    if (fact->kind == SC_KIND_NONE || (fact->kind == SC_KIND_TENSOR && fact->type == SC_TYPE_NONE)) {
        return SC_OK;
    }
    Sc__Onnx__TypeProto *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__type_proto__init(proto);
    *type = proto;
    if (fact->kind == SC_KIND_SEQUENCE || fact->kind == SC_KIND_OPTIONAL) {
        SC_TRY(write_around(writer, fact->kind, proto, &proto));
        if (fact->item_kind == SC_KIND_SEQUENCE || fact->item_kind == SC_KIND_OPTIONAL) {
            SC_TRY(write_around(writer, fact->item_kind, proto, &proto));
        }
    }
    if (fact->kind == SC_KIND_MAP || fact->item_kind == SC_KIND_MAP) {
        SC_TRY(write_map(writer, fact, proto, &proto));
    }
    return write_tensor_type(writer, fact, proto);
}
