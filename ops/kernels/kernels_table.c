/* SPDX-License-Identifier: Apache-2.0
 * The table of this level. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

#define SC_TEXT2(x) #x
#define SC_TEXT(x) SC_TEXT2(x)

const struct sc_kernels *K(table)(void)
{
    static const struct sc_kernels table = {
        .name = SC_TEXT(SC_LEVEL),
#if defined(SC_LEVEL_AVX512)
        .isa = SC_ISA_AVX512,
#elif defined(SC_LEVEL_AVX2)
        .isa = SC_ISA_AVX2,
#else
        .isa = SC_ISA_BASE,
#endif
#define X(name) .unary[SC_UNARY_##name] = K(name),
        SC_UNARY_F32(X)
#undef X
#define X(name) .binary[SC_BINARY_##name] = K(name##_two),
            SC_BINARY_F32(X)
#undef X
                .sum = K(sum),
        .sum_squares = K(sum_squares),
        .max = K(row_max),
        .min = K(row_min),
        .exp_sum = K(exp_sum),
        .scale = K(scale),
        .scale_shift = K(scale_shift),
        .axpy = K(axpy),
        .gemm_tile = K(gemm_tile),
        .gemm_tile_i32 = K(gemm_tile_i32),
        .gemm_tile_f16 = K(gemm_tile_f16),
        .gemm_tile_bf16 = K(gemm_tile_bf16),
        .gemm_rows = SC_TILE_ROWS,
        .gemm_panels = SC_TILE_BEST_PANELS,
        .double_tile = K(double_tile),
        .code_block = K(code_block),
        .dot_codes = K(dot_codes),
        .dot_floats = K(dot_floats),
        .widen_codes = K(widen_codes),
        .floats_to_bytes = K(floats_to_bytes),
        .bytes_to_floats = K(bytes_to_floats),
        .widen_range = K(widen_range),
        .byte_tile = K(byte_tile),
#if defined(SC_LEVEL_AVX512)
        .byte_tile_vnni = K(byte_tile_vnni),
        .dot_codes_vnni = K(dot_codes_vnni),
#endif
        .byte_quads = K(byte_quads),
        .byte_row = K(byte_row),
        .gather_bytes = K(gather_bytes),
        .byte_taps = K(byte_taps),
        .shift_sums = K(shift_sums),
        .sums_to_bytes = K(sums_to_bytes),
        .gather_windows = K(gather_windows),
        .turn = K(turn),
        .copy_rows = K(copy_rows),
        .taps = K(taps),
        .taps_max = K(taps_max),
        .f16_to_f32 = K(f16_to_f32),
        .f32_to_f16 = K(f32_to_f16),
        .bf16_to_f32 = K(bf16_to_f32),
        .f32_to_bf16 = K(f32_to_bf16),
    };
    return &table;
}
