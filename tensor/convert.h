/* SPDX-License-Identifier: Apache-2.0
 * Conversion of elements between all numeric types. */
#ifndef SC_TENSOR_CONVERT_H
#define SC_TENSOR_CONVERT_H

#include "tensor/narrow.h"
#include "tensor/tensor.h"

enum sc_convert_flag {
    SC_CONVERT_SATURATE = 1, /* to fp8 and float8e8m0: see narrow.h */
    SC_CONVERT_ROUND_DOWN = 2, /* to float8e8m0; neither of the two: up */
    SC_CONVERT_ROUND_NEAREST = 4
};

/* True for every type but strings, complex numbers and none. */
bool sc_convertible(enum sc_type type);

/* n elements of dense plain memory; the ranges do not overlap unless they are the same and of equal width.
 *   to floats            rounded once to nearest even, also from 64-bit integers; past the largest value infinity, or
 *                        what narrow.h says
 *   float to integer     towards zero. What does not fit is defined though meaningless: i64 and i32 give their minimum,
 *                        u64 and u32 the bits of that 64-bit minimum, smaller types the low bits of the i32
 *   integer to integer   the low bits, also for 4 and 2 bits (8 to int4 is -8)
 *   to bool              false for zeros, true for all else and NaN
 * Both types are convertible. Source: ONNX Cast-28. */
void sc_convert(enum sc_type from_type, const void *from, enum sc_type to_type, void *to, int64_t n, unsigned flags);

/* Element i of a dense tensor of a convertible type, rounded to double. */
static inline double sc_number_at(const struct sc_tensor *tensor, int64_t i)
{
    double number;
    if (tensor->type == SC_F32) {
        return (double)((const float *)tensor->data)[i];
    }
    const size_t bytes = sc_type_bytes(tensor->type);
    sc_convert(tensor->type, (const char *)tensor->data + (size_t)i * bytes, SC_F64, &number, 1, 0);
    return number;
}

/* The same for writing: rounds to the tensor's type, towards zero where that is an integer. */
static inline void sc_number_put(const struct sc_tensor *tensor, int64_t i, double number)
{
    const size_t bytes = sc_type_bytes(tensor->type);
    sc_convert(SC_F64, &number, tensor->type, (char *)tensor->data + (size_t)i * bytes, 1, 0);
}

#endif
