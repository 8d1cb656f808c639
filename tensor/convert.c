/* SPDX-License-Identifier: Apache-2.0
 * Every type is loaded into one of three exact forms (i64, u64, f64) a tile at a time and stored from there: n loads
 * and n stores instead of n * n conversions. The few pairs that activations use have loops of their own. */
#include "tensor/convert.h"

#include <assert.h>

#define TILE 256
#define FEW 8 /* elements for which a long look for the right loop does not pay */

enum hub { HUB_I64, HUB_U64, HUB_F64 };

union tile {
    int64_t i[TILE];
    uint64_t u[TILE];
    double f[TILE];
};

/* Integers that fit i64: X(type, C type) */
#define SMALL_INTEGERS(X)                                                                                              \
    X(U8, uint8_t)                                                                                                     \
    X(I8, int8_t)                                                                                                      \
    X(U16, uint16_t)                                                                                                   \
    X(I16, int16_t)                                                                                                    \
    X(I32, int32_t)                                                                                                    \
    X(I64, int64_t)                                                                                                    \
    X(U32, uint32_t)

bool sc_convertible(enum sc_type type)
{
    return sc_type_valid((int64_t)type) && type != SC_STRING && type != SC_C64 && type != SC_C128;
}

static void load_codes(enum sc_type type, const uint8_t *from, int n, union tile *tile)
{
    if (type == SC_I4 || type == SC_I2) {
        const int top = type == SC_I4 ? 8 : 2;
        for (int k = 0; k < n; k++) {
            tile->i[k] = ((from[k] & (2 * top - 1)) ^ top) - top;
        }
    } else if (type == SC_U4 || type == SC_U2) {
        for (int k = 0; k < n; k++) {
            tile->i[k] = from[k] & (type == SC_U4 ? 15 : 3);
        }
    } else {
        for (int k = 0; k < n; k++) {
            tile->f[k] = sc_narrow_to_f32(type, from[k]);
        }
    }
}

static void load_floats(enum sc_type type, const void *from, int n, union tile *tile)
{
    for (int k = 0; k < n; k++) {
        switch (type) {
        case SC_F16:
            tile->f[k] = sc_f16_to_f32(((const uint16_t *)from)[k]);
            break;
        case SC_BF16:
            tile->f[k] = sc_bf16_to_f32(((const uint16_t *)from)[k]);
            break;
        case SC_F32:
            tile->f[k] = ((const float *)from)[k];
            break;
        default:
            tile->f[k] = ((const double *)from)[k];
            break;
        }
    }
}

static enum hub load(enum sc_type type, const void *from, int n, union tile *tile)
{
    switch (type) {
#define X(name, ctype)                                                                                                 \
    case SC_##name:                                                                                                    \
        for (int k = 0; k < n; k++) {                                                                                  \
            tile->i[k] = ((const ctype *)from)[k];                                                                     \
        }                                                                                                              \
        return HUB_I64;
        SMALL_INTEGERS(X)
#undef X
    case SC_U64:
        memcpy(tile->u, from, (size_t)n * sizeof(uint64_t));
        return HUB_U64;
    case SC_BOOL:
        for (int k = 0; k < n; k++) {
            tile->i[k] = ((const uint8_t *)from)[k] != 0;
        }
        return HUB_I64;
    case SC_F16:
    case SC_BF16:
    case SC_F32:
    case SC_F64:
        load_floats(type, from, n, tile);
        return HUB_F64;
    default:
        load_codes(type, from, n, tile);
        return type == SC_I4 || type == SC_U4 || type == SC_I2 || type == SC_U2 ? HUB_I64 : HUB_F64;
    }
}

