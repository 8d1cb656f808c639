/* SPDX-License-Identifier: Apache-2.0
 * NonMaxSuppression against boxes whose overlaps are known. */
#include "op_harness.h"

/* Boxes of one row: [0,2], [1,3] (1/3 of both), [2,4] (a third with the second, none with the first), [0,2] again. */
static void open_row(struct op_test *t, const double *scores, double most, double overlap)
{
    op_open(t, "", "NonMaxSuppression", 11);
    op_in(t, SC_F32, OP_DIMS(1, 4, 4), OP_VALUES(0, 0, 1, 2, 0, 1, 1, 3, 0, 2, 1, 4, 1, 2, 0, 0));
    op_in(t, SC_F32, OP_DIMS(1, 1, 4), scores);
    op_in(t, SC_I64, OP_SCALAR, OP_VALUES(most));
    op_in(t, SC_F32, OP_DIMS(1), OP_VALUES(overlap));
}

static void boxes_that_overlap_a_better_one_are_left_out(void **state)
{
    (void)state;
    struct op_test t;
    open_row(&t, OP_VALUES(0.5, 0.9, 0.7, 0.6), 10, 0);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(1, 3), OP_VALUES(0, 0, 1), 0);
    op_close(&t);
    open_row(&t, OP_VALUES(0.5, 0.9, 0.7, 0.6), 10, 0.5); /* a third is no more than that; the twins are */
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(3, 3), OP_VALUES(0, 0, 1, 0, 0, 2, 0, 0, 3), 0);
    op_close(&t);
    open_row(&t, OP_VALUES(0.5, 0.9, 0.7, 0.6), 10, 1); /* overlap of 1 is not past a threshold of 1 */
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(4, 3), OP_VALUES(0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 0), 0);
    op_close(&t);
}

static void equal_scores_come_in_order_and_nan_last(void **state)
{
    (void)state;
    struct op_test t;
    open_row(&t, OP_VALUES(NAN, 0.5, 0.5, 0.25), 2, 0.5);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(2, 3), OP_VALUES(0, 0, 1, 0, 0, 2), 0);
    op_close(&t);
    open_row(&t, OP_VALUES(NAN, 0.5, 0.5, 0.25), 10, 1);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(4, 3), OP_VALUES(0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 0), 0);
    op_close(&t);
}

/* "less than score_threshold are removed": a score that is equal stays. ONNX Runtime 1.32 removes it. */
static void scores_under_the_threshold_are_removed(void **state)
{
    (void)state;
    struct op_test t;
    open_row(&t, OP_VALUES(NAN, 0.5, 0.25, 0.125), 10, 1);
    op_in(&t, SC_F32, OP_SCALAR, OP_VALUES(0.25));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(2, 3), OP_VALUES(0, 0, 1, 0, 0, 2), 0);
    op_close(&t);
}

static void without_a_count_nothing_is_selected(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "NonMaxSuppression", 10);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 4), OP_VALUES(0, 0, 1, 1));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 1), OP_VALUES(1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(0, 3), NULL, 0);
    op_close(&t);
}

/* Two batches of three classes, each with the same two boxes around a center; scores say which is better. */
static void threads_share_classes_out(void **state)
{
    (void)state;
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "", "NonMaxSuppression", 11);
    op_int(&t, "center_point_box", 1);
    t.team = team;
    op_in(&t, SC_F32, OP_DIMS(2, 2, 4), OP_VALUES(5, 5, 4, 4, 5, 5, 4, 3, 5, 5, 4, 4, 5, 5, 4, 3));
    op_in(&t, SC_F32, OP_DIMS(2, 3, 2), OP_VALUES(1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1));
    op_in(&t, SC_I64, OP_SCALAR, OP_VALUES(1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_I64, OP_DIMS(6, 3), OP_VALUES(0, 0, 1, 0, 1, 0, 0, 2, 1, 1, 0, 0, 1, 1, 1, 1, 2, 0), 0);
    op_close(&t);
    sc_team_free(team);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct op_test t;
    open_row(&t, OP_VALUES(1, 1, 1, 1), 1, 1.5);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (NonMaxSuppression): iou_threshold is 1.5, want 0 to 1");
    op_close(&t);
    op_open(&t, "", "NonMaxSuppression", 11);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 4), OP_VALUES(0, 0, 1, 1, 0, 0, 1, 1));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 3), OP_VALUES(1, 1, 1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (NonMaxSuppression): scores has shape [1,1,3], want [1,?,2]");
    op_close(&t);
    op_open(&t, "", "NonMaxSuppression", 11);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 5), OP_VALUES(0, 0, 1, 1, 0));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (NonMaxSuppression): boxes has shape [1,1,5], want [?,?,4]");
    op_close(&t);
    op_open(&t, "", "NonMaxSuppression", 11);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 4), OP_VALUES(0, 0, 1, 1));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 1), OP_VALUES(1));
    op_in(&t, SC_I64, OP_DIMS(2), OP_VALUES(1, 1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (NonMaxSuppression): max_output_boxes_per_class is not one number");
    op_close(&t);
    op_open(&t, "", "NonMaxSuppression", 11);
    op_int(&t, "center_point_box", 2);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 4), OP_VALUES(0, 0, 1, 1));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (NonMaxSuppression): center_point_box is 2, want 0 or 1");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_that_overlap_a_better_one_are_left_out),
        cmocka_unit_test(equal_scores_come_in_order_and_nan_last),
        cmocka_unit_test(scores_under_the_threshold_are_removed),
        cmocka_unit_test(without_a_count_nothing_is_selected),
        cmocka_unit_test(threads_share_classes_out),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
