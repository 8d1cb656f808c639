/* SPDX-License-Identifier: Apache-2.0
 * Sixteen sums of products of bytes: four of A (i8), the same for all sums, by four of B (u8) for each of sixteen
 * columns, which lie as [16][4]. Every way gives the same sums, exactly.
 *   wide    any B
 *   narrow  B below 64, so that two products fit 16 bits; _take gives (byte >> shift) & mask
 *   vnni    any B, on processors that have the instruction (AVX-512 alone) */
#ifndef SC_OPS_KERNELS_QUADS_H
#define SC_OPS_KERNELS_QUADS_H

#include "ops/kernels/vec.h"

enum { SC_QUAD_BYTES = 64 }; /* of B */

/* Products of few rows run at the speed of reading codes, which so many bytes ahead, and scales so many blocks, are
 * asked for in the second cache. */
enum { SC_CODE_AHEAD = 2048, SC_SCALES_AHEAD = 8, SC_CODE_PREFETCH_ROWS = 4 };

SC_INLINE void code_prefetch(const void *at)
{
    __builtin_prefetch(at, 0, 2);
}

/* Sixteen bytes, widened with zeros. */
SC_INLINE w16 quad_widen(const uint8_t *x)
{
#if defined(SC_LEVEL_AVX512)
    return (w16){_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)x))};
#elif defined(SC_LEVEL_AVX2)
    return (w16){_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)x)),
        _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(x + 8)))};
#else
    int32_t wide[16];
    for (int i = 0; i < 16; i++) {
        wide[i] = x[i];
    }
    return w_load(wide);
#endif
}

SC_INLINE int32_t quad_word(const int8_t *a)
{
    int32_t word;
    memcpy(&word, a, sizeof(word));
    return word;
}

#if defined(SC_LEVEL_AVX512)

/* Of each column two sums, of even and of odd pairs of k: columns 0 to 7, then 8 to 15. */
typedef struct {
    __m512i low, high;
} wide_sums;
typedef wide_sums wide_b;
typedef __m512i wide_a;

SC_INLINE wide_sums wide_zero(void)
{
    return (wide_sums){_mm512_setzero_si512(), _mm512_setzero_si512()};
}

SC_INLINE wide_b wide_load(const uint8_t *b)
{
    return (wide_b){_mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)b)),
        _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(b + 32)))};
}

SC_INLINE wide_a wide_set(const int8_t *a)
{
    return _mm512_cvtepi8_epi16(_mm256_set1_epi32(quad_word(a)));
}

SC_INLINE wide_sums wide_step(wide_a a, wide_b b, wide_sums sums)
{
    return (wide_sums){_mm512_add_epi32(sums.low, _mm512_madd_epi16(b.low, a)),
        _mm512_add_epi32(sums.high, _mm512_madd_epi16(b.high, a))};
}

SC_INLINE w16 wide_end(wide_sums sums)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return (w16){_mm512_add_epi32(
        _mm512_permutex2var_epi32(sums.low, even, sums.high), _mm512_permutex2var_epi32(sums.low, odd, sums.high))};
}

typedef __m512i narrow_sums, narrow_b, narrow_a;

SC_INLINE narrow_sums narrow_zero(void)
{
    return _mm512_setzero_si512();
}

SC_INLINE narrow_b narrow_take(const uint8_t *b, int shift, int mask)
{
    const __m512i bytes = _mm512_srli_epi16(_mm512_loadu_si512((const void *)b), (unsigned)shift);
    return _mm512_and_si512(bytes, _mm512_set1_epi8((char)mask));
}

SC_INLINE narrow_a narrow_set(const int8_t *a)
{
    return _mm512_set1_epi32(quad_word(a));
}

SC_INLINE narrow_sums narrow_step(narrow_a a, narrow_b b, narrow_sums sums)
{
    return _mm512_add_epi32(sums, _mm512_madd_epi16(_mm512_maddubs_epi16(b, a), _mm512_set1_epi16(1)));
}

SC_INLINE w16 narrow_end(narrow_sums sums)
{
    return (w16){sums};
}

#define SC_VNNI __attribute__((target("avx512vnni")))
typedef __m512i vnni_sums, vnni_b, vnni_a;

SC_VNNI SC_INLINE vnni_sums vnni_zero(void)
{
    return _mm512_setzero_si512();
}

SC_VNNI SC_INLINE vnni_b vnni_load(const uint8_t *b)
{
    return _mm512_loadu_si512((const void *)b);
}

SC_VNNI SC_INLINE vnni_b vnni_take(const uint8_t *b, int shift, int mask)
{
    const __m512i bytes = _mm512_srli_epi16(_mm512_loadu_si512((const void *)b), (unsigned)shift);
    return _mm512_and_si512(bytes, _mm512_set1_epi8((char)mask));
}

SC_VNNI SC_INLINE vnni_a vnni_set(const int8_t *a)
{
    return _mm512_set1_epi32(quad_word(a));
}

SC_VNNI SC_INLINE vnni_sums vnni_step(vnni_a a, vnni_b b, vnni_sums sums)
{
    return _mm512_dpbusd_epi32(sums, b, a);
}

