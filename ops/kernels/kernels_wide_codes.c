/* SPDX-License-Identifier: Apache-2.0
 * Codes as the floats that they stand for: in memory for many rows, in registers for few. Both make the same floats. */
#include "ops/kernels/level.h"
#include "ops/kernels/quads.h"
#include "ops/kernels/shapes.h"

/* Rows and panels at once, most rows first. */
#if defined(SC_LEVEL_AVX512)
#define SC_WIDE_SHAPES(X) X(4, 4) X(4, 1) X(2, 4) X(2, 1) X(1, 4) X(1, 1)
#define SC_WIDE_ROWS 4
#define SC_WIDE_PANELS 4
#elif defined(SC_LEVEL_AVX2)
#define SC_WIDE_SHAPES(X) X(4, 1) X(2, 1) X(1, 2) X(1, 1)
#define SC_WIDE_ROWS 4
#define SC_WIDE_PANELS 2
#else
#define SC_WIDE_SHAPES(X) X(1, 1)
#define SC_WIDE_ROWS 1
#define SC_WIDE_PANELS 1
#endif

/* Of one block of a panel. */
struct block {
    v16 scale, zero;
};

SC_INLINE struct block open_block(const struct sc_code_panels *b, int64_t panel, int64_t i)
{
    const int64_t at = b->by_column ? 0 : 16 * i;
    struct block block = {.zero = v_set(b->zero)};
    block.scale = v_load((const float *)(const void *)((const char *)b->scales + panel * b->stride) + at);
    if (b->zeros != NULL) {
        block.zero = w_to_float(quad_widen(b->zeros + panel * b->stride + at));
    } else if (b->float_zeros != NULL) {
        block.zero = v_load((const float *)(const void *)((const char *)b->float_zeros + panel * b->stride) + at);
    }
    return block;
}

SC_INLINE bool have_own_zeros(const struct sc_code_panels *b)
{
    return b->zeros != NULL || b->float_zeros != NULL;
}

/* What each code is less `zero`, for levels that look it up by the low four bits of a lane: of 2-bit codes two are of
 * no account. */
SC_INLINE v16 make_table(float zero, const int bits)
{
    float table[16];
    for (int i = 0; i < 16; i++) {
        table[i] = (float)(bits == 2 ? i % 4 : i) - zero;
    }
    return v_load(table);
}

/* The code of `bits` from `shift` on, of each lane, less `zero`. */
SC_INLINE v16 take_code(w16 lanes, const int shift, v16 zero, const int bits)
{
    return v_sub(w_to_float(w_and(w_shr(lanes, shift), w_set((1 << bits) - 1))), zero);
}

#if defined(SC_LEVEL_AVX512)
SC_INLINE v16 look_up(w16 lanes, const int shift, v16 table)
{
    return (v16){_mm512_permutexvar_ps(w_shr(lanes, shift).a, table.a)};
}
#endif

#define WIDE_BITS 2
#define WIDE_SHARED 0
#include "ops/kernels/wide_codes.inc.h"
#define WIDE_BITS 2
#define WIDE_SHARED 1
#include "ops/kernels/wide_codes.inc.h"
#define WIDE_BITS 4
#define WIDE_SHARED 0
#include "ops/kernels/wide_codes.inc.h"
#define WIDE_BITS 4
#define WIDE_SHARED 1
#include "ops/kernels/wide_codes.inc.h"
#define WIDE_BITS 8
#define WIDE_SHARED 0
#include "ops/kernels/wide_codes.inc.h"
#define WIDE_BITS 8
#define WIDE_SHARED 1
#include "ops/kernels/wide_codes.inc.h"

void K(widen_codes)(const struct sc_code_panels *p, float *to)
{
    static void (*const widen[3][2])(const struct sc_code_panels *, float *) = {
        {widen_2_0, widen_2_1}, {widen_4_0, widen_4_1}, {widen_8_0, widen_8_1}};
    widen[p->bits / 4][!have_own_zeros(p)](p, to);
}

void K(dot_floats)(const struct sc_code_rows *r)
{
    static void (*const dot[3][2])(const struct sc_code_rows *) = {
        {dot_2_0, dot_2_1}, {dot_4_0, dot_4_1}, {dot_8_0, dot_8_1}};
    dot[r->b.bits / 4][!have_own_zeros(&r->b)](r);
}
