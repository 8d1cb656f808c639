/* SPDX-License-Identifier: Apache-2.0
 * Windows of sixteen positions at a time. */
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

/* Where windows of sixteen positions begin, axis by axis. */
static void find_starts(const struct sc_conv *c, int64_t first, int32_t starts[][PANEL])
{
    const struct sc_window *w = &c->window;
    int64_t at[SC_MAX_AXES], rest = first;
    for (int d = w->axes - 1; d >= 0; d--) {
        at[d] = rest % w->out[d];
        rest /= w->out[d];
    }
    for (int j = 0; j < PANEL; j++) {
        for (int d = 0; d < w->axes; d++) {
            starts[d][j] = (int32_t)(at[d] * w->stride[d] - w->begin[d]);
        }
        for (int d = w->axes - 1; d >= 0 && ++at[d] == w->out[d]; d--) {
            at[d] = 0;
        }
    }
}

void sc_conv_gather(const struct sc_conv_gather *g)
{
    const struct sc_conv *c = g->conv;
    const struct sc_window *w = &c->window;
    int32_t starts[SC_MAX_AXES][PANEL];
    struct sc_windows windows = {.x = g->x,
        .channels = c->channels,
        .plane = c->in_count,
        .axes = w->axes,
        .starts = (const int32_t(*)[PANEL])starts,
        .in = w->in,
        .strides = c->strides,
        .kernel = w->kernel,
        .dilation = w->dilation,
        .row_step = g->row_step};
    for (int64_t p = 0; p < g->panels && g->first + p * PANEL < c->positions; p++) {
        const int64_t left = c->positions - g->first - p * PANEL;
        find_starts(c, g->first + p * PANEL, starts);
        windows.n = left < PANEL ? (int)left : PANEL;
        windows.to = g->to + p * g->panel_step;
        c->call->kernels->gather_windows(&windows);
    }
}
