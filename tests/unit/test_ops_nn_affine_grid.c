/* SPDX-License-Identifier: Apache-2.0
 * AffineGrid against coordinates worked out by hand. */
#include "op_harness.h"

/* theta doubles x and adds 1 to y; 2 rows of 4 columns. */
static void open_picture(struct op_test *t, enum sc_type type, int64_t align_corners)
{
    static const int64_t size[4] = {1, 3, 2, 4};
    op_open(t, "", "AffineGrid", 20);
    op_int(t, "align_corners", align_corners);
    op_in(t, type, OP_DIMS(1, 2, 3), OP_VALUES(2, 0, 0, 0, 1, 1));
    op_in_raw(t, SC_I64, OP_DIMS(4), size);
}

static void edges_are_the_borders_of_pixels(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    struct op_test t;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        for (int known = 0; known < 2; known++) {
            open_picture(&t, types[k], 0);
            t.known = known;
            op_passes(&t, 1);
            op_gives(&t, 0, types[k], OP_DIMS(1, 2, 4, 2),
                OP_VALUES(-1.5, 0.5, -0.5, 0.5, 0.5, 0.5, 1.5, 0.5, -1.5, 1.5, -0.5, 1.5, 0.5, 1.5, 1.5, 1.5), 0);
            op_close(&t);
        }
    }
}

static void aligned_corners_are_centers_of_pixels(void **state)
{
    (void)state;
    struct op_test t;
    open_picture(&t, SC_F32, 1);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 2, 4, 2),
        OP_VALUES(-2, 0, -2.0 / 3, 0, 2.0 / 3, 0, 2, 0, -2, 2, -2.0 / 3, 2, 2.0 / 3, 2, 2, 2), 1e-7);
    op_close(&t);
}

/* As PyTorch has it, which the specification points to for the operator; 2 / (1 - 1) is left open there, and the peers
 * differ: -1 in the reference of the onnx package, 1 in ONNX Runtime 1.32. */
static void a_single_aligned_pixel_is_the_middle(void **state)
{
    (void)state;
    static const int64_t size[4] = {1, 1, 1, 2};
    struct op_test t;
    op_open(&t, "", "AffineGrid", 20);
    op_int(&t, "align_corners", 1);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 3), OP_VALUES(1, 0, 0, 0, 1, 0));
    op_in_raw(&t, SC_I64, OP_DIMS(4), size);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 1, 2, 2), OP_VALUES(-1, 0, 1, 0), 0);
    op_close(&t);
}

/* Two volumes of [D,H,W] = [2,1,2]: the first as it is, the second as z, x, y moved by 10, 20, 30. */
static void volumes_have_three_coordinates(void **state)
{
    (void)state;
    static const int64_t size[5] = {2, 1, 2, 1, 2};
    struct op_test t;
    op_open(&t, "", "AffineGrid", 20);
    op_in(&t, SC_F64, OP_DIMS(2, 3, 4),
        OP_VALUES(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 10, 1, 0, 0, 20, 0, 1, 0, 30));
    op_in_raw(&t, SC_I64, OP_DIMS(5), size);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(2, 2, 1, 2, 3),
        OP_VALUES(-0.5, 0, -0.5, 0.5, 0, -0.5, -0.5, 0, 0.5, 0.5, 0, 0.5, 9.5, 19.5, 30, 9.5, 20.5, 30, 10.5, 19.5, 30,
            10.5, 20.5, 30),
        0);
    op_close(&t);
}

/* Rows are found in pieces, and pictures in rows. */
static void threads_share_points_out(void **state)
{
    (void)state;
    enum { HEIGHT = 40, WIDTH = 1100, POINTS = HEIGHT * WIDTH };
    static const int64_t size[4] = {2, 1, HEIGHT, WIDTH};
    static double wanted[2 * POINTS * 2];
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            wanted[(y * WIDTH + x) * 2] = (y + 0.5) * 2 / HEIGHT - 1;
            wanted[(y * WIDTH + x) * 2 + 1] = (x + 0.5) * 2 / WIDTH - 1;
        }
    }
    for (int i = 0; i < 2 * POINTS; i++) {
        wanted[2 * POINTS + i] = wanted[i] + 2;
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "", "AffineGrid", 20);
    t.team = team;
    op_in(&t, SC_F64, OP_DIMS(2, 2, 3), OP_VALUES(0, 1, 0, 1, 0, 0, 0, 1, 2, 1, 0, 2));
    op_in_raw(&t, SC_I64, OP_DIMS(4), size);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(2, HEIGHT, WIDTH, 2), wanted, 1e-15);
    op_close(&t);
    sc_team_free(team);
}

static void no_points_are_an_empty_grid(void **state)
{
    (void)state;
    static const int64_t size[4] = {1, 1, 0, 4};
    struct op_test t;
    op_open(&t, "", "AffineGrid", 20);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 3), OP_VALUES(1, 0, 0, 0, 1, 0));
    op_in_raw(&t, SC_I64, OP_DIMS(4), size);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 0, 4, 2), NULL, 0);
    op_close(&t);
}

static void fails(int64_t n, const int64_t *size, const char *text)
{
    struct op_test t;
    op_open(&t, "", "AffineGrid", 20);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 3), OP_VALUES(1, 0, 0, 0, 1, 0));
    op_in_raw(&t, SC_I64, 1, &n, size);
    op_fails(&t, 1, SC_BAD_INPUT, text);
    op_close(&t);
}

static void sizes_that_do_not_fit_theta_are_refused(void **state)
{
    (void)state;
    fails(3, (const int64_t[]){1, 1, 2}, "node 'n' (AffineGrid): size has 3 entries, want 4 or 5");
    fails(4, (const int64_t[]){1, 1, 2, -1}, "node 'n' (AffineGrid): size has the entry -1, want 0 or more");
    fails(4, (const int64_t[]){2, 1, 2, 2}, "node 'n' (AffineGrid): theta has shape [1,2,3], want [2,2,3]");
    fails(5, (const int64_t[]){1, 1, 2, 2, 2}, "node 'n' (AffineGrid): theta has shape [1,2,3], want [?,3,4]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_the_borders_of_pixels),
        cmocka_unit_test(aligned_corners_are_centers_of_pixels),
        cmocka_unit_test(a_single_aligned_pixel_is_the_middle),
        cmocka_unit_test(volumes_have_three_coordinates),
        cmocka_unit_test(threads_share_points_out),
        cmocka_unit_test(no_points_are_an_empty_grid),
        cmocka_unit_test(sizes_that_do_not_fit_theta_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
