/* SPDX-License-Identifier: Apache-2.0
 * Reading of messages. Nothing is believed: each count is held against the bytes that are left before it is used. */
#include "comm/wire_format.h"

#include <assert.h>
#include <string.h>

struct reader {
    unsigned char *base;
    size_t at, end;
    struct sc_arena *arena;
};

static enum sc_status take(struct reader *reader, void *to, size_t bytes)
{
    if (bytes > reader->end - reader->at) {
        return sc_fail(SC_PEER, "message ends in the middle of a value: %zu bytes wanted at %zu of %zu", bytes,
            reader->at, reader->end);
    }
    if (bytes > 0) {
        memcpy(to, reader->base + reader->at, bytes);
    }
    reader->at += bytes;
    return SC_OK;
}

static enum sc_status skip(struct reader *reader, size_t align)
{
    const size_t bytes = (align - reader->at % align) % align;
    if (bytes > reader->end - reader->at) {
        return sc_fail(SC_PEER, "message ends in the padding at %zu of %zu bytes", reader->at, reader->end);
    }
    reader->at += bytes;
    return SC_OK;
}

static enum sc_status read_strings(struct reader *reader, struct sc_tensor *tensor, int64_t n)
{
    const size_t left = reader->end - reader->at;
    if ((uint64_t)n > left / sizeof(uint64_t)) {
        return sc_fail(SC_PEER, "message says %lld strings, but has %zu bytes left", (long long)n, left);
    }
    const unsigned char *lengths = reader->base + reader->at;
    reader->at += (size_t)n * sizeof(uint64_t);
    struct sc_string *strings = sc_arena_array(reader->arena, (size_t)n, sizeof *strings);
    if (!strings) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t length;
        memcpy(&length, lengths + (size_t)i * sizeof length, sizeof length);
        if (length > reader->end - reader->at) {
            return sc_fail(SC_PEER, "message has a string of %llu bytes, but %zu bytes are left",
                (unsigned long long)length, reader->end - reader->at);
        }
        strings[i] = (struct sc_string){.data = (const char *)reader->base + reader->at, .bytes = (size_t)length};
        reader->at += (size_t)length;
    }
    tensor->data = strings;
    return SC_OK;
}

/* Elements that kernels use as truth values or table indices must be in range: a bool is 0 or 1, an n-bit number plain
 * in a byte has n bits (signed ones may be sign-extended). */
static bool elements_in_range(const struct sc_tensor *tensor, int64_t n)
{
    const unsigned bits = tensor->type == SC_BOOL ? 1 : sc_type_bits(tensor->type);
    if (bits >= 8 || tensor->storage == SC_STORAGE_PACKED) {
        return true;
    }
    const bool extended = tensor->type == SC_I4 || tensor->type == SC_I2;
    const unsigned char shift = extended ? (unsigned char)(1u << (bits - 1)) : 0;
    const unsigned char limit = (unsigned char)((1u << bits) + shift);
    const unsigned char *bytes = tensor->data;
    unsigned outside = 0;
    for (int64_t i = 0; i < n; i++) {
        outside |= (unsigned char)(bytes[i] + shift) >= limit;
    }
    return outside == 0;
}

static enum sc_status read_elements(struct reader *reader, struct sc_tensor *tensor, int64_t n)
{
    SC_TRY(skip(reader, SC_WIRE_ALIGN));
    const size_t bytes = sc_tensor_bytes(tensor);
    if (bytes > reader->end - reader->at) {
        return sc_fail(
            SC_PEER, "message has a tensor of %zu bytes, but %zu bytes are left", bytes, reader->end - reader->at);
    }
    tensor->data = reader->base + reader->at;
    reader->at += bytes;
    if (!elements_in_range(tensor, n)) {
        return sc_fail(SC_PEER, "message has a tensor of %s with elements out of range", sc_type_name(tensor->type));
    }
    return SC_OK;
}

