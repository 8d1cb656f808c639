/* SPDX-License-Identifier: Apache-2.0
 * GridSample along a row of pixels 10, 20, 40, 80, where each value is worked out by hand. */
#include "op_harness.h"

enum { POINTS = 7 };

/* With aligned corners -1 and 1 are pixels 0 and 3: x = 2 p / 3 - 1 is pixel p. */
static const double pixels[POINTS] = {0, 1.5, 2.25, 3, -1, 3.5, 5};

static void row(const char *mode, const char *padding, enum sc_type type, const double *wanted, double tolerance)
{
    double grid[POINTS];
    struct op_test t;
    for (int i = 0; i < POINTS; i++) {
        grid[i] = pixels[i] * 2 / 3 - 1;
    }
    op_open(&t, "", "GridSample", 22);
    op_int(&t, "align_corners", 1);
    op_text(&t, "mode", mode);
    op_text(&t, "padding_mode", padding);
    op_in(&t, type, OP_DIMS(1, 1, 4), OP_VALUES(10, 20, 40, 80));
    op_in(&t, SC_F64, OP_DIMS(1, POINTS, 1), grid);
    op_passes(&t, 1);
    op_gives(&t, 0, type, OP_DIMS(1, 1, POINTS), wanted, tolerance);
    op_close(&t);
}

static void points_between_pixels_are_linear(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32, SC_F64, SC_U8, SC_I64};
    for (int k = 0; k < 6; k++) {
        row("linear", "zeros", types[k], OP_VALUES(10, 30, 50, 80, 0, 40, 0), 1e-6);
        row("linear", "border", types[k], OP_VALUES(10, 30, 50, 80, 10, 80, 80), 1e-6);
        row("linear", "reflection", types[k], OP_VALUES(10, 30, 50, 80, 20, 60, 20), 1e-6);
    }
}

/* 1.5 is half-way and goes to 2, the even one; 3.5 to 4, which is outside. */
static void the_nearest_pixel_is_taken(void **state)
{
    (void)state;
    row("nearest", "zeros", SC_F32, OP_VALUES(10, 40, 40, 80, 0, 0, 0), 0);
    row("nearest", "border", SC_F32, OP_VALUES(10, 40, 40, 80, 10, 80, 80), 0);
    row("nearest", "reflection", SC_F32, OP_VALUES(10, 40, 40, 80, 20, 40, 20), 0);
}

/* Weights at one half are -0.09375, 0.59375, 0.59375, -0.09375; at one quarter -0.10546875, 0.87890625, 0.26171875,
 * -0.03515625. */
static void cubic_takes_four_pixels(void **state)
{
    (void)state;
    const double half = -0.09375 * 90 + 0.59375 * 60;
    const double quarter = -0.10546875 * 20 + 0.87890625 * 40 + 0.26171875 * 80;
    row("cubic", "zeros", SC_F64, OP_VALUES(10, half, quarter, 80, 0, -0.09375 * 40 + 0.59375 * 80, 0), 1e-12);
}

/* Edges of pixels: x = 2 (p + 0.5) / 4 - 1; reflected there, -1 is pixel 0 and 4.25 is 2.75. */
static void corners_are_edges_else(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "GridSample", 16);
    op_text(&t, "mode", "bilinear");
    op_text(&t, "padding_mode", "reflection");
    op_in(&t, SC_F32, OP_DIMS(1, 2, 1, 4), OP_VALUES(10, 20, 40, 80, 1, 2, 4, 8));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 3, 2), OP_VALUES(0, 0, -1.25, 0, 1.375, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 2, 1, 3), OP_VALUES(30, 10, 70, 3, 1, 7), 1e-6);
    op_close(&t);
}

/* The last coordinate is that of the first axis. A volume of 2 x 2 x 2 numbers 0 to 7, and a point that is no
 * number. */
static void volumes_and_points_that_are_no_numbers(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "GridSample", 20);
    op_int(&t, "align_corners", 1);
    op_in(&t, SC_F64, OP_DIMS(1, 1, 2, 2, 2), OP_VALUES(0, 1, 2, 3, 4, 5, 6, 7));
    op_in(&t, SC_F64, OP_DIMS(1, 1, 1, 4, 3), OP_VALUES(-1, -1, 1, 1, -1, -1, 0, 0, 0, NAN, INFINITY, -1e300));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(1, 1, 1, 1, 4), OP_VALUES(4, 1, 3.5, 0), 1e-12);
    op_close(&t);
}

