/* SPDX-License-Identifier: Apache-2.0
 * Parts of vec.h on AVX2 with FMA and F16C: two parts of eight lanes. */
#ifndef SC_OPS_KERNELS_VEC_AVX2_H
#define SC_OPS_KERNELS_VEC_AVX2_H

#include <immintrin.h>

typedef __m256 vp;
typedef __m256i ip;
typedef __m256 mp;
typedef struct {
    vp a, b;
} v16;
typedef struct {
    ip a, b;
} w16;
typedef struct {
    mp a, b;
} m16;

/* The largest register tiles: rows, and panels for each number of rows. */
#define SC_TILE_ROWS 6
#define SC_TILE_PANELS 6
#define SC_TILE_LIST(X) X(1, 6) X(2, 3) X(3, 2) X(4, 1) X(5, 1) X(6, 1)
/* All that may come up. */
/* clang-format off */
#define SC_TILE_SHAPES(X) \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) \
    X(2, 1) X(2, 2) X(2, 3) \
    X(3, 1) X(3, 2) \
    X(4, 1) \
    X(5, 1) \
    X(6, 1)
/* clang-format on */
#define SC_TILE_BEST_PANELS 1
#define SC_TILE_PREFETCH_ROWS 8
#define SC_TILE_AHEAD(M, bytes) 512 /* how far ahead B is prefetched, in elements of so many bytes */
#define SC_TILE_AHEAD_CACHE 3 /* of __builtin_prefetch: the first one */

#define SC_MAP1(f, x)                                                                                                  \
    {                                                                                                                  \
        f((x).a), f((x).b)                                                                                             \
    }
#define SC_MAP2(f, x, y)                                                                                               \
    {                                                                                                                  \
        f((x).a, (y).a), f((x).b, (y).b)                                                                               \
    }
#define SC_MAP3(f, x, y, z)                                                                                            \
    {                                                                                                                  \
        f((x).a, (y).a, (z).a), f((x).b, (y).b, (z).b)                                                                 \
    }

#define p_add _mm256_add_ps
#define p_sub _mm256_sub_ps
#define p_mul _mm256_mul_ps
#define p_div _mm256_div_ps
#define p_min _mm256_min_ps
#define p_max _mm256_max_ps
#define p_fma _mm256_fmadd_ps
#define p_sqrt _mm256_sqrt_ps
#define p_lt(x, y) _mm256_cmp_ps(x, y, _CMP_LT_OQ)
#define p_le(x, y) _mm256_cmp_ps(x, y, _CMP_LE_OQ)
#define p_nan(x) _mm256_cmp_ps(x, x, _CMP_UNORD_Q)
#define p_select(m, yes, no) _mm256_blendv_ps(no, yes, m)
#define p_iselect(m, yes, no)                                                                                          \
    _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(no), _mm256_castsi256_ps(yes), m))
#define p_round(x) _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define p_floor(x) _mm256_round_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define p_ceil(x) _mm256_round_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
#define p_iadd _mm256_add_epi32
#define p_isub _mm256_sub_epi32
#define p_imul _mm256_mullo_epi32
#define p_iand _mm256_and_si256
#define p_ior _mm256_or_si256
#define p_ixor _mm256_xor_si256
#define p_igt(x, y) _mm256_castsi256_ps(_mm256_cmpgt_epi32(x, y))
#define p_mor _mm256_or_ps
#define p_bits _mm256_castps_si256
#define p_from_bits _mm256_castsi256_ps
#define p_to_int _mm256_cvtps_epi32
#define p_to_float _mm256_cvtepi32_ps
#define w_shl(x, n) ((w16){_mm256_slli_epi32((x).a, n), _mm256_slli_epi32((x).b, n)})
#define w_shr(x, n) ((w16){_mm256_srli_epi32((x).a, n), _mm256_srli_epi32((x).b, n)})

/* In two steps, so that no factor leaves the normal range and only the last step rounds. */
SC_INLINE vp p_scale(vp x, vp n)
{
    const ip whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
    const ip first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const ip second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}

