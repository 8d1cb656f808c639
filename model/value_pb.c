/* SPDX-License-Identifier: Apache-2.0
 * Values in files of their own: TensorProto, SequenceProto, OptionalProto and MapProto, read through the same walker
 * as models. */
#include <stdlib.h>
#include <string.h>

#include "model/load.h"
#include "model/write.h"

/* Sequences and optionals in each other; sc_value_copy knows the same bound. */
#define MAX_DEPTH 8

static enum sc_status read_tensor(struct sc_loader *loader, const Sc__Onnx__TensorProto *proto, struct sc_value *value)
{
    struct sc_tensor tensor;
    if (sc_load_tensor(loader, sc_or_empty(proto->name), proto, &tensor) != SC_OK) {
        return sc_fail_in("'%s'", loader->what);
    }
    value->kind = SC_KIND_TENSOR;
    value->u.tensor = tensor;
    return SC_OK;
}

static enum sc_status read_optional(
    struct sc_loader *loader, const Sc__Onnx__OptionalProto *proto, int depth, struct sc_value *value);

/* Entry i of a map's values, each a tensor of one element. */
static enum sc_status read_entry(
    struct sc_loader *loader, const Sc__Onnx__SequenceProto *values, size_t i, const struct sc_tensor *to)
{
    struct sc_value value = {.kind = SC_KIND_NONE};
    const size_t bytes = sc_type_bytes(to->type);
    SC_TRY(read_tensor(loader, values->tensor_values[i], &value));
    if (value.u.tensor.type != to->type || sc_tensor_count(&value.u.tensor) != 1 ||
        value.u.tensor.storage != SC_STORAGE_PLAIN) {
        return sc_fail(
            SC_BAD_MODEL, "'%s' is a map with values of several types, or not of one element each", loader->what);
    }
    memcpy((char *)to->data + i * bytes, value.u.tensor.data, bytes);
    return SC_OK;
}

static enum sc_status read_keys(struct sc_loader *loader, const Sc__Onnx__MapProto *proto, const struct sc_tensor *to)
{
    for (size_t i = 0; i < proto->n_keys; i++) {
        ((int64_t *)to->data)[i] = proto->keys[i];
    }
    for (size_t i = 0; i < proto->n_string_keys; i++) {
        const ProtobufCBinaryData *key = &proto->string_keys[i];
        const char *text = sc_arena_text(loader->arena, (const char *)key->data, key->len);
        if (!text) {
            return SC_NO_MEMORY;
        }
        ((struct sc_string *)to->data)[i] = (struct sc_string){text, key->len};
    }
    return SC_OK;
}

static enum sc_status read_map(struct sc_loader *loader, const Sc__Onnx__MapProto *proto, struct sc_value *value)
{
    const Sc__Onnx__SequenceProto *values = proto->values;
    const size_t n = proto->n_keys + proto->n_string_keys, n_values = values ? values->n_tensor_values : 0;
    const bool is_text = proto->key_type == SC_STRING;
    if ((proto->key_type != SC_I64 && !is_text) || (is_text ? proto->n_keys : proto->n_string_keys)) {
        return sc_fail(SC_UNSUPPORTED, "'%s' is a map with keys of %s, want int64 or string", loader->what,
            sc_type_valid(proto->key_type) ? sc_type_name((enum sc_type)proto->key_type) : "no type");
    }
    if (n != n_values) {
        return sc_fail(SC_BAD_MODEL, "'%s' is a map of %zu keys and %zu values", loader->what, n, n_values);
    }
    const enum sc_type type = n ? (enum sc_type)values->tensor_values[0]->data_type : SC_F32;
    if (!sc_type_valid((int)type)) {
        return sc_fail(SC_BAD_MODEL, "'%s' is a map whose values have the type %d", loader->what, (int)type);
    }
    SC_TRY(sc_value_new_map(loader->arena, (enum sc_type)proto->key_type, type, (int64_t)n, value));
    SC_TRY(read_keys(loader, proto, &value->u.sequence.items[0].u.tensor));
    for (size_t i = 0; i < n; i++) {
        SC_TRY(read_entry(loader, values, i, &value->u.sequence.items[1].u.tensor));
    }
    return sc_value_sort_map(loader->arena, value) == SC_OK ? SC_OK : sc_fail_in("'%s'", loader->what);
}

