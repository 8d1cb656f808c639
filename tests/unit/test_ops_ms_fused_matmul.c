/* SPDX-License-Identifier: Apache-2.0
 * FusedMatMul has the bits of MatMul on operands that were turned before. */
#include "op_case.h"

enum { ROWS = 5, INNER = 37, COLUMNS = 19, BATCH = 3 };

static float a[BATCH * ROWS * INNER], b[BATCH * INNER * COLUMNS], turned_a[BATCH * ROWS * INNER],
    turned_b[BATCH * INNER * COLUMNS];

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < BATCH * ROWS * INNER; i++) {
        a[i] = (float)((i * 37) % 101 - 50) / 16;
    }
    for (int i = 0; i < BATCH * INNER * COLUMNS; i++) {
        b[i] = (float)((i * 53) % 103 - 51) / 16;
    }
    for (int m = 0; m < BATCH; m++) {
        for (int k = 0; k < INNER; k++) {
            for (int r = 0; r < ROWS; r++) {
                turned_a[(m * INNER + k) * ROWS + r] = a[(m * ROWS + r) * INNER + k];
            }
            for (int n = 0; n < COLUMNS; n++) { /* the first axis stands before the columns */
                turned_b[(k * BATCH + m) * COLUMNS + n] = b[(m * INNER + k) * COLUMNS + n];
            }
        }
    }
    return 0;
}

static void turned_operands_give_the_bits_of_matmul(void **state)
{
    (void)state;
    for (int constant = 0; constant < 2; constant++) {
        struct op_case plain, fused;
        op_open(&plain, "", "MatMul", 13, 1);
        op_in(&plain, SC_F32, a, DIMS(BATCH, ROWS, INNER));
        op_in(&plain, SC_F32, b, DIMS(BATCH, INNER, COLUMNS));
        op_open(&fused, "com.microsoft", "FusedMatMul", 1, 1);
        op_int(&fused, "transA", 1);
        op_int(&fused, "transBatchB", 1);
        op_in(&fused, SC_F32, turned_a, DIMS(BATCH, INNER, ROWS));
        op_in(&fused, SC_F32, turned_b, DIMS(INNER, BATCH, COLUMNS));
        plain.constant[1] = fused.constant[1] = constant;
        assert_int_equal(op_run(&plain), SC_OK);
        assert_int_equal(op_run(&fused), SC_OK);
        op_expect_dims(&fused, 0, DIMS(BATCH, ROWS, COLUMNS));
        assert_memory_equal(op_out(&fused, 0), op_out(&plain, 0), BATCH * ROWS * COLUMNS * sizeof(float));
        op_close(&plain);
        op_close(&fused);
    }
}

static void alpha_scales_every_result(void **state)
{
    (void)state;
    struct op_case once, scaled;
    struct op_case *const cases[] = {&once, &scaled};
    for (int i = 0; i < 2; i++) {
        op_open(cases[i], "com.microsoft", "FusedMatMul", 1, 1);
        op_float(cases[i], "alpha", i == 0 ? 1.0F : -0.5F);
        op_in(cases[i], SC_F32, a, DIMS(BATCH, ROWS, INNER));
        op_in(cases[i], SC_F32, b, DIMS(BATCH, INNER, COLUMNS));
        assert_int_equal(op_run(cases[i]), SC_OK);
    }
    const float *x = op_out(&once, 0), *y = op_out(&scaled, 0);
    for (int i = 0; i < BATCH * ROWS * COLUMNS; i++) {
        assert_float_equal(y[i], -0.5F * x[i], 0);
    }
    op_close(&once);
    op_close(&scaled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(turned_operands_give_the_bits_of_matmul, set_up),
        cmocka_unit_test_setup(alpha_scales_every_result, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
