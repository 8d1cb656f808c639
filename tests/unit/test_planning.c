/* SPDX-License-Identifier: Apache-2.0
 * Claims about plans of models with states. */
#include <math.h>

#include "decode/feeds.h"
#include "decode/last_row.h"
#include "decode/pairs.h"
#include "graph_case.h"
#include "decode/rewrite.h"
#include "runtime/part.h"
#include "runtime/planning.h"
#include "union_case.h"

#define SHAKESPEARE SC_SOURCE_DIR "/examples/shakespeare"

struct fixture {
    struct sc_model *model;
    struct sc_arena arena;
    struct sc_state_pair *pairs;
    struct sc_planning planning;
    bool *is_state;
    struct sc_fact *facts;
    struct sc_plan *plan;
};

static void open_fixture(struct fixture *f, const char *path, int n_stages)
{
    memset(f, 0, sizeof *f);
    assert_ok(sc_model_open(path, &f->model));
    assert_ok(sc_pairs_find(f->model, &f->planning.n_pairs, &f->pairs));
    f->planning.pairs = f->pairs;
    f->planning.n_ranks = n_stages;
    f->planning.n_stages = n_stages;
    f->planning.n_slots = 1;
    f->planning.context = 100;
    assert_ok(sc_kernels_best(&f->planning.kernels));
    assert_ok(sc_planning_mark_states(f->model, f->planning.n_pairs, f->pairs, &f->arena, &f->is_state));
    assert_ok(sc_passes_run(f->model, f->planning.kernels));
}

static void make(struct fixture *f)
{
    sc_plan_free(f->plan);
    f->plan = NULL;
    assert_ok(sc_planning_make(f->model, &f->planning, f->is_state, &f->arena, &f->facts, &f->plan));
}

static void close_fixture(struct fixture *f)
{
    sc_plan_free(f->plan);
    sc_model_close(f->model);
    sc_arena_release(&f->arena);
}

static int stage_of(const struct fixture *f, int value)
{
    const struct sc_graph *graph = f->model->graph;
    return sc_plan_stage_of(f->plan, &graph->nodes[graph->values[value].producer]);
}

static void states_are_marked_with_what_continues_them(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 2);
    int n = 0;
    for (int v = 0; v < f.model->graph->n_values; v++) {
        n += f.is_state[v];
    }
    assert_int_equal(f.planning.n_pairs, 12);
    assert_int_equal(n, 24);
    const struct sc_fact *past = &f.model->graph->values[f.pairs[0].in].fact;
    assert_int_equal(past->kind, SC_KIND_STATE);
    assert_int_equal(past->dims[1], 3);
    assert_int_equal(past->dims[3], 32);
    close_fixture(&f);
}

/* Both caches of a layer are where its Attention is, whatever the cut. */
static void a_cut_never_parts_a_state_from_its_operator(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 6);
    for (int seed = -1; seed < 30; seed++) {
        f.planning.random = seed >= 0;
        f.planning.random_seed = (uint64_t)(seed < 0 ? 0 : seed);
        make(&f);
        assert_int_equal(f.plan->n_stages, 6);
        for (int p = 0; p < f.planning.n_pairs; p++) {
            const struct sc_node *home = &f.model->graph->nodes[f.pairs[p].node];
            assert_int_equal(stage_of(&f, f.pairs[p].out), sc_plan_stage_of(f.plan, home));
        }
    }
    close_fixture(&f);
}

/* The caches of named states: all that reads or continues one is in one stage. */
static void readers_of_dense_states_stay_with_their_makers(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, GRAPHS "pairs_named", 3);
    const struct sc_graph *graph = f.model->graph;
    for (uint64_t seed = 0; seed < 20; seed++) {
        f.planning.random = true;
        f.planning.random_seed = seed;
        make(&f);
        for (int p = 0; p < f.planning.n_pairs; p++) {
            for (int n = 0; n < graph->n_nodes; n++) {
                for (int i = 0; i < graph->nodes[n].n_in && !graph->nodes[n].dead; i++) {
                    if (graph->nodes[n].in[i] == f.pairs[p].in || graph->nodes[n].in[i] == f.pairs[p].out) {
                        assert_int_equal(sc_plan_stage_of(f.plan, &graph->nodes[n]), stage_of(&f, f.pairs[p].out));
                    }
                }
            }
        }
    }
    close_fixture(&f);
}

/* A branch that reads a state is bound to its maker as a node that reads it is. */
static void a_branch_that_reads_a_state_stays_with_its_maker(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, GRAPHS "pairs_captured", 2);
    assert_int_equal(f.planning.n_pairs, 1);
    for (uint64_t seed = 0; seed < 20; seed++) {
        f.planning.random = true;
        f.planning.random_seed = seed;
        make(&f);
        assert_int_equal(f.plan->n_stages, 2);
        assert_int_equal(stage_of(&f, sc_graph_find(f.model->graph, "sum")), stage_of(&f, f.pairs[0].out));
    }
    close_fixture(&f);
}

