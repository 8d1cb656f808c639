/* SPDX-License-Identifier: Apache-2.0
 * Arithmetic and reductions over one contiguous row. Lane i mod 16 takes element i; a tail is padded with what changes
 * nothing, so that a row and the same row followed by zeros reduce alike. */
#include "ops/kernels/exp.h"
#include "ops/kernels/level.h"

SC_INLINE v16 b_add(v16 x, v16 y)
{
    return v_add(x, y);
}

SC_INLINE v16 b_sub(v16 x, v16 y)
{
    return v_sub(x, y);
}

SC_INLINE v16 b_mul(v16 x, v16 y)
{
    return v_mul(x, y);
}

SC_INLINE v16 b_div(v16 x, v16 y)
{
    return v_div(x, y);
}

/* NaN if either is. */
SC_INLINE v16 b_max(v16 x, v16 y)
{
    return v_select(v_nan(x), x, v_max(x, y));
}

SC_INLINE v16 b_min(v16 x, v16 y)
{
    return v_select(v_nan(x), x, v_min(x, y));
}

SC_INLINE v16 load_step(const float *x, int step, int64_t i, int64_t n)
{
    if (step == 0) {
        return v_set(*x);
    }
    return n - i >= 16 ? v_load(x + i) : v_load_n(x + i, (int)(n - i));
}

#define X(name)                                                                                                        \
    void K(name##_two)(const float *a, int a_step, const float *b, int b_step, float *y, int64_t n)                    \
    {                                                                                                                  \
        const float a_one = n > 0 ? *a : 0.0f, b_one = n > 0 ? *b : 0.0f; /* y may overwrite them */                   \
        a = a_step == 0 ? &a_one : a;                                                                                  \
        b = b_step == 0 ? &b_one : b;                                                                                  \
        int64_t i = 0;                                                                                                 \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            v_store(y + i, b_##name(load_step(a, a_step, i, n), load_step(b, b_step, i, n)));                          \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            const v16 r = b_##name(load_step(a, a_step, i, n), load_step(b, b_step, i, n));                            \
            v_store_n(y + i, r, (int)(n - i));                                                                         \
        }                                                                                                              \
    }
SC_BINARY_F32(X)
#undef X

float K(sum)(const float *x, int64_t n)
{
    v16 lanes = v_zero();
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        lanes = v_add(lanes, v_load(x + i));
    }
    if (i < n) {
        lanes = v_add(lanes, v_load_n(x + i, (int)(n - i)));
    }
    return v_sum(lanes);
}

float K(sum_squares)(const float *x, float shift, int64_t n)
{
    const v16 s = v_set(shift);
    v16 lanes = v_zero();
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const v16 d = v_sub(v_load(x + i), s);
        lanes = v_fma(d, d, lanes);
    }
    if (i < n) {
        const int rest = (int)(n - i);
        const v16 d = v_select(m_first(rest), v_sub(v_load_n(x + i, rest), s), v_zero());
        lanes = v_fma(d, d, lanes);
    }
    return v_sum(lanes);
}

/* Where `x` is further out, or NaN, it takes the place of `lanes`. */
SC_INLINE v16 extreme_step(v16 lanes, v16 x, bool largest)
{
    return v_select(m_or(largest ? v_lt(lanes, x) : v_lt(x, lanes), v_nan(x)), x, lanes);
}

SC_INLINE float extreme(const float *x, int64_t n, bool largest)
{
    const v16 none = v_set(largest ? -INFINITY : INFINITY);
    v16 lanes = none;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        lanes = extreme_step(lanes, v_load(x + i), largest);
    }
    if (i < n) {
        const int rest = (int)(n - i);
        lanes = extreme_step(lanes, v_select(m_first(rest), v_load_n(x + i, rest), none), largest);
    }
    float l[16];
    v_store(l, lanes);
    for (int half = 8; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            const float a = l[j], b = l[j + half];
            l[j] = (largest ? b > a : b < a) || isnan(b) ? b : a;
        }
    }
    return l[0];
}

float K(row_max)(const float *x, int64_t n)
{
    return extreme(x, n, true);
}

float K(row_min)(const float *x, int64_t n)
{
    return extreme(x, n, false);
}

float K(exp_sum)(const float *x, float shift, float *y, int64_t n)
{
    const v16 s = v_set(shift);
    v16 lanes = v_zero();
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const v16 e = v_exp(v_sub(v_load(x + i), s));
        v_store(y + i, e);
        lanes = v_add(lanes, e);
    }
    if (i < n) {
        const int rest = (int)(n - i);
        const v16 e = v_exp(v_sub(v_load_n(x + i, rest), s));
        v_store_n(y + i, e, rest);
        lanes = v_add(lanes, v_select(m_first(rest), e, v_zero()));
    }
    return v_sum(lanes);
}

void K(scale)(const float *x, float factor, float *y, int64_t n)
{
    const v16 f = v_set(factor);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        v_store(y + i, v_mul(v_load(x + i), f));
    }
    if (i < n) {
        v_store_n(y + i, v_mul(v_load_n(x + i, (int)(n - i)), f), (int)(n - i));
    }
}

void K(scale_shift)(
    const float *x, float shift, float factor, const float *weight, const float *bias, float *y, int64_t n)
{
    const v16 s = v_set(shift), f = v_set(factor);
    for (int64_t i = 0; i < n; i += 16) {
        const int rest = n - i < 16 ? (int)(n - i) : 16;
        v16 r = v_mul(v_sub(v_load_n(x + i, rest), s), f);
        r = weight != NULL ? v_mul(r, v_load_n(weight + i, rest)) : r;
        r = bias != NULL ? v_add(r, v_load_n(bias + i, rest)) : r;
        v_store_n(y + i, r, rest);
    }
}

void K(axpy)(float a, const float *x, float *y, int64_t n)
{
    const v16 f = v_set(a);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        v_store(y + i, v_fma(f, v_load(x + i), v_load(y + i)));
    }
    if (i < n) {
        const int rest = (int)(n - i);
        v_store_n(y + i, v_fma(f, v_load_n(x + i, rest), v_load_n(y + i, rest)), rest);
    }
}
