/* SPDX-License-Identifier: Apache-2.0
 * MoE and QMoE: what keeps rows apart. Their values are held against ONNX Runtime and the page's rule in
 * tests/data/microsoft. */
#include "op_case.h"

#include <math.h>

enum { ROWS = 37, HIDDEN = 32, INTER = 48, EXPERTS = 5, K = 2 };

struct weights {
    float x[ROWS * HIDDEN], router[ROWS * EXPERTS];
    float fc1[EXPERTS * 2 * INTER * HIDDEN], fc2[EXPERTS * HIDDEN * INTER];
    uint8_t codes1[EXPERTS * 2 * INTER * HIDDEN / 2], codes2[EXPERTS * HIDDEN * INTER / 2];
    float scales1[EXPERTS * 2 * INTER], scales2[EXPERTS * HIDDEN];
};

static struct weights w;

struct run {
    bool coded, constant;
    int64_t first, n; /* rows */
    struct sc_team *team;
};

static float draw(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return (float)(*state >> 8) / (float)(1 << 23) - 1;
}

static void fill(float *to, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = draw(&seed);
    }
}

static int set_up(void **state)
{
    (void)state;
    fill(w.x, ROWS * HIDDEN, 1);
    fill(w.router, ROWS * EXPERTS, 2);
    fill(w.fc1, EXPERTS * 2 * INTER * HIDDEN, 3);
    fill(w.fc2, EXPERTS * HIDDEN * INTER, 4);
    fill(w.scales1, EXPERTS * 2 * INTER, 5);
    fill(w.scales2, EXPERTS * HIDDEN, 6);
    for (size_t i = 0; i < sizeof w.codes1; i++) {
        w.codes1[i] = (uint8_t)(i * 89 + i / 256);
        w.codes2[i % sizeof w.codes2] = (uint8_t)(i * 53 + i / 128);
    }
    return 0;
}

static void open(struct op_case *c, const struct run *run)
{
    op_open(c, "com.microsoft", run->coded ? "QMoE" : "MoE", 1, 1);
    op_int(c, "k", K);
    op_text(c, "activation_type", "swiglu");
    op_int(c, "swiglu_fusion", 1);
    op_in(c, SC_F32, w.x + run->first * HIDDEN, DIMS(run->n, HIDDEN));
    op_in(c, SC_F32, w.router + run->first * EXPERTS, DIMS(run->n, EXPERTS));
    if (run->coded) {
        op_in(c, SC_U8, w.codes1, DIMS(EXPERTS, 2 * INTER, HIDDEN / 2));
        op_in(c, SC_F32, w.scales1, DIMS(EXPERTS, 2 * INTER));
        op_in_absent(c);
        op_in(c, SC_U8, w.codes2, DIMS(EXPERTS, HIDDEN, INTER / 2));
        op_in(c, SC_F32, w.scales2, DIMS(EXPERTS, HIDDEN));
    } else {
        op_in(c, SC_F32, w.fc1, DIMS(EXPERTS, 2 * INTER, HIDDEN));
        op_in_absent(c);
        op_in(c, SC_F32, w.fc2, DIMS(EXPERTS, HIDDEN, INTER));
    }
    c->constant[2] = c->constant[3] = c->constant[4] = c->constant[5] = c->constant[6] = run->constant;
    c->team = run->team;
}

static void multiply(const struct run *run, float *y)
{
    struct op_case c;
    open(&c, run);
    assert_int_equal(op_run(&c), SC_OK);
    memcpy(y, op_out(&c, 0), (size_t)(run->n * HIDDEN) * sizeof(float));
    op_close(&c);
}

static void a_row_has_the_bits_that_it_has_alone(void **state)
{
    (void)state;
    for (int coded = 0; coded < 2; coded++) {
        float all[ROWS * HIDDEN], alone[HIDDEN];
        multiply(&(struct run){.coded = coded, .constant = true, .n = ROWS}, all);
        for (int64_t r = 0; r < ROWS; r++) {
            multiply(&(struct run){.coded = coded, .constant = true, .first = r, .n = 1}, alone);
            assert_memory_equal(alone, all + r * HIDDEN, sizeof alone);
        }
    }
}

static void weights_of_a_stage_and_those_of_a_caller_give_the_same_bits(void **state)
{
    (void)state;
    for (int coded = 0; coded < 2; coded++) {
        float packed[ROWS * HIDDEN], plain[ROWS * HIDDEN];
        multiply(&(struct run){.coded = coded, .constant = true, .n = ROWS}, packed);
        multiply(&(struct run){.coded = coded, .n = ROWS}, plain);
        assert_memory_equal(packed, plain, sizeof plain);
    }
}

static void threads_give_the_same_bits(void **state)
{
    (void)state;
    struct sc_team *team;
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = 3}, &team), SC_OK);
    for (int coded = 0; coded < 2; coded++) {
        float one[ROWS * HIDDEN], three[ROWS * HIDDEN];
        multiply(&(struct run){.coded = coded, .constant = true, .n = ROWS}, one);
        multiply(&(struct run){.coded = coded, .constant = true, .n = ROWS, .team = team}, three);
        assert_memory_equal(one, three, sizeof one);
    }
    sc_team_free(team);
}

