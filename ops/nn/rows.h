/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_NN_ROWS_H
#define SC_OPS_NN_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_nn_affine_grid[];
extern const struct sc_op sc_ops_nn_attention[];
extern const struct sc_op sc_ops_nn_axis_norm[];
extern const struct sc_op sc_ops_nn_channel_norm[];
extern const struct sc_op sc_ops_nn_col2im[];
extern const struct sc_op sc_ops_nn_conv[];
extern const struct sc_op sc_ops_nn_conv_transpose[];
extern const struct sc_op sc_ops_nn_deform_conv[];
extern const struct sc_op sc_ops_nn_dropout[];
extern const struct sc_op sc_ops_nn_flex_attention[];
extern const struct sc_op sc_ops_nn_gemm[];
extern const struct sc_op sc_ops_nn_grid_sample[];
extern const struct sc_op sc_ops_nn_image_decoder[];
extern const struct sc_op sc_ops_nn_linear_attention[];
extern const struct sc_op sc_ops_nn_loss[];
extern const struct sc_op sc_ops_nn_matmul[];
extern const struct sc_op sc_ops_nn_max_unpool[];
extern const struct sc_op sc_ops_nn_non_max_suppression[];
extern const struct sc_op sc_ops_nn_pool[];
extern const struct sc_op sc_ops_nn_recurrent[];
extern const struct sc_op sc_ops_nn_resize[];
extern const struct sc_op sc_ops_nn_roi[];
extern const struct sc_op sc_ops_nn_rotary[];
extern const struct sc_op sc_ops_nn_row_norm[];
extern const struct sc_op sc_ops_nn_tensor_scatter[];

#endif
