/* SPDX-License-Identifier: Apache-2.0
 * Functions of one f32 argument, sixteen lanes at a time. A tail runs the same code on a padded copy, so that a result
 * depends on its element alone. Polynomials are minimax fits made for these ranges. */
#include "ops/kernels/exp.h"
#include "ops/kernels/level.h"

/* log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)). */
SC_INLINE v16 log_rest(v16 f)
{
    v16 p = v_set(0.0691514686f);
    p = v_fma(p, f, v_set(-0.117896959f));
    p = v_fma(p, f, v_set(0.118730165f));
    p = v_fma(p, f, v_set(-0.1238437f));
    p = v_fma(p, f, v_set(0.142186552f));
    p = v_fma(p, f, v_set(-0.166692495f));
    p = v_fma(p, f, v_set(0.200022265f));
    p = v_fma(p, f, v_set(-0.249999866f));
    p = v_fma(p, f, v_set(0.333333105f));
    const v16 square = v_mul(f, f);
    return v_fma(v_mul(p, f), square, v_mul(v_set(-0.5f), square));
}

/* For x > 0, finite or not: x = m 2^e with m in [sqrt(1/2), sqrt(2)), found by taking the bits of sqrt(1/2) away. */
SC_INLINE v16 log_positive(v16 x)
{
    const m16 small = v_lt(x, v_set(0x1p-126f));
    const v16 scaled = v_select(small, v_mul(x, v_set(0x1p23f)), x);
    const w16 bits = w_sub(v_bits(scaled), w_set(0x3f3504f3));
    v16 e = w_to_float(w_sub(w_shr(w_add(bits, w_set(0x40000000)), 23), w_set(128)));
    e = v_select(small, v_sub(e, v_set(23.0f)), e);
    const v16 m = w_bits(w_add(w_and(bits, w_set(0x007fffff)), w_set(0x3f3504f3)));
    const v16 f = v_sub(m, v_set(1.0f));
    const v16 rest = v_fma(e, v_set(-2.12194440e-4f), log_rest(f));
    const v16 y = v_fma(e, v_set(0.693359375f), v_add(f, rest));
    return v_select(v_lt(x, v_set(INFINITY)), y, x);
}

SC_INLINE v16 f_log(v16 x)
{
    const v16 y = v_select(v_lt(v_zero(), x), log_positive(x), v_set(NAN));
    const v16 zero = v_select(v_lt(v_zero(), v_abs(x)), y, v_set(-INFINITY));
    return v_select(v_nan(x), x, zero);
}

/* Odd polynomial near zero, 1 - 2 / (e^2|x| + 1) beyond. */
SC_INLINE v16 f_tanh(v16 x)
{
    const v16 size = v_abs(x), z = v_mul(x, x);
    v16 p = v_set(-0.00569351017f);
    p = v_fma(p, z, v_set(0.0206304025f));
    p = v_fma(p, z, v_set(-0.0537376106f));
    p = v_fma(p, z, v_set(0.133314252f));
    p = v_fma(p, z, v_set(-0.333332807f));
    const v16 near = v_fma(v_mul(p, z), size, size);
    const v16 e = v_exp(v_add(size, size));
    const v16 far = v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(e, v_set(1.0f))));
    return v_sign(v_select(v_lt(size, v_set(0.625f)), near, far), x);
}

/* From e^-|x|, which cannot overflow. */
SC_INLINE v16 f_sigmoid(v16 x)
{
    const v16 e = v_exp(v_neg(v_abs(x)));
    const v16 top = v_select(v_lt(x, v_zero()), e, v_set(1.0f));
    return v_div(top, v_add(v_set(1.0f), e));
}