/* All weights of the last expert are NaN, and it is nobody's choice. */
static void an_expert_that_no_row_chose_is_not_read(void **state)
{
    (void)state;
    for (int coded = 0; coded < 2; coded++) {
        float before[ROWS * HIDDEN], after[ROWS * HIDDEN];
        for (int64_t r = 0; r < ROWS; r++) {
            w.router[r * EXPERTS + EXPERTS - 1] = -9;
        }
        multiply(&(struct run){.coded = coded, .constant = true, .n = ROWS}, before);
        for (int64_t i = 0; i < 2 * INTER * HIDDEN; i++) {
            w.fc1[(EXPERTS - 1) * 2 * INTER * HIDDEN + i] = NAN;
            w.scales1[(EXPERTS - 1) * 2 * INTER + i % (2 * INTER)] = NAN;
        }
        multiply(&(struct run){.coded = coded, .constant = true, .n = ROWS}, after);
        assert_memory_equal(before, after, sizeof after);
        assert_true(isfinite(after[0]));
    }
}

/* Row 0 chooses two, row 1 another two, and row 2 none but these. */
static void as_many_experts_are_counted_as_are_read(void **state)
{
    (void)state;
    static const int chosen[3][K] = {{0, 3}, {1, 4}, {3, 1}};
    static const size_t read[] = {0, 2, 4, 4};
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < K; i++) {
            w.router[r * EXPERTS + chosen[r][i]] = 20;
        }
    }
    for (int coded = 0; coded < 2; coded++) {
        for (int64_t n = 0; n <= 3; n++) {
            struct op_case c;
            open(&c, &(struct run){.coded = coded, .constant = true, .n = n});
            assert_int_equal(op_run(&c), SC_OK);
            assert_true(c.packed_bytes > (size_t)EXPERTS * 3 * INTER * HIDDEN / 2);
            assert_int_equal(c.read_packed_bytes * EXPERTS, c.packed_bytes * read[n]);
            op_close(&c);
        }
    }
}

/* Weights are one half each, of experts 0 and 1: what these two give alone, added. */
static void of_equal_scores_the_lower_experts_are_chosen(void **state)
{
    (void)state;
    float both[HIDDEN], wanted[HIDDEN];
    for (int e = 0; e < EXPERTS; e++) {
        w.router[e] = 0.25F;
    }
    multiply(&(struct run){.n = 1}, both);
    w.router[0] = w.router[1] = 30;
    multiply(&(struct run){.n = 1}, wanted);
    for (int i = 0; i < HIDDEN; i++) {
        assert_float_equal(both[i], wanted[i] * 2 / EXPERTS, 1e-4); /* not normalised: a fifth instead of a half */
    }
}

static void a_score_that_is_no_number_stays_in_its_row(void **state)
{
    (void)state;
    float all[2 * HIDDEN], alone[HIDDEN];
    multiply(&(struct run){.first = 1, .n = 1}, alone);
    w.router[0] = NAN;
    multiply(&(struct run){.n = 2}, all);
    assert_true(isnan(all[0]));
    assert_memory_equal(alone, all + HIDDEN, sizeof alone);
}

/* By k experts a row; of two rows that choose two of five each, the second is expected to share four fifths of one. */
static void a_row_costs_what_its_experts_cost(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, ROWS};
    static const double expected[] = {2, 3.2, 5};
    for (int i = 0; i < 3; i++) {
        const int64_t rows = counts[i];
        struct op_case c;
        struct sc_fact facts[5];
        const struct sc_fact *in[5] = {NULL};
        void *params;
        struct sc_cost cost = {0};
        open(&c, &(struct run){.n = rows});
        for (int p = 0; p < 5; p++) {
            if (!c.absent[p]) {
                sc_fact_of(&facts[p], &c.in[p]);
                in[p] = &facts[p];
            }
        }
        assert_int_equal(c.op->params(&c.graph, &c.node, &c.arena, &params), SC_OK);
        const struct sc_infer infer = {.graph = &c.graph, .node = &c.node, .params = params, .n_in = 5, .in = in};
        c.op->cost(&infer, &cost);
        const double expert = 3 * INTER * HIDDEN;
        assert_true(cost.operations == 2 * expert * (double)(rows * K));
        const double weights = cost.read_bytes / 4 - (double)rows * (HIDDEN + EXPERTS);
        assert_true(fabs(weights / expert - expected[i]) < 1e-6); /* 37 rows miss one of all with 0.6^37 */
        op_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_row_has_the_bits_that_it_has_alone, set_up),
        cmocka_unit_test_setup(weights_of_a_stage_and_those_of_a_caller_give_the_same_bits, set_up),
        cmocka_unit_test_setup(threads_give_the_same_bits, set_up),
        cmocka_unit_test_setup(an_expert_that_no_row_chose_is_not_read, set_up),
        cmocka_unit_test_setup(as_many_experts_are_counted_as_are_read, set_up),
        cmocka_unit_test_setup(of_equal_scores_the_lower_experts_are_chosen, set_up),
        cmocka_unit_test_setup(a_score_that_is_no_number_stays_in_its_row, set_up),
        cmocka_unit_test_setup(a_row_costs_what_its_experts_cost, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
