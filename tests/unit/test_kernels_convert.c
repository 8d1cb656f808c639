/* SPDX-License-Identifier: Apache-2.0
 * Conversions to and from the 16-bit formats: every word, and every rounding case around every word. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/kernels/kernels.h"

#define EACH_LEVEL                                                                                                     \
    for (int isa = 0; isa < SC_ISA_N; isa++)                                                                           \
        for (const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa); kernels != NULL; kernels = NULL)

static uint16_t words[65536];
static float floats[65536];

/* The value of a half by the definition of IEEE 754. */
static double f16_value(unsigned word)
{
    const unsigned exponent = word >> 10 & 31, fraction = word & 1023;
    const double sign = (word & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31) {
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, (int)exponent - 25));
}

static double bf16_value(unsigned word)
{
    const uint32_t bits = word << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static void check_widening(void (*widen)(const uint16_t *, float *, int64_t), double (*value)(unsigned))
{
    for (int i = 0; i < 65536; i++) {
        words[i] = (uint16_t)i;
    }
    widen(words, floats, 65536);
    for (unsigned i = 0; i < 65536; i++) {
        const double want = value(i);
        assert_true(isnan(want) ? isnan(floats[i]) : (double)floats[i] == want);
        assert_int_equal(signbit(floats[i]) != 0, i >> 15);
    }
    for (int n = 0; n <= 70; n++) {
        float y[71];
        y[n] = 123.5f;
        widen(words + 0x3c01, y, n);
        assert_memory_equal(y, floats + 0x3c01, sizeof(float) * (size_t)n);
        assert_true(y[n] == 123.5f);
    }
}

/* For neighbours a < b of one sign: what lies below the middle goes to a, above to b, the middle to the even one. */
static void check_narrowing(
    void (*narrow)(const float *, uint16_t *, int64_t), double (*value)(unsigned), unsigned infinity, double over)
{
    for (unsigned i = 0; i < 2 * infinity; i++) {
        const unsigned sign = i >= infinity ? 0x8000 : 0, word = i % infinity;
        const double a = value(word | sign);
        const double b = word + 1 < infinity ? value((word + 1) | sign) : (sign != 0 ? -over : over);
        const float middle = (float)((a + b) / 2);
        const float away = sign != 0 ? -INFINITY : INFINITY;
        const float x[4] = {(float)a, nextafterf(middle, 0.0f), middle, nextafterf(middle, away)};
        const unsigned here = word | sign, next = (word + 1) | sign;
        const unsigned want[4] = {here, here, (word & 1) != 0 ? next : here, next};
        uint16_t y[4];
        narrow(x, y, 4);
        for (int j = 0; j < 4; j++) {
            if (y[j] != want[j]) {
                fail_msg("%a: got %04x, want %04x", (double)x[j], y[j], want[j]);
            }
        }
    }
    const float special[4] = {INFINITY, -INFINITY, NAN, 0x1.fffffep127f};
    uint16_t y[5] = {0, 0, 0, 0, 0x5555};
    narrow(special, y, 4);
    assert_int_equal(y[0], infinity);
    assert_int_equal(y[1], infinity | 0x8000);
    assert_true(isnan(value(y[2])));
    assert_int_equal(y[3], infinity);
    assert_int_equal(y[4], 0x5555);
}

static void f16_widens_exactly(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        check_widening(kernels->f16_to_f32, f16_value);
    }
}

static void bf16_widens_exactly(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        check_widening(kernels->bf16_to_f32, bf16_value);
    }
}

static void f16_rounds_to_nearest_even(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        check_narrowing(kernels->f32_to_f16, f16_value, 0x7c00, 65536.0);
    }
}

static void bf16_rounds_to_nearest_even(void **state)
{
    (void)state;
    EACH_LEVEL
    {
        check_narrowing(kernels->f32_to_bf16, bf16_value, 0x7f80, 0x1p128);
    }
}

static void every_nan_stays_nan_alike_on_all_levels(void **state)
{
    (void)state;
    const struct sc_kernels *base = sc_kernels_at(SC_ISA_BASE);
    EACH_LEVEL
    {
        for (uint32_t payload = 1; payload < 0x800000; payload += 4099) {
            const uint32_t bits[2] = {0x7f800000 | payload, 0xff800000 | payload};
            float x[2];
            memcpy(x, bits, sizeof(x));
            uint16_t half[2], want[2], brain[2];
            kernels->f32_to_f16(x, half, 2);
            base->f32_to_f16(x, want, 2);
            kernels->f32_to_bf16(x, brain, 2);
            assert_memory_equal(half, want, sizeof(half));
            assert_true(isnan(f16_value(half[0])) && isnan(f16_value(half[1])));
            assert_true(isnan(bf16_value(brain[0])) && isnan(bf16_value(brain[1])));
            assert_true(half[1] >> 15 == 1 && half[0] >> 15 == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16_widens_exactly),
        cmocka_unit_test(bf16_widens_exactly),
        cmocka_unit_test(f16_rounds_to_nearest_even),
        cmocka_unit_test(bf16_rounds_to_nearest_even),
        cmocka_unit_test(every_nan_stays_nan_alike_on_all_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
