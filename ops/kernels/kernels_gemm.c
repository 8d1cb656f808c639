/* SPDX-License-Identifier: Apache-2.0
 * Products of tiles: register tiles of up to SC_TILE_ROWS rows, and for few rows many panels side by side, since then
 * the speed is that of reading B. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

static const int tile_panels[] = {0,
#define X(M, P) P,
    SC_TILE_LIST(X)
#undef X
};

SC_INLINE v16 load_f32(const float *x)
{
    return v_load(x);
}

SC_INLINE v16 load_bf16(const uint16_t *x)
{
    return w_bits(w_shl(w_load_u16(x), 16));
}

#define TILE_NAME K(gemm_tile)
#define TILE_B float
#define TILE_LOAD load_f32
#define TILE_PREFIX tile_f32
#include "ops/kernels/gemm_tile.inc.h"

#define TILE_NAME K(gemm_tile_f16)
#define TILE_B uint16_t
#define TILE_LOAD v_load_f16
#define TILE_PREFIX tile_f16
#include "ops/kernels/gemm_tile.inc.h"

#define TILE_NAME K(gemm_tile_bf16)
#define TILE_B uint16_t
#define TILE_LOAD load_bf16
#define TILE_PREFIX tile_bf16
#include "ops/kernels/gemm_tile.inc.h"

void K(dot_keys)(const float *q, const float *keys, int64_t width, float *s)
{
    const struct sc_gemm_tile tile = {.m = 1,
        .k = width,
        .panels = 4,
        .a = q,
        .a_stride = width,
        .b = keys,
        .panel_stride = 16,
        .b_stride = 64,
        .c = s,
        .c_stride = 64,
        .n = 64};
    K(gemm_tile)(&tile);
}

void K(mix_values)(const float *p, const float *values, int64_t row_stride, int64_t n, int64_t width, float *acc)
{
    const int64_t whole = width / 16 * 16;
    const struct sc_gemm_tile tile = {.m = 1,
        .k = n,
        .panels = whole / 16,
        .a = p,
        .a_stride = n,
        .b = values,
        .panel_stride = 16,
        .b_stride = row_stride,
        .c = acc,
        .c_stride = width,
        .n = whole,
        .accumulate = 1};
    if (row_stride != 0) {
        K(gemm_tile)(&tile);
    }
    const int64_t from = row_stride != 0 ? whole : 0; /* a stride of 0 means 16 to gemm_tile */
    for (int64_t d = from; d < width; d += 16) {
        const int rest = width - d < 16 ? (int)(width - d) : 16;
        v16 sum = v_load_n(acc + d, rest);
        for (int64_t j = 0; j < n; j++) {
            sum = v_fma(v_set(p[j]), v_load_n(values + j * row_stride + d, rest), sum);
        }
        v_store_n(acc + d, sum, rest);
    }
}
