/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators of one input, Clip and Cast against values worked out from their clauses. */
#include "op_harness.h"

struct plain_case {
    const char *op;
    int version;
    double in[4], wanted[4];
};

/* To three decimals where a function is not exact; f16 keeps about as many. */
static const struct plain_case plain[] = {
    {"Abs", 13, {-2, 0, 3, -INFINITY}, {2, 0, 3, INFINITY}},
    {"Neg", 13, {-2, 0, 3, NAN}, {2, 0, -3, NAN}},
    {"Exp", 13, {0, 1, -1, -INFINITY}, {1, 2.71828183, 0.367879441, 0}},
    {"Log", 13, {1, 2.71828183, 0, -1}, {0, 1, -INFINITY, NAN}},
    {"Sqrt", 13, {0, 4, 2.25, -1}, {0, 2, 1.5, NAN}},
    {"Reciprocal", 13, {1, 2, -4, 0}, {1, 0.5, -0.25, INFINITY}},
    {"Floor", 13, {1.5, -1.5, 2, -0.25}, {1, -2, 2, -1}},
    {"Ceil", 13, {1.5, -1.5, 2, 0.25}, {2, -1, 2, 1}},
    {"Round", 22, {0.5, 1.5, 2.5, -1.5}, {0, 2, 2, -2}},
    {"Sign", 13, {-3, 0, 7, NAN}, {-1, 0, 1, NAN}},
    {"Sin", 22, {0, 1, -1, 3}, {0, 0.841470985, -0.841470985, 0.141120008}},
    {"Cos", 22, {0, 1, -1, 3}, {1, 0.540302306, 0.540302306, -0.989992497}},
    {"Tan", 22, {0, 1, -1, 3}, {0, 1.55740772, -1.55740772, -0.142546543}},
    {"Asin", 22, {0, 1, -0.5, 2}, {0, 1.57079633, -0.523598776, NAN}},
    {"Acos", 22, {0, 1, -0.5, 2}, {1.57079633, 0, 2.0943951, NAN}},
    {"Atan", 22, {0, 1, -1, INFINITY}, {0, 0.785398163, -0.785398163, 1.57079633}},
    {"Sinh", 22, {0, 1, -1, 2}, {0, 1.17520119, -1.17520119, 3.62686041}},
    {"Cosh", 22, {0, 1, -1, 2}, {1, 1.54308063, 1.54308063, 3.76219569}},
    {"Asinh", 22, {0, 1, -1, 2}, {0, 0.881373587, -0.881373587, 1.44363548}},
    {"Acosh", 22, {1, 2, 3, 0}, {0, 1.3169579, 1.76274717, NAN}},
    {"Atanh", 22, {0, 0.5, -0.5, 1}, {0, 0.549306144, -0.549306144, INFINITY}},
    {"Erf", 13, {0, 1, -1, INFINITY}, {0, 0.842700793, -0.842700793, 1}},
    {"Tanh", 13, {0, 1, -1, INFINITY}, {0, 0.761594156, -0.761594156, 1}},
    {"Sigmoid", 13, {0, 1, -1, -INFINITY}, {0.5, 0.731058579, 0.268941421, 0}},
    {"Relu", 14, {-1, 0, 2, NAN}, {0, 0, 2, NAN}},
    {"LeakyRelu", 16, {-100, 0, 2, -1}, {-1, 0, 2, -0.01}},
    {"Elu", 22, {-1, 0, 2, -INFINITY}, {-0.632120559, 0, 2, -1}},
    {"Selu", 22, {-1, 0, 2, 1}, {-1.11133074, 0, 2.10140197, 1.05070098}},
    {"Celu", 28, {-1, 0, 2, -INFINITY}, {-0.632120559, 0, 2, -1}},
    {"ThresholdedRelu", 22, {0.5, 1, 1.5, -2}, {0, 0, 1.5, 0}},
    {"HardSigmoid", 22, {-3, 0, 1, 3}, {0, 0.5, 0.7, 1}},
    {"HardSwish", 22, {-3, 0, 1, 3}, {0, 0, 0.666666667, 3}},
    {"Softplus", 22, {0, 1, -1, 100}, {0.693147181, 1.31326169, 0.313261688, 100}},
    {"Softsign", 22, {0, 1, -1, 3}, {0, 0.5, -0.5, 0.75}},
    {"Mish", 22, {0, 1, -1, 10}, {0, 0.865098388, -0.303401461, 10}},
    {"Gelu", 20, {0, 1, -1, 10}, {0, 0.841344746, -0.158655254, 10}},
    {"Swish", 24, {0, 1, -1, 10}, {0, 0.731058579, -0.268941421, 9.99954602}},
};

