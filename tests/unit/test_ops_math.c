/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators against values worked out from their clauses. */
#include "op_harness.h"

/* A binary operator on f32 of any shapes. */
static void add_broadcasts_both_ways(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Add", 14);
    op_in(&t, SC_F32, OP_DIMS(2, 1, 2), OP_VALUES(1, 2, 3, 4));
    op_in(&t, SC_F32, OP_DIMS(3, 1), OP_VALUES(10, 20, 30));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 3, 2), OP_VALUES(11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34), 0);
    op_close(&t);
}

static void a_scalar_meets_an_empty_tensor(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Mul", 14);
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(3));
    op_in(&t, SC_F32, OP_DIMS(2, 0), OP_VALUES(0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 0), NULL, 0);
    op_close(&t);
    op_open(&t, "", "Sub", 14);
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(3));
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(5));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_SCALAR, OP_VALUES(-2), 0);
    op_close(&t);
}

static void shapes_that_do_not_broadcast_are_named(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Add", 14);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(0, 0, 0, 0, 0, 0));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(0, 0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Add): shapes [2,3] and [2] do not broadcast");
    op_close(&t);
}

static void types_must_agree(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Add", 14);
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(0));
    op_in(&t, SC_I32, OP_DIMS(1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Add): input B has type int32, but A has type float");
    op_close(&t);
}

static void version_6_lays_b_at_the_axis(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Add", 6);
    op_int(&t, "broadcast", 1);
    op_int(&t, "axis", 0);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(1, 2, 3, 4, 5, 6));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(10, 20));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 3), OP_VALUES(11, 12, 13, 24, 25, 26), 0);
    op_close(&t);
    op_open(&t, "", "Pow", 1);
    op_int(&t, "broadcast", 1);
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(1, 2, 3, 4));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(2, 3));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 2), OP_VALUES(1, 8, 9, 64), 0);
    op_close(&t);
    op_open(&t, "", "Mul", 6);
    op_int(&t, "broadcast", 1);
    op_int(&t, "axis", 1);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(1, 2, 3, 4, 5, 6));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(10, 20));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Mul): shape [2] does not broadcast to [2,3] at axis 1");
    op_close(&t);
}

static void integer_division_truncates_and_never_traps(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Div", 14);
    op_in(&t, SC_I32, OP_DIMS(4), OP_VALUES(-7, 7, 5, -2147483648.0));
    op_in(&t, SC_I32, OP_DIMS(4), OP_VALUES(2, -2, 0, -1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I32, OP_DIMS(4), OP_VALUES(-3, -3, 0, -2147483648.0), 0);
    op_close(&t);
    op_open(&t, "", "Mod", 13);
    op_in(&t, SC_I8, OP_DIMS(5), OP_VALUES(-7, 7, 5, -128, -4));
    op_in(&t, SC_I8, OP_DIMS(5), OP_VALUES(3, -3, 0, -1, 2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I8, OP_DIMS(5), OP_VALUES(2, -2, 0, 0, 0), 0);
    op_close(&t);
}

static void mod_of_floats_takes_the_sign_that_fmod_asks_for(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Mod", 28);
    op_in(&t, SC_F32, OP_DIMS(4), OP_VALUES(-7, 5.5, 3, -INFINITY));
    op_in(&t, SC_F32, OP_DIMS(4), OP_VALUES(3, -2, -INFINITY, 2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(4), OP_VALUES(2, -0.5, -INFINITY, NAN), 0);
    op_close(&t);
    op_open(&t, "", "Mod", 28);
    op_int(&t, "fmod", 1);
    op_in(&t, SC_F16, OP_DIMS(3), OP_VALUES(-7, 5.5, 3));
    op_in(&t, SC_F16, OP_DIMS(3), OP_VALUES(3, -2, INFINITY));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F16, OP_DIMS(3), OP_VALUES(-1, 1.5, 3), 0);
    op_close(&t);
}

static void integers_wrap(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Add", 14);
    op_in(&t, SC_U8, OP_DIMS(2), OP_VALUES(250, 3));
    op_in(&t, SC_U8, OP_SCALAR, OP_VALUES(10));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U8, OP_DIMS(2), OP_VALUES(4, 13), 0);
    op_close(&t);
    op_open(&t, "", "Mul", 14);
    const int64_t big[1] = {INT64_MAX}, wanted[1] = {-2};
    op_in_raw(&t, SC_I64, OP_DIMS(1), big);
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(2));
    op_passes(&t, 1);
    op_gives_raw(&t, 0, SC_I64, OP_DIMS(1), wanted);
    op_close(&t);
}

