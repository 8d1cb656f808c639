/* SPDX-License-Identifier: Apache-2.0
 * Which values a node may read and make: order, cycles, scopes of bodies, outputs. */
#include "model_case.h"

static void use_before_definition_names_node_and_value(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0};
    add_node(&graph, "Neg", "t", "y");
    add_node(&graph, "Abs", "x", "t");
    refused_graph(&graph, "node 'y' (Neg): input 't' is made by node 't', which comes later");
}

static void cycles_are_refused(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0}, self = {.n = 0};
    add_node(&graph, "Add", "x b", "a");
    add_node(&graph, "Neg", "a", "b");
    add_node(&graph, "Neg", "b", "y");
    refused_graph(&graph, "cycle");
    add_node(&self, "Add", "x y", "y");
    refused_graph(&self, "its own output");
}

static void undefined_names_are_refused(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0}, no_output = {.n = 0};
    add_node(&graph, "Add", "x nothing", "y");
    refused_graph(&graph, "input 'nothing' is not defined");
    add_node(&no_output, "Neg", "x", "z");
    refused_graph(&no_output, "output 'y'");
}

static void a_value_is_assigned_once(void **state)
{
    (void)state;
    struct bytes nodes = {.n = 0}, input = {.n = 0}, weights = {.n = 0};
    add_node(&nodes, "Neg", "x", "y");
    add_node(&nodes, "Abs", "x", "y");
    refused_graph(&nodes, "'y' is defined twice");
    add_node(&input, "Neg", "x", "x");
    refused_graph(&input, "'x' is defined twice");
    add_weight(&weights, "w");
    add_weight(&weights, "w");
    refused_graph(&weights, "'w' is defined twice");
}

/* An If whose branches are [t] → o = Neg(name), in a graph with x. */
static struct bytes branch(const char *inside)
{
    struct bytes body = {.n = 0};
    const struct bytes o = value_info("o", 1, 1, (const int64_t[]){2}, NULL);
    add_node(&body, "Neg", inside, "o");
    put_text(&body, 2, "branch");
    put_message(&body, 12, &o);
    return body;
}

static void add_if(struct bytes *graph, const struct bytes *body, const char *out)
{
    struct bytes n = node("If", "c", out);
    static const char *const names[] = {"then_branch", "else_branch"};
    for (int i = 0; i < 2; i++) {
        struct bytes attribute = {.n = 0};
        put_text(&attribute, 1, names[i]);
        put_int(&attribute, 20, 5);
        put_message(&attribute, 6, body);
        put_message(&n, 5, &attribute);
    }
    put_message(graph, 1, &n);
}

static void add_condition(struct bytes *graph)
{
    struct bytes c = tensor_head("c", 9, 0, NULL);
    put_bytes(&c, 9, "\x01", 1);
    put_message(graph, 5, &c);
}

static void bodies_see_outer_values(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0};
    const struct bytes inner = branch("x");
    struct bytes middle = {.n = 0};
    add_if(&middle, &inner, "o"); /* x and c pass through the middle body */
    const struct bytes o = value_info("o", 1, 1, (const int64_t[]){2}, NULL);
    put_message(&middle, 12, &o);
    add_condition(&graph);
    add_if(&graph, &middle, "y");
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 8, 17);
    struct sc_model *model = opened(&b);
    const struct sc_graph *body = sc_node_attribute(&model->graph->nodes[0], "then_branch")->u.graph;
    const struct sc_graph *deep = sc_node_attribute(&body->nodes[0], "else_branch")->u.graph;
    assert_ptr_equal(body->outer, model->graph);
    assert_ptr_equal(deep->outer, body);
    const struct sc_graph_value *x = &deep->values[sc_graph_find(deep, "x")];
    assert_int_equal(x->place, SC_PLACE_OUTER);
    assert_string_equal(body->values[x->outer].name, "x");
    assert_int_equal(body->values[x->outer].place, SC_PLACE_OUTER);
    assert_int_equal(body->values[x->outer].outer, sc_graph_find(model->graph, "x"));
    assert_int_equal(x->fact.kind, SC_KIND_TENSOR);
    assert_int_equal(x->fact.dims[0], 2);
    assert_int_equal(deep->nodes[0].origins[0], 0);
    assert_true(deep->nodes[0].index >= model->n_file_nodes);
    sc_model_close(model);
}

