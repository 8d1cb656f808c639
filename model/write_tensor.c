/* SPDX-License-Identifier: Apache-2.0
 * Tensors and weights as TensorProto. What lies in a mapped file as the format wants it is shown, not copied: raw bytes
 * as raw_data or external data, and a typed field as the very bytes that its message has. */
#include <stdio.h>
#include <string.h>

#include "model/load.h"
#include "model/varint.h"
#include "model/write.h"
#include "tensor/pack.h"

enum { SMALL_BYTES = 1024, ALIGNED_BYTES = 1 << 20, PAGE = 4096, LINE = 64 };

static enum sc_status write_dims(struct sc_arena *arena, const struct sc_tensor *tensor, size_t *n, int64_t **dims)
{
    *n = (size_t)tensor->rank;
    *dims = sc_arena_array(arena, *n, sizeof **dims);
    if (!*dims) {
        return SC_NO_MEMORY;
    }
    memcpy(*dims, tensor->dims, *n * sizeof **dims);
    return SC_OK;
}

static enum sc_status write_header(
    struct sc_arena *arena, const struct sc_tensor *tensor, const char *name, Sc__Onnx__TensorProto **result)
{
    Sc__Onnx__TensorProto *proto = sc_arena_alloc(arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__tensor_proto__init(proto);
    proto->name = *name ? sc_write_text(name) : proto->name;
    proto->has_data_type = 1;
    proto->data_type = (int32_t)tensor->type;
    SC_TRY(write_dims(arena, tensor, &proto->n_dims, &proto->dims));
    *result = proto;
    return SC_OK;
}

static enum sc_status write_strings(
    struct sc_arena *arena, const struct sc_tensor *tensor, Sc__Onnx__TensorProto *proto)
{
    const size_t count = (size_t)sc_tensor_count(tensor);
    struct sc_string *strings = sc_arena_array(arena, count, sizeof *strings);
    proto->string_data = sc_arena_array(arena, count, sizeof *proto->string_data);
    if (!strings || !proto->string_data) {
        return SC_NO_MEMORY;
    }
    sc_tensor_copy_dense(tensor, strings);
    for (size_t i = 0; i < count; i++) {
        proto->string_data[i].len = strings[i].bytes;
        proto->string_data[i].data = (uint8_t *)(uintptr_t)strings[i].data;
    }
    proto->n_string_data = count;
    return SC_OK;
}

/* Plain storage as raw_data: dense, and packed where elements are narrower than a byte. */
static enum sc_status write_plain(struct sc_arena *arena, const struct sc_tensor *tensor, Sc__Onnx__TensorProto *proto)
{
    const int64_t count = sc_tensor_count(tensor);
    proto->has_raw_data = 1;
    if (tensor->storage == SC_STORAGE_PLAIN && sc_tensor_is_dense(tensor) && sc_type_bits(tensor->type) >= 8) {
        proto->raw_data = (ProtobufCBinaryData){sc_tensor_bytes(tensor), tensor->data};
        return SC_OK;
    }
    void *plain = sc_arena_alloc(arena, (size_t)count * sc_type_bytes(tensor->type));
    proto->raw_data.len = sc_packed_bytes(tensor->type, count);
    proto->raw_data.data = sc_arena_alloc(arena, proto->raw_data.len);
    if (!plain || !proto->raw_data.data) {
        return SC_NO_MEMORY;
    }
    sc_tensor_copy_dense(tensor, plain);
    sc_pack(tensor->type, plain, count, proto->raw_data.data);
    return SC_OK;
}

enum sc_status sc_write_tensor(
    struct sc_arena *arena, const struct sc_tensor *tensor, const char *name, Sc__Onnx__TensorProto **proto)
{
    SC_TRY(write_header(arena, tensor, name, proto));
    return tensor->type == SC_STRING ? write_strings(arena, tensor, *proto) : write_plain(arena, tensor, *proto);
}

static bool is_value_field(uint64_t field)
{
    return field == 4 || field == 5 || field == 6 || field == 7 || field == 10 || field == 11;
}

/* The length of a field's tag and content at message[at..bytes), which the walker has found to be well-formed. */
static size_t field_bytes(const unsigned char *message, size_t at, size_t bytes, uint64_t *tag)
{
    uint64_t length = 0;
    const size_t tag_bytes = sc_varint_read(message + at, bytes - at, tag);
    const unsigned char *content = message + at + tag_bytes;
    const size_t room = bytes - at - tag_bytes;
    switch (*tag & 7) {
    case SC_WIRE_VARINT:
        return tag_bytes + sc_varint_read(content, room, &length);
    case SC_WIRE_64:
        return tag_bytes + 8;
    case SC_WIRE_32:
        return tag_bytes + 4;
    default:
        return tag_bytes + sc_varint_read(content, room, &length) + (size_t)length;
    }
}

/* The next run of value fields from *at on; false when there is none. */
static bool next_run(const struct sc_weight *weight, size_t *at, size_t *start)
{
    bool inside = false;
    while (*at < weight->message_bytes) {
        uint64_t tag;
        const size_t n = field_bytes(weight->message, *at, weight->message_bytes, &tag);
        if (inside && !is_value_field(tag >> 3)) {
            break;
        }
        *start = inside ? *start : *at;
        inside = is_value_field(tag >> 3);
        *at += n;
    }
    return inside;
}

/* Typed values of the file go over as they are. protobuf-c writes an unknown field as a tag and bytes that it does not
 * look at; a run of fields is one such: the tag of its first, and all that follows. */
static enum sc_status write_message(
    struct sc_arena *arena, const struct sc_weight *weight, Sc__Onnx__TensorProto *proto)
{
    size_t at = 0, start = 0, n = 0;
    while (next_run(weight, &at, &start)) {
        n++;
    }
    ProtobufCMessageUnknownField *fields = sc_arena_array(arena, n, sizeof *fields);
    if (!fields) {
        return SC_NO_MEMORY;
    }
    at = n = 0;
    while (next_run(weight, &at, &start)) {
        uint64_t tag = 0;
        const size_t tag_bytes = sc_varint_read(weight->message + start, at - start, &tag);
        fields[n++] = (ProtobufCMessageUnknownField){.tag = (uint32_t)(tag >> 3),
            .wire_type = (ProtobufCWireType)(tag & 7),
            .len = at - start - tag_bytes,
            .data = (uint8_t *)(uintptr_t)(weight->message + start + tag_bytes)};
    }
    proto->base.n_unknown_fields = (unsigned)n;
    proto->base.unknown_fields = fields;
    return SC_OK;
}

static enum sc_status add_part(struct sc_writer *writer, const void *data, size_t bytes, size_t *offset)
{
    if (writer->n_parts == writer->cap_parts) {
        const size_t capacity = writer->cap_parts ? 2 * writer->cap_parts : 64;
        struct sc_written_part *parts = sc_arena_array(writer->arena, capacity, sizeof *parts);
        if (!parts) {
            return SC_NO_MEMORY;
        }
        if (writer->n_parts) {
            memcpy(parts, writer->parts, writer->n_parts * sizeof *parts);
        }
        writer->parts = parts;
        writer->cap_parts = capacity;
    }
    const size_t unit = bytes >= ALIGNED_BYTES ? PAGE : LINE; /* large ones can be mapped alone */
    *offset = (writer->data_bytes + unit - 1) / unit * unit;
    writer->parts[writer->n_parts++] = (struct sc_written_part){data, bytes, *offset};
    writer->data_bytes = *offset + bytes;
    return SC_OK;
}

static enum sc_status add_key(struct sc_arena *arena, Sc__Onnx__TensorProto *proto, const char *key, const char *value)
{
    Sc__Onnx__StringStringEntryProto *entry = sc_arena_alloc(arena, sizeof *entry);
    if (!entry || !value) {
        return SC_NO_MEMORY;
    }
    sc__onnx__string_string_entry_proto__init(entry);
    entry->key = sc_write_text(key);
    entry->value = sc_write_text(value);
    proto->external_data[proto->n_external_data++] = entry;
    return SC_OK;
}

/* raw_data moves to the file of external data. */
static enum sc_status move_out(struct sc_writer *writer, Sc__Onnx__TensorProto *proto)
{
    size_t offset;
    SC_TRY(add_part(writer, proto->raw_data.data, proto->raw_data.len, &offset));
    proto->external_data = sc_arena_array(writer->arena, 3, sizeof(Sc__Onnx__StringStringEntryProto *));
    if (!proto->external_data) {
        return SC_NO_MEMORY;
    }
    SC_TRY(add_key(writer->arena, proto, "location", writer->location));
    SC_TRY(add_key(writer->arena, proto, "offset", sc_arena_printf(writer->arena, "%zu", offset)));
    SC_TRY(add_key(writer->arena, proto, "length", sc_arena_printf(writer->arena, "%zu", proto->raw_data.len)));
    proto->has_data_location = 1;
    proto->data_location = SC__ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    proto->has_raw_data = 0;
    proto->raw_data = (ProtobufCBinaryData){0};
    return SC_OK;
}

enum sc_status sc_write_weight(
    struct sc_writer *writer, const struct sc_weight *weight, const char *name, Sc__Onnx__TensorProto **result)
{
    SC_TRY(write_header(writer->arena, &weight->shape, name, result));
    Sc__Onnx__TensorProto *proto = *result;
    if (weight->raw) {
        proto->has_raw_data = 1;
        proto->raw_data = (ProtobufCBinaryData){weight->raw_bytes, (uint8_t *)(uintptr_t)weight->raw};
    } else if (weight->message) {
        return write_message(writer->arena, weight, proto);
    } else {
        struct sc_tensor plain;
        SC_TRY(sc_weight_tensor(weight, writer->arena, &plain));
        SC_TRY(plain.type == SC_STRING ? write_strings(writer->arena, &plain, proto)
                                       : write_plain(writer->arena, &plain, proto));
    }
    const bool moves = writer->location && proto->has_raw_data && proto->raw_data.len >= SMALL_BYTES;
    return moves ? move_out(writer, proto) : SC_OK;
}

/* Elements that are not all zero bits, by their place in the dense tensor. */
enum sc_status sc_write_sparse(
    struct sc_arena *arena, const struct sc_tensor *tensor, Sc__Onnx__SparseTensorProto **result)
{
    static const unsigned char zeros[16];
    const size_t width = sc_type_bytes(tensor->type);
    const int64_t count = sc_tensor_count(tensor);
    Sc__Onnx__SparseTensorProto *proto = sc_arena_alloc(arena, sizeof *proto);
    int64_t *places = sc_arena_array(arena, (size_t)count, sizeof *places);
    unsigned char *kept = sc_arena_array(arena, (size_t)count, width);
    unsigned char *dense = sc_arena_array(arena, (size_t)count, width);
    if (!proto || !places || !kept || !dense) {
        return SC_NO_MEMORY;
    }
    sc_tensor_copy_dense(tensor, dense);
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(dense + (size_t)i * width, zeros, width) != 0) {
            memcpy(kept + (size_t)n * width, dense + (size_t)i * width, width);
            places[n++] = i;
        }
    }
    struct sc_tensor values, indices;
    sc_tensor_init(&values, tensor->type, 1, &n);
    sc_tensor_init(&indices, SC_I64, 1, &n);
    values.data = kept;
    indices.data = places;
    sc__onnx__sparse_tensor_proto__init(proto);
    SC_TRY(sc_write_tensor(arena, &values, "", &proto->values));
    SC_TRY(sc_write_tensor(arena, &indices, "", &proto->indices));
    SC_TRY(write_dims(arena, tensor, &proto->n_dims, &proto->dims));
    *result = proto;
    return SC_OK;
}
