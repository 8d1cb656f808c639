/* SPDX-License-Identifier: Apache-2.0
 * Random operators: their distributions, by moments of many draws, and that a draw depends on its key alone. Bounds are
 * five standard deviations of what is measured; the seeds are fixed. */
#include "op_harness.h"

enum { N = 40000 };

static void moments(const struct op_test *t, double *mean, double *variance)
{
    const struct sc_tensor *out = &t->out[0].u.tensor;
    const int64_t n = sc_tensor_count(out);
    *mean = *variance = 0;
    for (int64_t i = 0; i < n; i++) {
        *mean += sc_number_at(out, i) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        const double d = sc_number_at(out, i) - *mean;
        *variance += d * d / (double)n;
    }
}

static void near(double found, double wanted, double deviation)
{
    if (!(fabs(found - wanted) <= 5 * deviation)) {
        fail_msg("%g, want %g within %g", found, wanted, 5 * deviation);
    }
}

static void uniform_numbers_fill_their_range(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F32, SC_F64, SC_F16, SC_BF16};
    for (int k = 0; k < 4; k++) {
        struct op_test t;
        double mean, variance;
        op_open(&t, "", "RandomUniform", 22);
        op_int(&t, "dtype", types[k]);
        op_float(&t, "low", -2);
        op_float(&t, "high", 4);
        op_ints(&t, "shape", OP_DIMS(2, N / 2));
        op_passes(&t, 1);
        op_has_shape(&t, 0, types[k], OP_DIMS(2, N / 2));
        moments(&t, &mean, &variance);
        near(mean, 1, sqrt(3.0 / N));
        near(variance, 3, sqrt((36.0 * 36 / 80 - 9) / N)); /* fourth moment of a width of 6 is 6^4 / 80 */
        for (int64_t i = 0; i < N; i++) {
            const double x = sc_number_at(&t.out[0].u.tensor, i);
            assert_true(x >= -2 && x <= 4);
        }
        op_close(&t);
    }
}

static void normal_numbers_have_their_moments(void **state)
{
    (void)state;
    struct op_test t;
    double mean, variance;
    op_open(&t, "", "RandomNormal", 1);
    op_float(&t, "mean", 3);
    op_float(&t, "scale", 2);
    op_ints(&t, "shape", OP_DIMS(N));
    op_passes(&t, 1);
    op_has_shape(&t, 0, SC_F32, OP_DIMS(N));
    moments(&t, &mean, &variance);
    near(mean, 3, sqrt(4.0 / N));
    near(variance, 4, sqrt(2 * 16.0 / N));
    int within = 0;
    for (int64_t i = 0; i < N; i++) {
        within += fabs(sc_number_at(&t.out[0].u.tensor, i) - 3) < 2;
    }
    near((double)within / N, 0.682689492, sqrt(0.682689492 * 0.317310508 / N));
    op_close(&t);
}

/* The shape of the input, and its type where none is asked for. */
static void like_takes_shape_and_type_of_its_input(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "RandomNormalLike", 22);
    op_in(&t, SC_F64, OP_DIMS(2, 3), OP_VALUES(0, 0, 0, 0, 0, 0));
    op_passes(&t, 1);
    op_has_shape(&t, 0, SC_F64, OP_DIMS(2, 3));
    op_close(&t);
    op_open(&t, "", "RandomUniformLike", 1);
    op_int(&t, "dtype", SC_F16);
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(7));
    op_passes(&t, 1);
    op_has_shape(&t, 0, SC_F16, OP_DIMS(1));
    op_close(&t);
    op_open(&t, "", "RandomUniformLike", 22);
    op_in(&t, SC_I64, OP_DIMS(1), OP_VALUES(7));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (RandomUniformLike): numbers of type int64 cannot be drawn");
    op_close(&t);
}

