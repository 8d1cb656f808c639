/* SPDX-License-Identifier: Apache-2.0
 * Adagrad, Adam and Momentum against steps worked out by hand from their clauses, with numbers whose roots are
 * whole. */
#include "op_harness.h"

#define DOMAIN "ai.onnx.preview.training"

static void scalars(struct op_test *t, double rate, int64_t step)
{
    op_in(t, SC_F64, OP_SCALAR, OP_VALUES(rate));
    op_in_raw(t, SC_I64, 1, (const int64_t[]){1}, &step);
}

/* r = 6 / (1 + 2 * 0.5) = 3; G' = 1 * X + G = [3, -4]; H' = [7 + 9, 9 + 16] = [16, 25]; X - 3 * G' / (sqrt(H') + 1) */
static void adagrad_moves_by_its_accumulated_squares(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F64};
    for (int k = 0; k < 2; k++) {
        struct op_test t;
        op_open(&t, DOMAIN, "Adagrad", 1);
        op_float(&t, "norm_coefficient", 1);
        op_float(&t, "decay_factor", 0.5F);
        op_float(&t, "epsilon", 1);
        scalars(&t, 6, 2);
        op_in(&t, types[k], OP_DIMS(2), OP_VALUES(1, 2));
        op_in(&t, types[k], OP_DIMS(2), OP_VALUES(2, -6));
        op_in(&t, types[k], OP_DIMS(2), OP_VALUES(7, 9));
        op_passes(&t, 2);
        op_gives(&t, 0, types[k], OP_DIMS(2), OP_VALUES(1 - 9.0 / 5, 2 + 12.0 / 6), k ? 1e-15 : 1e-7);
        op_gives(&t, 1, types[k], OP_DIMS(2), OP_VALUES(16, 25), 0);
        op_close(&t);
    }
}

/* alpha 0.5, beta 0.75: V' = 0.5 * 2 + 0.5 * 4 = 3; H' = 0.75 * 16 + 0.25 * 16 = 16; at step 2 the rate is
 * 8 * sqrt(1 - 0.5625) / (1 - 0.25), at step 0 it is 8; X' = X - rate * 3 / (4 + 1), then half of it. */
static void adam(int64_t step, double rate)
{
    struct op_test t;
    op_open(&t, DOMAIN, "Adam", 1);
    op_float(&t, "alpha", 0.5F);
    op_float(&t, "beta", 0.75F);
    op_float(&t, "epsilon", 1);
    op_float(&t, "norm_coefficient_post", 0.5F);
    scalars(&t, 8, step);
    op_in(&t, SC_F64, OP_SCALAR, OP_VALUES(20));
    op_in(&t, SC_F64, OP_SCALAR, OP_VALUES(4));
    op_in(&t, SC_F64, OP_SCALAR, OP_VALUES(2));
    op_in(&t, SC_F64, OP_SCALAR, OP_VALUES(16));
    op_passes(&t, 3);
    op_gives(&t, 0, SC_F64, OP_SCALAR, OP_VALUES((20 - rate * 3 / 5) / 2), 1e-15);
    op_gives(&t, 1, SC_F64, OP_SCALAR, OP_VALUES(3), 0);
    op_gives(&t, 2, SC_F64, OP_SCALAR, OP_VALUES(16), 0);
    op_close(&t);
}

static void adam_corrects_its_rate_after_the_first_step(void **state)
{
    (void)state;
    adam(0, 8);
    adam(2, 8 * sqrt(1 - 0.5625) / 0.75);
}

