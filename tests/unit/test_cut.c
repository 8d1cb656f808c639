/* SPDX-License-Identifier: Apache-2.0
 * The solver against enumeration: every partition with edges forward, and every slicing of the file's order, valued by
 * a second implementation of the objective. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "partitioner/cut_parts.h"

enum { MAX_NODES = 400, MAX_EDGES = 4000, MAX_STAGES = 16 };

struct fixture {
    struct sc_cut_node nodes[MAX_NODES];
    struct sc_cut_edge edges[MAX_EDGES];
    int64_t limits[MAX_STAGES];
    double speeds[MAX_STAGES];
    int64_t weights[8];
    struct sc_cut_use uses[64];
    int stage_of[MAX_NODES];
    struct sc_cut_problem problem;
    struct sc_random_key key;
    uint64_t drawn;
};

static int draw(struct fixture *f, int n)
{
    return (int)(sc_random_uniform(&f->key, f->drawn++) * n);
}

static struct sc_cut_result solve_result(struct fixture *f)
{
    return (struct sc_cut_result){.stage_of = f->stage_of};
}

/* Nodes stand in a topological order by index. */
static void make_graph(struct fixture *f, uint64_t seed, int n, int n_stages, bool chain)
{
    memset(f, 0, sizeof *f);
    f->key.seed = seed;
    f->problem = (struct sc_cut_problem){.n_nodes = n, .nodes = f->nodes, .edges = f->edges, .n_stages = n_stages};
    f->problem.link_bytes_per_second = 1e6;
    f->problem.link_seconds = draw(f, 3) * 0.1;
    for (int i = 0; i < n; i++) {
        f->nodes[i] = (struct sc_cut_node){draw(f, 10), draw(f, 100), draw(f, 3000000), -1};
        for (int j = 0; j < i; j++) {
            if ((chain && j == i - 1) || (!chain && draw(f, n) < 2)) {
                f->edges[f->problem.n_edges++] = (struct sc_cut_edge){j, i};
            }
        }
    }
}

struct value {
    double slowest, sum;
    bool legal; /* memory, groups, edges forward, no empty stage */
};

static bool keeps_rules(const struct fixture *f, const int *stage_of, int n_stages)
{
    const struct sc_cut_problem *p = &f->problem;
    for (int k = 0; k < n_stages; k++) {
        bool used = false;
        int64_t bytes = 0;
        for (int i = 0; i < p->n_nodes; i++) {
            used |= stage_of[i] == k;
            bytes += stage_of[i] == k ? p->nodes[i].memory_bytes : 0;
        }
        for (int w = 0; w < p->n_weights; w++) {
            bool here = false;
            for (int u = 0; u < p->n_uses; u++) {
                here |= p->uses[u].weight == w && stage_of[p->uses[u].node] == k;
            }
            bytes += here ? p->weight_bytes[w] : 0;
        }
        if (!used || (p->memory_limit && p->memory_limit[k] && bytes > p->memory_limit[k])) {
            return false;
        }
    }
    for (int e = 0; e < p->n_edges; e++) {
        if (stage_of[p->edges[e].from] > stage_of[p->edges[e].to]) {
            return false;
        }
    }
    for (int i = 0; i < p->n_nodes; i++) {
        for (int j = 0; j < i; j++) {
            if (p->nodes[i].group >= 0 && p->nodes[i].group == p->nodes[j].group && stage_of[i] != stage_of[j]) {
                return false;
            }
        }
    }
    return true;
}

static double stage_seconds(const struct fixture *f, const int *stage_of, int k)
{
    const struct sc_cut_problem *p = &f->problem;
    double seconds = 0;
    for (int i = 0; i < p->n_nodes; i++) {
        bool other_reads = false, read_here = false;
        for (int e = 0; e < p->n_edges; e++) {
            if (p->edges[e].from == i) {
                other_reads |= stage_of[p->edges[e].to] != stage_of[i];
                read_here |= stage_of[p->edges[e].to] == k;
            }
        }
        const bool mine = stage_of[i] == k;
        seconds += mine ? p->nodes[i].seconds / (p->speed ? p->speed[k] : 1) : 0;
        if (mine ? other_reads : read_here) {
            seconds += p->link_seconds + (double)p->nodes[i].output_bytes / p->link_bytes_per_second;
        }
    }
    return seconds;
}

