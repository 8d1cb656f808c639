/* SPDX-License-Identifier: Apache-2.0
 * Names of one level's functions, for the files that are compiled once per level: K(sum) is sc_k_sum_avx2, say. */
#ifndef SC_OPS_KERNELS_LEVEL_H
#define SC_OPS_KERNELS_LEVEL_H

#include "ops/kernels/kernels.h"

#define SC_PASTE3(a, b, c) a##b##_##c
#define SC_PASTE(a, b, c) SC_PASTE3(a, b, c)
#define K(name) SC_PASTE(sc_k_, name, SC_LEVEL)

#define X(name) void K(name)(const float *x, float *y, int64_t n);
SC_UNARY_F32(X)
#undef X
#define X(name) void K(name##_two)(const float *a, int a_step, const float *b, int b_step, float *y, int64_t n);
SC_BINARY_F32(X)
#undef X

float K(sum)(const float *x, int64_t n);
float K(sum_squares)(const float *x, float shift, int64_t n);
float K(row_max)(const float *x, int64_t n);
float K(row_min)(const float *x, int64_t n);
float K(exp_sum)(const float *x, float shift, float *y, int64_t n);
void K(scale)(const float *x, float factor, float *y, int64_t n);
void K(scale_shift)(
    const float *x, float shift, float factor, const float *weight, const float *bias, float *y, int64_t n);
void K(axpy)(float a, const float *x, float *y, int64_t n);
void K(code_block)(const float *x, int64_t n, struct sc_coded *coded);
void K(dot_codes)(const struct sc_code_dot *d);
void K(dot_codes_vnni)(const struct sc_code_dot *d);
void K(dot_floats)(const struct sc_code_rows *r);
void K(widen_codes)(const struct sc_code_panels *p, float *to);
void K(floats_to_bytes)(const float *x, const struct sc_byte_scale *s, int64_t n, uint8_t *y);
void K(bytes_to_floats)(const uint8_t *x, const struct sc_byte_scale *s, int64_t n, float *y);
void K(widen_range)(const float *x, int64_t n, float *low, float *high);
void K(byte_tile)(const struct sc_byte_tile *t);
void K(byte_tile_vnni)(const struct sc_byte_tile *t);
void K(byte_quads)(const uint8_t *const rows[4], uint8_t turn, uint8_t *to, int32_t *sums);
int32_t K(byte_row)(const uint8_t *x, int64_t n, uint8_t turn, int8_t *y);
void K(gather_bytes)(const struct sc_byte_windows *w, uint8_t *to);
void K(byte_taps)(const struct sc_byte_taps *t, int32_t *sums);
void K(shift_sums)(const struct sc_sum_shift *s, int32_t *c, int64_t n);
void K(sums_to_bytes)(const struct sc_byte_rounding *r, const int32_t *sums, int64_t n, uint8_t *y);
void K(gather_windows)(const struct sc_windows *windows);
void K(turn)(
    const float *x, int64_t x_stride, int64_t rows, int64_t columns, const float *bias, float *y, int64_t y_stride);
void K(copy_rows)(const float *x, int64_t x_stride, int step, int64_t rows, int64_t n, float *y, int64_t y_stride);
void K(taps)(
    const float *x, const int64_t *offsets, const float *w, int64_t n_taps, const float *bias, float *y, int64_t n);
void K(taps_max)(const float *x, const int64_t *offsets, int64_t n_taps, float *y, int64_t n);
void K(f16_to_f32)(const uint16_t *x, float *y, int64_t n);
void K(f32_to_f16)(const float *x, uint16_t *y, int64_t n);
void K(bf16_to_f32)(const uint16_t *x, float *y, int64_t n);
void K(f32_to_bf16)(const float *x, uint16_t *y, int64_t n);
void K(gemm_tile)(const struct sc_gemm_tile *tile);
void K(gemm_tile_i32)(const struct sc_gemm_tile *tile);
void K(gemm_tile_f16)(const struct sc_gemm_tile *tile);
void K(gemm_tile_bf16)(const struct sc_gemm_tile *tile);
void K(double_tile)(const double *x, int64_t x_stride, const double *panel, int64_t n, double *sums);

const struct sc_kernels *K(table)(void);

#endif
