/* SPDX-License-Identifier: Apache-2.0
 * The list of types with arithmetic of their own: includes BODY once for each.
 * Parameter: BODY, the file, in quotes. BODY sees
 *   T         the C type                       U        its unsigned counterpart (integers)
 *   SUFFIX    F32, I64, ...; OF(f) is f_F32    IS_FLOAT, IS_SIGNED   0 or 1
 *   F(f)      the libm function of that type (floats)
 *   IS_F32    1 for float, which has vector kernels for the common functions
 *   NEGATIVE(x)   x < 0, without a warning where that cannot be */
#define OF_JOIN(name, suffix) name##_##suffix
#define OF_EXPAND(name, suffix) OF_JOIN(name, suffix)
#define OF(name) OF_EXPAND(name, SUFFIX)

#define IS_FLOAT 1
#define IS_SIGNED 1
#define NEGATIVE(x) ((x) < 0)
#define IS_F32 1
#define T float
#define SUFFIX F32
#define F(name) name##f
#include BODY
#undef T
#undef SUFFIX
#undef F
#undef IS_F32

#define IS_F32 0
#define T double
#define SUFFIX F64
#define F(name) name
#include BODY
#undef T
#undef SUFFIX
#undef F
#undef IS_FLOAT

#define IS_FLOAT 0
#define T int8_t
#define U uint8_t
#define SUFFIX I8
#include BODY
#undef T
#undef U
#undef SUFFIX

#define T int16_t
#define U uint16_t
#define SUFFIX I16
#include BODY
#undef T
#undef U
#undef SUFFIX

#define T int32_t
#define U uint32_t
#define SUFFIX I32
#include BODY
#undef T
#undef U
#undef SUFFIX

#define T int64_t
#define U uint64_t
#define SUFFIX I64
#include BODY
#undef T
#undef U
#undef SUFFIX
#undef IS_SIGNED

#undef NEGATIVE
#define IS_SIGNED 0
#define NEGATIVE(x) ((void)(x), 0)
#define T uint8_t
#define U uint8_t
#define SUFFIX U8
#include BODY
#undef T
#undef U
#undef SUFFIX

#define T uint16_t
#define U uint16_t
#define SUFFIX U16
#include BODY
#undef T
#undef U
#undef SUFFIX

#define T uint32_t
#define U uint32_t
#define SUFFIX U32
#include BODY
#undef T
#undef U
#undef SUFFIX

#define T uint64_t
#define U uint64_t
#define SUFFIX U64
#include BODY
#undef T
#undef U
#undef SUFFIX
#undef IS_SIGNED
#undef IS_FLOAT
#undef IS_F32
#undef NEGATIVE
#undef OF
#undef OF_EXPAND
#undef OF_JOIN
#undef BODY
