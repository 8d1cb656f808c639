/* SPDX-License-Identifier: Apache-2.0
 * One axis of a block resized: x [outer, in, inner] to y [outer, out, inner]. Parameters: TYPE (float or double) and
 * NAME; a float block is summed by the vector kernels, whose every element is one chain over the taps. */
static void NAME(const struct resize *r, const struct axis *axis, int64_t outer, const TYPE *x, TYPE *y)
{
    const int64_t inner = axis->inner;
    for (int64_t block = 0; block < outer; block++, x += axis->about.in * inner) {
        for (int64_t o = 0; o < axis->about.out; o++, y += inner) {
            const int64_t *from = axis->from + o * axis->taps;
            const double *weights = axis->weights + o * axis->taps;
            const TYPE fill = from[0] < 0 ? (TYPE)r->params->extrapolation : (TYPE)0;
            const int64_t taps = from[0] < 0 ? 0 : axis->taps;
            if (inner == 1) {
                TYPE sum = fill;
                for (int64_t k = 0; k < taps; k++) {
                    sum = weights[k] == 0.0 ? sum : sum + (TYPE)weights[k] * x[from[k]];
                }
                y[0] = sum;
                continue;
            }
            for (int64_t i = 0; i < inner; i++) {
                y[i] = fill;
            }
            for (int64_t k = 0; k < taps; k++) {
                if (weights[k] != 0.0) {
                    ADD(r, (TYPE)weights[k], x + from[k] * inner, y, inner);
                }
            }
        }
    }
}

#undef TYPE
#undef NAME
#undef ADD
