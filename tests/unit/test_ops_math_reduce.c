/* SPDX-License-Identifier: Apache-2.0
 * Reductions, softmax, arg max and running sums against values worked out from their clauses. */
#include "op_harness.h"

static void each_reduction_over_the_last_the_first_and_all_axes(void **state)
{
    (void)state;
    /* over [[1, -2, 3], [4, 5, -6]] */
    static const struct {
        const char *op;
        double rows[2], columns[3], all[1];
    } cases[] = {
        {"ReduceSum", {2, 3}, {5, 3, -3}, {5}},
        {"ReduceMean", {2.0 / 3, 1}, {2.5, 1.5, -1.5}, {5.0 / 6}},
        {"ReduceMax", {3, 5}, {4, 5, 3}, {5}},
        {"ReduceMin", {-2, -6}, {1, -2, -6}, {-6}},
        {"ReduceProd", {-6, -120}, {4, -10, -18}, {720}},
        {"ReduceL1", {6, 15}, {5, 7, 9}, {21}},
        {"ReduceL2", {3.7416573868, 8.7749643874}, {4.1231056256, 5.3851648071, 6.7082039325}, {9.5393920142}},
        {"ReduceSumSquare", {14, 77}, {17, 29, 45}, {91}},
        {"ReduceLogSum", {0.6931471806, 1.0986122887}, {1.6094379124, 1.0986122887, NAN}, {1.6094379124}},
        {"ReduceLogSumExp", {3.1328452337, 5.3132738974}, {4.0485873516, 5.0009114665, 3.0001234022}, {5.4203267560}},
    };
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_F16};
    static const double tolerance[] = {1e-6, 1e-9, 1e-3};
    struct op_test t;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int k = 0; k < 3; k++) {
            for (int which = 0; which < 3; which++) {
                op_open(&t, "", cases[c].op, 18);
                op_in(&t, types[k], OP_DIMS(2, 3), OP_VALUES(1, -2, 3, 4, 5, -6));
                if (which < 2) {
                    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(which == 0 ? -1 : 0));
                }
                op_int(&t, "keepdims", which == 0);
                op_passes(&t, 1);
                if (which == 0) {
                    op_gives(&t, 0, types[k], OP_DIMS(2, 1), cases[c].rows, tolerance[k]);
                } else if (which == 1) {
                    op_gives(&t, 0, types[k], OP_DIMS(3), cases[c].columns, tolerance[k]);
                } else {
                    op_gives(&t, 0, types[k], OP_SCALAR, cases[c].all, tolerance[k]);
                }
                op_close(&t);
            }
        }
    }
}

static void axes_were_an_attribute(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "ReduceSum", 11);
    op_ints(&t, "axes", OP_DIMS(0, -1));
    op_in(&t, SC_I32, OP_DIMS(2, 2, 2), OP_VALUES(1, 2, 3, 4, 5, 6, 7, 8));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I32, OP_DIMS(1, 2, 1), OP_VALUES(14, 22), 0);
    op_close(&t);
    op_open(&t, "", "ReduceMean", 13);
    op_ints(&t, "axes", OP_DIMS(2));
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(1, 2, 3, 4));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (ReduceMean): an axis is 2, want one in [-2, 2)");
    op_close(&t);
    op_open(&t, "", "ReduceMean", 18);
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(1, 2, 3, 4));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(-3));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (ReduceMean): an axis is -3, want one in [-2, 2)");
    op_close(&t);
}

static void no_axes_mean_all_or_none(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "ReduceSumSquare", 18);
    op_int(&t, "noop_with_empty_axes", 1);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(2, -3));
    op_in(&t, SC_I64, OP_DIMS(0), NULL);
    op_passes(&t, 1); /* nothing is reduced, each element is still squared */
    op_gives(&t, 0, SC_F32, OP_DIMS(2), OP_VALUES(4, 9), 0);
    op_close(&t);
    op_open(&t, "", "ReduceSum", 13);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(2, -3));
    op_in(&t, SC_I64, OP_DIMS(0), NULL);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1), OP_VALUES(-1), 0);
    op_close(&t);
}

