/* SPDX-License-Identifier: Apache-2.0
 * The losses against the examples of their clauses and sums worked out by hand. */
#include "op_harness.h"

/* Scores [2,3,2] and targets of the clause's examples: losses are [-3,-2,0,-2]. */
static void open_example(struct op_test *t, enum sc_type type, const char *reduction)
{
    op_open(t, "", "NegativeLogLikelihoodLoss", 22);
    op_text(t, "reduction", reduction);
    op_in(t, type, OP_DIMS(2, 3, 2), OP_VALUES(1, 2, 2, 2, 3, 2, 0, 1, 2, 2, 1, 2));
    op_in(t, SC_I64, OP_DIMS(2, 2), OP_VALUES(2, 1, 0, 2));
}

static void the_examples_of_the_clause_hold(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        struct op_test t;
        const double loose = types[k] == SC_BF16 ? 0.01 : types[k] == SC_F16 ? 1e-3 : 1e-7;
        open_example(&t, types[k], "none");
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_DIMS(2, 2), OP_VALUES(-3, -2, 0, -2), 0);
        op_close(&t);
        open_example(&t, types[k], "sum");
        op_in(&t, types[k], OP_DIMS(3), OP_VALUES(0.2, 0.3, 0.1));
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_SCALAR, OP_VALUES(-1.1), loose);
        op_close(&t);
        open_example(&t, types[k], "mean");
        op_in(&t, types[k], OP_DIMS(3), OP_VALUES(0.2, 0.3, 0.1));
        op_passes(&t, 1);
        op_gives(&t, 0, types[k], OP_SCALAR, OP_VALUES(-1.1 / 0.7), loose);
        op_close(&t);
    }
}

/* An ignored sample counts neither in the sum nor among the weights, and may be no class at all. */
static void ignored_samples_do_not_count(void **state)
{
    (void)state;
    struct op_test t;
    for (int weighted = 0; weighted < 2; weighted++) {
        op_open(&t, "", "NegativeLogLikelihoodLoss", 13);
        op_int(&t, "ignore_index", -5);
        op_in(&t, SC_F32, OP_DIMS(3, 2), OP_VALUES(-1, -2, -3, -4, -5, -6));
        op_in(&t, SC_I32, OP_DIMS(3), OP_VALUES(1, -5, 0));
        if (weighted) {
            op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(3, 1));
        }
        op_passes(&t, 1);
        op_gives(&t, 0, SC_F32, OP_SCALAR, weighted ? OP_VALUES((2 + 15) / 4.0) : OP_VALUES((2 + 5) / 2.0), 0);
        op_close(&t);
    }
}

/* Scores are logarithms of 1, 3 and 4 of 8, moved by a large number that must not overflow. */
static void cross_entropy_takes_the_softmax(void **state)
{
    (void)state;
    struct op_test t;
    const double big = 2000;
    op_open(&t, "", "SoftmaxCrossEntropyLoss", 13);
    op_text(&t, "reduction", "none");
    op_in(&t, SC_F64, OP_DIMS(1, 3, 2), OP_VALUES(log(1) + big, log(4), log(3) + big, log(3), log(4) + big, log(1)));
    op_in(&t, SC_I64, OP_DIMS(1, 2), OP_VALUES(0, 1));
    op_passes(&t, 2);
    op_gives(&t, 0, SC_F64, OP_DIMS(1, 2), OP_VALUES(log(8), log(8.0 / 3)), 1e-12);
    op_gives(&t, 1, SC_F64, OP_DIMS(1, 3, 2),
        OP_VALUES(log(1 / 8.0), log(0.5), log(3 / 8.0), log(3 / 8.0), log(0.5), log(1 / 8.0)), 1e-12);
    op_close(&t);
}

