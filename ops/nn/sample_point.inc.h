/* SPDX-License-Identifier: Apache-2.0
 * Sums over the taps of n points, in double. Parameters: TYPE (float or double), NAME, and PLACE: where in x the
 * element of a slot is. In pictures most points have four taps, a number that the compiler should know. */
static void NAME(const struct sc_points *p, const TYPE *x, int64_t n, double *sums)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i * p->taps;
        double sum = 0.0;
        if (p->count[i] == 4) {
            for (int t = 0; t < 4; t++) {
                sum += p->weight[first + t] * (double)x[PLACE(first + t)];
            }
        } else {
            for (int t = 0; t < p->count[i]; t++) {
                sum += p->weight[first + t] * (double)x[PLACE(first + t)];
            }
        }
        sums[i] = sum;
    }
}

#undef TYPE
#undef NAME
#undef PLACE
