/* SPDX-License-Identifier: Apache-2.0
 * What a resize does to each axis, and the input elements and weights that an output element is made of. */
#ifndef SC_OPS_NN_RESIZE_H
#define SC_OPS_NN_RESIZE_H

#include "ops/shape/shape.h"

enum sc_resize_mode { SC_RESIZE_NEAREST, SC_RESIZE_LINEAR, SC_RESIZE_CUBIC };

/* coordinate_transformation_mode, in the order of their names' table. */
enum sc_resize_place {
    SC_RESIZE_HALF_PIXEL,
    SC_RESIZE_HALF_PIXEL_SYMMETRIC,
    SC_RESIZE_PYTORCH_HALF_PIXEL,
    SC_RESIZE_ALIGN_CORNERS,
    SC_RESIZE_ASYMMETRIC,
    SC_RESIZE_TF_HALF_PIXEL_FOR_NN,
    SC_RESIZE_TF_CROP_AND_RESIZE
};

enum sc_resize_nearest {
    SC_RESIZE_ROUND_PREFER_FLOOR,
    SC_RESIZE_ROUND_PREFER_CEIL,
    SC_RESIZE_FLOOR,
    SC_RESIZE_CEIL,
    SC_RESIZE_SIMPLE /* before version 11: down when the axis grows, up when it shrinks */
};

struct sc_resize_params {
    enum sc_resize_mode mode;
    enum sc_resize_place place;
    enum sc_resize_nearest nearest;
    enum { SC_RESIZE_STRETCH, SC_RESIZE_NOT_LARGER, SC_RESIZE_NOT_SMALLER } aspect;
    bool antialias, exclude_outside, only_larger; /* only_larger: no scale below 1, as Upsample has it */
    float cubic, extrapolation;
    struct sc_ints axes; /* n == -1: all */
    int n_scales; /* Upsample before 9 has them as attributes; -1: an input has them */
    const float *scales;
};

struct sc_resize_axis {
    int64_t in, out;
    float scale;
    double length; /* of the output before it is rounded to out: scale · in; out itself where sizes say it */
    float start, end; /* region of interest, as parts of the axis; tf_crop_and_resize only */
};

/* All axes, from the content of the node's inputs; dims may be unknown. *known is false, and axes are not set, when an
 * input's content is not known yet. */
enum sc_status sc_resize_axes(
    const struct sc_infer *infer, int rank, const int64_t *dims, struct sc_resize_axis axes[SC_MAX_RANK], bool *known);

/* False where the axis is passed on as it is. */
bool sc_resize_moves(const struct sc_resize_params *params, const struct sc_resize_axis *axis);

/* Input elements that make one output element; 1 for nearest. */
int64_t sc_resize_taps(const struct sc_resize_params *params, const struct sc_resize_axis *axis);

/* At least as many, whatever scale and region made `out` of `in`. */
int64_t sc_resize_most_taps(const struct sc_resize_params *params, int64_t in, int64_t out);

/* from: [out, taps] input coordinates within [0, in), or -1: outside the input, where the extrapolation value stands.
 * weights: as many, which sum to 1; NULL for nearest, which needs none.
 * Source: ONNX Resize-19. */
void sc_resize_find(
    const struct sc_resize_params *params, const struct sc_resize_axis *axis, int64_t *from, double *weights);

/* Of the operator's row. */
size_t sc_resize_scratch(const struct sc_call *call);
void sc_resize_run(const struct sc_call *call);

#endif
