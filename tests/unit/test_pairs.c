/* SPDX-License-Identifier: Apache-2.0
 * Claims about which inputs and outputs are one state. */
#include "decode/pairs.h"
#include "decode/context.h"
#include "decode/rewrite.h"
#include "graph_case.h"

static const struct sc_state_pair *pair_of(
    const struct sc_model *model, const struct sc_state_pair *pairs, int n, const char *in, const char *out)
{
    const int p = sc_pairs_find_input(pairs, n, sc_graph_find(model->graph, in));
    assert_true(p >= 0);
    assert_int_equal(pairs[p].out, sc_graph_find(model->graph, out));
    return &pairs[p];
}

static void attention_joins_keys_and_values(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_attention");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 2);
    const struct sc_state_pair *key = pair_of(model, pairs, n, "past_key_values.0.key", "present.0.key");
    const struct sc_state_pair *value = pair_of(model, pairs, n, "past_key_values.0.value", "present.0.value");
    assert_true(key->kind == SC_STATE_PAGED && value->kind == SC_STATE_PAGED);
    assert_true(key->keys && !value->keys);
    assert_int_equal(key->heads, 2);
    assert_int_equal(key->width, 2);
    assert_int_equal(key->type, SC_F32);
    assert_int_equal(key->capacity, 0);
    assert_string_equal(model->graph->nodes[key->node].op, "Attention");
    assert_int_equal(sc_pairs_find_input(pairs, n, sc_graph_find(model->graph, "input_ids")), -1);
    sc_model_close(model);
}

static void a_cache_that_others_read_is_found_by_name(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_read_twice");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 2);
    const struct sc_state_pair *key = pair_of(model, pairs, n, "past_key_values.0.key", "present.0.key");
    assert_int_equal(key->kind, SC_STATE_DENSE);
    assert_int_equal(key->node, -1);
    sc_model_close(model);
}

static void states_of_an_encoder_are_constant(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_encoder");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    assert_int_equal(n, 1);
    (void)pair_of(model, pairs, n, "past_key_values.0.decoder.key", "present.0.decoder.key");
    assert_true(sc_pairs_is_constant("past_key_values.0.encoder.key"));
    assert_true(sc_pairs_is_constant("past_value_cross_3"));
    assert_false(sc_pairs_is_constant("past_key_values.0.decoder.key"));
    assert_false(sc_pairs_is_constant("past_key_self_3"));
    assert_false(sc_pairs_is_constant("model.encoder.key"));
    sc_model_close(model);
}

static void scatter_joins_caches_with_their_capacity(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_scatter");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 2);
    const struct sc_state_pair *key = pair_of(model, pairs, n, "key_cache.0", "updated_key_cache.0");
    const struct sc_state_pair *value = pair_of(model, pairs, n, "value_cache.0", "updated_value_cache.0");
    assert_true(key->kind == SC_STATE_PAGED && key->keys && value->kind == SC_STATE_PAGED && !value->keys);
    assert_int_equal(key->capacity, 8);
    assert_string_equal(model->graph->nodes[value->node].op, "TensorScatter");
    sc_model_close(model);
}

/* The exporter names the width of a cache, which the operator knows, and has a table of 288 positions. */
static void group_query_joins_caches_of_a_named_width(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../genai/llama");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    assert_int_equal(n, 4);
    const struct sc_state_pair *key = pair_of(model, pairs, n, "past_key_values.1.key", "present.1.key");
    const struct sc_state_pair *value = pair_of(model, pairs, n, "past_key_values.1.value", "present.1.value");
    assert_true(key->kind == SC_STATE_PAGED && key->keys && value->kind == SC_STATE_PAGED && !value->keys);
    assert_int_equal(key->heads, 2);
    assert_int_equal(key->width, 16);
    int64_t context = 0;
    assert_ok(sc_context_settle(model->graph, n, pairs, &context));
    assert_int_equal(context, 288);
    context = 289;
    assert_fails(SC_BAD_USAGE, "a context of 289 positions was asked for, the model has room for 288",
        sc_context_settle(model->graph, n, pairs, &context));
    sc_model_close(model);
}

