/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_CONTROL_ROWS_H
#define SC_OPS_CONTROL_ROWS_H

#include "ops/families.h"

extern const struct sc_op sc_ops_control_if[];
extern const struct sc_op sc_ops_control_loop[];
extern const struct sc_op sc_ops_control_optional[];
extern const struct sc_op sc_ops_control_scan[];
extern const struct sc_op sc_ops_control_sequence[];

#endif
