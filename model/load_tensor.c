/* SPDX-License-Identifier: Apache-2.0
 * TensorProto to sc_weight: everything is checked here, nothing large is read. Values stay in the file (raw_data and
 * packed floats as they lie, other typed fields as a message); only strings, sparse and small values are decoded. */
#include <stdlib.h>
#include <string.h>

#include "model/load.h"

/* A sparse tensor of a few bytes may say that it is huge. */
#define MAX_SPARSE_BYTES ((size_t)1 << 30)
/* Copies of small weights that do not lie aligned, in all. */
#define MAX_SMALL_BYTES ((size_t)64 << 20)

#define RAW_FIELD 9u

static enum sc_status check_header(const char *name, const Sc__Onnx__TensorProto *tensor)
{
    if (!sc_type_valid(tensor->data_type)) {
        return sc_fail(SC_BAD_MODEL, "tensor '%s' has the unknown element type %d", name, (int)tensor->data_type);
    }
    if (tensor->segment) {
        return sc_fail(SC_UNSUPPORTED, "tensor '%s' is stored in segments", name);
    }
    if (tensor->n_dims > SC_MAX_RANK) {
        return sc_fail(SC_UNSUPPORTED, "tensor '%s' has rank %zu, want at most %d", name, tensor->n_dims, SC_MAX_RANK);
    }
    return sc_dims_check(name, (enum sc_type)tensor->data_type, (int)tensor->n_dims, tensor->dims);
}

static enum sc_status take_raw(struct sc_loader *loader, const char *name, const struct sc_payload *payload,
    size_t expected_bytes, struct sc_weight *weight)
{
    if (weight->shape.type == SC_STRING) {
        return sc_fail(SC_BAD_MODEL, "string tensor '%s' has raw_data", name);
    }
    if (payload->raw_bytes != expected_bytes) {
        char text[256];
        return sc_fail(SC_BAD_MODEL, "tensor '%s' has %zu bytes of raw_data, want %zu for %s", name, payload->raw_bytes,
            expected_bytes, sc_tensor_text(&weight->shape, text, sizeof text));
    }
    weight->raw = loader->file.data + payload->raw;
    weight->raw_bytes = payload->raw_bytes;
    return SC_OK;
}

/* The values of a weight are about to be read. */
static enum sc_status note_part(struct sc_loader *loader, const struct sc_weight *weight)
{
    const unsigned char *from = weight->raw ? weight->raw : weight->message;
    if (!loader->notes_parts || weight->file < 0 || !from || weight->decoded) {
        return SC_OK;
    }
    if (loader->n_parts == loader->cap_parts) {
        const size_t capacity = loader->cap_parts ? 2 * loader->cap_parts : 64;
        struct sc_part *parts = realloc(loader->parts, capacity * sizeof *parts);
        if (!parts) {
            return sc_fail(SC_NO_MEMORY, "out of memory: a list of %zu parts wanted", capacity);
        }
        loader->parts = parts;
        loader->cap_parts = capacity;
    }
    const struct sc_file *file = &loader->model->files[weight->file];
    loader->parts[loader->n_parts++] = (struct sc_part){.file = (uint64_t)weight->file,
        .offset = (uint64_t)(from - file->data),
        .bytes = weight->raw ? weight->raw_bytes : weight->message_bytes};
    return SC_OK;
}

static enum sc_status decode_strings(struct sc_loader *loader, struct sc_weight *weight)
{
    SC_TRY(note_part(loader, weight));
    const int64_t count = sc_tensor_count(&weight->shape);
    weight->decoded = sc_arena_array(loader->arena, (size_t)count, sizeof(struct sc_string));
    if (!weight->decoded) {
        return SC_NO_MEMORY;
    }
    sc_decode_values(weight->message, weight->message_bytes, SC_STRING, count, weight->decoded);
    return SC_OK;
}

