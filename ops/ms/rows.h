/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_MS_ROWS_H
#define SC_OPS_MS_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_ms_attention[];
extern const struct sc_op sc_ops_ms_fused_matmul[];
extern const struct sc_op sc_ops_ms_gelu[];
extern const struct sc_op sc_ops_ms_group_query[];
extern const struct sc_op sc_ops_ms_moe[];
extern const struct sc_op sc_ops_ms_multi_head[];
extern const struct sc_op sc_ops_ms_position_bias[];
extern const struct sc_op sc_ops_ms_qmoe[];
extern const struct sc_op sc_ops_ms_skip_norm[];

#endif
