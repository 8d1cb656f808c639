/* SPDX-License-Identifier: Apache-2.0
 * RoiAlign and MaxRoiPool on a picture whose pixels are 10 y + x, where averages are places. */
#include "op_harness.h"

enum { HEIGHT = 6, WIDTH = 8, BINS = 3 };

static void picture(struct op_test *t, const char *op, int version, enum sc_type type)
{
    static double x[2 * HEIGHT * WIDTH];
    for (int i = 0; i < 2 * HEIGHT * WIDTH; i++) {
        const int plane = i / (HEIGHT * WIDTH), row = i / WIDTH % HEIGHT;
        x[i] = plane * 100 + row * 10 + i % WIDTH;
    }
    op_open(t, "", op, version);
    op_in(t, type, OP_DIMS(2, 1, HEIGHT, WIDTH), x);
}

/* The mean of a plane over a bin is its middle. [1,1,5,3]: 2 x 1 pixels a bin, from 0.5 on: middles 1.5, 3.5 and 1. */
static void averages_are_middles(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    for (int k = 0; k < 4; k++) {
        for (int ratio = 0; ratio < 3; ratio++) {
            struct op_test t;
            picture(&t, "RoiAlign", 22, types[k]);
            op_int(&t, "output_height", 2);
            op_int(&t, "output_width", 2);
            op_int(&t, "sampling_ratio", ratio);
            op_in(&t, types[k], OP_DIMS(2, 4), OP_VALUES(1, 1, 5, 3, 1, 1, 5, 3));
            op_in(&t, SC_I64, OP_DIMS(2), OP_VALUES(0, 1));
            op_passes(&t, 1);
            op_gives(&t, 0, types[k], OP_DIMS(2, 1, 2, 2),
                OP_VALUES(11.5, 13.5, 21.5, 23.5, 111.5, 113.5, 121.5, 123.5), types[k] == SC_BF16 ? 0.01 : 1e-3);
            op_close(&t);
        }
    }
}

/* Before version 16 nothing is moved by half a pixel, and a region has at least one pixel. */
static void old_regions_are_not_moved(void **state)
{
    (void)state;
    struct op_test t;
    picture(&t, "RoiAlign", 10, SC_F32);
    op_float(&t, "spatial_scale", 0.5F);
    op_in(&t, SC_F32, OP_DIMS(2, 4), OP_VALUES(2, 2, 6, 6, 4, 4, 4, 4));
    op_in(&t, SC_I64, OP_DIMS(2), OP_VALUES(0, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 1, 1, 1), OP_VALUES(22, 27.5), 1e-6);
    op_close(&t);
}

/* A region of a million pixels, of which the picture is a corner: samples off it are zeros. */
static void samples_outside_are_zeros(void **state)
{
    (void)state;
    struct op_test t;
    picture(&t, "RoiAlign", 22, SC_F64);
    op_in(&t, SC_F64, OP_DIMS(3, 4), OP_VALUES(100, 100, 104, 104, 0, 0, 1e9, 1e9, NAN, 0, 1, 1));
    op_in(&t, SC_I64, OP_DIMS(3), OP_VALUES(0, 0, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(3, 1, 1, 1), OP_VALUES(0, 0, 0), 1e-9);
    op_close(&t);
}

/* One sample a bin, at 1.5 and 2: the larger of 0.5 * 21 and 0.5 * 22. */
static void the_largest_is_of_weighed_pixels(void **state)
{
    (void)state;
    struct op_test t;
    picture(&t, "RoiAlign", 16, SC_F32);
    op_text(&t, "mode", "max");
    op_int(&t, "sampling_ratio", 1);
    op_in(&t, SC_F32, OP_DIMS(1, 4), OP_VALUES(1.5, 2, 2.5, 3));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 1, 1, 1), OP_VALUES(11), 1e-6);
    op_close(&t);
}

/* One sample of a 6 x 8 plane by the definition: four pixels weighed, as a sum or their largest. */
static double sample(const double *x, double row, double column, bool max)
{
    if (row < -1 || row > HEIGHT || column < -1 || column > WIDTH) {
        return 0;
    }
    row = fmin(fmax(row, 0), HEIGHT - 1);
    column = fmin(fmax(column, 0), WIDTH - 1);
    double sum = 0, most = -INFINITY;
    for (int k = 0; k < 4; k++) {
        const double i = floor(row) + (k > 1), j = floor(column) + k % 2;
        const double weight = (1 - fabs(row - i)) * (1 - fabs(column - j));
        const double value = weight * x[(int)fmin(i, HEIGHT - 1) * WIDTH + (int)fmin(j, WIDTH - 1)];
        sum += value;
        most = fmax(most, value);
    }
    return max ? most : sum;
}

static double bin(const double *x, const double *roi, int i, int j, int ratio, bool max)
{
    const double tall = (roi[3] - roi[1]) / BINS, wide = (roi[2] - roi[0]) / BINS;
    const double n = ratio ? ratio : ceil(tall), m = ratio ? ratio : ceil(wide);
    double sum = 0, most = -INFINITY;
    for (int k = 0; k < n * m; k++) {
        const double row = roi[1] - 0.5 + (i + ((int)(k / m) + 0.5) / n) * tall;
        const double column = roi[0] - 0.5 + (j + (k % (int)m + 0.5) / m) * wide;
        const double value = sample(x, row, column, max);
        sum += value;
        most = fmax(most, value);
    }
    return n < 1 || m < 1 ? 0 : max ? most : sum / (n * m);
}

