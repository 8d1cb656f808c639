/* SPDX-License-Identifier: Apache-2.0
 * Integers that stop at the ends of their range. */
#ifndef SC_OPS_QUANT_SATURATE_H
#define SC_OPS_QUANT_SATURATE_H

#include "tensor/type.h"

/* True for the integer types; quantised floats saturate in conversion. */
static inline bool sc_is_saturating(enum sc_type type)
{
    return sc_type_is_int(type) || type == SC_I4 || type == SC_U4 || type == SC_I2 || type == SC_U2;
}

/* A whole number brought into the range of an integer type of up to 32 bits; NaN gives the lowest. */
static inline double sc_saturate(enum sc_type type, double value)
{
    const int bits = (int)sc_type_bits(type);
    const bool is_signed = type == SC_I2 || type == SC_I4 || type == SC_I8 || type == SC_I16 || type == SC_I32;
    const double high = (double)(((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1);
    const double low = is_signed ? -high - 1.0 : 0.0;
    return value >= low ? (value <= high ? value : high) : low;
}

#endif