static int64_t f64_to_i64(double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

static int64_t f64_to_u64(double value)
{
    return value >= 0x1p63 && value < 0x1p64 ? (int64_t)(uint64_t)value : f64_to_i64(value);
}

static int64_t f64_to_i32(double value)
{
    return value > -0x1p31 - 1 && value < 0x1p31 ? (int64_t)value : INT32_MIN;
}

/* Makes i64 of the tile for a store to an integer type or bool; the low bits are what counts. */
static void settle_integers(enum sc_type type, enum hub hub, int n, union tile *tile)
{
    if (hub != HUB_F64) {
        return;
    }
    for (int k = 0; k < n; k++) {
        const double value = tile->f[k];
        if (type == SC_BOOL) {
            tile->i[k] = value != 0;
        } else if (type == SC_I64 || type == SC_U32) {
            tile->i[k] = f64_to_i64(value);
        } else {
            tile->i[k] = type == SC_U64 ? f64_to_u64(value) : f64_to_i32(value);
        }
    }
}

/* An integer as a double that rounds to any shorter format as the integer itself would: bits that do not fit are
 * gathered in the last one ("round to odd"). */
static double odd_double(uint64_t magnitude, bool negative)
{
    if (magnitude >> 53) {
        const uint64_t lost = magnitude & 0x7ff;
        magnitude = (magnitude & ~(uint64_t)0x7ff) | (lost ? 0x800 : 0);
    }
    return negative ? -(double)magnitude : (double)magnitude;
}

/* Makes f64 of the tile for a store to a float type. */
static void settle_floats(enum sc_type type, enum hub hub, int n, union tile *tile)
{
    for (int k = 0; hub != HUB_F64 && k < n; k++) {
        const bool negative = hub == HUB_I64 && tile->i[k] < 0;
        if (type == SC_F64) {
            tile->f[k] = hub == HUB_I64 ? (double)tile->i[k] : (double)tile->u[k];
        } else {
            tile->f[k] = odd_double(negative ? 0 - tile->u[k] : tile->u[k], negative);
        }
    }
}

static void store_integers(enum sc_type type, const union tile *tile, int n, void *to)
{
    const int low = type == SC_I4 || type == SC_U4 ? 15 : 3;
    const int top = type == SC_I4 ? 8 : type == SC_I2 ? 2 : 0;
    switch (type) {
#define X(name, ctype)                                                                                                 \
    case SC_##name:                                                                                                    \
        for (int k = 0; k < n; k++) {                                                                                  \
            ((ctype *)to)[k] = (ctype)tile->i[k];                                                                      \
        }                                                                                                              \
        break;
        SMALL_INTEGERS(X)
        X(U64, uint64_t)
#undef X
    case SC_BOOL:
        for (int k = 0; k < n; k++) {
            ((uint8_t *)to)[k] = tile->i[k] != 0;
        }
        break;
    default:
        for (int k = 0; k < n; k++) {
            ((uint8_t *)to)[k] = (uint8_t)(((int)(tile->i[k] & low) ^ top) - top);
        }
        break;
    }
}

static void store_floats(enum sc_type type, const union tile *tile, int n, void *to, unsigned flags)
{
    const enum sc_round round = flags & SC_CONVERT_ROUND_DOWN ? SC_ROUND_DOWN
        : flags & SC_CONVERT_ROUND_NEAREST                    ? SC_ROUND_NEAREST
                                                              : SC_ROUND_UP;
    for (int k = 0; k < n; k++) {
        const double value = tile->f[k];
        switch (type) {
        case SC_F16:
            ((uint16_t *)to)[k] = sc_f16_from_f64(value);
            break;
        case SC_BF16:
            ((uint16_t *)to)[k] = sc_bf16_from_f64(value);
            break;
        case SC_F32:
            ((float *)to)[k] = (float)value;
            break;
        case SC_F64:
            ((double *)to)[k] = value;
            break;
        default:
            ((uint8_t *)to)[k] = sc_narrow_from_f64(type, value, flags & SC_CONVERT_SATURATE, round);
            break;
        }
    }
}

/* What follows is what the hub gives for these pairs, in loops that become vectors. */
static int32_t f32_to_i32(float value)
{
    return value >= -0x1p31f && value < 0x1p31f ? (int32_t)value : INT32_MIN;
}

/* X(from, its C type, to, its C type, an element x of the other type) */
#define DIRECT_PAIRS(X)                                                                                                \
    X(U8, uint8_t, F32, float, (float)x)                                                                               \
    X(I8, int8_t, F32, float, (float)x)                                                                                \
    X(U16, uint16_t, F32, float, (float)x)                                                                             \
    X(I16, int16_t, F32, float, (float)x)                                                                              \
    X(I32, int32_t, F32, float, (float)x)                                                                              \
    X(I64, int64_t, F32, float, (float)x)                                                                              \
    X(BOOL, uint8_t, F32, float, (float)(x != 0))                                                                      \
    X(F64, double, F32, float, (float)x)                                                                               \
    X(F32, float, F64, double, (double)x)                                                                              \
    X(F32, float, U8, uint8_t, (uint8_t)f32_to_i32(x))                                                                 \
    X(F32, float, I8, int8_t, (int8_t)f32_to_i32(x))                                                                   \
    X(F32, float, I32, int32_t, f32_to_i32(x))                                                                         \
    X(F32, float, I64, int64_t, f64_to_i64((double)x))                                                                 \
    X(F32, float, BOOL, uint8_t, x != 0)                                                                               \
    X(I64, int64_t, I32, int32_t, (int32_t)x)                                                                          \
    X(I32, int32_t, I64, int64_t, (int64_t)x)                                                                          \
    X(BOOL, uint8_t, I32, int32_t, (int32_t)(x != 0))                                                                  \
    X(BOOL, uint8_t, I64, int64_t, (int64_t)(x != 0))                                                                  \
    X(I32, int32_t, BOOL, uint8_t, x != 0)                                                                             \
    X(I64, int64_t, BOOL, uint8_t, x != 0)

static bool convert_pair(enum sc_type from_type, const void *from, enum sc_type to_type, void *to, int64_t n)
{
#define X(from_name, from_c, to_name, to_c, expression)                                                                \
    if (from_type == SC_##from_name && to_type == SC_##to_name) {                                                      \
        const from_c *in = from;                                                                                       \
        to_c *out = to;                                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const from_c x = in[i];                                                                                    \
            out[i] = (to_c)(expression);                                                                               \
        }                                                                                                              \
        return true;                                                                                                   \
    }
    DIRECT_PAIRS(X)
#undef X
    return false;
}

