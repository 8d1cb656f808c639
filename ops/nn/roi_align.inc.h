/* SPDX-License-Identifier: Apache-2.0
 * The bins of a region in one plane, of `width` columns: averages, or the largest weighed pixels, [rows, columns]. In
 * double. Parameters: TYPE of an element, LOAD(x) that gives its number, and NAME. */
static void NAME(
    const void *plane, int64_t width, const struct bins *rows, const struct bins *columns, bool max, double *to)
{
    for (int64_t bin = 0; bin < rows->n * columns->n; bin++) {
        const int64_t i = bin / columns->n, j = bin % columns->n;
        const struct tap *first = columns->taps + columns->first[j], *end = columns->taps + columns->first[j + 1];
        const bool outside = rows->outside[i] || columns->outside[j];
        double sum = 0.0, most = outside ? 0.0 : -INFINITY;
        for (const struct tap *r = rows->taps + rows->first[i]; r < rows->taps + rows->first[i + 1]; r++) {
            const TYPE *x = (const TYPE *)plane + r->at * width;
            double part = 0.0;
            for (const struct tap *c = first; c < end && !max; c++) {
                part += c->weight * (double)LOAD(x[c->at]);
            }
            sum += r->weight * part;
            for (const struct tap *c = first; c < end && max; c++) {
                const double value = (double)LOAD(x[c->at]);
                most = larger(most, r->weight * c->weight * value);
                most = larger(most, r->least * c->least * value);
            }
        }
        const double n = rows->samples * columns->samples;
        to[bin] = n == 0.0 ? 0.0 : max ? most : sum / n;
    }
}

#undef TYPE
#undef LOAD
#undef NAME
