/* SPDX-License-Identifier: Apache-2.0
 * Narrow formats against ml_dtypes, special values against the tables of Cast-28, conversions against C and by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "narrow_codes.h"
#include "tensor/convert.h"

#define N_INPUTS (sizeof inputs / sizeof inputs[0])

static void check_codes(enum sc_type type, const uint16_t *codes)
{
    for (size_t i = 0; i < N_INPUTS; i++) {
        /* ml_dtypes does not saturate */
        const uint8_t code = sc_narrow_from_f64(type, inputs[i], false, SC_ROUND_UP);
        if (code != codes[i]) {
            fail_msg("%s(%.17g) is %02x, want %02x", sc_type_name(type), inputs[i], code, codes[i]);
        }
    }
}

static void rounding_equals_another_implementation(void **state)
{
    (void)state;
    check_codes(SC_F8E4M3FN, codes_F8E4M3FN);
    check_codes(SC_F8E4M3FNUZ, codes_F8E4M3FNUZ);
    check_codes(SC_F8E5M2, codes_F8E5M2);
    check_codes(SC_F8E5M2FNUZ, codes_F8E5M2FNUZ);
    check_codes(SC_F4E2M1, codes_F4E2M1);
    check_codes(SC_F6E2M3, codes_F6E2M3);
    check_codes(SC_F6E3M2, codes_F6E3M2);
    for (size_t i = 0; i < N_INPUTS; i++) {
        assert_int_equal(sc_f16_from_f64(inputs[i]), codes_F16[i]);
        assert_int_equal(sc_bf16_from_f64(inputs[i]), codes_BF16[i]);
    }
}

static void check_values(enum sc_type type, const float *values, int n)
{
    for (int code = 0; code < n; code++) {
        const float value = sc_narrow_to_f32(type, (uint8_t)code);
        if (isnan(values[code])) {
            assert_true(isnan(value));
            continue;
        }
        if (sc_f32_bits(value) != sc_f32_bits(values[code])) {
            fail_msg("%s %02x is %g, want %g", sc_type_name(type), code, value, values[code]);
        }
        assert_int_equal(sc_narrow_from_f64(type, value, false, SC_ROUND_UP), code);
    }
}

static void every_code_has_its_value_and_returns_to_itself(void **state)
{
    (void)state;
    check_values(SC_F8E4M3FN, values_F8E4M3FN, 256);
    check_values(SC_F8E4M3FNUZ, values_F8E4M3FNUZ, 256);
    check_values(SC_F8E5M2, values_F8E5M2, 256);
    check_values(SC_F8E5M2FNUZ, values_F8E5M2FNUZ, 256);
    check_values(SC_F4E2M1, values_F4E2M1, 16);
    check_values(SC_F6E2M3, values_F6E2M3, 64);
    check_values(SC_F6E3M2, values_F6E3M2, 64);
    for (int code = 0; code < 255; code++) {
        assert_true(sc_narrow_to_f32(SC_F8E8M0, (uint8_t)code) == ldexpf(1, code - 127));
    }
    assert_true(isnan(sc_narrow_to_f32(SC_F8E8M0, 255)));
}

static void sixteen_bit_floats_return_to_themselves(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 65536; code++) {
        const bool f16_nan = (code & 0x7fff) > 0x7c00, bf16_nan = (code & 0x7fff) > 0x7f80;
        const float f16 = sc_f16_to_f32((uint16_t)code), bf16 = sc_bf16_to_f32((uint16_t)code);
        assert_int_equal(!!isnan(f16), f16_nan);
        assert_int_equal(!!isnan(bf16), bf16_nan);
        if (!f16_nan) {
            const int exponent = code >> 10 & 31;
            const double magnitude = exponent == 31 ? INFINITY
                : exponent                          ? ldexp(1024 + (code & 1023), exponent - 25)
                                                    : ldexp(code & 1023, -24);
            assert_true(fabs((double)f16) == magnitude && !!signbit(f16) == code >> 15);
        }
        assert_int_equal(sc_f16_from_f32(f16), f16_nan ? code | 0x200 : code);
        assert_int_equal(sc_bf16_from_f32(bf16), bf16_nan ? code | 0x40 : code);
    }
}

