/* SPDX-License-Identifier: Apache-2.0
 * Claims about rows that are apart: proven for decoders as exporters write them, and not for what mixes rows. */
#include "decode/last_row.h"
#include "decode/rewrite.h"
#include "union_case.h"

static bool rows_apart(struct sc_model *model)
{
    struct sc_state_pair *pairs;
    bool apart = false;
    int n;
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    const int logits = sc_graph_find(model->graph, "logits");
    assert_ok(sc_decode_last_row(model, logits));
    assert_ok(sc_decode_rows_apart(model, n, pairs, logits, &apart));
    return apart;
}

static void rows_of_exported_decoders_are_apart(void **state)
{
    (void)state;
    static const char *const names[] = {"../../../examples/shakespeare", "../tensorscatter24", "../genai/llama",
        "../genai/int4", "../genai/int8", "../../exports/models/llama_optimum16", "../../exports/models/gpt2_optimum14",
        "../../exports/models/qwen2_optimum17", "../../exports/models/phi3_optimum18",
        "../../exports/models/gpt_neox_optimum15", "../../exports/models/mistral_optimum15",
        "../../exports/models/falcon_optimum14", "../../exports/models/opt_optimum17",
        "../../exports/models/gpt2_eager_optimum12", "../genai/gemma2", "../merged", "../genai/cache8",
        "../genai/masked"};
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sc_model *model = graph_model(names[i]);
        if (!rows_apart(model)) {
            print_error("%s\n", names[i]);
            n_wrong++;
        }
        sc_model_close(model);
    }
    assert_int_equal(n_wrong, 0);
}

/* Each row's keys and values of cross-attention are its own text's. */
static void rows_behind_an_encoder_are_apart(void **state)
{
    (void)state;
    static const char *const families[] = {"bart_optimum17", "whisper_optimum14", "t5_optimum15"};
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        struct union_case c;
        union_open(&c, families[f]);
        assert_true(rows_apart(c.model));
        union_close(&c);
    }
}

/* States that the graph makes anew, and experts that take the rows they get. */
static void others_are_not_proven(void **state)
{
    (void)state;
    static const char *const names[] = {
        "../../exports/models/bloom_optimum16", "../../exports/models/qwen3_moe_optimum18", "pairs_named"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sc_model *model = graph_model(names[i]);
        assert_false(rows_apart(model));
        sc_model_close(model);
    }
}

/* Whatever else a node is replaced with, the proof ends there. */
static void an_operator_that_is_not_known_ends_the_proof(void **state)
{
    (void)state;
    static const char *const ops[] = {"MatMul", "Mul", "Gather"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        struct sc_model *model = graph_model("../genai/llama");
        struct sc_state_pair *pairs;
        bool apart = true;
        int n, changed = 0;
        assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
        for (int m = model->graph->n_nodes - 1; m >= 0 && !changed; m--) {
            if (strcmp(model->graph->nodes[m].op, ops[i]) == 0 && !model->graph->nodes[m].dead) {
                model->graph->nodes[m].op = "CumSum";
                changed = 1;
            }
        }
        if (changed) {
            const enum sc_status status =
                sc_decode_rows_apart(model, n, pairs, sc_graph_find(model->graph, "logits"), &apart);
            assert_true(status != SC_OK || !apart);
        }
        sc_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_exported_decoders_are_apart),
        cmocka_unit_test(rows_behind_an_encoder_are_apart),
        cmocka_unit_test(others_are_not_proven),
        cmocka_unit_test(an_operator_that_is_not_known_ends_the_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
