/* SPDX-License-Identifier: Apache-2.0
 * Plans of hand-built models whose operators are not in the table, so that costs are the default ones: bytes in and out
 * (40 a value) and one operation an element (10). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exec/infer.h"
#include "ops/kernels/kernels.h"
#include "partitioner/partition.h"
#include "plan_fixture.h"

static const char *const chain = "a = Foo x;b = Foo a;c = Foo b;d = Foo c;e = Foo d;f = Foo e";

static struct sc_fact facts[FIXTURE_VALUES];

/* 80 bytes at 80 bytes a second: a node with one input and one output takes a second; links are free. */
static struct sc_partition_options simple_options(int n_ranks)
{
    struct sc_partition_options options = sc_partition_options_default(n_ranks);
    options.costs.rates = (struct sc_rates){1e9, 80, 0, 0, 0};
    return options;
}

static enum sc_status partition(
    const struct fixture_model *f, const struct sc_partition_options *options, struct sc_plan **plan)
{
    for (int v = 0; v < f->graph.n_values; v++) {
        facts[v] = f->values[v].fact;
    }
    return sc_partition(&f->model, &f->graph, facts, options, plan);
}

static void equal_chain_is_cut_evenly(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    const struct sc_partition_options options = simple_options(3);
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    static const int want[] = {0, 0, 1, 1, 2, 2};
    assert_int_equal(plan->n_stages, 3);
    assert_memory_equal(plan->stage_of, want, sizeof want);
    assert_int_equal(plan->fingerprint, f.model.fingerprint);
    assert_null(plan->note);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(plan->stages[k].ranks[0], k);
        assert_int_equal(plan->stages[k].n_nodes, 2);
        assert_true(plan->stages[k].seconds == 2);
    }
    assert_true(plan->bound_seconds == 2);
    sc_plan_free(plan);
}

static void arithmetic_or_traffic_whichever_is_longer(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x w1;b = Foo x y");
    struct sc_rates rates = {10, 1e9, 0, 0, 0};
    struct sc_node_cost cost = {0};
    for (int v = 0; v < f.graph.n_values; v++) {
        facts[v] = f.values[v].fact;
    }
    assert_int_equal(sc_node_cost(&f.graph, &f.nodes[0], facts, &rates, NULL, &cost), SC_OK);
    assert_true(cost.seconds == 1); /* 10 elements */
    rates = (struct sc_rates){1e9, 60, 0, 0, 0};
    assert_int_equal(sc_node_cost(&f.graph, &f.nodes[0], facts, &rates, NULL, &cost), SC_OK);
    assert_true(cost.seconds == 2); /* 3 times 40 bytes */
    assert_int_equal(cost.output_bytes, 40);
}

static void a_node_takes_its_time_however_little_it_does(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    struct sc_partition_options options = simple_options(2);
    struct sc_plan *plan = NULL;
    options.costs.rates.node_seconds = 0.5;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_true(plan->stages[0].seconds == 3 * 1.5 && plan->stages[1].seconds == 3 * 1.5);
    sc_plan_free(plan);
}

/* tests/data/graphs/nested_if: y of one Slice, or of Mul, an If (Sub, or Add) and Sub. */
static void an_if_costs_its_longer_branch(void **state)
{
    (void)state;
    struct sc_model *model;
    struct sc_arena arena = {0};
    struct sc_fact *closed;
    const struct sc_kernels *kernels;
    const struct sc_rates rates = {1e30, 40, 0, 0, 100}; /* 10 floats a second */
    assert_int_equal(sc_model_open(SC_SOURCE_DIR "/tests/data/graphs/nested_if/model.onnx", &model), SC_OK);
    const struct sc_graph *graph = model->graph;
    for (int v = 0; v < graph->n_values; v++) {
        facts[v] = graph->values[v].fact;
    }
    facts[graph->inputs[0]].dims[0] = 3;
    assert_int_equal(sc_kernels_best(&kernels), SC_OK);
    assert_int_equal(sc_infer_graph(graph, kernels, &arena, NULL, facts), SC_OK);
    assert_int_equal(sc_facts_closed(graph, facts, &arena, &closed), SC_OK);
    for (int n = 0; n < graph->n_nodes; n++) {
        struct sc_node_cost cost = {0};
        assert_int_equal(sc_node_cost(graph, &graph->nodes[n], closed, &rates, NULL, &cost), SC_OK);
        if (!strcmp(graph->nodes[n].op, "If")) { /* a condition is a byte; how long y is nobody knows: 1 counts */
            const double nodes = 5 * 100, traffic = (1 + 4 + 36 + 1 + 12 + 36 + 36) / 40.0;
            assert_true(fabs(cost.seconds - nodes - traffic) < 1e-9);
        }
    }
    sc_arena_release(&arena);
    sc_model_close(model);
}