static void functions_hold_for_every_float_type(void **state)
{
    (void)state;
    static const struct {
        enum sc_type type;
        double tolerance; /* of the argument and of the result; default attributes are f32 for f64 too */
    } types[] = {{SC_F32, 1e-6}, {SC_F64, 1e-7}, {SC_F16, 2e-3}, {SC_BF16, 2e-2}};
    struct op_test t;
    for (size_t c = 0; c < sizeof plain / sizeof plain[0]; c++) {
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
            if (types[k].type == SC_BF16 && plain[c].version < 13) {
                continue;
            }
            op_open(&t, "", plain[c].op, plain[c].version);
            op_in(&t, types[k].type, OP_DIMS(2, 2), plain[c].in);
            op_passes(&t, 1);
            op_gives(&t, 0, types[k].type, OP_DIMS(2, 2), plain[c].wanted, types[k].tolerance);
            op_close(&t);
        }
    }
}

static void attributes_change_the_function(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "HardSigmoid", 6);
    op_float(&t, "alpha", 0.5f);
    op_float(&t, "beta", 0.25f);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(-1, 1, 2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(3), OP_VALUES(0, 0.75, 1), 0);
    op_close(&t);
    op_open(&t, "", "Swish", 24);
    op_float(&t, "alpha", 2);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(0.5, -0.5));
    op_passes(&t, 1); /* x / (1 + exp(-2x)) */
    op_gives(&t, 0, SC_F32, OP_DIMS(2), OP_VALUES(0.36552929, -0.13447071), 1e-6);
    op_close(&t);
    op_open(&t, "", "Gelu", 20);
    op_text(&t, "approximate", "tanh");
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(1, -1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2), OP_VALUES(0.84119199, -0.15880801), 1e-6);
    op_close(&t);
    op_open(&t, "", "Gelu", 20);
    op_text(&t, "approximate", "fast");
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Gelu): approximate is 'fast', want none or tanh");
    op_close(&t);
    op_open(&t, "", "Shrink", 9);
    op_float(&t, "lambd", 1.5f);
    op_float(&t, "bias", 1);
    op_in(&t, SC_I8, OP_DIMS(5), OP_VALUES(-2, -1, 0, 1, 2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I8, OP_DIMS(5), OP_VALUES(-1, 0, 0, 0, 1), 0);
    op_close(&t);
}

static void integers_and_booleans_have_their_own(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Abs", 13);
    op_in(&t, SC_I8, OP_DIMS(3), OP_VALUES(-128, -5, 5));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I8, OP_DIMS(3), OP_VALUES(-128, 5, 5), 0);
    op_close(&t);
    op_open(&t, "", "Sign", 13);
    op_in(&t, SC_U16, OP_DIMS(2), OP_VALUES(0, 60000));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U16, OP_DIMS(2), OP_VALUES(0, 1), 0);
    op_close(&t);
    op_open(&t, "", "BitwiseNot", 18);
    op_in(&t, SC_U8, OP_DIMS(2), OP_VALUES(0, 0xf0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U8, OP_DIMS(2), OP_VALUES(255, 15), 0);
    op_close(&t);
    op_open(&t, "", "Erf", 9); /* erf(5) is below one, erf(6) is one in double */
    op_in(&t, SC_I64, OP_DIMS(4), OP_VALUES(0, 5, 6, -7));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(4), OP_VALUES(0, 0, 1, -1), 0);
    op_close(&t);
    op_open(&t, "", "Not", 1);
    op_in(&t, SC_BOOL, OP_DIMS(2), OP_VALUES(0, 1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_BOOL, OP_DIMS(2), OP_VALUES(1, 0), 0);
    op_close(&t);
}

