/* SPDX-License-Identifier: Apache-2.0
 * Col2Im and MaxUnpool: where elements go. */
#include "op_harness.h"

/* Blocks of 1 x 2 of an image of 1 x 3: two blocks, which share the middle. */
static void open_blocks(struct op_test *t, enum sc_type type)
{
    static const int64_t image[] = {1, 3}, block[] = {1, 2};
    op_open(t, "", "Col2Im", 18);
    op_in(t, type, OP_DIMS(2, 2, 2), OP_VALUES(1, 2, 3, 4, 5, 6, 7, 8));
    op_in_raw(t, SC_I64, OP_DIMS(2), image);
    op_in_raw(t, SC_I64, OP_DIMS(2), block);
}

static void blocks_add_up_in_every_type(void **state)
{
    (void)state;
    static const enum sc_type types[] = {
        SC_U8, SC_U16, SC_U32, SC_U64, SC_I8, SC_I16, SC_I32, SC_I64, SC_F16, SC_BF16, SC_F32, SC_F64};
    struct op_test t;
    for (int k = 0; k < 24; k++) {
        open_blocks(&t, types[k / 2]);
        t.known = k % 2;
        op_passes(&t, 1);
        op_gives(&t, 0, types[k / 2], OP_DIMS(2, 1, 1, 3), OP_VALUES(1, 5, 4, 5, 13, 8), 0);
        op_close(&t);
    }
    open_blocks(&t, SC_BOOL);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_BOOL, OP_DIMS(2, 1, 1, 3), OP_VALUES(1, 1, 1, 1, 1, 1), 0);
    op_close(&t);
}

static void complex_numbers_and_wrapping_integers_add_up(void **state)
{
    (void)state;
    static const int64_t shape[] = {1, 1};
    static const float pair[] = {1, 2}, wanted[] = {1, 2};
    static const double doubles[] = {-3, 4};
    static const uint8_t bytes[] = {200, 100}, wrapped[] = {200, 44, 100};
    static const int64_t image[] = {1, 3}, block[] = {1, 2};
    struct op_test t;
    for (int k = 0; k < 2; k++) {
        op_open(&t, "", "Col2Im", 18);
        op_in_raw(&t, k ? SC_C128 : SC_C64, OP_DIMS(1, 1, 1), k ? (const void *)doubles : pair);
        op_in_raw(&t, SC_I64, OP_DIMS(2), shape);
        op_in_raw(&t, SC_I64, OP_DIMS(2), shape);
        op_passes(&t, 1);
        op_gives_raw(&t, 0, k ? SC_C128 : SC_C64, OP_DIMS(1, 1, 1, 1), k ? (const void *)doubles : wanted);
        op_close(&t);
    }
    op_open(&t, "", "Col2Im", 18);
    op_in_raw(&t, SC_U8, OP_DIMS(1, 2, 2), (const uint8_t[]){bytes[0], bytes[1], bytes[1], bytes[1]});
    op_in_raw(&t, SC_I64, OP_DIMS(2), image);
    op_in_raw(&t, SC_I64, OP_DIMS(2), block);
    op_passes(&t, 1);
    op_gives_raw(&t, 0, SC_U8, OP_DIMS(1, 1, 1, 3), (const uint8_t[]){wrapped[0], 200, wrapped[2]});
    op_close(&t);
}

/* Each element is added where the definition says, in one dim: block * stride - pad + entry * dilation. 2 images of 3
 * channels. Sums are exact in every type. */
static void check_places(enum sc_type type, int64_t image, int64_t stride, struct sc_team *team)
{
    enum { ENTRIES = 3, MOST = 2500, DILATION = 3, BEGIN = 4, END = 1 };
    static double x[6 * ENTRIES * (MOST + BEGIN)], wanted[6 * MOST];
    const int64_t entries = ENTRIES, blocks = (image + BEGIN + END - DILATION * (ENTRIES - 1) - 1) / stride + 1;
    memset(wanted, 0, sizeof wanted);
    for (int64_t i = 0; i < 6 * ENTRIES * blocks; i++) {
        const int64_t to = i % blocks * stride - BEGIN + i / blocks % ENTRIES * DILATION;
        x[i] = (double)(i % 37 + 1);
        if (to >= 0 && to < image) {
            wanted[i / (blocks * ENTRIES) * image + to] += x[i];
        }
    }
    struct op_test t;
    op_open(&t, "", "Col2Im", 18);
    t.team = team;
    op_ints(&t, "strides", OP_DIMS(stride));
    op_ints(&t, "dilations", OP_DIMS(DILATION));
    op_ints(&t, "pads", OP_DIMS(BEGIN, END));
    op_in(&t, type, OP_DIMS(2, 3 * ENTRIES, blocks), x);
    op_in_raw(&t, SC_I64, OP_DIMS(1), &image);
    op_in_raw(&t, SC_I64, OP_DIMS(1), &entries);
    op_passes(&t, 1);
    op_gives(&t, 0, type, OP_DIMS(2, 3, image), wanted, 0);
    op_close(&t);
}