static struct value value_of(const struct fixture *f, const int *stage_of, int n_stages)
{
    struct value value = {0, 0, keeps_rules(f, stage_of, n_stages)};
    for (int k = 0; k < n_stages && value.legal; k++) {
        const double seconds = stage_seconds(f, stage_of, k);
        value.slowest = seconds > value.slowest ? seconds : value.slowest;
        value.sum += seconds;
    }
    return value;
}

struct brute {
    double any, sliced; /* best slowest: over all partitions, over slices of the file's order */
    double any_sum;
};

/* Counts through all assignments of nodes to exactly n_stages stages. */
static struct brute enumerate(const struct fixture *f, int n_stages)
{
    struct brute best = {INFINITY, INFINITY, INFINITY};
    int stage_of[MAX_NODES] = {0};
    for (;;) {
        const struct value value = value_of(f, stage_of, n_stages);
        if (value.legal) {
            bool sliced = true;
            for (int i = 1; i < f->problem.n_nodes; i++) {
                sliced &= stage_of[i] >= stage_of[i - 1];
            }
            best.any = fmin(best.any, value.slowest);
            best.any_sum = fmin(best.any_sum, value.sum);
            best.sliced = sliced ? fmin(best.sliced, value.slowest) : best.sliced;
        }
        int i = 0;
        while (i < f->problem.n_nodes && ++stage_of[i] == n_stages) {
            stage_of[i++] = 0;
        }
        if (i == f->problem.n_nodes) {
            return best;
        }
    }
}

/* Sums in another order differ in the last bits: 1e-9 relative is far above that and far below a node's cost. */
static void assert_at_most(double a, double b)
{
    if (!(a <= b + 1e-9 * fabs(b))) {
        fail_msg("%.17g is more than %.17g", a, b);
    }
}

/* So small a graph has few downsets: the solver finds the best of all partitions and proves it. */
static void check_against_enumeration(struct fixture *f)
{
    struct sc_cut_result result = solve_result(f);
    const struct brute best = enumerate(f, f->problem.n_stages);
    const enum sc_status status = sc_cut_solve(&f->problem, &result);
    if (isinf(best.any)) {
        assert_int_equal(status, SC_LIMIT);
        return;
    }
    assert_int_equal(status, SC_OK);
    assert_int_equal(result.n_stages, f->problem.n_stages);
    const struct value value = value_of(f, f->stage_of, result.n_stages);
    assert_true(value.legal);
    assert_at_most(fabs(value.slowest - result.slowest_seconds), 1e-9 * (1 + value.slowest));
    assert_at_most(fabs(result.slowest_seconds - best.any), 1e-9 * (1 + best.any));
    assert_at_most(fabs(result.bound_seconds - best.any), 1e-9 * (1 + best.any));
}

static void chain_equals_the_best_of_all_partitions(void **state)
{
    (void)state;
    static struct fixture f;
    for (uint64_t seed = 0; seed < 100; seed++) {
        make_graph(&f, seed, 4 + (int)(seed % 5), 2 + (int)(seed % 2), true);
        f.problem.exact_stages = true;
        struct sc_cut_result result = solve_result(&f);
        const struct brute best = enumerate(&f, f.problem.n_stages);
        assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
        assert_at_most(fabs(result.slowest_seconds - best.any), 1e-9 * (1 + best.any));
        assert_at_most(fabs(result.bound_seconds - best.any), 1e-9 * (1 + best.any));
    }
}