static void sixteen_bit_sums_are_rounded_once(void **state)
{
    (void)state;
    struct op_test t; /* 2048 + 1 + 1: rounding after each addition would stay at 2048 */
    op_open(&t, "", "Sum", 13);
    op_in(&t, SC_F16, OP_DIMS(1), OP_VALUES(2048));
    op_in(&t, SC_F16, OP_DIMS(1), OP_VALUES(1));
    op_in(&t, SC_F16, OP_DIMS(1), OP_VALUES(1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F16, OP_DIMS(1), OP_VALUES(2050), 0);
    op_close(&t);
}

static void variadic_operators_fold_more_inputs_than_one_loop_takes(void **state)
{
    (void)state;
    struct op_test t;
    const char *const names[] = {"Sum", "Mean", "Max", "Min"};
    const double wanted[] = {55, 5.5, 10, 1};
    for (int k = 0; k < 4; k++) {
        op_open(&t, "", names[k], 13);
        for (int i = 1; i <= 10; i++) {
            op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(i, i));
        }
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F32, OP_DIMS(2), OP_VALUES(wanted[k], wanted[k]), 0);
        op_close(&t);
    }
}

static void max_and_min_keep_nan(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Max", 13);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(NAN, 1, 2));
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(1, NAN, 3));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(3), OP_VALUES(NAN, NAN, 3), 0);
    op_close(&t);
}

static void comparisons_give_booleans(void **state)
{
    (void)state;
    struct op_test t;
    static const struct {
        const char *op;
        int version;
        double wanted[4];
    } cases[] = {{"Equal", 19, {0, 1, 0, 0}}, {"Less", 13, {1, 0, 0, 0}}, {"Greater", 13, {0, 0, 1, 0}},
        {"LessOrEqual", 16, {1, 1, 0, 0}}, {"GreaterOrEqual", 16, {0, 1, 1, 0}}};
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_F16, SC_BF16};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (size_t k = 0; k < 4; k++) {
            op_open(&t, "", cases[c].op, cases[c].version);
            op_in(&t, types[k], OP_DIMS(4), OP_VALUES(1, 2, 3, NAN));
            op_in(&t, types[k], OP_DIMS(1), OP_VALUES(2));
            op_passes(&t, 1);
            op_gives(&t, 0, SC_BOOL, OP_DIMS(4), cases[c].wanted, 0);
            op_close(&t);
        }
    }
}

static void strings_are_compared_by_their_bytes(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Equal", 19);
    op_in_strings(&t, OP_DIMS(3), (const char *const[]){"a", "ab", ""});
    op_in_strings(&t, OP_DIMS(3), (const char *const[]){"a", "a", ""});
    op_passes(&t, 1);
    op_gives(&t, 0, SC_BOOL, OP_DIMS(3), OP_VALUES(1, 0, 1), 0);
    op_close(&t);
}

static void where_moves_any_type(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Where", 16);
    op_in(&t, SC_BOOL, OP_DIMS(2, 1), OP_VALUES(1, 0));
    op_in(&t, SC_I16, OP_DIMS(2), OP_VALUES(1, 2));
    op_in(&t, SC_I16, OP_SCALAR, OP_VALUES(9));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I16, OP_DIMS(2, 2), OP_VALUES(1, 2, 9, 9), 0);
    op_close(&t);
    op_open(&t, "", "Where", 16);
    op_in(&t, SC_BOOL, OP_DIMS(2), OP_VALUES(0, 1));
    op_in_strings(&t, OP_DIMS(1), (const char *const[]){"x"});
    op_in_strings(&t, OP_DIMS(2), (const char *const[]){"y", "z"});
    op_passes(&t, 1);
    op_gives_strings(&t, 0, OP_DIMS(2), (const char *const[]){"y", "x"});
    op_close(&t);
}