static void is_inf_and_is_nan_know_narrow_floats(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "IsInf", 20);
    op_int(&t, "detect_negative", 0);
    op_in(&t, SC_F32, OP_DIMS(4), OP_VALUES(INFINITY, -INFINITY, NAN, 1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_BOOL, OP_DIMS(4), OP_VALUES(1, 0, 0, 0), 0);
    op_close(&t);
    static const struct {
        enum sc_type type;
        uint8_t codes[4];
        double nan[4], inf[4];
    } cases[] = {
        {SC_F8E4M3FN, {0x7f, 0xff, 0x7e, 0x80}, {1, 1, 0, 0}, {0, 0, 0, 0}},
        {SC_F8E4M3FNUZ, {0x7f, 0xff, 0x7e, 0x80}, {0, 0, 0, 1}, {0, 0, 0, 0}},
        {SC_F8E5M2, {0x7f, 0xfc, 0x7c, 0x7b}, {1, 0, 0, 0}, {0, 1, 1, 0}},
        {SC_F8E5M2FNUZ, {0x7f, 0xfc, 0x7c, 0x80}, {0, 0, 0, 1}, {0, 0, 0, 0}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int k = 0; k < 2; k++) {
            op_open(&t, "", k ? "IsInf" : "IsNaN", 20);
            op_in_raw(&t, cases[c].type, OP_DIMS(4), cases[c].codes);
            op_passes(&t, 1);
            op_gives(&t, 0, SC_BOOL, OP_DIMS(4), k ? cases[c].inf : cases[c].nan, 0);
            op_close(&t);
        }
    }
}

static void clip_takes_limits_as_attributes_or_inputs(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Clip", 6);
    op_float(&t, "max", 2);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(-1e30, 1, 5));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(3), OP_VALUES(-1e30, 1, 2), 1e-7);
    op_close(&t);
    op_open(&t, "", "Clip", 13);
    op_in(&t, SC_F16, OP_DIMS(4), OP_VALUES(-3, 0.5, 7, NAN));
    op_in(&t, SC_F16, OP_SCALAR, OP_VALUES(-1));
    op_in(&t, SC_F16, OP_SCALAR, OP_VALUES(1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F16, OP_DIMS(4), OP_VALUES(-1, 0.5, 1, NAN), 0);
    op_close(&t);
    /* 2^53 + 1 is no double: limits of integers must not go through one */
    const int64_t x[2] = {9007199254740993, 5}, high[1] = {9007199254740993}, wanted[2] = {9007199254740993, 5};
    op_open(&t, "", "Clip", 13);
    op_in_raw(&t, SC_I64, OP_DIMS(2), x);
    op_in_absent(&t);
    op_in_raw(&t, SC_I64, OP_SCALAR, high);
    op_passes(&t, 1);
    op_gives_raw(&t, 0, SC_I64, OP_DIMS(2), wanted);
    op_close(&t);
    op_open(&t, "", "Clip", 13); /* min above max: everything is max */
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(-9, 9));
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(2));
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2), OP_VALUES(1, 1), 0);
    op_close(&t);
    op_open(&t, "", "Clip", 13);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(0, 0));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(0, 0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Clip): min has shape [2], want a scalar");
    op_close(&t);
}

