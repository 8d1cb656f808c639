/* SPDX-License-Identifier: Apache-2.0
 * asin, acos, atan and expm1 of f32, computed in double by polynomials whose error is far below the last place of f32
 * (Chebyshev fits); the compiler makes vectors of the blocks. */
#include "ops/kernels/level.h"
#include "ops/kernels/vec.h"

#define PI 0x1.921fb54442d18p+1

/* (asin(r) - r) / r^3 by u = r^2 <= 1/4, to 4e-12. */
SC_INLINE double arc_sine_rest(double u)
{
    double p = 0.0293052517882001;
    p = 0.005443175331929123 + u * p;
    p = 0.019306263952688547 + u * p;
    p = 0.022132443144764227 + u * p;
    p = 0.030397634168364135 + u * p;
    p = 0.04464235848347945 + u * p;
    p = 0.07500000598830976 + u * p;
    return 0.1666666666549508 + u * p;
}

/* The arc sine up to 1/2; beyond, half the angle of what is missing to 1. Past 1 the root is NaN. */
SC_INLINE double half_angle(double size)
{
    const double u = size <= 0.5 ? size * size : (1.0 - size) * 0.5;
    const double r = size <= 0.5 ? size : sqrt(u);
    return r + r * u * arc_sine_rest(u);
}

SC_INLINE void asin_block(const float *x, float *y)
{
    for (int i = 0; i < 16; i++) {
        const double v = (double)x[i], size = fabs(v);
        const double angle = half_angle(size);
        y[i] = (float)copysign(size <= 0.5 ? angle : PI / 2 - 2.0 * angle, v);
    }
}

SC_INLINE void acos_block(const float *x, float *y)
{
    for (int i = 0; i < 16; i++) {
        const double v = (double)x[i], size = fabs(v);
        const double angle = half_angle(size);
        const double large = v > 0.0 ? 2.0 * angle : PI - 2.0 * angle;
        y[i] = (float)(size <= 0.5 ? PI / 2 - copysign(angle, v) : large);
    }
}

/* Beyond 1 by 1 / x, and then beyond tan(pi / 8) by (x - 1) / (x + 1), an eighth of a turn away: to 2e-13. */
SC_INLINE void atan_block(const float *x, float *y)
{
    for (int i = 0; i < 16; i++) {
        const double v = (double)x[i], size = fabs(v);
        const double below = size > 1.0 ? 1.0 / size : size;
        const double r = below > 0.41421356237309503 ? (below - 1.0) / (below + 1.0) : below;
        const double u = r * r;
        double p = 0.03295499114305327;
        p = -0.06027206570111165 + u * p;
        p = 0.07604778003555679 + u * p;
        p = -0.09084099522493076 + u * p;
        p = 0.11110819586603747 + u * p;
        p = -0.1428570810699188 + u * p;
        p = 0.19999999949822453 + u * p;
        p = -0.33333333333266146 + u * p;
        const double angle = r + r * u * p;
        const double octant = below > 0.41421356237309503 ? PI / 4 + angle : angle;
        y[i] = (float)copysign(size > 1.0 ? PI / 2 - octant : octant, v);
    }
}

/* x = n ln 2 + r with |r| <= ln 2 / 2: 2^n expm1(r) + (2^n - 1), in which nothing cancels. Adding 1.5 * 2^52 rounds to
 * a whole number and leaves it in the low bits. */
SC_INLINE void expm1_block(const float *x, float *y)
{
    for (int i = 0; i < 16; i++) {
        const double given = (double)x[i];
        const double raised = given < -200.0 ? -200.0 : given;
        const double v = raised > 200.0 ? 200.0 : raised;
        const double shifted = v * 0x1.71547652b82fep+0 + 0x1.8p52;
        const double n = shifted - 0x1.8p52;
        int64_t bits;
        memcpy(&bits, &shifted, sizeof(bits));
        bits = (int64_t)((uint64_t)(bits + 1023) << 52);
        double power;
        memcpy(&power, &bits, sizeof(power));
        const double r = v - n * 0x1.62e42fefa39efp-1;
        double p = 2.76175739776573e-06;
        p = 2.486788029453951e-05 + r * p;
        p = 0.0001984122458585481 + r * p;
        p = 0.0013888839095384945 + r * p;
        p = 0.008333333344207954 + r * p;
        p = 0.04166666678632046 + r * p;
        p = 0.16666666666662583 + r * p;
        p = 0.4999999999995508 + r * p;
        const double small = r + r * r * p;
        y[i] = (float)(n == 0.0 ? small : power * small + (power - 1.0));
    }
}

#define ROW(name)                                                                                                      \
    void K(name)(const float *x, float *y, int64_t n)                                                                  \
    {                                                                                                                  \
        int64_t i = 0;                                                                                                 \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            float block[16];                                                                                           \
            name##_block(x + i, block);                                                                                \
            memcpy(y + i, block, sizeof(block));                                                                       \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            float block[16] = {0};                                                                                     \
            memcpy(block, x + i, (size_t)(n - i) * sizeof(float));                                                     \
            float out[16];                                                                                             \
            name##_block(block, out);                                                                                  \
            memcpy(y + i, out, (size_t)(n - i) * sizeof(float));                                                       \
        }                                                                                                              \
    }
ROW(asin)
ROW(acos)
ROW(atan)
ROW(expm1)