static void caches_count_for_the_stage_that_keeps_them(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 3);
    int64_t total = 0, wanted = 0;
    f.planning.n_slots = 5;
    make(&f);
    for (int s = 0; s < f.plan->n_stages; s++) {
        int64_t mine = 0;
        for (int p = 0; p < f.planning.n_pairs; p++) {
            mine += stage_of(&f, f.pairs[p].out) == s ? 5 * 2 * 64 * 3 * 32 * 4 : 0; /* 100 positions: two pages */
        }
        assert_int_equal(f.plan->stages[s].state_bytes, mine);
        total += f.plan->stages[s].state_bytes;
    }
    wanted = INT64_C(12) * 5 * 2 * 64 * 3 * 32 * 4;
    assert_int_equal(total, wanted);
    close_fixture(&f);
}

static double whole_seconds(struct fixture *f, int64_t past)
{
    double seconds = 0;
    f->planning.past = past;
    make(f);
    for (int s = 0; s < f->plan->n_stages; s++) {
        seconds += f->plan->stages[s].seconds;
    }
    return seconds;
}

/* Of 6 layers, 3 heads, widths of 32, floats, as fast as memory is read; half of the context where nothing is said. */
static void a_long_past_costs_what_reading_it_takes(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 1);
    f.planning.context = 100000;
    const double layer_bytes = 3 * (32 + 32) * 4, rate = sc_rates_default().bytes_per_second;
    const double more = whole_seconds(&f, 90000) - whole_seconds(&f, 10000);
    assert_true(fabs(more / (6 * 80000 * layer_bytes / rate) - 1) < 1e-6);
    assert_true(whole_seconds(&f, 0) == whole_seconds(&f, 50001));
    close_fixture(&f);
}

/* A row of 32 numbers has 36 bytes as q8_0, and 64 as f16. */
static void a_past_in_fewer_bits_costs_less(void **state)
{
    (void)state;
    static const struct sc_cache_formats formats[] = {{SC_PAGE_Q8_0, SC_PAGE_Q8_0}, {SC_PAGE_F16, SC_PAGE_F32}};
    static const double row_bytes[] = {36 + 36, 64 + 128};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        open_fixture(&f, SHAKESPEARE, 1);
        assert_ok(sc_pairs_set_formats(f.pairs, f.planning.n_pairs, &formats[i]));
        f.planning.context = 100000;
        const double more = whole_seconds(&f, 90000) - whole_seconds(&f, 10000);
        const double wanted = 6 * 80000.0 * 3 * row_bytes[i] / sc_rates_default().bytes_per_second;
        if (fabs(more / wanted - 1) > 1e-6) {
            fail_msg("%g s for 80000 positions, want %g", more, wanted);
        }
        close_fixture(&f);
    }
}

/* The logits weigh as much as some layers, until their caches weigh more: then it is these that are shared out. */
static void a_long_past_is_shared_out(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 3);
    f.planning.context = 1000000;
    (void)whole_seconds(&f, 1);
    assert_true(f.plan->stages[0].state_bytes != f.plan->stages[2].state_bytes);
    (void)whole_seconds(&f, 1000000);
    for (int s = 0; s < 3; s++) {
        assert_int_equal(f.plan->stages[s].state_bytes, f.plan->stages[0].state_bytes);
    }
    close_fixture(&f);
}

/* One stage of the model for steps and chunks of 32 rows, with logits of all rows or of the last. */
static struct sc_plan_stage both_sizes(bool last_row)
{
    struct fixture f = {.planning = {.n_ranks = 1, .n_stages = 1, .n_slots = 1, .context = 100}};
    struct sc_fact steps[16], chunks[16];
    struct sc_feeds *feeds;
    assert_ok(sc_model_open(SHAKESPEARE, &f.model));
    assert_ok(sc_pairs_find(f.model, &f.planning.n_pairs, &f.pairs));
    f.planning.pairs = f.pairs;
    assert_ok(last_row ? sc_decode_last_row(f.model, sc_decode_find_logits(f.model->graph)) : SC_OK);
    assert_true(f.model->graph->n_inputs <= 16);
    assert_ok(sc_feeds_create(f.model->graph, f.planning.n_pairs, f.pairs, 32, 100, &feeds));
    assert_true(sc_feeds_sizes(feeds, 32, 50, steps, chunks));
    assert_ok(sc_kernels_best(&f.planning.kernels));
    assert_ok(sc_planning_mark_states(f.model, f.planning.n_pairs, f.pairs, &f.arena, &f.is_state));
    assert_ok(sc_passes_run(f.model, f.planning.kernels));
    f.planning.input_facts = steps;
    f.planning.chunk_facts = chunks;
    make(&f);
    const struct sc_plan_stage stage = f.plan->stages[0];
    sc_feeds_free(feeds);
    close_fixture(&f);
    return stage;
}

/* Logits are a product of 192 numbers with a table of 2048 rows: of 32 rows it is arithmetic, of one reading the
 * table. */
