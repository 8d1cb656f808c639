/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_SHAPE_ROWS_H
#define SC_OPS_SHAPE_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_shape_concat[];
extern const struct sc_op sc_ops_shape_constant[];
extern const struct sc_op sc_ops_shape_depth[];
extern const struct sc_op sc_ops_shape_dims[];
extern const struct sc_op sc_ops_shape_gather[];
extern const struct sc_op sc_ops_shape_gather_nd[];
extern const struct sc_op sc_ops_shape_pad[];
extern const struct sc_op sc_ops_shape_range[];
extern const struct sc_op sc_ops_shape_reshape[];
extern const struct sc_op sc_ops_shape_scatter[];
extern const struct sc_op sc_ops_shape_select[];
extern const struct sc_op sc_ops_shape_slice[];
extern const struct sc_op sc_ops_shape_tile[];
extern const struct sc_op sc_ops_shape_topk[];
extern const struct sc_op sc_ops_shape_transpose[];
extern const struct sc_op sc_ops_shape_trilu[];
extern const struct sc_op sc_ops_shape_unique[];

#endif