static void cast_follows_the_attribute(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", SC_I64);
    op_in(&t, SC_F32, OP_DIMS(4), OP_VALUES(-1.9, 1.9, 0, 3e9));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(4), OP_VALUES(-1, 1, 0, 3e9), 0);
    op_close(&t);
    op_open(&t, "", "Cast", 1);
    op_text(&t, "to", "FLOAT16");
    op_in(&t, SC_BOOL, OP_DIMS(2), OP_VALUES(0, 1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F16, OP_DIMS(2), OP_VALUES(0, 1), 0);
    op_close(&t);
    op_open(&t, "", "Cast", 1);
    op_text(&t, "to", "REAL");
    op_in(&t, SC_BOOL, OP_DIMS(1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Cast): to is 'REAL', which is no element type to cast to");
    op_close(&t);
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", 99);
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Cast): to is 99, which is no element type");
    op_close(&t);
    op_open(&t, "", "Cast", 24);
    op_int(&t, "to", SC_F8E8M0);
    op_text(&t, "round_mode", "sideways");
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Cast): round_mode is 'sideways', want up, down or nearest");
    op_close(&t);
    op_open(&t, "", "CastLike", 19);
    op_in(&t, SC_F64, OP_DIMS(2), OP_VALUES(300, -1));
    op_in(&t, SC_U8, OP_DIMS(0), OP_VALUES(0));
    op_passes(&t, 1);
    op_has_shape(&t, 0, SC_U8, OP_DIMS(2));
    op_close(&t);
}

static void texts_and_numbers_are_cast_to_each_other(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", SC_F32);
    op_in_strings(&t, OP_DIMS(6), (const char *const[]){"3.14", "1e-5", "+inf", "-INF", "NaN", "1000"});
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(6), OP_VALUES(3.14, 1e-5, INFINITY, -INFINITY, NAN, 1000), 1e-7);
    op_close(&t);
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", SC_I64);
    op_in_strings(&t, OP_DIMS(2), (const char *const[]){"9007199254740993", "100.5"});
    op_passes(&t, 1);
    const int64_t wanted[2] = {9007199254740993, 100};
    op_gives_raw(&t, 0, SC_I64, OP_DIMS(2), wanted);
    op_close(&t);
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", SC_U64);
    op_in_strings(&t, OP_DIMS(2), (const char *const[]){"18446744073709551614", "7"});
    op_passes(&t, 1);
    const uint64_t large[2] = {UINT64_MAX - 1, 7};
    op_gives_raw(&t, 0, SC_U64, OP_DIMS(2), large);
    op_close(&t);
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", SC_F32);
    op_in_strings(&t, OP_DIMS(1), (const char *const[]){"twelve"});
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (Cast): 'twelve' is not a number");
    op_close(&t);
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", SC_STRING);
    op_in(&t, SC_F32, OP_DIMS(5), OP_VALUES(314.15926, 0.1, -2, INFINITY, 1e20));
    op_passes(&t, 1);
    op_gives_strings(&t, 0, OP_DIMS(5), (const char *const[]){"314.15927", "0.1", "-2.0", "INF", "1e+20"});
    op_close(&t);
    op_open(&t, "", "Cast", 13);
    op_int(&t, "to", SC_STRING);
    const uint64_t most[1] = {UINT64_MAX};
    op_in_raw(&t, SC_U64, OP_DIMS(1), most);
    op_passes(&t, 1);
    op_gives_strings(&t, 0, OP_DIMS(1), (const char *const[]){"18446744073709551615"});
    op_close(&t);
}

static void bit_cast_keeps_bits_and_wants_equal_widths(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "BitCast", 26);
    op_int(&t, "to", SC_U32);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(1, -2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U32, OP_DIMS(2), OP_VALUES(0x3f800000, 0xc0000000), 0);
    op_close(&t);
    op_open(&t, "", "BitCast", 26);
    op_int(&t, "to", SC_U4);
    op_in(&t, SC_I4, OP_DIMS(2), OP_VALUES(-1, 7));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U4, OP_DIMS(2), OP_VALUES(15, 7), 0);
    op_close(&t);
    op_open(&t, "", "BitCast", 26);
    op_int(&t, "to", SC_F64);
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (BitCast): float and double do not have the same width");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_hold_for_every_float_type),
        cmocka_unit_test(attributes_change_the_function),
        cmocka_unit_test(integers_and_booleans_have_their_own),
        cmocka_unit_test(is_inf_and_is_nan_know_narrow_floats),
        cmocka_unit_test(clip_takes_limits_as_attributes_or_inputs),
        cmocka_unit_test(cast_follows_the_attribute),
        cmocka_unit_test(texts_and_numbers_are_cast_to_each_other),
        cmocka_unit_test(bit_cast_keeps_bits_and_wants_equal_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
