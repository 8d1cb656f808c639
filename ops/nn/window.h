/* SPDX-License-Identifier: Apache-2.0
 * Windows that slide over the spatial axes of [N, C, D1, D2, ...]: what convolution and pooling share. */
#ifndef SC_OPS_NN_WINDOW_H
#define SC_OPS_NN_WINDOW_H

#include "ops/shape/shape.h"

#define SC_MAX_AXES (SC_MAX_RANK - 2)

enum sc_auto_pad { SC_PAD_EXPLICIT, SC_PAD_SAME_UPPER, SC_PAD_SAME_LOWER, SC_PAD_VALID };

/* The attributes of a node; lists that are absent have n == -1. Entries were checked to be in range. */
struct sc_window_params {
    enum sc_auto_pad auto_pad;
    bool ceil_mode;
    struct sc_ints kernel, strides, dilations, pads;
};

enum sc_status sc_window_read(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_window_params *params);

/* One window. Position o of axis i covers inputs o * stride - begin + k * dilation for k < kernel. in and out may be
 * SC_DIM_UNKNOWN or a named dim. */
struct sc_window {
    int axes;
    int64_t in[SC_MAX_AXES], out[SC_MAX_AXES];
    int64_t kernel[SC_MAX_AXES], stride[SC_MAX_AXES], dilation[SC_MAX_AXES];
    int64_t begin[SC_MAX_AXES], end[SC_MAX_AXES];
};

/* kernel: dims of the weights, or NULL: the attribute says. Fails where lists do not fit the number of axes, or the
 * window does not fit the input. */
enum sc_status sc_window_find(const struct sc_graph *graph, const struct sc_node *node,
    const struct sc_window_params *params, int axes, const int64_t *in, const int64_t *kernel,
    struct sc_window *window);

/* Weights W that slide over X: *known when both have their ranks, which are equal and at least 3. out[0] has the type
 * of X. */
enum sc_status sc_window_ranks(struct sc_infer *infer, bool *known);

/* out[o]: a channel for each of `channels`, an entry for each position of the window. */
void sc_window_output(
    struct sc_infer *infer, int o, enum sc_type type, int64_t channels, const struct sc_window *window);

/* Kernel entries [*first, *end) of an axis that lie inside the input when the window starts at `start`. */
static inline void sc_window_clip(const struct sc_window *w, int axis, int64_t start, int64_t *first, int64_t *end)
{
    const int64_t d = w->dilation[axis];
    const int64_t left = w->in[axis] - start;
    *first = start < 0 ? (-start + d - 1) / d : 0;
    *end = left <= 0 ? 0 : (left + d - 1) / d;
    *end = *end < w->kernel[axis] ? *end : w->kernel[axis];
    *first = *first < *end ? *first : *end;
}

#endif