static enum sc_status take_typed(
    struct sc_loader *loader, const char *name, const struct sc_payload *payload, struct sc_weight *weight)
{
    const enum sc_type type = weight->shape.type;
    const unsigned field = sc_value_field(type);
    const int64_t wanted = sc_value_count(type, sc_tensor_count(&weight->shape));
    if (payload->fields != 1u << field || payload->n_elements != wanted) {
        char text[256];
        return sc_fail(SC_BAD_MODEL, "tensor '%s' has %lld values%s, want %lld for %s", name,
            (long long)payload->n_elements, payload->fields & ~(1u << field) ? " in another type's field" : "",
            (long long)wanted, sc_tensor_text(&weight->shape, text, sizeof text));
    }
    weight->message = loader->file.data + payload->message;
    weight->message_bytes = payload->message_bytes;
    if (type == SC_STRING) {
        return decode_strings(loader, weight);
    }
    if ((field == 4 || field == 10) && payload->n_chunks == 1) { /* packed floats are as raw_data */
        weight->raw = loader->file.data + payload->chunk;
        weight->raw_bytes = payload->chunk_bytes;
        weight->message = NULL;
        weight->message_bytes = 0;
    }
    return SC_OK;
}

enum sc_status sc_load_weight(
    struct sc_loader *loader, const char *name, const Sc__Onnx__TensorProto *tensor, struct sc_weight *weight)
{
    SC_TRY(check_header(name, tensor));
    memset(weight, 0, sizeof *weight);
    weight->file = -1;
    sc_tensor_init(&weight->shape, (enum sc_type)tensor->data_type, (int)tensor->n_dims, tensor->dims);
    weight->shape.owner = SC_OWNER_MODEL;
    const int64_t count = sc_tensor_count(&weight->shape);
    const size_t expected_bytes = sc_packed_bytes(weight->shape.type, count);
    struct sc_payload payload = {0};
    if (tensor->sc_payload > 0 && tensor->sc_payload <= loader->skeleton.n_payloads) {
        payload = loader->skeleton.payloads[tensor->sc_payload - 1];
    }
    if (tensor->data_location == SC__ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        return sc_load_external(loader, name, tensor, expected_bytes, weight);
    }
    /* Writers may name a field without putting anything in it. */
    const bool has_raw = payload.fields >> RAW_FIELD & 1 && (payload.raw_bytes > 0 || payload.n_elements == 0);
    payload.fields &= payload.n_elements == 0 ? 1u << RAW_FIELD : has_raw ? ~0u : ~(1u << RAW_FIELD);
    if (has_raw && payload.fields != 1u << RAW_FIELD) {
        return sc_fail(SC_BAD_MODEL, "tensor '%s' has values in several fields, want one", name);
    }
    if (count == 0 && payload.fields == 0) {
        weight->decoded = sc_arena_alloc(loader->arena, 0);
        return weight->decoded ? SC_OK : SC_NO_MEMORY;
    }
    weight->file = 0;
    return has_raw ? take_raw(loader, name, &payload, expected_bytes, weight)
                   : take_typed(loader, name, &payload, weight);
}

enum sc_status sc_load_tensor(
    struct sc_loader *loader, const char *name, const Sc__Onnx__TensorProto *tensor, struct sc_tensor *result)
{
    struct sc_weight weight;
    SC_TRY(sc_load_weight(loader, name, tensor, &weight));
    SC_TRY(note_part(loader, &weight));
    SC_TRY(sc_weight_tensor(&weight, loader->arena, result));
    result->owner = SC_OWNER_MODEL;
    return SC_OK;
}

/* Of positions by positions: which sees which. */
static bool is_table(const struct sc_tensor *shape)
{
    return shape->type == SC_BOOL && shape->rank >= 2 && shape->dims[shape->rank - 1] == shape->dims[shape->rank - 2];
}

enum sc_status sc_load_small(struct sc_loader *loader, struct sc_weight *weight)
{
    const size_t bytes = sc_weight_bytes(weight);
    const size_t most = is_table(&weight->shape) ? SC_SMALL_TABLE_BYTES : SC_SMALL_WEIGHT_BYTES;
    if (bytes > most || loader->small_bytes > MAX_SMALL_BYTES) {
        return SC_OK;
    }
    struct sc_tensor tensor;
    SC_TRY(note_part(loader, weight));
    SC_TRY(sc_weight_tensor(weight, loader->arena, &tensor));
    loader->small_bytes += tensor.data == weight->raw ? 0 : bytes;
    weight->shape.data = tensor.data;
    return SC_OK;
}

