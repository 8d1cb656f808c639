/* SPDX-License-Identifier: Apache-2.0
 * Tensors in .npy files. */
#ifndef SC_LAUNCH_NPY_H
#define SC_LAUNCH_NPY_H

#include "base/file.h"
#include "tensor/tensor.h"

/* Reads one array into dense memory of `arena`: format versions 1 to 3, either byte order, C and Fortran order, the
 * types bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 and complex128; bytes of bools become 0
 * or 1. Fails with SC_IO, SC_UNSUPPORTED (another type) or SC_BAD_INPUT (everything else), naming the file. Source: NEP
 * 1 and numpy.lib.format. */
enum sc_status sc_npy_read(const char *path, struct sc_arena *arena, struct sc_tensor *tensor);

/* The same, with the elements left in the file where they lie there as tensors have them; `file` is then the mapping
 * that holds them, for the caller to release, else zeros. */
enum sc_status sc_npy_map(const char *path, struct sc_arena *arena, struct sc_tensor *tensor, struct sc_file *file);

/* The same from memory; `what` names it in messages. */
enum sc_status sc_npy_parse(
    const unsigned char *data, size_t bytes, const char *what, struct sc_arena *arena, struct sc_tensor *tensor);

/* Writes a tensor with any strides as version 1 in C order; path then holds all of it or is as before.
 * SC_UNSUPPORTED for types that NumPy has not: strings, bfloat16, and those of 8 bits and less that are not integers.
 */
enum sc_status sc_npy_write(const char *path, const struct sc_tensor *tensor);

/* The same of a tensor whose elements, in C order, `read` brings piece by piece: n from `at` on, of at most
 * SC_NPY_PIECE_BYTES together. */
#define SC_NPY_PIECE_BYTES ((size_t)1 << 20)
typedef enum sc_status sc_npy_read_fn(void *arg, int64_t at, int64_t n, void *to);
enum sc_status sc_npy_write_pieces(const char *path, const struct sc_tensor *shape, sc_npy_read_fn *read, void *arg);

/* A file whose elements come in C order before it is known how many there are. Zeros: none.
 *
 *   sc_npy_begin ──► sc_npy_append ... ──► sc_npy_end
 *         └─────────────────┴── sc_npy_abandon: path is as before; safe on zeros and after the end
 *
 * shape: type and rank; dims count at the end, when their product is the number of elements that were appended. */
struct sc_npy_growing {
    struct sc_file_writer writer;
    size_t header_bytes;
};

enum sc_status sc_npy_begin(const char *path, const struct sc_tensor *shape, struct sc_npy_growing *growing);
enum sc_status sc_npy_append(struct sc_npy_growing *growing, const struct sc_tensor *tensor); /* with any strides */
enum sc_status sc_npy_end(struct sc_npy_growing *growing, const struct sc_tensor *shape);
void sc_npy_abandon(struct sc_npy_growing *growing);

#endif
