/* SPDX-License-Identifier: Apache-2.0
 * Claims about what a decoder is fed with. */
#include "decode/feeds.h"
#include "decode/pairs.h"
#include "graph_case.h"

struct fixture {
    struct sc_model *model;
    struct sc_state_pair *pairs;
    int n_pairs;
    struct sc_feeds *feeds;
};

static void open_fixture(struct fixture *f, const char *name)
{
    memset(f, 0, sizeof *f);
    f->model = graph_model(name);
    assert_ok(sc_pairs_find(f->model, &f->n_pairs, &f->pairs));
}

static void close_fixture(struct fixture *f)
{
    sc_feeds_free(f->feeds);
    sc_model_close(f->model);
}

static int input(const struct fixture *f, const char *name)
{
    for (int i = 0; i < f->model->graph->n_inputs; i++) {
        if (strcmp(f->model->graph->values[f->model->graph->inputs[i]].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no input '%s'", name);
    return -1;
}

static void expect(const struct sc_value *value, enum sc_type type, const int64_t *want, int rank, const int64_t *dims)
{
    assert_non_null(value);
    const struct sc_tensor *tensor = &value->u.tensor;
    assert_int_equal(tensor->type, type);
    assert_int_equal(tensor->rank, rank);
    assert_memory_equal(tensor->dims, dims, (size_t)rank * sizeof *dims);
    for (int64_t i = 0; i < sc_tensor_count(tensor); i++) {
        assert_int_equal(sc_index_at(tensor, i), want[i]);
    }
}

/* What buffers with room for more are told; of several rows there is no one length, and passes have left it out. */
static void shared_buffers_are_told_their_past_and_one_beam(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "../genai/masked");
    assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 4, 8, &f.feeds));
    const struct sc_row rows[2] = {{.n_new = 1, .pos = 5}, {.n_new = 1, .pos = 2}};
    const int64_t tokens[] = {7, 1}, zeros[8] = {0};
    const struct sc_value *const *fed = sc_feeds_make(f.feeds, rows, 1, tokens, 0);
    expect(fed[input(&f, "past_sequence_length")], SC_I32, (const int64_t[]){5}, 1, (const int64_t[]){1});
    expect(fed[input(&f, "beam_width")], SC_I32, (const int64_t[]){1}, 1, (const int64_t[]){1});
    expect(fed[input(&f, "cache_indirection")], SC_I32, zeros, 3, (const int64_t[]){1, 1, 8});
    fed = sc_feeds_make(f.feeds, rows, 2, tokens, 0);
    assert_null(fed[input(&f, "past_sequence_length")]);
    assert_null(fed[input(&f, "cache_indirection")]);
    close_fixture(&f);
}

static void ids_indices_and_lengths_follow_the_position(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_scatter");
    assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 4, 8, &f.feeds));
    const int64_t tokens[] = {7, 1, 5};
    for (int64_t pos = 0; pos <= 5; pos += 5) {
        const struct sc_value *const *fed =
            sc_feeds_make(f.feeds, &(struct sc_row){.n_new = 3, .pos = pos}, 1, tokens, 0);
        expect(fed[input(&f, "input_ids")], SC_I64, tokens, 2, (const int64_t[]){1, 3});
        expect(fed[input(&f, "write_indices")], SC_I64, (const int64_t[]){pos}, 1, (const int64_t[]){1});
        expect(fed[input(&f, "nonpad_kv_seqlen")], SC_I64, (const int64_t[]){pos + 3}, 1, (const int64_t[]){1});
        assert_null(fed[input(&f, "key_cache.0")]);
        assert_null(fed[input(&f, "value_cache.0")]);
    }
    close_fixture(&f);
}

/* An input of the model renamed to what another exporter calls it. */
static void rename_input(struct fixture *f, const char *from, const char *to)
{
    f->model->graph->values[sc_graph_find(f->model->graph, from)].name = to;
}

static void masks_cover_past_and_new_tokens(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_scatter");
    rename_input(&f, "write_indices", "attention_mask");
    rename_input(&f, "nonpad_kv_seqlen", "position_ids");
    f.model->graph->values[f.model->graph->inputs[input(&f, "attention_mask")]].fact.type = SC_I32;
    assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 4, 8, &f.feeds));
    const int64_t tokens[] = {7, 1}, ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct sc_value *const *fed = sc_feeds_make(f.feeds, &(struct sc_row){.n_new = 2, .pos = 6}, 1, tokens, 0);
    expect(fed[input(&f, "attention_mask")], SC_I32, ones, 2, (const int64_t[]){1, 8});
    expect(fed[input(&f, "position_ids")], SC_I64, (const int64_t[]){6, 7}, 2, (const int64_t[]){1, 2});
    close_fixture(&f);
}

