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

static void a_mask_of_ones_beside_a_joined_cache_goes_too(void **state)
{
    (void)state;
    struct sc_model *told = graph_model("../genai/gpt2"), *promised = graph_model("../genai/gpt2");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_passes_rewrite(told, NULL));
    assert_int_equal(n_readers(told->graph, "attention_mask"), 2);
    assert_ok(sc_decode_rewrite(promised, NULL, &n, &pairs));
    assert_int_equal(n_readers(promised->graph, "attention_mask"), 0);
    sc_model_close(told);
    sc_model_close(promised);
}

static void what_shared_buffers_are_told_is_no_longer_read(void **state)
{
    (void)state;
    static const char *const told[] = {"attention_mask", "past_sequence_length", "beam_width", "cache_indirection"};
    struct sc_model *told_so = graph_model("../genai/masked"), *promised = graph_model("../genai/masked");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_passes_rewrite(told_so, NULL));
    assert_ok(sc_decode_rewrite(promised, NULL, &n, &pairs));
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        assert_int_equal(n_readers(told_so->graph, told[i]), 2);
        assert_int_equal(n_readers(promised->graph, told[i]), 0);
    }
    sc_model_close(told_so);
    sc_model_close(promised);
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

static const struct sc_node *the_multi_head(const struct sc_graph *graph)
{
    for (int i = 0; i < graph->n_nodes; i++) {
        if (!graph->nodes[i].dead && strcmp(graph->nodes[i].op, "MultiHeadAttention") == 0) {
            return &graph->nodes[i];
        }
    }
    fail();
    return NULL;
}

/* MultiHeadAttention with flags of keys and a causal bias: both go, and the answers stay. */
static void masks_of_an_operator_that_say_what_it_knows_go(void **state)
{
    (void)state;
    for (int promised = 0; promised < 2; promised++) {
        static const struct sc_tolerance near = {.relative = 1e-5, .absolute = 2e-5};
        struct graph_case c;
        struct sc_state_pair *pairs;
        int n;
        int64_t causal;
        graph_open(&c, "masks_operator");
        const struct sc_graph *graph = c.model->graph;
        assert_ok(promised ? sc_decode_rewrite(c.model, NULL, &n, &pairs) : sc_passes_rewrite(c.model, NULL));
        const struct sc_node *node = the_multi_head(graph);
        assert_ok(sc_node_int(node, "unidirectional", 0, &causal));
        assert_int_equal(causal, promised);
        assert_int_equal(node->in[4] < 0, promised);
        assert_int_equal(node->in[5] < 0, promised);
        assert_true(!promised || (pairs[0].kind == SC_STATE_PAGED && pairs[1].kind == SC_STATE_PAGED));
        assert_ok(sc_passes_run(c.model, c.kernels));
        graph_compile(&c, NULL);
        for (int set = 0; set < graph_n_sets(&c); set++) {
            graph_read(&c, set);
            assert_ok(sc_frame_run(c.frame, c.feeds, set));
            for (int o = 0; o < graph->n_outputs; o++) {
                assert_ok(sc_compare_values("", sc_frame_output(c.frame, o), &c.wanted[o], &near));
            }
        }
        graph_close(&c);
    }
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
        cmocka_unit_test(a_mask_of_ones_beside_a_joined_cache_goes_too),
        cmocka_unit_test(what_shared_buffers_are_told_is_no_longer_read),
        cmocka_unit_test(without_promises_the_operator_is_told),
        cmocka_unit_test(masks_of_an_operator_that_say_what_it_knows_go),
        cmocka_unit_test(another_sum_is_not_taken_for_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
