/* SPDX-License-Identifier: Apache-2.0
 * Tensors: typed, shaped, strided views of memory. */
#ifndef SC_TENSOR_TENSOR_H
#define SC_TENSOR_TENSOR_H

#include "base/arena.h"
#include "base/error.h"
#include "tensor/type.h"

#define SC_MAX_RANK 16

/* How elements lie in memory. */
enum sc_storage {
    SC_STORAGE_PLAIN, /* sc_type_bytes() each */
    SC_STORAGE_PACKED /* as in files: 4-bit low nibble first, 2-bit low bits first, 6-bit four in three bytes; dense
                         only */
};

/* Who frees the memory, and so how long it lives. A tensor never frees its own data. */
enum sc_owner {
    SC_OWNER_CALLER, /* lent by whoever made the tensor */
    SC_OWNER_MODEL, /* mapped file or model arena: until the model is closed */
    SC_OWNER_FRAME, /* until the frame runs again */
    SC_OWNER_LINK /* a link's buffer: until it is handed back */
};

/* dims and strides have `rank` entries, strides in elements (0 where broadcast, negative where reversed).
 * An element's address is data + bytes * sum(index[i] * strides[i]). Rank 0 is a scalar; any dim may be 0. */
struct sc_tensor {
    enum sc_type type;
    enum sc_storage storage;
    enum sc_owner owner;
    int rank;
    int64_t dims[SC_MAX_RANK];
    int64_t strides[SC_MAX_RANK];
    void *data;
};

/* Sets type, rank, dims and dense strides; storage plain, owner caller, data NULL. */
void sc_tensor_init(struct sc_tensor *tensor, enum sc_type type, int rank, const int64_t *dims);

/* Product of dims[from..to); 1 for an empty range. Dims were checked by sc_dims_check. */
int64_t sc_dims_product(const int64_t *dims, int from, int to);

/* Refuses negative dims, more than SC_MAX_RANK of them and byte counts over 2^46. `what` names the tensor in the
 * message. */
enum sc_status sc_dims_check(const char *what, enum sc_type type, int rank, const int64_t *dims);

void sc_dense_strides(int rank, const int64_t *dims, int64_t *strides);
int64_t sc_tensor_count(const struct sc_tensor *tensor); /* elements */
size_t sc_tensor_bytes(const struct sc_tensor *tensor); /* of a dense copy in the tensor's storage */
size_t sc_packed_bytes(enum sc_type type, int64_t count); /* of count elements in packed storage */
bool sc_tensor_is_dense(const struct sc_tensor *tensor); /* row-major without gaps; true for empty tensors */
bool sc_dims_equal(const struct sc_tensor *a, const struct sc_tensor *b);

/* Copies the elements of `from` (any strides, packed or plain) into dense plain memory at `to`. Strings are copied as
 * references. */
void sc_tensor_copy_dense(const struct sc_tensor *from, void *to);

/* n elements at `to` become copies of the element at `value`. */
void sc_fill(void *to, const void *value, size_t bytes, int64_t n);

/* A dense tensor with zeroed memory in the arena. */
enum sc_status sc_tensor_new(
    struct sc_arena *arena, enum sc_type type, int rank, const int64_t *dims, struct sc_tensor *tensor);

/* "float[2,3,64]" into buffer; returns buffer. For messages. */
char *sc_tensor_text(const struct sc_tensor *tensor, char *buffer, size_t bytes);

/* Reads element i of a dense i32 or i64 tensor: the one reader of index tensors. */
int64_t sc_index_at(const struct sc_tensor *tensor, int64_t i);

#endif
