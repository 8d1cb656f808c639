/* SPDX-License-Identifier: Apache-2.0
 * Conv of f32 with one channel a group: each kernel entry is a weight times a run of memory. A part is one band of some
 * maps. */
#include "ops/infer.h"
#include "ops/nn/band.h"
#include "ops/nn/conv_ways.h"

struct depthwise {
    const struct sc_conv *conv;
    struct sc_band band;
    int64_t parts; /* of an image and band */
};

static struct depthwise open_depthwise(const struct sc_conv *c)
{
    struct depthwise s = {.conv = c};
    (void)sc_band_open(&c->window, &s.band); /* prepare has looked at the axes */
    s.parts = sc_parts(c->groups * c->maps, s.band.planes);
    return s;
}

static size_t room_bytes(const struct sc_band *band)
{
    return band->copy_bytes + band->result_bytes + band->offsets_bytes;
}

size_t sc_conv_depthwise_scratch(const struct sc_conv *conv)
{
    const struct depthwise s = open_depthwise(conv);
    return room_bytes(&s.band) * (size_t)sc_team_size(conv->call->team);
}

static void depthwise_part(void *arg, int64_t part, int worker)
{
    const struct depthwise *s = arg;
    const struct sc_conv *c = s->conv;
    const struct sc_band *band = &s->band;
    float *copy = (float *)(void *)((char *)c->call->scratch + (size_t)worker * room_bytes(band));
    float *result = (float *)(void *)((char *)copy + band->copy_bytes);
    int64_t *offsets = (int64_t *)(void *)((char *)result + band->result_bytes);
    sc_band_offsets(band, offsets);
    sc_band_fill(band, 0.0F, copy);
    const int64_t index = part % band->n;
    const int64_t image = part / band->n / s->parts, all = c->groups * c->maps;
    const int64_t from = part / band->n % s->parts * band->planes;
    for (int64_t map = from; map < from + band->planes && map < all; map++) {
        const int64_t group = map / c->maps;
        if (map == from || map % c->maps == 0) {
            const float *x = (const float *)c->x->data + (image * c->groups + group) * c->in_count;
            sc_band_copy(band, c->call->kernels, x, 0, index, copy);
        }
        c->call->kernels->taps(copy, offsets, (const float *)c->w->data + map * band->taps, band->taps,
            c->bias ? (const float *)c->bias->data + map : NULL, result, sc_band_run(band, index));
        float *y = (float *)c->y->data + (image * all + map) * c->positions + index * band->rows * band->out[1];
        sc_band_put(band, c->call->kernels, result, index, y);
    }
}

void sc_conv_depthwise_run(const struct sc_conv *conv)
{
    struct depthwise s = open_depthwise(conv);
    sc_team_for(conv->call->team, conv->x->dims[0] * s.parts * s.band.n, depthwise_part, &s);
}