static enum sc_status read_tensor(struct reader *reader, const struct sc_wire_record *record, struct sc_tensor *tensor)
{
    if (!sc_type_valid(record->type) || record->rank > SC_MAX_RANK || record->storage > SC_STORAGE_PACKED) {
        return sc_fail(SC_PEER, "message has a tensor of type %d, storage %d and rank %d", record->type,
            record->storage, record->rank);
    }
    const enum sc_type type = (enum sc_type)record->type;
    if (record->storage == SC_STORAGE_PACKED && (sc_type_bits(type) == 0 || sc_type_bits(type) >= 8)) {
        return sc_fail(SC_PEER, "message has a packed tensor of %s", sc_type_name(type));
    }
    int64_t dims[SC_MAX_RANK] = {0};
    SC_TRY(take(reader, dims, record->rank * sizeof *dims));
    if (sc_dims_check("tensor of a message", type, record->rank, dims) != SC_OK) {
        sc_error_last()->code = SC_PEER;
        return SC_PEER;
    }
    if (sc_dims_product(dims, 0, record->rank) != record->n) {
        return sc_fail(SC_PEER, "message has a tensor of %lld elements by its dims, %lld by its count",
            (long long)sc_dims_product(dims, 0, record->rank), (long long)record->n);
    }
    sc_tensor_init(tensor, type, record->rank, dims);
    tensor->storage = (enum sc_storage)record->storage;
    tensor->owner = SC_OWNER_LINK;
    return type == SC_STRING ? read_strings(reader, tensor, record->n) : read_elements(reader, tensor, record->n);
}

static enum sc_status read_value(struct reader *reader, int depth, struct sc_value *value);

static enum sc_status read_items(
    struct reader *reader, const struct sc_wire_record *record, int depth, struct sc_value **items)
{
    const size_t most = (reader->end - reader->at) / sizeof *record;
    if (record->n < 0 || (uint64_t)record->n > most || (record->kind == SC_KIND_OPTIONAL && record->n > 1)) {
        return sc_fail(SC_PEER, "message has a %s of %lld items, with room for %zu",
            record->kind == SC_KIND_OPTIONAL ? "optional" : "sequence", (long long)record->n, most);
    }
    if (depth >= SC_WIRE_DEPTH) {
        return sc_fail(SC_PEER, "message has values nested over %d deep", SC_WIRE_DEPTH);
    }
    *items = sc_arena_array(reader->arena, (size_t)record->n, sizeof **items);
    if (!*items) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < record->n; i++) {
        SC_TRY(read_value(reader, depth + 1, &(*items)[i]));
    }
    return SC_OK;
}

/* Items that a graph could not have made: a sequence of mixed types would reach kernels that trust the type. */
static bool items_fit(const struct sc_wire_record *record, const struct sc_value *items)
{
    for (int64_t i = 0; i < record->n; i++) {
        const struct sc_value *item = &items[i];
        const bool is_key = record->kind == SC_KIND_MAP && i == 0; /* sc_value_is_map looks at it */
        if (item->kind == SC_KIND_TENSOR && !is_key && item->u.tensor.type != (enum sc_type)record->type) {
            return false;
        }
        if (record->kind == SC_KIND_OPTIONAL && item->kind != (enum sc_kind)record->storage) {
            return false;
        }
    }
    return true;
}

static enum sc_status read_value(struct reader *reader, int depth, struct sc_value *value)
{
    struct sc_wire_record record;
    struct sc_value *items = NULL;
    SC_TRY(skip(reader, 8));
    SC_TRY(take(reader, &record, sizeof record));
    memset(value, 0, sizeof *value);
    value->kind = (enum sc_kind)record.kind;
    switch (record.kind) {
    case SC_KIND_NONE:
        return SC_OK;
    case SC_KIND_TENSOR:
        return read_tensor(reader, &record, &value->u.tensor);
    case SC_KIND_SEQUENCE:
    case SC_KIND_OPTIONAL:
    case SC_KIND_MAP:
        break;
    default:
        return sc_fail(SC_PEER, "message has a value of kind %d", record.kind);
    }
    if (record.type != SC_TYPE_NONE && !sc_type_valid(record.type)) {
        return sc_fail(SC_PEER, "message has a sequence or optional of type %d", record.type);
    }
    if (record.kind == SC_KIND_OPTIONAL && record.storage >= SC_KIND_STATE) {
        return sc_fail(SC_PEER, "message has an optional of kind %d", record.storage);
    }
    SC_TRY(read_items(reader, &record, depth, &items));
    if (!items_fit(&record, items)) {
        return sc_fail(SC_PEER, "message has a sequence or optional with items of another type or kind");
    }
    if (record.kind != SC_KIND_OPTIONAL) {
        value->u.sequence.type = (enum sc_type)record.type;
        value->u.sequence.n = record.n;
        value->u.sequence.items = items;
        return record.kind != SC_KIND_MAP || sc_value_is_map(value)
            ? SC_OK
            : sc_fail(SC_PEER, "message has a map whose keys and values do not fit");
    } else {
        value->u.optional.type = (enum sc_type)record.type;
        value->u.optional.item_kind = (enum sc_kind)record.storage;
        value->u.optional.item = record.n ? items : NULL;
    }
    return SC_OK;
}

