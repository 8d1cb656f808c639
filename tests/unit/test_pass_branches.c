/* SPDX-License-Identifier: Apache-2.0
 * Claims about branches that are known to be taken: the same bits with the pass and without, for each mode. */
#include "graph_case.h"

static int n_ifs(const struct sc_graph *graph)
{
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        n += !graph->nodes[i].dead && strcmp(graph->nodes[i].op, "If") == 0;
    }
    return n;
}

static void set_modes(const struct sc_graph *graph, int8_t mode, int8_t *modes)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        modes[i] = (int8_t)(strcmp(graph->values[graph->inputs[i]].name, "use_cache_branch") == 0 ? mode : 0);
    }
}

static void run_sets(struct graph_case *c, int first, int end)
{
    assert_ok(sc_passes_run(c->model, c->kernels));
    graph_compile(c, NULL);
    for (int set = first; set < end; set++) {
        graph_run_and_expect(c, set);
    }
}

static void without_the_pass_the_bits_are_the_same(void **state)
{
    (void)state;
    struct graph_case c;
    const struct sc_pass_options without = {.without = SC_PASS_BRANCHES};
    graph_open(&c, "branches");
    assert_ok(sc_passes_rewrite(c.model, &without));
    assert_int_equal(n_ifs(c.model->graph), 2);
    run_sets(&c, 0, 4);
    graph_close(&c);
}

static void constant_conditions_take_their_branch(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "branches");
    const struct sc_graph *graph = c.model->graph;
    assert_ok(sc_passes_rewrite(c.model, NULL));
    assert_int_equal(n_ifs(graph), 2); /* on flag, which came out of two others, and on the mode */
    assert_int_equal(sc_graph_find(graph, "b"), -1); /* still within a body */
    assert_true(sc_graph_find(graph, "up") >= 0);
    const struct sc_graph_value *q = &graph->values[sc_graph_find(graph, "q")];
    const struct sc_graph_value *r = &graph->values[sc_graph_find(graph, "r")];
    assert_string_equal(graph->nodes[q->producer].op, "Mul"); /* the branch's s, which is two outputs */
    assert_string_equal(graph->nodes[r->producer].op, "Identity");
    run_sets(&c, 0, 4);
    graph_close(&c);
}

static void a_mode_that_is_promised_is_taken(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "branches");
    const struct sc_graph *graph = c.model->graph;
    int8_t modes[8] = {0};
    const struct sc_pass_options options = {.modes = modes};
    set_modes(graph, 1, modes);
    assert_ok(sc_passes_rewrite(c.model, &options));
    assert_int_equal(n_ifs(graph), 1);
    run_sets(&c, 0, 2); /* those with the mode on */
    graph_close(&c);
}

static void the_other_mode_takes_the_other_branch(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "branches");
    int8_t modes[8] = {0};
    const struct sc_pass_options options = {.modes = modes};
    set_modes(c.model->graph, -1, modes);
    assert_ok(sc_passes_rewrite(c.model, &options));
    assert_int_equal(n_ifs(c.model->graph), 1);
    run_sets(&c, 2, 4);
    graph_close(&c);
}

static void a_mode_is_what_an_if_reads(void **state)
{
    (void)state;
    struct graph_case c;
    int8_t modes[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    graph_open(&c, "branches");
    const struct sc_graph *graph = c.model->graph;
    assert_ok(sc_pass_keep_conditions(c.model, modes));
    for (int i = 0; i < graph->n_inputs; i++) {
        const char *name = graph->values[graph->inputs[i]].name; /* flag's is two bodies deep */
        assert_int_equal(modes[i], strcmp(name, "use_cache_branch") == 0 || strcmp(name, "flag") == 0);
    }
    graph_close(&c);
}

static void a_condition_that_is_not_known_stays(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "nested_if");
    const struct sc_node *nodes = c.model->graph->nodes;
    assert_ok(sc_passes_rewrite(c.model, NULL));
    assert_ptr_equal(c.model->graph->nodes, nodes);
    graph_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_pass_the_bits_are_the_same),
        cmocka_unit_test(constant_conditions_take_their_branch),
        cmocka_unit_test(a_mode_that_is_promised_is_taken),
        cmocka_unit_test(the_other_mode_takes_the_other_branch),
        cmocka_unit_test(a_mode_is_what_an_if_reads),
        cmocka_unit_test(a_condition_that_is_not_known_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
