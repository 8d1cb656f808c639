/* SPDX-License-Identifier: Apache-2.0
 * DeformConv against a convolution whose points are interpolated term by term. */
#include "op_harness.h"

/* So many positions and channels that the work is done piece by piece. */
enum { N = 2, C = 200, IN = 230, OUT_C = 6, K = 3, GROUPS = 2, OFFSET_GROUPS = 2, STRIDE = 2, DILATION = 2, PAD = 1 };
enum { OUT = (IN + 2 * PAD - DILATION * (K - 1) - 1) / STRIDE + 1 };

static double x[N * C * IN], w[OUT_C * C / GROUPS * K], offset[N * OFFSET_GROUPS * K * OUT], bias[OUT_C];
static double mask[N * OFFSET_GROUPS * K * OUT];

static double at(int n, int c, double p)
{
    const double low = floor(p), share = p - low;
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        const double i = low + k;
        sum += i >= 0 && i < IN ? (k ? share : 1 - share) * x[(n * C + c) * IN + (int)i] : 0;
    }
    return sum;
}

static double point(int n, int oc, int o, bool masked)
{
    const int channels = C / GROUPS;
    double sum = 0;
    for (int i = 0; i < channels; i++) {
        const int c = oc / (OUT_C / GROUPS) * channels + i, og = c / (C / OFFSET_GROUPS);
        for (int k = 0; k < K; k++) {
            const int row = ((n * OFFSET_GROUPS + og) * K + k) * OUT + o;
            const double value = at(n, c, o * STRIDE - PAD + k * DILATION + offset[row]);
            sum += w[(oc * channels + i) * K + k] * value * (masked ? mask[row] : 1);
        }
    }
    return sum + (masked ? bias[oc] : 0);
}

/* Quarters, so that a term of a sum is a multiple of 1/256, and 300 of them are exact in f32. */
static double drawn(unsigned i, unsigned salt)
{
    return (double)((i * 2654435761U + salt * 40503U) >> 16 & 15U) / 4 - 2;
}

static void fill(void)
{
    for (unsigned i = 0; i < sizeof x / sizeof x[0]; i++) {
        x[i] = drawn(i, 1);
    }
    for (unsigned i = 0; i < sizeof w / sizeof w[0]; i++) {
        w[i] = drawn(i, 2);
    }
    for (unsigned i = 0; i < sizeof mask / sizeof mask[0]; i++) {
        offset[i] = drawn(i, 3) * 2;
        mask[i] = drawn(i, 4);
    }
    for (unsigned i = 0; i < OUT_C; i++) {
        bias[i] = drawn(i, 5);
    }
}

static void open_conv(struct op_test *t, enum sc_type type)
{
    op_open(t, "", "DeformConv", 22);
    op_int(t, "group", GROUPS);
    op_int(t, "offset_group", OFFSET_GROUPS);
    op_ints(t, "strides", OP_DIMS(STRIDE));
    op_ints(t, "dilations", OP_DIMS(DILATION));
    op_ints(t, "pads", OP_DIMS(PAD, PAD));
    op_in(t, type, OP_DIMS(N, C, IN), x);
    op_in(t, type, OP_DIMS(OUT_C, C / GROUPS, K), w);
    op_in(t, type, OP_DIMS(N, OFFSET_GROUPS * K, OUT), offset);
}

/* Along one axis, with groups, offset groups, strides, dilations and pads. */
static void points_are_moved_and_weighed(void **state)
{
    (void)state;
    static double wanted[N * OUT_C * OUT];
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    fill();
    static const enum sc_type types[] = {SC_F64, SC_F32, SC_F16, SC_BF16};
    for (int way = 0; way < 8; way++) {
        const enum sc_type type = types[way / 2];
        for (int i = 0; i < N * OUT_C * OUT; i++) {
            wanted[i] = point(i / (OUT_C * OUT), i / OUT % OUT_C, i % OUT, way % 2);
        }
        struct op_test t;
        open_conv(&t, type);
        t.team = team;
        if (way % 2) {
            op_in(&t, type, OP_DIMS(OUT_C), bias);
            op_in(&t, type, OP_DIMS(N, OFFSET_GROUPS * K, OUT), mask);
        }
        op_passes(&t, 1);
        op_gives(&t, 0, type, OP_DIMS(N, OUT_C, OUT), wanted, type == SC_F16 ? 0x1p-11 : type == SC_BF16 ? 0x1p-8 : 0);
        op_close(&t);
    }
    sc_team_free(team);
}

/* In a picture the offset of rows comes before that of columns: one pixel down, then one to the right. */
static void rows_come_before_columns(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16};
    for (int k = 0; k < 2; k++) {
        struct op_test t;
        op_open(&t, "", "DeformConv", k ? 22 : 19);
        op_in(&t, types[k], OP_DIMS(1, 1, 2, 2), OP_VALUES(1, 2, 3, 4));
        op_in(&t, types[k], OP_DIMS(1, 1, 1, 1), OP_VALUES(10));
        op_in(&t, types[k], OP_DIMS(1, 2, 2, 2), OP_VALUES(1, 0, 0, 0.5, 0, -1, 1, 0));
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(1, 1, 2, 2), OP_VALUES(30, 10, 40, 20), 0);
        op_close(&t);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct op_test t;
    open_conv(&t, SC_F32);
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (DeformConv): B has shape [1], want [6]");
    op_close(&t);
    op_open(&t, "", "DeformConv", 22);
    op_int(&t, "group", 3);
    op_in(&t, SC_F32, OP_DIMS(N, C, IN), x);
    op_in(&t, SC_F32, OP_DIMS(OUT_C, 2, K), w);
    op_in(&t, SC_F32, OP_DIMS(N, 3, 7), x);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (DeformConv): 200 channels cannot be in 3 groups and 1 offset groups");
    op_close(&t);
    op_open(&t, "", "DeformConv", 22);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 4), x);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 2), w);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 4), x);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (DeformConv): offset has shape [1,2,4], want [1,2,3]");
    op_close(&t);
    op_open(&t, "", "DeformConv", 22);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 4), x);
    op_in(&t, SC_F32, OP_DIMS(1, 1, 2), w);
    op_in(&t, SC_F32, OP_DIMS(1, 2, 3), x);
    op_fails(
        &t, 1, SC_BAD_INPUT, "node 'n' (DeformConv): W has shape [1,1,2], which 2 channels in 1 groups do not fit");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_moved_and_weighed),
        cmocka_unit_test(rows_come_before_columns),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
