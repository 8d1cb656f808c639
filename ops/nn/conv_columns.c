/* SPDX-License-Identifier: Apache-2.0
 * Conv of f32 as a product of weights [maps, K], read as they lie, and windows as columns [K, positions], so that results
 * are channels at once. A part is a block of positions and of maps; its windows are gathered in panels of sixteen
 * columns, which a worker keeps while the next part it gets has the same positions. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/conv_ways.h"

enum {
    PANEL = 16,
    K_STEP = 256, /* rows of a block of panels that stay in the first cache */
    PART_WORK = 20000000, /* multiply-adds of a part, a quarter of a millisecond */
    PANELS_BYTES = 1 << 20, /* that a worker should keep */
    FEW_PANELS = 5 /* weights of late layers are read once: their few positions are not cut */
};

struct columns {
    const struct sc_conv *conv;
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
    struct columns s = {.conv = c};
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
    s.room_bytes = sc_conv_align(sizeof(int64_t)) + (size_t)(s.panels * PANEL * c->K) * sizeof(float);
    return s;
}

size_t sc_conv_columns_scratch(const struct sc_conv *conv)
{
    return open_columns(conv).room_bytes * (size_t)sc_team_size(conv->call->team);
}

/* Where windows of sixteen positions begin, axis by axis; a position past the end begins far outside. */
struct starts {
    int32_t at[SC_MAX_AXES][PANEL];
};

static void find_starts(const struct sc_conv *c, int64_t first, struct starts *starts)
{
    const struct sc_window *w = &c->window;
    for (int j = 0; j < PANEL; j++) {
        int64_t rest = first + j;
        for (int d = w->axes - 1; d >= 0; d--) {
            const int64_t start = rest % w->out[d] * w->stride[d] - w->begin[d];
            starts->at[d][j] = first + j < c->positions ? (int32_t)start : INT32_MIN / 2;
            rest /= w->out[d];
        }
    }
}

/* Offsets in a plane of one kernel entry; -1 where it is outside. */
static void find_offsets(const struct sc_conv *c, const struct starts *starts, const int64_t *k, int32_t *offsets)
{
    const struct sc_window *w = &c->window;
    memset(offsets, 0, PANEL * sizeof(*offsets));
    for (int d = 0; d < w->axes; d++) {
        const int32_t add = (int32_t)(k[d] * w->dilation[d]), stride = (int32_t)c->strides[d];
        const uint32_t in = (uint32_t)w->in[d];
        for (int j = 0; j < PANEL; j++) {
            const int32_t x = starts->at[d][j] + add;
            const int inside = ((uint32_t)x < in) & (offsets[j] >= 0);
            offsets[j] = inside ? offsets[j] + x * stride : -1;
        }
    }
}

/* Panel after panel [K][16], K running over channels and kernel entries. `x`: the planes of the group. */
static void gather_block(const struct columns *s, const float *x, int64_t first, float *panels)
{
    const struct sc_conv *c = s->conv;
    const struct sc_window *w = &c->window;
    const int64_t taps = sc_dims_product(w->kernel, 0, w->axes);
    for (int64_t p = 0; p < s->panels && first + p * PANEL < c->positions; p++, panels += PANEL * c->K) {
        struct starts starts;
        find_starts(c, first + p * PANEL, &starts);
        int64_t k[SC_MAX_AXES] = {0};
        for (int64_t t = 0; t < taps; t++) {
            int32_t offsets[PANEL];
            find_offsets(c, &starts, k, offsets);
            c->call->kernels->gather_columns(x, c->in_count, offsets, c->channels, panels + t * PANEL, taps * PANEL);
            for (int d = w->axes - 1; d >= 0 && ++k[d] == w->kernel[d]; d--) {
                k[d] = 0;
            }
        }
    }
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
        .panel_stride = PANEL * c->K,
        .c = (float *)c->y->data + (image * c->groups * c->maps + row) * c->positions + first,
        .c_stride = c->positions,
        .n = n};
    int64_t k = 0;
    do {
        tile.k = clamp(c->K - k, 0, K_STEP);
        tile.a = (const float *)c->w->data + row * c->K + k;
        tile.b = panels + k * PANEL;
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
    float *panels = (float *)(void *)((char *)held + sc_conv_align(sizeof(*held)));
    const int64_t whole = part / s->cuts; /* image, group, block */
    const int64_t first = whole % s->blocks * s->panels * PANEL;
    const int64_t group = whole / s->blocks % c->groups, image = whole / s->blocks / c->groups;
    if (*held != whole) {
        const int64_t plane = (image * c->groups + group) * c->channels;
        gather_block(s, (const float *)c->x->data + plane * c->in_count, first, panels);
        *held = whole;
    }
    multiply(s, panels, image, group, part % s->cuts * s->maps, first);
}

void sc_conv_columns_run(const struct sc_conv *conv)
{
    struct columns s = open_columns(conv);
    for (int worker = 0; worker < sc_team_size(conv->call->team); worker++) {
        *(int64_t *)(void *)((char *)conv->call->scratch + (size_t)worker * s.room_bytes) = -1;
    }
    sc_team_for(conv->call->team, conv->x->dims[0] * conv->groups * s.blocks * s.cuts, columns_part, &s);
}
