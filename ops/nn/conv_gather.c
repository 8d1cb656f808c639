/* SPDX-License-Identifier: Apache-2.0
 * Windows of sixteen positions at a time: per kernel entry the places of sixteen elements in a plane, which are then
 * the same for every channel. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/conv_ways.h"

enum { PANEL = SC_CONV_PANEL };

bool sc_conv_in_place(const struct sc_window *w)
{
    for (int d = 0; d < w->axes; d++) {
        if (w->kernel[d] != 1 || w->stride[d] != 1 || w->begin[d] != 0 || w->end[d] != 0) {
            return false;
        }
    }
    return true;
}

/* Where windows of sixteen positions begin, axis by axis; a position past the end begins far outside. */
struct starts {
    int32_t at[SC_MAX_AXES][PANEL];
};

static void find_starts(const struct sc_conv *c, int64_t first, struct starts *starts)
{
    const struct sc_window *w = &c->window;
    int64_t at[SC_MAX_AXES];
    int64_t rest = first;
    for (int d = w->axes - 1; d >= 0; d--) {
        at[d] = rest % w->out[d];
        rest /= w->out[d];
    }
    for (int j = 0; j < PANEL; j++) {
        for (int d = 0; d < w->axes; d++) {
            const int64_t start = at[d] * w->stride[d] - w->begin[d];
            starts->at[d][j] = first + j < c->positions ? (int32_t)start : INT32_MIN / 2;
        }
        for (int d = w->axes - 1; d >= 0 && ++at[d] == w->out[d]; d--) {
            at[d] = 0;
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

void sc_conv_gather(const struct sc_conv_gather *g)
{
    const struct sc_conv *c = g->conv;
    const struct sc_window *w = &c->window;
    const int64_t taps = sc_dims_product(w->kernel, 0, w->axes);
    for (int64_t p = 0; p < g->panels && g->first + p * PANEL < c->positions; p++) {
        struct starts starts;
        find_starts(c, g->first + p * PANEL, &starts);
        int64_t k[SC_MAX_AXES] = {0};
        for (int64_t t = 0; t < taps; t++) {
            int32_t offsets[PANEL];
            find_offsets(c, &starts, k, offsets);
            c->call->kernels->gather_columns(g->x, c->in_count, offsets, c->channels,
                g->to + p * g->panel_step + t * g->row_step, taps * g->row_step);
            for (int d = w->axes - 1; d >= 0 && ++k[d] == w->kernel[d]; d--) {
                k[d] = 0;
            }
        }
    }
}
