/* SPDX-License-Identifier: Apache-2.0
 * Parts of vec.h on AVX-512: one part of sixteen lanes. */
#ifndef SC_OPS_KERNELS_VEC_AVX512_H
#define SC_OPS_KERNELS_VEC_AVX512_H

#include <immintrin.h>

typedef __m512 vp;
typedef __m512i ip;
typedef __mmask16 mp;
typedef struct {
    vp a;
} v16;
typedef struct {
    ip a;
} w16;
typedef struct {
    mp a;
} m16;

/* The largest register tiles: rows, and panels for each number of rows. */
#define SC_TILE_ROWS 8
#define SC_TILE_PANELS 6
#define SC_TILE_LIST(X) X(1, 6) X(2, 6) X(3, 6) X(4, 6) X(5, 4) X(6, 4) X(7, 3) X(8, 3)
/* All that may come up. */
/* clang-format off */
#define SC_TILE_SHAPES(X) \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) \
    X(2, 1) X(2, 2) X(2, 3) X(2, 4) X(2, 5) X(2, 6) \
    X(3, 1) X(3, 2) X(3, 3) X(3, 4) X(3, 5) X(3, 6) \
    X(4, 1) X(4, 2) X(4, 3) X(4, 4) X(4, 5) X(4, 6) \
    X(5, 1) X(5, 2) X(5, 3) X(5, 4) \
    X(6, 1) X(6, 2) X(6, 3) X(6, 4) \
    X(7, 1) X(7, 2) X(7, 3) \
    X(8, 1) X(8, 2) X(8, 3)
/* clang-format on */
#define SC_TILE_BEST_PANELS 3
#define SC_TILE_PREFETCH_ROWS 8
/* How far ahead B is prefetched, in elements of so many bytes, and into which cache: further where a step takes
 * longer. */
#define SC_TILE_AHEAD(M, bytes) (((M) <= 4 ? 1024 : 3072) / (int)(bytes))
#define SC_TILE_AHEAD_CACHE 2 /* of __builtin_prefetch: the second one */

#define SC_MAP1(f, x)                                                                                                  \
    {                                                                                                                  \
        f((x).a)                                                                                                       \
    }
#define SC_MAP2(f, x, y)                                                                                               \
    {                                                                                                                  \
        f((x).a, (y).a)                                                                                                \
    }
#define SC_MAP3(f, x, y, z)                                                                                            \
    {                                                                                                                  \
        f((x).a, (y).a, (z).a)                                                                                         \
    }

#define p_add _mm512_add_ps
#define p_sub _mm512_sub_ps
#define p_mul _mm512_mul_ps
#define p_div _mm512_div_ps
#define p_min _mm512_min_ps
#define p_max _mm512_max_ps
#define p_fma _mm512_fmadd_ps
#define p_sqrt _mm512_sqrt_ps
#define p_lt(x, y) _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ)
#define p_le(x, y) _mm512_cmp_ps_mask(x, y, _CMP_LE_OQ)
#define p_nan(x) _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q)
#define p_select(m, yes, no) _mm512_mask_blend_ps(m, no, yes)
#define p_iselect(m, yes, no) _mm512_mask_blend_epi32(m, no, yes)
#define p_round(x) _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define p_floor(x) _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define p_ceil(x) _mm512_roundscale_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
#define p_scale _mm512_scalef_ps
#define p_iadd _mm512_add_epi32
#define p_isub _mm512_sub_epi32
#define p_imul _mm512_mullo_epi32
#define p_iand _mm512_and_si512
#define p_ior _mm512_or_si512
#define p_ixor _mm512_xor_si512
#define p_igt _mm512_cmpgt_epi32_mask
#define p_mor(x, y) ((mp)((x) | (y)))
#define p_bits _mm512_castps_si512
#define p_from_bits _mm512_castsi512_ps
#define p_to_int _mm512_cvtps_epi32
#define p_to_float _mm512_cvtepi32_ps
#define w_shl(x, n) ((w16){_mm512_slli_epi32((x).a, n)})
#define w_shr(x, n) ((w16){_mm512_srli_epi32((x).a, n)})

SC_INLINE v16 v_set(float x)
{
    return (v16){_mm512_set1_ps(x)};
}

