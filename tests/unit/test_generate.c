/* SPDX-License-Identifier: Apache-2.0
 * Claims about the generation loop, on models so small that their logits can be said. */
#include "decode/decoder.h"
#include "session_case.h"

enum { VOCABULARY = 8, WIDTH = 4, MOST = 64 };

struct fixture {
    struct sc_world *world;
    struct sc_model *model;
    struct sc_decoder *decoder;
    struct sc_arena arena;
    float table[VOCABULARY][WIDTH];
    struct sc_request generation;
    int64_t tokens[MOST]; /* handed on */
    float sums[MOST]; /* logit 0 of each step */
    int n_tokens, n_logits, stop_after;
};

static void open_fixture(struct fixture *f, const char *name, int64_t context)
{
    memset(f, 0, sizeof *f);
    f->model = graph_model(name);
    const struct sc_graph *graph = f->model->graph;
    struct sc_tensor table;
    assert_ok(
        sc_weight_tensor(&graph->weights[graph->values[sc_graph_find(graph, "table")].weight], &f->arena, &table));
    memcpy(f->table, table.data, sc_tensor_bytes(&table));
    const struct sc_decoder_options options = {.context = context,
        .chunk = 3,
        .session = {.n_stages = 1, .n_threads = 1, .n_slots = 2, .pin = -1, .keep_binding = true, .log = {.fd = -1}}};
    assert_ok(sc_world_open_single(&f->world));
    assert_ok(sc_decoder_open(f->world, f->model, &options, &f->decoder));
}

static void close_fixture(struct fixture *f)
{
    assert_ok(sc_session_finish(sc_decoder_session(f->decoder)));
    sc_decoder_close(f->decoder);
    sc_model_close(f->model);
    sc_world_free(f->world);
    sc_arena_release(&f->arena);
}

static bool on_token(void *arg, int64_t token)
{
    struct fixture *f = arg;
    f->tokens[f->n_tokens++] = token;
    return f->n_tokens != f->stop_after;
}

static void on_logits(void *arg, const float *logits)
{
    struct fixture *f = arg;
    f->sums[f->n_logits++] = logits[0];
}

static enum sc_status generate(struct fixture *f, const int64_t *prompt, int64_t n, int64_t n_predict)
{
    f->generation.prompt = prompt;
    f->generation.n_prompt = n;
    f->generation.n_predict = n_predict;
    f->generation.sample.top_p = 1;
    f->generation.on_token = on_token;
    f->generation.on_logits = on_logits;
    f->generation.arg = f;
    f->n_tokens = f->n_logits = 0;
    return sc_decoder_generate(f->decoder, &f->generation);
}

static float row_sum(const struct fixture *f, int64_t token)
{
    return f->table[token][0] + f->table[token][1] + f->table[token][2] + f->table[token][3];
}

/* pairs_named: every logit is the sum of the embeddings of all tokens so far, which its states hold. */
static void states_hold_every_token_before(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_named", MOST);
    static const int64_t prompt[] = {3, 1, 4, 1, 5, 2, 6}, forced[] = {7, 0, 2, 2, 5, 4};
    for (int round = 0; round < 3; round++) { /* again from the start */
        float sum = 0;
        f.generation = (struct sc_request){.forced = forced};
        assert_ok(generate(&f, prompt, 7, 6));
        assert_int_equal(f.n_tokens, 6);
        assert_memory_equal(f.tokens, forced, sizeof forced);
        assert_int_equal(f.n_logits, 6); /* one after the prompt, one after each forced token but the last */
        for (int i = 0; i < 7; i++) {
            sum += row_sum(&f, prompt[i]);
        }
        for (int i = 0; i < f.n_logits; i++) {
            assert_true(f.sums[i] == sum);
            sum += row_sum(&f, forced[i]);
        }
        assert_int_equal(f.generation.stop, SC_STOP_LENGTH);
        assert_int_equal(f.generation.n_made, 6);
        assert_int_equal(f.generation.n_prompt, 7);
    }
    close_fixture(&f);
}

static void joined_states_hold_every_token_before(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_joined", MOST);
    static const int64_t prompt[] = {3, 1, 4, 1}, forced[] = {7, 0};
    float sum = 0;
    f.generation = (struct sc_request){.forced = forced};
    assert_ok(generate(&f, prompt, 4, 2));
    for (int i = 0; i < 4; i++) {
        sum += 2 * row_sum(&f, prompt[i]); /* keys and values alike */
    }
    assert_true(f.n_logits == 2 && f.sums[0] == sum && f.sums[1] == sum + 2 * row_sum(&f, 7));
    close_fixture(&f);
}

