/* SPDX-License-Identifier: Apache-2.0
 * Gradients against numeric differentiation in double for each rule, against numpy for what is fed, and what is
 * refused. */
#include <math.h>

#include "graph_case.h"

static void prepare(struct graph_case *c, const char *name)
{
    graph_open(c, name);
    assert_ok(sc_passes_rewrite(c->model, NULL));
    const struct sc_graph *graph = c->model->graph;
    for (int n = 0; n < graph->n_nodes; n++) {
        assert_string_not_equal(graph->nodes[n].op, "Gradient");
    }
    assert_ok(sc_passes_run(c->model, c->kernels));
    graph_compile(c, NULL);
}

static int output_of(const struct sc_graph *graph, const char *name, size_t length)
{
    for (int o = 0; o < graph->n_outputs; o++) {
        const char *output = graph->values[graph->outputs[o]].name;
        if (strlen(output) == length && memcmp(output, name, length) == 0) {
            return o;
        }
    }
    return -1;
}

/* All scalar outputs when element `at` of an input is moved by `step`. */
static void run_moved(struct graph_case *c, int input, int64_t at, double step, double *scalars)
{
    double *element = (double *)c->inputs[input].u.tensor.data + at;
    const double before = *element;
    *element += step;
    assert_ok(sc_frame_run(c->frame, c->feeds, 1));
    for (int o = 0; o < c->model->graph->n_outputs; o++) {
        const struct sc_tensor *tensor = &sc_frame_output(c->frame, o)->u.tensor;
        scalars[o] = tensor->rank == 0 ? *(const double *)tensor->data : 0;
    }
    *element = before;
}

enum { MAX_OUTPUTS = 512, MAX_ELEMENTS = 40 };

/* Holds the gradients with respect to one input, "y/x", against differences of "y" at two distances, of which the
 * error is of the fourth order in h, and 1e-16 / h. Returns how many were held. */
static int check_input(struct graph_case *c, int input)
{
    static double gradients[MAX_OUTPUTS][MAX_ELEMENTS], moved[4][MAX_OUTPUTS];
    static const double steps[4] = {1, -1, 2, -2};
    const double h = 1e-4;
    const struct sc_graph *graph = c->model->graph;
    const char *x = graph->values[graph->inputs[input]].name;
    const int64_t n = sc_tensor_count(&c->inputs[input].u.tensor);
    assert_in_range(graph->n_outputs, 1, MAX_OUTPUTS);
    assert_ok(sc_frame_run(c->frame, c->feeds, 0));
    for (int o = 0; o < graph->n_outputs; o++) {
        const struct sc_tensor *tensor = &sc_frame_output(c->frame, o)->u.tensor;
        const char *slash = strchr(graph->values[graph->outputs[o]].name, '/');
        if (slash && strcmp(slash + 1, x) == 0) {
            assert_true(sc_dims_equal(tensor, &c->inputs[input].u.tensor));
            memcpy(gradients[o], tensor->data, (size_t)n * sizeof(double));
        }
    }
    int held = 0;
    for (int64_t at = 0; at < n; at++) {
        for (int k = 0; k < 4; k++) {
            run_moved(c, input, at, steps[k] * h, moved[k]);
        }
        for (int o = 0; o < graph->n_outputs; o++) {
            const char *name = graph->values[graph->outputs[o]].name, *slash = strchr(name, '/');
            if (!slash || strcmp(slash + 1, x) != 0) {
                continue;
            }
            const int y = output_of(graph, name, (size_t)(slash - name));
            assert_true(y >= 0);
            const double wanted = (8 * (moved[0][y] - moved[1][y]) - (moved[2][y] - moved[3][y])) / (12 * h);
            const double allowed = strncmp(name, "float_", 6) == 0 ? 1e-6 : 1e-9; /* its operators have no double */
            if (!(fabs(gradients[o][at] - wanted) <= allowed * (1 + fabs(wanted)))) {
                fail_msg("%s[%d] is %.12g, numerically %.12g", name, (int)at, gradients[o][at], wanted);
            }
            held++;
        }
    }
    return held;
}

static void check_rules(const char *name, int wanted)
{
    struct graph_case c;
    prepare(&c, name);
    const struct sc_graph *graph = c.model->graph;
    graph_read_ports(&c, 0, "input", graph->n_inputs, graph->inputs, c.inputs);
    int held = 0;
    for (int i = 0; i < graph->n_inputs; i++) {
        c.feeds[i] = &c.inputs[i];
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        held += check_input(&c, i);
    }
    assert_int_equal(held, wanted); /* elements of all gradients of the model */
    graph_close(&c);
}

static void every_rule_agrees_with_differences(void **state)
{
    (void)state;
    check_rules("gradient_rules", 676);
    check_rules("gradient_layers", 3909);
}

static void dims_may_be_open(void **state)
{
    (void)state;
    check_rules("gradient_open", 676);
    check_rules("gradient_layers_open", 3762);
}

static void what_is_fed_counts(void **state)
{
    (void)state;
    struct graph_case c;
    prepare(&c, "gradient_fed");
    graph_run_and_expect(&c, 0);
    graph_close(&c);
}

static void bad_gradients_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum sc_status code;
        const char *words;
    } bad[] = {
        {"gradient_no_tensor", SC_BAD_MODEL, "(Gradient): xs names 'no', which is no tensor here"},
        {"gradient_twice", SC_BAD_MODEL, "(Gradient): 'x' is named twice"},
        {"gradient_count", SC_BAD_MODEL, "(Gradient): has 1 inputs and 1 outputs, want 2 and at most 1"},
        {"gradient_dependent", SC_BAD_MODEL, "another of xs and zs follows from 'x'"},
        {"gradient_unlisted", SC_BAD_MODEL, "'y' depends on 'w', which is neither in xs nor in zs"},
        {"gradient_no_rule", SC_UNSUPPORTED, "node 'y' (Hardmax): has no derivative here: no rule for this operator"},
        {"gradient_resize", SC_UNSUPPORTED, "node 'y' (Resize): has no derivative here: its mode is not nearest"},
        {"gradient_indices", SC_UNSUPPORTED, "node 'y' (TopK): has no derivative here: its indices have no name"},
        {"gradient_training", SC_UNSUPPORTED,
            "(Dropout): has no derivative here: training_mode is not known to be false"},
        {"gradient_integers", SC_BAD_MODEL, "'i' has type int64, which has no derivative"},
        {"gradient_body", SC_UNSUPPORTED, "node 'y' (If): has no derivative here: it depends on them through a body"},
        {"gradient_function", SC_UNSUPPORTED, "comes out of a function or a branch"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct graph_case c;
        graph_open(&c, bad[i].name);
        assert_fails(bad[i].code, bad[i].words, sc_passes_rewrite(c.model, NULL));
        graph_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_agrees_with_differences),
        cmocka_unit_test(dims_may_be_open),
        cmocka_unit_test(what_is_fed_counts),
        cmocka_unit_test(bad_gradients_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