static void bernoulli_is_one_as_often_as_asked(void **state)
{
    (void)state;
    static double p[3 * N];
    static const double rates[] = {0.25, 0, 1};
    static const enum sc_type types[] = {SC_BOOL, SC_I8, SC_U64, SC_BF16, SC_F64};
    for (int i = 0; i < 3 * N; i++) {
        p[i] = rates[i / N];
    }
    for (int k = 0; k < 5; k++) {
        struct op_test t;
        int64_t ones[3] = {0};
        op_open(&t, "", "Bernoulli", 15);
        op_int(&t, "dtype", types[k]);
        op_in(&t, SC_F32, OP_DIMS(3, N), p);
        op_passes(&t, 1);
        op_has_shape(&t, 0, types[k], OP_DIMS(3, N));
        for (int64_t i = 0; i < 3 * N; i++) {
            const double x = sc_number_at(&t.out[0].u.tensor, i);
            assert_true(x == 0 || x == 1);
            ones[i / N] += x == 1;
        }
        near((double)ones[0] / N, 0.25, sqrt(0.25 * 0.75 / N));
        assert_int_equal(ones[1], 0);
        assert_int_equal(ones[2], N);
        op_close(&t);
    }
    struct op_test t;
    op_open(&t, "", "Bernoulli", 22);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(0.5, 1.5));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (Bernoulli): a probability is 1.5, want 0 to 1");
    op_close(&t);
}

/* Rows of logarithms of 1, 2, 1 (moved by 1000) and of 0, 1, 3. */
static void outcomes_come_as_often_as_they_weigh(void **state)
{
    (void)state;
    static const double wanted[2][3] = {{0.25, 0.5, 0.25}, {0, 0.25, 0.75}};
    int64_t counts[2][3] = {{0}};
    struct op_test t;
    op_open(&t, "", "Multinomial", 22);
    op_int(&t, "sample_size", N);
    op_int(&t, "dtype", SC_I64);
    op_in(&t, SC_F64, OP_DIMS(2, 3), OP_VALUES(1000, 1000 + log(2), 1000, -INFINITY, 0, log(3)));
    op_passes(&t, 1);
    op_has_shape(&t, 0, SC_I64, OP_DIMS(2, N));
    for (int64_t i = 0; i < 2 * N; i++) {
        counts[i / N][(int)sc_number_at(&t.out[0].u.tensor, i)]++;
    }
    for (int k = 0; k < 6; k++) {
        const double p = wanted[k / 3][k % 3];
        const int count = counts[k / 3][k % 3];
        near((double)count / N, p, sqrt(p * (1 - p) / N));
    }
    op_close(&t);
    op_open(&t, "", "Multinomial", 7);
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(-INFINITY, -INFINITY));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (Multinomial): row 0 has no outcome that can be drawn");
    op_close(&t);
    op_open(&t, "", "Multinomial", 7);
    op_int(&t, "sample_size", 0);
    op_in(&t, SC_F32, OP_DIMS(1, 1), OP_VALUES(0));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (Multinomial): sample_size is 0, want 1 or more");
    op_close(&t);
}

/* The draws of a node with that seed, 0: none; in memory of the test. */
static void draw(float seed, int threads, double *x)
{
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = threads};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "", "RandomNormal", 22);
    t.team = team;
    if (seed != 0) {
        op_float(&t, "seed", seed);
    }
    op_int(&t, "dtype", SC_F64);
    op_ints(&t, "shape", OP_DIMS(N));
    op_passes(&t, 1);
    memcpy(x, t.out[0].u.tensor.data, N * sizeof *x);
    op_close(&t);
    sc_team_free(team);
}

static void draws_depend_on_their_seed_alone(void **state)
{
    (void)state;
    static double x[N], y[N];
    draw(0.5F, 1, x);
    draw(0.5F, 3, y);
    assert_memory_equal(x, y, sizeof x);
    draw(0.75F, 1, y);
    assert_memory_not_equal(x, y, sizeof x);
    draw(0, 1, y);
    assert_memory_not_equal(x, y, sizeof x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_numbers_fill_their_range),
        cmocka_unit_test(normal_numbers_have_their_moments),
        cmocka_unit_test(like_takes_shape_and_type_of_its_input),
        cmocka_unit_test(bernoulli_is_one_as_often_as_asked),
        cmocka_unit_test(outcomes_come_as_often_as_they_weigh),
        cmocka_unit_test(draws_depend_on_their_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