static void graph_equals_the_best_of_all_partitions(void **state)
{
    (void)state;
    static struct fixture f;
    for (uint64_t seed = 0; seed < 200; seed++) {
        make_graph(&f, seed, 4 + (int)(seed % 5), 2 + (int)(seed % 2), false);
        f.problem.exact_stages = true;
        check_against_enumeration(&f);
    }
}

/* The parts for graphs with too many downsets: slices of one order, improved, and the cheap bound. */
static void slices_equal_the_best_of_their_order_and_bound_holds(void **state)
{
    (void)state;
    static struct fixture f;
    int order[MAX_NODES], stage_of[MAX_NODES], n_better = 0;
    for (int i = 0; i < MAX_NODES; i++) {
        order[i] = i;
    }
    for (uint64_t seed = 0; seed < 200; seed++) {
        make_graph(&f, seed, 4 + (int)(seed % 5), 2 + (int)(seed % 2), false);
        struct sc_arena arena = {0};
        struct sc_units units = {0};
        double bound = 0;
        assert_int_equal(sc_units_build(&f.problem, &arena, &units), SC_OK);
        assert_int_equal(sc_units_bound(&units, &bound), SC_OK);
        struct sc_slice slice = {.order = order, .n_stages = f.problem.n_stages, .exact = true};
        assert_int_equal(sc_slice_solve(&units, &slice, stage_of), SC_OK);
        const struct brute best = enumerate(&f, f.problem.n_stages);
        const double sliced = value_of(&f, stage_of, f.problem.n_stages).slowest;
        assert_at_most(fabs(slice.value - best.sliced), 1e-9 * (1 + best.sliced));
        assert_at_most(fabs(sliced - best.sliced), 1e-9 * (1 + best.sliced));
        assert_at_most(bound, best.any);
        assert_int_equal(sc_units_improve(&units, f.problem.n_stages, stage_of), SC_OK);
        const struct value improved = value_of(&f, stage_of, f.problem.n_stages);
        assert_true(improved.legal);
        assert_at_most(improved.slowest, sliced);
        assert_at_most(best.any, improved.slowest);
        n_better += improved.slowest < sliced;
        sc_arena_release(&arena);
    }
    assert_in_range(n_better, 1, 200);
}

static void thinned_order_gives_a_legal_cut(void **state)
{
    (void)state;
    static struct fixture f;
    int order[MAX_NODES], stage_of[MAX_NODES];
    for (uint64_t seed = 0; seed < 20; seed++) {
        make_graph(&f, seed, 200, 7, false);
        struct sc_arena arena = {0};
        struct sc_units units = {0};
        assert_int_equal(sc_units_build(&f.problem, &arena, &units), SC_OK);
        assert_int_equal(sc_order_build(&units, SC_ORDER_LIVE, &arena, order), SC_OK);
        struct sc_slice thin = {.order = order, .n_stages = 7, .exact = true, .max_places = 40};
        assert_int_equal(sc_slice_solve(&units, &thin, stage_of), SC_OK);
        const struct value value = value_of(&f, stage_of, 7);
        assert_false(thin.full);
        assert_true(value.legal);
        assert_at_most(fabs(thin.value - value.slowest), 1e-9 * (1 + value.slowest));
        struct sc_slice full = {.order = order, .n_stages = 7, .exact = true};
        assert_int_equal(sc_slice_solve(&units, &full, stage_of), SC_OK);
        assert_true(full.full);
        assert_at_most(full.value, thin.value);
        struct sc_slice hasty = {.order = order, .n_stages = 7, .exact = true, .max_work = 10};
        assert_int_equal(sc_slice_solve(&units, &hasty, stage_of), SC_OK);
        assert_true(hasty.gave_up);
        assert_int_equal(hasty.n_used, 0);
        sc_arena_release(&arena);
    }
}