static void reductions_over_nothing_give_the_neutral_element(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        double wanted;
    } cases[] = {{"ReduceSum", 0}, {"ReduceMean", NAN}, {"ReduceMax", -INFINITY}, {"ReduceMin", INFINITY},
        {"ReduceProd", 1}, {"ReduceL1", 0}, {"ReduceL2", 0}, {"ReduceSumSquare", 0}, {"ReduceLogSum", -INFINITY},
        {"ReduceLogSumExp", -INFINITY}};
    struct op_test t;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        op_open(&t, "", cases[c].op, 18);
        op_in(&t, SC_F32, OP_DIMS(2, 0, 2), NULL);
        op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(1));
        op_passes(&t, 1);
        const double w = cases[c].wanted;
        op_gives(&t, 0, SC_F32, OP_DIMS(2, 1, 2), OP_VALUES(w, w, w, w), 0);
        op_close(&t);
    }
    op_open(&t, "", "ReduceMin", 18);
    op_in(&t, SC_I32, OP_DIMS(0), NULL);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I32, OP_DIMS(1), OP_VALUES(2147483647), 0);
    op_close(&t);
}

static void integers_reduce_in_their_own_type(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "ReduceMax", 20);
    op_in(&t, SC_BOOL, OP_DIMS(2, 2), OP_VALUES(0, 0, 1, 0));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(1));
    op_int(&t, "keepdims", 0);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_BOOL, OP_DIMS(2), OP_VALUES(0, 1), 0);
    op_close(&t);
    const int64_t big[2] = {INT64_MAX - 1, 1}, wanted[1] = {INT64_MAX};
    op_open(&t, "", "ReduceSum", 13);
    op_in_raw(&t, SC_I64, OP_DIMS(2), big);
    op_passes(&t, 1);
    op_gives_raw(&t, 0, SC_I64, OP_DIMS(1), wanted);
    op_close(&t);
    op_open(&t, "", "ReduceLogSumExp", 18);
    op_in(&t, SC_I32, OP_DIMS(2), OP_VALUES(1000, 1000));
    op_passes(&t, 1); /* 1000 + log 2 */
    op_gives(&t, 0, SC_I32, OP_DIMS(1), OP_VALUES(1000), 0);
    op_close(&t);
}

static void alternating_axes_reduce_too(void **state)
{
    (void)state;
    struct op_test t;
    double x[48], wanted[6] = {0};
    for (int i = 0; i < 48; i++) { /* [2, 2, 2, 3, 2], axes 0, 2 and 4 */
        x[i] = i;
        wanted[i / 12 % 2 * 3 + i / 2 % 3] += i;
    }
    op_open(&t, "", "ReduceSum", 13);
    op_in(&t, SC_F32, OP_DIMS(2, 2, 2, 3, 2), x);
    op_in(&t, SC_I64, OP_DIMS(3), OP_VALUES(4, 0, 2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 2, 1, 3, 1), wanted, 0);
    op_close(&t);
}

static void long_f16_sums_keep_their_bits(void **state)
{
    (void)state;
    enum { N = 4096 };
    static double x[N];
    for (int i = 0; i < N; i++) {
        x[i] = 1;
    }
    struct op_test t; /* a sum that is rounded to f16 on the way stops at 2048 */
    for (int axis = 0; axis < 2; axis++) {
        op_open(&t, "", "ReduceSum", 13);
        op_in(&t, SC_F16, OP_DIMS(axis ? 1 : N, axis ? N : 1), x);
        op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(axis));
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F16, OP_DIMS(1, 1), OP_VALUES(4096), 0);
        op_close(&t);
    }
    op_open(&t, "", "ReduceMean", 18);
    op_in(&t, SC_F16, OP_DIMS(N / 2, 2), x);
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F16, OP_DIMS(1, 2), OP_VALUES(1, 1), 0);
    op_close(&t);
}

