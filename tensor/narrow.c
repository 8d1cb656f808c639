/* SPDX-License-Identifier: Apache-2.0
 * One rounding routine for every small binary format: the significand of a double is shifted to the target's width,
 * rounded once, and the carry runs into the exponent by itself. */
#include "tensor/narrow.h"

#include <assert.h>

struct format {
    unsigned man_bits;
    int bias;
    uint32_t max_code; /* largest finite magnitude */
    uint32_t sign_bit;
    uint32_t nan_code; /* its sign is added when signed_nan */
    bool signed_nan;
    bool has_inf; /* at max_code + 1 */
    bool no_minus_zero;
    bool saturates; /* always */
};

static const struct format f16_format = {10, 15, 0x7bff, 0x8000, 0x7e00, true, true, false, false};
static const struct format bf16_format = {7, 127, 0x7f7f, 0x8000, 0x7fc0, true, true, false, false};

static const struct format narrow_formats[SC_N_TYPES] = {
    [SC_F8E4M3FN] = {3, 7, 0x7e, 0x80, 0x7f, true, false, false, false},
    [SC_F8E4M3FNUZ] = {3, 8, 0x7f, 0x80, 0x80, false, false, true, false},
    [SC_F8E5M2] = {2, 15, 0x7b, 0x80, 0x7e, true, true, false, false},
    [SC_F8E5M2FNUZ] = {2, 16, 0x7f, 0x80, 0x80, false, false, true, false},
    [SC_F4E2M1] = {1, 1, 0x7, 0x8, 0x8, false, false, false, true},
    [SC_F6E2M3] = {3, 1, 0x1f, 0x20, 0x20, false, false, false, true},
    [SC_F6E3M2] = {2, 3, 0x1f, 0x20, 0x20, false, false, false, true},
};

static uint64_t f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool is_nan_bits(uint64_t bits)
{
    return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

/* The magnitude's code as if exponents went on for ever above; infinity comes out as a code past every maximum. */
static uint32_t round_magnitude(uint64_t bits, unsigned man_bits, int bias)
{
    const int exponent = (int)((bits >> 52) & 0x7ff) - 1023;
    if (exponent == -1023) { /* zeros and subnormal doubles are far below half of any smallest value */
        return 0;
    }
    const uint64_t significand = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    const bool subnormal = exponent < 1 - bias;
    const int drop = 52 - (int)man_bits + (subnormal ? 1 - bias - exponent : 0);
    if (drop > 54) {
        return 0;
    }
    const uint64_t half = (uint64_t)1 << (drop - 1);
    const uint64_t kept = (significand + half - 1 + ((significand >> drop) & 1)) >> drop;
    if (subnormal) {
        return (uint32_t)kept;
    }
    return ((uint32_t)(exponent + bias - 1) << man_bits) + (uint32_t)kept;
}

static uint32_t encode(const struct format *format, double value, bool saturate)
{
    const uint64_t bits = f64_bits(value);
    const uint32_t sign = bits >> 63 ? format->sign_bit : 0;
    if (is_nan_bits(bits)) {
        return format->nan_code | (format->signed_nan ? sign : 0);
    }
    const uint32_t code = round_magnitude(bits, format->man_bits, format->bias);
    if (code > format->max_code) {
        if (saturate || format->saturates) {
            return sign | format->max_code;
        }
        if (format->has_inf) {
            return sign | (format->max_code + 1);
        }
        return format->nan_code | (format->signed_nan ? sign : 0);
    }
    return code == 0 && format->no_minus_zero ? 0 : sign | code;
}

uint16_t sc_f16_from_f64(double value)
{
    return (uint16_t)encode(&f16_format, value, false);
}

uint16_t sc_bf16_from_f64(double value)
{
    return (uint16_t)encode(&bf16_format, value, false);
}

static uint8_t e8m0_from_f64(double value, bool saturate, enum sc_round round)
{
    const uint64_t bits = f64_bits(value);
    if (is_nan_bits(bits)) {
        return 255;
    }
    const int exponent = (int)((bits >> 52) & 0x7ff) - 1023;
    const uint64_t fraction = bits & 0xfffffffffffffu;
    const bool up = round == SC_ROUND_UP ? fraction != 0 : round == SC_ROUND_NEAREST && fraction >> 51;
    const bool below = exponent < -127;
    const int code = exponent + 127 + (up ? 1 : 0);
    if (below || code > 254) {
        return !saturate ? 255 : below ? 0 : 254;
    }
    return (uint8_t)code;
}

uint8_t sc_narrow_from_f64(enum sc_type type, double value, bool saturate, enum sc_round round)
{
    if (type == SC_F8E8M0) {
        return e8m0_from_f64(value, saturate, round);
    }
    assert(sc_type_is_narrow(type) && narrow_formats[type].sign_bit);
    return (uint8_t)encode(&narrow_formats[type], value, saturate);
}

static float power_of_two(int exponent)
{
    return exponent >= -126 ? sc_f32_of_bits((uint32_t)(exponent + 127) << 23)
                            : sc_f32_of_bits((uint32_t)1 << (exponent + 149));
}

float sc_narrow_to_f32(enum sc_type type, uint8_t code)
{
    if (type == SC_F8E8M0) {
        return code == 255 ? sc_f32_of_bits(0x7fc00000u) : power_of_two((int)code - 127);
    }
    assert(sc_type_is_narrow(type) && narrow_formats[type].sign_bit);
    const struct format *format = &narrow_formats[type];
    const uint32_t magnitude = code & (format->sign_bit - 1);
    const uint32_t sign = code & format->sign_bit ? 0x80000000u : 0;
    if (format->no_minus_zero && code == format->nan_code) {
        return sc_f32_of_bits(0x7fc00000u);
    }
    if (magnitude > format->max_code) {
        const bool inf = format->has_inf && magnitude == format->max_code + 1;
        return sc_f32_of_bits(sign | (inf ? 0x7f800000u : 0x7fc00000u));
    }
    const uint32_t man = magnitude & ((1u << format->man_bits) - 1);
    const int exponent = (int)(magnitude >> format->man_bits);
    if (exponent == 0) {
        const float small = (float)man * power_of_two(1 - format->bias - (int)format->man_bits);
        return sc_f32_of_bits(sign | sc_f32_bits(small));
    }
    return sc_f32_of_bits(sign | ((uint32_t)(exponent - format->bias + 127) << 23) | (man << (23 - format->man_bits)));
}
