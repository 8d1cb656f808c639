/* SPDX-License-Identifier: Apache-2.0
 * Combination of elements of one type. Parameters: TYPE, NAME, and WIDE, in which sums do not overflow undefined. */
static void NAME(enum sc_reduction reduction, void *to, const void *from, int64_t n)
{
    TYPE *y = to;
    const TYPE *x = from;
    for (int64_t i = 0; i < n; i++) {
        const TYPE a = y[i];
        const TYPE b = x[i];
        switch (reduction) {
        case SC_REDUCTION_NONE:
            y[i] = b;
            break;
        case SC_REDUCTION_ADD:
            y[i] = (TYPE)((WIDE)a + (WIDE)b);
            break;
        case SC_REDUCTION_MUL:
            y[i] = (TYPE)((WIDE)a * (WIDE)b);
            break;
        case SC_REDUCTION_MAX: /* a NaN on either side stays */
            y[i] = a > b || a != a ? a : b;
            break;
        case SC_REDUCTION_MIN:
            y[i] = a < b || a != a ? a : b;
            break;
        }
    }
}
#undef TYPE
#undef NAME
#undef WIDE
