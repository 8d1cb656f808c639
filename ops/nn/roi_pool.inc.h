/* SPDX-License-Identifier: Apache-2.0
 * The largest pixels of the bins of a region in one plane, of `width` columns, [rows, columns]; 0 of a bin without
 * pixels. `room` is of `width` numbers. Parameters: TYPE of an element, WIDE (float or double) of a number, LOAD(x)
 * that gives it, and NAME. */
static void NAME(
    const void *plane, int64_t width, const struct spans *rows, const struct spans *columns, void *room, double *to)
{
    WIDE *tall = room; /* the largest of each column of the region, over the rows of a bin */
    for (int64_t i = 0; i < rows->n; i++) {
        for (int64_t c = columns->low; c < columns->high; c++) {
            tall[c] = (WIDE)-INFINITY;
        }
        for (int64_t r = rows->first[i]; r < rows->end[i]; r++) {
            const TYPE *x = (const TYPE *)plane + r * width;
            for (int64_t c = columns->low; c < columns->high; c++) {
                const WIDE value = LOAD(x[c]);
                tall[c] = value > tall[c] || value != value ? value : tall[c];
            }
        }
        for (int64_t j = 0; j < columns->n; j++) {
            const bool any = rows->first[i] < rows->end[i] && columns->first[j] < columns->end[j];
            WIDE most = any ? (WIDE)-INFINITY : 0;
            for (int64_t c = columns->first[j]; c < columns->end[j] && any; c++) {
                most = tall[c] > most || tall[c] != tall[c] ? tall[c] : most;
            }
            to[i * columns->n + j] = (double)most;
        }
    }
}

#undef TYPE
#undef WIDE
#undef LOAD
#undef NAME
