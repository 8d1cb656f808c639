/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_MATH_MATH_H
#define SC_OPS_MATH_MATH_H

#include "ops/families.h"

/* The attribute output_datatype of windows and MelWeightMatrix. */
enum sc_status sc_math_output_type(const struct sc_graph *graph, const struct sc_node *node, enum sc_type *type);

extern const struct sc_op sc_ops_math_argminmax[];
extern const struct sc_op sc_ops_math_binary[];
extern const struct sc_op sc_ops_math_cast[];
extern const struct sc_op sc_ops_math_clip[];
extern const struct sc_op sc_ops_math_cumulate[];
extern const struct sc_op sc_ops_math_det[];
extern const struct sc_op sc_ops_math_dft[];
extern const struct sc_op sc_ops_math_einsum[];
extern const struct sc_op sc_ops_math_mel[];
extern const struct sc_op sc_ops_math_pow[];
extern const struct sc_op sc_ops_math_random[];
extern const struct sc_op sc_ops_math_reduce[];
extern const struct sc_op sc_ops_math_softmax[];
extern const struct sc_op sc_ops_math_swiglu[];
extern const struct sc_op sc_ops_math_unary[];
extern const struct sc_op sc_ops_math_variadic[];
extern const struct sc_op sc_ops_math_where[];
extern const struct sc_op sc_ops_math_windows[];

#endif