/* Two tensors of two types. V' = 0.5 * V + beta * G, where beta counts as 1 at step 0. */
static void momentum(const char *mode, int64_t step, const double *x, const double *v)
{
    struct op_test t;
    op_open(&t, DOMAIN, "Momentum", 1);
    op_float(&t, "alpha", 0.5F);
    op_float(&t, "beta", 2);
    op_float(&t, "norm_coefficient", 0);
    op_text(&t, "mode", mode);
    scalars(&t, 0.5, step);
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(1, 2));
    op_in(&t, SC_F64, OP_DIMS(1), OP_VALUES(10));
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(4, 8));
    op_in(&t, SC_F64, OP_DIMS(1), OP_VALUES(6));
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(2, 4));
    op_in(&t, SC_F64, OP_DIMS(1), OP_VALUES(-2));
    op_passes(&t, 4);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 2), x, 0);
    op_gives(&t, 1, SC_F64, OP_DIMS(1), x + 2, 0);
    op_gives(&t, 2, SC_F32, OP_DIMS(1, 2), v, 0);
    op_gives(&t, 3, SC_F64, OP_DIMS(1), v + 2, 0);
    op_close(&t);
}

static void momentum_has_two_modes(void **state)
{
    (void)state;
    momentum("standard", 1, OP_VALUES(1 - 9 / 2.0, 2 - 18 / 2.0, 10 - 11 / 2.0), OP_VALUES(9, 18, 11));
    momentum("standard", 0, OP_VALUES(1 - 5 / 2.0, 2 - 10 / 2.0, 10 - 5 / 2.0), OP_VALUES(5, 10, 5));
    momentum("nesterov", 1, OP_VALUES(1 - 8.5 / 2, 2 - 17 / 2.0, 10 - 11.5 / 2), OP_VALUES(9, 18, 11));
}

/* More elements than a part has; every element is that of the first case. */
static void threads_share_elements_out(void **state)
{
    (void)state;
    enum { N = 10001 };
    static double x[N], g[N], h[N], wanted[N];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        g[i] = i % 2 ? 3 : -4;
        h[i] = i % 2 ? 7 : 9;
        wanted[i] = i % 2 ? i - 3 / 5.0 : i + 4 / 6.0;
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, DOMAIN, "Adagrad", 1);
    op_float(&t, "epsilon", 1);
    t.team = team;
    scalars(&t, 1, 0);
    op_in(&t, SC_F64, OP_DIMS(N), x);
    op_in(&t, SC_F64, OP_DIMS(N), g);
    op_in(&t, SC_F64, OP_DIMS(N), h);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(N), wanted, 1e-15);
    op_close(&t);
    sc_team_free(team);
}

static void lists_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, DOMAIN, "Adagrad", 1);
    scalars(&t, 1, 0);
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL,
        "node 'n' (Adagrad): has 2 inputs after R and T and 1 outputs, want 3 and 2 for each tensor");
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(1, 1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (Adagrad): a state has shape [2], want [1]");
    op_close(&t);
    op_open(&t, DOMAIN, "Adagrad", 1);
    scalars(&t, 1, 0);
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_in(&t, SC_F64, OP_DIMS(1), OP_VALUES(1));
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Adagrad): a gradient has type double, want float as its value");
    op_close(&t);
    op_open(&t, DOMAIN, "Adam", 1);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(1, 1));
    op_in(&t, SC_I64, OP_SCALAR, OP_VALUES(1));
    for (int i = 0; i < 4; i++) {
        op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    }
    op_fails(&t, 3, SC_BAD_INPUT, "node 'n' (Adam): R has 2 elements, want 1");
    op_close(&t);
    op_open(&t, DOMAIN, "Momentum", 1);
    op_float(&t, "alpha", 0.5F);
    op_float(&t, "beta", 2);
    op_float(&t, "norm_coefficient", 0);
    op_text(&t, "mode", "fast");
    scalars(&t, 1, 0);
    op_in(&t, SC_F32, OP_DIMS(1), OP_VALUES(1));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Momentum): mode is 'fast', want standard or nesterov");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adagrad_moves_by_its_accumulated_squares),
        cmocka_unit_test(adam_corrects_its_rate_after_the_first_step),
        cmocka_unit_test(momentum_has_two_modes),
        cmocka_unit_test(threads_share_elements_out),
        cmocka_unit_test(lists_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
