/* SPDX-License-Identifier: Apache-2.0
 * Resize and Upsample: what their attributes and inputs say of the axes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/nn/resize.h"
#include "tensor/convert.h"

#define SC_RESIZE_TAPS ((int64_t)1 << 40) /* of an axis whose region of interest may stretch the filter at will */

static enum sc_status find_name(const struct sc_graph *graph, const struct sc_node *node, const char *attribute,
    const char *const *names, int *index)
{
    const char *text;
    SC_TRY(sc_node_text(node, attribute, names[0], &text));
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *index = i;
            return SC_OK;
        }
    }
    char wanted[256];
    size_t n = 0;
    for (int i = 0; names[i] && n < sizeof wanted; i++) {
        n += (size_t)snprintf(wanted + n, sizeof wanted - n, "%s%s", i ? ", " : "", names[i]);
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "%s is '%s', want one of %s", attribute, text, wanted);
}

/* Upsample, and Resize before 11, know neither coordinate modes nor roundings. */
static enum sc_status params_old(const struct sc_graph *graph, const struct sc_node *node, struct sc_resize_params *p)
{
    static const char *const modes[] = {"nearest", "linear", "bilinear", "trilinear", NULL};
    int mode;
    SC_TRY(find_name(graph, node, "mode", modes, &mode));
    p->mode = mode == 0 ? SC_RESIZE_NEAREST : SC_RESIZE_LINEAR;
    p->place = SC_RESIZE_ASYMMETRIC;
    p->nearest = SC_RESIZE_SIMPLE;
    return SC_OK;
}

static enum sc_status params_upsample(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_resize_params), params));
    struct sc_resize_params *p = *params;
    p->axes.n = -1;
    p->only_larger = true;
    SC_TRY(params_old(graph, node, p));
    SC_TRY(sc_node_floats(node, "scales", &p->n_scales, &p->scales));
    if (node->version < 7) {
        float *scales = sc_arena_array(arena, 4, sizeof(*scales));
        if (!scales) {
            return SC_NO_MEMORY;
        }
        scales[0] = scales[1] = 1.0F;
        SC_TRY(sc_node_float(node, "height_scale", 0.0F, &scales[2]));
        SC_TRY(sc_node_float(node, "width_scale", 0.0F, &scales[3]));
        p->scales = scales;
        p->n_scales = 4;
    }
    return SC_OK;
}

static enum sc_status params_resize(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const places[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    SC_TRY(sc_params_new(arena, sizeof(struct sc_resize_params), params));
    struct sc_resize_params *p = *params;
    p->n_scales = -1;
    p->axes.n = -1;
    if (node->version < 11) {
        return params_old(graph, node, p);
    }
    int mode, place, rounding, policy;
    int64_t antialias, exclude;
    SC_TRY(find_name(graph, node, "mode", modes, &mode));
    SC_TRY(find_name(graph, node, "coordinate_transformation_mode", places, &place));
    SC_TRY(find_name(graph, node, "nearest_mode", roundings, &rounding));
    SC_TRY(find_name(graph, node, "keep_aspect_ratio_policy", policies, &policy));
    SC_TRY(sc_node_int(node, "antialias", 0, &antialias));
    SC_TRY(sc_node_int(node, "exclude_outside", 0, &exclude));
    SC_TRY(sc_node_float(node, "cubic_coeff_a", -0.75F, &p->cubic));
    SC_TRY(sc_node_float(node, "extrapolation_value", 0.0F, &p->extrapolation));
    SC_TRY(sc_node_ints(node, "axes", &p->axes.n, &p->axes.values));
    p->mode = (enum sc_resize_mode)mode;
    p->place = (enum sc_resize_place)place;
    p->nearest = (enum sc_resize_nearest)rounding;
    p->aspect = policy;
    p->antialias = antialias != 0;
    p->exclude_outside = exclude != 0;
    return SC_OK;
}

/* What the node's inputs say of its axes; `known` is false when the content of one is not known yet. */
struct asked {
    bool known;
    const struct sc_tensor *scales, *sizes, *roi;
};

static bool is_given(const struct sc_fact *fact)
{
    return fact && !(fact->rank == 1 && fact->dims[0] == 0);
}

static enum sc_status find_asked(const struct sc_infer *infer, struct asked *asked)
{
    const struct sc_resize_params *p = infer->params;
    const bool old = infer->node->version < 11;
    const struct sc_fact *scales = sc_infer_in(infer, old ? 1 : 2);
    const struct sc_fact *sizes = old ? NULL : sc_infer_in(infer, 3);
    const struct sc_fact *roi = old || p->place != SC_RESIZE_TF_CROP_AND_RESIZE ? NULL : sc_infer_in(infer, 1);
    memset(asked, 0, sizeof(*asked));
    const struct sc_fact *facts[] = {
        p->n_scales >= 0 || !is_given(scales) ? NULL : scales, is_given(sizes) ? sizes : NULL, roi};
    const struct sc_tensor **contents[] = {&asked->scales, &asked->sizes, &asked->roi};
    static const char *const names[] = {"scales", "sizes", "roi"};
    asked->known = true;
    for (int i = 0; i < 3; i++) {
        if (facts[i] && !facts[i]->value) {
            asked->known = false;
        } else if (facts[i]) {
            *contents[i] = facts[i]->value;
            if (facts[i]->value->rank != 1) {
                return sc_node_fail(
                    infer->graph, infer->node, SC_BAD_INPUT, "%s has rank %d, want 1", names[i], facts[i]->value->rank);
            }
        }
    }
    if (asked->known && !asked->scales && !asked->sizes && p->n_scales < 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "neither scales nor sizes are given");
    }
    if (asked->scales && asked->sizes) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "both scales and sizes are given");
    }
    if (asked->known && p->place == SC_RESIZE_TF_CROP_AND_RESIZE && !asked->roi) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "tf_crop_and_resize without roi");
    }
    return SC_OK;
}