/* Row i of the indices as one index into the dense tensor, or -1. */
static int64_t dense_index(const struct sc_tensor *indices, const struct sc_tensor *dense, int64_t i)
{
    if (indices->rank == 1) {
        const int64_t index = sc_index_at(indices, i);
        return index >= 0 && index < sc_tensor_count(dense) ? index : -1;
    }
    int64_t index = 0;
    for (int d = 0; d < dense->rank; d++) {
        const int64_t at = sc_index_at(indices, i * dense->rank + d);
        if (at < 0 || at >= dense->dims[d]) {
            return -1;
        }
        index += at * dense->strides[d];
    }
    return index;
}

static enum sc_status scatter(
    const char *name, const struct sc_tensor *values, const struct sc_tensor *indices, struct sc_tensor *dense)
{
    const size_t width = sc_type_bytes(dense->type);
    int64_t last = -1;
    for (int64_t i = 0; i < values->dims[0]; i++) {
        const int64_t index = dense_index(indices, dense, i);
        if (index <= last) {
            return sc_fail(SC_BAD_MODEL, "sparse tensor '%s': entry %lld of its indices is %s", name, (long long)i,
                index < 0 ? "outside its dims" : "not above the one before");
        }
        memcpy((char *)dense->data + (size_t)index * width, (const char *)values->data + (size_t)i * width, width);
        last = index;
    }
    return SC_OK;
}

static enum sc_status check_sparse(
    const char *name, const struct sc_tensor *values, const struct sc_tensor *indices, const struct sc_tensor *dense)
{
    const bool linear = indices->rank == 1;
    const bool rows = indices->rank == 2 && indices->dims[1] == dense->rank;
    if (values->rank != 1 || indices->type != SC_I64 || !(linear || rows) || indices->dims[0] != values->dims[0]) {
        char a[128], b[128];
        return sc_fail(SC_BAD_MODEL,
            "sparse tensor '%s' has values %s and indices %s, want [n] and int64 [n] or [n,%d]", name,
            sc_tensor_text(values, a, sizeof a), sc_tensor_text(indices, b, sizeof b), dense->rank);
    }
    if (dense->type == SC_STRING) {
        return sc_fail(SC_UNSUPPORTED, "sparse tensor '%s' holds strings", name);
    }
    if (sc_tensor_bytes(dense) > MAX_SPARSE_BYTES) {
        return sc_fail(SC_LIMIT, "sparse tensor '%s' has %zu bytes when expanded, want at most %zu", name,
            sc_tensor_bytes(dense), MAX_SPARSE_BYTES);
    }
    return SC_OK;
}

enum sc_status sc_load_sparse(
    struct sc_loader *loader, const char *name, const Sc__Onnx__SparseTensorProto *sparse, struct sc_weight *weight)
{
    if (!sparse->values || !sparse->indices) {
        return sc_fail(SC_BAD_MODEL, "sparse tensor '%s' has no values or no indices", name);
    }
    if (sparse->n_dims > SC_MAX_RANK) {
        return sc_fail(
            SC_UNSUPPORTED, "sparse tensor '%s' has rank %zu, want at most %d", name, sparse->n_dims, SC_MAX_RANK);
    }
    struct sc_tensor values, indices, dense;
    SC_TRY(sc_load_tensor(loader, name, sparse->values, &values));
    SC_TRY(sc_load_tensor(loader, name, sparse->indices, &indices));
    SC_TRY(sc_dims_check(name, values.type, (int)sparse->n_dims, sparse->dims));
    sc_tensor_init(&dense, values.type, (int)sparse->n_dims, sparse->dims);
    SC_TRY(check_sparse(name, &values, &indices, &dense));
    SC_TRY(sc_tensor_new(loader->arena, dense.type, dense.rank, dense.dims, &dense));
    SC_TRY(scatter(name, &values, &indices, &dense));
    memset(weight, 0, sizeof *weight);
    weight->file = -1;
    weight->decoded = dense.data;
    weight->shape = dense;
    weight->shape.data = NULL;
    weight->shape.owner = SC_OWNER_MODEL;
    return SC_OK;
}