SC_INLINE w16 w_set(int32_t x)
{
    return (w16){_mm512_set1_epi32(x)};
}

SC_INLINE v16 v_load(const float *x)
{
    return (v16){_mm512_loadu_ps(x)};
}

SC_INLINE void v_store(float *y, v16 x)
{
    _mm512_storeu_ps(y, x.a);
}

SC_INLINE m16 m_first(int n)
{
    return (m16){(mp)((1u << n) - 1)};
}

/* Lanes from n on are zero; n of 0 to 16. */
SC_INLINE v16 v_load_n(const float *x, int n)
{
    return (v16){_mm512_maskz_loadu_ps(m_first(n).a, x)};
}

SC_INLINE void v_store_n(float *y, v16 x, int n)
{
    _mm512_mask_storeu_ps(y, m_first(n).a, x.a);
}

/* Lanes of the mask; the others are zero, and their memory is not touched. */
SC_INLINE v16 v_load_mask(const float *x, m16 mask)
{
    return (v16){_mm512_maskz_loadu_ps(mask.a, x)};
}

SC_INLINE v16 v_gather(const float *x, w16 at, m16 mask)
{
    return (v16){_mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask.a, at.a, x, 4)};
}

SC_INLINE w16 w_load(const int32_t *x)
{
    return (w16){_mm512_loadu_si512((const void *)x)};
}

/* Sixteen 16-bit words, widened with zeros; and the low halves of sixteen words. */
SC_INLINE void w_store(int32_t *y, w16 x)
{
    _mm512_storeu_si512(y, x.a);
}

SC_INLINE w16 w_load_u16(const uint16_t *x)
{
    return (w16){_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)x))};
}

SC_INLINE void w_store_u16(uint16_t *y, w16 x)
{
    _mm256_storeu_si256((void *)y, _mm512_cvtepi32_epi16(x.a));
}

SC_INLINE v16 v_load_f16(const uint16_t *x)
{
    return (v16){_mm512_cvtph_ps(_mm256_loadu_si256((const void *)x))};
}

SC_INLINE void v_store_f16(uint16_t *y, v16 x)
{
    _mm256_storeu_si256((void *)y, _mm512_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Lane j of row i becomes lane i of row j. */
SC_INLINE void v_turn(v16 *x)
{
    __m512 t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) { /* pairs of lanes, in each quarter */
        t[i] = _mm512_unpacklo_ps(x[i].a, x[i + 1].a);
        t[i + 1] = _mm512_unpackhi_ps(x[i].a, x[i + 1].a);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) { /* x[i + l]: lane l of each quarter, of four rows */
        x[i].a = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        x[i + 1].a = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        x[i + 2].a = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        x[i + 3].a = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 16
    for (int l = 0; l < 4; l++) {
        const __m512 a = _mm512_shuffle_f32x4(x[l].a, x[4 + l].a, 0x44),
                     b = _mm512_shuffle_f32x4(x[l].a, x[4 + l].a, 0xee);
        const __m512 c = _mm512_shuffle_f32x4(x[8 + l].a, x[12 + l].a, 0x44),
                     d = _mm512_shuffle_f32x4(x[8 + l].a, x[12 + l].a, 0xee);
        t[l] = _mm512_shuffle_f32x4(a, c, 0x88);
        t[4 + l] = _mm512_shuffle_f32x4(a, c, 0xdd);
        t[8 + l] = _mm512_shuffle_f32x4(b, d, 0x88);
        t[12 + l] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        x[i].a = t[i];
    }
}

/* The even lanes of x, then those of y. */
SC_INLINE v16 v_even(v16 x, v16 y)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return (v16){_mm512_permutex2var_ps(x.a, even, y.a)};
}

/* What v_even takes to the lanes of the mask. */
SC_INLINE void m_spread(m16 mask, m16 *x, m16 *y)
{
    uint32_t bits = mask.a;
    bits = (bits | bits << 8) & 0x00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f;
    bits = (bits | bits << 2) & 0x33333333;
    bits = (bits | bits << 1) & 0x55555555;
    *x = (m16){(mp)bits};
    *y = (m16){(mp)(bits >> 16)};
}

#endif