static void bodies_do_not_see_later_or_inner_values(void **state)
{
    (void)state;
    struct bytes later = {.n = 0}, inner = {.n = 0};
    const struct bytes uses_t = branch("t"), good = branch("x");
    add_condition(&later);
    add_if(&later, &uses_t, "y");
    add_node(&later, "Neg", "x", "t");
    refused_graph(&later, "input 't' is not defined");
    add_condition(&inner);
    add_if(&inner, &good, "u");
    add_node(&inner, "Neg", "o", "y"); /* o lives in the branches */
    refused_graph(&inner, "input 'o' is not defined");
}

/* A body of one node, Neg(in) → out, whose output is `result`. */
static struct bytes body_of(const char *in, const char *out, const char *result)
{
    struct bytes body = {.n = 0};
    const struct bytes o = value_info(result, 1, 1, (const int64_t[]){2}, NULL);
    add_node(&body, "Neg", in, out);
    put_text(&body, 2, "branch");
    put_message(&body, 12, &o);
    return body;
}

static void bodies_may_not_take_names_that_they_see(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0}, deep = {.n = 0}, middle = {.n = 0}, later = {.n = 0};
    const struct bytes shadows = body_of("c", "x", "x"), fine = body_of("x", "t", "t");
    add_condition(&graph);
    add_if(&graph, &shadows, "y");
    refused_graph(&graph, "node 'x' (Neg): output 'x' has the name of a value outside the body");
    const struct bytes o = value_info("o", 1, 1, (const int64_t[]){2}, NULL);
    add_if(&middle, &shadows, "o");
    put_message(&middle, 12, &o);
    add_condition(&deep);
    add_if(&deep, &middle, "y");
    refused_graph(&deep, "output 'x' has the name of a value outside the body");
    add_condition(&later); /* t and y come after the body, which therefore does not see them */
    add_if(&later, &fine, "u");
    add_node(&later, "Neg", "x", "t");
    add_node(&later, "Neg", "t", "y");
    close_graph(&later);
    const struct bytes b = model_of(&later, 8, 17);
    sc_model_close(opened(&b));
}

static void outputs_are_values_of_their_own_graph(void **state)
{
    (void)state;
    struct bytes outside = {.n = 0}, nowhere = {.n = 0}, input = {.n = 0}, twice = {.n = 0};
    const struct bytes gives_x = body_of("x", "t", "x"), gives_none = body_of("x", "t", "q");
    add_condition(&outside);
    add_if(&outside, &gives_x, "y");
    refused_graph(&outside, "output 'x' of graph 'branch' is a value outside it");
    add_condition(&nowhere);
    add_if(&nowhere, &gives_none, "y");
    refused_graph(&nowhere, "output 'q' of graph 'branch' is not made by any of its nodes");
    const struct bytes x = value_info("x", 1, 1, (const int64_t[]){2}, NULL);
    put_message(&input, 12, &x);
    put_message(&input, 11, &x);
    const struct bytes b = model_of(&input, 8, 17);
    sc_model_close(opened(&b)); /* an input is one of its values */
    put_message(&twice, 11, &x);
    put_message(&twice, 11, &x);
    const struct bytes c = model_of(&twice, 8, 17);
    refused(&c, SC_BAD_MODEL, "value 'x' is defined twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_before_definition_names_node_and_value),
        cmocka_unit_test(cycles_are_refused),
        cmocka_unit_test(undefined_names_are_refused),
        cmocka_unit_test(a_value_is_assigned_once),
        cmocka_unit_test(bodies_see_outer_values),
        cmocka_unit_test(bodies_do_not_see_later_or_inner_values),
        cmocka_unit_test(bodies_may_not_take_names_that_they_see),
        cmocka_unit_test(outputs_are_values_of_their_own_graph),
    };
    return cmocka_run_group_tests(tests, make_case_folder, remove_case_folder);
}
