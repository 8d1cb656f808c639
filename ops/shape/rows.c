/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/shape/rows.h"

static const struct sc_family_entry entries[] = {
    {"Concat", sc_ops_shape_concat},
    {"Constant", sc_ops_shape_constant},
    {"ConstantOfShape", sc_ops_shape_constant},
    {"Expand", sc_ops_shape_transpose},
    {"Flatten", sc_ops_shape_reshape},
    {"Gather", sc_ops_shape_gather},
    {"GatherElements", sc_ops_shape_gather},
    {"Identity", sc_ops_shape_reshape},
    {"Range", sc_ops_shape_range},
    {"Reshape", sc_ops_shape_reshape},
    {"Shape", sc_ops_shape_dims},
    {"Size", sc_ops_shape_dims},
    {"Slice", sc_ops_shape_slice},
    {"Split", sc_ops_shape_concat},
    {"Squeeze", sc_ops_shape_reshape},
    {"Transpose", sc_ops_shape_transpose},
    {"Unsqueeze", sc_ops_shape_reshape},
};

const struct sc_family sc_family_shape = {"shape", SC_LENGTH(entries), entries};
