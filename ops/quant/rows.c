/* SPDX-License-Identifier: Apache-2.0
 * Which file of this family holds which operator; sorted by name. */
#include "ops/quant/rows.h"

static const struct sc_family_entry entries[] = {
    {"DequantizeLinear", sc_ops_quant_linear},
    {"DynamicQuantizeLinear", sc_ops_quant_linear},
    {"GatherBlockQuantized", sc_ops_quant_gather_blocks},
    {"MatMulNBits", sc_ops_quant_matmul_nbits},
    {"QuantizeLinear", sc_ops_quant_linear},
};

const struct sc_family sc_family_quant = {"quant", SC_LENGTH(entries), entries};