static float float_at(const struct sc_tensor *list, int64_t i)
{
    float value;
    sc_convert(list->type, sc_const_at(list->data, i, sc_type_bytes(list->type)), SC_F32, &value, 1, 0);
    return value;
}

static enum sc_status check_lengths(const struct sc_infer *infer, const struct asked *asked, int n)
{
    const struct sc_resize_params *p = infer->params;
    const int64_t entries =
        p->n_scales >= 0 ? p->n_scales : sc_tensor_count(asked->sizes ? asked->sizes : asked->scales);
    if (entries != n) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "%s has %lld entries, want one for each of %d axes", asked->sizes ? "sizes" : "scales", (long long)entries,
            n);
    }
    if (asked->roi && sc_tensor_count(asked->roi) != 2 * (int64_t)n) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "roi has %lld entries, want two for each of %d axes", (long long)sc_tensor_count(asked->roi), n);
    }
    return SC_OK;
}

/* Entry i of scales or sizes, for one axis. An unknown dim stays unknown, except where sizes say it. */
static enum sc_status find_axis(
    const struct sc_infer *infer, const struct asked *asked, int i, int n, struct sc_resize_axis *axis)
{
    const struct sc_resize_params *p = infer->params;
    if (asked->roi) {
        axis->start = float_at(asked->roi, i);
        axis->end = float_at(asked->roi, n + i);
    }
    if (asked->sizes) {
        axis->out = sc_index_at(asked->sizes, i);
        axis->scale = axis->in > 0 ? (float)axis->out / (float)axis->in : 1.0F;
        axis->length = (double)axis->out;
        if (axis->out < 0 || (axis->in == 0 && axis->out > 0)) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a dim of %lld cannot be resized to %lld",
                (long long)axis->in, (long long)axis->out);
        }
        return SC_OK;
    }
    axis->scale = p->n_scales >= 0 ? p->scales[i] : float_at(asked->scales, i);
    if (!(axis->scale > 0.0F) || isinf(axis->scale)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "scale %d is %g, want one above 0", i, (double)axis->scale);
    }
    if (p->only_larger && axis->scale < 1.0F) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "scale %d is %g, want 1 or more", i, (double)axis->scale);
    }
    if (axis->in < 0) {
        axis->out = axis->scale == 1.0F && !asked->roi ? axis->in : SC_DIM_UNKNOWN;
        return SC_OK;
    }
    axis->length = (double)axis->scale * (double)axis->in;
    const float part = asked->roi ? axis->end - axis->start : 1.0F;
    const float out = floorf((float)axis->in * part * axis->scale); /* in float, as all peers round it */
    axis->out = axis->scale == 1.0F && part == 1.0F ? axis->in : out >= 0.0F && out < 0x1p62F ? (int64_t)out : -1;
    if (axis->out < 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a dim of %lld cannot be resized by %g",
            (long long)axis->in, (double)axis->scale);
    }
    return SC_OK;
}

/* One scale for all the axes, so that the picture keeps its proportions. */
static void keep_aspect(const struct sc_resize_params *p, const uint32_t mask, int rank, struct sc_resize_axis *axes)
{
    float scale = -1.0F;
    for (int i = 0; i < rank; i++) {
        if (!(mask & (1U << i))) {
            continue;
        }
        if (axes[i].in <= 0) {
            axes[i].out = axes[i].in < 0 ? SC_DIM_UNKNOWN : 0;
            continue;
        }
        const bool smaller = axes[i].scale < scale;
        scale = scale < 0.0F || smaller == (p->aspect == SC_RESIZE_NOT_LARGER) ? axes[i].scale : scale;
    }
    for (int i = 0; i < rank; i++) {
        if (mask & (1U << i) && axes[i].in > 0) {
            axes[i].scale = scale;
            axes[i].length = (double)scale * (double)axes[i].in;
            axes[i].out = (int64_t)(axes[i].length + 0.5);
        }
    }
}

