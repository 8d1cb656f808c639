/* SPDX-License-Identifier: Apache-2.0
 * Packed storage of elements narrower than a byte. */
#ifndef SC_TENSOR_PACK_H
#define SC_TENSOR_PACK_H

#include "tensor/type.h"

/* Packed: as in ONNX files. 4-bit: low nibble first; 2-bit: low bits first; 6-bit: a stream of bits, low bits first,
 * so four elements in three bytes; everything else as in memory. A list starts at a byte and its last byte is filled up
 * with zeros.
 * Plain: one element a byte. int4 and int2 are sign-extended (read them as int8_t); uint4, uint2, float4e2m1 and the
 * 6-bit floats stand in the low bits, the rest is zero. */

/* Elements [from, from + count) of `packed` to plain memory. */
void sc_unpack(enum sc_type type, const void *packed, int64_t from, int64_t count, void *plain);

/* count plain elements to sc_packed_bytes(type, count) bytes; bits above the element's width are ignored. */
void sc_pack(enum sc_type type, const void *plain, int64_t count, void *packed);

#endif