static void a_chunk_costs_its_last_rows_logits_alone(void **state)
{
    (void)state;
    const struct sc_plan_stage all = both_sizes(false), last = both_sizes(true);
    const struct sc_rates rates = sc_rates_default();
    const double rows = 32 * 2.0 * 192 * 2048 / rates.flops, table = 4.0 * 192 * 2048 / rates.bytes_per_second;
    const double less = all.chunk_seconds - last.chunk_seconds;
    assert_true(fabs(last.seconds / all.seconds - 1) < 0.001);
    if (fabs(less / (rows - table) - 1) > 0.01) {
        fail_msg("%g s less, want %g", less, rows - table);
    }
}

static void facts_are_known_for_every_value(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 2);
    make(&f);
    const struct sc_graph *graph = f.model->graph;
    const struct sc_fact *logits = &f.facts[sc_graph_find(graph, "logits")];
    static const int64_t dims[] = {1, 1, 2048};
    assert_int_equal(logits->rank, 3);
    assert_memory_equal(logits->dims, dims, sizeof dims);
    for (int n = 0; n < graph->n_nodes; n++) {
        for (int o = 0; o < graph->nodes[n].n_out && !graph->nodes[n].dead; o++) {
            assert_true(sc_fact_dims_known(&f.facts[graph->nodes[n].out[o]]));
        }
    }
    close_fixture(&f);
}

static void a_plan_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 2);
    f.planning.plan_path = "no/such/plan.json";
    assert_fails(
        SC_IO, "no/such/plan.json", sc_planning_make(f.model, &f.planning, f.is_state, &f.arena, &f.facts, &f.plan));
    assert_null(f.plan);
    close_fixture(&f);
}

static void a_model_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, SHAKESPEARE, 2);
    const int64_t memory[2] = {1 << 20, 1 << 20};
    f.planning.memory = memory;
    assert_fails(SC_LIMIT, "memory", sc_planning_make(f.model, &f.planning, f.is_state, &f.arena, &f.facts, &f.plan));
    assert_null(f.plan);
    close_fixture(&f);
}

/* The seconds of a stage are those of its steps, and of the encoder's nodes a text's share. */
static void an_encoder_counts_as_once_for_many_steps(void **state)
{
    struct union_case c;
    struct fixture f = {.planning = {.n_ranks = 1, .n_stages = 1, .n_slots = 1, .context = 64}};
    struct sc_fact *closed;
    double steps = 0, encoder = 0;
    (void)state;
    union_open(&c, "t5_optimum15");
    const struct sc_graph *graph = c.model->graph;
    assert_ok(sc_kernels_best(&f.planning.kernels));
    assert_ok(sc_decode_rewrite(c.model, NULL, &f.planning.n_pairs, &f.pairs));
    f.planning.pairs = f.pairs;
    f.model = c.model;
    assert_ok(sc_planning_mark_states(c.model, f.planning.n_pairs, f.pairs, &f.arena, &f.is_state));
    assert_ok(sc_passes_run(c.model, f.planning.kernels));
    make(&f);
    bool *in_steps = sc_arena_array(&f.arena, (size_t)graph->n_values + 1, sizeof *in_steps);
    sc_part_mark(graph, f.planning.n_pairs, f.pairs, SC_PART_STEPS, in_steps);
    assert_ok(sc_facts_closed(graph, f.facts, &f.arena, &closed));
    const struct sc_rates rates = sc_rates_default();
    for (int n = 0; n < graph->n_nodes; n++) {
        struct sc_node_cost cost = {0};
        if (!graph->nodes[n].dead) {
            assert_ok(sc_node_cost(graph, &graph->nodes[n], closed, &rates, NULL, &cost));
            *(sc_part_runs(&graph->nodes[n], in_steps) ? &steps : &encoder) += cost.seconds;
        }
    }
    assert_true(encoder > 0 && steps > 0);
    const double wanted = steps + encoder / 64, found = f.plan->stages[0].seconds;
    if (fabs(found - wanted) > 1e-9 * wanted) {
        fail_msg("%g s, want %g s of which the encoder %g", found, wanted, encoder / 64);
    }
    sc_plan_free(f.plan);
    union_close(&c);
    sc_arena_release(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_encoder_counts_as_once_for_many_steps),
        cmocka_unit_test(states_are_marked_with_what_continues_them),
        cmocka_unit_test(a_cut_never_parts_a_state_from_its_operator),
        cmocka_unit_test(readers_of_dense_states_stay_with_their_makers),
        cmocka_unit_test(a_branch_that_reads_a_state_stays_with_its_maker),
        cmocka_unit_test(caches_count_for_the_stage_that_keeps_them),
        cmocka_unit_test(a_long_past_costs_what_reading_it_takes),
        cmocka_unit_test(a_past_in_fewer_bits_costs_less),
        cmocka_unit_test(a_long_past_is_shared_out),
        cmocka_unit_test(a_chunk_costs_its_last_rows_logits_alone),
        cmocka_unit_test(facts_are_known_for_every_value),
        cmocka_unit_test(a_plan_that_is_not_there_is_named),
        cmocka_unit_test(a_model_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
