/* SPDX-License-Identifier: Apache-2.0
 * Rows of span tables, in step with each_number.inc.h. */
#ifndef SC_OPS_MATH_TYPES_H
#define SC_OPS_MATH_TYPES_H

#include "ops/tile.h"

#define SC_ON_SIGNED(f) [SC_I8] = f##_I8, [SC_I16] = f##_I16, [SC_I32] = f##_I32, [SC_I64] = f##_I64
#define SC_ON_UNSIGNED(f) [SC_U8] = f##_U8, [SC_U16] = f##_U16, [SC_U32] = f##_U32, [SC_U64] = f##_U64
#define SC_ON_INTS(f) SC_ON_SIGNED(f), SC_ON_UNSIGNED(f)
#define SC_ON_FLOATS(f) [SC_F32] = f##_F32, [SC_F64] = f##_F64
#define SC_ON_NUMBERS(f) SC_ON_FLOATS(f), SC_ON_INTS(f)

#endif
