/* SPDX-License-Identifier: Apache-2.0
 * One matrix product of any type that MatMul and Gemm have. */
#ifndef SC_OPS_NN_PRODUCT_H
#define SC_OPS_NN_PRODUCT_H

#include "ops/op.h"

/* How a product is done. Chosen from static facts alone. */
enum sc_product_way {
    SC_PRODUCT_PACKED, /* f32, f16, bf16, 32-bit integers: B was packed at load */
    SC_PRODUCT_PACK, /* the same kernels; B is packed into scratch first */
    SC_PRODUCT_BLAS, /* f64, and f32 by --gemm blas */
    SC_PRODUCT_PLAIN /* 64-bit integers: wrap around */
};

/* C[M, N] = A[M, K] · B[K, N]. A: contiguous rows a_stride apart; C dense. B by strides in elements, or packed. */
struct sc_product {
    enum sc_product_way way;
    enum sc_type type;
    int64_t M, N, K;
    const void *a;
    int64_t a_stride;
    const void *b;
    int64_t b_row_stride, b_column_stride;
    const void *packed;
    void *c;
};

/* The way for a type; constant: B is a weight. A K x N of unknown dims (-1) is never given to --gemm blas. */
enum sc_product_way sc_product_choose(enum sc_type type, bool constant, bool blas, int64_t K, int64_t N);

/* For products of at most M rows by a team of n_workers. */
size_t sc_product_scratch_bytes(
    enum sc_product_way way, enum sc_type type, int64_t M, int64_t N, int64_t K, int n_workers);

void sc_product_run(
    const struct sc_product *product, const struct sc_kernels *kernels, struct sc_team *team, void *scratch);

#endif