static void unknown_dims_count_as_one(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x");
    struct sc_arena arena = {0};
    struct sc_fact *closed = NULL;
    f.values[0].fact.rank = 2;
    f.values[0].fact.dims[0] = -5;
    f.values[0].fact.dims[1] = 6;
    for (int v = 0; v < f.graph.n_values; v++) {
        facts[v] = f.values[v].fact;
    }
    facts[1].rank = -1;
    assert_int_equal(sc_facts_closed(&f.graph, facts, &arena, &closed), SC_OK);
    assert_int_equal(sc_fact_bytes(&closed[0]), 24);
    assert_int_equal(sc_fact_bytes(&closed[1]), 0);
    closed[0].dims[0] = closed[0].dims[1] = INT64_MAX;
    assert_int_equal(sc_fact_bytes(&closed[0]), 1LL << 46);
    sc_arena_release(&arena);
}

static void weight_of_two_stages_counts_in_both(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x w1;b = Foo a w2;c = Foo b w1 w1");
    struct sc_partition_options options = simple_options(2);
    options.exact = true;
    options.n_stages = 2;
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->stages[0].weight_bytes + plan->stages[1].weight_bytes, 120);
    sc_plan_free(plan);
    options.memory = (const int64_t[]){79, 79};
    assert_int_equal(partition(&f, &options, &plan), SC_LIMIT);
    assert_string_equal(sc_error_last()->text,
        "no cut into 2 stages fits into memory: the limit of a stage is 79 bytes, 80 bytes for each would do");
    options.memory = (const int64_t[]){80, 80};
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    sc_plan_free(plan);
}

static void each_rank_has_its_own_memory(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x w1;b = Foo a w2;c = Foo b w1 w1");
    struct sc_partition_options options = simple_options(2);
    options.exact = true;
    options.n_stages = 2;
    options.memory = (const int64_t[]){80, 40};
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_true(plan->stages[0].weight_bytes <= 80 && plan->stages[1].weight_bytes <= 40);
    sc_plan_free(plan);
    options.memory = (const int64_t[]){40, 80};
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_true(plan->stages[0].weight_bytes <= 40 && plan->stages[1].weight_bytes <= 80);
    sc_plan_free(plan);
    options.memory = (const int64_t[]){40, 79};
    assert_int_equal(partition(&f, &options, &plan), SC_LIMIT);
    assert_string_equal(sc_error_last()->text,
        "no cut into 2 stages fits into memory: the limit of a stage is 40 to 79 bytes, 80 bytes for each would do");
}

static void state_counts_as_memory(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    static const int64_t state_bytes[] = {100, 0, 0, 0, 0, 100};
    struct sc_partition_options options = simple_options(2);
    options.costs.state_bytes = state_bytes;
    options.memory = (const int64_t[]){199, 199};
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->stages[0].state_bytes, 100);
    assert_int_equal(plan->stages[1].state_bytes, 100);
    sc_plan_free(plan);
    options.n_stages = 1;
    assert_int_equal(partition(&f, &options, &plan), SC_LIMIT);
}

static void groups_and_nodes_of_one_file_node_stay_together(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    static const int groups[] = {-1, -1, -1, 4, 4, -1};
    int one_origin = 1;
    f.nodes[1].origins = f.nodes[2].origins = &one_origin; /* file node 1 was expanded to nodes 1 and 2 */
    for (int n = 2; n <= 4; n++) {
        struct sc_partition_options options = simple_options(n);
        options.costs.groups = groups;
        options.n_stages = n;
        options.exact = true;
        struct sc_plan *plan = NULL;
        assert_int_equal(partition(&f, &options, &plan), SC_OK);
        assert_int_equal(sc_plan_stage_of(plan, &f.nodes[1]), sc_plan_stage_of(plan, &f.nodes[2]));
        assert_int_equal(plan->stage_of[3], plan->stage_of[4]);
        sc_plan_free(plan);
    }
}

static void removed_nodes_have_no_stage(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    f.nodes[2].dead = true; /* folded into node 3 */
    int origins[] = {2, 3};
    f.nodes[3].origins = origins;
    f.nodes[3].n_origins = 2;
    f.nodes[3].in[0] = f.nodes[2].in[0];
    f.nodes[4].dead = true;
    f.nodes[5].in[0] = f.nodes[4].in[0];
    const struct sc_partition_options options = simple_options(2);
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    static const int want[] = {0, 0, 1, 1, -1, 1};
    assert_memory_equal(plan->stage_of, want, sizeof want);
    sc_plan_free(plan);
}

