/* SPDX-License-Identifier: Apache-2.0
 * The bit formats of floats narrower than 32 bits. */
#ifndef SC_TENSOR_NARROW_H
#define SC_TENSOR_NARROW_H

#include <string.h>

#include "tensor/type.h"

/* How a value between two powers of two becomes a float8e8m0; other formats round to nearest, ties to even. */
enum sc_round {
    SC_ROUND_UP,
    SC_ROUND_DOWN,
    SC_ROUND_NEAREST /* ties up */
};

static inline uint32_t sc_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float sc_f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float sc_bf16_to_f32(uint16_t code)
{
    return sc_f32_of_bits((uint32_t)code << 16);
}

/* To nearest, ties to even; NaNs stay NaNs and become quiet. */
static inline uint16_t sc_bf16_from_f32(float value)
{
    const uint32_t bits = sc_f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float sc_f16_to_f32(uint16_t code)
{
    const uint32_t sign = (uint32_t)(code & 0x8000u) << 16;
    const uint32_t rest = (uint32_t)(code & 0x7fffu) << 13;
    if (rest >= 0x0f800000u) { /* infinity, NaN: the exponent is all ones in both formats; NaNs become quiet */
        return sc_f32_of_bits(sign | (rest + 0x70000000u) | (rest > 0x0f800000u ? 0x400000u : 0u));
    }
    if (rest >= 0x00800000u) {
        return sc_f32_of_bits(sign | (rest + 0x38000000u));
    }
    /* Subnormal: as a float with exponent 2^-14 and an implicit one, which is then taken away exactly. */
    const float magnitude = sc_f32_of_bits(rest | 0x38800000u) - sc_f32_of_bits(0x38800000u);
    return sc_f32_of_bits(sign | sc_f32_bits(magnitude));
}

/* To nearest, ties to even; past 65504 infinity. */
static inline uint16_t sc_f16_from_f32(float value)
{
    const uint32_t bits = sc_f32_bits(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | ((rest >> 13) & 0x1ffu));
    }
    if (rest >= 0x47800000u) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (rest < 0x38800000u) { /* subnormal: adding 0.5 makes the float adder round at the right bit */
        const uint32_t rounded = sc_f32_bits(sc_f32_of_bits(rest) + 0.5f);
        return (uint16_t)(sign | (rounded - 0x3f000000u));
    }
    rest += 0xfffu + ((rest >> 13) & 1u);
    return (uint16_t)(sign | ((rest - 0x38000000u) >> 13));
}

/* Rounded once, not through f32. */
uint16_t sc_f16_from_f64(double value);
uint16_t sc_bf16_from_f64(double value);

/* fp8, fp6, fp4 and float8e8m0 in plain storage (one code a byte, in the low bits). Exact. */
float sc_narrow_to_f32(enum sc_type type, uint8_t code);

/* The code of the nearest value, with the rules of Cast-28:
 *   fp8          saturate: infinities and what rounds past the largest value become +-largest; without: infinity in
 *                e5m2, NaN in the others. NaN stays NaN. The fnuz kinds have no -0
 *   fp6, fp4     always saturate; NaN becomes -0
 *   float8e8m0   saturate: clamps to [2^-127, 2^127], also 0 and infinity; without: NaN outside. `round` says how.
 *                Negative values count by magnitude (the clause leaves them open) */
uint8_t sc_narrow_from_f64(enum sc_type type, double value, bool saturate, enum sc_round round);

#endif