static enum sc_status read_sequence(
    struct sc_loader *loader, const Sc__Onnx__SequenceProto *proto, int depth, struct sc_value *value)
{
    if (depth > MAX_DEPTH) {
        return sc_fail(SC_LIMIT, "'%s' nests values more than %d deep", loader->what, MAX_DEPTH);
    }
    if (proto->n_sparse_tensor_values) {
        return sc_fail(SC_UNSUPPORTED, "'%s' is a sequence of sparse tensors", loader->what);
    }
    const size_t n_tensors = proto->n_tensor_values, n_sequences = proto->n_sequence_values;
    const size_t n_maps = proto->n_map_values, n = n_tensors + n_sequences + n_maps + proto->n_optional_values;
    if (n != n_tensors && n != n_sequences && n != n_maps && n != proto->n_optional_values) {
        return sc_fail(SC_BAD_MODEL, "'%s' is a sequence with items of several kinds", loader->what);
    }
    struct sc_value *items = sc_arena_array(loader->arena, n, sizeof *items);
    if (!items) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        SC_TRY(n_tensors      ? read_tensor(loader, proto->tensor_values[i], &items[i])
                : n_sequences ? read_sequence(loader, proto->sequence_values[i], depth + 1, &items[i])
                : n_maps      ? read_map(loader, proto->map_values[i], &items[i])
                              : read_optional(loader, proto->optional_values[i], depth + 1, &items[i]));
    }
    value->kind = SC_KIND_SEQUENCE;
    value->u.sequence.n = (int64_t)n;
    value->u.sequence.items = items;
    value->u.sequence.type = n_tensors ? items[0].u.tensor.type : n_maps ? items[0].u.sequence.type : SC_TYPE_NONE;
    return SC_OK;
}

static enum sc_status read_optional(
    struct sc_loader *loader, const Sc__Onnx__OptionalProto *proto, int depth, struct sc_value *value)
{
    if (depth > MAX_DEPTH) {
        return sc_fail(SC_LIMIT, "'%s' nests values more than %d deep", loader->what, MAX_DEPTH);
    }
    if (proto->sparse_tensor_value || proto->map_value) {
        return sc_fail(SC_UNSUPPORTED, "'%s' is an optional of a map or sparse tensor", loader->what);
    }
    const int n = !!proto->tensor_value + !!proto->sequence_value + !!proto->optional_value;
    if (n > 1) {
        return sc_fail(SC_BAD_MODEL, "'%s' is an optional with %d values", loader->what, n);
    }
    struct sc_value *item = NULL;
    if (n == 1) {
        item = sc_arena_alloc(loader->arena, sizeof *item);
        if (!item) {
            return SC_NO_MEMORY;
        }
        SC_TRY(proto->tensor_value      ? read_tensor(loader, proto->tensor_value, item)
                : proto->sequence_value ? read_sequence(loader, proto->sequence_value, depth + 1, item)
                                        : read_optional(loader, proto->optional_value, depth + 1, item));
    }
    value->kind = SC_KIND_OPTIONAL;
    value->u.optional.item = item;
    value->u.optional.item_kind = proto->elem_type == SC__ONNX__OPTIONAL_PROTO__DATA_TYPE__TENSOR ? SC_KIND_TENSOR
        : proto->elem_type == SC__ONNX__OPTIONAL_PROTO__DATA_TYPE__SEQUENCE                       ? SC_KIND_SEQUENCE
        : proto->elem_type == SC__ONNX__OPTIONAL_PROTO__DATA_TYPE__OPTIONAL                       ? SC_KIND_OPTIONAL
                                                                                                  : SC_KIND_NONE;
    value->u.optional.type = item && item->kind == SC_KIND_TENSOR ? item->u.tensor.type
        : item && item->kind == SC_KIND_SEQUENCE                  ? item->u.sequence.type
                                                                  : SC_TYPE_NONE;
    return SC_OK;
}

