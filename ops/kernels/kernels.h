/* SPDX-License-Identifier: Apache-2.0
 * The table of kernels of one instruction set level. Passed by pointer: a test holds two levels at once. */
#ifndef SC_OPS_KERNELS_KERNELS_H
#define SC_OPS_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum sc_isa { SC_ISA_BASE, SC_ISA_AVX2, SC_ISA_AVX512, SC_ISA_N };
#define SC_ISA_NAMES "base avx2 avx512" /* in that order */

/* f32 functions of one argument. Each result depends on its own element alone. Errors within 2 ulp; sigmoid 2.5; silu,
 * gelu and hard_swish 2.5 ulp of the larger of argument and result, as the expansions that they step through. round:
 * half to even. */
#define SC_UNARY_F32(X)                                                                                                \
    X(exp)                                                                                                             \
    X(log)                                                                                                             \
    X(sqrt)                                                                                                            \
    X(tanh)                                                                                                            \
    X(sigmoid)                                                                                                         \
    X(erf)                                                                                                             \
    X(sin)                                                                                                             \
    X(cos)                                                                                                             \
    X(neg)                                                                                                             \
    X(abs)                                                                                                             \
    X(reciprocal)                                                                                                      \
    X(floor)                                                                                                           \
    X(ceil)                                                                                                            \
    X(round)                                                                                                           \
    X(relu)                                                                                                            \
    X(silu)                                                                                                            \
    X(gelu_erf)                                                                                                        \
    X(gelu_tanh)                                                                                                       \
    X(softplus)                                                                                                        \
    X(hard_swish)                                                                                                      \
    X(asin)                                                                                                            \
    X(acos)                                                                                                            \
    X(atan)                                                                                                            \
    X(expm1)

/* f32 functions of two arguments. */
#define SC_BINARY_F32(X) X(add) X(sub) X(mul) X(div) X(max) X(min)

enum sc_unary_f32 {
#define X(name) SC_UNARY_##name,
    SC_UNARY_F32(X)
#undef X
        SC_UNARY_N
};

enum sc_binary_f32 {
#define X(name) SC_BINARY_##name,
    SC_BINARY_F32(X)
#undef X
        SC_BINARY_N
};

/* A block-shaped piece of C[M, N] = A[M, K] · B[K, N], B packed in panels of 16 columns: the microkernel's job.
 * Each C[m][n] is one chain c = fma(a[m][k], b[k][n], c) over k in order. */
struct sc_gemm_tile {
    int64_t m, k, panels; /* rows, depth, panels of 16 columns side by side */
    const float *a;
    int64_t a_stride; /* elements between rows of A */
    int64_t a_step; /* elements between columns of A; 0: 1 */
    const void *b; /* first panel: [k][16]; f32 for gemm_tile, 16-bit words for gemm_tile_f16 and _bf16 */
    int64_t panel_stride; /* elements between panels of B */
    int64_t b_stride; /* elements between rows of B; 0: 16 */
    float *c;
    int64_t c_stride;
    int64_t n; /* columns to store: up to 16 * panels */
    int accumulate; /* 0: chains start at zero; 1: at C */
    const float *bias; /* one per row, added to the ends of the chains; NULL: none */
};

/* The windows at sixteen positions of `channels` planes: entry k (over channels, then kernel entries in row-major
 * order) of position j is put at to[k * row_step + j], zeros where it is outside of the plane. */
struct sc_windows {
    const float *x;
    int64_t channels, plane; /* elements between planes */
    int axes;
    const int32_t (*starts)[16]; /* per axis: where the windows begin */
    const int64_t *in, *strides, *kernel, *dilation; /* per axis */
    int n; /* positions that there are; the others give zeros */
    float *to;
    int64_t row_step;
};

/* A block of floats as whole numbers: element i is about codes[i] * scale. NaN and infinities give a scale of NaN. */
struct sc_coded {
    int8_t *codes; /* within [-127, 127] */
    float scale;
    int32_t sum; /* of the codes */
};

/* Panels of codes that stand for (code - zero) * scale: of 2, 4 or 8 bits, without sign, of sixteen columns. They lie
 * in chunks of 64 bytes, each of 8 / bits quads of k: byte 4 j + i of a chunk has, low bits first, entry i of each quad
 * of column j. A block is whole chunks. */
struct sc_code_panels {
    int bits;
    int64_t block, blocks; /* codes of a block, a multiple of 16; blocks of a column */
    const uint8_t *codes;
    const float *scales; /* [blocks][16] */
    const uint8_t *zeros; /* likewise; NULL: none of whole numbers */
    const float *float_zeros; /* likewise; NULL: none of these. Without both, `zero` */
    float zero;
    bool by_column; /* a column has one scale and zero point: scales and zeros are [16] */
    int64_t panels, stride; /* side by side; bytes from one to the next, in each of codes, scales and zeros */
};

