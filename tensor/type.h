/* SPDX-License-Identifier: Apache-2.0
 * Element types, with the numbers of TensorProto.DataType. */
#ifndef SC_TENSOR_TYPE_H
#define SC_TENSOR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, number, name in operator clauses, bytes of one element in memory, bits of one element in files and packed
 * storage) */
#define SC_TYPES(X)                                                                                                    \
    X(F32, 1, "float", 4, 32)                                                                                          \
    X(U8, 2, "uint8", 1, 8)                                                                                            \
    X(I8, 3, "int8", 1, 8)                                                                                             \
    X(U16, 4, "uint16", 2, 16)                                                                                         \
    X(I16, 5, "int16", 2, 16)                                                                                          \
    X(I32, 6, "int32", 4, 32)                                                                                          \
    X(I64, 7, "int64", 8, 64)                                                                                          \
    X(STRING, 8, "string", 16, 0)                                                                                      \
    X(BOOL, 9, "bool", 1, 8)                                                                                           \
    X(F16, 10, "float16", 2, 16)                                                                                       \
    X(F64, 11, "double", 8, 64)                                                                                        \
    X(U32, 12, "uint32", 4, 32)                                                                                        \
    X(U64, 13, "uint64", 8, 64)                                                                                        \
    X(C64, 14, "complex64", 8, 64)                                                                                     \
    X(C128, 15, "complex128", 16, 128)                                                                                 \
    X(BF16, 16, "bfloat16", 2, 16)                                                                                     \
    X(F8E4M3FN, 17, "float8e4m3fn", 1, 8)                                                                              \
    X(F8E4M3FNUZ, 18, "float8e4m3fnuz", 1, 8)                                                                          \
    X(F8E5M2, 19, "float8e5m2", 1, 8)                                                                                  \
    X(F8E5M2FNUZ, 20, "float8e5m2fnuz", 1, 8)                                                                          \
    X(U4, 21, "uint4", 1, 4)                                                                                           \
    X(I4, 22, "int4", 1, 4)                                                                                            \
    X(F4E2M1, 23, "float4e2m1", 1, 4)                                                                                  \
    X(F8E8M0, 24, "float8e8m0", 1, 8)                                                                                  \
    X(U2, 25, "uint2", 1, 2)                                                                                           \
    X(I2, 26, "int2", 1, 2)                                                                                            \
    X(F6E2M3, 27, "float6e2m3", 1, 6)                                                                                  \
    X(F6E3M2, 28, "float6e3m2", 1, 6)

enum sc_type {
    SC_TYPE_NONE = 0,
#define X(name, number, text, bytes, bits) SC_##name = number,
    SC_TYPES(X)
#undef X
        SC_N_TYPES
};

size_t sc_type_bytes(enum sc_type type); /* of one element in memory; 0 for SC_TYPE_NONE */
unsigned sc_type_bits(enum sc_type type); /* of one element in packed storage */
const char *sc_type_name(enum sc_type type); /* "float", "int64", ...; "none" */
enum sc_type sc_type_find(const char *name, size_t length); /* SC_TYPE_NONE when there is no such type */
bool sc_type_valid(int64_t number);
bool sc_type_is_float(enum sc_type type); /* f16, bf16, f32, f64: not the 8-bit and narrower ones */
bool sc_type_is_narrow(enum sc_type type); /* fp8, fp6, fp4 and the 4- and 2-bit integers */
bool sc_type_is_int(enum sc_type type); /* 8 to 64 bits, signed or not */

/* An element of a string tensor. Bytes are UTF-8, borrowed: they live as long as the tensor's owner says. */
struct sc_string {
    const char *data;
    size_t bytes;
};

#endif