static void ranks_that_do_not_help_are_spared(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x;b = Foo a y z q r s;c = Foo b"); /* b alone is 3.5 of 5.5 seconds */
    const struct sc_partition_options options = simple_options(8);
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->n_stages, 3);
    assert_string_equal(plan->note, "3 stages instead of 8: more would make the slowest less than 3 % faster");
    sc_plan_free(plan);
    fixture_model(&f, "a = Foo x;b = Foo a y z q r s t u v x2 x3 x4 x5 x6 x7 x8");
    f.nodes[0].n_in = 0; /* a second before, half a per cent of b */
    struct sc_partition_options one = simple_options(2);
    one.costs.rates.link_seconds = 1;
    assert_int_equal(partition(&f, &one, &plan), SC_OK);
    assert_int_equal(plan->n_stages, 1);
    sc_plan_free(plan);
}

static void more_stages_than_ranks_go_in_balanced_runs(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    struct sc_partition_options options = simple_options(2);
    options.n_stages = 6;
    options.exact = true;
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->n_stages, 6);
    for (int k = 0; k < 6; k++) {
        assert_int_equal(plan->stages[k].ranks[0], k / 3);
    }
    sc_plan_free(plan);
}

static void cheap_node_goes_with_its_only_reader(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "k = Foo;a = Foo x;b = Foo a;c = Foo b;d = Foo c k");
    f.values[fixture_value(&f, "k")].fact.dims[0] = 0;
    struct sc_partition_options options = simple_options(2);
    options.costs.rates.link_seconds = 0.1;
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->stage_of[0], plan->stage_of[4]);
    sc_plan_free(plan);
}

static void activations_are_counted_at_their_peak(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x;b = Foo a;c = Foo a;d = Foo b c w1;e = Foo d");
    struct sc_partition_options options = simple_options(1);
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->stages[0].activation_bytes, 120); /* a, b and c; or b, c and d */
    sc_plan_free(plan);
}

static void random_plans_run_forward(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(
        &f, "a = Foo x;b = Foo a;c = Foo x;d = Foo c;e = Foo b d;f = Foo a;g = Foo f e;h = Foo g;i = Foo c h");
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sc_partition_options options = simple_options(1 + (int)(seed % 9));
        options.random = true;
        options.seed = seed;
        struct sc_plan *plan = NULL;
        struct sc_plan_edge *edges = NULL;
        struct sc_arena arena = {0};
        int n_edges = 0;
        assert_int_equal(partition(&f, &options, &plan), SC_OK);
        assert_int_equal(plan->n_stages, options.n_ranks);
        assert_int_equal(sc_plan_edges(plan, &f.graph, NULL, &arena, &n_edges, &edges), SC_OK);
        for (int e = 0; e < n_edges; e++) {
            assert_true(edges[e].to < 0 || edges[e].from < edges[e].to);
        }
        sc_arena_release(&arena);
        sc_plan_free(plan);
    }
}

static void model_without_nodes_gets_one_empty_stage(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x");
    f.nodes[0].dead = true;
    f.graph.outputs[0] = fixture_value(&f, "x");
    const struct sc_partition_options options = simple_options(4);
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->n_stages, 1);
    assert_int_equal(plan->stages[0].n_nodes, 0);
    sc_plan_free(plan);
}

static void latency_takes_one_stage_where_it_fits(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    struct sc_partition_options options = simple_options(3);
    options.latency = true;
    options.costs.rates.link_seconds = 0.5;
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    assert_int_equal(plan->n_stages, 1);
    assert_true(plan->latency);
    assert_string_equal(plan->note, "1 stage instead of 3: more would take longer in all");
    sc_plan_free(plan);
}

/* A step: a, b and c take a second, d reads a weight of 240 bytes and takes 4. A chunk has ten rows where a, b and c
 * are, and d is asked for one of them: 10, 10, 10 and 8.5 seconds. */