static void every_order_is_topological(void **state)
{
    (void)state;
    static struct fixture f;
    int order[MAX_NODES], position[MAX_NODES];
    for (int kind = 0; kind <= SC_ORDER_N; kind++) {
        make_graph(&f, 5, 150, 2, false);
        struct sc_arena arena = {0};
        struct sc_units units = {0};
        assert_int_equal(sc_units_build(&f.problem, &arena, &units), SC_OK);
        assert_int_equal(kind < SC_ORDER_N ? sc_order_build(&units, (enum sc_order_kind)kind, &arena, order)
                                           : sc_order_random(&units, 3, &arena, order),
            SC_OK);
        for (int i = 0; i < 150; i++) {
            position[i] = -1;
        }
        for (int i = 0; i < 150; i++) {
            position[order[i]] = i;
        }
        for (int i = 0; i < 150; i++) {
            assert_true(position[i] >= 0);
        }
        for (int e = 0; e < f.problem.n_edges; e++) {
            assert_true(position[f.edges[e].from] < position[f.edges[e].to]);
        }
        sc_arena_release(&arena);
    }
}

static void memory_limits_and_shared_weights_are_kept(void **state)
{
    (void)state;
    static struct fixture f;
    int n_refused = 0;
    for (uint64_t seed = 1000; seed < 1200; seed++) {
        make_graph(&f, seed, 4 + (int)(seed % 5), 2 + (int)(seed % 2), false);
        f.problem.exact_stages = true;
        f.problem.memory_limit = f.limits;
        for (int k = 0; k < f.problem.n_stages; k++) {
            f.limits[k] = draw(&f, 4) ? 100 + draw(&f, 300) : 0;
        }
        f.problem.weight_bytes = f.weights;
        f.problem.uses = f.uses;
        f.problem.n_weights = 2;
        f.problem.n_uses = 5;
        for (int w = 0; w < 2; w++) {
            f.weights[w] = draw(&f, 80);
        }
        for (int u = 0; u < 5; u++) {
            f.uses[u] = (struct sc_cut_use){draw(&f, f.problem.n_nodes), draw(&f, 2)};
        }
        check_against_enumeration(&f);
        struct sc_cut_result result = solve_result(&f);
        n_refused += sc_cut_solve(&f.problem, &result) != SC_OK;
    }
    assert_in_range(n_refused, 5, 195);
}

static void groups_and_speeds_are_kept(void **state)
{
    (void)state;
    static struct fixture f;
    for (uint64_t seed = 2000; seed < 2200; seed++) {
        make_graph(&f, seed, 5 + (int)(seed % 4), 2, false);
        f.problem.speed = f.speeds;
        for (int k = 0; k < 2; k++) {
            f.speeds[k] = 0.5 + draw(&f, 4);
        }
        for (int i = 0; i < f.problem.n_nodes; i++) {
            f.nodes[i].group = draw(&f, 3) ? -1 : draw(&f, 2);
        }
        struct sc_cut_result result = solve_result(&f);
        assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
        struct brute best = enumerate(&f, 1);
        const struct brute two = enumerate(&f, 2);
        best.any = fmin(best.any, two.any);
        const struct value value = value_of(&f, f.stage_of, result.n_stages);
        assert_true(value.legal);
        assert_at_most(fabs(value.slowest - result.slowest_seconds), 1e-9 * (1 + value.slowest));
        assert_at_most(fabs(result.slowest_seconds - best.any), 1e-9 * (1 + best.any));
        assert_at_most(fabs(result.bound_seconds - best.any), 1e-9 * (1 + best.any));
    }
}

