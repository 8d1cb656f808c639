/* SPDX-License-Identifier: Apache-2.0
 * y = y op x for one type; see each_number.inc.h for the parameters. Max and Min keep a NaN. */
#define LOOP(name, expression)                                                                                         \
    static void OF(name)(const struct sc_kernels *kernels, T *y, const T *in, int64_t step, int64_t n)                 \
    {                                                                                                                  \
        (void)kernels;                                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T x = in[i * step];                                                                                  \
            y[i] = (T)(expression);                                                                                    \
        }                                                                                                              \
    }
#if IS_F32
static void OF(sum)(const struct sc_kernels *kernels, T *y, const T *in, int64_t step, int64_t n)
{
    kernels->binary[SC_BINARY_add](y, 1, in, (int)step, y, n);
}
#else
LOOP(sum, y[i] + x)
#endif
#if IS_FLOAT
LOOP(max, x > y[i] || x != x ? x : y[i])
LOOP(min, x < y[i] || x != x ? x : y[i])
#else
LOOP(max, x > y[i] ? x : y[i])
LOOP(min, x < y[i] ? x : y[i])
#endif
#undef LOOP

static void OF(fold)(void *arg, const struct sc_span *span)
{
    const struct sc_span_arg *a = arg;
    const struct variadic *p = a->params;
    T *y = span->out;
    const T *first = span->in[0];
    const int64_t n = span->n, step = span->step[0];
    for (int64_t i = 0; i < n; i++) {
        y[i] = first[i * step];
    }
    for (int k = 1; k < a->n; k++) {
        if (p->function == FOLD_MAX) {
            OF(max)(a->kernels, y, span->in[k], span->step[k], span->n);
        } else if (p->function == FOLD_MIN) {
            OF(min)(a->kernels, y, span->in[k], span->step[k], span->n);
        } else {
            OF(sum)(a->kernels, y, span->in[k], span->step[k], span->n);
        }
    }
#if IS_FLOAT
    for (int64_t i = 0; i < span->n && p->divide_by; i++) {
        y[i] /= (T)p->divide_by;
    }
#endif
}