/* Rows times panels, both of codes in blocks; y = chain over blocks in order of fma(sum of the block's products,
 * a_scale * b_scale, y). */
struct sc_code_dot {
    struct sc_code_panels b; /* blocks of at most 1024; zero points are whole */
    int64_t rows, a_stride; /* bytes between rows */
    const int8_t *a; /* [rows][blocks * block], within [-127, 127] */
    const float *a_scales; /* [rows][blocks] */
    const int32_t *a_sums; /* [rows][blocks] */
    float *y; /* [rows][16 * panels] */
    int64_t y_stride; /* floats between rows */
};

/* Rows of floats times panels; y = chain over k in order of fma(a, (code - zero) * scale, y): the bits of widen_codes
 * and gemm_tile. */
struct sc_code_rows {
    struct sc_code_panels b;
    int64_t rows, k; /* k: columns of A, of which the last block may have fewer */
    const float *a;
    int64_t a_stride; /* floats between rows */
    float *y; /* [rows][16 * panels] */
    int64_t y_stride;
};

/* Between floats and bytes: scale and zero point of element i are scales[i * step] and zeros[i * step]. */
struct sc_byte_scale {
    const float *scales;
    const uint8_t *zeros; /* of the type of the bytes; NULL: 0 */
    int step; /* 0 or 1 */
    int is_signed; /* i8, else u8 */
};

/* A piece of C[M, N] = A[M, K] · B of bytes, all of K: A of i8, and B of u8 in panels of 16 columns, each [K /
 * 4][16][4]. Sums are exact and wrap around. */
struct sc_byte_tile {
    int64_t m, quads, panels; /* rows, a quarter of the depth, panels side by side */
    const int8_t *a;
    int64_t a_stride; /* bytes between rows of A, whose ends are zeros up to whole quads */
    const uint8_t *b;
    int64_t panel_stride; /* bytes */
    int32_t *c; /* whole panels are written */
    int64_t c_stride;
};

/* The windows of sixteen positions as one panel of bytes: entry k of position j is x[offsets[k] + from + (j - at) *
 * step] of the run that has j. 16 bytes (32 for a step of 2) can be read wherever a run begins. */
struct sc_byte_windows {
    const uint8_t *x;
    const int64_t *offsets;
    int64_t k, step;
    int n_runs;
    struct {
        int64_t from;
        int at, n;
    } runs[16]; /* by position */
    int32_t *sums; /* NULL, or each position's entries are added to it */
};

/* Sums at n positions of a plane: of w[t] * x[offsets[t] + i * step] over t. */
struct sc_byte_taps {
    const uint8_t *x;
    const int64_t *offsets;
    const int8_t *w; /* NULL: all are 1 */
    int64_t n_taps, step, n;
};

/* What is added to a row of sums: add + x[0][i] * factor[0] + x[1][i] * factor[1]; x may be NULL. */
struct sc_sum_shift {
    int32_t add, factor[2];
    const int32_t *x[2];
};

/* Sums to bytes: half to even of (sum + bias) * factors[i * factor_step], + zero, kept within the type. In doubles. */
struct sc_byte_rounding {
    double bias, zero;
    const double *factors;
    int factor_step; /* 0 or 1 */
    int is_signed; /* i8, else u8 */
};

enum { SC_DOUBLE_ROWS = 6, SC_DOUBLE_COLUMNS = 4 };