/* Of equal logits the first is drawn: every token is 0. */
static void generation_ends_by_length_eos_caller_and_context(void **state)
{
    (void)state;
    struct fixture f;
    static const int64_t prompt[] = {3, 1}, eos[] = {5, 0};
    open_fixture(&f, "pairs_named", 10);
    assert_ok(generate(&f, prompt, 2, 4));
    assert_true(f.generation.stop == SC_STOP_LENGTH && f.n_tokens == 4 && f.tokens[3] == 0);
    f.stop_after = 3;
    assert_ok(generate(&f, prompt, 2, 8));
    assert_true(f.generation.stop == SC_STOP_CALLER && f.n_tokens == 3 && f.generation.n_made == 3);
    f.stop_after = 0;
    assert_ok(generate(&f, prompt, 2, 60));
    assert_true(f.generation.stop == SC_STOP_CONTEXT);
    assert_int_equal(f.n_tokens, 9); /* eight more positions, and the token drawn after the last */
    f.generation = (struct sc_request){.eos = eos, .n_eos = 2};
    assert_ok(generate(&f, prompt, 2, 8));
    assert_true(f.generation.stop == SC_STOP_EOS && f.n_tokens == 0 && f.generation.n_made == 0);
    f.generation = (struct sc_request){.n_eos = 0};
    assert_ok(generate(&f, prompt, 2, 0));
    assert_true(f.n_tokens == 0 && f.generation.stop == SC_STOP_LENGTH);
    close_fixture(&f);
}

static void a_prompt_as_long_as_the_context_makes_one_token(void **state)
{
    (void)state;
    struct fixture f;
    static const int64_t prompt[] = {1, 2, 3, 4, 5};
    open_fixture(&f, "pairs_named", 5);
    assert_ok(generate(&f, prompt, 5, 3));
    assert_int_equal(f.n_tokens, 1);
    assert_int_equal(f.generation.stop, SC_STOP_CONTEXT);
    close_fixture(&f);
}

static void bad_prompts_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    static const int64_t many[] = {1, 2, 3, 4, 5, 6}, high[] = {1, 8}, low[] = {-1};
    open_fixture(&f, "pairs_named", 5);
    assert_fails(SC_BAD_INPUT, "empty", generate(&f, many, 0, 3));
    assert_fails(SC_BAD_INPUT, "6 tokens, the context holds 5", generate(&f, many, 6, 3));
    assert_fails(SC_BAD_INPUT, "token 1 is 8", generate(&f, high, 2, 3));
    assert_fails(SC_BAD_INPUT, "token 0 is -1", generate(&f, low, 1, 3));
    assert_ok(generate(&f, many, 2, 3));
    close_fixture(&f);
}

/* Tokens 6 and 7 have no embedding: their chunk fails while others are in flight behind it. */
static void a_chunk_that_fails_leaves_the_decoder_usable(void **state)
{
    (void)state;
    struct fixture f;
    int64_t prompt[30], good[30];
    float first;
    open_fixture(&f, "pairs_few_rows", MOST);
    for (int i = 0; i < 30; i++) {
        prompt[i] = good[i] = i % 6;
    }
    assert_ok(generate(&f, good, 30, 1));
    first = f.sums[0];
    for (int bad = 0; bad < 30; bad += 7) {
        prompt[bad] = 7;
        assert_fails(SC_BAD_INPUT, "'x'", generate(&f, prompt, 30, 4));
        assert_int_equal(sc_session_in_flight(sc_decoder_session(f.decoder)), 0);
        prompt[bad] = good[bad];
        assert_ok(generate(&f, good, 30, 1));
        assert_true(f.sums[0] == first);
    }
    static const int64_t forced[] = {1, 2, 7, 3, 4};
    f.generation.forced = forced;
    assert_fails(SC_BAD_INPUT, "'x'", generate(&f, good, 3, 5));
    assert_int_equal(f.n_tokens, 3);
    close_fixture(&f);
}

static void expect_no_decoder(const char *path, int64_t context, enum sc_status code, const char *words)
{
    struct sc_world *world = NULL;
    struct sc_model *model = NULL;
    struct sc_decoder *decoder = NULL;
    const struct sc_decoder_options options = {
        .context = context, .chunk = 3, .session = {.n_threads = 1, .pin = -1, .log = {.fd = -1}}};
    assert_ok(sc_model_open(path, &model));
    assert_ok(sc_world_open_single(&world));
    assert_fails(code, words, sc_decoder_open(world, model, &options, &decoder));
    assert_null(decoder);
    sc_world_free(world);
    sc_model_close(model);
}

static void models_that_make_no_text_are_refused(void **state)
{
    (void)state;
    expect_no_decoder(GRAPHS "skipping", 0, SC_UNSUPPORTED, "no output 'logits'");
    expect_no_decoder(GRAPHS "pairs_mismatched", 0, SC_BAD_MODEL, "continuation");
    expect_no_decoder(GRAPHS "pairs_scatter", 9, SC_BAD_USAGE, "9 positions was asked for, the model has room for 8");
    expect_no_decoder(SC_SOURCE_DIR "/examples/shakespeare", 1025, SC_BAD_USAGE, "1024");
}

static void the_context_is_what_the_model_has_room_for(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "pairs_scatter", 0);
    assert_int_equal(sc_decoder_context(f.decoder), 8);
    assert_int_equal(sc_decoder_vocabulary(f.decoder), VOCABULARY);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_hold_every_token_before),
        cmocka_unit_test(joined_states_hold_every_token_before),
        cmocka_unit_test(generation_ends_by_length_eos_caller_and_context),
        cmocka_unit_test(a_prompt_as_long_as_the_context_makes_one_token),
        cmocka_unit_test(bad_prompts_are_refused),
        cmocka_unit_test(a_chunk_that_fails_leaves_the_decoder_usable),
        cmocka_unit_test(models_that_make_no_text_are_refused),
        cmocka_unit_test(the_context_is_what_the_model_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
