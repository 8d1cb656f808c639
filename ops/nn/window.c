/* SPDX-License-Identifier: Apache-2.0
 * Attributes are bounded to 31 bits, so that no product of two of them and a dim overflows unseen. */
#include "ops/nn/window.h"

#include <string.h>

static enum sc_status read_list(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, int64_t low, struct sc_ints *list)
{
    SC_TRY(sc_node_ints(node, name, &list->n, &list->values));
    for (int i = 0; i < list->n; i++) {
        if (list->values[i] < low || list->values[i] > INT32_MAX) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has the entry %lld, want %lld to %d", name,
                (long long)list->values[i], (long long)low, INT32_MAX);
        }
    }
    return SC_OK;
}

enum sc_status sc_window_read(const struct sc_graph *graph, const struct sc_node *node, struct sc_window_params *params)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    const char *auto_pad;
    int64_t ceil_mode;
    SC_TRY(sc_node_text(node, "auto_pad", "NOTSET", &auto_pad));
    SC_TRY(sc_node_int(node, "ceil_mode", 0, &ceil_mode));
    params->ceil_mode = ceil_mode != 0;
    int i = 0;
    while (i < 4 && strcmp(auto_pad, names[i]) != 0) {
        i++;
    }
    if (i == 4) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "auto_pad is '%s', want NOTSET, SAME_UPPER, SAME_LOWER or VALID", auto_pad);
    }
    params->auto_pad = (enum sc_auto_pad)i;
    SC_TRY(read_list(graph, node, "kernel_shape", 1, &params->kernel));
    SC_TRY(read_list(graph, node, "strides", 1, &params->strides));
    SC_TRY(read_list(graph, node, "dilations", 1, &params->dilations));
    SC_TRY(read_list(graph, node, "pads", 0, &params->pads));
    for (i = 0; i < params->pads.n; i++) {
        if (params->auto_pad != SC_PAD_EXPLICIT && params->pads.values[i] != 0) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "'pads' are given together with auto_pad '%s'", auto_pad);
        }
    }
    return SC_OK;
}

static enum sc_status check_list(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, const struct sc_ints *list, int want)
{
    if (list->n >= 0 && list->n != want) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has %d entries, want %d", name, list->n, want);
    }
    return SC_OK;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a - 1) / b + 1;
}

/* The output dim of an axis whose size is open: the same, name and all, where the window moves by one and the padding
 * makes up for it; else a floor that dims have no words for. */
static int64_t open_axis(const struct sc_window_params *params, const struct sc_window *w, int i)
{
    const bool same = params->auto_pad == SC_PAD_SAME_UPPER || params->auto_pad == SC_PAD_SAME_LOWER;
    const int64_t reach = (w->kernel[i] - 1) * w->dilation[i];
    const bool covers = w->begin[i] >= 0 && w->end[i] >= 0 && w->begin[i] + w->end[i] == reach;
    return w->kernel[i] > 0 && w->stride[i] == 1 && (same || covers) ? w->in[i] : SC_DIM_UNKNOWN;
}

/* The output dim of one axis, and the pads where they follow from it. */
static enum sc_status find_axis(const struct sc_graph *graph, const struct sc_node *node,
    const struct sc_window_params *params, struct sc_window *w, int i)
{
    const int64_t in = w->in[i];
    const int64_t stride = w->stride[i];
    const int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
    w->out[i] = open_axis(params, w, i);
    if (in < 0 || w->kernel[i] < 0) {
        return SC_OK;
    }
    if (params->auto_pad == SC_PAD_SAME_UPPER || params->auto_pad == SC_PAD_SAME_LOWER) {
        w->out[i] = divide_up(in, stride);
        const int64_t total = (w->out[i] - 1) * stride + extent - in;
        const int64_t small = total > 0 ? total / 2 : 0;
        const int64_t large = total > 0 ? total - small : 0;
        w->begin[i] = params->auto_pad == SC_PAD_SAME_UPPER ? small : large;
        w->end[i] = params->auto_pad == SC_PAD_SAME_UPPER ? large : small;
        return SC_OK;
    }
    const int64_t room = in + w->begin[i] + w->end[i] - extent;
    if (room < 0) {
        return sc_node_fail(graph, node, SC_BAD_INPUT, "a window of %lld does not fit %lld padded entries of axis %d",
            (long long)extent, (long long)(room + extent), i + 2);
    }
    w->out[i] = room / stride + 1;
    if (params->ceil_mode) {
        w->out[i] = divide_up(room, stride) + 1;
        if ((w->out[i] - 1) * stride >= in + w->begin[i]) {
            w->out[i]--; /* it would start in the padding */
        }
    }
    return SC_OK;
}

enum sc_status sc_window_find(const struct sc_graph *graph, const struct sc_node *node,
    const struct sc_window_params *params, int axes, const int64_t *in, const int64_t *kernel, struct sc_window *window)
{
    memset(window, 0, sizeof(*window));
    SC_TRY(check_list(graph, node, "kernel_shape", &params->kernel, axes));
    SC_TRY(check_list(graph, node, "strides", &params->strides, axes));
    SC_TRY(check_list(graph, node, "dilations", &params->dilations, axes));
    SC_TRY(check_list(graph, node, "pads", &params->pads, 2 * axes));
    if (!kernel && params->kernel.n < 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "there is no kernel_shape");
    }
    const bool explicit_pads = params->pads.n >= 0 && params->auto_pad == SC_PAD_EXPLICIT;
    window->axes = axes;
    for (int i = 0; i < axes; i++) {
        const int64_t given = params->kernel.n >= 0 ? params->kernel.values[i] : SC_DIM_UNKNOWN;
        window->in[i] = in[i];
        window->kernel[i] = kernel && kernel[i] >= 0 ? kernel[i] : given;
        if (given >= 0 && window->kernel[i] != given) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "kernel_shape has %lld at axis %d, the weights %lld",
                (long long)given, i, (long long)window->kernel[i]);
        }
        if (window->kernel[i] == 0 || window->kernel[i] > INT32_MAX) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "a kernel of %lld entries", (long long)window->kernel[i]);
        }
        window->stride[i] = params->strides.n >= 0 ? params->strides.values[i] : 1;
        window->dilation[i] = params->dilations.n >= 0 ? params->dilations.values[i] : 1;
        window->begin[i] = explicit_pads ? params->pads.values[i] : 0;
        window->end[i] = explicit_pads ? params->pads.values[axes + i] : 0;
        SC_TRY(find_axis(graph, node, params, window, i));
    }
    return SC_OK;
}

enum sc_status sc_window_ranks(struct sc_infer *infer, bool *known)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0], *w = infer->in[1];
    sc_fact_of_type(sc_infer_out(infer, 0), x->type);
    *known = x->rank >= 0 && w->rank >= 0;
    if (*known && (x->rank < 3 || w->rank != x->rank)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "X has rank %d and W rank %d, want equal ones of 3 or more", x->rank, w->rank);
    }
    return SC_OK;
}

void sc_window_output(
    struct sc_infer *infer, int o, enum sc_type type, int64_t channels, const struct sc_window *window)
{
    int64_t dims[SC_MAX_RANK] = {infer->in[0]->dims[0], channels};
    memcpy(dims + 2, window->out, (size_t)window->axes * sizeof(*dims));
    if (sc_infer_out(infer, o)) {
        sc_fact_tensor(infer->out[o], type, window->axes + 2, dims);
    }
}