static void group_around_a_node_takes_it_in(void **state)
{
    (void)state;
    static struct fixture f;
    make_graph(&f, 1, 5, 2, true);
    f.nodes[1].group = f.nodes[3].group = 7; /* 2 lies between: joining 1 and 3 makes a cycle with it */
    f.problem.exact_stages = true;
    struct sc_cut_result result = solve_result(&f);
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
    assert_int_equal(f.stage_of[1], f.stage_of[2]);
    assert_int_equal(f.stage_of[2], f.stage_of[3]);
    f.problem.n_stages = 4;
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_BAD_INPUT);
    assert_string_equal(sc_error_last()->text, "4 stages asked for, but the graph can be cut into 3 at most");
    assert_int_equal(sc_cut_random(&f.problem, 1, &result), SC_BAD_INPUT);
    f.problem.fewer = true;
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
    assert_int_equal(result.n_stages, 3);
    result.n_stages = 0;
    assert_int_equal(sc_cut_random(&f.problem, 1, &result), SC_OK);
    assert_int_equal(result.n_stages, 3);
}

static void latency_minimises_the_sum(void **state)
{
    (void)state;
    static struct fixture f;
    for (uint64_t seed = 3000; seed < 3050; seed++) {
        make_graph(&f, seed, 4 + (int)(seed % 4), 3, seed % 2);
        f.problem.exact_stages = f.problem.latency = true;
        struct sc_cut_result result = solve_result(&f);
        assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
        const struct brute best = enumerate(&f, 3);
        const struct value value = value_of(&f, f.stage_of, 3);
        assert_true(value.legal);
        assert_at_most(fabs(value.sum - best.any_sum), 1e-9 * (1 + best.any_sum));
        assert_at_most(result.bound_seconds, best.any);
    }
}

static void no_more_stages_than_help(void **state)
{
    (void)state;
    static struct fixture f;
    make_graph(&f, 1, 3, 3, true);
    f.problem.link_seconds = 0;
    const double seconds[] = {1, 10, 1};
    for (int i = 0; i < 3; i++) {
        f.nodes[i] = (struct sc_cut_node){seconds[i], 0, 2000000, -1};
    }
    struct sc_cut_result result = solve_result(&f);
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
    assert_int_equal(result.n_stages, 1); /* a cut costs 2 on both sides and saves 1 */
    assert_true(result.slowest_seconds == 12);
    f.nodes[2].seconds = 10;
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
    assert_int_equal(result.n_stages, 2); /* [1 10] [10] is 13 + 12, three stages have one of 14 */
    assert_true(result.slowest_seconds == 13);
}

static void equal_bottlenecks_give_the_even_partition(void **state)
{
    (void)state;
    static struct fixture f;
    make_graph(&f, 1, 5, 3, true);
    f.problem.link_bytes_per_second = f.problem.link_seconds = 0;
    const double seconds[] = {9, 3, 2, 1, 3}; /* slowest is 9 in any case: the rest is best cut 5 | 4 */
    for (int i = 0; i < 5; i++) {
        f.nodes[i].seconds = seconds[i];
    }
    f.problem.exact_stages = true;
    struct sc_cut_result result = solve_result(&f);
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
    const int want[] = {0, 1, 1, 2, 2};
    assert_memory_equal(f.stage_of, want, sizeof want);
}

static void too_little_memory_says_how_much_would_do(void **state)
{
    (void)state;
    static struct fixture f;
    make_graph(&f, 1, 4, 2, true);
    for (int i = 0; i < 4; i++) {
        f.nodes[i].memory_bytes = 100;
    }
    f.limits[0] = f.limits[1] = 150;
    f.problem.memory_limit = f.limits;
    struct sc_cut_result result = solve_result(&f);
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_LIMIT);
    assert_string_equal(sc_error_last()->text,
        "no cut into up to 2 stages fits into memory: the limit of a stage is 150 bytes, 200 bytes for each would do");
    f.limits[0] = f.limits[1] = 200;
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static struct fixture f;
    struct sc_cut_result result = solve_result(&f);
    make_graph(&f, 1, 4, 2, true);
    f.edges[f.problem.n_edges++] = (struct sc_cut_edge){3, 1};
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_BAD_INPUT);
    assert_string_equal(sc_error_last()->text, "the graph has a cycle: node 1 depends on itself");
    f.edges[3] = (struct sc_cut_edge){2, 2};
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_BAD_INPUT);
    f.edges[3] = (struct sc_cut_edge){0, 4};
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_BAD_INPUT);
    f.problem.n_edges--;
    f.nodes[2].seconds = NAN;
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_BAD_INPUT);
    f.nodes[2].seconds = 1;
    f.nodes[2].memory_bytes = f.nodes[3].memory_bytes = INT64_MAX;
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_BAD_INPUT);
    f.nodes[2].memory_bytes = f.nodes[3].memory_bytes = 0;
    f.problem.n_stages = 0;
    assert_int_equal(sc_cut_random(&f.problem, 1, &result), SC_BAD_INPUT);
    f.problem.n_stages = 5;
    assert_int_equal(sc_cut_random(&f.problem, 1, &result), SC_BAD_INPUT);
    f.problem.n_nodes = f.problem.n_edges = 0;
    assert_int_equal(sc_cut_solve(&f.problem, &result), SC_BAD_INPUT);
}

