/* SPDX-License-Identifier: Apache-2.0
 * Products of 8-bit integers. Sums are exact and wrap around: nothing can be told of order, tiles, threads or level.
 * Processors multiply i8 by u8, so A is kept as i8 and B as u8. An operand of the other type has its top bits turned,
 * which moves its numbers by 128; sc_bytes_zero moves its zero point along. */
#ifndef SC_OPS_KERNELS_GEMM_BYTES_H
#define SC_OPS_KERNELS_GEMM_BYTES_H

#include "base/team.h"
#include "ops/kernels/kernels.h"
#include "tensor/type.h"

/* A[M, K]: rows of K bytes and zeros up to whole quads, then M sums of rows. */
size_t sc_bytes_rows_size(int64_t M, int64_t K);
void sc_bytes_pack_rows(const struct sc_kernels *kernels, struct sc_team *team, enum sc_type type, const void *data,
    int64_t M, int64_t K, void *packed);
const int32_t *sc_bytes_row_sums(const void *packed, int64_t M, int64_t K);

/* B[K, N], row-major: panels of 16 columns, then sums of columns in whole panels. */
size_t sc_bytes_panels_size(int64_t K, int64_t N);
void sc_bytes_pack_panels(const struct sc_kernels *kernels, struct sc_team *team, enum sc_type type, const void *data,
    int64_t K, int64_t N, void *packed);
const int32_t *sc_bytes_column_sums(const void *packed, int64_t K, int64_t N);

/* A zero point of an operand of `type`, as its packed form has it; is_b: of B. */
int32_t sc_bytes_zero(enum sc_type type, bool is_b, const void *zeros, int64_t at);

/* Bytes of a row of A, and a sixteenth of those of a panel. */
int64_t sc_bytes_depth(int64_t K);

/* The fastest of the kernels for tiles. */
void sc_bytes_tile(const struct sc_kernels *kernels, const struct sc_byte_tile *tile);

#endif
