/* SPDX-License-Identifier: Apache-2.0
 * Products of rows and weights that are both whole numbers within blocks: sums of a block are exact in any order, and
 * only the chain over blocks is of floats. */
#include "ops/kernels/level.h"
#include "ops/kernels/quads.h"

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

/* Rows at once: as many as keep their sums in registers. */
#if defined(SC_LEVEL_AVX512)
#define SC_CODE_ROWS 8
#elif defined(SC_LEVEL_AVX2)
#define SC_CODE_ROWS 2
#else
#define SC_CODE_ROWS 1
#endif

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
    (d->bits == 2 ? dot_2 : d->bits == 4 ? dot_4 : dot_8)(d);
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
    (d->bits == 2 ? dot_2_vnni : d->bits == 4 ? dot_4_vnni : dot_8_vnni)(d);
}
#endif

/* A lane of a chunk has all codes of its column: byte i of them four at a time, `bits` apart. */
SC_INLINE void widen_chunk(const uint8_t *chunk, v16 scale, v16 zero, float *to, const int bits)
{
    int32_t words[16];
    memcpy(words, chunk, sizeof(words));
    const w16 lanes = w_load(words), mask = w_set((1 << bits) - 1);
    for (int s = 0; s < 8 / bits; s++) {
        for (int i = 0; i < 4; i++) {
            const v16 code = w_to_float(w_and(w_shr(lanes, 8 * i + bits * s), mask));
            v_store(to + 16 * (4 * s + i), v_mul(v_sub(code, zero), scale));
        }
    }
}

void K(widen_codes)(const struct sc_code_panel *p, float *to)
{
    const uint8_t *chunk = p->codes;
    for (int64_t b = 0; b < p->blocks; b++) {
        const v16 scale = v_load(p->scales + 16 * b);
        const v16 zero = p->zeros != NULL ? v_load(p->zeros + 16 * b) : v_set(p->zero);
        for (int64_t k = 0; k < p->block; k += 32 / p->bits) {
            if (p->bits == 4) {
                widen_chunk(chunk, scale, zero, to, 4);
            } else if (p->bits == 8) {
                widen_chunk(chunk, scale, zero, to, 8);
            } else {
                widen_chunk(chunk, scale, zero, to, 2);
            }
            chunk += SC_QUAD_BYTES;
            to += 16 * 32 / p->bits;
        }
    }
}