static void softmax_of_one_axis_and_of_flattened_ones(void **state)
{
    (void)state;
    /* e^0, e^1, e^2 over their sum */
    const double p0 = 0.0900305732, p1 = 0.2447284711, p2 = 0.6652409558;
    struct op_test t;
    op_open(&t, "", "Softmax", 13);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(0, 1, 2, 1002, 1001, 1000));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 3), OP_VALUES(p0, p1, p2, p2, p1, p0), 1e-6);
    op_close(&t);
    op_open(&t, "", "Softmax", 13);
    op_int(&t, "axis", 0);
    op_in(&t, SC_F16, OP_DIMS(3, 2), OP_VALUES(0, 2, 1, 1, 2, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F16, OP_DIMS(3, 2), OP_VALUES(p0, p2, p1, p1, p2, p0), 1e-3);
    op_close(&t);
    op_open(&t, "", "Softmax", 11); /* axis 1: [2, 2] is one row of 4 */
    op_in(&t, SC_F64, OP_DIMS(1, 2, 2), OP_VALUES(0, 0, 0, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(1, 2, 2), OP_VALUES(0.25, 0.25, 0.25, 0.25), 0);
    op_close(&t);
    op_open(&t, "", "LogSoftmax", 13);
    op_in(&t, SC_F32, OP_DIMS(3), OP_VALUES(1000, 1001, 1002));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(3), OP_VALUES(-2.4076059644, -1.4076059644, -0.4076059644), 1e-5);
    op_close(&t);
    op_open(&t, "", "Hardmax", 13);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(1, 3, 3, 0, -1, -2));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 3), OP_VALUES(0, 1, 0, 1, 0, 0), 0);
    op_close(&t);
    op_open(&t, "", "Softmax", 13);
    op_in(&t, SC_F32, OP_DIMS(0, 3), NULL);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(0, 3), NULL, 0);
    op_close(&t);
    op_open(&t, "", "Softmax", 13);
    op_int(&t, "axis", 2);
    op_in(&t, SC_F32, OP_DIMS(1, 1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Softmax): axis is 2, want one in [-2, 2)");
    op_close(&t);
}

/* What masked keys are: nothing after a row's own elements may change them. */
static void softmax_is_stable_under_masked_elements(void **state)
{
    (void)state;
    enum { SHORT = 37, LONG = 200 };
    double x[LONG];
    for (int i = 0; i < LONG; i++) {
        x[i] = i < SHORT ? (i * 7919 % 100) / 13.0 : -INFINITY;
    }
    struct op_test a, b;
    op_open(&a, "", "Softmax", 13);
    op_in(&a, SC_F32, OP_DIMS(SHORT), x);
    op_passes(&a, 1);
    op_open(&b, "", "Softmax", 13);
    op_in(&b, SC_F32, OP_DIMS(LONG), x);
    op_passes(&b, 1);
    assert_memory_equal(a.out[0].u.tensor.data, b.out[0].u.tensor.data, SHORT * sizeof(float));
    op_close(&a);
    op_close(&b);
}

static void arg_max_takes_the_first_or_the_last_of_equals(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "ArgMax", 13);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(1, 5, 5, 2, 2, 0));
    op_int(&t, "axis", 1);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(2, 1), OP_VALUES(1, 0), 0);
    op_close(&t);
    op_open(&t, "", "ArgMax", 13);
    op_in(&t, SC_F16, OP_DIMS(2, 3), OP_VALUES(1, 5, 5, 2, 2, 0));
    op_int(&t, "axis", -1);
    op_int(&t, "keepdims", 0);
    op_int(&t, "select_last_index", 1);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(2), OP_VALUES(2, 1), 0);
    op_close(&t);
    op_open(&t, "", "ArgMin", 13);
    op_in(&t, SC_I32, OP_DIMS(2, 3), OP_VALUES(1, 5, 5, 2, 2, 0));
    op_int(&t, "keepdims", 0);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(3), OP_VALUES(0, 1, 1), 0);
    op_close(&t);
    op_open(&t, "", "ArgMin", 13);
    op_in(&t, SC_I32, OP_DIMS(0, 3), NULL);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (ArgMin): axis 0 is empty and has no extreme");
    op_close(&t);
}

