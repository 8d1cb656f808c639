/* SPDX-License-Identifier: Apache-2.0
 * sin and cos of f32, computed in double: reduced by pi/2 in two parts up to 1e5, and beyond by the bits of 2/pi that
 * matter for the exponent, in whole numbers. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

/* 2/pi in words of 32 bits, after 32 zeros. */
static const uint32_t two_over_pi[] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0};

/* sin(r) or cos(r) for |r| <= pi/4, by the quadrant; to 2^-47. */
SC_INLINE double sin_quadrant(double r, int64_t quadrant)
{
    const double z = r * r;
    double s = 2.7555279312215604e-06 + z * -2.4755911912256597e-08;
    s = -0.00019841263458081088 + z * s;
    s = 0.0083333333246134664 + z * s;
    s = -0.16666666666627974 + z * s;
    s = r * (1.0 + z * s);
    double c = -2.7555489154314141e-07 + z * 2.0642762601433853e-09;
    c = 2.4801580537736182e-05 + z * c;
    c = -0.0013888888877272587 + z * c;
    c = 0.041666666666594313 + z * c;
    c = 1.0 + z * (-0.5 + z * c);
    const double y = (quadrant & 1) != 0 ? c : s;
    return (quadrant & 2) != 0 ? -y : y;
}

/* For 1e5 < |x| < inf: |x| * 2/pi modulo 4 as a fixed-point number with 62 bits of fraction. */
static double sin_large(float x, int64_t add)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const int exponent = (int)(bits >> 23 & 255) - 150;
    const uint64_t m = (bits & 0x7fffff) | 0x800000;
    const int at = exponent + 30, word = at / 32, shift = at % 32;
    uint64_t w[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t pair = (uint64_t)two_over_pi[word + i] << 32 | two_over_pi[word + i + 1];
        w[i] = pair << shift >> 32;
    }
    const uint64_t turns = (m * w[0] << 32) + m * w[1] + (m * w[2] >> 32);
    const uint64_t quadrant = (turns + ((uint64_t)1 << 61)) >> 62;
    const int64_t rest = (int64_t)(turns - (quadrant << 62));
    const double r = (double)rest * (0x1.921fb54442d18p+0 * 0x1p-62);
    const int64_t sign = (bits >> 31) != 0 ? -1 : 1;
    return sin_quadrant(r * (double)sign, sign * (int64_t)quadrant + add);
}

/* n * the first part of pi/2, of 33 bits, is exact for all n here. Adding 1.5 * 2^52 rounds to a whole number and
 * leaves it in the low bits. */
SC_INLINE void sin_block(const float *x, float *y, int64_t add)
{
    for (int i = 0; i < 16; i++) {
        const double v = (double)x[i];
        const double shifted = v * 0x1.45f306dc9c883p-1 + 0x1.8p52;
        const double n = shifted - 0x1.8p52;
        int64_t quadrant;
        memcpy(&quadrant, &shifted, sizeof(quadrant));
        const double r = (v - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a626331p-34;
        y[i] = (float)sin_quadrant(r, quadrant + add);
    }
}

SC_INLINE void sin_row(const float *x, float *y, int64_t n, int64_t add)
{
    for (int64_t i = 0; i < n; i += 16) {
        const int64_t m = n - i < 16 ? n - i : 16;
        float in[16] = {0}, out[16];
        memcpy(in, x + i, (size_t)m * sizeof(float));
        sin_block(in, out, add);
        for (int j = 0; j < 16; j++) {
            const float size = fabsf(in[j]);
            if (!(size <= 1e5f)) {
                out[j] = size < INFINITY ? (float)sin_large(in[j], add) : in[j] - in[j];
            }
        }
        memcpy(y + i, out, (size_t)m * sizeof(float));
    }
}

void K(sin)(const float *x, float *y, int64_t n)
{
    sin_row(x, y, n, 0);
}

void K(cos)(const float *x, float *y, int64_t n)
{
    sin_row(x, y, n, 1);
}
