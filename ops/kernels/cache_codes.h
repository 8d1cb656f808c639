/* SPDX-License-Identifier: Apache-2.0
 * Caches whose tensors hold codes: a number is a code times the scale of its column. */
#ifndef SC_OPS_KERNELS_CACHE_CODES_H
#define SC_OPS_KERNELS_CACHE_CODES_H

#include "ops/kernels/kernels.h"
#include "tensor/type.h"

/* Whole numbers of 8 bits, float8e4m3fn, or in SC_U8 two whole numbers of 4 bits a byte, each 8 more than it stands
 * for, that of the even column low. What does not fit becomes the nearest that does. Source: GroupQueryAttention of
 * com.microsoft. */
struct sc_cache_codes {
    enum sc_type type; /* SC_I8, SC_F8E4M3FN or SC_U8 */
    int64_t width; /* numbers of a row of a head */
    const float *scales; /* [heads][width] */
};

/* Bytes of n numbers. */
static inline int64_t sc_codes_bytes(enum sc_type type, int64_t n)
{
    return type == SC_U8 ? (n + 1) / 2 : n;
}

/* n numbers of columns that are neighbours, from an even one on, with their scales; a scale of 0 codes as 1 does. */
void sc_codes_narrow(enum sc_type type, const float *scales, int64_t n, const float *x, uint8_t *to);

/* A row of a head. */
void sc_codes_widen(
    const struct sc_kernels *kernels, const struct sc_cache_codes *codes, int64_t head, const uint8_t *from, float *to);

/* A head's part of a page of keys, [bytes of a row][64 positions], as floats [width][64]. */
void sc_codes_widen_page(
    const struct sc_kernels *kernels, const struct sc_cache_codes *codes, int64_t head, const uint8_t *from, float *to);

#endif