static enum sc_status check_header(const struct sc_wire_header *header, size_t bytes, int max_values)
{
    if (header->magic != SC_WIRE_MAGIC || header->version != SC_WIRE_VERSION) {
        return sc_fail(SC_PEER,
            "message has magic %08x and version %u, want %08x and %d: are all ranks of one program?", header->magic,
            header->version, SC_WIRE_MAGIC, SC_WIRE_VERSION);
    }
    if (header->kind < SC_WIRE_DATA || header->kind > SC_WIRE_END || header->edge < -1) {
        return sc_fail(SC_PEER, "message of kind %d on edge %d", header->kind, header->edge);
    }
    if (header->n_values < 0 || header->n_values > max_values) {
        return sc_fail(SC_PEER, "message has %d values, want at most %d", header->n_values, max_values);
    }
    if (header->n_rows < 0 || header->n_rows > SC_WIRE_ROWS) {
        return sc_fail(SC_PEER, "message has %d rows, want at most %d", header->n_rows, SC_WIRE_ROWS);
    }
    if (header->slowest_ns < 0) {
        return sc_fail(SC_PEER, "message was computed in %lld ns", (long long)header->slowest_ns);
    }
    const size_t header_bytes = sc_wire_header_bytes(header->n_rows);
    if (bytes < header_bytes || header->payload_bytes != bytes - header_bytes) {
        return sc_fail(SC_PEER, "message of %zu bytes says %llu bytes of payload after %zu", bytes,
            (unsigned long long)header->payload_bytes, header_bytes);
    }
    return SC_OK;
}

static enum sc_status check_rows(const struct sc_wire_header *header)
{
    for (int i = 0; i < header->n_rows; i++) {
        const struct sc_row *row = &header->rows[i];
        if (row->slot < -1 || row->n_new < 0 || row->pos < 0 || row->shares < 0) {
            return sc_fail(SC_PEER, "message has row %d with slot %d, %d new positions after %lld of %d", i, row->slot,
                row->n_new, (long long)row->pos, row->shares - 1);
        }
    }
    return SC_OK;
}

enum sc_status sc_wire_peek(const void *buffer, size_t bytes, struct sc_wire_header *header)
{
    const size_t least = sc_wire_header_bytes(0);
    if (bytes < least) {
        return sc_fail(SC_PEER, "message has %zu bytes, want at least %zu", bytes, least);
    }
    memcpy(header, buffer, least);
    return SC_OK;
}

enum sc_status sc_wire_read(const void *buffer, size_t bytes, struct sc_wire_header *header, struct sc_arena *arena,
    int max_values, struct sc_value *values)
{
    union {
        const void *in;
        unsigned char *out;
    } base = {.in = buffer}; /* tensors have no const data; whoever reads a link's buffer does not write it */
    struct sc_wire_header got;
    assert((uintptr_t)buffer % SC_WIRE_ALIGN == 0);
    SC_TRY(sc_wire_peek(buffer, bytes, &got));
    SC_TRY(check_header(&got, bytes, max_values));
    struct reader reader = {.base = base.out, .at = sc_wire_header_bytes(got.n_rows), .end = bytes, .arena = arena};
    memcpy(&got, buffer, reader.at);
    SC_TRY(check_rows(&got));
    for (int i = 0; i < got.n_values; i++) {
        SC_TRY(read_value(&reader, 0, &values[i]));
    }
    if (reader.at != reader.end) {
        return sc_fail(SC_PEER, "message has %zu bytes after its last value", reader.end - reader.at);
    }
    memcpy(header, &got, sc_wire_header_bytes(got.n_rows));
    return SC_OK;
}

void sc_wire_error_check(struct sc_error *error)
{
    error->host[sizeof error->host - 1] = '\0';
    error->node[sizeof error->node - 1] = '\0';
    error->text[sizeof error->text - 1] = '\0';
    if (error->code <= SC_OK || error->code > SC_INTERNAL) {
        error->code = SC_PEER;
    }
}

enum sc_status sc_wire_read_error(const struct sc_value *value, struct sc_error *error)
{
    const struct sc_tensor *tensor = &value->u.tensor;
    if (value->kind != SC_KIND_TENSOR || tensor->type != SC_U8 || tensor->rank != 1 ||
        tensor->dims[0] != (int64_t)sizeof *error) {
        return sc_fail(SC_PEER, "poison message holds no error");
    }
    memcpy(error, tensor->data, sizeof *error);
    sc_wire_error_check(error);
    return SC_OK;
}
