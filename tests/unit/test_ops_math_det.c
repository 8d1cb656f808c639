/* SPDX-License-Identifier: Apache-2.0
 * Det against determinants worked out by hand. */
#include "op_harness.h"

static void det_holds_for_every_float_type(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    struct op_test t;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        op_open(&t, "", "Det", 22);
        op_in(&t, types[k], OP_DIMS(1, 2, 3, 3), OP_VALUES(2, 0, 1, 1, 3, 2, 1, 1, 4, 0, 1, 0, 0, 0, 1, 1, 0, 0));
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(1, 2), OP_VALUES(18, 1), 1e-15);
        op_close(&t);
    }
}

static void one_matrix_gives_a_scalar(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Det", 11);
    op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(1, 2, 3, 4));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_SCALAR, OP_VALUES(-2), 0);
    op_close(&t);
}

static void zeros_on_the_diagonal_swap_rows(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Det", 22);
    op_in(&t, SC_F32, OP_DIMS(3, 2, 2), OP_VALUES(0, 2, 3, 0, 1, 2, 2, 4, 0, 1, NAN, 1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(3), OP_VALUES(-6, 0, NAN), 0);
    op_close(&t);
}

/* The product of no factors. */
static void a_matrix_of_no_rows_has_the_determinant_1(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Det", 22);
    op_in(&t, SC_F32, OP_DIMS(2, 0, 0), OP_VALUES(0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(2), OP_VALUES(1, 1), 0);
    op_close(&t);
    op_open(&t, "", "Det", 22);
    op_in(&t, SC_F32, OP_DIMS(0, 3, 3), OP_VALUES(0));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_DIMS(0), NULL, 0);
    op_close(&t);
}

static void what_is_no_square_matrix_is_refused(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Det", 22);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(0, 0, 0, 0, 0, 0));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (Det): matrices of 2 rows and 3 columns have no determinant");
    op_close(&t);
    op_open(&t, "", "Det", 22);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(0, 0));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (Det): X has rank 1, want 2 or more");
    op_close(&t);
}

/* Triangular matrices with their rows turned round by one: the determinant is the product of the diagonal, times the
 * sign of that permutation. */
static void threads_share_matrices_out(void **state)
{
    (void)state;
    enum { MATRICES = 700, N = 5 };
    static double x[MATRICES * N * N], wanted[MATRICES];
    for (int m = 0; m < MATRICES; m++) {
        wanted[m] = 1;
        for (int i = 0; i < N; i++) {
            for (int j = i; j < N; j++) {
                x[(m * N + (i + 1) % N) * N + j] = (m * 7 + i * 3 + j) % 11 + 1;
            }
            wanted[m] *= (m * 7 + i * 4) % 11 + 1;
        }
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "", "Det", 22);
    t.team = team;
    op_in(&t, SC_F64, OP_DIMS(MATRICES, N, N), x);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(MATRICES), wanted, 1e-12);
    op_close(&t);
    sc_team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(det_holds_for_every_float_type),
        cmocka_unit_test(one_matrix_gives_a_scalar),
        cmocka_unit_test(zeros_on_the_diagonal_swap_rows),
        cmocka_unit_test(a_matrix_of_no_rows_has_the_determinant_1),
        cmocka_unit_test(what_is_no_square_matrix_is_refused),
        cmocka_unit_test(threads_share_matrices_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
