/* SPDX-License-Identifier: Apache-2.0
 * Claims about views, copies and shapes. */
#include "op_case.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

static void reshape_copies_a_dim_for_zero_and_finds_minus_one(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Reshape", 14, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){0, -1, 1}, DIMS(3));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, six, DIMS(2, 3, 1));
    assert_int_equal(c.facts[0].dims[1], 3);
    op_close(&c);
}

static void reshape_of_unknown_shape_is_settled_at_run_time(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Reshape", 14, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){-1}, DIMS(1));
    c.unknown[1] = true;
    assert_int_equal(op_run(&c), SC_OK);
    assert_int_equal(c.facts[0].dims[0], SC_DIM_UNKNOWN);
    op_expect(&c, 0, SC_F32, six, DIMS(6));
    op_close(&c);
}

static void reshape_keeps_symbols(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Reshape", 14, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    const int64_t shape[] = {0, -1, 3, 2};
    op_in(&c, SC_I64, shape, DIMS(4));
    void *params;
    struct sc_fact facts[2];
    const int64_t dims[3] = {-5, -6, 6};
    sc_fact_tensor(&facts[0], SC_F32, 3, dims);
    sc_fact_of(&facts[1], &c.in[1]);
    const struct sc_fact *in[2] = {&facts[0], &facts[1]};
    struct sc_fact *out[1] = {&c.facts[0]};
    sc_fact_init(&c.facts[0]);
    assert_int_equal(c.op->params(&c.graph, &c.node, &c.arena, &params), SC_OK);
    assert_int_equal(op_infer(&c, params, in, out), SC_OK);
    assert_int_equal(c.facts[0].rank, 4);
    assert_int_equal(c.facts[0].dims[0], -5);
    assert_int_equal(c.facts[0].dims[1], -6);
    op_close(&c);
}

static void reshape_to_another_count_is_refused(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Reshape", 14, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){4}, DIMS(1));
    op_expect_failure(&c, SC_BAD_INPUT, "6 elements");
    op_close(&c);
    op_open(&c, "", "Reshape", 14, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){-1, -1}, DIMS(2));
    op_expect_failure(&c, SC_BAD_INPUT, "more than one");
    op_close(&c);
    op_open(&c, "", "Reshape", 14, 1);
    op_int(&c, "allowzero", 1);
    op_in(&c, SC_F32, six, DIMS(2, 0));
    op_in(&c, SC_I64, (int64_t[]){0, -1}, DIMS(2));
    op_expect_failure(&c, SC_BAD_INPUT, "allowzero");
    op_close(&c);
}

static void reshape_1_has_its_shape_as_attribute(void **state)
{
    (void)state;
    struct op_case c;
    const int64_t shape[] = {3, 2};
    op_open(&c, "", "Reshape", 1, 1);
    op_ints(&c, "shape", 2, shape);
    op_in(&c, SC_F32, six, DIMS(6));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, six, DIMS(3, 2));
    op_close(&c);
}

static void flatten_takes_axis_equal_to_rank(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Flatten", 13, 1);
    op_int(&c, "axis", 2);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_dims(&c, 0, DIMS(6, 1));
    op_close(&c);
}

static void squeeze_and_unsqueeze_take_negative_axes(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Squeeze", 13, 1);
    op_in(&c, SC_F32, six, DIMS(1, 6, 1));
    op_in(&c, SC_I64, (int64_t[]){-1}, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_dims(&c, 0, DIMS(1, 6));
    op_close(&c);
    op_open(&c, "", "Unsqueeze", 13, 1);
    op_in(&c, SC_F32, six, DIMS(6));
    op_in(&c, SC_I64, (int64_t[]){-1, 0}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_dims(&c, 0, DIMS(1, 6, 1));
    op_close(&c);
    op_open(&c, "", "Squeeze", 13, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){0}, DIMS(1));
    op_expect_failure(&c, SC_BAD_INPUT, "want 1");
    op_close(&c);
    op_open(&c, "", "Unsqueeze", 13, 1);
    op_in(&c, SC_F32, six, DIMS(6));
    op_in(&c, SC_I64, (int64_t[]){0, 0}, DIMS(2));
    op_expect_failure(&c, SC_BAD_MODEL, "twice");
    op_close(&c);
}

static void transpose_is_a_view(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Transpose", 13, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    assert_int_equal(op_run(&c), SC_OK);
    assert_ptr_equal(c.out[0].u.tensor.data, six);
    op_expect(&c, 0, SC_F32, (float[]){1, 4, 2, 5, 3, 6}, DIMS(3, 2));
    op_close(&c);
}

static void transpose_refuses_what_is_no_permutation(void **state)
{
    (void)state;
    struct op_case c;
    const int64_t perm[] = {0, 0};
    op_open(&c, "", "Transpose", 13, 1);
    op_ints(&c, "perm", 2, perm);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_expect_failure(&c, SC_BAD_MODEL, "permutation");
    op_close(&c);
}

static void expand_broadcasts_both_ways(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Expand", 13, 1);
    op_in(&c, SC_F32, six, DIMS(2, 1));
    op_in(&c, SC_I64, (int64_t[]){2, 1, 3}, DIMS(3));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}, DIMS(2, 2, 3));
    op_close(&c);
    op_open(&c, "", "Expand", 13, 1);
    op_in(&c, SC_F32, six, DIMS(3));
    op_in(&c, SC_I64, (int64_t[]){2}, DIMS(1));
    op_expect_failure(&c, SC_BAD_INPUT, "expanded");
    op_close(&c);
}

