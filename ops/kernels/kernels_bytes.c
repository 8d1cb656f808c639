/* SPDX-License-Identifier: Apache-2.0
 * Products of bytes, and what is done to their sums. Every level gives the same integers. */
#include "ops/kernels/level.h"
#include "ops/kernels/quads.h"

#if defined(SC_LEVEL_AVX512)
/* clang-format off */
#define BYTE_SHAPES(X) \
    X(1, 1) X(1, 2) X(1, 3) \
    X(2, 1) X(2, 2) X(2, 3) \
    X(3, 1) X(3, 2) X(3, 3) \
    X(4, 1) X(4, 2) \
    X(5, 1) X(5, 2) \
    X(6, 1) X(6, 2)
/* clang-format on */
#define BYTE_ROWS 6
#define BYTE_PANELS 3
#define BYTE_LIST 3, 3, 3, 2, 2, 2
#elif defined(SC_LEVEL_AVX2)
#define BYTE_SHAPES(X) X(1, 1) X(1, 2) X(2, 1) X(3, 1)
#define BYTE_ROWS 3
#define BYTE_PANELS 2
#define BYTE_LIST 2, 1, 1
#else
#define BYTE_SHAPES(X) X(1, 1)
#define BYTE_ROWS 1
#define BYTE_PANELS 1
#define BYTE_LIST 1
#endif
#define BYTE_NAME K(byte_tile)
#define BYTE_QUADS wide
#define BYTE_TARGET
#include "ops/kernels/byte_tile.inc.h"

#if defined(SC_VNNI)
#define BYTE_SHAPES SC_TILE_SHAPES
#define BYTE_ROWS SC_TILE_ROWS
#define BYTE_PANELS SC_TILE_PANELS
#define BYTE_LIST 6, 6, 6, 6, 4, 4, 3, 3
#define BYTE_NAME K(byte_tile_vnni)
#define BYTE_QUADS vnni
#define BYTE_TARGET SC_VNNI
#include "ops/kernels/byte_tile.inc.h"
#endif

/* The top bit turned takes 128 away from u8, or adds it to i8. */
void K(byte_quads)(const uint8_t *const rows[4], uint8_t turn, uint8_t *to, int32_t *sums)
{
    uint8_t four[4][16];
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 16; j++) {
            four[i][j] = rows[i][j] ^ turn;
        }
    }
    for (int j = 0; j < 16; j++) {
        to[4 * j] = four[0][j];
        to[4 * j + 1] = four[1][j];
        to[4 * j + 2] = four[2][j];
        to[4 * j + 3] = four[3][j];
    }
    for (int j = 0; sums != NULL && j < 16; j++) {
        sums[j] += four[0][j] + four[1][j] + four[2][j] + four[3][j];
    }
}

int32_t K(byte_row)(const uint8_t *x, int64_t n, uint8_t turn, int8_t *y)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        y[i] = (int8_t)(x[i] ^ turn);
        sum += y[i];
    }
    return sum;
}

/* 16 bytes whatever the length of a run: the next run, or nothing, is written over what is too much. */
SC_INLINE void gather_row(const struct sc_byte_windows *w, const uint8_t *x, uint8_t *to)
{
    for (int r = 0; r < w->n_runs; r++) {
        const uint8_t *from = x + w->runs[r].from;
        uint8_t *at = to + w->runs[r].at;
        if (w->step == 1) {
            memcpy(at, from, 16);
        } else if (w->step == 2) {
            for (int j = 0; j < 16; j++) {
                at[j] = from[2 * j];
            }
        } else {
            for (int j = 0; j < w->runs[r].n; j++) {
                at[j] = from[j * w->step];
            }
        }
    }
}

void K(gather_bytes)(const struct sc_byte_windows *w, uint8_t *to)
{
    static const uint8_t none[16] = {0};
    uint8_t rows[4][32];
    memset(rows, 0, sizeof(rows));
    for (int64_t k = 0; k < w->k; k += 4) {
        const uint8_t *four[4] = {none, none, none, none};
        for (int i = 0; i < 4 && k + i < w->k; i++) {
            gather_row(w, w->x + w->offsets[k + i], rows[i]);
            four[i] = rows[i];
        }
        K(byte_quads)(four, 0, to, w->sums);
        to += SC_QUAD_BYTES;
    }
}

/* Sixteen bytes `step` apart, a constant of each call but for long steps, of which no more than n are touched; the
 * others have bytes past the last one, as for struct sc_byte_windows. */
SC_INLINE w16 read_apart(const uint8_t *x, int64_t step, int64_t n)
{
    uint8_t bytes[16] = {0};
    if (step == 1) {
        return quad_widen(x);
    }
    if (step == 2) {
        for (int j = 0; j < 16; j++) {
            bytes[j] = x[2 * j];
        }
    } else {
        for (int j = 0; j < 16 && j < n; j++) {
            bytes[j] = x[j * step];
        }
    }
    return quad_widen(bytes);
}

SC_INLINE void sum_taps(const struct sc_byte_taps *t, const int64_t step, int32_t *sums)
{
    for (int64_t i = 0; i < t->n; i += 16) {
        w16 sum = w_set(0);
        for (int64_t k = 0; k < t->n_taps; k++) {
            const w16 x = read_apart(t->x + t->offsets[k] + i * step, step, t->n - i);
            sum = w_add(sum, w_mul(x, w_set(t->w != NULL ? t->w[k] : 1)));
        }
        v_store_n((float *)(void *)(sums + i), w_bits(sum), t->n - i < 16 ? (int)(t->n - i) : 16);
    }
}

