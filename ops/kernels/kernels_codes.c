/* SPDX-License-Identifier: Apache-2.0
 * Products of rows and weights that are both whole numbers within blocks: sums of a block are exact in any order, and
 * only the chain over blocks is of floats. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

void K(unpack_codes)(const uint8_t *restrict packed, int bits, int64_t n, int8_t *restrict codes)
{
    if (bits == 4) {
        for (int64_t i = 0; i < n / 2; i++) {
            codes[2 * i] = (int8_t)((packed[i] & 15) - 8);
            codes[2 * i + 1] = (int8_t)((packed[i] >> 4) - 8);
        }
    } else if (bits == 8) {
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (int8_t)(packed[i] - 128);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (int8_t)((packed[i / 4] >> (i % 4 * 2) & 3) - 2);
        }
    }
}

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

#if defined(SC_LEVEL_AVX2) || defined(SC_LEVEL_AVX512)
/* Products of 32 codes: |b| times a with b's sign, whose pairs stay within 16 bits as no code of a is -128. */
SC_INLINE __m256i dot_32(const int8_t *a, const int8_t *b, __m256i sum)
{
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)a);
    const __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)b);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(y), _mm256_sign_epi8(x, y));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

SC_INLINE __m256i dot_16(const int8_t *a, const int8_t *b, __m256i sum)
{
    const __m256i x = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)a));
    const __m256i y = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)b));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, y));
}

SC_INLINE __m256i dot_block(const int8_t *a, const int8_t *b, int64_t block)
{
    __m256i sum = _mm256_setzero_si256();
    int64_t i = 0;
    for (; i + 32 <= block; i += 32) {
        sum = dot_32(a + i, b + i, sum);
    }
    return i < block ? dot_16(a + i, b + i, sum) : sum;
}

/* Four columns at a time share their additions across. */
SC_INLINE void dot_columns(const struct sc_code_dot *d, int64_t at, int32_t *sums)
{
    const int8_t *a = d->a + at;
    for (int c = 0; c < 16; c += 4) {
        const int8_t *b = d->b + c * d->b_stride + at;
        const __m256i low = _mm256_hadd_epi32(dot_block(a, b, d->block), dot_block(a, b + d->b_stride, d->block));
        const __m256i high =
            _mm256_hadd_epi32(dot_block(a, b + 2 * d->b_stride, d->block), dot_block(a, b + 3 * d->b_stride, d->block));
        const __m256i four = _mm256_hadd_epi32(low, high);
        const __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
        _mm_storeu_si128((__m128i *)(void *)(sums + c), sum);
    }
}
#else
SC_INLINE void dot_columns(const struct sc_code_dot *d, int64_t at, int32_t *sums)
{
    for (int c = 0; c < 16; c++) {
        const int8_t *b = d->b + c * d->b_stride;
        int32_t sum = 0;
        for (int64_t i = at; i < at + d->block; i++) {
            sum += d->a[i] * b[i];
        }
        sums[c] = sum;
    }
}
#endif

void K(dot_codes)(const struct sc_code_dot *d, float *y)
{
    v16 total = v_zero();
    for (int64_t b = 0; b < d->blocks; b++) {
        int32_t sums[16];
        dot_columns(d, b * d->block, sums);
        if (d->zeros) {
            const int32_t *zeros = d->zeros + 16 * b;
            for (int c = 0; c < 16; c++) {
                sums[c] -= zeros[c] * d->a_sums[b];
            }
        }
        const v16 scale = v_mul(v_load(d->b_scales + 16 * b), v_set(d->a_scales[b]));
        total = v_fma(w_to_float(w_load(sums)), scale, total);
    }
    v_store(y, total);
}