struct slice {
    int64_t start, end, step;
    int n;
    float want[6];
};

static void slice_clamps_as_the_clause_says(void **state)
{
    (void)state;
    static const struct slice cases[] = {{1, INT64_MAX, 2, 3, {2, 4, 6}}, {-1, INT64_MIN, -1, 6, {6, 5, 4, 3, 2, 1}},
        {-1, INT64_MAX, -1, 0, {0}}, {4, 2, 1, 0, {0}}, {-100, 2, 1, 2, {1, 2}}, {100, 3, -2, 1, {6}},
        {0, 6, INT64_MAX, 1, {1}}, {5, INT64_MIN, INT64_MIN, 1, {6}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct op_case c;
        op_open(&c, "", "Slice", 13, 1);
        op_in(&c, SC_F32, six, DIMS(6));
        op_in(&c, SC_I64, &cases[i].start, DIMS(1));
        op_in(&c, SC_I64, &cases[i].end, DIMS(1));
        op_in(&c, SC_I64, (int64_t[]){0}, DIMS(1));
        op_in(&c, SC_I64, &cases[i].step, DIMS(1));
        assert_int_equal(op_run(&c), SC_OK);
        op_expect(&c, 0, SC_F32, cases[i].want, DIMS(cases[i].n));
        op_close(&c);
    }
}

static void slice_of_a_view_stays_a_view(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Slice", 13, 1);
    struct sc_tensor *t = op_in(&c, SC_F32, six, DIMS(3, 2));
    t->strides[0] = 1;
    t->strides[1] = 3;
    op_in(&c, SC_I64, (int64_t[]){1}, DIMS(1));
    op_in(&c, SC_I64, (int64_t[]){3}, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){2, 5, 3, 6}, DIMS(2, 2));
    op_close(&c);
}

static void slice_refuses_step_zero(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Slice", 13, 1);
    op_in(&c, SC_F32, six, DIMS(6));
    op_in(&c, SC_I64, (int64_t[]){0}, DIMS(1));
    op_in(&c, SC_I64, (int64_t[]){3}, DIMS(1));
    op_in(&c, SC_I64, (int64_t[]){0}, DIMS(1));
    op_in(&c, SC_I64, (int64_t[]){0}, DIMS(1));
    c.unknown[4] = true;
    op_expect_failure(&c, SC_BAD_INPUT, "step 0");
    op_close(&c);
}

static void concat_joins_strided_and_empty_inputs(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Concat", 13, 1);
    op_int(&c, "axis", -1);
    struct sc_tensor *t = op_in(&c, SC_F32, six, DIMS(3, 2));
    t->strides[0] = 1;
    t->strides[1] = 3;
    op_in(&c, SC_F32, six, DIMS(3, 0));
    op_in(&c, SC_F32, six, DIMS(3, 1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){1, 4, 1, 2, 5, 2, 3, 6, 3}, DIMS(3, 3));
    op_close(&c);
}

static void concat_refuses_other_dims(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Concat", 13, 1);
    op_int(&c, "axis", 0);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_F32, six, DIMS(3, 2));
    op_expect_failure(&c, SC_BAD_INPUT, "axis 1");
    op_close(&c);
}

static void split_shares_out_evenly_with_a_smaller_last(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Split", 18, 4);
    op_int(&c, "num_outputs", 4);
    op_in(&c, SC_F32, six, DIMS(6));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, six, DIMS(2));
    op_expect(&c, 2, SC_F32, six + 4, DIMS(2));
    op_expect_dims(&c, 3, DIMS(0));
    op_close(&c);
}

static void split_by_an_unknown_list_is_checked_at_run_time(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Split", 13, 2);
    op_int(&c, "axis", 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){1, 2}, DIMS(2));
    c.unknown[1] = true;
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){1, 4}, DIMS(2, 1));
    op_expect(&c, 1, SC_F32, (float[]){2, 3, 5, 6}, DIMS(2, 2));
    op_close(&c);
    op_open(&c, "", "Split", 13, 2);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){INT64_MAX, 3}, DIMS(2));
    c.unknown[1] = true;
    op_expect_failure(&c, SC_BAD_INPUT, "entry 0");
    op_close(&c);
}

static void gather_takes_negative_indices(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Gather", 13, 1);
    op_int(&c, "axis", 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I32, (int32_t[]){-1, 0}, DIMS(1, 2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){3, 1, 6, 4}, DIMS(2, 1, 2));
    op_close(&c);
}