/* One tensor of keys and values: pages of twice as many heads. */
static void attention_joins_keys_and_values_that_are_one_cache(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../genai/gpt2");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    assert_int_equal(n, 2);
    const struct sc_state_pair *cache = pair_of(model, pairs, n, "past_1", "present_1");
    assert_true(cache->kind == SC_STATE_PAGED && cache->joined && cache->keys);
    assert_int_equal(cache->heads, 8);
    assert_int_equal(cache->width, 8);
    struct sc_cache_formats formats = {.keys = SC_PAGE_Q8_0, .values = SC_PAGE_F16};
    assert_fails(SC_UNSUPPORTED, "keys and values that are joined in one cache have one type",
        sc_pairs_set_formats(pairs, n, &formats));
    formats.values = SC_PAGE_Q8_0;
    assert_ok(sc_pairs_set_formats(pairs, n, &formats));
    assert_int_equal(cache->format, SC_PAGE_Q8_0);
    sc_model_close(model);
}

/* A row of weights for each of 288 positions, looked up by position_ids. */
static void a_table_of_learned_positions_bounds_the_context(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../../exports/models/gpt2_optimum14");
    struct sc_state_pair *pairs;
    int64_t context = 0;
    int n;
    assert_ok(sc_decode_rewrite(model, NULL, &n, &pairs));
    assert_ok(sc_context_settle(model->graph, n, pairs, &context));
    assert_int_equal(context, 288);
    sc_model_close(model);
}

static void names_of_exporters_join_dense_states(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_named");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 2);
    const struct sc_state_pair *key = pair_of(model, pairs, n, "past_key_values.0.key", "present.0.key");
    assert_int_equal(key->kind, SC_STATE_DENSE);
    assert_int_equal(key->rank, 4);
    static const int64_t dims[] = {1, 2, 0, 2};
    assert_memory_equal(key->dims, dims, sizeof dims);
    (void)pair_of(model, pairs, n, "past_key_values.0.value", "present.0.value");
    sc_model_close(model);
}

static void joined_caches_have_their_batch_second(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_joined");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 2);
    const struct sc_state_pair *first = pair_of(model, pairs, n, "past_0", "present_0");
    static const int64_t dims[] = {2, 1, 2, 0, 2};
    assert_int_equal(first->rank, 5);
    assert_memory_equal(first->dims, dims, sizeof dims);
    sc_model_close(model);
}

/* Their names are those of no exporter. */
static void operators_that_go_on_from_a_state_join_it(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../states/hybrid27");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 6);
    const struct sc_state_pair *window = pair_of(model, pairs, n, "window.0", "window_after.0");
    const struct sc_state_pair *memory = pair_of(model, pairs, n, "memory.2", "memory_after.2");
    assert_true(window->kind == SC_STATE_DENSE && memory->kind == SC_STATE_DENSE);
    assert_int_equal(pair_of(model, pairs, n, "keys.1", "keys_after.1")->kind, SC_STATE_PAGED);
    static const int64_t window_dims[] = {1, 96, 3}, memory_dims[] = {1, 2, 16, 16};
    assert_memory_equal(window->dims, window_dims, sizeof window_dims);
    assert_memory_equal(memory->dims, memory_dims, sizeof memory_dims);
    sc_model_close(model);
}

static void the_user_names_what_nothing_tells(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../states/lstm");
    static const char *const said[] = {"h.last=h.next", "hidden=hidden_new"}, *const wrong[] = {"h.last=nothing"};
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 3); /* of LSTM and GRU that have the inputs themselves */
    static const int64_t dims[] = {1, 1, 32}; /* the batch is second */
    assert_memory_equal(pair_of(model, pairs, n, "cell", "cell_new")->dims, dims, sizeof dims);
    assert_ok(sc_pairs_say(model, 2, said));
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 4); /* one was told already */
    assert_memory_equal(pair_of(model, pairs, n, "h.last", "h.next")->dims, dims + 1, 2 * sizeof *dims);
    assert_fails(SC_BAD_USAGE, "'h.last=nothing' is not IN=OUT", sc_pairs_say(model, 1, wrong));
    sc_model_close(model);
}

static void what_the_user_says_is_not_passed_over(void **state)
{
    (void)state;
    static const char *const crossed[] = {"hidden=cell_new"}, *const twice[] = {"h.last=h.next", "h.last=c.next"};
    struct sc_model *model = graph_model("../states/lstm");
    struct sc_state_pair *pairs;
    int n;
    assert_fails(SC_BAD_USAGE, "input 'h.last' is given twice", sc_pairs_say(model, 2, twice));
    assert_ok(sc_pairs_say(model, 1, crossed));
    assert_fails(SC_BAD_USAGE, "'hidden' goes on from 'hidden_new', which an operator makes of it, not from 'cell_new'",
        sc_pairs_find(model, &n, &pairs));
    sc_model_close(model);
}