static void f32_and_f64_round_alike_to_sixteen_bits(void **state)
{
    (void)state;
    uint32_t bits = 12345;
    for (int i = 0; i < 2000000; i++) {
        bits = bits * 1664525u + 1013904223u;
        const float value = sc_f32_of_bits(bits);
        if (!isnan(value)) {
            assert_int_equal(sc_f16_from_f32(value), sc_f16_from_f64(value));
            assert_int_equal(sc_bf16_from_f32(value), sc_bf16_from_f64(value));
        }
    }
}

static uint8_t fp8(enum sc_type type, double value, bool saturate)
{
    return sc_narrow_from_f64(type, value, saturate, SC_ROUND_UP);
}

static void fp8_follows_the_tables_of_cast(void **state)
{
    (void)state;
    static const struct {
        enum sc_type type;
        uint8_t max, inf, minus_inf, minus_zero; /* inf: what infinity becomes without saturation */
    } rows[] = {
        {SC_F8E4M3FN, 0x7e, 0x7f, 0xff, 0x80},
        {SC_F8E4M3FNUZ, 0x7f, 0x80, 0x80, 0x00},
        {SC_F8E5M2, 0x7b, 0x7c, 0xfc, 0x80},
        {SC_F8E5M2FNUZ, 0x7f, 0x80, 0x80, 0x00},
    };
    for (size_t i = 0; i < 4; i++) {
        const enum sc_type type = rows[i].type;
        assert_int_equal(fp8(type, INFINITY, true), rows[i].max);
        assert_int_equal(fp8(type, -INFINITY, true), rows[i].max | 0x80);
        assert_int_equal(fp8(type, 1e9, true), rows[i].max);
        assert_int_equal(fp8(type, -1e9, true), rows[i].max | 0x80);
        assert_int_equal(fp8(type, INFINITY, false), rows[i].inf);
        assert_int_equal(fp8(type, -INFINITY, false), rows[i].minus_inf);
        assert_int_equal(fp8(type, 1e9, false), rows[i].inf);
        assert_int_equal(fp8(type, -1e9, false), rows[i].minus_inf);
        assert_int_equal(fp8(type, -0.0, true), rows[i].minus_zero);
        assert_true(isnan(sc_narrow_to_f32(type, fp8(type, NAN, true))));
        assert_true(isnan(sc_narrow_to_f32(type, fp8(type, NAN, false))));
    }
}

static void fp4_and_fp6_always_saturate(void **state)
{
    (void)state;
    assert_int_equal(fp8(SC_F4E2M1, INFINITY, false), 0x7);
    assert_int_equal(fp8(SC_F4E2M1, -INFINITY, false), 0xf);
    assert_int_equal(fp8(SC_F4E2M1, NAN, false), 0x8);
    assert_int_equal(fp8(SC_F6E2M3, INFINITY, false), 0x1f);
    assert_int_equal(fp8(SC_F6E3M2, -1e9, false), 0x3f);
}

static void e8m0_rounds_as_asked(void **state)
{
    (void)state;
    static const struct {
        double value;
        bool saturate;
        enum sc_round round;
        int code;
    } rows[] = {
        {1.1, true, SC_ROUND_UP, 128},
        {1.1, true, SC_ROUND_DOWN, 127},
        {1.1, true, SC_ROUND_NEAREST, 127},
        {1.5, true, SC_ROUND_NEAREST, 128},
        {1, true, SC_ROUND_UP, 127},
        {0, true, SC_ROUND_UP, 0},
        {INFINITY, true, SC_ROUND_UP, 254},
        {0x1.8p127, true, SC_ROUND_UP, 254},
        {0x1p-130, true, SC_ROUND_UP, 0},
        {0, false, SC_ROUND_NEAREST, 255},
        {INFINITY, false, SC_ROUND_NEAREST, 255},
        {0x1.8p127, false, SC_ROUND_NEAREST, 255},
        {0x1p-130, false, SC_ROUND_NEAREST, 255},
        {0x1p127, false, SC_ROUND_NEAREST, 254},
        {NAN, true, SC_ROUND_UP, 255},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(sc_narrow_from_f64(SC_F8E8M0, rows[i].value, rows[i].saturate, rows[i].round), rows[i].code);
    }
}