static void running_sums_go_both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int64_t exclusive, reverse;
        double wanted[6];
    } cases[] = {{"CumSum", 0, 0, {1, 3, 6, 4, 9, 15}}, {"CumSum", 1, 0, {0, 1, 3, 0, 4, 9}},
        {"CumSum", 0, 1, {6, 5, 3, 15, 11, 6}}, {"CumSum", 1, 1, {5, 3, 0, 11, 6, 0}},
        {"CumProd", 1, 1, {6, 3, 1, 30, 6, 1}}, {"CumProd", 0, 0, {1, 2, 6, 4, 20, 120}}};
    static const enum sc_type types[] = {SC_F32, SC_I64, SC_F16};
    struct op_test t;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int k = 0; k < 3; k++) {
            op_open(&t, "", cases[c].op, cases[c].op[3] == 'P' ? 26 : 14);
            op_int(&t, "exclusive", cases[c].exclusive);
            op_int(&t, "reverse", cases[c].reverse);
            op_in(&t, types[k], OP_DIMS(2, 3), OP_VALUES(1, 2, 3, 4, 5, 6));
            op_in(&t, SC_I32, OP_SCALAR, OP_VALUES(-1));
            op_passes(&t, 1);
            op_gives(&t, 0, types[k], OP_DIMS(2, 3), cases[c].wanted, 0);
            op_close(&t);
        }
    }
    op_open(&t, "", "CumSum", 14);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(1, 2));
    op_in(&t, SC_I64, OP_SCALAR, OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (CumSum): axis is 1, want one in [-1, 1)");
    op_close(&t);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { A = 40, B = 300, C = 31 };
    static float x[A * B * C];
    for (int i = 0; i < A * B * C; i++) {
        x[i] = (float)((i * 2654435761u) % 10007) / 97;
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    static const char *const ops[] = {"ReduceSum", "ReduceLogSumExp", "Softmax"};
    for (int k = 0; k < 3; k++) {
        for (int axis = 0; axis < 3; axis++) {
            struct op_test tests[2];
            for (int i = 0; i < 2; i++) {
                op_open(&tests[i], "", ops[k], 18);
                op_in_raw(&tests[i], SC_F32, OP_DIMS(A, B, C), x);
                if (k < 2) {
                    op_in(&tests[i], SC_I64, OP_DIMS(1), OP_VALUES(axis));
                } else {
                    op_int(&tests[i], "axis", axis);
                }
                tests[i].team = i ? team : NULL;
                op_passes(&tests[i], 1);
            }
            const struct sc_tensor *one = &tests[0].out[0].u.tensor;
            op_gives_raw(&tests[1], 0, SC_F32, one->rank, one->dims, one->data);
            op_close(&tests[0]);
            op_close(&tests[1]);
        }
    }
    sc_team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reduction_over_the_last_the_first_and_all_axes),
        cmocka_unit_test(axes_were_an_attribute),
        cmocka_unit_test(no_axes_mean_all_or_none),
        cmocka_unit_test(reductions_over_nothing_give_the_neutral_element),
        cmocka_unit_test(integers_reduce_in_their_own_type),
        cmocka_unit_test(alternating_axes_reduce_too),
        cmocka_unit_test(long_f16_sums_keep_their_bits),
        cmocka_unit_test(softmax_of_one_axis_and_of_flattened_ones),
        cmocka_unit_test(softmax_is_stable_under_masked_elements),
        cmocka_unit_test(arg_max_takes_the_first_or_the_last_of_equals),
        cmocka_unit_test(running_sums_go_both_ways),
        cmocka_unit_test(threads_do_not_change_a_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
