/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/nn/rows.h"

static const struct sc_family_entry entries[] = {
    {"AffineGrid", sc_ops_nn_affine_grid},
    {"Attention", sc_ops_nn_attention},
    {"AveragePool", sc_ops_nn_pool},
    {"BatchNormalization", sc_ops_nn_channel_norm},
    {"CausalConvWithState", sc_ops_nn_linear_attention},
    {"Conv", sc_ops_nn_conv},
    {"ConvTranspose", sc_ops_nn_conv_transpose},
    {"Dropout", sc_ops_nn_dropout},
    {"GRU", sc_ops_nn_recurrent},
    {"Gemm", sc_ops_nn_gemm},
    {"GlobalAveragePool", sc_ops_nn_pool},
    {"GlobalLpPool", sc_ops_nn_pool},
    {"GlobalMaxPool", sc_ops_nn_pool},
    {"GridSample", sc_ops_nn_grid_sample},
    {"GroupNormalization", sc_ops_nn_channel_norm},
    {"InstanceNormalization", sc_ops_nn_channel_norm},
    {"LRN", sc_ops_nn_axis_norm},
    {"LSTM", sc_ops_nn_recurrent},
    {"LayerNormalization", sc_ops_nn_row_norm},
    {"LinearAttention", sc_ops_nn_linear_attention},
    {"LpNormalization", sc_ops_nn_axis_norm},
    {"LpPool", sc_ops_nn_pool},
    {"MatMul", sc_ops_nn_matmul},
    {"MaxPool", sc_ops_nn_pool},
    {"MeanVarianceNormalization", sc_ops_nn_axis_norm},
    {"NegativeLogLikelihoodLoss", sc_ops_nn_loss},
    {"NonMaxSuppression", sc_ops_nn_non_max_suppression},
    {"RMSNormalization", sc_ops_nn_row_norm},
    {"RNN", sc_ops_nn_recurrent},
    {"Resize", sc_ops_nn_resize},
    {"RotaryEmbedding", sc_ops_nn_rotary},
    {"SoftmaxCrossEntropyLoss", sc_ops_nn_loss},
    {"TensorScatter", sc_ops_nn_tensor_scatter},
    {"Upsample", sc_ops_nn_resize},
};

const struct sc_family sc_family_nn = {"nn", SC_LENGTH(entries), entries};
