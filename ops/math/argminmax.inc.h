/* SPDX-License-Identifier: Apache-2.0
 * The index of the largest (least) of each row for one type; see each_number.inc.h for the parameters. A NaN counts as
 * beyond all numbers. */
#if IS_FLOAT
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) 0
#endif

/* Whether x, met after the best so far, takes its place. */
static bool OF(wins)(const struct arg *a, T x, T best)
{
    if (x == best || (IS_NAN(x) && IS_NAN(best))) {
        return a->last;
    }
    if (IS_NAN(x) || IS_NAN(best)) {
        return IS_NAN(x);
    }
    return a->least ? x < best : x > best;
}

static void OF(arg_part)(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct arg *a = arg;
    const int64_t end = (part + 1) * a->rows_a_part < a->n_rows ? (part + 1) * a->rows_a_part : a->n_rows;
    for (int64_t row = part * a->rows_a_part; row < end; row++) {
        const int64_t start = row / a->step * a->step * a->length + row % a->step;
        T best = 0;
        int64_t at = 0;
        for (int64_t i = 0; i < a->length; i++) {
#if IS_F32
            float x;
            if (a->half != SC_TYPE_NONE) {
                sc_widen(a->kernels, a->half, (const uint16_t *)a->in + start + i * a->step, &x, 1);
            } else {
                x = ((const float *)a->in)[start + i * a->step];
            }
#else
            const T x = ((const T *)a->in)[start + i * a->step];
#endif
            if (i == 0 || OF(wins)(a, x, best)) {
                best = x;
                at = i;
            }
        }
        a->out[row] = at;
    }
}
#undef IS_NAN