static enum sc_status find_axes(const struct sc_infer *infer, const struct asked *asked, int rank, const int64_t *dims,
    struct sc_resize_axis axes[SC_MAX_RANK])
{
    const struct sc_resize_params *p = infer->params;
    const int n = p->axes.n >= 0 ? p->axes.n : rank;
    uint32_t mask;
    SC_TRY(sc_axes_mask(infer, p->axes, rank, &mask));
    mask = p->axes.n >= 0 ? mask : (1U << rank) - 1U;
    SC_TRY(check_lengths(infer, asked, n));
    bool all_known = true;
    for (int i = 0; i < rank; i++) {
        axes[i] = (struct sc_resize_axis){
            .in = dims[i], .out = dims[i], .scale = 1.0F, .length = (double)dims[i], .end = 1.0F};
    }
    for (int i = 0; i < n; i++) {
        const int64_t at = p->axes.n < 0 ? i : p->axes.values[i] < 0 ? p->axes.values[i] + rank : p->axes.values[i];
        SC_TRY(find_axis(infer, asked, i, n, &axes[at]));
        if (asked->roi && p->antialias && axes[at].in > 0 && axes[at].out > SC_RESIZE_TAPS / (4 * axes[at].in + 4)) {
            return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "a filter for %lld to %lld elements is too large",
                (long long)axes[at].in, (long long)axes[at].out);
        }
        all_known = all_known && dims[at] >= 0;
    }
    if (asked->sizes && p->aspect != SC_RESIZE_STRETCH) {
        keep_aspect(p, mask, rank, axes);
        for (int i = 0; i < rank && !all_known; i++) {
            axes[i].out = mask & (1U << i) ? SC_DIM_UNKNOWN : axes[i].out;
        }
    }
    return SC_OK;
}

enum sc_status sc_resize_axes(
    const struct sc_infer *infer, int rank, const int64_t *dims, struct sc_resize_axis axes[SC_MAX_RANK], bool *known)
{
    struct asked asked;
    SC_TRY(find_asked(infer, &asked));
    *known = asked.known;
    return rank >= 0 && asked.known ? find_axes(infer, &asked, rank, dims, axes) : SC_OK;
}

static enum sc_status infer_resize(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    const struct sc_resize_params *p = infer->params;
    struct sc_fact *y = sc_infer_out(infer, 0);
    if (p->mode != SC_RESIZE_NEAREST && x->type != SC_TYPE_NONE && !sc_convertible(x->type) && x->type != SC_C64 &&
        x->type != SC_C128) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "%s can be resized by mode 'nearest' only",
            sc_type_name(x->type));
    }
    sc_fact_of_type(y, x->type);
    int64_t dims[SC_MAX_RANK];
    struct sc_resize_axis axes[SC_MAX_RANK];
    bool known;
    SC_TRY(sc_resize_axes(infer, x->rank, x->dims, axes, &known));
    if (x->rank < 0) {
        return SC_OK;
    }
    sc_fact_of_rank(y, x->type, x->rank);
    for (int i = 0; i < x->rank && known; i++) {
        dims[i] = axes[i].out;
    }
    if (y && known) {
        sc_fact_tensor(y, x->type, x->rank, dims);
    }
    return SC_OK;
}

/* The first axis that may be resized: what lies above it splits the work, and needs no room on the way. */
static enum sc_status prepare_resize(struct sc_prepare *prepare)
{
    const struct sc_infer infer = {.graph = prepare->graph,
        .node = prepare->node,
        .params = prepare->params,
        .n_in = prepare->n_in,
        .in = prepare->in};
    const struct sc_fact *x = prepare->in[0];
    struct sc_resize_axis axes[SC_MAX_RANK];
    bool known;
    SC_TRY(sc_resize_axes(&infer, x->rank, x->dims, axes, &known));
    while (known && prepare->choice < x->rank && !sc_resize_moves(prepare->params, &axes[prepare->choice])) {
        prepare->choice++;
    }
    return SC_OK;
}

static void cost_resize(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_resize_params *p = infer->params;
    const double bytes = (double)sc_type_bytes(infer->in[0]->type);
    const double in = (double)sc_dims_product(infer->in[0]->dims, 0, infer->in[0]->rank);
    const double out = (double)sc_dims_product(infer->out[0]->dims, 0, infer->out[0]->rank);
    cost->operations = out * (p->mode == SC_RESIZE_NEAREST ? 1.0 : p->mode == SC_RESIZE_LINEAR ? 8.0 : 16.0);
    cost->read_bytes = in * bytes;
    cost->written_bytes = out * bytes;
}

#define ROW(op, version, read)                                                                                         \
    {                                                                                                                  \
        .domain = "", .name = op, .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = (read),             \
        .infer = infer_resize, .prepare = prepare_resize, .scratch = sc_resize_scratch,                                \
        .resolve = sc_resolve_by_infer, .run = sc_resize_run, .cost = cost_resize                                      \
    }

const struct sc_op sc_ops_nn_resize[] = {
    ROW("Resize", 10, params_resize),
    ROW("Resize", 11, params_resize),
    ROW("Resize", 13, params_resize),
    ROW("Resize", 18, params_resize),
    ROW("Resize", 19, params_resize),
    ROW("Upsample", 1, params_upsample),
    ROW("Upsample", 7, params_upsample),
    ROW("Upsample", 9, params_upsample),
    ROW("Upsample", 10, params_upsample),
    {.name = NULL},
};
