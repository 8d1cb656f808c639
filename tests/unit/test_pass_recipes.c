/* SPDX-License-Identifier: Apache-2.0
 * Claims about nodes that read weights alone: which become weights, where their content is, and that no bit changes. */
#include "pass_case.h"

static const struct sc_weight *weight_of(const struct graph_case *c, const char *name)
{
    const struct sc_graph *graph = c->model->graph;
    const int value = sc_graph_find(graph, name);
    assert_true(value >= 0);
    return graph->values[value].place == SC_PLACE_INITIALIZER ? &graph->weights[graph->values[value].weight] : NULL;
}

static void nodes_that_read_weights_alone_become_recipes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int n_steps;
    } made[] = {{"wide", 1}, {"turned", 2}, {"full", 1}, {"halves", 1}, {"joined", 2}, {"part", 3}, {"l", 3}, {"r", 3},
        {"k1", 1}, {"k16", 16}};
    struct graph_case c;
    pass_open(&c, "recipes", 0);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const struct sc_weight *weight = weight_of(&c, made[i].name);
        assert_non_null(weight);
        assert_non_null(weight->recipe);
        assert_int_equal(weight->recipe->n_steps, made[i].n_steps);
        assert_null(weight->shape.data);
    }
    graph_close(&c);
}

static void other_dims_of_a_weight_are_the_same_bytes(void **state)
{
    (void)state;
    struct graph_case c;
    pass_open(&c, "recipes", 0);
    const struct sc_weight *single = weight_of(&c, "single"), *other = weight_of(&c, "other");
    assert_non_null(single->raw);
    assert_ptr_equal(other->raw, single->raw);
    assert_null(other->recipe);
    assert_int_equal(other->shape.dims[0], 130);
    assert_int_equal(other->shape.dims[1], 132);
    graph_close(&c);
}

static void what_would_be_large_or_long_and_outputs_stay_nodes(void **state)
{
    (void)state;
    static const char *const names[] = {"large", "top", "k17", "shown"};
    struct graph_case c;
    pass_open(&c, "recipes", 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(weight_of(&c, names[i]));
    }
    graph_close(&c);
}

static void the_bits_are_the_same_without_the_pass(void **state)
{
    (void)state;
    /* flat and other; k1 to k16; wide to r, of which two are one node's; a copy of turned, which is a view, for the
     * If */
    assert_int_equal(pass_compare("recipes", SC_PASS_RECIPES, 0, GRAPH_PORTS, NULL), 2 + 16 + 7 + 1);
}

static void results_are_right(void **state)
{
    (void)state;
    struct graph_case c;
    pass_open(&c, "recipes", 0);
    graph_run_and_expect_all(&c);
    graph_close(&c);
}

/* Its owner reads it from the file, others never. */
static void a_large_constant_lies_in_the_file(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "recipes");
    const struct sc_weight *single = weight_of(&c, "single");
    assert_non_null(single);
    assert_null(single->shape.data);
    assert_null(single->decoded);
    assert_int_equal(single->raw_bytes, 132 * 130 * 4);
    assert_in_range((uintptr_t)single->raw, (uintptr_t)c.model->files[0].data,
        (uintptr_t)c.model->files[0].data + c.model->files[0].bytes);
    assert_true(c.model->graph->nodes[0].dead);
    graph_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_read_weights_alone_become_recipes),
        cmocka_unit_test(other_dims_of_a_weight_are_the_same_bytes),
        cmocka_unit_test(what_would_be_large_or_long_and_outputs_stay_nodes),
        cmocka_unit_test(the_bits_are_the_same_without_the_pass),
        cmocka_unit_test(results_are_right),
        cmocka_unit_test(a_large_constant_lies_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
