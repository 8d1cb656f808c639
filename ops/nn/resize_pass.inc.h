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
            for (int64_t i = 0; i < inner; i++) {
                y[i] = fill;
            }
            for (int64_t k = 0; k < axis->taps && from[0] >= 0; k++) {
                if (weights[k] == 0.0) {
                    continue;
                }
                if (inner == 1) {
                    y[0] += (TYPE)weights[k] * x[from[k]];
                } else {
                    ADD(r, (TYPE)weights[k], x + from[k] * inner, y, inner);
                }
            }
        }
    }
}

#undef TYPE
#undef NAME
#undef ADD