static void integers_keep_their_low_bits(void **state)
{
    (void)state;
    const int16_t wide[] = {200, 8, -9, -1, 256, 0};
    int8_t bytes[6];
    uint8_t flags[6];
    sc_convert(SC_I16, wide, SC_I8, bytes, 6, 0);
    assert_memory_equal(bytes, ((const int8_t[]){-56, 8, -9, -1, 0, 0}), 6);
    sc_convert(SC_I16, wide, SC_I4, bytes, 6, 0);
    assert_memory_equal(bytes, ((const int8_t[]){-8, -8, 7, -1, 0, 0}), 6);
    sc_convert(SC_I16, wide, SC_U4, bytes, 6, 0);
    assert_memory_equal(bytes, ((const int8_t[]){8, 8, 7, 15, 0, 0}), 6);
    sc_convert(SC_I16, wide, SC_I2, bytes, 6, 0);
    assert_memory_equal(bytes, ((const int8_t[]){0, 0, -1, -1, 0, 0}), 6);
    sc_convert(SC_I16, wide, SC_BOOL, flags, 6, 0);
    assert_memory_equal(flags, ((const uint8_t[]){1, 1, 1, 1, 1, 0}), 6);
    const int64_t big[] = {INT64_MAX, INT64_MIN, -1};
    uint64_t unsigned_big[3];
    sc_convert(SC_I64, big, SC_U64, unsigned_big, 3, 0);
    assert_memory_equal(unsigned_big, big, sizeof big);
}

static void floats_are_cut_towards_zero(void **state)
{
    (void)state;
    const float floats[] = {2.9f, -2.9f, 3e9f, NAN, INFINITY, -0.5f};
    int32_t i32[6];
    int64_t i64[6];
    uint64_t u64[2];
    uint8_t flags[6];
    sc_convert(SC_F32, floats, SC_I32, i32, 6, 0);
    assert_memory_equal(i32, ((const int32_t[]){2, -2, INT32_MIN, INT32_MIN, INT32_MIN, 0}), sizeof i32);
    sc_convert(SC_F32, floats, SC_I64, i64, 6, 0);
    assert_memory_equal(i64, ((const int64_t[]){2, -2, 3000000000, INT64_MIN, INT64_MIN, 0}), sizeof i64);
    const double doubles[] = {0x1.8p63, -1};
    sc_convert(SC_F64, doubles, SC_U64, u64, 2, 0);
    assert_true(u64[0] == (uint64_t)3 << 62 && u64[1] == UINT64_MAX);
    sc_convert(SC_F32, floats, SC_BOOL, flags, 6, 0);
    assert_memory_equal(flags, ((const uint8_t[]){1, 1, 1, 1, 1, 1}), 6);
    int8_t nibbles[2];
    sc_convert(SC_F32, ((const float[]){8, -9.5f}), SC_I4, nibbles, 2, 0);
    assert_memory_equal(nibbles, ((const int8_t[]){-8, 7}), 2);
}

static void wide_integers_are_rounded_once(void **state)
{
    (void)state;
    /* Through a double the first would become 2^53, then tie to even downwards as f32. */
    const int64_t wide[] = {((int64_t)1 << 53) + ((int64_t)1 << 29) + 1, INT64_MIN, INT64_MAX, -16777217, 0};
    const uint64_t unsigned_wide[] = {UINT64_MAX, ((uint64_t)1 << 63) + ((uint64_t)1 << 39) + 1};
    float f32[5];
    uint16_t bf16[5];
    sc_convert(SC_I64, wide, SC_F32, f32, 5, 0);
    for (int i = 0; i < 5; i++) {
        assert_true(f32[i] == (float)wide[i]);
    }
    const int32_t words[] = {16777217, INT32_MIN, -5}; /* 2^24 + 1 ties to even */
    sc_convert(SC_I32, words, SC_F32, f32, 3, 0);
    assert_true(f32[0] == 16777216.0F && f32[1] == -2147483648.0F && f32[2] == -5.0F);
    const uint8_t bytes[] = {0, 127, 128, 255};
    sc_convert(SC_U8, bytes, SC_F32, f32, 4, 0);
    assert_true(f32[0] == 0 && f32[1] == 127 && f32[2] == 128 && f32[3] == 255);
    sc_convert(SC_I8, bytes, SC_F32, f32, 4, 0);
    assert_true(f32[0] == 0 && f32[1] == 127 && f32[2] == -128 && f32[3] == -1);
    sc_convert(SC_U64, unsigned_wide, SC_F32, f32, 2, 0);
    assert_true(f32[0] == (float)unsigned_wide[0] && f32[1] == (float)unsigned_wide[1]);
    const int64_t tie[] = {((int64_t)1 << 60) + ((int64_t)1 << 52) + 1}; /* just above half a unit of bf16 */
    sc_convert(SC_I64, tie, SC_BF16, bf16, 1, 0);
    assert_int_equal(bf16[0], sc_bf16_from_f32(0x1.02p60f));
}

