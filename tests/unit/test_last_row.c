/* SPDX-License-Identifier: Apache-2.0
 * Claims about logits of the last token alone; that their bits stay is judged by tests/decoder. */
#include "decode/last_row.h"
#include "decode/rewrite.h"
#include "graph_case.h"

static struct sc_model *open_rewritten(const char *name, int *logits)
{
    struct sc_model *model = graph_model(name);
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    *logits = sc_graph_find(model->graph, "logits");
    assert_true(*logits >= 0);
    return model;
}

static const struct sc_node *producer(const struct sc_model *model, int value)
{
    assert_true(model->graph->values[value].producer >= 0);
    return &model->graph->nodes[model->graph->values[value].producer];
}

static void the_product_reads_one_row(void **state)
{
    (void)state;
    static const char *const names[] = {"../genai/llama", "../genai/int4"};
    for (int i = 0; i < 2; i++) {
        int logits;
        struct sc_model *model = open_rewritten(names[i], &logits);
        const int n_nodes = model->graph->n_nodes;
        assert_ok(sc_decode_last_row(model, logits));
        assert_int_equal(model->graph->n_nodes, n_nodes + 1);
        const struct sc_node *gather = producer(model, producer(model, logits)->in[0]);
        assert_string_equal(gather->op, "Gather");
        assert_int_equal(model->graph->values[logits].fact.dims[1], 1);
        sc_model_close(model);
    }
}

/* logits = 30 tanh(product / 30) */
static void a_cap_on_logits_is_of_one_row_too(void **state)
{
    (void)state;
    int logits;
    struct sc_model *model = open_rewritten("../genai/gemma2", &logits);
    assert_string_equal(producer(model, logits)->op, "Mul");
    assert_ok(sc_decode_last_row(model, logits));
    const struct sc_node *tanh_node = producer(model, producer(model, logits)->in[0]);
    assert_string_equal(tanh_node->op, "Tanh");
    const struct sc_node *product = producer(model, producer(model, tanh_node->in[0])->in[0]);
    assert_string_equal(product->op, "MatMul");
    assert_string_equal(producer(model, product->in[0])->op, "Gather");
    sc_model_close(model);
}

static void logits_that_others_read_stay(void **state)
{
    (void)state;
    int logits;
    struct sc_model *model = open_rewritten("../genai/llama", &logits);
    struct sc_graph *graph = model->graph;
    graph->outputs[1] = logits; /* twice an output */
    const int n_nodes = graph->n_nodes;
    assert_ok(sc_decode_last_row(model, logits));
    assert_int_equal(graph->n_nodes, n_nodes);
    sc_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_product_reads_one_row),
        cmocka_unit_test(a_cap_on_logits_is_of_one_row_too),
        cmocka_unit_test(logits_that_others_read_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
