/* SPDX-License-Identifier: Apache-2.0
 * Conv of f32 with one channel a group: a band of rows is copied between its pads, rows and columns of equal remainder by
 * the stride together, so that every kernel entry reads one run of memory for the whole band; the run's results have
 * some between rows that are not wanted. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/conv_ways.h"

enum { BAND_ELEMENTS = 8192 }; /* results of a band: it stays in the caches */

struct depthwise {
    const struct sc_conv *conv;
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], begin[2]; /* rows and columns */
    int64_t band, bands; /* rows of results; bands of a plane */
    int64_t phase[2]; /* rows and columns of equal remainder in the copy */
    int64_t taps, planes; /* maps of one part */
    int64_t parts; /* of an image and band */
    size_t copy_bytes, result_bytes, offsets_bytes; /* rooms of a worker */
};

static struct depthwise open_depthwise(const struct sc_conv *c)
{
    struct depthwise s = {.conv = c};
    const struct sc_window *w = &c->window;
    for (int d = 0; d < 2; d++) {
        const int axis = d - 2 + w->axes;
        const bool real = axis >= 0;
        s.in[d] = real ? w->in[axis] : 1;
        s.out[d] = real ? w->out[axis] : 1;
        s.kernel[d] = real ? w->kernel[axis] : 1;
        s.stride[d] = real ? w->stride[axis] : 1;
        s.dilation[d] = real ? w->dilation[axis] : 1;
        s.begin[d] = real ? w->begin[axis] : 0;
    }
    s.taps = s.kernel[0] * s.kernel[1];
    s.band = s.out[1] > 0 && s.out[1] < BAND_ELEMENTS ? BAND_ELEMENTS / s.out[1] : 1;
    s.band = s.band < s.out[0] ? s.band : s.out[0];
    s.bands = s.band > 0 ? sc_parts(s.out[0], s.band) : 0;
    const int64_t size[2] = {s.band, s.out[1]};
    for (int d = 0; d < 2; d++) {
        s.phase[d] = size[d] + (s.kernel[d] - 1) * s.dilation[d] / s.stride[d];
    }
    const int64_t phases = s.stride[0] * s.stride[1];
    s.planes = BAND_ELEMENTS / (s.band * s.out[1] + 64) + 1;
    s.parts = sc_parts(c->groups * c->maps, s.planes);
    s.copy_bytes = sc_conv_align((size_t)(phases * s.phase[0] * s.phase[1]) * sizeof(float));
    s.result_bytes = sc_conv_align((size_t)(s.band * s.phase[1]) * sizeof(float));
    s.offsets_bytes = sc_conv_align((size_t)s.taps * sizeof(int64_t));
    return s;
}

size_t sc_conv_depthwise_scratch(const struct sc_conv *conv)
{
    const struct depthwise s = open_depthwise(conv);
    return (s.copy_bytes + s.result_bytes + s.offsets_bytes) * (size_t)sc_team_size(conv->call->team);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Columns begin, begin + stride, ... of one row of the input, `n` of them, zeros outside. */
static void copy_row(const float *row, int64_t in, int64_t begin, int64_t stride, int64_t n, float *to)
{
    const int64_t first = begin < 0 ? clamp((-begin + stride - 1) / stride, 0, n) : 0;
    const int64_t end = begin < in ? clamp((in - begin + stride - 1) / stride, first, n) : first;
    memset(to, 0, (size_t)first * sizeof(*to));
    if (stride == 1) {
        memcpy(to + first, row + begin + first, (size_t)(end - first) * sizeof(*to));
    } else {
        const float *from = row + begin + first * stride;
        for (int64_t i = first; i < end; i++, from += stride) {
            to[i] = *from;
        }
    }
    memset(to + end, 0, (size_t)(n - end) * sizeof(*to));
}

/* The input rows of a band that begins with result row `first`: [row remainder][column remainder][rows][columns]. */
static void copy_band(const struct depthwise *s, const float *plane, int64_t first, float *copy)
{
    for (int64_t r = 0; r < s->stride[0]; r++) {
        for (int64_t q = 0; q < s->stride[1]; q++) {
            for (int64_t i = 0; i < s->phase[0]; i++, copy += s->phase[1]) {
                const int64_t row = (first + i) * s->stride[0] + r - s->begin[0];
                if (row < 0 || row >= s->in[0]) {
                    memset(copy, 0, (size_t)s->phase[1] * sizeof(*copy));
                } else {
                    copy_row(plane + row * s->in[1], s->in[1], q - s->begin[1], s->stride[1], s->phase[1], copy);
                }
            }
        }
    }
}

static void find_offsets(const struct depthwise *s, int64_t *offsets)
{
    for (int64_t i = 0; i < s->kernel[0]; i++) {
        const int64_t y = i * s->dilation[0];
        for (int64_t j = 0; j < s->kernel[1]; j++) {
            const int64_t x = j * s->dilation[1];
            const int64_t phase = y % s->stride[0] * s->stride[1] + x % s->stride[1];
            offsets[i * s->kernel[1] + j] = (phase * s->phase[0] + y / s->stride[0]) * s->phase[1] + x / s->stride[1];
        }
    }
}

static void depthwise_part(void *arg, int64_t part, int worker)
{
    const struct depthwise *s = arg;
    const struct sc_conv *c = s->conv;
    const size_t bytes = s->copy_bytes + s->result_bytes + s->offsets_bytes;
    float *copy = (float *)(void *)((char *)c->call->scratch + (size_t)worker * bytes);
    float *result = (float *)(void *)((char *)copy + s->copy_bytes);
    int64_t *offsets = (int64_t *)(void *)((char *)result + s->result_bytes);
    find_offsets(s, offsets);
    const int64_t first = part % s->bands * s->band;
    const int64_t rows = s->out[0] - first < s->band ? s->out[0] - first : s->band;
    const int64_t image = part / s->bands / s->parts, all = c->groups * c->maps;
    const int64_t from = part / s->bands % s->parts * s->planes, to = clamp(from + s->planes, 0, all);
    for (int64_t map = from; map < to; map++) {
        const int64_t group = map / c->maps;
        if (map == from || map % c->maps == 0) {
            copy_band(s, (const float *)c->x->data + (image * c->groups + group) * c->in_count, first, copy);
        }
        c->call->kernels->taps(copy, offsets, (const float *)c->w->data + map * s->taps, s->taps,
            c->bias ? (const float *)c->bias->data + map : NULL, result, (rows - 1) * s->phase[1] + s->out[1]);
        float *y = (float *)c->y->data + (image * all + map) * c->positions + first * s->out[1];
        for (int64_t i = 0; i < rows; i++) {
            memcpy(y + i * s->out[1], result + i * s->phase[1], (size_t)s->out[1] * sizeof(*y));
        }
    }
}

void sc_conv_depthwise_run(const struct sc_conv *conv)
{
    struct depthwise s = open_depthwise(conv);
    sc_team_for(conv->call->team, conv->x->dims[0] * s.parts * s.bands, depthwise_part, &s);
}
