/* SPDX-License-Identifier: Apache-2.0
 * Claims about calls of local functions: what they come to, and which ones are refused. */
#include "graph_case.h"

static void calls_compute_what_their_functions_say(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "functions");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    assert_ok(sc_passes_run(c.model, c.kernels));
    graph_compile(&c, NULL);
    graph_run_and_expect_all(&c);
    graph_close(&c);
}

static void no_call_is_left_and_origins_are_the_calls(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "functions");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    const struct sc_graph *graph = c.model->graph;
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        assert_null(node->function);
        assert_string_equal(node->domain, "");
        assert_int_equal(node->n_origins, 1);
        const char *unit = c.model->unit_names[node->origins[0]];
        assert_string_equal(unit, graph->values[node->out[0]].name);
        for (int m = 0; m < n; m++) {
            assert_int_not_equal(graph->nodes[m].index, node->index);
            assert_int_not_equal(graph->nodes[m].origins[0], node->origins[0]);
        }
    }
    int n_named = 0;
    for (int u = 0; u < c.model->n_units; u++) {
        n_named += c.model->unit_names[u] != NULL;
    }
    assert_int_equal(n_named, graph->n_nodes); /* calls stand for nothing any more */
    graph_close(&c);
}

static void values_of_the_file_keep_their_names(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "functions");
    const struct sc_graph *graph = c.model->graph;
    const int n_values = graph->n_values;
    static const char *const names[] = {"x", "t", "p", "q", "w", "same", "n", "m", "v", "out"};
    int before[10];
    for (int i = 0; i < 10; i++) {
        before[i] = sc_graph_find(graph, names[i]);
    }
    assert_ok(sc_passes_rewrite(c.model, NULL));
    assert_true(graph->n_values > n_values);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(sc_graph_find(graph, names[i]), before[i]);
    }
    const int inner = sc_graph_find(graph, "t/t"); /* Affine's t, in the call that makes t */
    assert_true(inner >= n_values && graph->values[inner].producer >= 0);
    graph_close(&c);
}

static void a_second_time_changes_nothing(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "functions");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    const struct sc_node *nodes = c.model->graph->nodes;
    const int n = c.model->graph->n_nodes;
    assert_ok(sc_passes_rewrite(c.model, NULL));
    assert_ptr_equal(c.model->graph->nodes, nodes);
    assert_int_equal(c.model->graph->n_nodes, n);
    graph_close(&c);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *model, *words;
        enum sc_status code;
    } cases[] = {{"functions_absent_output",
                     "node 'y' (F): output 'y' is an input of function 'F' that the call leaves out", SC_BAD_MODEL},
        {"functions_attribute_type", "node 'y' (Gather): attribute 'by' of function 'F' is of another type",
            SC_BAD_MODEL},
        {"functions_absent_in_body", "input is missing", SC_BAD_MODEL},
        {"functions_too_many_inputs", "node 'y' (F): gives function 'F' 2 inputs and 1 outputs, want at most 1 and 1",
            SC_BAD_MODEL},
        {"functions_doubling", "the model's functions come to more than", SC_LIMIT}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct sc_model *model = graph_model(cases[k].model);
        assert_fails(cases[k].code, cases[k].words, sc_passes_rewrite(model, NULL));
        sc_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_compute_what_their_functions_say),
        cmocka_unit_test(no_call_is_left_and_origins_are_the_calls),
        cmocka_unit_test(values_of_the_file_keep_their_names),
        cmocka_unit_test(a_second_time_changes_nothing),
        cmocka_unit_test(bad_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
