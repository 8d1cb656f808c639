/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_QUANT_ROWS_H
#define SC_OPS_QUANT_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_quant_gather_blocks[];
extern const struct sc_op sc_ops_quant_integer[];
extern const struct sc_op sc_ops_quant_linear[];
extern const struct sc_op sc_ops_quant_matmul_nbits[];

#endif
