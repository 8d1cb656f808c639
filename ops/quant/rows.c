/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/quant/rows.h"

static const struct sc_family_entry entries[] = {
    {"ConvInteger", sc_ops_quant_integer},
    {"DequantizeLinear", sc_ops_quant_linear},
    {"DynamicQuantizeLinear", sc_ops_quant_linear},
    {"GatherBlockQuantized", sc_ops_quant_gather_blocks},
    {"MatMulInteger", sc_ops_quant_integer},
    {"MatMulNBits", sc_ops_quant_matmul_nbits},
    {"QLinearConv", sc_ops_quant_integer},
    {"QLinearMatMul", sc_ops_quant_integer},
    {"QuantizeLinear", sc_ops_quant_linear},
};

const struct sc_family sc_family_quant = {"quant", SC_LENGTH(entries), entries};
