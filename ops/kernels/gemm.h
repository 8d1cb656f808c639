/* SPDX-License-Identifier: Apache-2.0
 * Matrix products whose bits depend on neither M, tiles nor threads. */
#ifndef SC_OPS_KERNELS_GEMM_H
#define SC_OPS_KERNELS_GEMM_H

#include "base/team.h"
#include "ops/kernels/kernels.h"
#include "tensor/type.h"

/* B packed: panels of 16 columns, each [K][16] row-major, the last one padded with zeros.
 * 32-bit panels hold the elements; f16 and bf16 weights keep 16 bits and are widened on the way. */
size_t sc_gemm_packed_bytes(enum sc_type type, int64_t K, int64_t N);

struct sc_gemm_b {
    enum sc_type type; /* F32, F16, BF16, I32 or U32 */
    int64_t K, N;
    const void *data;
    int64_t row_stride, column_stride; /* elements; so that a transposed B packs as well */
};

void sc_gemm_pack(const struct sc_kernels *kernels, struct sc_team *team, const struct sc_gemm_b *b, void *packed);

/* C[M, N] = A[M, K] · B, all of `type` (accumulated in f32, rounded once). A: rows a_stride apart, each contiguous. C
 * likewise. */
struct sc_gemm {
    enum sc_type type;
    int64_t M, N, K;
    const void *a;
    int64_t a_stride;
    const void *packed;
    void *c;
    int64_t c_stride;
};

/* Scratch for one product with at most M rows; n_workers of the team that runs it. */
size_t sc_gemm_scratch_bytes(enum sc_type type, int64_t M, int64_t N, int64_t K, int n_workers);

void sc_gemm_run(const struct sc_kernels *kernels, struct sc_team *team, const struct sc_gemm *gemm, void *scratch);

#endif
