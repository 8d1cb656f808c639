/* SPDX-License-Identifier: Apache-2.0
 * Claims about many texts behind an encoder: each reads its own source, alone, in company, and after it was saved. */
#include <unistd.h>

#include "decode/schedule.h"
#include "decode/state_file.h"
#include "union_case.h"

enum { MOST_TEXTS = 8, MOST_MADE = 24, SOURCE = 12 };

struct text {
    int64_t begin[1], source[SOURCE];
    struct made {
        int64_t tokens[MOST_MADE];
        float logits[MOST_MADE]; /* one of each step: texts that read other sources may be the same, these are not */
    } made;
    int n_made, n_steps;
    struct sc_request request;
};

struct fixture {
    struct union_case files;
    struct sc_world *world;
    struct sc_decoder *decoder;
    struct sc_schedule *schedule;
    struct text texts[MOST_TEXTS];
};

static void open_fixture(struct fixture *f, int n_slots)
{
    memset(f, 0, sizeof *f);
    const struct sc_decoder_options options = {.context = 64,
        .chunk = 8,
        .session = {
            .n_stages = 1, .n_threads = 1, .n_slots = n_slots, .pin = -1, .keep_binding = true, .log = {.fd = -1}}};
    union_open(&f->files, "bart_optimum17");
    assert_ok(sc_world_open_single(&f->world));
    assert_ok(sc_decoder_open(f->world, f->files.model, &options, &f->decoder));
    assert_ok(sc_schedule_create(f->decoder, &f->schedule));
}

static void close_fixture(struct fixture *f)
{
    sc_schedule_free(f->schedule);
    assert_ok(sc_session_finish(sc_decoder_session(f->decoder)));
    sc_decoder_close(f->decoder);
    union_close(&f->files);
    sc_world_free(f->world);
}

static bool on_token(void *arg, int64_t token)
{
    struct text *text = arg;
    text->made.tokens[text->n_made++] = token;
    return true;
}

static void on_logits(void *arg, const float *logits)
{
    struct text *text = arg;
    text->made.logits[text->n_steps++] = logits[7];
}

/* Text i: all begin alike, and each has a source of its own, of its own length. */
static struct sc_request *make_request(struct fixture *f, int i, int n_predict)
{
    struct text *text = &f->texts[i];
    *text = (struct text){.begin = {1}};
    for (int t = 0; t < SOURCE; t++) {
        text->source[t] = (t * 5 + i * 11) % 96;
    }
    text->request = (struct sc_request){.prompt = text->begin,
        .n_prompt = 1,
        .source = {.ids = text->source, .n = SOURCE - i},
        .n_predict = n_predict,
        .sample = {.temperature = i % 2 ? 0.9 : 0, .top_p = 1, .seed = (uint64_t)i},
        .on_token = on_token,
        .on_logits = on_logits,
        .arg = text};
    return &text->request;
}

static void run_all(struct fixture *f)
{
    while (sc_schedule_n_open(f->schedule) > 0) {
        assert_ok(sc_schedule_step(f->schedule));
    }
    assert_ok(sc_schedule_settle(f->schedule));
}

static void expect_made(const struct text *text, int n, const struct made *wanted, int from)
{
    assert_int_equal(text->n_made, n);
    assert_memory_equal(text->made.tokens, wanted->tokens + from, (size_t)n * sizeof *wanted->tokens);
    assert_memory_equal(text->made.logits, wanted->logits + from, (size_t)n * sizeof *wanted->logits);
}

/* One by one. */
static void make_wanted(struct made wanted[MOST_TEXTS])
{
    struct fixture *f = calloc(1, sizeof *f);
    open_fixture(f, 1);
    for (int i = 0; i < MOST_TEXTS; i++) {
        assert_ok(sc_schedule_add(f->schedule, make_request(f, i, MOST_MADE)));
        run_all(f);
        assert_int_equal(f->texts[i].n_made, MOST_MADE);
        wanted[i] = f->texts[i].made;
        for (int j = 0; j < i; j++) { /* they do depend on their sources */
            assert_memory_not_equal(wanted[i].logits, wanted[j].logits, sizeof wanted[i].logits);
        }
    }
    close_fixture(f);
    free(f);
}

static void texts_among_others_are_those_alone(void **state)
{
    (void)state;
    struct made wanted[MOST_TEXTS];
    make_wanted(wanted);
    struct fixture *f = calloc(1, sizeof *f);
    open_fixture(f, 3);
    for (int i = 0; i < MOST_TEXTS; i++) {
        assert_ok(sc_schedule_add(f->schedule, make_request(f, i, MOST_MADE - i)));
    }
    run_all(f);
    for (int i = 0; i < MOST_TEXTS; i++) {
        expect_made(&f->texts[i], MOST_MADE - i, &wanted[i], 0);
    }
    close_fixture(f);
    free(f);
}

/* Bytes of weights since `before`, less those of so many steps and chunks of one token, which are steps too. */
static int64_t bytes_left(const struct fixture *f, int64_t before, int64_t step_bytes)
{
    const struct sc_schedule_counts *counts = sc_schedule_counts(f->schedule);
    return sc_session_read_weight_bytes(sc_decoder_session(f->decoder)) - before -
        step_bytes * (counts->n_steps + counts->n_chunks);
}

