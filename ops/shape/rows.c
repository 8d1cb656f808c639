/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/shape/rows.h"

static const struct sc_family_entry entries[] = {
    {"CenterCropPad", sc_ops_shape_pad},
    {"Compress", sc_ops_shape_select},
    {"Concat", sc_ops_shape_concat},
    {"Constant", sc_ops_shape_constant},
    {"ConstantOfShape", sc_ops_shape_constant},
    {"DepthToSpace", sc_ops_shape_depth},
    {"Expand", sc_ops_shape_transpose},
    {"EyeLike", sc_ops_shape_trilu},
    {"Flatten", sc_ops_shape_reshape},
    {"Gather", sc_ops_shape_gather},
    {"GatherElements", sc_ops_shape_gather},
    {"GatherND", sc_ops_shape_gather_nd},
    {"Identity", sc_ops_shape_reshape},
    {"NonZero", sc_ops_shape_select},
    {"OneHot", sc_ops_shape_trilu},
    {"Pad", sc_ops_shape_pad},
    {"Range", sc_ops_shape_range},
    {"Reshape", sc_ops_shape_reshape},
    {"ReverseSequence", sc_ops_shape_depth},
    {"Scatter", sc_ops_shape_scatter},
    {"ScatterElements", sc_ops_shape_scatter},
    {"ScatterND", sc_ops_shape_gather_nd},
    {"Shape", sc_ops_shape_dims},
    {"Size", sc_ops_shape_dims},
    {"Slice", sc_ops_shape_slice},
    {"SpaceToDepth", sc_ops_shape_depth},
    {"Split", sc_ops_shape_concat},
    {"Squeeze", sc_ops_shape_reshape},
    {"Tile", sc_ops_shape_tile},
    {"TopK", sc_ops_shape_topk},
    {"Transpose", sc_ops_shape_transpose},
    {"Trilu", sc_ops_shape_trilu},
    {"Unique", sc_ops_shape_unique},
    {"Unsqueeze", sc_ops_shape_reshape},
};

const struct sc_family sc_family_shape = {"shape", SC_LENGTH(entries), entries};
