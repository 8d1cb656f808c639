/* SPDX-License-Identifier: Apache-2.0
 * Writing of messages. One walk over the values serves twice: without memory it only counts the bytes. */
#include "comm/wire_format.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct writer {
    unsigned char *base; /* NULL: count only */
    size_t at;
};

static void put(struct writer *writer, const void *data, size_t bytes)
{
    if (writer->base && bytes > 0) {
        memcpy(writer->base + writer->at, data, bytes);
    }
    writer->at += bytes;
}

static void pad(struct writer *writer, size_t align)
{
    const size_t bytes = (align - writer->at % align) % align;
    if (writer->base) {
        memset(writer->base + writer->at, 0, bytes);
    }
    writer->at += bytes;
}

/* Element `index` in row-major order of a string tensor with any strides. */
static const struct sc_string *string_at(const struct sc_tensor *tensor, int64_t index)
{
    int64_t offset = 0;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        offset += index % tensor->dims[axis] * tensor->strides[axis];
        index /= tensor->dims[axis];
    }
    return (const struct sc_string *)tensor->data + offset;
}

static void put_strings(struct writer *writer, const struct sc_tensor *tensor, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t length = string_at(tensor, i)->bytes;
        put(writer, &length, sizeof length);
    }
    for (int64_t i = 0; i < n; i++) {
        const struct sc_string *string = string_at(tensor, i);
        put(writer, string->data, string->bytes);
    }
}

static void put_tensor(struct writer *writer, const struct sc_tensor *tensor)
{
    const struct sc_wire_record record = {.kind = SC_KIND_TENSOR,
        .type = (uint8_t)tensor->type,
        .storage = (uint8_t)tensor->storage,
        .rank = (uint8_t)tensor->rank,
        .n = sc_tensor_count(tensor)};
    put(writer, &record, sizeof record);
    put(writer, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims);
    if (tensor->type == SC_STRING) {
        put_strings(writer, tensor, record.n);
        return;
    }
    pad(writer, SC_WIRE_ALIGN);
    const size_t bytes = sc_tensor_bytes(tensor);
    if (tensor->storage == SC_STORAGE_PACKED || sc_tensor_is_dense(tensor)) {
        put(writer, tensor->data, bytes);
        return;
    }
    if (writer->base) {
        sc_tensor_copy_dense(tensor, writer->base + writer->at);
    }
    writer->at += bytes;
}

static bool put_value(struct writer *writer, const struct sc_value *value, int depth)
{
    struct sc_wire_record record = {.kind = (uint8_t)value->kind};
    bool travels = true;
    pad(writer, 8);
    switch (value->kind) {
    case SC_KIND_NONE:
        put(writer, &record, sizeof record);
        break;
    case SC_KIND_TENSOR:
        put_tensor(writer, &value->u.tensor);
        break;
    case SC_KIND_SEQUENCE:
    case SC_KIND_MAP:
        record.type = (uint8_t)value->u.sequence.type;
        record.n = value->u.sequence.n;
        put(writer, &record, sizeof record);
        travels = depth < SC_WIRE_DEPTH;
        for (int64_t i = 0; travels && i < record.n; i++) {
            travels = put_value(writer, &value->u.sequence.items[i], depth + 1);
        }
        break;
    case SC_KIND_OPTIONAL:
        record.type = (uint8_t)value->u.optional.type;
        record.storage = (uint8_t)value->u.optional.item_kind;
        record.n = value->u.optional.item != NULL;
        put(writer, &record, sizeof record);
        travels = depth < SC_WIRE_DEPTH;
        if (travels && record.n) {
            travels = put_value(writer, value->u.optional.item, depth + 1);
        }
        break;
    case SC_KIND_STATE:
        travels = false;
        break;
    }
    return travels;
}

size_t sc_wire_header_bytes(int n_rows)
{
    return offsetof(struct sc_wire_header, rows) + (size_t)n_rows * sizeof(struct sc_row);
}

size_t sc_wire_bytes(int n_rows, const struct sc_value *const *values, int n)
{
    struct writer writer = {.at = sc_wire_header_bytes(n_rows)};
    for (int i = 0; i < n; i++) {
        if (!put_value(&writer, values[i], 0)) {
            return 0;
        }
    }
    return writer.at;
}

void sc_wire_write(const struct sc_wire_header *header, const struct sc_value *const *values, int n, void *buffer)
{
    const size_t header_bytes = sc_wire_header_bytes(header->n_rows);
    struct writer writer = {.base = buffer, .at = header_bytes};
    for (int i = 0; i < n; i++) {
        const bool travels = put_value(&writer, values[i], 0);
        assert(travels);
        (void)travels;
    }
    /* Built in zeroed memory: gaps of the struct carry nothing of this process. */
    struct sc_wire_header full;
    memset(&full, 0, sizeof full);
    full.magic = SC_WIRE_MAGIC;
    full.version = SC_WIRE_VERSION;
    full.kind = header->kind;
    full.edge = header->edge;
    full.seq = header->seq;
    full.n_values = n;
    full.n_rows = header->n_rows;
    full.payload_bytes = writer.at - header_bytes;
    full.slowest_ns = header->slowest_ns;
    full.dropped = header->dropped;
    assert(header->n_rows >= 0 && header->n_rows <= SC_WIRE_ROWS);
    memcpy(full.rows, header->rows, (size_t)header->n_rows * sizeof *header->rows);
    memcpy(buffer, &full, header_bytes);
}

void sc_wire_bytes_value(const void *data, size_t bytes, struct sc_value *value)
{
    const int64_t dims[1] = {(int64_t)bytes};
    union {
        const void *in;
        void *out;
    } content = {.in = data}; /* a tensor has no const data; writing only reads it */
    *value = (struct sc_value){.kind = SC_KIND_TENSOR};
    sc_tensor_init(&value->u.tensor, SC_U8, 1, dims);
    value->u.tensor.data = content.out;
}

void sc_wire_error_value(const struct sc_error *error, struct sc_value *value)
{
    sc_wire_bytes_value(error, sizeof *error, value);
}