/* What the file leaves open (the types of empty sequences and optionals) is taken from the declaration. */
static void complete(const struct sc_fact *fact, struct sc_value *value)
{
    if (!fact) {
        return;
    }
    if (value->kind == SC_KIND_SEQUENCE && value->u.sequence.type == SC_TYPE_NONE) {
        value->u.sequence.type = fact->type;
    }
    if (value->kind == SC_KIND_OPTIONAL) {
        value->u.optional.type = value->u.optional.type ? value->u.optional.type : fact->type;
        value->u.optional.item_kind = value->u.optional.item_kind ? value->u.optional.item_kind : fact->item_kind;
    }
}

static enum sc_status read_value(
    struct sc_loader *loader, const struct sc_fact *fact, struct sc_arena *arena, struct sc_value *value)
{
    const enum sc_kind kind = fact ? fact->kind : SC_KIND_TENSOR;
    const ProtobufCMessageDescriptor *descriptor = kind == SC_KIND_SEQUENCE ? &sc__onnx__sequence_proto__descriptor
        : kind == SC_KIND_OPTIONAL                                          ? &sc__onnx__optional_proto__descriptor
        : kind == SC_KIND_MAP                                               ? &sc__onnx__map_proto__descriptor
                                                                            : &sc__onnx__tensor_proto__descriptor;
    const ProtobufCMessage *message = NULL;
    SC_TRY(sc_walk(loader->what, descriptor, &loader->file, &loader->skeleton));
    SC_TRY(sc_skeleton_unpack(loader->what, descriptor, &loader->skeleton, &loader->scratch, &message));
    loader->scratch.limit_bytes = 0;
    struct sc_value mapped = {.kind = SC_KIND_NONE};
    SC_TRY(kind == SC_KIND_SEQUENCE    ? read_sequence(loader, (const Sc__Onnx__SequenceProto *)message, 0, &mapped)
            : kind == SC_KIND_OPTIONAL ? read_optional(loader, (const Sc__Onnx__OptionalProto *)message, 0, &mapped)
            : kind == SC_KIND_MAP      ? read_map(loader, (const Sc__Onnx__MapProto *)message, &mapped)
                                       : read_tensor(loader, (const Sc__Onnx__TensorProto *)message, &mapped));
    complete(fact, &mapped);
    return sc_value_copy(arena, &mapped, value); /* what was read points into the mapped file */
}

enum sc_status sc_value_read_pb(
    const char *path, const struct sc_fact *fact, struct sc_arena *arena, struct sc_value *value)
{
    struct sc_arena local = {0};
    struct sc_loader loader = {.arena = &local, .what = path, .function = -1};
    SC_TRY(sc_file_map(path, &loader.file));
    const enum sc_status status = read_value(&loader, fact, arena, value);
    sc_skeleton_release(&loader.skeleton);
    sc_arena_release(&loader.scratch);
    sc_arena_release(&local);
    sc_file_release(&loader.file);
    return status;
}

static enum sc_status write_optional(
    struct sc_arena *arena, const struct sc_value *value, int depth, Sc__Onnx__OptionalProto **result);

/* Element i of a column, as a tensor without dims. */
static struct sc_tensor entry_of(const struct sc_tensor *column, int64_t i)
{
    struct sc_tensor entry;
    sc_tensor_init(&entry, column->type, 0, NULL);
    entry.data = (char *)column->data + (size_t)i * sc_type_bytes(column->type);
    return entry;
}

static enum sc_status write_keys(struct sc_arena *arena, const struct sc_tensor *keys, Sc__Onnx__MapProto *proto)
{
    const size_t n = (size_t)keys->dims[0];
    if (keys->type == SC_I64) {
        proto->n_keys = n;
        proto->keys = keys->data;
        return SC_OK;
    }
    proto->n_string_keys = n;
    proto->string_keys = sc_arena_array(arena, n, sizeof *proto->string_keys);
    for (size_t i = 0; proto->string_keys && i < n; i++) {
        const struct sc_string *text = (const struct sc_string *)keys->data + i;
        proto->string_keys[i].len = text->bytes;
        proto->string_keys[i].data = (uint8_t *)(uintptr_t)(text->data ? text->data : "");
    }
    return proto->string_keys ? SC_OK : SC_NO_MEMORY;
}