static void complex_numbers_are_weighed_as_two(void **state)
{
    (void)state;
    static const float numbers[4] = {1, -2, 3, 6}, want[4] = {2, 2, 1.5F, 3};
    struct op_test t;
    op_open(&t, "", "GridSample", 20);
    op_in_raw(&t, SC_C64, OP_DIMS(1, 1, 2), numbers);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 1), OP_VALUES(0, 1)); /* between both, and half outside */
    op_passes(&t, 1);
    op_gives_raw(&t, 0, SC_C64, OP_DIMS(1, 1, 2), want);
    op_close(&t);
}

static void strings_have_nearest_pixels(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "b"};
    struct op_test t;
    for (int linear = 0; linear < 2; linear++) {
        op_open(&t, "", "GridSample", 22);
        op_text(&t, "mode", linear ? "linear" : "nearest");
        op_in_strings(&t, OP_DIMS(1, 1, 2), words);
        op_in(&t, SC_F32, OP_DIMS(1, 3, 1), OP_VALUES(0.5, -0.5, 7));
        if (linear) {
            op_fails(&t, 1, SC_UNSUPPORTED, "node 'n' (GridSample): strings can be taken from the nearest pixel alone");
        } else {
            op_passes(&t, 1);
            op_gives_strings(&t, 0, OP_DIMS(1, 1, 3), (const char *const[]){"b", "a", ""});
        }
        op_close(&t);
    }
}

/* So many points that they are found block by block. */
static void threads_share_points_out(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const enum sc_type types[] = {SC_F64, SC_F32, SC_F16, SC_BF16};
    static const double tolerances[] = {1e-12, 0x1p-23, 0x1p-11, 0x1p-8};
    static double grid[2 * N], wanted[4 * N];
    for (int i = 0; i < 2 * N; i++) {
        grid[i] = (double)(i % 997) / 996 * 2 - 1;
        wanted[i / N * 2 * N + i % N] = (grid[i] + 1) / 2; /* of pixels 0 and 1 */
        wanted[i / N * 2 * N + N + i % N] = 3 - (grid[i] + 1); /* of pixels 3 and 1 */
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    for (int k = 0; k < 4; k++) {
        struct op_test t;
        op_open(&t, "", "GridSample", 22);
        op_int(&t, "align_corners", 1);
        t.team = team;
        op_in(&t, types[k], OP_DIMS(2, 2, 2), OP_VALUES(0, 1, 3, 1, 0, 1, 3, 1));
        op_in(&t, SC_F64, OP_DIMS(2, N, 1), grid);
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(2, 2, N), wanted, tolerances[k]);
        op_close(&t);
    }
    sc_team_free(team);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "GridSample", 22);
    op_text(&t, "mode", "bilinear");
    op_in(&t, SC_F32, OP_DIMS(1, 1, 2), OP_VALUES(1, 2));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 2), OP_VALUES(1, 2));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (GridSample): mode is 'bilinear', want linear, nearest or cubic");
    op_close(&t);
    op_open(&t, "", "GridSample", 22);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 2), OP_VALUES(1, 2));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 2), OP_VALUES(1, 2));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (GridSample): grid has shape [1,1,2], want [1,?,1]");
    op_close(&t);
    op_open(&t, "", "GridSample", 22);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 0), NULL);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (GridSample): there are no pixels to sample");
    op_close(&t);
    op_open(&t, "", "GridSample", 22);
    op_text(&t, "mode", "cubic");
    op_in(&t, SC_F32, OP_DIMS(1, 1, 1, 1, 1, 1, 1, 1), OP_VALUES(1));
    op_in(&t, SC_F32, OP_DIMS(1, 1, 1, 1, 1, 1, 1, 6), OP_VALUES(0, 0, 0, 0, 0, 0));
    op_fails(&t, 1, SC_LIMIT, "node 'n' (GridSample): X has rank 8, so that a point is of over 1024 pixels");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_between_pixels_are_linear),
        cmocka_unit_test(the_nearest_pixel_is_taken),
        cmocka_unit_test(cubic_takes_four_pixels),
        cmocka_unit_test(corners_are_edges_else),
        cmocka_unit_test(volumes_and_points_that_are_no_numbers),
        cmocka_unit_test(complex_numbers_are_weighed_as_two),
        cmocka_unit_test(strings_have_nearest_pixels),
        cmocka_unit_test(threads_share_points_out),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
