/* SPDX-License-Identifier: Apache-2.0
 * Normalisations over chosen axes against their definition, for every way in which a group can lie in memory. */
#include "op_harness.h"

enum { MOST = 4000, RANK = 4 };

/* The group of element i: its place along the axes that are kept. */
static int64_t group_of(const int64_t *dims, unsigned normalised, int64_t i)
{
    int64_t group = 0, step = 1;
    for (int d = RANK - 1; d >= 0; d--) {
        if (!(normalised >> d & 1)) {
            group += i % dims[d] * step;
            step *= dims[d];
        }
        i /= dims[d];
    }
    return group;
}

/* As the clauses have it: p is 1 or 2, or 0 for (x - mean) / (deviation + 1e-9). */
static void define(const double *x, const int64_t *dims, int64_t n, unsigned normalised, int p, double *y)
{
    static double sum[MOST], squares[MOST], sizes[MOST], count[MOST];
    for (int64_t i = 0; i < MOST; i++) {
        sum[i] = squares[i] = sizes[i] = count[i] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = group_of(dims, normalised, i);
        sum[g] += x[i];
        squares[g] += x[i] * x[i];
        sizes[g] += fabs(x[i]);
        count[g]++;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = group_of(dims, normalised, i);
        const double mean = sum[g] / count[g], variance = squares[g] / count[g] - mean * mean;
        y[i] = p == 0 ? (x[i] - mean) / (sqrt(variance) + 1e-9) : x[i] / (p == 1 ? sizes[g] : sqrt(squares[g]));
    }
}

static void check_norm(enum sc_type type, const int64_t *dims, unsigned normalised, int p, double tolerance)
{
    static double x[MOST], wanted[MOST];
    int64_t n = 1, axes[RANK], axis = 0;
    struct op_test t;
    int n_axes = 0;
    for (int d = 0; d < RANK; d++) {
        n *= dims[d];
        if (normalised >> d & 1) {
            axes[n_axes++] = axis = d;
        }
    }
    assert_true(n <= MOST);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (double)((i * 37 + i / 7) % 64 - 20) / 8; /* exact in 16 bits */
    }
    define(x, dims, n, normalised, p, wanted);
    op_open(&t, "", p == 0 ? "MeanVarianceNormalization" : "LpNormalization", p == 0 ? 13 : 22);
    if (p == 0) {
        op_ints(&t, "axes", n_axes, axes);
    } else {
        op_int(&t, "p", p);
        op_int(&t, "axis", axis);
    }
    op_in(&t, type, RANK, dims, x);
    op_passes(&t, 1);
    op_gives(&t, 0, type, RANK, dims, wanted, tolerance);
    op_close(&t);
}

/* Rows longer than a tile and not, within a group and across groups. */
static const int64_t shapes[][RANK] = {{2, 3, 2, 300}, {3, 2, 5, 7}, {2, 3, 300, 1}, {1, 300, 3, 4}, {1, 1, 1, 1}};

static void mean_and_variance_are_over_any_axes(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (unsigned normalised = 1; normalised < 16; normalised++) {
            check_norm(SC_F32, shapes[s], normalised, 0, 1e-6);
            check_norm(SC_F64, shapes[s], normalised, 0, 1e-12);
        }
        check_norm(SC_F16, shapes[s], 13, 0, 1e-3);
        check_norm(SC_BF16, shapes[s], 13, 0, 8e-3);
    }
}

static void norms_are_over_one_axis(void **state)
{
    (void)state;
    for (size_t s = 0; s + 1 < sizeof shapes / sizeof shapes[0]; s++) {
        for (int d = 0; d < 2 * RANK; d++) {
            if (shapes[s][d % RANK] > 2) { /* else a group may be zeros */
                check_norm(SC_F32, shapes[s], 1U << d % RANK, 1 + d / RANK, 1e-6);
                check_norm(SC_F64, shapes[s], 1U << d % RANK, 1 + d / RANK, 1e-12);
                check_norm(SC_F16, shapes[s], 1U << d % RANK, 1 + d / RANK, 1e-3);
            }
        }
    }
}

static void a_group_of_zeros_stays_one(void **state)
{
    (void)state;
    for (int p = 1; p <= 2; p++) {
        struct op_test t;
        op_open(&t, "", "LpNormalization", 1);
        op_int(&t, "p", p);
        op_in(&t, SC_F32, OP_DIMS(2, 2), OP_VALUES(0, 0, 3, 0));
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F32, OP_DIMS(2, 2), OP_VALUES(0, 0, 1, 0), 0);
        op_close(&t);
    }
}

/* Its variance is 0, and no rounding makes it less: the mean of seven tenths need not be a tenth. */
static void a_group_of_equals_becomes_zeros(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "MeanVarianceNormalization", 9);
    op_ints(&t, "axes", OP_DIMS(1));
    op_in(&t, SC_F64, OP_DIMS(1, 7), OP_VALUES(0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1));
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_DIMS(1, 7), OP_VALUES(0, 0, 0, 0, 0, 0, 0), 1e-6);
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_variance_are_over_any_axes),
        cmocka_unit_test(norms_are_over_one_axis),
        cmocka_unit_test(a_group_of_zeros_stays_one),
        cmocka_unit_test(a_group_of_equals_becomes_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
