/* SPDX-License-Identifier: Apache-2.0
 * The files of this family. */
#ifndef SC_OPS_MATH_MATH_H
#define SC_OPS_MATH_MATH_H

#include "ops/families.h"

extern const struct sc_op sc_ops_math_argminmax[];
extern const struct sc_op sc_ops_math_binary[];
extern const struct sc_op sc_ops_math_cast[];
extern const struct sc_op sc_ops_math_clip[];
extern const struct sc_op sc_ops_math_cumulate[];
extern const struct sc_op sc_ops_math_det[];
extern const struct sc_op sc_ops_math_pow[];
extern const struct sc_op sc_ops_math_reduce[];
extern const struct sc_op sc_ops_math_softmax[];
extern const struct sc_op sc_ops_math_unary[];
extern const struct sc_op sc_ops_math_variadic[];
extern const struct sc_op sc_ops_math_where[];

#endif