/* One step of many texts reads as much as one of a single text. */
static void weights_that_are_read_do_not_depend_on_the_rows(void **state)
{
    (void)state;
    struct fixture *f = calloc(1, sizeof *f);
    open_fixture(f, 1);
    const struct sc_session *session = sc_decoder_session(f->decoder);
    int64_t bytes[3] = {0}, before = 0;
    for (int round = 0; round < 3; round++) { /* of one token, of two: the difference is a step */
        assert_ok(sc_schedule_add(f->schedule, make_request(f, 0, 1 + round)));
        run_all(f);
        bytes[round] = sc_session_read_weight_bytes(session) - before;
        before += bytes[round];
    }
    const int64_t step_bytes = bytes[1] - bytes[0], source_bytes = bytes[0] - step_bytes;
    assert_true(step_bytes > 0 && source_bytes > 0 && bytes[2] - bytes[1] == step_bytes);
    close_fixture(f);
    open_fixture(f, 5);
    for (int i = 0; i < 5; i++) {
        assert_ok(sc_schedule_add(f->schedule, make_request(f, i, MOST_MADE)));
    }
    run_all(f);
    const struct sc_schedule_counts *counts = sc_schedule_counts(f->schedule);
    assert_int_equal(counts->n_rows, 5 * (MOST_MADE - 1));
    assert_true(counts->n_steps < 2 * MOST_MADE);
    assert_int_equal(bytes_left(f, 0, step_bytes), 5 * source_bytes);
    close_fixture(f);
    free(f);
}

static void save(struct fixture *f, const char *path, const struct sc_request *request)
{
    const struct sc_state_owner owner = sc_decoder_states(f->decoder);
    int64_t n, n_held;
    const int64_t *tokens = sc_schedule_text(f->schedule, request->slot, &n, &n_held);
    assert_ok(sc_state_file_save(path, &owner, sc_decoder_session(f->decoder), request->slot, tokens, n));
}

/* Puts the file's text where it can go on; its tokens are the prompt of text i, which has no source. */
static struct sc_request *load(struct fixture *f, const char *path, int i, int n_predict, int64_t *tokens)
{
    const struct sc_state_owner owner = sc_decoder_states(f->decoder);
    struct sc_state_file *file;
    struct sc_held_text held = {0};
    int slot;
    assert_ok(sc_state_file_open(path, &owner, &file));
    held.tokens = sc_state_file_tokens(file, &held.n);
    held.n_held = sc_state_file_length(file);
    held.n_source = sc_state_file_source(file);
    assert_int_equal(held.n_source, SOURCE - i);
    assert_ok(sc_schedule_hold(f->schedule, &held, &slot));
    assert_ok(sc_state_file_restore(file, sc_decoder_session(f->decoder), slot));
    memcpy(tokens, held.tokens, (size_t)held.n * sizeof *tokens);
    struct sc_request *request = make_request(f, i, n_predict);
    request->prompt = tokens;
    request->n_prompt = held.n;
    request->source = (struct sc_source){0};
    sc_state_file_close(file);
    return request;
}

/* What its encoder has read is in the file; one with a source of its own begins anew, though it begins alike. */
static void a_text_that_was_saved_goes_on_without_its_source(void **state)
{
    (void)state;
    struct made wanted[MOST_TEXTS];
    int64_t tokens[64];
    char path[64];
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(path, sizeof path, "/tmp/sc_source_%d.state", (int)getpid());
    make_wanted(wanted);
    open_fixture(f, 2);
    assert_ok(sc_schedule_add(f->schedule, make_request(f, 3, 10)));
    run_all(f);
    save(f, path, &f->texts[3].request);
    close_fixture(f);
    open_fixture(f, 2);
    struct sc_request *request = load(f, path, 3, MOST_MADE - 10, tokens);
    struct sc_request *like = make_request(f, 4, 5);
    like->prompt = tokens;
    like->n_prompt = request->n_prompt;
    assert_ok(sc_schedule_add(f->schedule, like));
    assert_ok(sc_schedule_add(f->schedule, request));
    run_all(f);
    assert_int_equal(like->n_shared, 0);
    assert_int_equal(request->n_shared, request->n_prompt - 1);
    expect_made(&f->texts[3], MOST_MADE - 10, &wanted[3], 10);
    close_fixture(f);
    free(f);
    assert_int_equal(unlink(path), 0);
}

/* Nobody can go on from what is not there, or not there any more. */
static void a_text_without_a_source_goes_on_or_fails(void **state)
{
    (void)state;
    int64_t tokens[64];
    char path[64];
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(path, sizeof path, "/tmp/sc_source_%d.state", (int)getpid());
    open_fixture(f, 2);
    struct sc_request *first = make_request(f, 2, 6);
    assert_ok(sc_schedule_add(f->schedule, first));
    run_all(f);
    save(f, path, first);
    struct sc_request *none = make_request(f, 0, 4);
    none->source = (struct sc_source){0};
    assert_fails(SC_BAD_INPUT, "the encoder reads tokens, and none is given", sc_schedule_add(f->schedule, none));
    struct sc_request *request = load(f, path, 2, 4, tokens);
    struct sc_request *late = make_request(f, 1, 4);
    late->prompt = tokens;
    late->n_prompt = request->n_prompt;
    late->source = (struct sc_source){0};
    assert_ok(sc_schedule_add(f->schedule, request));
    assert_ok(sc_schedule_add(f->schedule, late)); /* the text is still held */
    run_all(f);
    assert_int_equal(request->stop, SC_STOP_LENGTH);
    assert_int_equal(late->stop, SC_STOP_ERROR);
    assert_non_null(strstr(late->error.text, "none is given"));
    close_fixture(f);
    free(f);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_among_others_are_those_alone),
        cmocka_unit_test(weights_that_are_read_do_not_depend_on_the_rows),
        cmocka_unit_test(a_text_that_was_saved_goes_on_without_its_source),
        cmocka_unit_test(a_text_without_a_source_goes_on_or_fails)};
    return cmocka_run_group_tests_name("texts behind an encoder", tests, NULL, NULL);
}