static void a_state_without_its_output_is_refused(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_no_output");
    struct sc_state_pair *pairs;
    int n;
    assert_fails(SC_BAD_MODEL, "'past_0' looks like a state, but there is no output 'present_0'",
        sc_pairs_find(model, &n, &pairs));
    sc_model_close(model);
}

static void a_continuation_of_another_type_is_refused(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("pairs_mismatched");
    struct sc_state_pair *pairs;
    int n;
    assert_fails(SC_BAD_MODEL, "'past_key_values.0.key' is float, but its continuation 'present.0.key' is float16",
        sc_pairs_find(model, &n, &pairs));
    sc_model_close(model);
}

static void short_names_are_a_state_where_both_are_there(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("../states/vad");
    struct sc_state_pair *pairs;
    int n;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 1);
    const struct sc_state_pair *pair = pair_of(model, pairs, n, "state", "stateN");
    assert_int_equal(pair->kind, SC_STATE_DENSE);
    assert_int_equal(pair->dims[0], 2);
    assert_int_equal(pair->dims[1], 1); /* the batch */
    assert_int_equal(pair->dims[2], 8);
    sc_model_close(model);
}

static void a_model_without_states_has_no_pairs(void **state)
{
    (void)state;
    struct sc_model *model = graph_model("skipping");
    struct sc_state_pair *pairs;
    int n = 7;
    assert_ok(sc_pairs_find(model, &n, &pairs));
    assert_int_equal(n, 0);
    sc_model_close(model);
}

static void pages_take_the_formats_of_keys_and_values(void **state)
{
    (void)state;
    struct sc_state_pair pairs[] = {{.kind = SC_STATE_PAGED, .type = SC_F32, .keys = true},
        {.kind = SC_STATE_PAGED, .type = SC_F16}, {.kind = SC_STATE_DENSE, .type = SC_F64, .keys = true}};
    struct sc_cache_formats formats = {.keys = SC_PAGE_Q8_0, .values = SC_PAGE_F16};
    assert_ok(sc_pairs_set_formats(pairs, 3, &formats));
    assert_int_equal(pairs[0].format, SC_PAGE_Q8_0);
    assert_int_equal(pairs[1].format, SC_PAGE_AS_TYPE); /* they are float16 anyway */
    assert_int_equal(pairs[2].format, SC_PAGE_AS_TYPE);
    assert_fails(SC_BAD_USAGE, "no caches that are kept in pages", sc_pairs_set_formats(pairs + 2, 1, &formats));
    pairs[2].kind = SC_STATE_PAGED;
    assert_fails(SC_UNSUPPORTED, "caches of double", sc_pairs_set_formats(pairs, 3, &formats));
    formats = (struct sc_cache_formats){0};
    assert_ok(sc_pairs_set_formats(pairs, 0, &formats));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_joins_keys_and_values),
        cmocka_unit_test(a_cache_that_others_read_is_found_by_name),
        cmocka_unit_test(states_of_an_encoder_are_constant),
        cmocka_unit_test(scatter_joins_caches_with_their_capacity),
        cmocka_unit_test(group_query_joins_caches_of_a_named_width),
        cmocka_unit_test(attention_joins_keys_and_values_that_are_one_cache),
        cmocka_unit_test(a_table_of_learned_positions_bounds_the_context),
        cmocka_unit_test(names_of_exporters_join_dense_states),
        cmocka_unit_test(joined_caches_have_their_batch_second),
        cmocka_unit_test(operators_that_go_on_from_a_state_join_it),
        cmocka_unit_test(the_user_names_what_nothing_tells),
        cmocka_unit_test(what_the_user_says_is_not_passed_over),
        cmocka_unit_test(a_state_without_its_output_is_refused),
        cmocka_unit_test(a_continuation_of_another_type_is_refused),
        cmocka_unit_test(short_names_are_a_state_where_both_are_there),
        cmocka_unit_test(a_model_without_states_has_no_pairs),
        cmocka_unit_test(pages_take_the_formats_of_keys_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