SC_INLINE v16 v_set(float x)
{
    return (v16){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

SC_INLINE w16 w_set(int32_t x)
{
    return (w16){_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}

SC_INLINE v16 v_load(const float *x)
{
    return (v16){_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};
}

SC_INLINE void v_store(float *y, v16 x)
{
    _mm256_storeu_ps(y, x.a);
    _mm256_storeu_ps(y + 8, x.b);
}

SC_INLINE m16 m_first(int n)
{
    const ip low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), limit = _mm256_set1_epi32(n);
    return (m16){p_igt(limit, low), p_igt(limit, _mm256_add_epi32(low, _mm256_set1_epi32(8)))};
}

/* Lanes from n on are zero; n of 0 to 16. */
SC_INLINE v16 v_load_n(const float *x, int n)
{
    const m16 mask = m_first(n);
    v16 r;
    r.a = _mm256_maskload_ps(x, _mm256_castps_si256(mask.a));
    r.b = n > 8 ? _mm256_maskload_ps(x + 8, _mm256_castps_si256(mask.b)) : _mm256_setzero_ps();
    return r;
}

SC_INLINE void v_store_n(float *y, v16 x, int n)
{
    const m16 mask = m_first(n);
    _mm256_maskstore_ps(y, _mm256_castps_si256(mask.a), x.a);
    if (n > 8) {
        _mm256_maskstore_ps(y + 8, _mm256_castps_si256(mask.b), x.b);
    }
}

/* Lanes of the mask; the others are zero, and their memory is not touched. */
SC_INLINE v16 v_load_mask(const float *x, m16 mask)
{
    return (v16){
        _mm256_maskload_ps(x, _mm256_castps_si256(mask.a)), _mm256_maskload_ps(x + 8, _mm256_castps_si256(mask.b))};
}

SC_INLINE v16 v_gather(const float *x, w16 at, m16 mask)
{
    return (v16){_mm256_mask_i32gather_ps(_mm256_setzero_ps(), x, at.a, mask.a, 4),
        _mm256_mask_i32gather_ps(_mm256_setzero_ps(), x, at.b, mask.b, 4)};
}

SC_INLINE w16 w_load(const int32_t *x)
{
    return (w16){_mm256_loadu_si256((const void *)x), _mm256_loadu_si256((const void *)(x + 8))};
}

/* Sixteen 16-bit words, widened with zeros; and the low halves of sixteen words. */
SC_INLINE void w_store(int32_t *y, w16 x)
{
    _mm256_storeu_si256((__m256i *)(void *)y, x.a);
    _mm256_storeu_si256((__m256i *)(void *)(y + 8), x.b);
}

SC_INLINE w16 w_load_u16(const uint16_t *x)
{
    return (w16){_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)x)),
        _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(x + 8)))};
}

SC_INLINE void w_store_u16(uint16_t *y, w16 x)
{
    const ip low = _mm256_set1_epi32(0xffff);
    const ip both = _mm256_packus_epi32(_mm256_and_si256(x.a, low), _mm256_and_si256(x.b, low));
    _mm256_storeu_si256((void *)y, _mm256_permute4x64_epi64(both, 0xd8));
}

SC_INLINE v16 v_load_f16(const uint16_t *x)
{
    return (v16){
        _mm256_cvtph_ps(_mm_loadu_si128((const void *)x)), _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x + 8)))};
}

SC_INLINE void v_store_f16(uint16_t *y, v16 x)
{
    _mm_storeu_si128((void *)y, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128((void *)(y + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* The same for eight rows of eight lanes. */
SC_INLINE void p_turn(vp *x)
{
    vp t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 2) { /* pairs of lanes, in each half */
        t[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 4) { /* x[i + l]: lane l of each half, of four rows */
        x[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        x[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        x[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        x[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 8
    for (int l = 0; l < 4; l++) {
        t[l] = _mm256_permute2f128_ps(x[l], x[4 + l], 0x20);
        t[4 + l] = _mm256_permute2f128_ps(x[l], x[4 + l], 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        x[i] = t[i];
    }
}

/* Lane j of row i becomes lane i of row j. */
SC_INLINE void v_turn(v16 *x)
{
    vp low[16], high[16]; /* lanes 0 to 7 and 8 to 15 of rows */
    for (int i = 0; i < 16; i++) {
        low[i] = x[i].a;
        high[i] = x[i].b;
    }
    p_turn(low);
    p_turn(low + 8);
    p_turn(high);
    p_turn(high + 8);
    for (int i = 0; i < 8; i++) {
        x[i] = (v16){low[i], low[8 + i]};
        x[8 + i] = (v16){high[i], high[8 + i]};
    }
}

/* The even lanes of x, then those of y. */
SC_INLINE vp p_even(vp x, vp y)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(x, y, 0x88)), 0xd8));
}

SC_INLINE v16 v_even(v16 x, v16 y)
{
    return (v16){p_even(x.a, x.b), p_even(y.a, y.b)};
}

/* What v_even takes to the lanes of the mask. */
SC_INLINE m16 p_spread(mp mask)
{
    const mp even = _mm256_castsi256_ps(_mm256_set1_epi64x(0xffffffff));
    const ip low = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3), high = _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7);
    return (m16){_mm256_and_ps(_mm256_permutevar8x32_ps(mask, low), even),
        _mm256_and_ps(_mm256_permutevar8x32_ps(mask, high), even)};
}

SC_INLINE void m_spread(m16 mask, m16 *x, m16 *y)
{
    *x = p_spread(mask.a);
    *y = p_spread(mask.b);
}

#endif