static void gather_refuses_an_index_outside(void **state)
{
    (void)state;
    static const int64_t bad[] = {2, -3, INT64_MIN};
    for (int i = 0; i < 3; i++) {
        struct op_case c;
        op_open(&c, "", "Gather", 13, 1);
        op_in(&c, SC_F32, six, DIMS(2, 3));
        op_in(&c, SC_I64, &bad[i], 0, NULL);
        op_expect_failure(&c, SC_BAD_INPUT, "outside of axis 0");
        op_close(&c);
    }
}

static void gather_elements_follows_the_axis(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "GatherElements", 13, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){1, 0, -1}, DIMS(1, 3));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){4, 2, 6}, DIMS(1, 3));
    op_close(&c);
}

static void shape_is_a_known_value(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Shape", 15, 1);
    op_int(&c, "start", -2);
    op_in(&c, SC_F32, six, DIMS(1, 2, 3));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I64, (int64_t[]){2, 3}, DIMS(2));
    assert_non_null(c.facts[0].value);
    assert_int_equal(sc_index_at(c.facts[0].value, 1), 3);
    op_close(&c);
}

static void constant_of_shape_repeats_one_element(void **state)
{
    (void)state;
    struct op_case c;
    struct sc_tensor value;
    int64_t nine = 9;
    const int64_t one[] = {1};
    sc_tensor_init(&value, SC_I64, 1, one);
    value.data = &nine;
    op_open(&c, "", "ConstantOfShape", 9, 1);
    op_attribute(&c, "value", SC_ATTRIBUTE_TENSOR, 1)->u.tensor = &value;
    op_in(&c, SC_I64, (int64_t[]){3}, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I64, (int64_t[]){9, 9, 9}, DIMS(3));
    op_close(&c);
    op_open(&c, "", "ConstantOfShape", 9, 1);
    op_in(&c, SC_I64, (int64_t[]){INT64_MAX / 2, 4}, DIMS(2));
    assert_int_not_equal(op_run(&c), SC_OK);
    op_close(&c);
}

static void constant_gives_its_value(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Constant", 13, 1);
    op_float(&c, "value_float", 2.5F);
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){2.5F}, 0, NULL);
    assert_non_null(c.facts[0].value);
    op_close(&c);
    op_open(&c, "", "Constant", 13, 1);
    op_expect_failure(&c, SC_BAD_MODEL, "no value");
    op_close(&c);
}

static void range_counts_down_and_refuses_delta_zero(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Range", 11, 1);
    op_in(&c, SC_I64, (int64_t[]){10}, 0, NULL);
    op_in(&c, SC_I64, (int64_t[]){4}, 0, NULL);
    op_in(&c, SC_I64, (int64_t[]){-3}, 0, NULL);
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I64, (int64_t[]){10, 7}, DIMS(2));
    op_close(&c);
    op_open(&c, "", "Range", 11, 1);
    op_in(&c, SC_F32, (float[]){1}, 0, NULL);
    op_in(&c, SC_F32, (float[]){2}, 0, NULL);
    op_in(&c, SC_F32, (float[]){0}, 0, NULL);
    op_expect_failure(&c, SC_BAD_INPUT, "no count");
    op_close(&c);
    op_open(&c, "", "Range", 11, 1);
    op_in(&c, SC_I64, (int64_t[]){INT64_MIN}, 0, NULL);
    op_in(&c, SC_I64, (int64_t[]){INT64_MAX}, 0, NULL);
    op_in(&c, SC_I64, (int64_t[]){1}, 0, NULL);
    op_expect_failure(&c, SC_LIMIT, "too large");
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshape_copies_a_dim_for_zero_and_finds_minus_one),
        cmocka_unit_test(reshape_of_unknown_shape_is_settled_at_run_time),
        cmocka_unit_test(reshape_keeps_symbols),
        cmocka_unit_test(reshape_to_another_count_is_refused),
        cmocka_unit_test(reshape_1_has_its_shape_as_attribute),
        cmocka_unit_test(flatten_takes_axis_equal_to_rank),
        cmocka_unit_test(squeeze_and_unsqueeze_take_negative_axes),
        cmocka_unit_test(transpose_is_a_view),
        cmocka_unit_test(transpose_refuses_what_is_no_permutation),
        cmocka_unit_test(expand_broadcasts_both_ways),
        cmocka_unit_test(slice_clamps_as_the_clause_says),
        cmocka_unit_test(slice_of_a_view_stays_a_view),
        cmocka_unit_test(slice_refuses_step_zero),
        cmocka_unit_test(concat_joins_strided_and_empty_inputs),
        cmocka_unit_test(concat_refuses_other_dims),
        cmocka_unit_test(split_shares_out_evenly_with_a_smaller_last),
        cmocka_unit_test(split_by_an_unknown_list_is_checked_at_run_time),
        cmocka_unit_test(gather_takes_negative_indices),
        cmocka_unit_test(gather_refuses_an_index_outside),
        cmocka_unit_test(gather_elements_follows_the_axis),
        cmocka_unit_test(shape_is_a_known_value),
        cmocka_unit_test(constant_of_shape_repeats_one_element),
        cmocka_unit_test(constant_gives_its_value),
        cmocka_unit_test(range_counts_down_and_refuses_delta_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
