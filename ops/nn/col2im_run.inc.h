/* SPDX-License-Identifier: Apache-2.0
 * Adds a run of n elements at `from` to every step-th element at `to`; an element is `parts` numbers. Parameters: TYPE
 * (of a number, without sign where it is an integer) and NAME. */
static void NAME(const void *from, void *to, int64_t n, int64_t step, int parts)
{
    const TYPE *x = from;
    TYPE *y = to;
    if (step == 1) {
        for (int64_t i = 0; i < n * parts; i++) {
            y[i] = (TYPE)(y[i] + x[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n && parts == 1; i++) {
        y[i * step] = (TYPE)(y[i * step] + x[i]);
    }
    for (int64_t i = 0; i < n && parts > 1; i++) {
        for (int p = 0; p < parts; p++) {
            y[i * step * parts + p] = (TYPE)(y[i * step * parts + p] + x[i * parts + p]);
        }
    }
}

#undef TYPE
#undef NAME
