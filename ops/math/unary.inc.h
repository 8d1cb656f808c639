/* SPDX-License-Identifier: Apache-2.0
 * Elementwise functions of one operand x for one type; see each_number.inc.h for the parameters.
 * p holds the operator's alpha, beta and gamma. */
#define LOOP(name, R, expression)                                                                                      \
    static void OF(name)(void *arg, const struct sc_span *span)                                                        \
    {                                                                                                                  \
        const struct unary params = *(const struct unary *)((const struct sc_span_arg *)arg)->params, *p = &params;    \
        (void)p;                                                                                                       \
        const T *in = span->in[0];                                                                                     \
        R *out = span->out;                                                                                            \
        const int64_t n = span->n; /* bytes that are written may lie anywhere, but not in here or in params */         \
        _Pragma("GCC ivdep") /* an output lies on an operand, element for element, or apart */                         \
            for (int64_t i = 0; i < n; i++)                                                                            \
        {                                                                                                              \
            const T x = in[i];                                                                                         \
            out[i] = (R)(expression);                                                                                  \
        }                                                                                                              \
    }

#if IS_FLOAT
#define ALPHA ((T)p->alpha)
#define BETA ((T)p->beta)
#define GAMMA ((T)p->gamma)

/* x when x > limit, else limit; NaN stays NaN. */
static T OF(at_least)(T x, T limit)
{
    return x < limit ? limit : x;
}

static T OF(at_most)(T x, T limit)
{
    return x > limit ? limit : x;
}

static T OF(logistic)(T x)
{
    const T e = F(exp)(-F(fabs)(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static T OF(soft_plus)(T x)
{
    return OF(at_least)(x, 0) + F(log1p)(F(exp)(-F(fabs)(x)));
}

LOOP(tan, T, F(tan)(x))
LOOP(sinh, T, F(sinh)(x))
LOOP(cosh, T, F(cosh)(x))
LOOP(asinh, T, F(asinh)(x))
LOOP(acosh, T, F(acosh)(x))
LOOP(atanh, T, F(atanh)(x))
LOOP(softsign, T, x / (1 + F(fabs)(x)))
LOOP(leaky_relu, T, x < 0 ? ALPHA * x : x)
LOOP(thresholded_relu, T, x > ALPHA ? x : x != x ? x : 0)
LOOP(hard_sigmoid, T, OF(at_most)(OF(at_least)(ALPHA *x + BETA, 0), 1))
LOOP(mish, T, x *F(tanh)(OF(soft_plus)(x)))
LOOP(swish, T, x *OF(logistic)(ALPHA *x))
LOOP(is_nan, uint8_t, x != x)
LOOP(is_inf, uint8_t, (x == BETA) | (x == GAMMA))
LOOP(sign, T, x > 0 ? 1 : x < 0 ? -1 : x != x ? x : 0)
LOOP(shrink, T, x<-ALPHA ? x + BETA : x> ALPHA ? x - BETA : x != x ? x : 0)

#if !IS_F32
LOOP(elu, T, x > 0 ? x : ALPHA * F(expm1)(x))
LOOP(selu, T, x > 0 ? GAMMA * x : GAMMA * ALPHA * F(expm1)(x))
LOOP(celu, T, x > 0 ? x : ALPHA * F(expm1)(x / ALPHA))
LOOP(asin, T, F(asin)(x))
LOOP(acos, T, F(acos)(x))
LOOP(atan, T, F(atan)(x))
LOOP(exp, T, F(exp)(x))
LOOP(log, T, F(log)(x))
LOOP(sqrt, T, F(sqrt)(x))
LOOP(tanh, T, F(tanh)(x))
LOOP(sigmoid, T, OF(logistic)(x))
LOOP(erf, T, F(erf)(x))
LOOP(sin, T, F(sin)(x))
LOOP(cos, T, F(cos)(x))
LOOP(neg, T, -x)
LOOP(abs, T, F(fabs)(x))
LOOP(reciprocal, T, 1 / x)
LOOP(floor, T, F(floor)(x))
LOOP(ceil, T, F(ceil)(x))
LOOP(round, T, F(nearbyint)(x))
LOOP(relu, T, x < 0 ? 0 : x)
LOOP(silu, T, x *OF(logistic)(x))
LOOP(gelu_erf, T, (T)0.5 * x * (1 + F(erf)(x * (T)0.70710678118654752440)))
LOOP(gelu_tanh, T, (T)0.5 * x * (1 + F(tanh)((T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x))))
LOOP(softplus, T, OF(soft_plus)(x))
LOOP(hard_swish, T, x *OF(at_most)(OF(at_least)(x / 6 + (T)0.5, 0), 1))
#endif
#undef ALPHA
#undef BETA
#undef GAMMA
#else
/* Numbers beyond T's range do not occur for sensible parameters; they are cut to 64 bits first, so that converting
 * never traps, and then wrap. */
static T OF(from_real)(double x)
{
    return (T)(int64_t)(x >= 9.2e18 ? 9.2e18 : x <= -9.2e18 ? -9.2e18 : x);
}

LOOP(abs, T, ((U)x ^ (0 - (U)NEGATIVE(x))) + NEGATIVE(x))
LOOP(sign, T, (x > 0) - NEGATIVE(x))
LOOP(relu, T, NEGATIVE(x) ? 0 : x)
LOOP(bitwise_not, T, ~x)
LOOP(erf, T, erf((double)x)) /* as a cast from the real value: toward zero */
LOOP(shrink, T,
    (double)x<-p->alpha ? OF(from_real)((double)x + p->beta) : (double)x> p->alpha ? OF(from_real)((double)x - p->beta)
                                                                                   : 0)
#if IS_SIGNED
LOOP(neg, T, 0 - (U)x)
#endif
#endif
#undef LOOP
