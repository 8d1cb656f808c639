/* SPDX-License-Identifier: Apache-2.0
 * Claims about the operators that pick, scatter, pad and sort. Values are those of numpy for the same input. */
#include "op_case.h"

#include <math.h>

static const float six[6] = {1, 2, 3, 4, 5, 6};

static void tile_repeats_every_axis(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Tile", 13, 1);
    op_in(&c, SC_F32, six, DIMS(1, 2));
    op_in(&c, SC_I64, (int64_t[]){2, 2}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){1, 2, 1, 2, 1, 2, 1, 2}, DIMS(2, 4));
    op_close(&c);
    op_open(&c, "", "Tile", 13, 1);
    op_in(&c, SC_F32, six, DIMS(6));
    op_in(&c, SC_I64, (int64_t[]){INT64_MAX}, DIMS(1));
    op_expect_failure(&c, SC_LIMIT, "too large");
    op_close(&c);
}

static void tile_of_version_1_has_its_numbers_in_the_inputs_type(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Tile", 1, 1);
    op_in(&c, SC_F32, six, DIMS(1, 2));
    op_in(&c, SC_F32, (float[]){3}, 0, NULL);
    op_in(&c, SC_F32, (float[]){1}, 0, NULL);
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){1, 2, 1, 2, 1, 2}, DIMS(1, 6));
    op_close(&c);
    op_open(&c, "", "Tile", 1, 1);
    op_in(&c, SC_F32, six, DIMS(1, 2));
    op_in(&c, SC_F32, (float[]){1.5F}, 0, NULL);
    op_in(&c, SC_F32, (float[]){0}, 0, NULL);
    op_expect_failure(&c, SC_BAD_INPUT, "tiles is 1.5, want a whole number");
    op_close(&c);
}

static void complex_updates_are_added_and_multiplied(void **state)
{
    (void)state;
    static const float data[] = {1, 2}, updates[] = {3, -1, 2, 5}, sum[] = {6, 6}, product[] = {-15, 35};
    for (int times = 0; times < 2; times++) { /* (1 + 2i)(3 - i) = 5 + 5i; times 2 + 5i: -15 + 35i */
        struct op_case c;
        op_open(&c, "", "ScatterElements", 18, 1);
        op_text(&c, "reduction", times ? "mul" : "add");
        op_in(&c, SC_C64, data, DIMS(1));
        op_in(&c, SC_I64, (int64_t[]){0, 0}, DIMS(2));
        op_in(&c, SC_C64, updates, DIMS(2));
        assert_int_equal(op_run(&c), SC_OK);
        op_expect(&c, 0, SC_C64, times ? product : sum, DIMS(1));
        op_close(&c);
    }
}

static void gather_nd_takes_slices_per_batch(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "GatherND", 12, 1);
    op_int(&c, "batch_dims", 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){2, -3}, DIMS(2, 1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){3, 4}, DIMS(2));
    op_close(&c);
    op_open(&c, "", "GatherND", 12, 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){0, 3}, DIMS(1, 2));
    op_expect_failure(&c, SC_BAD_INPUT, "outside of axis 1");
    op_close(&c);
}

static void scatter_elements_combines_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    static const float want[5][3] = {{1, 20, 3}, {1, 32, 3}, {1, 400, 3}, {1, 20, 3}, {1, 2, 3}};
    for (int i = 0; i < 5; i++) {
        struct op_case c;
        op_open(&c, "", "ScatterElements", 18, 1);
        op_text(&c, "reduction", names[i]);
        op_in(&c, SC_F32, six, DIMS(3));
        op_in(&c, SC_I64, (int64_t[]){1, -2}, DIMS(2));
        op_in(&c, SC_F32, (float[]){10, 20}, DIMS(2));
        assert_int_equal(op_run(&c), SC_OK);
        op_expect(&c, 0, SC_F32, want[i], DIMS(3));
        op_close(&c);
    }
    struct op_case c;
    op_open(&c, "", "ScatterElements", 18, 1);
    op_in(&c, SC_F32, six, DIMS(3));
    op_in(&c, SC_I64, (int64_t[]){3}, DIMS(1));
    op_in(&c, SC_F32, six, DIMS(1));
    op_expect_failure(&c, SC_BAD_INPUT, "outside of axis 0");
    op_close(&c);
}

