/* SPDX-License-Identifier: Apache-2.0
 * The copy is [row remainder][column remainder][rows][columns]; with a stride of one it is the padded rows. */
#include "ops/nn/band.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/room.h"

enum { BAND_ELEMENTS = 4096 }; /* results of a band: it stays in the caches */

bool sc_band_open(const struct sc_window *w, struct sc_band *b)
{
    memset(b, 0, sizeof(*b));
    if (w->axes < 1 || w->axes > 2) {
        return false;
    }
    for (int d = 0; d < 2; d++) {
        const int axis = d - 2 + w->axes;
        const bool real = axis >= 0;
        b->in[d] = real ? w->in[axis] : 1;
        b->out[d] = real ? w->out[axis] : 1;
        b->kernel[d] = real ? w->kernel[axis] : 1;
        b->stride[d] = real ? w->stride[axis] : 1;
        b->dilation[d] = real ? w->dilation[axis] : 1;
        b->begin[d] = real ? w->begin[axis] : 0;
    }
    b->taps = b->kernel[0] * b->kernel[1];
    b->rows = b->out[1] > 0 && b->out[1] < BAND_ELEMENTS ? BAND_ELEMENTS / b->out[1] : 1;
    b->rows = b->rows < b->out[0] ? b->rows : b->out[0];
    b->n = b->rows > 0 ? sc_parts(b->out[0], b->rows) : 0;
    const int64_t size[2] = {b->rows, b->out[1]};
    for (int d = 0; d < 2; d++) {
        b->phase[d] = size[d] + (b->kernel[d] - 1) * b->dilation[d] / b->stride[d];
    }
    b->planes = BAND_ELEMENTS / (b->rows * b->out[1] + 64) + 1;
    b->copy_bytes = sc_room_round((size_t)(b->stride[0] * b->stride[1] * b->phase[0] * b->phase[1]) * sizeof(float));
    b->result_bytes = sc_room_round((size_t)(b->rows * b->phase[1]) * sizeof(float));
    b->offsets_bytes = sc_room_round((size_t)b->taps * sizeof(int64_t));
    return true;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

void sc_band_fill(const struct sc_band *b, float fill, float *copy)
{
    const int64_t n = b->stride[0] * b->stride[1] * b->phase[0] * b->phase[1];
    for (int64_t i = 0; i < n; i++) {
        copy[i] = fill;
    }
}

/* Of the places begin, begin + stride, ... of an axis, `n` of them, those within it: [*first, *end). */
static void find_inside(int64_t in, int64_t begin, int64_t stride, int64_t n, int64_t *first, int64_t *end)
{
    *first = begin < 0 ? clamp((-begin + stride - 1) / stride, 0, n) : 0;
    *end = begin < in ? clamp((in - begin + stride - 1) / stride, *first, n) : *first;
}

/* Rows and columns of one remainder: `x` is the first element inside. */
static void copy_phase(
    const struct sc_band *b, const struct sc_kernels *kernels, const float *x, int64_t rows, int64_t columns, float *to)
{
    const int64_t x_stride = b->in[1] * b->stride[0];
    if (b->stride[1] <= 2) {
        kernels->copy_rows(x, x_stride, (int)b->stride[1], rows, columns, to, b->phase[1]);
        return;
    }
    for (int64_t r = 0; r < rows; r++, x += x_stride, to += b->phase[1]) {
        for (int64_t i = 0; i < columns; i++) {
            to[i] = x[i * b->stride[1]];
        }
    }
}

void sc_band_reads(const struct sc_band *b, int64_t index, int64_t *first, int64_t *end)
{
    const int64_t from = index * b->rows * b->stride[0] - b->begin[0];
    *first = clamp(from, 0, b->in[0]);
    *end = clamp(from + b->phase[0] * b->stride[0], *first, b->in[0]);
}

void sc_band_copy(const struct sc_band *b, const struct sc_kernels *kernels, const float *rows, int64_t first,
    int64_t index, float *copy)
{
    for (int64_t r = 0; r < b->stride[0]; r++) {
        for (int64_t q = 0; q < b->stride[1]; q++, copy += b->phase[0] * b->phase[1]) {
            const int64_t row = index * b->rows * b->stride[0] + r - b->begin[0], column = q - b->begin[1];
            int64_t from[2], end[2];
            find_inside(b->in[0], row, b->stride[0], b->phase[0], &from[0], &end[0]);
            find_inside(b->in[1], column, b->stride[1], b->phase[1], &from[1], &end[1]);
            if (end[0] > from[0] && end[1] > from[1]) {
                const int64_t y = row + from[0] * b->stride[0] - first;
                const float *x = rows + y * b->in[1] + column + from[1] * b->stride[1];
                copy_phase(b, kernels, x, end[0] - from[0], end[1] - from[1], copy + from[0] * b->phase[1] + from[1]);
            }
        }
    }
}

void sc_band_put(
    const struct sc_band *b, const struct sc_kernels *kernels, const float *result, int64_t index, float *y)
{
    kernels->copy_rows(result, b->phase[1], 1, sc_band_rows(b, index), b->out[1], y, b->out[1]);
}

void sc_band_offsets(const struct sc_band *b, int64_t *offsets)
{
    for (int64_t i = 0; i < b->kernel[0]; i++) {
        const int64_t y = i * b->dilation[0];
        for (int64_t j = 0; j < b->kernel[1]; j++) {
            const int64_t x = j * b->dilation[1];
            const int64_t phase = y % b->stride[0] * b->stride[1] + x % b->stride[1];
            *offsets++ = (phase * b->phase[0] + y / b->stride[0]) * b->phase[1] + x / b->stride[1];
        }
    }
}