static void random_partitions_are_legal_and_repeat(void **state)
{
    (void)state;
    static struct fixture f;
    int n_distinct = 0, before[MAX_NODES] = {0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        make_graph(&f, seed / 40, 60, 1 + (int)(seed % 12), false);
        for (int i = 0; i < 60; i++) {
            f.nodes[i].group = i % 15 == 3 ? i / 30 : -1;
        }
        struct sc_cut_result result = solve_result(&f);
        const enum sc_status status = sc_cut_random(&f.problem, seed, &result);
        if (status == SC_BAD_INPUT) { /* groups took in too much */
            continue;
        }
        assert_int_equal(status, SC_OK);
        assert_int_equal(result.n_stages, f.problem.n_stages);
        assert_true(value_of(&f, f.stage_of, result.n_stages).legal);
        n_distinct += memcmp(before, f.stage_of, sizeof before) != 0;
        memcpy(before, f.stage_of, sizeof before);
        assert_int_equal(sc_cut_random(&f.problem, seed, &result), SC_OK);
        assert_memory_equal(before, f.stage_of, sizeof before);
    }
    assert_in_range(n_distinct, 200, 400);
}

/* Wide enough for every order to differ, and more stages than any optimum needs. */
static void every_stage_count_is_met_exactly(void **state)
{
    (void)state;
    static struct fixture f;
    for (int n_stages = 1; n_stages <= MAX_STAGES; n_stages++) {
        make_graph(&f, (uint64_t)n_stages, 120, n_stages, false);
        f.problem.exact_stages = true;
        struct sc_cut_result result = solve_result(&f);
        assert_int_equal(sc_cut_solve(&f.problem, &result), SC_OK);
        assert_int_equal(result.n_stages, n_stages);
        const struct value value = value_of(&f, f.stage_of, n_stages);
        assert_true(value.legal);
        assert_at_most(fabs(value.slowest - result.slowest_seconds), 1e-9 * (1 + value.slowest));
        assert_at_most(result.bound_seconds, result.slowest_seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_equals_the_best_of_all_partitions),
        cmocka_unit_test(graph_equals_the_best_of_all_partitions),
        cmocka_unit_test(slices_equal_the_best_of_their_order_and_bound_holds),
        cmocka_unit_test(thinned_order_gives_a_legal_cut),
        cmocka_unit_test(every_order_is_topological),
        cmocka_unit_test(memory_limits_and_shared_weights_are_kept),
        cmocka_unit_test(groups_and_speeds_are_kept),
        cmocka_unit_test(group_around_a_node_takes_it_in),
        cmocka_unit_test(latency_minimises_the_sum),
        cmocka_unit_test(no_more_stages_than_help),
        cmocka_unit_test(equal_bottlenecks_give_the_even_partition),
        cmocka_unit_test(too_little_memory_says_how_much_would_do),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(random_partitions_are_legal_and_repeat),
        cmocka_unit_test(every_stage_count_is_met_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
