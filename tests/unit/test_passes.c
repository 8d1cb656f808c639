/* SPDX-License-Identifier: Apache-2.0
 * Claims about passes: what each removes, and that answers stay the same bits. */
#include "pass_case.h"

static int n_live(const struct sc_graph *graph)
{
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        n += !graph->nodes[i].dead;
    }
    return n;
}

static struct sc_node *maker(struct graph_case *c, const char *output)
{
    struct sc_graph *graph = c->model->graph;
    const int v = sc_graph_find(graph, output);
    assert_true(v >= 0 && graph->values[v].producer >= 0);
    return &graph->nodes[graph->values[v].producer];
}

static const char *reads(struct graph_case *c, const char *output, int i)
{
    return c->model->graph->values[maker(c, output)->in[i]].name;
}

static void dead_removes_what_no_output_needs(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "removable");
    assert_int_equal(n_live(c.model->graph), 11);
    assert_ok(sc_pass_dead(c.model->graph));
    assert_int_equal(n_live(c.model->graph), 9);
    assert_true(maker(&c, "dead")->dead && maker(&c, "deader")->dead);
    assert_ok(sc_pass_infer(c.model->graph, c.kernels));
    graph_compile(&c, NULL);
    assert_int_equal(sc_program_n_steps(c.program), 9);
    graph_run_and_expect(&c, 0);
    graph_close(&c);
}

static void dead_keeps_what_only_a_body_reads(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "nested_if");
    assert_ok(sc_pass_dead(c.model->graph));
    assert_int_equal(n_live(c.model->graph), c.model->graph->n_nodes);
    graph_close(&c);
}

static void identity_lets_readers_read_its_input(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "removable");
    assert_ok(sc_pass_infer(c.model->graph, c.kernels));
    assert_ok(sc_pass_identity(c.model->graph));
    assert_string_equal(reads(&c, "scaled", 0), "x");
    assert_string_equal(reads(&c, "y", 0), "column");
    assert_ok(sc_pass_dead(c.model->graph));
    assert_int_equal(n_live(c.model->graph), 7); /* without dead, deader, x2, x3; copy is an output */
    assert_false(maker(&c, "copy")->dead);
    graph_compile(&c, NULL);
    graph_run_and_expect(&c, 1);
    graph_close(&c);
}

static void fold_makes_initializers_of_what_is_known(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "removable");
    const int before = c.model->graph->n_weights;
    assert_ok(sc_pass_infer(c.model->graph, c.kernels));
    assert_ok(sc_pass_fold(c.model->graph));
    assert_int_equal(c.model->graph->n_weights, before + 3); /* two, four, shape */
    assert_int_equal(n_live(c.model->graph), 8);
    const struct sc_graph_value *four = &c.model->graph->values[sc_graph_find(c.model->graph, "four")];
    assert_int_equal(four->place, SC_PLACE_INITIALIZER);
    assert_int_equal(four->producer, -1);
    assert_true(*(const float *)c.model->graph->weights[four->weight].shape.data == 4.0F);
    graph_compile(&c, NULL);
    graph_run_and_expect(&c, 0);
    graph_close(&c);
}

static void all_passes_leave_what_computes(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "removable");
    assert_int_equal(n_live(c.model->graph), 4); /* scaled, column, copy, y */
    graph_run_and_expect_all(&c);
    graph_close(&c);
}

static void large_values_are_not_evaluated_at_load(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "large_constant");
    assert_false(maker(&c, "m")->dead); /* 80,000 bytes */
    graph_run_and_expect(&c, 0);
    graph_close(&c);
}

static void outputs_keep_their_producers(void **state)
{
    (void)state;
    static const char *const names[] = {"late", "computed_shape", "views", "sequences", "skipping", "removable"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct graph_case c;
        graph_open(&c, names[k]);
        const struct sc_graph *graph = c.model->graph;
        const int n_outputs = graph->n_outputs;
        assert_ok(sc_passes_run(c.model, c.kernels));
        assert_int_equal(graph->n_outputs, n_outputs);
        for (int o = 0; o < n_outputs; o++) {
            assert_int_equal(graph->values[graph->outputs[o]].place, SC_PLACE_NODE);
            assert_false(graph->nodes[graph->values[graph->outputs[o]].producer].dead);
        }
        graph_close(&c);
    }
}

/* Types, dims and symbols of every value, as far as they are known without data. */
static void infer_fills_in_facts(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "computed_shape");
    assert_ok(sc_pass_infer(c.model->graph, c.kernels));
    const struct sc_graph *graph = c.model->graph;
    const struct sc_fact *x = &graph->values[sc_graph_find(graph, "x")].fact;
    const struct sc_fact *s = &graph->values[sc_graph_find(graph, "s")].fact;
    const struct sc_fact *given = &graph->values[sc_graph_find(graph, "given")].fact;
    assert_int_equal(s->type, SC_I64);
    assert_int_equal(s->dims[0], 3);
    assert_null(s->value); /* x has symbols */
    assert_true(x->dims[0] < SC_DIM_UNKNOWN);
    assert_int_equal(given->type, SC_F32);
    assert_false(sc_fact_dims_known(given));
    graph_close(&c);
}

/* Every model that runs, with each pass and without it; what only sums in another order may differ by rounding. */
static void each_pass_on_and_off_gives_the_same_bits(void **state)
{
    (void)state;
    static const char *const names[] = {"attention_encoder", "attention_where", "branches", "computed_shape",
        "functions", "in_place", "large_constant", "late", "nested_if", "removable", "sequences", "shapes", "skipping",
        "views"};
    static const struct sc_tolerance near = {.relative = 1e-5, .absolute = 1e-5};
    static const struct {
        unsigned pass;
        const struct sc_tolerance *tolerance;
    } cases[] = {{SC_PASS_ATTENTION, &near}, {SC_PASS_BRANCHES, NULL}, {SC_PASS_FOLD, NULL}, {SC_PASS_IDENTITY, NULL},
        {SC_PASS_SHAPES, NULL}, {SC_PASS_DEAD, NULL}};
    for (size_t p = 0; p < sizeof cases / sizeof cases[0]; p++) {
        bool acted = false;
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            acted |= pass_compare(names[k], cases[p].pass, 0, GRAPH_PORTS, cases[p].tolerance) != 0;
        }
        assert_true(acted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_removes_what_no_output_needs),
        cmocka_unit_test(dead_keeps_what_only_a_body_reads),
        cmocka_unit_test(identity_lets_readers_read_its_input),
        cmocka_unit_test(fold_makes_initializers_of_what_is_known),
        cmocka_unit_test(all_passes_leave_what_computes),
        cmocka_unit_test(large_values_are_not_evaluated_at_load),
        cmocka_unit_test(outputs_keep_their_producers),
        cmocka_unit_test(infer_fills_in_facts),
        cmocka_unit_test(each_pass_on_and_off_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
