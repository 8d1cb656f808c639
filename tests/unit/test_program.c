/* SPDX-License-Identifier: Apache-2.0
 * Claims about compiling: parts of a graph, dense copies, weights, what is refused. */
#include "exec/step.h"
#include "graph_case.h"

static struct sc_program_spec whole(const struct graph_case *c)
{
    const struct sc_graph *graph = c->model->graph;
    return (struct sc_program_spec){.model = c->model,
        .graph = graph,
        .n_inputs = graph->n_inputs,
        .inputs = graph->inputs,
        .n_outputs = graph->n_outputs,
        .outputs = graph->outputs,
        .kernels = c->kernels};
}

static int count_dense(const struct sc_program *program)
{
    int n = 0;
    for (int s = 0; s < program->n_steps; s++) {
        n += program->steps[s].op == &sc_op_dense;
    }
    return n;
}

static void each_strided_value_is_made_dense_once(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "views");
    /* t and back are outputs, s is read by Neg, own_t by Reshape; wide was folded, own_flat shows the copy of own_t */
    assert_int_equal(count_dense(c.program), 4);
    graph_close(&c);
}

static void no_copy_is_made_without_views(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open_compiled(&c, "skipping");
    assert_int_equal(count_dense(c.program), 0);
    assert_int_equal(sc_program_n_steps(c.program), 6);
    graph_close(&c);
}

/* Nodes 2.. of "skipping", fed with what the first two make. */
static void a_part_of_a_graph_runs_on_what_it_is_fed(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "skipping");
    assert_ok(sc_passes_run(c.model, c.kernels));
    const struct sc_graph *graph = c.model->graph;
    const int nodes[] = {2, 3, 4, 5};
    const int inputs[] = {sc_graph_find(graph, "a"), sc_graph_find(graph, "b"), sc_graph_find(graph, "z")};
    const int outputs[] = {sc_graph_find(graph, "y")};
    struct sc_program_spec spec = whole(&c);
    spec.n_nodes = 4;
    spec.nodes = nodes;
    spec.n_inputs = 3;
    spec.inputs = inputs;
    spec.n_outputs = 1;
    spec.outputs = outputs;
    assert_ok(sc_program_compile(&spec, &c.program));
    assert_int_equal(sc_program_n_steps(c.program), 4);
    assert_ok(sc_program_load(c.program, NULL));
    assert_ok(sc_frame_create(c.program, &(struct sc_frame_options){.team = NULL}, &c.frame));
    const int64_t two = 2;
    float a[] = {2, -6}, b[] = {-2, 6}, z[] = {1, 100};
    float *data[] = {a, b, z};
    for (int i = 0; i < 3; i++) {
        c.inputs[i].kind = SC_KIND_TENSOR;
        sc_tensor_init(&c.inputs[i].u.tensor, SC_F32, 1, &two);
        c.inputs[i].u.tensor.data = data[i];
        c.feeds[i] = &c.inputs[i];
    }
    assert_ok(sc_frame_run(c.frame, c.feeds, 0));
    const float *y = sc_frame_output(c.frame, 0)->u.tensor.data; /* |b a - z| + a */
    assert_true(y[0] == 7.0F && y[1] == 130.0F);
    graph_close(&c);
}

static void a_part_that_is_not_fed_all_it_reads_is_refused(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "skipping");
    const int nodes[] = {2, 3, 4, 5};
    struct sc_program_spec spec = whole(&c);
    spec.n_nodes = 4;
    spec.nodes = nodes;
    assert_fails(SC_INTERNAL, "'b'", sc_program_compile(&spec, &c.program));
    graph_close(&c);
}

static void an_unknown_operator_is_refused_by_name(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "skipping");
    c.model->graph->nodes[3].op = "Subtraction";
    const struct sc_program_spec spec = whole(&c);
    assert_fails(SC_UNSUPPORTED, "Subtraction", sc_program_compile(&spec, &c.program));
    c.model->graph->nodes[3].op = "Sub";
    c.model->graph->nodes[3].domain = "com.example";
    assert_fails(SC_UNSUPPORTED, "com.example.Sub", sc_program_compile(&spec, &c.program));
    graph_close(&c);
}

static void an_unknown_operator_in_a_body_is_refused_by_name(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "nested_if");
    struct sc_node *node = &c.model->graph->nodes[1];
    assert_string_equal(node->op, "If");
    ((struct sc_graph *)node->attributes[0].u.graph)->nodes[0].op = "Mystery";
    const struct sc_program_spec spec = whole(&c);
    assert_fails(SC_UNSUPPORTED, "Mystery", sc_program_compile(&spec, &c.program));
    graph_close(&c);
}

static void weights_are_counted_with_those_of_bodies(void **state)
{
    (void)state;
    struct graph_case c;
    int64_t own, mapped;
    graph_open_compiled(&c, "nested_if"); /* w: 3 floats; zero, two: one int64 each */
    sc_program_weight_bytes(c.program, &own, &mapped);
    assert_int_equal(own + mapped, 12 + 8 + 8);
    graph_close(&c);
}

static void a_weight_that_no_node_of_a_part_reads_costs_nothing(void **state)
{
    (void)state;
    struct graph_case c;
    int64_t own, mapped;
    graph_open(&c, "nested_if");
    assert_ok(sc_passes_run(c.model, c.kernels));
    const int nodes[] = {0, 3};
    const int outputs[] = {sc_graph_find(c.model->graph, "u")};
    struct sc_program_spec spec = whole(&c);
    spec.n_nodes = 2;
    spec.nodes = nodes;
    spec.n_outputs = 1;
    spec.outputs = outputs;
    assert_ok(sc_program_compile(&spec, &c.program));
    assert_ok(sc_program_load(c.program, NULL));
    sc_program_weight_bytes(c.program, &own, &mapped);
    assert_int_equal(own + mapped, 0);
    graph_close(&c);
}

static void a_weight_that_a_program_beside_has_is_used_from_there(void **state)
{
    (void)state;
    struct graph_case c;
    int64_t own, mapped;
    graph_open_compiled(&c, "recipes");
    graph_run_and_expect(&c, 0);
    sc_program_weight_bytes(c.program, &own, &mapped);
    assert_true(own > 100000);
    struct sc_program *first = c.program;
    struct sc_program *const beside[] = {first};
    struct sc_program_spec spec = whole(&c);
    spec.n_beside = 1;
    spec.beside = beside;
    assert_ok(sc_program_compile(&spec, &c.program));
    assert_ok(sc_program_load(c.program, NULL));
    sc_program_weight_bytes(c.program, &own, &mapped);
    assert_int_equal(own + mapped, 0);
    sc_frame_free(c.frame);
    assert_ok(sc_frame_create(c.program, &(struct sc_frame_options){.team = NULL}, &c.frame));
    graph_run_and_expect(&c, 0);
    graph_close(&c);
    sc_program_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_strided_value_is_made_dense_once),
        cmocka_unit_test(no_copy_is_made_without_views),
        cmocka_unit_test(a_part_of_a_graph_runs_on_what_it_is_fed),
        cmocka_unit_test(a_part_that_is_not_fed_all_it_reads_is_refused),
        cmocka_unit_test(an_unknown_operator_is_refused_by_name),
        cmocka_unit_test(an_unknown_operator_in_a_body_is_refused_by_name),
        cmocka_unit_test(weights_are_counted_with_those_of_bodies),
        cmocka_unit_test(a_weight_that_no_node_of_a_part_reads_costs_nothing),
        cmocka_unit_test(a_weight_that_a_program_beside_has_is_used_from_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
