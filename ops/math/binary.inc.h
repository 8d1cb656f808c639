/* SPDX-License-Identifier: Apache-2.0
 * Elementwise functions of two operands a and b for one type; see each_number.inc.h for the parameters.
 * Integers wrap; dividing by zero gives 0, and the smallest number by -1 wraps to itself. */
#define LOOP(name, R, expression)                                                                                      \
    static void OF(name)(void *arg, const struct sc_span *span)                                                        \
    {                                                                                                                  \
        (void)arg;                                                                                                     \
        const T *x = span->in[0], *z = span->in[1];                                                                    \
        R *y = span->out;                                                                                              \
        const int64_t n = span->n, sa = span->step[0], sb = span->step[1];                                             \
        if (sa == 1 && sb == 1) {                                                                                      \
            _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)                                                       \
            {                                                                                                          \
                const T a = x[i], b = z[i];                                                                            \
                y[i] = (R)(expression);                                                                                \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T a = x[i * sa], b = z[i * sb];                                                                      \
            y[i] = (R)(expression);                                                                                    \
        }                                                                                                              \
    }

LOOP(equal, uint8_t, a == b)
LOOP(less, uint8_t, a < b)
LOOP(greater, uint8_t, a > b)
LOOP(less_equal, uint8_t, a <= b)
LOOP(greater_equal, uint8_t, a >= b)
LOOP(prelu, T, NEGATIVE(a) ? a *b : a)

#if IS_FLOAT
static T OF(floor_mod)(T a, T b)
{
    const T rest = F(fmod)(a, b);
    if (rest == 0) {
        return F(copysign)(0, b);
    }
    return (rest < 0) != (b < 0) ? rest + b : rest;
}
LOOP(mod, T, OF(floor_mod)(a, b))
LOOP(fmod, T, F(fmod)(a, b))
#else
static T OF(quotient)(T a, T b)
{
    if (b == 0) {
        return 0;
    }
#if IS_SIGNED
    if (b == -1) {
        return (T)(0 - (U)a);
    }
#endif
    return (T)(a / b);
}

static T OF(remainder)(T a, T b)
{
#if IS_SIGNED
    if (b == -1) {
        return 0;
    }
#endif
    return b == 0 ? 0 : (T)(a % b);
}

static T OF(floor_mod)(T a, T b)
{
    const T rest = OF(remainder)(a, b);
#if IS_SIGNED
    if (rest != 0 && (rest < 0) != (b < 0)) {
        return (T)(rest + b);
    }
#endif
    return rest;
}

/* A count below zero or past the width leaves nothing but copies of the sign. */
static T OF(shift_right)(T a, T b)
{
    const bool past = NEGATIVE(b) || (uint64_t)b >= 8 * sizeof(T);
    if (past) {
        return NEGATIVE(a) ? (T)-1 : 0;
    }
    return (T)(a >> b);
}

static T OF(shift_left)(T a, T b)
{
    const bool past = NEGATIVE(b) || (uint64_t)b >= 8 * sizeof(T);
    return past ? 0 : (T)((uint64_t)a << b);
}

LOOP(div, T, OF(quotient)(a, b))
LOOP(mod, T, OF(floor_mod)(a, b))
LOOP(fmod, T, OF(remainder)(a, b))
LOOP(shr, T, OF(shift_right)(a, b))
LOOP(shl, T, OF(shift_left)(a, b))
LOOP(and, T, a &b)
LOOP(or, T, a | b)
LOOP(xor, T, a ^ b)
#endif

/* f32 has these in the table of kernels. */
#if !IS_F32
LOOP(add, T, a + b)
LOOP(sub, T, a - b)
LOOP(mul, T, a *b)
#if IS_FLOAT
LOOP(div, T, a / b)
#endif
#endif
#undef LOOP