/* Odd polynomial near zero, 1 - e^-Q(|x|) beyond, which is 1 from 4 on. */
SC_INLINE v16 f_erf(v16 x)
{
    const v16 size = v_abs(x), z = v_mul(x, x);
    v16 p = v_set(8.34522507e-05f);
    p = v_fma(p, z, v_set(-0.00081374374f));
    p = v_fma(p, z, v_set(0.00520063424f));
    p = v_fma(p, z, v_set(-0.0268592704f));
    p = v_fma(p, z, v_set(0.112836942f));
    p = v_fma(p, z, v_set(-0.376126349f));
    p = v_fma(p, z, v_set(0.128379166f));
    const v16 near = v_fma(p, size, size);
    const v16 t = v_min(v_set(4.0f), size); /* NaN stays */
    v16 q = v_set(1.11484887e-05f);
    q = v_fma(q, t, v_set(-0.000321905361f));
    q = v_fma(q, t, v_set(0.00363850407f));
    q = v_fma(q, t, v_set(-0.0237530265f));
    q = v_fma(q, t, v_set(0.106225573f));
    q = v_fma(q, t, v_set(0.635158658f));
    q = v_fma(q, t, v_set(0.128646553f));
    const v16 far = v_sub(v_set(1.0f), v_exp(v_neg(v_fma(q, t, t))));
    return v_sign(v_select(v_lt(size, v_set(0.921875f)), near, far), x);
}

SC_INLINE v16 f_exp(v16 x)
{
    return v_exp(x);
}

SC_INLINE v16 f_sqrt(v16 x)
{
    return v_sqrt(x);
}

SC_INLINE v16 f_neg(v16 x)
{
    return v_neg(x);
}

SC_INLINE v16 f_abs(v16 x)
{
    return v_abs(x);
}

SC_INLINE v16 f_reciprocal(v16 x)
{
    return v_div(v_set(1.0f), x);
}

SC_INLINE v16 f_floor(v16 x)
{
    return v_floor(x);
}

SC_INLINE v16 f_ceil(v16 x)
{
    return v_ceil(x);
}

SC_INLINE v16 f_round(v16 x)
{
    return v_round(x);
}

SC_INLINE v16 f_relu(v16 x)
{
    return v_select(v_le(x, v_zero()), v_zero(), x);
}

/* silu and the two gelus step through the operators' expansions, each step rounded, so that fused and expanded graphs
 * agree. Where x is far below zero that cancels: their errors are a few ulp of x, not of the result. */
SC_INLINE v16 f_silu(v16 x)
{
    return v_mul(x, f_sigmoid(x));
}

SC_INLINE v16 f_gelu_erf(v16 x)
{
    const v16 phi = v_add(v_set(1.0f), f_erf(v_div(x, v_set(0x1.6a09e6p+0f))));
    return v_mul(v_mul(v_set(0.5f), x), phi);
}

SC_INLINE v16 f_gelu_tanh(v16 x)
{
    const v16 cube = v_mul(v_mul(x, x), x);
    const v16 inner = v_mul(v_set(0x1.988454p-1f), v_add(x, v_mul(v_set(0.044715f), cube)));
    return v_mul(v_mul(v_set(0.5f), x), v_add(v_set(1.0f), f_tanh(inner)));
}

/* max(x, 0) + log(1 + e^-|x|); what 1 + e loses in rounding is put back to first order. */
SC_INLINE v16 f_softplus(v16 x)
{
    const v16 e = v_exp(v_neg(v_abs(x)));
    const v16 u = v_add(v_set(1.0f), e);
    const v16 lost = v_div(v_sub(e, v_sub(u, v_set(1.0f))), u);
    return v_add(v_max(v_zero(), x), v_add(log_positive(u), lost));
}

SC_INLINE v16 f_hard_swish(v16 x)
{
    const v16 part = v_add(v_div(x, v_set(6.0f)), v_set(0.5f));
    return v_mul(x, v_min(v_set(1.0f), v_max(v_zero(), part))); /* NaN stays */
}

#define X(name)                                                                                                        \
    void K(name)(const float *x, float *y, int64_t n)                                                                  \
    {                                                                                                                  \
        int64_t i = 0;                                                                                                 \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            v_store(y + i, f_##name(v_load(x + i)));                                                                   \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            v_store_n(y + i, f_##name(v_load_n(x + i, (int)(n - i))), (int)(n - i));                                   \
        }                                                                                                              \
    }
X(exp)
X(log)
X(sqrt)
X(tanh)
X(sigmoid)
X(erf)
X(neg)
X(abs)
X(reciprocal)
X(floor)
X(ceil)
X(round)
X(relu)
X(silu)
X(gelu_erf)
X(gelu_tanh)
X(softplus)
X(hard_swish)
#undef X
