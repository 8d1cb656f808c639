/* SPDX-License-Identifier: Apache-2.0
 * min(high, max(x, low)) for one type; see each_number.inc.h for the parameters. NaN stays. */
static void OF(clip)(void *arg, const struct sc_span *span)
{
    const struct limits *limits = ((const struct sc_span_arg *)arg)->params;
    T low, high;
    memcpy(&low, limits->low, sizeof low);
    memcpy(&high, limits->high, sizeof high);
    const T *x = span->in[0];
    T *y = span->out;
    const bool has_low = limits->has_low, has_high = limits->has_high;
    const int64_t n = span->n;
    for (int64_t i = 0; i < n; i++) {
        const T raised = has_low && x[i] < low ? low : x[i];
        y[i] = has_high && raised > high ? high : raised;
    }
}
