/* SPDX-License-Identifier: Apache-2.0
 * Claims about how many positions a decoder may reach: what its tables have rows for. */
#include "decode/context.h"

#include "decode/rewrite.h"
#include "graph_case.h"

/* Exports: each learned table has rows for so many positions, behind an offset of some. */
static const struct room {
    const char *folder;
    int64_t positions;
} rooms[] = {
    {"/tests/exports/models/gpt2_optimum14", 288}, /* position_ids as they come */
    {"/tests/exports/models/gpt_neo_optimum14", 288},
    {"/tests/exports/models/opt_optimum17", 288}, /* 290 rows, of which the first 2 are no position's */
    {"/tests/exports/models/bart_optimum17_decoder_with_past",
        288}, /* 290 rows; positions from the length of a cache */
    {"/tests/exports/models/llama_optimum16", 4096}, /* positions are computed: nothing tells */
    {"/tests/data/graphs/masks_table", 128}, {"/tests/data/genai/gpt2", 288}, /* the table of EmbedLayerNormalization */
};

struct decoder {
    struct sc_model *model;
    struct sc_state_pair *pairs;
    int n;
};

static void open_decoder(struct decoder *d, const char *folder)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s%s/model.onnx", SC_SOURCE_DIR, folder);
    assert_ok(sc_model_open(path, &d->model));
    assert_ok(sc_decode_rewrite(d->model, NULL, &d->n, &d->pairs));
}

static void a_learned_table_bounds_the_context(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rooms / sizeof rooms[0]; r++) {
        struct decoder d;
        int64_t context = 0;
        open_decoder(&d, rooms[r].folder);
        assert_ok(sc_context_settle(d.model->graph, d.n, d.pairs, &context));
        if (context != rooms[r].positions) {
            fail_msg("%s: %lld positions", rooms[r].folder, (long long)context);
        }
        sc_model_close(d.model);
    }
}

static void fewer_can_be_asked_for_and_more_can_not(void **state)
{
    (void)state;
    struct decoder d;
    int64_t fewer = 100, more = 289;
    open_decoder(&d, "/tests/exports/models/opt_optimum17");
    assert_ok(sc_context_settle(d.model->graph, d.n, d.pairs, &fewer));
    assert_int_equal(fewer, 100);
    assert_int_equal(sc_context_settle(d.model->graph, d.n, d.pairs, &more), SC_BAD_USAGE);
    assert_string_equal(sc_error_last()->text, "a context of 289 positions was asked for, the model has room for 288");
    sc_model_close(d.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_learned_table_bounds_the_context),
        cmocka_unit_test(fewer_can_be_asked_for_and_more_can_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
