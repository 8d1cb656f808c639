/* SPDX-License-Identifier: Apache-2.0
 * Products by our own GEMM wherever rows must not depend on each other; OpenBLAS for f64 and on request. */
#include "ops/nn/product.h"

#include <cblas.h>
#include <string.h>

#include "ops/kernels/gemm.h"
#include "ops/room.h"

/* Unsigned, so that sums wrap. */
static void plain_row(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct sc_product *p = arg;
    const uint64_t *a = (const uint64_t *)p->a + row * p->a_stride;
    uint64_t *c = (uint64_t *)p->c + row * p->N;
    memset(c, 0, (size_t)p->N * sizeof(*c));
    for (int64_t k = 0; k < p->K; k++) {
        const uint64_t *b = (const uint64_t *)p->b + k * p->b_row_stride;
        for (int64_t n = 0; n < p->N; n++) {
            c[n] += a[k] * b[n * p->b_column_stride];
        }
    }
}

enum { BLAS_MIN = 4096 }; /* elements of B from which --gemm blas has a say */

enum sc_product_way sc_product_choose(enum sc_type type, bool constant, bool blas, int64_t K, int64_t N)
{
    if (type == SC_F64) {
        return SC_PRODUCT_BLAS;
    }
    if (type != SC_F32 && type != SC_F16 && type != SC_BF16 && type != SC_I32 && type != SC_U32) {
        return SC_PRODUCT_PLAIN;
    }
    if (blas && type == SC_F32 && K > 0 && N > 0 && K >= BLAS_MIN / N) {
        return SC_PRODUCT_BLAS;
    }
    return constant && K >= 0 && N >= 0 ? SC_PRODUCT_PACKED : SC_PRODUCT_PACK;
}

size_t sc_product_scratch_bytes(
    enum sc_product_way way, enum sc_type type, int64_t M, int64_t N, int64_t K, int n_workers)
{
    switch (way) {
    case SC_PRODUCT_PACKED:
        return sc_room_round(sc_gemm_scratch_bytes(type, M, N, K, n_workers));
    case SC_PRODUCT_PACK:
        return sc_room_round(sc_gemm_packed_bytes(type, K, N)) +
            sc_room_round(sc_gemm_scratch_bytes(type, M, N, K, n_workers));
    case SC_PRODUCT_BLAS:
        return sc_room_round((size_t)(K * N) * sc_type_bytes(type)); /* for a B whose strides BLAS cannot take */
    case SC_PRODUCT_PLAIN:
        break;
    }
    return 0;
}

static void run_own(const struct sc_product *p, const struct sc_kernels *kernels, struct sc_team *team, char *scratch)
{
    const void *packed = p->packed;
    if (p->way == SC_PRODUCT_PACK) {
        const struct sc_gemm_b b = {.type = p->type,
            .K = p->K,
            .N = p->N,
            .data = p->b,
            .row_stride = p->b_row_stride,
            .column_stride = p->b_column_stride};
        sc_gemm_pack(kernels, team, &b, scratch);
        packed = scratch;
        scratch += sc_room_round(sc_gemm_packed_bytes(p->type, p->K, p->N));
    }
    const struct sc_gemm gemm = {.type = p->type,
        .M = p->M,
        .N = p->N,
        .K = p->K,
        .a = p->a,
        .a_stride = p->a_stride,
        .packed = packed,
        .c = p->c,
        .c_stride = p->N};
    sc_gemm_run(kernels, team, &gemm, scratch);
}

static void run_blas(const struct sc_product *p, void *scratch)
{
    const bool rows = p->b_column_stride == 1 && p->b_row_stride >= p->N;
    const bool columns = p->b_row_stride == 1 && p->b_column_stride >= p->K;
    const size_t bytes = sc_type_bytes(p->type);
    const void *b = p->b;
    if (!rows && !columns) {
        struct sc_tensor tensor;
        const int64_t dims[2] = {p->K, p->N};
        sc_tensor_init(&tensor, p->type, 2, dims);
        tensor.strides[0] = p->b_row_stride;
        tensor.strides[1] = p->b_column_stride;
        memcpy(&tensor.data, &p->b, sizeof(tensor.data));
        sc_tensor_copy_dense(&tensor, scratch);
        b = scratch;
    }
    const CBLAS_TRANSPOSE transposed = !rows && columns ? CblasTrans : CblasNoTrans;
    const blasint ldb = (blasint)(rows ? p->b_row_stride : columns ? p->b_column_stride : p->N);
    const blasint lda = (blasint)(p->a_stride > p->K ? p->a_stride : p->K);
    openblas_set_num_threads(1);
    /* BLAS counts in int: rows are handed over in runs that fit. */
    for (int64_t m = 0; m < p->M; m += INT32_MAX / 2) {
        const blasint n_rows = (blasint)(p->M - m < INT32_MAX / 2 ? p->M - m : INT32_MAX / 2);
        const char *a = (const char *)p->a + (size_t)(m * p->a_stride) * bytes;
        char *c = (char *)p->c + (size_t)(m * p->N) * bytes;
        if (p->type == SC_F64) {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed, n_rows, (blasint)p->N, (blasint)p->K, 1.0,
                (const double *)(const void *)a, lda, b, ldb, 0.0, (double *)(void *)c, (blasint)p->N);
        } else {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed, n_rows, (blasint)p->N, (blasint)p->K, 1.0F,
                (const float *)(const void *)a, lda, b, ldb, 0.0F, (float *)(void *)c, (blasint)p->N);
        }
    }
}

struct run {
    const struct sc_product *product;
    const struct sc_kernels *kernels;
    struct sc_team *team;
    void *scratch;
};

static enum sc_status run_way(void *arg)
{
    const struct run *run = arg;
    if (run->product->way == SC_PRODUCT_BLAS) {
        run_blas(run->product, run->scratch);
    } else {
        run_own(run->product, run->kernels, run->team, run->scratch);
    }
    return SC_OK;
}

/* BLAS does it in one call, and no part of our own is shorter than one chain down K. */
static bool has_long_parts(const struct sc_product *p)
{
    return p->K >= 1 << 20 || (p->way == SC_PRODUCT_BLAS && (double)p->M * (double)p->N * (double)p->K >= 1 << 24);
}

void sc_product_run(
    const struct sc_product *product, const struct sc_kernels *kernels, struct sc_team *team, void *scratch)
{
    if (product->M == 0 || product->N == 0) {
        return;
    }
    if (product->K == 0) {
        memset(product->c, 0, (size_t)(product->M * product->N) * sc_type_bytes(product->type));
        return;
    }
    struct run run = {product, kernels, team, scratch};
    if (product->way == SC_PRODUCT_PLAIN) {
        struct sc_product plain = *product;
        sc_team_for(team, plain.M, plain_row, &plain);
    } else if (has_long_parts(product)) {
        (void)sc_team_relieve(team, run_way, &run); /* cannot fail */
    } else {
        (void)run_way(&run);
    }
}
