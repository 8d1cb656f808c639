/* SPDX-License-Identifier: Apache-2.0
 * The smaller and the larger of two numbers. */
#ifndef SC_BASE_INT64_H
#define SC_BASE_INT64_H

#include <stdint.h>

static inline int64_t sc_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t sc_max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
