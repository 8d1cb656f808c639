/* SPDX-License-Identifier: Apache-2.0
 * RoiAlign and MaxRoiPool: regions of pictures, each pooled to a grid of bins. */
#include "ops/nn/roi.h"

#include <string.h>

#include "ops/nn/rows.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

static enum sc_status read_align(const struct sc_graph *graph, const struct sc_node *node, struct sc_roi_params *p)
{
    const char *mode, *transformation, *old = node->version < 16 ? "output_half_pixel" : "half_pixel";
    SC_TRY(sc_node_text(node, "mode", "avg", &mode));
    SC_TRY(sc_node_text(node, "coordinate_transformation_mode", old, &transformation));
    SC_TRY(sc_node_int(node, "output_height", 1, &p->height));
    SC_TRY(sc_node_int(node, "output_width", 1, &p->width));
    SC_TRY(sc_node_int(node, "sampling_ratio", 0, &p->sampling_ratio));
    p->max = strcmp(mode, "max") == 0;
    p->half_pixel = strcmp(transformation, "half_pixel") == 0;
    if (!p->max && strcmp(mode, "avg") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "mode is '%s', want avg or max", mode);
    }
    if (!p->half_pixel && strcmp(transformation, "output_half_pixel") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "coordinate_transformation_mode is '%s', want half_pixel or output_half_pixel", transformation);
    }
    if (p->sampling_ratio < 0 || p->sampling_ratio > INT16_MAX) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "sampling_ratio is %lld, want 0 to %d", (long long)p->sampling_ratio, INT16_MAX);
    }
    return SC_OK;
}

static enum sc_status params_roi(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    float scale;
    SC_TRY(sc_params_new(arena, sizeof(struct sc_roi_params), params));
    struct sc_roi_params *p = *params;
    SC_TRY(sc_node_float(node, "spatial_scale", 1.0F, &scale));
    p->scale = (double)scale;
    p->align = strcmp(node->op, "RoiAlign") == 0;
    if (p->align) {
        SC_TRY(read_align(graph, node, p));
    } else {
        int n;
        const int64_t *shape;
        SC_TRY(sc_node_ints(node, "pooled_shape", &n, &shape));
        if (n != 2) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "pooled_shape has %d entries, want 2", n < 0 ? 0 : n);
        }
        p->height = shape[0];
        p->width = shape[1];
    }
    if (p->height < 1 || p->width < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "regions become %lld x %lld bins, want 1 x 1 or more",
            (long long)p->height, (long long)p->width);
    }
    return SC_OK;
}

static enum sc_status infer_roi(struct sc_infer *infer)
{
    const struct sc_roi_params *p = infer->params;
    static const int64_t any[4] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_needs(infer, p->align ? 3 : 2));
    const struct sc_fact *x = infer->in[0], *rois = infer->in[1];
    const int64_t columns[2] = {SC_DIM_UNKNOWN, p->align ? 4 : 5};
    SC_TRY(sc_infer_want(infer, 0, "X", 4, any));
    SC_TRY(sc_infer_want(infer, 1, "rois", 2, columns));
    const int64_t n_rois = rois->rank == 2 ? rois->dims[0] : SC_DIM_UNKNOWN;
    SC_TRY(sc_infer_want(infer, 2, "batch_indices", 1, &n_rois));
    const int64_t dims[4] = {n_rois, x->rank == 4 ? x->dims[1] : SC_DIM_UNKNOWN, p->height, p->width};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], x->type, 4, dims);
    }
    return SC_OK;
}

static enum sc_status resolve_roi(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *x = sc_call_in(call, 0), *rois = sc_call_in(call, 1);
    for (int64_t r = 0; r < rois->dims[0]; r++) {
        const double batch = sc_roi_picture(rois, sc_call_in(call, 2), r);
        if (!(batch >= 0.0 && batch < (double)x->dims[0])) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "region %lld is of picture %g, want one in [0, %lld)", (long long)r, batch, (long long)x->dims[0]);
        }
    }
    return SC_OK;
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = (op), .since = (version), .flags = SC_OP_PURE, .params = params_roi, .infer = infer_roi, \
        .scratch = sc_roi_scratch, .resolve = resolve_roi, .run = sc_roi_run                                           \
    }

const struct sc_op sc_ops_nn_roi[] = {ROW("MaxRoiPool", 1), ROW("MaxRoiPool", 22), ROW("RoiAlign", 10),
    ROW("RoiAlign", 16), ROW("RoiAlign", 22), {.name = NULL}};
