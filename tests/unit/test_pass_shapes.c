/* SPDX-License-Identifier: Apache-2.0
 * Claims about shape arithmetic: what is known by name, what becomes constant, and that bits stay, for sizes of 0
 * too. */
#include "pass_case.h"

static const struct sc_node *maker(const struct sc_graph *graph, const char *output)
{
    const int v = sc_graph_find(graph, output);
    assert_true(v >= 0 && graph->values[v].producer >= 0);
    return &graph->nodes[graph->values[v].producer];
}

static void assert_fact(const struct sc_model *model, const struct sc_fact *fact, const char *wanted)
{
    char text[256];
    assert_string_equal(sc_fact_text(model, fact, text, sizeof text), wanted);
}

static void assert_value(const struct graph_case *c, const char *name, const char *wanted)
{
    assert_fact(c->model, &c->model->graph->values[sc_graph_find(c->model->graph, name)].fact, wanted);
}

static void dims_are_known_by_name(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "shapes");
    assert_ok(sc_passes_run(c.model, c.kernels));
    assert_value(&c, "four", "float[batch, seq, 2, 4]");
    assert_value(&c, "turned", "float[batch, 2, seq, 4]");
    assert_value(&c, "split", "float[batch, seq, 8]");
    assert_value(&c, "cut", "float[1, min(seq, 6)]");
    assert_value(&c, "wide", "float[batch, seq]");
    assert_value(&c, "y", "float[batch, seq, 8]");
    assert_value(&c, "flat", "float[batch*seq, 8]");
    assert_value(&c, "z", "float[batch, seq, 8]");
    graph_close(&c);
}

/* With seq 0 the target's second dim is the input's: its name is for people only. */
static void what_holds_for_most_sizes_is_described(void **state)
{
    (void)state;
    struct graph_case c;
    struct sc_fact *facts;
    graph_open(&c, "shapes");
    assert_ok(sc_passes_run(c.model, c.kernels));
    assert_value(&c, "w", "float[?, ?, ?]");
    assert_ok(sc_pass_describe(c.model, c.kernels, &c.arena, &facts));
    assert_fact(c.model, &facts[sc_graph_find(c.model->graph, "w")], "float[2*batch, seq, 4]");
    assert_value(&c, "w", "float[?, ?, ?]");
    graph_close(&c);
}

static void targets_become_constant(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int n;
        int64_t target[4];
    } cases[] = {{"four", 4, {0, 0, 2, 4}}, {"split", 3, {0, 0, 8}}};
    struct graph_case c;
    graph_open(&c, "shapes");
    const struct sc_graph *graph = c.model->graph;
    assert_ok(sc_passes_run(c.model, c.kernels));
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const struct sc_tensor *target = graph->values[maker(graph, cases[k].name)->in[1]].fact.value;
        assert_non_null(target);
        assert_int_equal(target->dims[0], cases[k].n);
        assert_memory_equal(target->data, cases[k].target, (size_t)cases[k].n * sizeof(int64_t));
    }
    assert_true(maker(graph, "heads")->dead && maker(graph, "a0")->dead && maker(graph, "b1")->dead);
    assert_string_equal(graph->values[maker(graph, "by_length")->in[1]].name, "mixed");
    assert_string_equal(graph->values[maker(graph, "y")->in[0]].name, "placed"); /* Cast, Reshape, Slice of all */
    assert_string_equal(graph->values[maker(graph, "reversed")->in[0]].name, "r");
    graph_close(&c);
}

static void the_bits_are_the_same(void **state)
{
    (void)state;
    assert_true(pass_compare("shapes", SC_PASS_SHAPES, 0, GRAPH_PORTS, NULL) > 20);
}

static void the_answers_are_right(void **state)
{
    (void)state;
    struct graph_case c;
    pass_open(&c, "shapes", 0);
    for (int set = 0; set < 4; set++) {
        graph_run_and_expect(&c, set);
    }
    graph_close(&c);
}

static void a_cast_stays_where_identity_lacks_the_type(void **state)
{
    (void)state;
    struct graph_case c;
    pass_open(&c, "narrow_cast", 0);
    graph_run_and_expect(&c, 0);
    graph_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dims_are_known_by_name),
        cmocka_unit_test(what_holds_for_most_sizes_is_described),
        cmocka_unit_test(targets_become_constant),
        cmocka_unit_test(the_bits_are_the_same),
        cmocka_unit_test(the_answers_are_right),
        cmocka_unit_test(a_cast_stays_where_identity_lacks_the_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
