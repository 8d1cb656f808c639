/* SPDX-License-Identifier: Apache-2.0
 * v16: sixteen f32 lanes, whatever the instruction set: one zmm, two ymm or four 128-bit parts.
 * Kernels are written on v16, so that element i falls in lane i mod 16 on every level. All functions are static:
 * code of a level must not leak into another level's objects. */
#ifndef SC_OPS_KERNELS_VEC_H
#define SC_OPS_KERNELS_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define SC_INLINE static inline __attribute__((always_inline))

/* Each gives: part types vp (floats), ip (int32), mp (mask); p_* on them; SC_PARTS lanes of a part;
 * SC_MAP1..3(f, ...) that apply f to each part, in braces. */
#if defined(SC_LEVEL_AVX512)
#include "ops/kernels/vec_avx512.h"
#elif defined(SC_LEVEL_AVX2)
#include "ops/kernels/vec_avx2.h"
#else
#include "ops/kernels/vec_base.h"
#endif

#define SC_VEC1(name, part, R, A)                                                                                      \
    SC_INLINE R name(A x)                                                                                              \
    {                                                                                                                  \
        return (R)SC_MAP1(part, x);                                                                                    \
    }
#define SC_VEC2(name, part, R, A)                                                                                      \
    SC_INLINE R name(A x, A y)                                                                                         \
    {                                                                                                                  \
        return (R)SC_MAP2(part, x, y);                                                                                 \
    }

SC_VEC2(v_add, p_add, v16, v16)
SC_VEC2(v_sub, p_sub, v16, v16)
SC_VEC2(v_mul, p_mul, v16, v16)
SC_VEC2(v_div, p_div, v16, v16)
SC_VEC2(v_min, p_min, v16, v16) /* x < y ? x : y, so y when either is NaN */
SC_VEC2(v_max, p_max, v16, v16) /* x > y ? x : y */
SC_VEC2(v_lt, p_lt, m16, v16)
SC_VEC2(v_le, p_le, m16, v16)
SC_VEC2(w_add, p_iadd, w16, w16)
SC_VEC2(w_sub, p_isub, w16, w16)
SC_VEC2(w_mul, p_imul, w16, w16) /* the low half */
SC_VEC2(w_and, p_iand, w16, w16)
SC_VEC2(w_or, p_ior, w16, w16)
SC_VEC2(w_xor, p_ixor, w16, w16)
SC_VEC2(w_gt, p_igt, m16, w16) /* signed */
SC_VEC2(m_or, p_mor, m16, m16)
SC_VEC1(v_sqrt, p_sqrt, v16, v16)
SC_VEC1(v_nan, p_nan, m16, v16) /* where x is NaN */
SC_VEC1(v_round, p_round, v16, v16) /* half to even; the sign of zero stays */
SC_VEC1(v_floor, p_floor, v16, v16)
SC_VEC1(v_ceil, p_ceil, v16, v16)
SC_VEC1(v_bits, p_bits, w16, v16)
SC_VEC1(w_bits, p_from_bits, v16, w16)
SC_VEC1(v_to_int, p_to_int, w16, v16) /* of whole numbers within int32 */
SC_VEC1(w_to_float, p_to_float, v16, w16)

/* x * y + z: fused where the level has FMA, else rounded twice. */
SC_INLINE v16 v_fma(v16 x, v16 y, v16 z)
{
    return (v16)SC_MAP3(p_fma, x, y, z);
}

SC_INLINE v16 v_select(m16 mask, v16 yes, v16 no)
{
    return (v16)SC_MAP3(p_select, mask, yes, no);
}

SC_INLINE w16 w_select(m16 mask, w16 yes, w16 no)
{
    return (w16)SC_MAP3(p_iselect, mask, yes, no);
}

/* x * 2^n for whole n in [-150, 128], rounded once. */
SC_INLINE v16 v_scale(v16 x, v16 n)
{
    return (v16)SC_MAP2(p_scale, x, n);
}

SC_INLINE v16 v_zero(void)
{
    return v_set(0.0f);
}

SC_INLINE v16 v_abs(v16 x)
{
    return w_bits(w_and(v_bits(x), w_set(0x7fffffff)));
}

SC_INLINE v16 v_neg(v16 x)
{
    return w_bits(w_xor(v_bits(x), w_set(INT32_MIN)));
}

/* |x| with the sign of y. */
SC_INLINE v16 v_sign(v16 x, v16 y)
{
    const w16 sign = w_set(INT32_MIN);
    return w_bits(w_or(v_bits(v_abs(x)), w_and(v_bits(y), sign)));
}

/* Lanes joined as ((l0+l8)+(l4+l12)) ...: the one tree. */
SC_INLINE float v_sum(v16 x)
{
    float l[16];
    v_store(l, x);
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            l[i] += l[i + half];
        }
    }
    return l[0];
}

#endif