/* Pairs between f32 and the 16-bit floats. */
static bool convert_half(enum sc_type from_type, const void *from, enum sc_type to_type, void *to, int64_t n)
{
    if (from_type == SC_F32 && to_type == SC_F16) {
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)to)[i] = sc_f16_from_f32(((const float *)from)[i]);
        }
    } else if (from_type == SC_F32 && to_type == SC_BF16) {
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)to)[i] = sc_bf16_from_f32(((const float *)from)[i]);
        }
    } else if (from_type == SC_F16 && to_type == SC_F32) {
        for (int64_t i = 0; i < n; i++) {
            ((float *)to)[i] = sc_f16_to_f32(((const uint16_t *)from)[i]);
        }
    } else if (from_type == SC_BF16 && to_type == SC_F32) {
        for (int64_t i = 0; i < n; i++) {
            ((float *)to)[i] = sc_bf16_to_f32(((const uint16_t *)from)[i]);
        }
    } else {
        return false;
    }
    return true;
}

void sc_convert(enum sc_type from_type, const void *from, enum sc_type to_type, void *to, int64_t n, unsigned flags)
{
    assert(sc_convertible(from_type) && sc_convertible(to_type));
    const size_t from_bytes = sc_type_bytes(from_type), to_bytes = sc_type_bytes(to_type);
    if (n == 0) {
        return; /* no elements may lie nowhere */
    }
    if (from_type == to_type) {
        memmove(to, from, (size_t)n * to_bytes);
        return;
    }
    if (n >= FEW && convert_pair(from_type, from, to_type, to, n)) {
        return;
    }
    if (convert_half(from_type, from, to_type, to, n)) {
        return;
    }
    const bool to_integer = sc_type_is_int(to_type) || to_type == SC_BOOL || to_type == SC_I4 || to_type == SC_U4 ||
        to_type == SC_I2 || to_type == SC_U2;
    union tile tile;
    for (int64_t at = 0; at < n; at += TILE) {
        const int count = n - at < TILE ? (int)(n - at) : TILE;
        const enum hub hub = load(from_type, (const char *)from + (size_t)at * from_bytes, count, &tile);
        char *target = (char *)to + (size_t)at * to_bytes;
        if (to_integer) {
            settle_integers(to_type, hub, count, &tile);
            store_integers(to_type, &tile, count, target);
        } else {
            settle_floats(to_type, hub, count, &tile);
            store_floats(to_type, &tile, count, target, flags);
        }
    }
}
