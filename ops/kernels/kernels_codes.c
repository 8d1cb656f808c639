/* SPDX-License-Identifier: Apache-2.0
 * Products of rows and weights that are both whole numbers within blocks: sums of a block are exact in any order, and
 * only the chain over blocks is of floats. */
#include "ops/kernels/level.h"
#include "ops/kernels/quads.h"
#include "ops/kernels/shapes.h"

void K(code_block)(const float *x, int64_t n, struct sc_coded *coded)
{
    v16 most = v_zero(), bad = v_zero();
    for (int64_t i = 0; i < n; i += 16) {
        const v16 size = v_abs(v_load_n(x + i, n - i < 16 ? (int)(n - i) : 16));
        most = v_max(most, size);
        bad = v_add(bad, v_sub(size, size)); /* NaN where an element is none of the finite numbers */
    }
    float lanes[16], largest = 0;
    int32_t whole[16];
    v_store(lanes, most);
    for (int i = 0; i < 16; i++) {
        largest = lanes[i] > largest ? lanes[i] : largest;
    }
    const float inverse = largest > 1e-30F ? 127.0F / largest : 0.0F;
    coded->scale = inverse > 0 ? largest / 127.0F + v_sum(bad) : v_sum(bad);
    coded->sum = 0;
    for (int64_t i = 0; i < n; i += 16) {
        const int rest = n - i < 16 ? (int)(n - i) : 16;
        v16 y = v_round(v_mul(v_load_n(x + i, rest), v_set(inverse)));
        y = v_select(v_le(v_abs(y), v_set(127.0F)), y, v_zero()); /* NaN has no code; its scale tells */
        w_store(whole, v_to_int(y));
        for (int j = 0; j < rest; j++) {
            coded->codes[i + j] = (int8_t)whole[j];
            coded->sum += whole[j];
        }
    }
}

/* Rows and panels at once, most rows first: as many as keep their sums in registers. Few rows take panels side by side,
 * since their speed is that of reading them. */
#if defined(SC_LEVEL_AVX512)
#define SC_CODE_SHAPES(X) X(8, 1) X(4, 2) X(4, 1) X(2, 4) X(2, 1) X(1, 4) X(1, 1)
#define SC_CODE_ROWS 8
#define SC_CODE_PANELS 4
#elif defined(SC_LEVEL_AVX2)
#define SC_CODE_SHAPES(X) X(2, 1) X(1, 2) X(1, 1)
#define SC_CODE_ROWS 2
#define SC_CODE_PANELS 2
#else
#define SC_CODE_SHAPES(X) X(1, 1)
#define SC_CODE_ROWS 1
#define SC_CODE_PANELS 1
#endif

SC_INLINE v16 code_scales(const struct sc_code_panels *b, int64_t panel, int64_t i)
{
    const float *scales = (const float *)(const void *)((const char *)b->scales + panel * b->stride);
    return v_load(scales + (b->by_column ? 0 : 16 * i));
}

/* What zero points take away from a block's sums of products. */
SC_INLINE w16 code_shift(const struct sc_code_panels *b, int64_t panel, int64_t i, int32_t a_sum)
{
    if (b->zeros == NULL) {
        return w_set((int32_t)b->zero * a_sum);
    }
    return w_mul(quad_widen(b->zeros + panel * b->stride + (b->by_column ? 0 : 16 * i)), w_set(a_sum));
}

#define CODE_NAME dot_2
#define CODE_QUADS narrow
#define CODE_BITS 2
#define CODE_TAKE(chunk, s) narrow_take(chunk, 2 * (s), 3)
#define CODE_TARGET
#include "ops/kernels/code_dot.inc.h"

#define CODE_NAME dot_4
#define CODE_QUADS narrow
#define CODE_BITS 4
#define CODE_TAKE(chunk, s) narrow_take(chunk, 4 * (s), 15)
#define CODE_TARGET
#include "ops/kernels/code_dot.inc.h"

#define CODE_NAME dot_8
#define CODE_QUADS wide
#define CODE_BITS 8
#define CODE_TAKE(chunk, s) wide_load(chunk)
#define CODE_TARGET
#include "ops/kernels/code_dot.inc.h"

void K(dot_codes)(const struct sc_code_dot *d)
{
    (d->b.bits == 2 ? dot_2 : d->b.bits == 4 ? dot_4 : dot_8)(d);
}

#if defined(SC_VNNI)
#define CODE_NAME dot_2_vnni
#define CODE_QUADS vnni
#define CODE_BITS 2
#define CODE_TAKE(chunk, s) vnni_take(chunk, 2 * (s), 3)
#define CODE_TARGET SC_VNNI
#include "ops/kernels/code_dot.inc.h"

#define CODE_NAME dot_4_vnni
#define CODE_QUADS vnni
#define CODE_BITS 4
#define CODE_TAKE(chunk, s) vnni_take(chunk, 4 * (s), 15)
#define CODE_TARGET SC_VNNI
#include "ops/kernels/code_dot.inc.h"

#define CODE_NAME dot_8_vnni
#define CODE_QUADS vnni
#define CODE_BITS 8
#define CODE_TAKE(chunk, s) vnni_load(chunk)
#define CODE_TARGET SC_VNNI
#include "ops/kernels/code_dot.inc.h"

void K(dot_codes_vnni)(const struct sc_code_dot *d)
{
    (d->b.bits == 2 ? dot_2_vnni : d->b.bits == 4 ? dot_4_vnni : dot_8_vnni)(d);
}
#endif
