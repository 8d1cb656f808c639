/* SPDX-License-Identifier: Apache-2.0
 * Claims about scales and shifts behind products: which are taken in, and what that does to the outputs. */
#include <math.h>

#include "pass_case.h"

enum {
    NORM_MUL_ADD,
    BIAS_ADD,
    ADD,
    TRANSPOSED,
    GEMM,
    LARGE,
    SHOWN,
    AFTER_SHOWN,
    READ_TWICE,
    BY_PLACE,
    TO_MINUS,
    WIDENED
};

/* Weights and sums each rounded once more: a few 2^-24 of sums of up to 130 terms. */
static const struct sc_tolerance rounding = {.relative = 1e-5, .absolute = 1e-3};

static const char *maker(const struct graph_case *c, int output)
{
    const struct sc_graph *graph = c->model->graph;
    return graph->nodes[graph->values[graph->outputs[output]].producer].op;
}

static void expect_near(struct graph_case *c)
{
    const struct sc_graph *graph = c->model->graph;
    const int n_sets = graph_n_sets(c);
    assert_true(n_sets > 0);
    for (int set = 0; set < n_sets; set++) {
        graph_read(c, set);
        assert_ok(sc_frame_run(c->frame, c->feeds, set));
        for (int o = 0; o < graph->n_outputs; o++) {
            const char *output = graph->values[graph->outputs[o]].name;
            if (sc_compare_values(output, sc_frame_output(c->frame, o), &c->wanted[o], &rounding) != SC_OK) {
                fail_msg("%s, set %d: %s", c->name, set, sc_error_last()->text);
            }
        }
    }
}

static void scales_and_shifts_of_channels_are_taken_in(void **state)
{
    (void)state;
    struct graph_case c;
    pass_open(&c, "conv_norm", 0);
    static const char *const makers[] = {"Relu", "Conv", "Conv", "ConvTranspose", "Gemm", "Conv", "Conv",
        "BatchNormalization", "Sub", "Mul", "Sub", "Add"};
    for (int o = NORM_MUL_ADD; o <= WIDENED; o++) {
        assert_string_equal(maker(&c, o), makers[o]);
    }
    assert_int_equal(sc_program_n_steps(c.program), 6 + 1 + 2 + 3 + 2 + 2 + 2);
    expect_near(&c);
    graph_close(&c);
}

static void without_the_pass_all_steps_are_there(void **state)
{
    (void)state;
    struct graph_case c;
    pass_open(&c, "conv_norm", SC_PASS_CONV_NORM);
    assert_int_equal(sc_program_n_steps(c.program), 27);
    expect_near(&c);
    graph_close(&c);
}

static void a_shift_alone_gives_the_same_bits(void **state)
{
    (void)state;
    assert_int_equal(pass_compare("conv_norm", SC_PASS_CONV_NORM, ADD, ADD, NULL), 9);
    pass_compare("conv_norm", SC_PASS_CONV_NORM, SHOWN, WIDENED, NULL); /* what is left alone */
}

static void the_others_differ_by_rounding(void **state)
{
    (void)state;
    pass_compare("conv_norm", SC_PASS_CONV_NORM, NORM_MUL_ADD, LARGE, &rounding);
}

/* Weights that a pass does not read have no content in their facts, before and after. */
static void large_weights_become_a_recipe(void **state)
{
    (void)state;
    struct graph_case c;
    struct sc_tensor tensor;
    graph_open(&c, "conv_norm");
    const struct sc_graph *graph = c.model->graph;
    const int old = sc_graph_find(graph, "wl");
    assert_null(graph->values[old].fact.value);
    assert_ok(sc_passes_run(c.model, c.kernels));
    const struct sc_node *node = &graph->nodes[graph->values[graph->outputs[LARGE]].producer];
    const struct sc_weight *weight = &graph->weights[graph->values[node->in[1]].weight];
    assert_non_null(weight->recipe);
    assert_null(weight->shape.data);
    assert_null(graph->values[node->in[1]].fact.value);
    assert_ptr_equal(weight->recipe->source.raw, graph->weights[graph->values[old].weight].raw);
    const float *scale = graph->values[sc_graph_find(graph, "l0")].fact.value->data;
    const float *variance = graph->values[sc_graph_find(graph, "l3")].fact.value->data;
    struct sc_tensor source;
    assert_ok(sc_weight_tensor(weight, &c.arena, &tensor));
    assert_ok(sc_weight_tensor(&weight->recipe->source, &c.arena, &source));
    for (int i = 0; i < 132 * 128; i++) {
        const double factor = (double)scale[i / 128] / sqrt((double)variance[i / 128] + (double)1e-5F);
        assert_true(((const float *)tensor.data)[i] == (float)(factor * (double)((const float *)source.data)[i]));
    }
    graph_close(&c);
}

/* A plan that names the last node has the others with it. */
static void origins_end_with_the_last_node(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "conv_norm");
    const struct sc_graph *graph = c.model->graph;
    assert_ok(sc_passes_run(c.model, c.kernels));
    const struct sc_node *relu = &graph->nodes[graph->values[graph->outputs[NORM_MUL_ADD]].producer];
    const struct sc_graph_value *a1 = &graph->values[relu->in[0]];
    const struct sc_node *conv = &graph->nodes[a1->producer];
    const int wanted[] = {0, 1, 2, 3};
    assert_string_equal(a1->name, "a1");
    assert_int_equal(conv->n_origins, 4);
    assert_memory_equal(conv->origins, wanted, sizeof wanted);
    graph_close(&c);
}

static void old_versions_are_taken_in_unless_statistics_are_of_places(void **state)
{
    (void)state;
    struct graph_case c;
    pass_open(&c, "conv_norm_old", 0);
    assert_string_equal(maker(&c, 0), "Conv");
    assert_string_equal(maker(&c, 1), "BatchNormalization");
    expect_near(&c);
    graph_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_and_shifts_of_channels_are_taken_in),
        cmocka_unit_test(without_the_pass_all_steps_are_there),
        cmocka_unit_test(a_shift_alone_gives_the_same_bits),
        cmocka_unit_test(the_others_differ_by_rounding),
        cmocka_unit_test(large_weights_become_a_recipe),
        cmocka_unit_test(origins_end_with_the_last_node),
        cmocka_unit_test(old_versions_are_taken_in_unless_statistics_are_of_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
