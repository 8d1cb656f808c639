/* SPDX-License-Identifier: Apache-2.0
 * Claims about lengths that caches know: they are left out where inputs are promised, and only there. */
#include "decode/rewrite.h"
#include "graph_case.h"

static int n_live(const struct sc_graph *graph, const char *op)
{
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        n += !graph->nodes[i].dead && strcmp(graph->nodes[i].op, op) == 0;
    }
    return n;
}

static int n_readers(const struct sc_graph *graph, const char *name)
{
    const int value = sc_graph_find(graph, name);
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        for (int p = 0; p < graph->nodes[i].n_in && !graph->nodes[i].dead; p++) {
            n += graph->nodes[i].in[p] == value;
        }
    }
    return n;
}

static void a_mask_of_ones_is_no_longer_read(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../genai/llama");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    assert_int_equal(n_live(model->graph, "GroupQueryAttention"), 2);
    assert_int_equal(n_readers(model->graph, "attention_mask"), 0);
    assert_int_equal(n_live(model->graph, "ReduceSum") + n_live(model->graph, "Sub"), 0);
    sc_model_close(model);
}

static void without_promises_the_operator_is_told(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../genai/llama");
    assert_ok(sc_passes_rewrite(model, NULL));
    assert_int_equal(n_readers(model->graph, "attention_mask"), 2);
    assert_int_equal(n_live(model->graph, "ReduceSum"), 1);
    sc_model_close(model);
}

/* One less is not taken off: the count is not what the operator wants. */
static void another_sum_is_not_taken_for_the_length(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../genai/llama");
    struct sc_state_pair *pairs;
    int n;
    for (int i = 0; i < model->graph->n_nodes; i++) {
        if (strcmp(model->graph->nodes[i].op, "Sub") == 0) {
            model->graph->nodes[i].op = "Add";
        }
    }
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    assert_int_equal(n_readers(model->graph, "attention_mask"), 2);
    sc_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_of_ones_is_no_longer_read),
        cmocka_unit_test(without_promises_the_operator_is_told),
        cmocka_unit_test(another_sum_is_not_taken_for_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
