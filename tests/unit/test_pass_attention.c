/* SPDX-License-Identifier: Apache-2.0
 * Claims about decomposed attention: when it is put together, what is left out, and that answers stay. */
#include <math.h>

#include "decode/rewrite.h"
#include "graph_case.h"

static const struct sc_node *the_attention(const struct sc_graph *graph)
{
    const struct sc_node *found = NULL;
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        if (!node->dead && strcmp(node->op, "Attention") == 0) {
            assert_null(found);
            found = node;
        }
    }
    return found;
}

static int n_live(const struct sc_graph *graph, const char *op)
{
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        n += !graph->nodes[i].dead && strcmp(graph->nodes[i].op, op) == 0;
    }
    return n;
}

static bool is_causal(const struct sc_node *node)
{
    int64_t causal;
    assert_ok(sc_node_int(node, "is_causal", 0, &causal));
    return causal != 0;
}

/* To what sums in another order may differ by: the values are below 100. */
static void run_and_compare(struct graph_case *c, int n_sets)
{
    static const struct sc_tolerance near = {.relative = 1e-5, .absolute = 1e-5};
    const struct sc_graph *graph = c->model->graph;
    assert_ok(sc_passes_run(c->model, c->kernels));
    graph_compile(c, NULL);
    for (int set = 0; set < n_sets; set++) {
        graph_read(c, set);
        assert_ok(sc_frame_run(c->frame, c->feeds, set));
        for (int o = 0; o < graph->n_outputs; o++) {
            if (sc_compare_values(graph->values[graph->outputs[o]].name, sc_frame_output(c->frame, o), &c->wanted[o],
                    &near) != SC_OK) {
                fail_msg("%s, set %d: %s", c->name, set, sc_error_last()->text);
            }
        }
    }
}

static void without_the_pass_the_parts_compute_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"attention_cached", "attention_where", "attention_later", "attention_watched",
        "attention_encoder", "attention_halves"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct graph_case c;
        graph_open(&c, names[k]);
        const struct sc_pass_options without = {.without = SC_PASS_ATTENTION};
        assert_ok(sc_passes_rewrite(c.model, &without));
        assert_null(the_attention(c.model->graph));
        run_and_compare(&c, graph_n_sets(&c));
        graph_close(&c);
    }
}

static void a_decoder_gets_paged_caches_and_no_mask(void **state)
{
    (void)state;
    static const char *const names[] = {"attention_cached", "attention_where", "attention_halves"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct graph_case c;
        struct sc_state_pair *pairs;
        int n;
        graph_open(&c, names[k]);
        const struct sc_graph *graph = c.model->graph;
        assert_ok(sc_decode_rewrite(c.model, NULL, &n, &pairs));
        assert_int_equal(n, 2);
        assert_true(pairs[0].kind == SC_STATE_PAGED && pairs[1].kind == SC_STATE_PAGED);
        const struct sc_node *node = the_attention(graph);
        assert_non_null(node);
        assert_true(is_causal(node));
        assert_int_equal(node->in[3], -1);
        float scale;
        assert_ok(sc_node_float(node, "scale", 0, &scale));
        assert_true(scale == 0.5625F);
        static const char *const gone[] = {"Softmax", "Range", "LessOrEqual", "Expand", "Unsqueeze", "Shape"};
        for (size_t g = 0; g < sizeof gone / sizeof gone[0]; g++) {
            assert_int_equal(n_live(graph, gone[g]), 0);
        }
        run_and_compare(&c, 3); /* the fourth set breaks the promise: it hides a key */
        graph_close(&c);
    }
}

static void origins_are_the_parts_and_end_with_the_second_product(void **state)
{
    (void)state;
    struct graph_case c;
    struct sc_state_pair *pairs;
    int n;
    graph_open(&c, "attention_cached");
    const struct sc_graph *graph = c.model->graph;
    static const char *const parts[] = {"present.0.key", "present.0.value", "scores", "p", "y"};
    int wanted[5];
    for (int p = 0; p < 5; p++) {
        wanted[p] = graph->values[sc_graph_find(graph, parts[p])].producer;
    }
    assert_ok(sc_decode_rewrite(c.model, NULL, &n, &pairs));
    const struct sc_node *node = the_attention(graph);
    assert_int_equal(node->n_origins, 5);
    assert_memory_equal(node->origins, wanted, sizeof wanted);
    assert_string_equal(graph->values[node->out[0]].name, "y");
    graph_close(&c);
}