static void scatter_of_integers_wraps_and_keeps_64_bits(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "ScatterND", 18, 1);
    op_text(&c, "reduction", "add");
    op_in(&c, SC_I64, (int64_t[]){INT64_MAX, 7}, DIMS(2));
    op_in(&c, SC_I64, (int64_t[]){0}, DIMS(1, 1));
    op_in(&c, SC_I64, (int64_t[]){1}, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I64, (int64_t[]){INT64_MIN, 7}, DIMS(2));
    op_close(&c);
}

struct pad {
    const char *mode;
    int64_t begin, end;
    int n;
    float want[10];
};

static void pad_has_four_modes_and_negative_pads(void **state)
{
    (void)state;
    static const struct pad cases[] = {{"constant", 2, 1, 6, {9, 9, 1, 2, 3, 9}}, {"constant", -1, 2, 4, {2, 3, 9, 9}},
        {"edge", 2, 1, 6, {1, 1, 1, 2, 3, 3}}, {"reflect", 4, 3, 10, {1, 2, 3, 2, 1, 2, 3, 2, 1, 2}},
        {"wrap", 2, 2, 7, {2, 3, 1, 2, 3, 1, 2}}, {"reflect", -1, 2, 4, {2, 3, 2, 3}}, {"constant", -2, -1, 0, {0}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct op_case c;
        op_open(&c, "", "Pad", 19, 1);
        op_text(&c, "mode", cases[i].mode);
        op_in(&c, SC_F32, six, DIMS(3));
        op_in(&c, SC_I64, &cases[i].begin, DIMS(2));
        op_in(&c, SC_F32, (float[]){9}, 0, NULL);
        assert_int_equal(op_run(&c), SC_OK);
        op_expect(&c, 0, SC_F32, cases[i].want, DIMS(cases[i].n));
        op_close(&c);
    }
    struct op_case c;
    op_open(&c, "", "Pad", 19, 1);
    op_in(&c, SC_F32, six, DIMS(3));
    op_in(&c, SC_I64, (int64_t[]){-2, -2}, DIMS(2));
    op_expect_failure(&c, SC_BAD_INPUT, "cannot be padded");
    op_close(&c);
}

static void top_k_gives_ties_by_index_and_nan_first(void **state)
{
    (void)state;
    struct op_case c;
    const float x[5] = {3, 5, NAN, 5, 1};
    op_open(&c, "", "TopK", 11, 2);
    op_in(&c, SC_F32, x, DIMS(5));
    op_in(&c, SC_I64, (int64_t[]){3}, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 1, SC_I64, (int64_t[]){2, 1, 3}, DIMS(3));
    op_close(&c);
    op_open(&c, "", "TopK", 11, 2);
    op_int(&c, "largest", 0);
    op_in(&c, SC_I64, (int64_t[]){INT64_MAX, INT64_MAX - 1}, DIMS(2));
    op_in(&c, SC_I64, (int64_t[]){1}, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I64, (int64_t[]){INT64_MAX - 1}, DIMS(1)); /* a double could not tell them apart */
    op_close(&c);
    op_open(&c, "", "TopK", 11, 2);
    op_in(&c, SC_F32, x, DIMS(5));
    op_in(&c, SC_I64, (int64_t[]){6}, DIMS(1));
    c.unknown[1] = true;
    op_expect_failure(&c, SC_BAD_INPUT, "K is 6");
    op_close(&c);
}

static void non_zero_and_compress_count_first(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "NonZero", 13, 1);
    op_in(&c, SC_I32, (int32_t[]){0, 1, 2, 0}, DIMS(2, 2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I64, (int64_t[]){0, 1, 1, 0}, DIMS(2, 2));
    op_close(&c);
    op_open(&c, "", "NonZero", 13, 1); /* 0-d: one element has no coordinates */
    op_in(&c, SC_F32, six, 0, NULL);
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_dims(&c, 0, DIMS(0, 1));
    op_close(&c);
    op_open(&c, "", "Compress", 11, 1);
    op_int(&c, "axis", 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_BOOL, (unsigned char[]){0, 1}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){2, 5}, DIMS(2, 1));
    op_close(&c);
}