void K(byte_taps)(const struct sc_byte_taps *t, int32_t *sums)
{
    if (t->step == 1) {
        sum_taps(t, 1, sums);
    } else if (t->step == 2) {
        sum_taps(t, 2, sums);
    } else {
        sum_taps(t, t->step, sums);
    }
}

void K(shift_sums)(const struct sc_sum_shift *s, int32_t *c, int64_t n)
{
    for (int64_t i = 0; i < n; i += 16) {
        const int rest = n - i < 16 ? (int)(n - i) : 16;
        w16 sum = w_add(v_bits(v_load_n((const float *)(const void *)(c + i), rest)), w_set(s->add));
        for (int t = 0; t < 2; t++) {
            if (s->x[t] != NULL && s->factor[t] != 0) {
                const w16 x = v_bits(v_load_n((const float *)(const void *)(s->x[t] + i), rest));
                sum = w_add(sum, w_mul(x, w_set(s->factor[t])));
            }
        }
        v_store_n((float *)(void *)(c + i), w_bits(sum), rest);
    }
}

/* A loop that compilers turn into vectors; the steps are constants of each call. */
SC_INLINE void to_bytes(
    const struct sc_byte_rounding *r, const int32_t *restrict sums, int64_t n, uint8_t *restrict y, const int step)
{
    const double low = r->is_signed ? -128.0 : 0.0, high = r->is_signed ? 127.0 : 255.0;
    const double bias = r->bias, zero = r->zero, one = r->factors[0];
    const double *restrict factors = r->factors;
    for (int64_t i = 0; i < n; i++) {
        double value = rint(((double)sums[i] + bias) * (step ? factors[i] : one)) + zero;
        value = value >= low ? value : low; /* NaN too */
        value = value <= high ? value : high;
        y[i] = (uint8_t)(int32_t)value;
    }
}

void K(sums_to_bytes)(const struct sc_byte_rounding *r, const int32_t *sums, int64_t n, uint8_t *y)
{
    if (n <= 0) {
        return;
    }
    if (r->factor_step == 0) {
        to_bytes(r, sums, n, y, 0);
    } else {
        to_bytes(r, sums, n, y, 1);
    }
}

SC_INLINE float zero_of(const uint8_t *zeros, int64_t i, const int is_signed)
{
    return is_signed ? (float)(int8_t)zeros[i] : (float)zeros[i];
}

SC_INLINE void from_floats(const float *restrict x, const struct sc_byte_scale *s, int64_t n, uint8_t *restrict y,
    const int step, const int is_signed)
{
    static const uint8_t none[1] = {0};
    const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
    const float *restrict scales = s->scales;
    const uint8_t *restrict zeros = s->zeros != NULL ? s->zeros : none;
    const float scale = scales[0], zero = zero_of(zeros, 0, is_signed);
    for (int64_t i = 0; i < n; i++) {
        float value = rintf(x[i] / (step ? scales[i] : scale)) + (step == 2 ? zero_of(zeros, i, is_signed) : zero);
        value = value >= low ? value : low; /* NaN too */
        value = value <= high ? value : high;
        y[i] = (uint8_t)(int32_t)value;
    }
}

SC_INLINE void to_floats(const uint8_t *restrict x, const struct sc_byte_scale *s, int64_t n, float *restrict y,
    const int step, const int is_signed)
{
    static const uint8_t none[1] = {0};
    const float *restrict scales = s->scales;
    const uint8_t *restrict zeros = s->zeros != NULL ? s->zeros : none;
    const float scale = scales[0], zero = zero_of(zeros, 0, is_signed);
    for (int64_t i = 0; i < n; i++) {
        y[i] =
            (zero_of(x, i, is_signed) - (step == 2 ? zero_of(zeros, i, is_signed) : zero)) * (step ? scales[i] : scale);
    }
}

/* Each case is a loop of its own, which compilers turn into vectors: one scale, many, and many zero points too. */
#define EACH_CASE(fn)                                                                                                  \
    switch (s->step == 0 ? 0 : s->zeros == NULL ? 1 : 2) {                                                             \
    case 0:                                                                                                            \
        (s->is_signed ? fn(x, s, n, y, 0, 1) : fn(x, s, n, y, 0, 0));                                                  \
        break;                                                                                                         \
    case 1:                                                                                                            \
        (s->is_signed ? fn(x, s, n, y, 1, 1) : fn(x, s, n, y, 1, 0));                                                  \
        break;                                                                                                         \
    default:                                                                                                           \
        (s->is_signed ? fn(x, s, n, y, 2, 1) : fn(x, s, n, y, 2, 0));                                                  \
        break;                                                                                                         \
    }

void K(floats_to_bytes)(const float *x, const struct sc_byte_scale *s, int64_t n, uint8_t *y)
{
    if (n > 0) {
        EACH_CASE(from_floats)
    }
}

void K(bytes_to_floats)(const uint8_t *x, const struct sc_byte_scale *s, int64_t n, float *y)
{
    if (n > 0) {
        EACH_CASE(to_floats)
    }
}

void K(widen_range)(const float *x, int64_t n, float *low, float *high)
{
    v16 least = v_set(*low), most = v_set(*high);
    for (int64_t i = 0; i + 16 <= n; i += 16) {
        const v16 value = v_load(x + i);
        least = v_min(value, least);
        most = v_max(value, most);
    }
    float l[16], h[16];
    v_store(l, least);
    v_store(h, most);
    for (int64_t i = n / 16 * 16; i < n; i++) {
        l[0] = x[i] < l[0] ? x[i] : l[0];
        h[0] = x[i] > h[0] ? x[i] : h[0];
    }
    for (int i = 0; i < 16; i++) {
        *low = l[i] < *low ? l[i] : *low;
        *high = h[i] > *high ? h[i] : *high;
    }
}
