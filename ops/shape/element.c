/* SPDX-License-Identifier: Apache-2.0
 * One switch over types, entered per element: these operators are bound by their searching, not by this. */
#include "ops/shape/element.h"

#include <string.h>

#include "ops/shape/shape.h"
#include "tensor/convert.h"

/* X(type, C type, type of sums) */
#define NUMBERS(X)                                                                                                     \
    X(F32, float, float)                                                                                               \
    X(F64, double, double)                                                                                             \
    X(I8, int8_t, uint32_t)                                                                                            \
    X(I16, int16_t, uint32_t)                                                                                          \
    X(I32, int32_t, uint32_t)                                                                                          \
    X(I64, int64_t, uint64_t)                                                                                          \
    X(U8, uint8_t, uint32_t)                                                                                           \
    X(U16, uint16_t, uint32_t)                                                                                         \
    X(U32, uint32_t, uint32_t)                                                                                         \
    X(U64, uint64_t, uint64_t)

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b) ? 1 : (a) == (b) ? 0 : ((a) != (a)) - ((b) != (b)))

static int order_strings(const struct sc_string *a, const struct sc_string *b)
{
    const size_t n = a->bytes < b->bytes ? a->bytes : b->bytes;
    const int order = n ? memcmp(a->data, b->data, n) : 0;
    return order ? order : ORDER(a->bytes, b->bytes);
}

int sc_element_order(enum sc_type type, const void *a, const void *b)
{
    switch (type) {
#define X(name, c_type, wide)                                                                                          \
    case SC_##name:                                                                                                    \
        return ORDER(*(const c_type *)a, *(const c_type *)b);
        NUMBERS(X)
#undef X
    case SC_STRING:
        return order_strings(a, b);
    case SC_C64: {
        const float *x = a;
        const float *y = b;
        const int order = ORDER(x[0], y[0]);
        return order ? order : ORDER(x[1], y[1]);
    }
    case SC_C128: {
        const double *x = a;
        const double *y = b;
        const int order = ORDER(x[0], y[0]);
        return order ? order : ORDER(x[1], y[1]);
    }
    case SC_BOOL:
        return (*(const uint8_t *)a != 0) - (*(const uint8_t *)b != 0);
    default: {
        float x, y;
        sc_convert(type, a, SC_F32, &x, 1, 0);
        sc_convert(type, b, SC_F32, &y, 1, 0);
        return ORDER(x, y);
    }
    }
}

bool sc_element_is_set(enum sc_type type, const void *element)
{
    static const struct sc_string empty;
    static const double zeros[2];
    if (type == SC_STRING) {
        return sc_element_order(type, element, &empty) != 0;
    }
    return sc_element_order(type, element, zeros) != 0;
}

#define TYPE float
#define WIDE float
#define NAME combine_F32
#include "ops/shape/combine.inc.h"
#define TYPE double
#define WIDE double
#define NAME combine_F64
#include "ops/shape/combine.inc.h"
#define TYPE int8_t
#define WIDE uint32_t
#define NAME combine_I8
#include "ops/shape/combine.inc.h"
#define TYPE int16_t
#define WIDE uint32_t
#define NAME combine_I16
#include "ops/shape/combine.inc.h"
#define TYPE int32_t
#define WIDE uint32_t
#define NAME combine_I32
#include "ops/shape/combine.inc.h"
#define TYPE int64_t
#define WIDE uint64_t
#define NAME combine_I64
#include "ops/shape/combine.inc.h"
#define TYPE uint8_t
#define WIDE uint32_t
#define NAME combine_U8
#include "ops/shape/combine.inc.h"
#define TYPE uint16_t
#define WIDE uint32_t
#define NAME combine_U16
#include "ops/shape/combine.inc.h"
#define TYPE uint32_t
#define WIDE uint32_t
#define NAME combine_U32
#include "ops/shape/combine.inc.h"
#define TYPE uint64_t
#define WIDE uint64_t
#define NAME combine_U64
#include "ops/shape/combine.inc.h"

bool sc_element_combinable(enum sc_type type, enum sc_reduction reduction)
{
    const bool ordered = sc_type_is_float(type) || sc_type_is_int(type) || type == SC_BOOL;
    const bool complex = type == SC_C64 || type == SC_C128;
    return reduction == SC_REDUCTION_NONE || ordered ||
        (complex && (reduction == SC_REDUCTION_ADD || reduction == SC_REDUCTION_MUL));
}

/* Sums and products of complex numbers, in double, each part rounded once. */
static void combine_complex(enum sc_type type, enum sc_reduction reduction, void *to, const void *from, int64_t n)
{
    const enum sc_type part = type == SC_C64 ? SC_F32 : SC_F64;
    for (int64_t i = 0; i < n; i++) {
        double a[2], b[2];
        void *y = sc_at(to, i, sc_type_bytes(type));
        sc_convert(part, y, SC_F64, a, 2, 0);
        sc_convert(part, sc_const_at(from, i, sc_type_bytes(type)), SC_F64, b, 2, 0);
        const double sum[2] = {a[0] + b[0], a[1] + b[1]};
        const double product[2] = {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};
        sc_convert(SC_F64, reduction == SC_REDUCTION_ADD ? sum : product, part, y, 2, 0);
    }
}

static void combine_narrow(enum sc_type type, enum sc_reduction reduction, void *to, const void *from, int64_t n)
{
    const size_t bytes = sc_type_bytes(type);
    for (int64_t i = 0; i < n; i++) {
        char *y = (char *)to + (size_t)i * bytes;
        float a, b;
        sc_convert(type, y, SC_F32, &a, 1, 0);
        sc_convert(type, (const char *)from + (size_t)i * bytes, SC_F32, &b, 1, 0);
        combine_F32(reduction, &a, &b, 1);
        sc_convert(SC_F32, &a, type, y, 1, 0); /* to bool: not zero */
    }
}

void sc_element_combine(enum sc_type type, enum sc_reduction reduction, void *to, const void *from, int64_t n)
{
    if (reduction == SC_REDUCTION_NONE) {
        if (n > 0) {
            memcpy(to, from, (size_t)n * sc_type_bytes(type));
        }
        return;
    }
    switch (type) {
#define X(name, c_type, wide)                                                                                          \
    case SC_##name:                                                                                                    \
        combine_##name(reduction, to, from, n);                                                                        \
        break;
        NUMBERS(X)
#undef X
    case SC_C64:
    case SC_C128:
        combine_complex(type, reduction, to, from, n);
        break;
    default:
        combine_narrow(type, reduction, to, from, n);
    }
}
