/* SPDX-License-Identifier: Apache-2.0
 * Shapes: sizes are checked once where they come in (sc_dims_check), so that products elsewhere cannot overflow. */
#include "tensor/tensor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_TENSOR_BYTES ((int64_t)1 << 46)

int64_t sc_dims_product(const int64_t *dims, int from, int to)
{
    int64_t product = 1;
    for (int i = from; i < to; i++) {
        product *= dims[i];
    }
    return product;
}

enum sc_status sc_dims_check(const char *what, enum sc_type type, int rank, const int64_t *dims)
{
    if (rank < 0 || rank > SC_MAX_RANK) {
        return sc_fail(SC_UNSUPPORTED, "'%s' has rank %d, want at most %d", what, rank, SC_MAX_RANK);
    }
    /* Zeros are left out of the product: a partial product of the dims must not overflow either. */
    const int64_t unit = sc_type_bytes(type) ? (int64_t)sc_type_bytes(type) : 1;
    int64_t bytes = unit;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) {
            return sc_fail(SC_BAD_MODEL, "'%s' has a negative dim %d: %lld", what, i, (long long)dims[i]);
        }
        if (dims[i] > 0 && bytes > MAX_TENSOR_BYTES / dims[i]) {
            return sc_fail(SC_LIMIT, "'%s' has more than 2^46 bytes", what);
        }
        bytes *= dims[i] > 0 ? dims[i] : 1;
    }
    return SC_OK;
}

void sc_dense_strides(int rank, const int64_t *dims, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i];
    }
}

void sc_tensor_init(struct sc_tensor *tensor, enum sc_type type, int rank, const int64_t *dims)
{
    assert(rank >= 0 && rank <= SC_MAX_RANK);
    memset(tensor, 0, sizeof *tensor);
    tensor->type = type;
    tensor->rank = rank;
    for (int i = 0; i < rank; i++) {
        tensor->dims[i] = dims[i];
    }
    sc_dense_strides(rank, tensor->dims, tensor->strides);
}

int64_t sc_tensor_count(const struct sc_tensor *tensor)
{
    return sc_dims_product(tensor->dims, 0, tensor->rank);
}

size_t sc_packed_bytes(enum sc_type type, int64_t count)
{
    const size_t bits = sc_type_bits(type);
    /* In eighths, so that counts up to 2^46 times 128 bits stay exact. */
    return (size_t)(count / 8) * bits + ((size_t)(count % 8) * bits + 7) / 8;
}

size_t sc_tensor_bytes(const struct sc_tensor *tensor)
{
    const int64_t count = sc_tensor_count(tensor);
    return tensor->storage == SC_STORAGE_PACKED ? sc_packed_bytes(tensor->type, count)
                                                : (size_t)count * sc_type_bytes(tensor->type);
}

bool sc_tensor_is_dense(const struct sc_tensor *tensor)
{
    int64_t stride = 1;
    bool dense = true;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->dims[i] == 0) {
            return true;
        }
        /* The stride of a dim of one element is never walked. */
        dense = dense && (tensor->dims[i] == 1 || tensor->strides[i] == stride);
        stride *= tensor->dims[i];
    }
    return dense;
}

bool sc_dims_equal(const struct sc_tensor *a, const struct sc_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

enum sc_status sc_tensor_new(
    struct sc_arena *arena, enum sc_type type, int rank, const int64_t *dims, struct sc_tensor *tensor)
{
    struct sc_tensor made;
    sc_tensor_init(&made, type, rank, dims);
    made.data = sc_arena_array(arena, (size_t)sc_tensor_count(&made), sc_type_bytes(type));
    if (!made.data) {
        return SC_NO_MEMORY;
    }
    *tensor = made;
    return SC_OK;
}

char *sc_tensor_text(const struct sc_tensor *tensor, char *buffer, size_t bytes)
{
    size_t used = 0;
    for (int i = -1; i <= tensor->rank && used < bytes; i++) {
        int n;
        if (i < 0) {
            n = snprintf(buffer, bytes, "%s[", sc_type_name(tensor->type));
        } else if (i < tensor->rank) {
            n = snprintf(buffer + used, bytes - used, "%s%lld", i ? "," : "", (long long)tensor->dims[i]);
        } else {
            n = snprintf(buffer + used, bytes - used, "]");
        }
        used += n > 0 ? (size_t)n : 0;
    }
    return buffer;
}

int64_t sc_index_at(const struct sc_tensor *tensor, int64_t i)
{
    if (tensor->type == SC_I32) {
        return ((const int32_t *)tensor->data)[i];
    }
    assert(tensor->type == SC_I64);
    return ((const int64_t *)tensor->data)[i];
}