/* Regions inside, across each border, outside, upside down, of no size; from no sample to many a pixel. */
static void bins_are_what_their_samples_say(void **state)
{
    (void)state;
    enum { N = 8, CHANNELS = 150 };
    static const double rois[N * 4] = {1, 1, 6, 5, -3, -2, 4, 3, 5, 2, 14, 9.5, -40, -40, -30, -30, 6.5, 5, 1, 0.5, 2,
        2, 2, 2, -9, -9, 20, 21, 0.25, 3.75, 7.5, 4};
    static const int ratios[] = {0, 1, 2, 9};
    static double x[CHANNELS * HEIGHT * WIDTH], wanted[N * CHANNELS * BINS * BINS];
    for (int i = 0; i < CHANNELS * HEIGHT * WIDTH; i++) {
        x[i] = (double)((unsigned)i * 2654435761U >> 16 & 255U) / 16 - 8;
    }
    for (int k = 0; k < 24; k++) {
        const int ratio = ratios[k % 4], max = k / 4 % 2;
        const enum sc_type type = k < 8 ? SC_F64 : k < 16 ? SC_F32 : SC_F16;
        for (int i = 0; i < N * CHANNELS * BINS * BINS; i++) {
            const int r = i / (CHANNELS * BINS * BINS), c = i / (BINS * BINS) % CHANNELS;
            const double *plane = x + (ptrdiff_t)c * HEIGHT * WIDTH;
            wanted[i] = bin(plane, rois + (ptrdiff_t)r * 4, i / BINS % BINS, i % BINS, ratio, max);
        }
        struct op_test t;
        op_open(&t, "", "RoiAlign", 22);
        op_text(&t, "mode", max ? "max" : "avg");
        op_int(&t, "output_height", BINS);
        op_int(&t, "output_width", BINS);
        op_int(&t, "sampling_ratio", ratio);
        op_in(&t, type, OP_DIMS(1, CHANNELS, HEIGHT, WIDTH), x);
        op_in(&t, type, OP_DIMS(N, 4), rois);
        op_in(&t, SC_I64, OP_DIMS(N), OP_VALUES(0, 0, 0, 0, 0, 0, 0, 0));
        op_passes(&t, 1);
        op_gives(&t, 0, type, OP_DIMS(N, CHANNELS, BINS, BINS), wanted, k < 8 ? 1e-13 : k < 16 ? 1e-7 : 1e-3);
        op_close(&t);
    }
}

/* Pixels 1 to 4 and 2 to 4: bins of 2 columns, and of 1.5 rows, which share row 3. */
static void regions_are_pooled(void **state)
{
    (void)state;
    struct op_test t;
    picture(&t, "MaxRoiPool", 22, SC_F32);
    op_ints(&t, "pooled_shape", OP_DIMS(2, 2));
    op_float(&t, "spatial_scale", 0.5F);
    op_in(&t, SC_F32, OP_DIMS(2, 5), OP_VALUES(0, 2, 4, 8, 8, 1, 90, 90, 99, 99));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2, 1, 2, 2), OP_VALUES(32, 34, 42, 44, 0, 0, 0, 0), 0);
    op_close(&t);
}

static void threads_share_regions_out(void **state)
{
    (void)state;
    enum { N = 300 };
    static double rois[N * 4], batches[N], wanted[N];
    for (int i = 0; i < N; i++) {
        const double x = i % 5 + 1, y = i % 3 + 1;
        memcpy(rois + (size_t)i * 4, (const double[]){x, y, x + 1, y + 1}, 4 * sizeof *rois);
        batches[i] = i % 2;
        wanted[i] = batches[i] * 100 + 10 * y + x;
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    picture(&t, "RoiAlign", 22, SC_F64);
    t.team = team;
    op_in(&t, SC_F64, OP_DIMS(N, 4), rois);
    op_in(&t, SC_I64, OP_DIMS(N), batches);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(N, 1, 1, 1), wanted, 1e-12);
    op_close(&t);
    sc_team_free(team);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct op_test t;
    picture(&t, "RoiAlign", 22, SC_F32);
    op_in(&t, SC_F32, OP_DIMS(1, 4), OP_VALUES(0, 0, 1, 1));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(2));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (RoiAlign): region 0 is of picture 2, want one in [0, 2)");
    op_close(&t);
    picture(&t, "MaxRoiPool", 1, SC_F32);
    op_ints(&t, "pooled_shape", OP_DIMS(1, 1));
    op_in(&t, SC_F32, OP_DIMS(1, 5), OP_VALUES(-1, 0, 0, 1, 1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (MaxRoiPool): region 0 is of picture -1, want one in [0, 2)");
    op_close(&t);
    picture(&t, "RoiAlign", 22, SC_F32);
    op_in(&t, SC_F32, OP_DIMS(1, 5), OP_VALUES(0, 0, 0, 1, 1));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (RoiAlign): rois has shape [1,5], want [?,4]");
    op_close(&t);
    picture(&t, "RoiAlign", 22, SC_F32);
    op_text(&t, "mode", "sum");
    op_in(&t, SC_F32, OP_DIMS(1, 4), OP_VALUES(0, 0, 1, 1));
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (RoiAlign): mode is 'sum', want avg or max");
    op_close(&t);
    picture(&t, "MaxRoiPool", 22, SC_F32);
    op_ints(&t, "pooled_shape", OP_DIMS(0, 1));
    op_in(&t, SC_F32, OP_DIMS(1, 5), OP_VALUES(0, 0, 0, 1, 1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (MaxRoiPool): regions become 0 x 1 bins, want 1 x 1 or more");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_are_middles),
        cmocka_unit_test(old_regions_are_not_moved),
        cmocka_unit_test(samples_outside_are_zeros),
        cmocka_unit_test(the_largest_is_of_weighed_pixels),
        cmocka_unit_test(bins_are_what_their_samples_say),
        cmocka_unit_test(regions_are_pooled),
        cmocka_unit_test(threads_share_regions_out),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