static void chunks_are_weighed_beside_steps(void **state)
{
    (void)state;
    static struct fixture_model f;
    static const struct {
        enum sc_plan_aim aim;
        int stage_of[4];
        double bound, step[2], chunk[2];
    } cases[] = {
        {SC_PLAN_FOR_BOTH, {0, 0, 1, 1}, 23.5, {2, 5}, {20, 18.5}},
        {SC_PLAN_FOR_STEPS, {0, 0, 0, 1}, 4, {3, 4}, {30, 8.5}},
        {SC_PLAN_FOR_PROMPTS, {0, 0, 1, 1}, 20, {2, 5}, {20, 18.5}},
    };
    fixture_model(&f, "a = Foo x;b = Foo a;c = Foo b;d = Foo c w1");
    struct sc_fact chunk[FIXTURE_VALUES];
    f.values[fixture_value(&f, "w1")].fact.dims[0] = 60;
    for (int v = 0; v < f.graph.n_values; v++) {
        const bool has_rows = f.values[v].name[0] != 'w' && f.values[v].name[0] != 'd';
        chunk[v] = f.values[v].fact;
        chunk[v].dims[0] *= has_rows ? 10 : 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc_partition_options options = simple_options(2);
        struct sc_plan *plan = NULL;
        options.costs.chunk_facts = chunk;
        options.costs.aim = cases[i].aim;
        assert_int_equal(partition(&f, &options, &plan), SC_OK);
        assert_int_equal(plan->aim, cases[i].aim);
        assert_memory_equal(plan->stage_of, cases[i].stage_of, sizeof cases[i].stage_of);
        assert_true(plan->bound_seconds == cases[i].bound);
        assert_true(sc_plan_slowest(plan) == cases[i].bound);
        for (int k = 0; k < 2; k++) {
            assert_true(plan->stages[k].seconds == cases[i].step[k]);
            assert_true(plan->stages[k].chunk_seconds == cases[i].chunk[k]);
        }
        sc_plan_free(plan);
    }
}

/* 400 bytes that a chunk's cut moves and 40 of a step, each a message. */
static void a_cut_costs_what_both_sizes_move(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x;b = Foo a");
    struct sc_fact chunk[FIXTURE_VALUES];
    struct sc_partition_options options = simple_options(2);
    struct sc_plan *plan = NULL;
    options.exact = true;
    options.n_stages = 2;
    options.costs.rates.link_bytes_per_second = 40;
    options.costs.rates.link_seconds = 0.5;
    options.costs.chunk_facts = chunk;
    for (int v = 0; v < f.graph.n_values; v++) {
        chunk[v] = f.values[v].fact;
        chunk[v].dims[0] *= 10;
    }
    assert_int_equal(partition(&f, &options, &plan), SC_OK);
    for (int k = 0; k < 2; k++) {
        assert_true(plan->stages[k].seconds == 1 + 0.5 + 1);
        assert_true(plan->stages[k].chunk_seconds == 10 + 0.5 + 10);
    }
    assert_true(plan->bound_seconds == 23);
    sc_plan_free(plan);
}

static void impossible_counts_are_refused(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, chain);
    struct sc_partition_options options = simple_options(0);
    struct sc_plan *plan = NULL;
    assert_int_equal(partition(&f, &options, &plan), SC_BAD_USAGE);
    options = simple_options(7);
    options.n_stages = 7;
    options.exact = true;
    assert_int_equal(partition(&f, &options, &plan), SC_BAD_INPUT);
    assert_string_equal(sc_error_last()->text, "7 stages asked for, but the graph can be cut into 6 at most");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_chain_is_cut_evenly),
        cmocka_unit_test(arithmetic_or_traffic_whichever_is_longer),
        cmocka_unit_test(a_node_takes_its_time_however_little_it_does),
        cmocka_unit_test(an_if_costs_its_longer_branch),
        cmocka_unit_test(unknown_dims_count_as_one),
        cmocka_unit_test(weight_of_two_stages_counts_in_both),
        cmocka_unit_test(each_rank_has_its_own_memory),
        cmocka_unit_test(state_counts_as_memory),
        cmocka_unit_test(groups_and_nodes_of_one_file_node_stay_together),
        cmocka_unit_test(removed_nodes_have_no_stage),
        cmocka_unit_test(ranks_that_do_not_help_are_spared),
        cmocka_unit_test(more_stages_than_ranks_go_in_balanced_runs),
        cmocka_unit_test(cheap_node_goes_with_its_only_reader),
        cmocka_unit_test(activations_are_counted_at_their_peak),
        cmocka_unit_test(random_plans_run_forward),
        cmocka_unit_test(model_without_nodes_gets_one_empty_stage),
        cmocka_unit_test(latency_takes_one_stage_where_it_fits),
        cmocka_unit_test(chunks_are_weighed_beside_steps),
        cmocka_unit_test(a_cut_costs_what_both_sizes_move),
        cmocka_unit_test(impossible_counts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
