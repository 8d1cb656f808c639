/* SPDX-License-Identifier: Apache-2.0
 * Conv of f32 as a product of positions as rows and packed weights as columns, for few positions: whole panels of maps
 * are busy where panels of positions would be partly empty. A is read down its columns: [K][positions] is what windows
 * of one element are in memory, and what others are gathered to. Results are turned into channels. A part is a block of
 * positions and of maps; a worker keeps its windows while the next part has the same positions. */
#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/conv_ways.h"
#include "ops/room.h"

enum {
    PANEL = SC_CONV_PANEL,
    K_STEP = 256, /* rows of panels and windows that stay in the caches */
    PART_WORK = 20000000, /* multiply-adds of a part, a quarter of a millisecond */
    WINDOWS_BYTES = 1 << 20, /* that a worker should keep */
    FEW = 64 /* positions that are not cut */
};

struct points {
    const struct sc_conv *conv;
    bool direct; /* windows are read where they lie */
    int64_t rows, blocks; /* positions of a block; blocks of an image */
    int64_t panels, cuts; /* of sixteen maps, of a part; parts that the maps make */
    size_t windows_bytes, result_bytes; /* rooms of a worker, after the number of the block that it holds */
};

bool sc_conv_points_pay(const struct sc_fact *w, const struct sc_window *window, int64_t groups)
{
    const int64_t maps = w->dims[0] / groups, positions = sc_dims_product(window->out, 0, window->axes);
    return positions * sc_parts(maps, PANEL) < sc_parts(positions, PANEL) * maps;
}

size_t sc_conv_points_packed_bytes(const struct sc_fact *w, int64_t groups)
{
    return (size_t)groups * sc_gemm_packed_bytes(SC_F32, sc_dims_product(w->dims, 1, w->rank), w->dims[0] / groups);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct points open_points(const struct sc_conv *c)
{
    struct points s = {.conv = c, .direct = sc_conv_in_place(&c->window)};
    const int64_t depth = c->K > 0 ? c->K : 1;
    const int64_t fit = WINDOWS_BYTES / (int64_t)sizeof(float) / depth / PANEL * PANEL;
    s.blocks = sc_parts(c->positions, clamp(fit, FEW, 4 * FEW));
    s.rows = s.blocks > 0 ? sc_parts(sc_parts(c->positions, s.blocks), PANEL) * PANEL : PANEL;
    s.blocks = sc_parts(c->positions, s.rows);
    const int64_t all = sc_parts(c->maps, PANEL), n = clamp(c->positions, 1, s.rows);
    s.panels = clamp(PART_WORK / PANEL / depth / n / 3 * 3, 3, 48);
    s.cuts = sc_parts(all, s.panels);
    s.panels = s.cuts > 0 ? clamp(sc_parts(sc_parts(all, s.cuts), 3) * 3, 3, all) : 1;
    s.cuts = sc_parts(all, s.panels);
    s.windows_bytes = s.direct ? 0 : sc_room_round((size_t)(s.rows * c->K) * sizeof(float));
    s.result_bytes = sc_room_round((size_t)(s.rows * s.panels * PANEL) * sizeof(float));
    return s;
}

static size_t room_bytes(const struct points *s)
{
    return sc_room_round(sizeof(int64_t)) + s->windows_bytes + s->result_bytes;
}

size_t sc_conv_points_scratch(const struct sc_conv *conv)
{
    const struct points s = open_points(conv);
    return room_bytes(&s) * (size_t)sc_team_size(conv->call->team);
}

/* result[n][maps] of windows [K][a_step] and the packed panels from `panel` on. */
static void multiply(const struct points *s, const struct sc_gemm_tile *block, int64_t group, int64_t panel)
{
    const struct sc_conv *c = s->conv;
    const size_t group_bytes = sc_gemm_packed_bytes(SC_F32, c->K, c->maps);
    const float *packed = (const float *)sc_const_at(c->call->packed, group, group_bytes);
    struct sc_gemm_tile tile = *block;
    int64_t k = 0;
    do {
        tile.k = clamp(c->K - k, 0, K_STEP);
        tile.a = block->a + k * block->a_step;
        tile.b = packed + panel * PANEL * c->K + k * PANEL;
        tile.accumulate = k > 0;
        c->call->kernels->gemm_tile(&tile);
        k += K_STEP;
    } while (k < c->K);
}

static void points_part(void *arg, int64_t part, int worker)
{
    const struct points *s = arg;
    const struct sc_conv *c = s->conv;
    int64_t *held = (int64_t *)sc_at(c->call->scratch, worker, room_bytes(s));
    float *windows = (float *)sc_at(held, 1, sc_room_round(sizeof(*held)));
    float *result = (float *)sc_at(windows, 1, s->windows_bytes);
    const int64_t whole = part / s->cuts; /* image, group, block */
    const int64_t first = whole % s->blocks * s->rows;
    const int64_t group = whole / s->blocks % c->groups, image = whole / s->blocks / c->groups;
    const int64_t panel = part % s->cuts * s->panels, map = panel * PANEL;
    const float *x = (const float *)c->x->data + (image * c->groups + group) * c->channels * c->in_count;
    if (!s->direct && *held != whole) {
        const struct sc_conv_gather gather = {.conv = c,
            .x = x,
            .first = first,
            .panels = s->rows / PANEL,
            .to = windows,
            .panel_step = PANEL,
            .row_step = s->rows};
        sc_conv_gather(&gather);
        *held = whole;
    }
    const int64_t n = clamp(c->maps - map, 0, s->panels * PANEL);
    const struct sc_gemm_tile block = {.m = clamp(c->positions - first, 0, s->rows),
        .panels = sc_parts(n, PANEL),
        .a = s->direct ? x + first : windows,
        .a_stride = 1,
        .a_step = s->direct ? c->in_count : s->rows,
        .panel_stride = PANEL * c->K,
        .c = result,
        .c_stride = s->panels * PANEL,
        .n = n};
    multiply(s, &block, group, panel);
    const int64_t row = group * c->maps + map;
    c->call->kernels->turn(result, block.c_stride, block.m, n, c->bias ? (const float *)c->bias->data + row : NULL,
        (float *)c->y->data + (image * c->groups * c->maps + row) * c->positions + first, c->positions);
}

void sc_conv_points_run(const struct sc_conv *conv)
{
    struct points s = open_points(conv);
    for (int worker = 0; worker < sc_team_size(conv->call->team); worker++) {
        *(int64_t *)sc_at(conv->call->scratch, worker, room_bytes(&s)) = -1;
    }
    sc_team_for(conv->call->team, conv->x->dims[0] * conv->groups * s.blocks * s.cuts, points_part, &s);
}
