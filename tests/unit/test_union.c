/* SPDX-License-Identifier: Apache-2.0
 * Claims about models in several files: what is joined, what is left out, what is kept once. */
#include "decode/rewrite.h"
#include "passes/join.h"
#include "union_case.h"

static bool has_value(const struct union_case *f, const char *name)
{
    return sc_graph_find(f->model->graph, name) >= 0;
}

static void a_merged_decoder_gives_steps_and_what_makes_constants(void **state)
{
    struct union_case f;
    (void)state;
    union_open(&f, "t5_optimum15");
    assert_true(has_value(&f, "encoder:input_ids"));
    assert_true(has_value(&f, "encoder:last_hidden_state"));
    assert_true(has_value(&f, "cross:present.1.encoder.value"));
    assert_true(has_value(&f, "past_key_values.1.encoder.value"));
    assert_true(has_value(&f, "logits"));
    /* the decoder that runs once is left out but for its products with what the encoder says */
    assert_false(has_value(&f, "cross:logits"));
    assert_false(has_value(&f, "cross:input_ids"));
    assert_false(has_value(&f, "use_cache_branch"));
    for (int o = 0; o < f.model->graph->n_outputs; o++) {
        assert_string_not_equal(f.model->graph->values[f.model->graph->outputs[o]].name, "encoder:last_hidden_state");
    }
    union_close(&f);
}

static int count_pairs(const struct sc_state_pair *pairs, int n, enum sc_state_kind kind)
{
    int count = 0;
    for (int p = 0; p < n; p++) {
        count += pairs[p].kind == kind;
    }
    return count;
}

static void caches_are_paged_and_cross_attention_is_constant(void **state)
{
    struct union_case f;
    struct sc_state_pair *pairs;
    int n;
    (void)state;
    union_open(&f, "t5_optimum15");
    assert_ok(sc_decode_rewrite(f.model, NULL, &n, &pairs));
    assert_int_equal(n, 8);
    assert_int_equal(count_pairs(pairs, n, SC_STATE_PAGED), 4);
    assert_int_equal(count_pairs(pairs, n, SC_STATE_CONSTANT), 4);
    union_close(&f);
}

/* MultiHeadAttention gives keys and values back beside its result, and its steps are told the length of the past by a
 * cache. */
static void fused_attention_is_no_other(void **state)
{
    struct union_case f;
    struct sc_state_pair *pairs;
    int n;
    bool apart;
    (void)state;
    union_folder(&f);
    union_link(&f, "whisper_fused17_encoder", "encoder_model.onnx");
    union_link(&f, "whisper_fused17_decoder", "decoder_model.onnx");
    union_link(&f, "whisper_fused17_decoder_with_past", "decoder_with_past_model.onnx");
    assert_ok(sc_union_open(NULL, f.folder, NULL, &f.model));
    assert_false(has_value(&f, "cross:input_ids"));
    for (int m = 0; m < f.model->graph->n_nodes; m++) { /* what makes constants has no attention */
        const struct sc_node *node = &f.model->graph->nodes[m];
        assert_true(strcmp(node->op, "MultiHeadAttention") != 0 ||
            strncmp(f.model->graph->values[node->out[0]].name, "cross:", 6) != 0);
    }
    assert_ok(sc_decode_rewrite(f.model, NULL, &n, &pairs));
    assert_int_equal(n, 8);
    assert_int_equal(count_pairs(pairs, n, SC_STATE_PAGED), 4);
    assert_int_equal(count_pairs(pairs, n, SC_STATE_CONSTANT), 4);
    for (int p = 0; p < n; p++) {
        assert_true(sc_state_is_viewed(&pairs[p]));
    }
    assert_ok(sc_decode_rows_apart(f.model, n, pairs, sc_graph_find(f.model->graph, "logits"), &apart));
    assert_true(apart);
    union_close(&f);
}

static void a_table_of_both_files_is_kept_once(void **state)
{
    struct union_case f;
    (void)state;
    union_open(&f, "t5_optimum15");
    const struct sc_graph *graph = f.model->graph;
    int same[512], n_shared = 0;
    assert_in_range(graph->n_weights, 1, 512);
    sc_weights_compare(f.model, same);
    for (int w = 0; w < graph->n_weights; w++) {
        n_shared += same[w] != w;
    }
    assert_true(n_shared > 0);
    for (int m = 0; m < graph->n_nodes; m++) {
        for (int i = 0; i < graph->nodes[m].n_in; i++) {
            const int value = graph->nodes[m].in[i];
            const int weight = value < 0 ? -1 : graph->values[value].weight;
            assert_true(weight < 0 || same[weight] == weight); /* nobody reads the second of two */
        }
    }
    union_close(&f);
}

static void weights_are_shared_as_was_compared(void **state)
{
    struct union_case f;
    (void)state;
    union_open(&f, "t5_optimum15");
    int same[512];
    sc_weights_compare(f.model, same);
    same[0] = 1;
    assert_fails(SC_BAD_INPUT, "weight 0 is said to be weight 1", sc_weights_share(f.model, same));
    union_close(&f);
}

static void missing_files_are_named(void **state)
{
    struct union_case f;
    struct sc_model *model;
    (void)state;
    union_folder(&f);
    union_link(&f, "t5_optimum15_encoder", "encoder_model.onnx");
    assert_fails(SC_IO, "has an encoder_model.onnx, but neither", sc_union_open(NULL, f.folder, NULL, &model));
    union_link(&f, "t5_optimum15_decoder", "decoder_model.onnx");
    assert_fails(SC_IO, "has an encoder_model.onnx, but neither", sc_union_open(NULL, f.folder, NULL, &model));
    union_close(&f);
}

static void files_that_do_not_fit_are_refused(void **state)
{
    struct union_case f;
    struct sc_model *model;
    (void)state;
    union_folder(&f);
    union_link(&f, "t5_optimum15_encoder", "encoder_model.onnx");
    union_link(&f, "gpt2_optimum14", "decoder_model_merged.onnx");
    assert_fails(SC_BAD_MODEL, "makes no keys and values", sc_union_open(NULL, f.folder, NULL, &model));
    union_close(&f);
}

static void a_model_of_its_own_is_no_union(void **state)
{
    struct union_case f;
    (void)state;
    union_folder(&f);
    union_link(&f, "t5_optimum15_encoder", "encoder_model.onnx");
    assert_true(sc_union_is_one(f.folder));
    union_link(&f, "llama_optimum16", "model.onnx");
    assert_false(sc_union_is_one(f.folder));
    assert_ok(sc_union_open(NULL, f.folder, NULL, &f.model));
    assert_int_equal(f.model->n_parts, 0);
    union_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_merged_decoder_gives_steps_and_what_makes_constants),
        cmocka_unit_test(caches_are_paged_and_cross_attention_is_constant),
        cmocka_unit_test(fused_attention_is_no_other), cmocka_unit_test(a_table_of_both_files_is_kept_once),
        cmocka_unit_test(weights_are_shared_as_was_compared), cmocka_unit_test(missing_files_are_named),
        cmocka_unit_test(files_that_do_not_fit_are_refused), cmocka_unit_test(a_model_of_its_own_is_no_union)};
    return cmocka_run_group_tests_name("union", tests, NULL, NULL);
}
