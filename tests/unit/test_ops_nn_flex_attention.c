/* SPDX-License-Identifier: Apache-2.0
 * FlexAttention without bodies, against probabilities that are known; the official cases have the bodies. */
#include "op_harness.h"

/* Four heads of Q on two of K; scores are logarithms of 1 and 3 (head 0), of 3 and 1 (head 1), ... times the scale. */
static void heads_share_keys_and_values(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    const double l = log(3);
    for (int k = 0; k < 8; k++) {
        const enum sc_type type = types[k / 2];
        const double loose = type == SC_F64 ? 1e-7 : type == SC_F32 ? 1e-6 : type == SC_F16 ? 2e-3 : 2e-2;
        struct op_test t;
        op_open(&t, "ai.onnx.preview", "FlexAttention", 1);
        op_float(&t, "scale", 0.5F);
        if (k % 2) {
            op_int(&t, "softmax_precision", SC_F64);
        }
        op_in(&t, type, OP_DIMS(1, 4, 1, 1), OP_VALUES(2 * l, -2 * l, 0, 2 * l));
        op_in(&t, type, OP_DIMS(1, 2, 2, 1), OP_VALUES(0, 1, 1, 0));
        op_in(&t, type, OP_DIMS(1, 2, 2, 2), OP_VALUES(4, 8, 0, 4, 40, 80, 0, 40));
        op_passes(&t, 1);
        op_gives(&t, 0, type, OP_DIMS(1, 4, 1, 2), OP_VALUES(1, 5, 3, 7, 20, 60, 30, 70), loose);
        op_close(&t);
    }
}

/* A score of 2 * 2 * d / sqrt(d) with the default scale; two keys that differ by it. */
static void the_scale_is_of_the_width(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "ai.onnx.preview", "FlexAttention", 1);
    op_in(&t, SC_F64, OP_DIMS(1, 1, 1, 4), OP_VALUES(0.5, 0.5, 0.5, 0.5));
    op_in(&t, SC_F64, OP_DIMS(1, 1, 2, 4), OP_VALUES(1, 1, 1, 1, 0, 0, 0, 0));
    op_in(&t, SC_F64, OP_DIMS(1, 1, 2, 1), OP_VALUES(1, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(1, 1, 1, 1), OP_VALUES(exp(1) / (exp(1) + 1)), 1e-14);
    op_close(&t);
}

static void threads_share_rows_out(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    static double q[ROWS], wanted[ROWS];
    for (int i = 0; i < ROWS; i++) {
        q[i] = (double)i / ROWS;
        wanted[i] = 1 / (1 + exp(-q[i]));
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "ai.onnx.preview", "FlexAttention", 1);
    t.team = team;
    op_in(&t, SC_F64, OP_DIMS(1, 1, ROWS, 1), q);
    op_in(&t, SC_F64, OP_DIMS(1, 1, 2, 1), OP_VALUES(1, 0));
    op_in(&t, SC_F64, OP_DIMS(1, 1, 2, 1), OP_VALUES(1, 0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(1, 1, ROWS, 1), wanted, 1e-14);
    op_close(&t);
    sc_team_free(team);
}

static void fails(int64_t kv_heads, int64_t width, int64_t v_length, const char *text)
{
    static double x[64];
    struct op_test t;
    op_open(&t, "ai.onnx.preview", "FlexAttention", 1);
    op_in(&t, SC_F32, OP_DIMS(1, 4, 2, 3), x);
    op_in(&t, SC_F32, OP_DIMS(1, kv_heads, 2, width), x);
    op_in(&t, SC_F32, OP_DIMS(1, kv_heads, v_length, 1), x);
    op_fails(&t, 1, SC_BAD_INPUT, text);
    op_close(&t);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    fails(3, 3, 2, "node 'n' (FlexAttention): 4 heads of Q do not share 3 heads of K");
    fails(2, 2, 2, "node 'n' (FlexAttention): K has shape [1,2,2,2], want [1,?,?,3]");
    fails(2, 3, 3, "node 'n' (FlexAttention): V has shape [1,2,3,1], want [1,2,2,?]");
    struct op_test t;
    op_open(&t, "ai.onnx.preview", "FlexAttention", 1);
    op_int(&t, "softmax_precision", SC_I32);
    for (int i = 0; i < 3; i++) {
        op_in(&t, SC_F32, OP_DIMS(1, 1, 1, 1), OP_VALUES(1));
    }
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (FlexAttention): softmax_precision is 6, want the number of a float type");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_share_keys_and_values),
        cmocka_unit_test(the_scale_is_of_the_width),
        cmocka_unit_test(threads_share_rows_out),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