static void doubles_do_not_pass_through_f32(void **state)
{
    (void)state;
    /* Just above the middle of two f16 values by less than f32 can hold: through f32 it would tie to even. */
    const double above = 1 + 0x1p-11 + 0x1p-40;
    uint16_t code;
    sc_convert(SC_F64, &above, SC_F16, &code, 1, 0);
    assert_int_equal(code, 0x3c01);
    sc_convert(SC_F64, ((const double[]){1 + 0x1p-11}), SC_F16, &code, 1, 0);
    assert_int_equal(code, 0x3c00);
}

static void long_lists_cross_tiles(void **state)
{
    (void)state;
    int32_t from[1000];
    double to[1000];
    int32_t back[1000];
    for (int i = 0; i < 1000; i++) {
        from[i] = i * 7919 - 3000000;
    }
    sc_convert(SC_I32, from, SC_F64, to, 1000, 0);
    sc_convert(SC_F64, to, SC_I32, back, 1000, 0);
    assert_true(to[999] == 999 * 7919 - 3000000);
    assert_memory_equal(from, back, sizeof from);
}

/* Between all types of a byte and more; bits at random, and the ends of what integers hold. */
static void many_elements_convert_as_each_alone(void **state)
{
    (void)state;
    enum { N = 300 };
    static const enum sc_type types[] = {
        SC_U8, SC_I8, SC_U16, SC_I16, SC_I32, SC_I64, SC_U32, SC_U64, SC_BOOL, SC_F16, SC_BF16, SC_F32, SC_F64};
    static _Alignas(8) unsigned char from[N * 8], many[N * 8], alone[N * 8];
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < N; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        memcpy(from + i * 8, &seed, 8);
    }
    for (size_t a = 0; a < sizeof types / sizeof *types; a++) {
        for (size_t b = 0; b < sizeof types / sizeof *types; b++) {
            const size_t in = sc_type_bytes(types[a]), out = sc_type_bytes(types[b]);
            static const double ends[] = {INFINITY, -INFINITY, NAN, -0.0, 2147483647.5, 2147483648.0, -2147483648.0,
                -2147483649.0, 9.3e18, -9.3e18, 255.9, 256.0, -0.9};
            sc_convert(SC_F64, ends, types[a], from, (int64_t)(sizeof ends / sizeof *ends), 0);
            sc_convert(types[a], from, types[b], many, N, 0);
            for (size_t i = 0; i < N; i++) {
                sc_convert(types[a], from + i * in, types[b], alone + i * out, 1, 0);
            }
            if (memcmp(many, alone, N * out) != 0) {
                fail_msg("%s to %s", sc_type_name(types[a]), sc_type_name(types[b]));
            }
        }
    }
}

static void only_numbers_convert(void **state)
{
    (void)state;
    assert_true(sc_convertible(SC_BOOL) && sc_convertible(SC_F6E3M2) && sc_convertible(SC_F8E8M0));
    assert_false(sc_convertible(SC_STRING) || sc_convertible(SC_C64) || sc_convertible(SC_TYPE_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_equals_another_implementation),
        cmocka_unit_test(every_code_has_its_value_and_returns_to_itself),
        cmocka_unit_test(sixteen_bit_floats_return_to_themselves),
        cmocka_unit_test(f32_and_f64_round_alike_to_sixteen_bits),
        cmocka_unit_test(fp8_follows_the_tables_of_cast),
        cmocka_unit_test(fp4_and_fp6_always_saturate),
        cmocka_unit_test(e8m0_rounds_as_asked),
        cmocka_unit_test(integers_keep_their_low_bits),
        cmocka_unit_test(floats_are_cut_towards_zero),
        cmocka_unit_test(wide_integers_are_rounded_once),
        cmocka_unit_test(doubles_do_not_pass_through_f32),
        cmocka_unit_test(long_lists_cross_tiles),
        cmocka_unit_test(many_elements_convert_as_each_alone),
        cmocka_unit_test(only_numbers_convert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
