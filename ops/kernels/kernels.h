/* SPDX-License-Identifier: Apache-2.0
 * The table of kernels of one instruction set level. Passed by pointer: a test holds two levels at once. */
#ifndef SC_OPS_KERNELS_KERNELS_H
#define SC_OPS_KERNELS_KERNELS_H

#include <stdint.h>

#include "base/error.h"

enum sc_isa { SC_ISA_BASE, SC_ISA_AVX2, SC_ISA_AVX512, SC_ISA_N };

/* f32 functions of one argument. Each result depends on its own element alone. Errors within 2 ulp; sigmoid 2.5; silu,
 * gelu and hard_swish 2.5 ulp of the larger of argument and result, as the expansions that they step through. round: half to even.
 */
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
    X(hard_swish)

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

/* The windows at sixteen positions of `channels` planes: entry k (over channels, then kernel entries in row-major order)
 * of position j is put at to[k * row_step + j], zeros where it is outside of the plane. */
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

/* One row times sixteen columns, both of codes in blocks. */
struct sc_code_dot {
    int64_t block, blocks; /* codes of a block, a multiple of 16 and at most 1024; blocks of a row */
    const int8_t *a, *b; /* [blocks * block]; sixteen columns b_stride apart, a's within [-127, 127] */
    int64_t b_stride;
    const float *a_scales, *b_scales; /* [blocks]; [blocks][16] */
    const int32_t *a_sums, *zeros; /* [blocks]; [blocks][16] codes of b that stand for 0, NULL: 0 does */
};

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
    float (*exp_sum)(
        const float *x, float shift, float *y, int64_t n); /* y = exp(x - shift), returns their sum; x may be y */
    void (*scale)(const float *x, float factor, float *y, int64_t n); /* y = x * factor */
    void (*scale_shift)(const float *x, float shift, float factor, const float *weight, const float *bias, float *y,
        int64_t n); /* y = (x - shift) * factor * weight + bias, each step rounded; weight, bias may be NULL */
    void (*axpy)(float a, const float *x, float *y, int64_t n); /* y = fma(a, x, y) */
    void (*gemm_tile)(const struct sc_gemm_tile *tile);
    void (*gemm_tile_i32)(const struct sc_gemm_tile *tile); /* a, b, bias and c point to int32_t; sums wrap around */
    void (*gemm_tile_f16)(const struct sc_gemm_tile *tile); /* B is f16, widened on the way; A and C stay f32 */
    void (*gemm_tile_bf16)(const struct sc_gemm_tile *tile);
    int64_t gemm_rows, gemm_panels; /* the tile that is fastest for large M; never changes a result */
    /* One query row against one block of 64 keys stored [width][64]: s[j] = chain over d of q[d] * k[d][j]. */
    void (*dot_keys)(const float *q, const float *keys, int64_t width, float *s);
    /* acc[d] = chain over j in order of p[j] * v[j][d], added to acc; n of the 64 rows, row_stride elements apart. */
    void (*mix_values)(const float *p, const float *values, int64_t row_stride, int64_t n, int64_t width, float *acc);
    /* n codes of 2, 4 or 8 bits, low bits first, less 2^(bits - 1); n is a multiple of 16. */
    void (*unpack_codes)(const uint8_t *packed, int bits, int64_t n, int8_t *codes);
    /* n floats; the largest in size becomes 127, halves go to even. */
    void (*code_block)(const float *x, int64_t n, struct sc_coded *coded);
    /* y[c] = chain over blocks in order of fma(sum of the block's products, a_scale * b_scale, y[c]). */
    void (*dot_codes)(const struct sc_code_dot *dot, float *y);
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

/* The best level of this CPU, or what SC_CPU=base|avx2|avx512 asks for (SC_BAD_USAGE when it cannot be had). */
enum sc_status sc_kernels_best(const struct sc_kernels **kernels);

#endif