SC_VNNI SC_INLINE w16 vnni_end(vnni_sums sums)
{
    return (w16){sums};
}

#elif defined(SC_LEVEL_AVX2)

/* Of each column two sums, of even and of odd pairs of k; four columns a part. */
typedef struct {
    __m256i part[4];
} wide_sums;
typedef wide_sums wide_b;
typedef __m256i wide_a;

SC_INLINE wide_sums wide_zero(void)
{
    const __m256i zero = _mm256_setzero_si256();
    return (wide_sums){{zero, zero, zero, zero}};
}

SC_INLINE __m256i wide_widen(const uint8_t *b)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)b));
}

SC_INLINE wide_b wide_load(const uint8_t *b)
{
    return (wide_b){{wide_widen(b), wide_widen(b + 16), wide_widen(b + 32), wide_widen(b + 48)}};
}

SC_INLINE wide_a wide_set(const int8_t *a)
{
    return _mm256_cvtepi8_epi16(_mm_set1_epi32(quad_word(a)));
}

SC_INLINE wide_sums wide_step(wide_a a, wide_b b, wide_sums sums)
{
    for (int i = 0; i < 4; i++) {
        sums.part[i] = _mm256_add_epi32(sums.part[i], _mm256_madd_epi16(b.part[i], a));
    }
    return sums;
}

SC_INLINE w16 wide_end(wide_sums sums)
{
    const __m256i low = _mm256_hadd_epi32(sums.part[0], sums.part[1]);
    const __m256i high = _mm256_hadd_epi32(sums.part[2], sums.part[3]);
    return (w16){_mm256_permute4x64_epi64(low, 0xd8), _mm256_permute4x64_epi64(high, 0xd8)};
}

typedef struct {
    __m256i low, high;
} narrow_sums;
typedef narrow_sums narrow_b;
typedef __m256i narrow_a;

SC_INLINE narrow_sums narrow_zero(void)
{
    return (narrow_sums){_mm256_setzero_si256(), _mm256_setzero_si256()};
}

SC_INLINE __m256i narrow_half(const uint8_t *b, int shift, int mask)
{
    const __m256i bytes = _mm256_srli_epi16(_mm256_loadu_si256((const void *)b), shift);
    return _mm256_and_si256(bytes, _mm256_set1_epi8((char)mask));
}

SC_INLINE narrow_b narrow_take(const uint8_t *b, int shift, int mask)
{
    return (narrow_b){narrow_half(b, shift, mask), narrow_half(b + 32, shift, mask)};
}

SC_INLINE narrow_a narrow_set(const int8_t *a)
{
    return _mm256_set1_epi32(quad_word(a));
}

SC_INLINE __m256i narrow_pairs(__m256i a, __m256i b)
{
    return _mm256_madd_epi16(_mm256_maddubs_epi16(b, a), _mm256_set1_epi16(1));
}

SC_INLINE narrow_sums narrow_step(narrow_a a, narrow_b b, narrow_sums sums)
{
    return (narrow_sums){
        _mm256_add_epi32(sums.low, narrow_pairs(a, b.low)), _mm256_add_epi32(sums.high, narrow_pairs(a, b.high))};
}

SC_INLINE w16 narrow_end(narrow_sums sums)
{
    return (w16){sums.low, sums.high};
}

#else

typedef struct {
    int32_t at[16];
} wide_sums;
typedef const uint8_t *wide_b;
typedef const int8_t *wide_a;

SC_INLINE wide_sums wide_zero(void)
{
    return (wide_sums){{0}};
}

SC_INLINE wide_b wide_load(const uint8_t *b)
{
    return b;
}

SC_INLINE wide_a wide_set(const int8_t *a)
{
    return a;
}

SC_INLINE wide_sums wide_step(wide_a a, wide_b b, wide_sums sums)
{
    for (int j = 0; j < 16; j++) {
        const int32_t sum = a[0] * b[4 * j] + a[1] * b[4 * j + 1] + a[2] * b[4 * j + 2] + a[3] * b[4 * j + 3];
        sums.at[j] = (int32_t)((uint32_t)sums.at[j] + (uint32_t)sum);
    }
    return sums;
}

SC_INLINE w16 wide_end(wide_sums sums)
{
    return w_load(sums.at);
}

typedef wide_sums narrow_sums;
typedef struct {
    uint8_t at[SC_QUAD_BYTES];
} narrow_b;
typedef wide_a narrow_a;
#define narrow_zero wide_zero
#define narrow_set wide_set
#define narrow_end wide_end

SC_INLINE narrow_b narrow_take(const uint8_t *b, int shift, int mask)
{
    narrow_b bytes;
    for (int i = 0; i < SC_QUAD_BYTES; i++) {
        bytes.at[i] = (uint8_t)(b[i] >> shift & mask);
    }
    return bytes;
}

SC_INLINE narrow_sums narrow_step(narrow_a a, narrow_b b, narrow_sums sums)
{
    return wide_step(a, b.at, sums);
}

#endif

#endif