/* Nobody has said that attention_mask is all ones, or how long it is next to the past. */
static void without_promises_the_scores_keep_their_mask(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "attention_cached");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    const struct sc_node *node = the_attention(c.model->graph);
    assert_true(!node || (!is_causal(node) && node->in[3] >= 0));
    run_and_compare(&c, 4);
    graph_close(&c);
}

static void a_mask_that_is_not_causal_stays(void **state)
{
    (void)state;
    struct graph_case c;
    struct sc_state_pair *pairs;
    int n;
    graph_open(&c, "attention_later");
    assert_ok(sc_decode_rewrite(c.model, NULL, &n, &pairs));
    const struct sc_node *node = the_attention(c.model->graph);
    assert_non_null(node);
    assert_false(is_causal(node));
    assert_string_equal(c.model->graph->values[node->in[3]].name, "bias");
    run_and_compare(&c, 4);
    graph_close(&c);
}

static void a_cache_that_others_read_stays_a_tensor(void **state)
{
    (void)state;
    struct graph_case c;
    struct sc_state_pair *pairs;
    int n;
    graph_open(&c, "attention_watched");
    struct sc_graph *graph = c.model->graph;
    graph->outputs[0] = sc_graph_find(graph, "other"); /* alive */
    assert_ok(sc_decode_rewrite(c.model, NULL, &n, &pairs));
    assert_int_equal(n, 2);
    assert_true(pairs[0].kind == SC_STATE_DENSE && pairs[1].kind == SC_STATE_DENSE);
    assert_null(the_attention(graph));
    graph_close(&c);
}

static void attention_without_a_cache_is_put_together(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "attention_encoder");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    const struct sc_node *node = the_attention(c.model->graph);
    assert_non_null(node);
    assert_int_equal(node->n_in, 4);
    assert_string_equal(c.model->graph->values[node->in[3]].name, "mask");
    assert_int_equal(n_live(c.model->graph, "MatMul"), 0);
    run_and_compare(&c, 2);
    graph_close(&c);
}

/* The body of the function Attention, which ends with a guard against rows that the mask hides whole. */
static void the_body_of_the_function_is_put_together_again(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "attention_guarded");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    const struct sc_node *node = the_attention(c.model->graph);
    assert_non_null(node);
    assert_int_equal(n_live(c.model->graph, "Where"), 0);
    float scale;
    assert_ok(sc_node_float(node, "scale", 0, &scale));
    assert_true(fabsf(scale - 0.5F) < 1e-6F);
    run_and_compare(&c, 1);
    graph_close(&c);
}

static void a_guard_by_another_mask_stays_in_parts(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "attention_guarded_elsewhere");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    assert_null(the_attention(c.model->graph));
    run_and_compare(&c, 1);
    graph_close(&c);
}

/* Whole models as both exporters of torch write them: nothing is promised of their inputs, and dims are symbols. */
static void attention_of_exported_models_is_put_together(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int attentions;
    } models[] = {{"bert_script12", 2}, {"bert_dynamo19", 2}, {"gpt2_script14", 2}, {"gpt2_dynamo20", 2},
        {"gpt2_eager_script13", 2}, {"llama_script17", 2}, {"llama_dynamo18", 2}, {"llama_half_dynamo18", 2},
        {"qwen2_script19", 2}, {"qwen2_dynamo20", 2}, {"t5_dynamo19", 6}, {"whisper_script15", 6},
        {"whisper_dynamo20", 6}};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        char path[128];
        snprintf(path, sizeof path, "../../exports/models/%s", models[m].name);
        struct sc_model *model = graph_model(path);
        assert_ok(sc_passes_rewrite(model, NULL));
        if (n_live(model->graph, "Attention") != models[m].attentions || n_live(model->graph, "Softmax") != 0) {
            fail_msg("%s: %d attentions, %d softmaxes left", models[m].name, n_live(model->graph, "Attention"),
                n_live(model->graph, "Softmax"));
        }
        sc_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_pass_the_parts_compute_the_same),
        cmocka_unit_test(a_decoder_gets_paged_caches_and_no_mask),
        cmocka_unit_test(origins_are_the_parts_and_end_with_the_second_product),
        cmocka_unit_test(without_promises_the_scores_keep_their_mask),
        cmocka_unit_test(a_mask_that_is_not_causal_stays),
        cmocka_unit_test(a_cache_that_others_read_stays_a_tensor),
        cmocka_unit_test(attention_without_a_cache_is_put_together),
        cmocka_unit_test(the_body_of_the_function_is_put_together_again),
        cmocka_unit_test(a_guard_by_another_mask_stays_in_parts),
        cmocka_unit_test(attention_of_exported_models_is_put_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
