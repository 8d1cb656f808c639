/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/ms/rows.h"

static const struct sc_family_entry entries[] = {
    {"Attention", sc_ops_ms_attention},
    {"BiasGelu", sc_ops_ms_gelu},
    {"DecoderMaskedMultiHeadAttention", sc_ops_ms_multi_head},
    {"EmbedLayerNormalization", sc_ops_ms_skip_norm},
    {"FastGelu", sc_ops_ms_gelu},
    {"FusedMatMul", sc_ops_ms_fused_matmul},
    {"Gelu", sc_ops_ms_gelu},
    {"GroupQueryAttention", sc_ops_ms_group_query},
    {"MoE", sc_ops_ms_moe},
    {"MultiHeadAttention", sc_ops_ms_multi_head},
    {"QMoE", sc_ops_ms_qmoe},
    {"QuickGelu", sc_ops_ms_gelu},
    {"RelativePositionBias", sc_ops_ms_position_bias},
    {"SimplifiedLayerNormalization", sc_ops_ms_skip_norm},
    {"SkipLayerNormalization", sc_ops_ms_skip_norm},
    {"SkipSimplifiedLayerNormalization", sc_ops_ms_skip_norm},
};

const struct sc_family sc_family_ms = {"ms", SC_LENGTH(entries), entries};