static enum sc_status write_map(struct sc_arena *arena, const struct sc_value *value, Sc__Onnx__MapProto **result)
{
    const struct sc_tensor *keys = &value->u.sequence.items[0].u.tensor, *column = &value->u.sequence.items[1].u.tensor;
    const size_t n = (size_t)keys->dims[0];
    Sc__Onnx__MapProto *proto = sc_arena_alloc(arena, sizeof *proto);
    Sc__Onnx__SequenceProto *values = sc_arena_alloc(arena, sizeof *values);
    Sc__Onnx__TensorProto **tensors = sc_arena_array(arena, n, sizeof *tensors);
    if (!proto || !values || !tensors) {
        return SC_NO_MEMORY;
    }
    sc__onnx__map_proto__init(proto);
    sc__onnx__sequence_proto__init(values);
    proto->has_key_type = 1;
    proto->key_type = (int32_t)keys->type;
    SC_TRY(write_keys(arena, keys, proto));
    for (size_t i = 0; i < n; i++) {
        const struct sc_tensor entry = entry_of(column, (int64_t)i);
        SC_TRY(sc_write_tensor(arena, &entry, "", &tensors[i]));
    }
    values->has_elem_type = 1;
    values->elem_type = SC__ONNX__SEQUENCE_PROTO__DATA_TYPE__TENSOR;
    values->n_tensor_values = n;
    values->tensor_values = tensors;
    proto->values = values;
    *result = proto;
    return SC_OK;
}

static enum sc_status write_sequence(
    struct sc_arena *arena, const struct sc_value *value, int depth, Sc__Onnx__SequenceProto **result)
{
    const size_t n = (size_t)value->u.sequence.n;
    Sc__Onnx__SequenceProto *proto = sc_arena_alloc(arena, sizeof *proto);
    void **items = sc_arena_array(arena, n, sizeof *items);
    if (!proto || !items || depth > MAX_DEPTH) {
        return !proto || !items ? SC_NO_MEMORY : sc_fail(SC_LIMIT, "a value is nested more than %d deep", MAX_DEPTH);
    }
    sc__onnx__sequence_proto__init(proto);
    const enum sc_kind kind = n ? value->u.sequence.items[0].kind : SC_KIND_TENSOR;
    proto->has_elem_type = 1;
    for (size_t i = 0; i < n; i++) {
        const struct sc_value *item = &value->u.sequence.items[i];
        if (item->kind != kind) {
            return sc_fail(SC_INTERNAL, "a sequence has items of several kinds");
        }
        if (kind == SC_KIND_TENSOR) {
            Sc__Onnx__TensorProto *tensor;
            SC_TRY(sc_write_tensor(arena, &item->u.tensor, "", &tensor));
            items[i] = tensor;
        } else if (kind == SC_KIND_SEQUENCE) {
            Sc__Onnx__SequenceProto *sequence;
            SC_TRY(write_sequence(arena, item, depth + 1, &sequence));
            items[i] = sequence;
        } else if (kind == SC_KIND_MAP) {
            Sc__Onnx__MapProto *map;
            SC_TRY(write_map(arena, item, &map));
            items[i] = map;
        } else {
            Sc__Onnx__OptionalProto *optional;
            SC_TRY(write_optional(arena, item, depth + 1, &optional));
            items[i] = optional;
        }
    }
    if (kind == SC_KIND_TENSOR) {
        proto->elem_type = SC__ONNX__SEQUENCE_PROTO__DATA_TYPE__TENSOR;
        proto->n_tensor_values = n;
        proto->tensor_values = (Sc__Onnx__TensorProto **)items;
    } else if (kind == SC_KIND_SEQUENCE) {
        proto->elem_type = SC__ONNX__SEQUENCE_PROTO__DATA_TYPE__SEQUENCE;
        proto->n_sequence_values = n;
        proto->sequence_values = (Sc__Onnx__SequenceProto **)items;
    } else if (kind == SC_KIND_MAP) {
        proto->elem_type = SC__ONNX__SEQUENCE_PROTO__DATA_TYPE__MAP;
        proto->n_map_values = n;
        proto->map_values = (Sc__Onnx__MapProto **)items;
    } else {
        proto->elem_type = SC__ONNX__SEQUENCE_PROTO__DATA_TYPE__OPTIONAL;
        proto->n_optional_values = n;
        proto->optional_values = (Sc__Onnx__OptionalProto **)items;
    }
    *result = proto;
    return SC_OK;
}

