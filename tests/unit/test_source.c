/* SPDX-License-Identifier: Apache-2.0
 * Claims about what an encoder is fed with. */
#include "decode/source.h"

#include "union_case.h"

struct fixture {
    struct union_case c;
    struct sc_source_feeds *feeds;
};

static void open_fixture(struct fixture *f, const char *family, int64_t most)
{
    f->feeds = NULL;
    union_open(&f->c, family);
    assert_ok(sc_source_feeds_create(f->c.model->graph, most, &f->feeds));
    assert_non_null(f->feeds);
}

static void close_fixture(struct fixture *f)
{
    sc_source_feeds_free(f->feeds);
    union_close(&f->c);
}

static const struct sc_tensor *fed(const struct fixture *f, const struct sc_value *const *values, const char *name)
{
    const struct sc_graph *graph = f->c.model->graph;
    for (int i = 0; i < graph->n_inputs; i++) {
        if (strcmp(graph->values[graph->inputs[i]].name, name) == 0) {
            return values[i] ? &values[i]->u.tensor : NULL;
        }
    }
    fail_msg("no input '%s'", name);
    return NULL;
}

static void tokens_come_with_a_mask_of_ones(void **state)
{
    static const int64_t ids[] = {5, 9, 2};
    struct fixture f;
    const struct sc_source source = {.ids = ids, .n = 3};
    (void)state;
    open_fixture(&f, "t5_optimum15", 8);
    assert_ok(sc_source_feeds_check(f.feeds, &source));
    const struct sc_value *const *values = sc_source_feeds_make(f.feeds, &source);
    const struct sc_tensor *tokens = fed(&f, values, "encoder:input_ids");
    const struct sc_tensor *mask = fed(&f, values, "encoder:attention_mask");
    assert_int_equal(tokens->dims[0], 1);
    assert_int_equal(tokens->dims[1], 3);
    assert_int_equal(mask->dims[1], 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sc_index_at(tokens, i), ids[i]);
        assert_int_equal(sc_index_at(mask, i), 1);
    }
    assert_null(fed(&f, values, "input_ids")); /* the steps' */
    close_fixture(&f);
}

static void features_are_shown_where_they_are(void **state)
{
    static float elements[16 * 48];
    struct fixture f;
    struct sc_tensor features;
    int64_t bands, frames;
    (void)state;
    sc_tensor_init(&features, SC_F32, 2, (const int64_t[]){16, 48});
    features.data = elements;
    const struct sc_source source = {.features = &features};
    open_fixture(&f, "whisper_optimum14", 8);
    assert_true(sc_source_feeds_features(f.feeds, &bands, &frames));
    assert_int_equal(bands, 16);
    assert_int_equal(frames, 48);
    assert_ok(sc_source_feeds_check(f.feeds, &source));
    const struct sc_tensor *shown = fed(&f, sc_source_feeds_make(f.feeds, &source), "encoder:input_features");
    assert_int_equal(shown->rank, 3);
    assert_int_equal(shown->dims[0], 1);
    assert_ptr_equal(shown->data, elements);
    close_fixture(&f);
}

static void sources_that_an_encoder_does_not_read_are_refused(void **state)
{
    static const int64_t ids[9] = {1};
    struct fixture f;
    struct sc_tensor features;
    (void)state;
    sc_tensor_init(&features, SC_F32, 2, (const int64_t[]){80, 48});
    open_fixture(&f, "t5_optimum15", 8);
    assert_fails(SC_BAD_INPUT, "none is given", sc_source_feeds_check(f.feeds, &(struct sc_source){.n = 0}));
    assert_fails(
        SC_BAD_INPUT, "features are given", sc_source_feeds_check(f.feeds, &(struct sc_source){.features = &features}));
    assert_fails(SC_BAD_INPUT, "9 tokens, it reads at most 8",
        sc_source_feeds_check(f.feeds, &(struct sc_source){.ids = ids, .n = 9}));
    close_fixture(&f);
    open_fixture(&f, "whisper_optimum14", 8);
    assert_fails(
        SC_BAD_INPUT, "text is given", sc_source_feeds_check(f.feeds, &(struct sc_source){.ids = ids, .n = 2}));
    assert_fails(SC_BAD_INPUT, "80 bands of 48 frames, want 16 of 48",
        sc_source_feeds_check(f.feeds, &(struct sc_source){.features = &features}));
    close_fixture(&f);
}

static void a_decoder_alone_has_no_source(void **state)
{
    struct sc_model *model = graph_model("pairs_scatter");
    struct sc_source_feeds *feeds = NULL;
    (void)state;
    assert_ok(sc_source_feeds_create(model->graph, 8, &feeds));
    assert_null(feeds);
    sc_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tokens_come_with_a_mask_of_ones),
        cmocka_unit_test(features_are_shown_where_they_are),
        cmocka_unit_test(sources_that_an_encoder_does_not_read_are_refused),
        cmocka_unit_test(a_decoder_alone_has_no_source)};
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