struct sc_kernels {
    const char *name; /* "base", "avx2", "avx512" */
    enum sc_isa isa;
    void (*unary[SC_UNARY_N])(const float *x, float *y, int64_t n); /* x may be y */
    /* steps are 0 (one value for all) or 1; y may be a or b */
    void (*binary[SC_BINARY_N])(const float *a, int a_step, const float *b, int b_step, float *y, int64_t n);
    /* Reductions over a contiguous row: element i falls in lane i mod 16, lanes are joined in one fixed tree. */
    float (*sum)(const float *x, int64_t n);
    float (*sum_squares)(const float *x, float shift, int64_t n); /* of x[i] - shift */
    float (*max)(const float *x, int64_t n); /* -inf for n = 0; NaN if any is */
    float (*min)(const float *x, int64_t n); /* inf for n = 0; NaN if any is */
    /* y = exp(x - shift), returns their sum; x may be y */
    float (*exp_sum)(const float *x, float shift, float *y, int64_t n);
    void (*scale)(const float *x, float factor, float *y, int64_t n); /* y = x * factor */
    /* y = (x - shift) * factor * weight + bias, each step rounded; weight, bias may be NULL */
    void (*scale_shift)(
        const float *x, float shift, float factor, const float *weight, const float *bias, float *y, int64_t n);
    void (*axpy)(float a, const float *x, float *y, int64_t n); /* y = fma(a, x, y) */
    void (*gemm_tile)(const struct sc_gemm_tile *tile);
    void (*gemm_tile_i32)(const struct sc_gemm_tile *tile); /* a, b, bias and c point to int32_t; sums wrap around */
    void (*gemm_tile_f16)(const struct sc_gemm_tile *tile); /* B is f16, widened on the way; A and C stay f32 */
    void (*gemm_tile_bf16)(const struct sc_gemm_tile *tile);
    int64_t gemm_rows, gemm_panels; /* the tile that is fastest for large M; never changes a result */
    /* sums[i][j] += x[i * x_stride + k] * panel[k][j] over k < n in order, for SC_DOUBLE_ROWS i and SC_DOUBLE_COLUMNS
     * j. */
    void (*double_tile)(const double *x, int64_t x_stride, const double *panel, int64_t n, double *sums);
    /* n floats; the largest in size becomes 127, halves go to even. */
    void (*code_block)(const float *x, int64_t n, struct sc_coded *coded);
    void (*dot_codes)(const struct sc_code_dot *dot);
    void (*dot_codes_vnni)(const struct sc_code_dot *dot); /* NULL: the level has none */
    void (*dot_floats)(const struct sc_code_rows *rows);
    void (*widen_codes)(const struct sc_code_panels *panel, float *to); /* of the first: [blocks * block][16] */
    void (*byte_tile)(const struct sc_byte_tile *tile);
    void (*byte_tile_vnni)(const struct sc_byte_tile *tile); /* for processors with VNNI; NULL: the level has none */
    /* Sixteen bytes of each of four rows, exclusive-or turn, as [16][4]; each column's are added to sums unless it is
     * NULL. */
    void (*byte_quads)(const uint8_t *const rows[4], uint8_t turn, uint8_t *to, int32_t *sums);
    /* y = x exclusive-or turn, as i8; returns their sum. */
    int32_t (*byte_row)(const uint8_t *x, int64_t n, uint8_t turn, int8_t *y);
    void (*gather_bytes)(const struct sc_byte_windows *windows, uint8_t *to);
    void (*byte_taps)(const struct sc_byte_taps *taps, int32_t *sums);
    void (*shift_sums)(const struct sc_sum_shift *shift, int32_t *c, int64_t n);
    void (*sums_to_bytes)(const struct sc_byte_rounding *rounding, const int32_t *sums, int64_t n, uint8_t *y);
    /* Half to even of x / scale, + zero, kept within the type; NaN gives its lowest. And (x - zero) * scale. */
    void (*floats_to_bytes)(const float *x, const struct sc_byte_scale *scale, int64_t n, uint8_t *y);
    void (*bytes_to_floats)(const uint8_t *x, const struct sc_byte_scale *scale, int64_t n, float *y);
    void (*widen_range)(const float *x, int64_t n, float *low, float *high); /* to hold all x; NaN is passed over */
    void (*gather_windows)(const struct sc_windows *windows);
    /* y[j * y_stride + i] = x[i * x_stride + j], + bias[j] unless bias is NULL; i < rows, j < columns. */
    void (*turn)(
        const float *x, int64_t x_stride, int64_t rows, int64_t columns, const float *bias, float *y, int64_t y_stride);
    /* y[r * y_stride + i] = x[r * x_stride + i * step]; step is 1 or 2, and what lies past the last element read is not
     * touched; r < rows, i < n. */
    void (*copy_rows)(const float *x, int64_t x_stride, int step, int64_t rows, int64_t n, float *y, int64_t y_stride);
    /* y[i] = chain over t in order of w[t] * x[offsets[t] + i], then + *bias unless it is NULL; i < n. */
    void (*taps)(
        const float *x, const int64_t *offsets, const float *w, int64_t n_taps, const float *bias, float *y, int64_t n);
    /* The same with the largest of x[offsets[t] + i]; -inf without taps, NaN if any is. */
    void (*taps_max)(const float *x, const int64_t *offsets, int64_t n_taps, float *y, int64_t n);
    void (*f16_to_f32)(const uint16_t *x, float *y, int64_t n);
    void (*f32_to_f16)(const float *x, uint16_t *y, int64_t n); /* round to nearest even */
    void (*bf16_to_f32)(const uint16_t *x, float *y, int64_t n);
    void (*f32_to_bf16)(const float *x, uint16_t *y, int64_t n);
};

/* The table of a level; NULL when this build or CPU does not have it. */
const struct sc_kernels *sc_kernels_at(enum sc_isa isa);

/* Whether this CPU runs the kernels named _vnni. They give the bits of the others, so ranks need not agree on it. */
bool sc_kernels_have_vnni(void);

/* The best level of this CPU, or what SC_CPU=base|avx2|avx512 asks for (SC_BAD_USAGE when it cannot be had). */
enum sc_status sc_kernels_best(const struct sc_kernels **kernels);

#endif
