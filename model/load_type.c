/* SPDX-License-Identifier: Apache-2.0
 * Declared types become facts; named dims become symbols, the same name the same symbol in the whole model. */
#include <string.h>

#include "model/load.h"

const char *sc_domain_of(const char *domain)
{
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

enum sc_status sc_model_symbol(struct sc_model *model, const char *name, int64_t *dim)
{
    const size_t length = strlen(name);
    int64_t index = sc_map_get(&model->symbol_indices, name, length, -1);
    if (index < 0) {
        if (model->n_symbols == model->cap_symbols) {
            const int capacity = model->cap_symbols ? 2 * model->cap_symbols : 16;
            const char **symbols = sc_arena_array(&model->arena, (size_t)capacity, sizeof *symbols);
            if (!symbols) {
                return SC_NO_MEMORY;
            }
            for (int i = 0; i < model->n_symbols; i++) {
                symbols[i] = model->symbols[i];
            }
            model->symbols = symbols;
            model->cap_symbols = capacity;
        }
        const char *copy = sc_arena_text(&model->arena, name, length);
        if (!copy) {
            return SC_NO_MEMORY;
        }
        index = model->n_symbols;
        SC_TRY(sc_map_put(&model->symbol_indices, copy, length, index));
        model->symbols[model->n_symbols++] = copy;
    }
    *dim = -2 - index;
    return SC_OK;
}

static enum sc_status load_dim(
    struct sc_loader *loader, const Sc__Onnx__TensorShapeProto__Dimension *dim, int64_t *value)
{
    *value = SC_DIM_UNKNOWN;
    if (dim->value_case == SC__ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
        /* Some exporters write -1 for a dim that they do not know. */
        *value = dim->dim_value >= 0 ? dim->dim_value : SC_DIM_UNKNOWN;
    } else if (dim->value_case == SC__ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dim->dim_param &&
        dim->dim_param[0] && strcmp(dim->dim_param, "?") != 0 && loader->model) {
        /* Paddle's exporter writes "?" for each dim that it does not know, and they need not be equal. */
        return sc_model_symbol(loader->model, dim->dim_param, value);
    }
    return SC_OK;
}

static enum sc_status load_shape(
    struct sc_loader *loader, const char *name, const Sc__Onnx__TensorShapeProto *shape, struct sc_fact *fact)
{
    if (!shape) {
        return SC_OK;
    }
    if (shape->n_dim > SC_MAX_RANK) {
        return sc_fail(SC_UNSUPPORTED, "value '%s' has rank %zu, want at most %d", name, shape->n_dim, SC_MAX_RANK);
    }
    int64_t known[SC_MAX_RANK];
    for (size_t i = 0; i < shape->n_dim; i++) {
        SC_TRY(load_dim(loader, shape->dim[i], &fact->dims[i]));
        known[i] = fact->dims[i] >= 0 ? fact->dims[i] : 1;
    }
    fact->rank = (int)shape->n_dim;
    return sc_dims_check(name, fact->type, fact->rank, known);
}

static enum sc_status load_element(const char *name, const Sc__Onnx__TypeProto__Tensor *tensor, enum sc_type *type)
{
    if (tensor->elem_type != 0 && !sc_type_valid(tensor->elem_type)) {
        return sc_fail(SC_BAD_MODEL, "value '%s' has the unknown element type %d", name, (int)tensor->elem_type);
    }
    *type = (enum sc_type)tensor->elem_type;
    return SC_OK;
}

static enum sc_status load_map(const char *name, const Sc__Onnx__TypeProto__Map *map, struct sc_fact *fact)
{
    const Sc__Onnx__TypeProto *value = map->value_type;
    if (map->key_type != SC_I64 && map->key_type != SC_STRING) {
        return sc_fail(SC_UNSUPPORTED, "value '%s' is a map with keys of %s, want int64 or string", name,
            sc_type_valid(map->key_type) ? sc_type_name((enum sc_type)map->key_type) : "no type");
    }
    fact->key_type = (enum sc_type)map->key_type;
    if (!value || value->value_case != SC__ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !value->tensor_type) {
        return sc_fail(SC_UNSUPPORTED, "value '%s' is a map of other values than numbers and strings", name);
    }
    return load_element(name, value->tensor_type, &fact->type);
}

/* What a sequence or optional has inside: the kind of its items, and the element type of the innermost tensor. */
static enum sc_status load_inside(const char *name, const Sc__Onnx__TypeProto *type, struct sc_fact *fact)
{
    for (int depth = 0; type && depth < SC_MAX_NESTING; depth++) {
        enum sc_kind kind = SC_KIND_NONE;
        const Sc__Onnx__TypeProto *inner = NULL;
        if (type->value_case == SC__ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type) {
            kind = SC_KIND_TENSOR;
            SC_TRY(load_element(name, type->tensor_type, &fact->type));
        } else if (type->value_case == SC__ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE && type->sequence_type) {
            kind = SC_KIND_SEQUENCE;
            inner = type->sequence_type->elem_type;
        } else if (type->value_case == SC__ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE && type->optional_type) {
            kind = SC_KIND_OPTIONAL;
            inner = type->optional_type->elem_type;
        } else if (type->value_case == SC__ONNX__TYPE_PROTO__VALUE_MAP_TYPE && type->map_type) {
            kind = SC_KIND_MAP;
            SC_TRY(load_map(name, type->map_type, fact));
        }
        fact->item_kind = depth == 0 ? kind : fact->item_kind;
        type = inner;
    }
    return SC_OK;
}

enum sc_status sc_load_type(
    struct sc_loader *loader, const char *name, const Sc__Onnx__TypeProto *type, struct sc_fact *fact)
{
    sc_fact_init(fact);
    if (!type) {
        return SC_OK;
    }
    switch (type->value_case) {
    case SC__ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        fact->kind = SC_KIND_TENSOR;
        SC_TRY(load_element(name, type->tensor_type, &fact->type));
        return load_shape(loader, name, type->tensor_type->shape, fact);
    case SC__ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        fact->kind = SC_KIND_SEQUENCE;
        return load_inside(name, type->sequence_type->elem_type, fact);
    case SC__ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        fact->kind = SC_KIND_OPTIONAL;
        return load_inside(name, type->optional_type->elem_type, fact);
    case SC__ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        fact->kind = SC_KIND_MAP;
        return load_map(name, type->map_type, fact);
    default: /* sparse and opaque values: nothing is known; the operators that make them say that they are not run */
        return SC_OK;
    }
}