/* Classes side by side or apart, more of them than are read at a time; the class of sample 0 is nearly certain. */
static void classes_of_every_type_are_summed(void **state)
{
    (void)state;
    enum { CLASSES = 700, MOST = 6 };
    static const struct {
        enum sc_type type;
        double tolerance, relative;
    } types[] = {{SC_F64, 1e-12, 1e-7}, {SC_F32, 1e-6, 1e-5}, {SC_F16, 1e-3, 2e-2}, {SC_BF16, 8e-3, 1e-2}};
    static double x[MOST * CLASSES], losses[MOST], log_prob[MOST * CLASSES];
    for (int k = 0; k < 8; k++) {
        const int inner = k / 4 ? 3 : 1, samples = 2 * inner;
        double target[MOST];
        for (int s = 0; s < samples; s++) {
            double sum = 0;
            const int at = s / inner * CLASSES * inner + s % inner;
            target[s] = s * 100;
            for (int c = 0; c < CLASSES; c++) {
                double *score = &x[at + c * inner];
                *score = s == 0 ? (c == 0 ? 16 : 0) : (double)((c * 37 + s) % 64 - 32) / 8;
                sum += exp(*score);
            }
            for (int c = 0; c < CLASSES; c++) {
                log_prob[at + c * inner] = x[at + c * inner] - log(sum);
            }
            losses[s] = -log_prob[at + (int)target[s] * inner];
        }
        struct op_test t;
        op_open(&t, "", "SoftmaxCrossEntropyLoss", 13);
        op_text(&t, "reduction", "none");
        op_in(&t, types[k % 4].type, 3, (const int64_t[]){2, CLASSES, inner}, x);
        op_in(&t, SC_I64, 2, (const int64_t[]){2, inner}, target);
        op_passes(&t, 2);
        op_gives(&t, 0, types[k % 4].type, 2, (const int64_t[]){2, inner}, losses, types[k % 4].tolerance);
        op_gives(&t, 1, types[k % 4].type, 3, (const int64_t[]){2, CLASSES, inner}, log_prob, types[k % 4].tolerance);
        const double first = sc_number_at(&t.out[0].u.tensor, 0); /* 699 exp(-16), nearly */
        assert_true(fabs(first - losses[0]) <= types[k % 4].relative * losses[0]);
        op_close(&t);
    }
}

/* Every class has the same score. */
static void threads_share_samples_out(void **state)
{
    (void)state;
    enum { SAMPLES = 300, CLASSES = 700 };
    static double x[SAMPLES * CLASSES], target[SAMPLES];
    for (int s = 0; s < SAMPLES; s++) {
        target[s] = s;
    }
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 3};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    struct op_test t;
    op_open(&t, "", "SoftmaxCrossEntropyLoss", 12);
    op_text(&t, "reduction", "sum");
    t.team = team;
    op_in(&t, SC_F64, OP_DIMS(SAMPLES, CLASSES), x);
    op_in(&t, SC_I64, OP_DIMS(SAMPLES), target);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F64, OP_SCALAR, OP_VALUES(SAMPLES * log(CLASSES)), 1e-12);
    op_close(&t);
    sc_team_free(team);
}

static void no_samples_have_no_mean(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "NegativeLogLikelihoodLoss", 22);
    op_in(&t, SC_F32, OP_DIMS(0, 2), NULL);
    op_in(&t, SC_I64, OP_DIMS(0), NULL);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_F32, OP_SCALAR, OP_VALUES(NAN), 0);
    op_close(&t);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct op_test t;
    open_example(&t, SC_F32, "most");
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (NegativeLogLikelihoodLoss): reduction is 'most', want mean, sum or none");
    op_close(&t);
    open_example(&t, SC_F32, "sum");
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(1, 1));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (NegativeLogLikelihoodLoss): weight has shape [2], want [3]");
    op_close(&t);
    op_open(&t, "", "SoftmaxCrossEntropyLoss", 13);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(0, 0, 0, 0, 0, 0));
    op_in(&t, SC_I64, OP_DIMS(3), OP_VALUES(0, 0, 0));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (SoftmaxCrossEntropyLoss): target has shape [3], want [2]");
    op_close(&t);
    op_open(&t, "", "SoftmaxCrossEntropyLoss", 13);
    op_int(&t, "ignore_index", 4);
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(0, 0, 0, 0, 0, 0));
    op_in(&t, SC_I64, OP_DIMS(2), OP_VALUES(4, 3));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (SoftmaxCrossEntropyLoss): a target is 3, but there are 3 classes");
    op_close(&t);
    op_open(&t, "", "SoftmaxCrossEntropyLoss", 13);
    op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(0, 0));
    op_in(&t, SC_I64, OP_DIMS(2), OP_VALUES(0, 0));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (SoftmaxCrossEntropyLoss): scores have rank 1, want 2 or more");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_clause_hold),
        cmocka_unit_test(ignored_samples_do_not_count),
        cmocka_unit_test(cross_entropy_takes_the_softmax),
        cmocka_unit_test(classes_of_every_type_are_summed),
        cmocka_unit_test(threads_share_samples_out),
        cmocka_unit_test(no_samples_have_no_mean),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
