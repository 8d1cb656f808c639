/* SPDX-License-Identifier: Apache-2.0
 * Conv of f32 as a product of weights [maps, K], read as they lie, and windows as columns [K, positions], so that
 * results are channels at once. A part is a block of positions and of maps; its windows are gathered in panels of
 * sixteen columns, which a worker keeps while the next part it gets has the same positions. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/conv_ways.h"
#include "ops/room.h"

enum {
    PANEL = SC_CONV_PANEL,
    K_STEP = 256, /* rows of a block of panels that stay in the first cache */
    PART_WORK = 20000000, /* multiply-adds of a part, a quarter of a millisecond */
    PANELS_BYTES = 1 << 20, /* that a worker should keep */
    FEW_PANELS = 5 /* weights of late layers are read once: their few positions are not cut */
};

struct columns {
    const struct sc_conv *conv;
    bool direct; /* panels are read where they lie */
    int64_t panels, blocks; /* of 16 positions, in a block; blocks of an image */
    int64_t maps, cuts; /* maps of a part; parts that the maps make */
    size_t room_bytes; /* of a worker: the number of the block that it holds, then its panels */
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct columns open_columns(const struct sc_conv *c)
{
    struct columns s = {.conv = c, .direct = sc_conv_in_place(&c->window) && c->positions % PANEL == 0};
    const int64_t depth = c->K > 0 ? c->K : 1, maps = c->maps > 0 ? c->maps : 1;
    const int64_t all = sc_parts(c->positions, PANEL);
    const int64_t fit = clamp(PANELS_BYTES / 4 / PANEL / depth, 3, 1 << 20);
    const int64_t wanted = clamp(PART_WORK / PANEL / depth / maps, 3, fit);
    const int64_t most = all <= FEW_PANELS ? FEW_PANELS : wanted / 3 * 3;
    s.blocks = all > 0 ? sc_parts(all, most) : 0;
    s.panels = s.blocks > 0 ? sc_parts(sc_parts(all, s.blocks), 3) * 3 : 0; /* whole register tiles */
    s.panels = s.panels < all ? s.panels : all;
    s.blocks = s.panels > 0 ? sc_parts(all, s.panels) : 0;
    s.maps = s.panels > 0 ? clamp(PART_WORK / PANEL / depth / s.panels / 8 * 8, 8, maps) : maps;
    s.cuts = sc_parts(maps, s.maps);
    s.maps = clamp(sc_parts(sc_parts(maps, s.cuts), 8) * 8, 8, maps);
    s.cuts = sc_parts(maps, s.maps);
    const size_t bytes = s.direct ? 0 : (size_t)(s.panels * PANEL * c->K) * sizeof(float);
    s.room_bytes = sc_room_round(sizeof(int64_t)) + bytes;
    return s;
}

size_t sc_conv_columns_scratch(const struct sc_conv *conv)
{
    return open_columns(conv).room_bytes * (size_t)sc_team_size(conv->call->team);
}

static void multiply(
    const struct columns *s, const float *panels, int64_t image, int64_t group, int64_t map, int64_t first)
{
    const struct sc_conv *c = s->conv;
    const int64_t row = group * c->maps + map; /* of the weights */
    const int64_t n = clamp(c->positions - first, 0, s->panels * PANEL);
    struct sc_gemm_tile tile = {.m = clamp(c->maps - map, 0, s->maps),
        .panels = sc_parts(n, PANEL),
        .a_stride = c->K,
        .panel_stride = s->direct ? PANEL : PANEL * c->K,
        .b_stride = s->direct ? c->in_count : PANEL,
        .c = (float *)c->y->data + (image * c->groups * c->maps + row) * c->positions + first,
        .c_stride = c->positions,
        .n = n};
    int64_t k = 0;
    do {
        tile.k = clamp(c->K - k, 0, K_STEP);
        tile.a = (const float *)c->w->data + row * c->K + k;
        tile.b = panels + k * tile.b_stride;
        tile.accumulate = k > 0;
        tile.bias = c->bias && k + tile.k >= c->K ? (const float *)c->bias->data + row : NULL;
        c->call->kernels->gemm_tile(&tile);
        k += K_STEP;
    } while (k < c->K);
}

static void columns_part(void *arg, int64_t part, int worker)
{
    const struct columns *s = arg;
    const struct sc_conv *c = s->conv;
    int64_t *held = (int64_t *)(void *)((char *)c->call->scratch + (size_t)worker * s->room_bytes);
    float *panels = (float *)(void *)((char *)held + sc_room_round(sizeof(*held)));
    const int64_t whole = part / s->cuts; /* image, group, block */
    const int64_t first = whole % s->blocks * s->panels * PANEL;
    const int64_t group = whole / s->blocks % c->groups, image = whole / s->blocks / c->groups;
    const float *x = (const float *)c->x->data + (image * c->groups + group) * c->channels * c->in_count;
    if (!s->direct && *held != whole) {
        const struct sc_conv_gather gather = {.conv = c,
            .x = x,
            .first = first,
            .panels = s->panels,
            .to = panels,
            .panel_step = PANEL * c->K,
            .row_step = PANEL};
        sc_conv_gather(&gather);
        *held = whole;
    }
    multiply(s, s->direct ? x + first : panels, image, group, part % s->cuts * s->maps, first);
}

void sc_conv_columns_run(const struct sc_conv *conv)
{
    struct columns s = open_columns(conv);
    for (int worker = 0; worker < sc_team_size(conv->call->team); worker++) {
        *(int64_t *)(void *)((char *)conv->call->scratch + (size_t)worker * s.room_bytes) = -1;
    }
    sc_team_for(conv->call->team, conv->x->dims[0] * conv->groups * s.blocks * s.cuts, columns_part, &s);
}