static enum sc_status write_optional(
    struct sc_arena *arena, const struct sc_value *value, int depth, Sc__Onnx__OptionalProto **result)
{
    Sc__Onnx__OptionalProto *proto = sc_arena_alloc(arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    if (depth > MAX_DEPTH || value->kind != SC_KIND_OPTIONAL) {
        return sc_fail(SC_LIMIT, "a value is nested too deep or of a kind that files do not have");
    }
    sc__onnx__optional_proto__init(proto);
    const struct sc_value *item = value->u.optional.item;
    const enum sc_kind kind = item ? item->kind : value->u.optional.item_kind;
    proto->has_elem_type = 1;
    proto->elem_type = kind == SC_KIND_SEQUENCE ? SC__ONNX__OPTIONAL_PROTO__DATA_TYPE__SEQUENCE
        : kind == SC_KIND_OPTIONAL              ? SC__ONNX__OPTIONAL_PROTO__DATA_TYPE__OPTIONAL
                                                : SC__ONNX__OPTIONAL_PROTO__DATA_TYPE__TENSOR;
    *result = proto;
    if (!item) {
        return SC_OK;
    }
    return kind == SC_KIND_TENSOR  ? sc_write_tensor(arena, &item->u.tensor, "", &proto->tensor_value)
        : kind == SC_KIND_SEQUENCE ? write_sequence(arena, item, depth + 1, &proto->sequence_value)
                                   : write_optional(arena, item, depth + 1, &proto->optional_value);
}

static enum sc_status build_message(
    struct sc_arena *arena, const char *name, const struct sc_value *value, const ProtobufCMessage **message)
{
    char *copy = sc_arena_text(arena, name, strlen(name));
    if (!copy) {
        return SC_NO_MEMORY;
    }
    if (value->kind == SC_KIND_TENSOR) {
        Sc__Onnx__TensorProto *tensor;
        SC_TRY(sc_write_tensor(arena, &value->u.tensor, copy, &tensor));
        *message = &tensor->base;
        return SC_OK;
    }
    if (value->kind == SC_KIND_SEQUENCE) {
        Sc__Onnx__SequenceProto *sequence;
        SC_TRY(write_sequence(arena, value, 0, &sequence));
        sequence->name = copy;
        *message = &sequence->base;
        return SC_OK;
    }
    if (value->kind == SC_KIND_MAP) {
        Sc__Onnx__MapProto *map;
        SC_TRY(write_map(arena, value, &map));
        map->name = copy;
        *message = &map->base;
        return SC_OK;
    }
    Sc__Onnx__OptionalProto *optional;
    SC_TRY(write_optional(arena, value, 0, &optional));
    optional->name = copy;
    *message = &optional->base;
    return SC_OK;
}

enum sc_status sc_value_write_pb(const char *path, const char *name, const struct sc_value *value)
{
    struct sc_arena arena = {0};
    const ProtobufCMessage *message = NULL;
    enum sc_status status = build_message(&arena, name, value, &message);
    if (status == SC_OK) {
        const size_t bytes = protobuf_c_message_get_packed_size(message);
        uint8_t *data = sc_arena_alloc(&arena, bytes);
        if (data) {
            (void)protobuf_c_message_pack(message, data);
            status = sc_file_write(path, data, bytes);
        } else {
            status = SC_NO_MEMORY;
        }
    }
    sc_arena_release(&arena);
    return status;
}