static void bit_shifts_past_the_width_leave_the_sign(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "BitShift", 28);
    op_text(&t, "direction", "RIGHT");
    op_in(&t, SC_I8, OP_DIMS(5), OP_VALUES(-128, -1, 64, -5, 7));
    op_in(&t, SC_I8, OP_DIMS(5), OP_VALUES(1, 8, 9, -1, -1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I8, OP_DIMS(5), OP_VALUES(-64, -1, 0, -1, 0), 0);
    op_close(&t);
    op_open(&t, "", "BitShift", 11);
    op_text(&t, "direction", "LEFT");
    op_in(&t, SC_U8, OP_DIMS(3), OP_VALUES(1, 200, 3));
    op_in(&t, SC_U8, OP_DIMS(3), OP_VALUES(7, 1, 8));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U8, OP_DIMS(3), OP_VALUES(128, 144, 0), 0);
    op_close(&t);
    op_open(&t, "", "BitShift", 11);
    op_text(&t, "direction", "UP");
    op_in(&t, SC_U8, OP_DIMS(1), OP_VALUES(1));
    op_in(&t, SC_U8, OP_DIMS(1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (BitShift): direction is 'UP', want LEFT or RIGHT");
    op_close(&t);
}

static void pow_mixes_types_and_powers_of_integers_wrap(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Pow", 15);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(1, 2, 3));
    op_in(&t, SC_I64, OP_DIMS(3), OP_VALUES(4, 5, -1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(3), OP_VALUES(1, 32, 1.0 / 3), 1e-7);
    op_close(&t);
    op_open(&t, "", "Pow", 15);
    op_in(&t, SC_I32, OP_DIMS(4), OP_VALUES(3, 2, -1, 65536));
    op_in(&t, SC_I32, OP_DIMS(4), OP_VALUES(4, -1, -3, 2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I32, OP_DIMS(4), OP_VALUES(81, 0, -1, 0), 0);
    op_close(&t);
    op_open(&t, "", "Pow", 15);
    op_in(&t, SC_I32, OP_DIMS(3), OP_VALUES(1, 4, 9));
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(0.5));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I32, OP_DIMS(3), OP_VALUES(1, 2, 3), 0);
    op_close(&t);
    op_open(&t, "", "Pow", 15);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(1.5, -4, 9));
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(3), OP_VALUES(2.25, 16, 81), 0);
    op_close(&t);
}

static void prelu_broadcasts_its_slope_one_way(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "PRelu", 16);
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(-1, -2, 3, -4));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(10, 100));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 2), OP_VALUES(-10, -200, 3, -400), 0);
    op_close(&t);
    op_open(&t, "", "PRelu", 6); /* one slope a channel */
    op_in(&t, SC_F32, OP_DIMS(1, 2, 2), OP_VALUES(-1, -2, -3, -4));
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(10, 100));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 2, 2), OP_VALUES(-10, -20, -300, -400), 0);
    op_close(&t);
    op_open(&t, "", "PRelu", 16);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(-1, -2));
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(1, 1, 1, 1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (PRelu): shape [2,2] does not broadcast to [2] at axis -1");
    op_close(&t);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { ROWS = 70, COLUMNS = 999 };
    static float x[ROWS * COLUMNS], y[COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        x[i] = (float)((i * 2654435761u) % 1000) / 37;
    }
    for (int i = 0; i < COLUMNS; i++) {
        y[i] = (float)i / 7;
    }
    struct op_test one, three;
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test *tests[2] = {&one, &three};
    for (int k = 0; k < 2; k++) {
        op_open(tests[k], "", "Div", 14);
        op_in_raw(tests[k], SC_F32, OP_DIMS(ROWS, COLUMNS), x);
        op_in_raw(tests[k], SC_F32, OP_DIMS(COLUMNS), y);
        tests[k]->team = k ? team : NULL;
        op_passes(tests[k], 1);
    }
    op_gives_raw(&three, 0, SC_F32, OP_DIMS(ROWS, COLUMNS), one.out[0].u.tensor.data);
    const float *quotient = one.out[0].u.tensor.data;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const float wanted = x[i] / y[i % COLUMNS];
        assert_true(quotient[i] == wanted || (isnan(quotient[i]) && isnan(wanted)));
    }
    op_close(&one);
    op_close(&three);
    sc_team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_broadcasts_both_ways),
        cmocka_unit_test(a_scalar_meets_an_empty_tensor),
        cmocka_unit_test(shapes_that_do_not_broadcast_are_named),
        cmocka_unit_test(types_must_agree),
        cmocka_unit_test(version_6_lays_b_at_the_axis),
        cmocka_unit_test(integer_division_truncates_and_never_traps),
        cmocka_unit_test(mod_of_floats_takes_the_sign_that_fmod_asks_for),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(sixteen_bit_sums_are_rounded_once),
        cmocka_unit_test(variadic_operators_fold_more_inputs_than_one_loop_takes),
        cmocka_unit_test(max_and_min_keep_nan),
        cmocka_unit_test(comparisons_give_booleans),
        cmocka_unit_test(strings_are_compared_by_their_bytes),
        cmocka_unit_test(where_moves_any_type),
        cmocka_unit_test(bit_shifts_past_the_width_leave_the_sign),
        cmocka_unit_test(pow_mixes_types_and_powers_of_integers_wrap),
        cmocka_unit_test(prelu_broadcasts_its_slope_one_way),
        cmocka_unit_test(threads_do_not_change_a_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