static void rows_have_positions_of_their_own(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_scatter");
    assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 6, 8, &f.feeds));
    const struct sc_row rows[] = {{.n_new = 2, .pos = 5}, {.n_new = 2, .pos = 0}, {.n_new = 2, .pos = 3}};
    const int64_t tokens[] = {7, 1, 5, 6, 2, 3};
    const struct sc_value *const *fed = sc_feeds_make(f.feeds, rows, 3, tokens, 0);
    expect(fed[input(&f, "input_ids")], SC_I64, tokens, 2, (const int64_t[]){3, 2});
    expect(fed[input(&f, "write_indices")], SC_I64, (const int64_t[]){5, 0, 3}, 1, (const int64_t[]){3});
    expect(fed[input(&f, "nonpad_kv_seqlen")], SC_I64, (const int64_t[]){7, 2, 5}, 1, (const int64_t[]){3});
    sc_feeds_free(f.feeds);
    f.feeds = NULL;
    rename_input(&f, "write_indices", "attention_mask");
    rename_input(&f, "nonpad_kv_seqlen", "position_ids");
    assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 6, 8, &f.feeds));
    fed = sc_feeds_make(f.feeds, rows, 3, tokens, 0);
    assert_null(fed[input(&f, "attention_mask")]); /* rows of different lengths have no mask in common */
    expect(fed[input(&f, "position_ids")], SC_I64, (const int64_t[]){5, 6, 0, 1, 3, 4}, 2, (const int64_t[]){3, 2});
    close_fixture(&f);
}

static void planning_sees_dims_of_a_step_and_of_dense_states(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_fact facts[8];
    open_fixture(&f, "pairs_named");
    assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 4, 100, &f.feeds));
    sc_feeds_facts(f.feeds, 1, 50, facts);
    const struct sc_fact *ids = &facts[input(&f, "input_ids")], *past = &facts[input(&f, "past_key_values.0.key")];
    assert_int_equal(ids->dims[1], 1);
    assert_int_equal(past->rank, 4);
    static const int64_t dims[] = {1, 2, 50, 2};
    assert_memory_equal(past->dims, dims, sizeof dims);
    close_fixture(&f);
}

/* Position 50 is the last of either: 49 rows before a step, 51 - n before a chunk of n, and no more than there are. */
static void planning_sees_a_chunk_that_ends_where_a_step_does(void **state)
{
    (void)state;
    static const struct {
        int64_t chunk, n;
    } cases[] = {{4, 4}, {1, 1}, {64, 51}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct sc_fact step[8], chunk[8];
        open_fixture(&f, "pairs_named");
        assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 64, 100, &f.feeds));
        const int ids = input(&f, "input_ids"), past = input(&f, "past_key_values.0.key");
        assert_int_equal(sc_feeds_sizes(f.feeds, cases[i].chunk, 50, step, chunk), cases[i].n > 1);
        assert_int_equal(step[ids].dims[1], 1);
        assert_int_equal(step[past].dims[2], 50);
        assert_int_equal(chunk[ids].dims[1], cases[i].n);
        assert_int_equal(chunk[past].dims[2], 51 - cases[i].n);
        close_fixture(&f);
    }
    struct fixture f;
    struct sc_fact step[8], chunk[8];
    open_fixture(&f, "pairs_named");
    f.model->graph->values[f.model->graph->inputs[input(&f, "input_ids")]].fact.dims[1] = 1;
    assert_ok(sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 64, 100, &f.feeds));
    assert_false(sc_feeds_sizes(f.feeds, 64, 50, step, chunk));
    close_fixture(&f);
}

static void an_input_of_unknown_purpose_is_refused_by_name(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_scatter");
    rename_input(&f, "write_indices", "pixel_values");
    assert_fails(SC_UNSUPPORTED, "'pixel_values'", sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 4, 8, &f.feeds));
    close_fixture(&f);
}

static void an_input_of_the_wrong_type_is_refused_by_name(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_scatter");
    f.model->graph->values[f.model->graph->inputs[input(&f, "write_indices")]].fact.type = SC_F32;
    assert_fails(SC_BAD_MODEL, "'write_indices' is float, want int64 or int32",
        sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 4, 8, &f.feeds));
    close_fixture(&f);
}

static void a_model_without_token_ids_does_not_generate_text(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_scatter");
    rename_input(&f, "input_ids", "position_ids");
    assert_fails(
        SC_UNSUPPORTED, "no input 'input_ids'", sc_feeds_create(f.model->graph, f.n_pairs, f.pairs, 4, 8, &f.feeds));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_indices_and_lengths_follow_the_position),
        cmocka_unit_test(shared_buffers_are_told_their_past_and_one_beam),
        cmocka_unit_test(masks_cover_past_and_new_tokens),
        cmocka_unit_test(rows_have_positions_of_their_own),
        cmocka_unit_test(planning_sees_dims_of_a_step_and_of_dense_states),
        cmocka_unit_test(planning_sees_a_chunk_that_ends_where_a_step_does),
        cmocka_unit_test(an_input_of_unknown_purpose_is_refused_by_name),
        cmocka_unit_test(an_input_of_the_wrong_type_is_refused_by_name),
        cmocka_unit_test(a_model_without_token_ids_does_not_generate_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
