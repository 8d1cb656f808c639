/* SPDX-License-Identifier: Apache-2.0
 * Windows over planes as runs of memory, for what needs no product. A band of rows of results is worked on at once: the
 * rows it reads are copied between their pads, those of equal remainder by the stride together, columns likewise. Then
 * each entry of the window reads one run for the whole band; between rows the run's results are not wanted. */
#ifndef SC_OPS_NN_BAND_H
#define SC_OPS_NN_BAND_H

#include "ops/kernels/kernels.h"
#include "ops/nn/window.h"

struct sc_band {
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], begin[2]; /* rows and columns */
    int64_t rows, n; /* rows of results of a band; bands of a plane */
    int64_t phase[2]; /* rows and columns of one remainder in the copy */
    int64_t taps; /* entries of the window */
    int64_t planes; /* results of so many planes' bands are about as much work as one part should be */
    size_t copy_bytes, result_bytes, offsets_bytes; /* multiples of 64 */
};

/* Of one or two axes; false for more. */
bool sc_band_open(const struct sc_window *window, struct sc_band *band);

/* The plane's rows [*first, *end) that the copy of a band is made of, perhaps none. */
void sc_band_reads(const struct sc_band *band, int64_t index, int64_t *first, int64_t *end);

/* Puts `fill` into the whole copy, then a plane's elements into their places: the pads of one band are the same for all
 * planes. `rows` begins with row `first` of the plane. */
void sc_band_fill(const struct sc_band *band, float fill, float *copy);
void sc_band_copy(const struct sc_band *band, const struct sc_kernels *kernels, const float *rows, int64_t first,
    int64_t index, float *copy);

/* The band's rows of results, [rows][out] in `y`, from a run of them. */
void sc_band_put(
    const struct sc_band *band, const struct sc_kernels *kernels, const float *result, int64_t index, float *y);

/* Where the run of each window entry begins in the copy. */
void sc_band_offsets(const struct sc_band *band, int64_t *offsets);

/* Rows of results of band `index`, and the length of its run. */
static inline int64_t sc_band_rows(const struct sc_band *band, int64_t index)
{
    const int64_t left = band->out[0] - index * band->rows;
    return left < band->rows ? left : band->rows;
}

static inline int64_t sc_band_run(const struct sc_band *band, int64_t index)
{
    return (sc_band_rows(band, index) - 1) * band->phase[1] + band->out[1];
}

#endif