static void unique_in_order_of_occurrence(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Unique", 11, 4);
    op_int(&c, "sorted", 0);
    op_in(&c, SC_F32, (float[]){2, 1, 1, 3, 4, 3}, DIMS(6));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){2, 1, 3, 4}, DIMS(4));
    op_expect(&c, 1, SC_I64, (int64_t[]){0, 1, 3, 4}, DIMS(4));
    op_expect(&c, 2, SC_I64, (int64_t[]){0, 1, 1, 2, 3, 2}, DIMS(6));
    op_expect(&c, 3, SC_I64, (int64_t[]){1, 2, 2, 1}, DIMS(4));
    op_close(&c);
}

static void one_hot_leaves_out_what_does_not_fit(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "OneHot", 11, 1);
    op_in(&c, SC_I64, (int64_t[]){-1, 3}, DIMS(2));
    op_in(&c, SC_I64, (int64_t[]){3}, 0, NULL);
    op_in(&c, SC_F32, (float[]){0, 1}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){0, 0, 1, 0, 0, 0}, DIMS(2, 3));
    op_close(&c);
}

static void trilu_keeps_a_shifted_triangle(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "Trilu", 14, 1);
    op_int(&c, "upper", 0);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){-1}, 0, NULL);
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){0, 0, 0, 4, 0, 0}, DIMS(2, 3));
    op_close(&c);
}

static void depth_to_space_and_back(void **state)
{
    (void)state;
    static const char *const modes[] = {"DCR", "CRD"};
    float x[16];
    for (int i = 0; i < 16; i++) {
        x[i] = (float)i;
    }
    for (int m = 0; m < 2; m++) {
        struct op_case c, back;
        op_open(&c, "", "DepthToSpace", 13, 1);
        op_int(&c, "blocksize", 2);
        op_text(&c, "mode", modes[m]);
        op_in(&c, SC_F32, x, DIMS(1, 8, 1, 2));
        assert_int_equal(op_run(&c), SC_OK);
        op_expect_dims(&c, 0, DIMS(1, 2, 2, 4));
        const float *y = op_out(&c, 0);
        assert_true(y[1] == (m == 0 ? 4.0F : 2.0F)); /* the next column of the block: 2 channels on, or 1 */
        op_open(&back, "", "SpaceToDepth", 28, 1);
        op_int(&back, "blocksize", 2);
        op_text(&back, "mode", modes[m]);
        op_in(&back, SC_F32, y, DIMS(1, 2, 2, 4));
        assert_int_equal(op_run(&back), SC_OK);
        op_expect(&back, 0, SC_F32, x, DIMS(1, 8, 1, 2));
        op_close(&back);
        op_close(&c);
    }
}

static void reverse_sequence_turns_only_the_valid_part(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "ReverseSequence", 10, 1);
    op_int(&c, "batch_axis", 0);
    op_int(&c, "time_axis", 1);
    op_in(&c, SC_F32, six, DIMS(2, 3));
    op_in(&c, SC_I64, (int64_t[]){2, 0}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){2, 1, 3, 4, 5, 6}, DIMS(2, 3));
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_repeats_every_axis),
        cmocka_unit_test(gather_nd_takes_slices_per_batch),
        cmocka_unit_test(tile_of_version_1_has_its_numbers_in_the_inputs_type),
        cmocka_unit_test(complex_updates_are_added_and_multiplied),
        cmocka_unit_test(scatter_elements_combines_in_order),
        cmocka_unit_test(scatter_of_integers_wraps_and_keeps_64_bits),
        cmocka_unit_test(pad_has_four_modes_and_negative_pads),
        cmocka_unit_test(top_k_gives_ties_by_index_and_nan_first),
        cmocka_unit_test(non_zero_and_compress_count_first),
        cmocka_unit_test(unique_in_order_of_occurrence),
        cmocka_unit_test(one_hot_leaves_out_what_does_not_fit),
        cmocka_unit_test(trilu_keeps_a_shifted_triangle),
        cmocka_unit_test(depth_to_space_and_back),
        cmocka_unit_test(reverse_sequence_turns_only_the_valid_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