/* Rows of 2500 pixels are summed in pieces. */
static void strides_pads_and_dilations_place_blocks(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_F16, SC_BF16, SC_U8, SC_I64};
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    for (int k = 0; k < 6; k++) {
        check_places(types[k], 23, 2, team);
        check_places(types[k], 2500, 1, team);
        check_places(types[k], 2500, 2, team);
    }
    sc_team_free(team);
}

static void col2im_fails(int64_t rows, int64_t columns, int64_t width, const char *text)
{
    static double x[64];
    const int64_t image[] = {1, 3}, block[] = {1, width};
    struct op_test t;
    op_open(&t, "", "Col2Im", 18);
    op_in(&t, SC_F32, OP_DIMS(1, rows, columns), x);
    op_in_raw(&t, SC_I64, OP_DIMS(2), image);
    op_in_raw(&t, SC_I64, OP_DIMS(2), block);
    op_fails(&t, 1, SC_BAD_INPUT, text);
    op_close(&t);
}

static void blocks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    col2im_fails(3, 2, 2, "node 'n' (Col2Im): input has 3 rows, want a multiple of 2");
    col2im_fails(2, 3, 2, "node 'n' (Col2Im): input has shape [1,2,3], want [?,?,2]");
    col2im_fails(2, 2, 0, "node 'n' (Col2Im): blocks of 0 do not fit an image of 3");
    col2im_fails(2, 2, 4, "node 'n' (Col2Im): a window of 4 does not fit 3 padded entries of axis 3");
}

static void open_unpool(struct op_test *t, enum sc_type type, const double *places)
{
    op_open(t, "", "MaxUnpool", 22);
    op_ints(t, "kernel_shape", OP_DIMS(2, 2));
    op_ints(t, "strides", OP_DIMS(2, 2));
    op_in(t, type, OP_DIMS(1, 1, 1, 2), OP_VALUES(5, 6));
    op_in(t, SC_I64, OP_DIMS(1, 1, 1, 2), places);
}

static void elements_go_back_to_their_places(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    static const int64_t larger[] = {1, 1, 3, 5};
    struct op_test t;
    for (int k = 0; k < 8; k++) {
        const enum sc_type type = types[k / 2];
        open_unpool(&t, type, OP_VALUES(5, 2));
        op_passes(&t, 1);
        op_gives(&t, 0, type, OP_DIMS(1, 1, 2, 4), OP_VALUES(0, 0, 6, 0, 0, 5, 0, 0), 0);
        op_close(&t);
        open_unpool(&t, type, OP_VALUES(5, 2));
        t.known = k % 2;
        op_in_raw(&t, SC_I64, OP_DIMS(4), larger);
        op_passes(&t, 1);
        op_gives(&t, 0, type, OP_DIMS(1, 1, 3, 5), OP_VALUES(0, 0, 6, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0), 0);
        op_close(&t);
    }
}

static void places_and_shapes_out_of_range_are_refused(void **state)
{
    (void)state;
    static const int64_t smaller[] = {1, 1, 2, 3};
    struct op_test t;
    open_unpool(&t, SC_F32, OP_VALUES(8, 0));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (MaxUnpool): I has the place 8, want one in [0, 8)");
    op_close(&t);
    open_unpool(&t, SC_F32, OP_VALUES(0, -1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (MaxUnpool): I has the place -1, want one in [0, 8)");
    op_close(&t);
    open_unpool(&t, SC_F32, OP_VALUES(0, 1));
    op_in_raw(&t, SC_I64, OP_DIMS(4), smaller);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (MaxUnpool): output_shape is [1,1,2,3], want [1,1,2,4] or more");
    op_close(&t);
    open_unpool(&t, SC_F32, OP_VALUES(0, 1));
    op_ints(&t, "pads", OP_DIMS(0, 0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (MaxUnpool): 'pads' has 2 entries, want 4");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_add_up_in_every_type),
        cmocka_unit_test(complex_numbers_and_wrapping_integers_add_up),
        cmocka_unit_test(strides_pads_and_dilations_place_blocks),
        cmocka_unit_test(blocks_that_do_not_fit_are_refused),
        cmocka_unit_test(elements_go_back_to_their_places),
        cmocka_unit_test(places_and_shapes_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
