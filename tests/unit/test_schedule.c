/* SPDX-License-Identifier: Apache-2.0
 * Claims about many requests at once. */
#include "decode/schedule.h"
#include "decode/state_file.h"
#include "session_case.h"

#define LLAMA SC_SOURCE_DIR "/tests/data/genai/llama"
#define GPT2 SC_SOURCE_DIR "/tests/exports/models/gpt2_optimum14"
/* One row a microbatch: batch and heads are folded in one, masks are as long as a row in the other. */
#define BLOOM SC_SOURCE_DIR "/tests/exports/models/bloom_optimum16"
#define FALCON SC_SOURCE_DIR "/tests/exports/models/falcon_alibi_optimum16"
#define LFM2 SC_SOURCE_DIR "/tests/data/genai/lfm2" /* some of its states are tensors, which nobody can share */

enum { MOST_REQUESTS = 16, MOST_PROMPT = 80, MOST_MADE = 24 };

struct text {
    int64_t prompt[MOST_PROMPT], made[MOST_MADE];
    float logits[64]; /* where they are kept */
    int n_made;
    int ended_as; /* how many had ended before it */
    struct sc_request request;
    struct fixture *fixture;
};

struct fixture {
    struct sc_world *world;
    struct sc_model *model;
    struct sc_decoder *decoder;
    struct sc_schedule *schedule;
    int n_ended;
    struct text texts[MOST_REQUESTS];
};

struct setting {
    int n_slots, chunk;
    int64_t context, n_pages, max_tbt_ns;
};

static void open_fixture(struct fixture *f, const char *path, const struct setting *setting)
{
    memset(f, 0, sizeof *f);
    const struct sc_decoder_options options = {.context = setting->context,
        .chunk = setting->chunk,
        .max_tbt_ns = setting->max_tbt_ns,
        .session = {.n_stages = 1,
            .n_threads = 1,
            .n_slots = setting->n_slots,
            .n_pages = setting->n_pages,
            .pin = -1,
            .keep_binding = true,
            .log = {.fd = -1}}};
    assert_ok(sc_model_open(path, &f->model));
    assert_ok(sc_world_open_single(&f->world));
    assert_ok(sc_decoder_open(f->world, f->model, &options, &f->decoder));
    assert_ok(sc_schedule_create(f->decoder, &f->schedule));
}

static void close_fixture(struct fixture *f)
{
    sc_schedule_free(f->schedule);
    assert_ok(sc_session_finish(sc_decoder_session(f->decoder)));
    sc_decoder_close(f->decoder);
    sc_model_close(f->model);
    sc_world_free(f->world);
}

static bool on_token(void *arg, int64_t token)
{
    struct text *text = arg;
    text->made[text->n_made++] = token;
    return true;
}

static void on_done(void *arg, struct sc_request *request)
{
    struct text *text = arg;
    (void)request;
    text->ended_as = text->fixture->n_ended++;
}

/* Request i: of these prompts, the second half begins as the first. */
static struct sc_request *make_request(struct fixture *f, int i, int n_prompt, int n_predict)
{
    struct text *text = &f->texts[i];
    for (int t = 0; t < n_prompt; t++) {
        text->prompt[t] = 1 + (t * 7 + (t < 40 ? 0 : i) * 13) % 60;
    }
    text->fixture = f;
    text->request = (struct sc_request){.prompt = text->prompt,
        .n_prompt = n_prompt,
        .n_predict = n_predict,
        .sample = {.temperature = i % 3 ? 0.9 : 0,
            .top_k = i % 2 ? 20 : 0,
            .top_p = 0.95,
            .penalty = i % 5 ? 1 : 1.3,
            .seed = (uint64_t)i},
        .key = (uint64_t)(i / 2),
        .on_token = on_token,
        .on_done = on_done,
        .arg = text};
    return &text->request;
}

static void add(struct fixture *f, int i, int n_prompt, int n_predict)
{
    assert_ok(sc_schedule_add(f->schedule, make_request(f, i, n_prompt, n_predict)));
}

static void run_all(struct fixture *f)
{
    while (sc_schedule_n_open(f->schedule) > 0) {
        assert_ok(sc_schedule_step(f->schedule));
    }
    assert_ok(sc_schedule_settle(f->schedule));
    assert_int_equal(sc_session_in_flight(sc_decoder_session(f->decoder)), 0);
}

static int prompt_of(int i)
{
    return 1 + (i * 29) % MOST_PROMPT;
}

static int predict_of(int i)
{
    return 1 + (i * 11) % MOST_MADE;
}

static struct fixture *wanted; /* texts that were made one by one */

static void make_wanted(const char *path)
{
    const struct setting alone = {.n_slots = 1, .chunk = 1000, .context = 128};
    wanted = calloc(1, sizeof *wanted);
    open_fixture(wanted, path, &alone);
    for (int i = 0; i < MOST_REQUESTS; i++) {
        add(wanted, i, prompt_of(i), predict_of(i));
        wanted->texts[i].request.fresh = true;
        run_all(wanted);
        assert_int_equal(wanted->texts[i].n_made, predict_of(i));
    }
}

static void expect_wanted(const struct fixture *f, int i)
{
    assert_int_equal(f->texts[i].request.stop, SC_STOP_LENGTH);
    assert_int_equal(f->texts[i].n_made, wanted->texts[i].n_made);
    assert_memory_equal(f->texts[i].made, wanted->texts[i].made, (size_t)f->texts[i].n_made * sizeof(int64_t));
}

static void texts_do_not_depend_on_slots_chunks_or_each_other(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool joined, shared;
    } models[] = {
        {LLAMA, true, true}, {GPT2, true, true}, {BLOOM, false, true}, {FALCON, false, true}, {LFM2, false, false}};
    static const struct setting settings[] = {{1, 7, 128, 0, 0}, {5, 1, 128, 0, 0}, {5, 64, 128, 6, 0},
        {16, 7, 128, 0, 0}, {5, 64, 128, 0, 1}, {5, 64, 128, 0, 500000}};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        make_wanted(models[m].path);
        for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++) {
            struct fixture *f = calloc(1, sizeof *f);
            open_fixture(f, models[m].path, &settings[s]);
            for (int i = 0; i < MOST_REQUESTS; i++) {
                add(f, i, prompt_of(i), predict_of(i));
            }
            run_all(f);
            for (int i = 0; i < MOST_REQUESTS; i++) {
                expect_wanted(f, i);
            }
            const struct sc_schedule_counts *counts = sc_schedule_counts(f->schedule);
            const bool joined = sc_decoder_rows_apart(f->decoder);
            assert_int_equal(joined, models[m].joined);
            assert_int_equal(counts->n_shared > 0, models[m].shared);
            assert_int_equal(counts->n_rows > counts->n_steps, joined && settings[s].n_slots >= 5);
            close_fixture(f);
            free(f);
        }
        close_fixture(wanted);
        free(wanted);
    }
}

/* While a long prompt comes in chunk by chunk, others get a token after each chunk. */
static void a_long_prompt_holds_others_up_by_a_chunk_at_most(void **state)
{
    (void)state;
    const struct setting setting = {.n_slots = 4, .chunk = 4, .context = 128};
    struct fixture f;
    open_fixture(&f, LLAMA, &setting);
    for (int i = 0; i < 3; i++) {
        add(&f, i, 3, MOST_MADE);
    }
    while (f.texts[2].n_made == 0) {
        assert_ok(sc_schedule_step(f.schedule));
    }
    const int made = f.texts[0].n_made;
    assert_true(made > 0);
    add(&f, 3, MOST_PROMPT, 1);
    while (f.texts[3].n_made == 0) {
        assert_ok(sc_schedule_step(f.schedule));
    }
    assert_true(f.texts[0].n_made >= made + MOST_PROMPT / 4 - 2);
    run_all(&f);
    assert_int_equal(sc_schedule_counts(f.schedule)->most_chunks_between, 1);
    close_fixture(&f);
}

/* No time is short enough for more than a row: so goes a prompt while others run, and whole before and after. */
static void a_bound_in_time_makes_chunks_shorter_while_others_run(void **state)
{
    (void)state;
    for (int64_t max_tbt_ns = 0; max_tbt_ns <= 1; max_tbt_ns++) {
        const struct setting setting = {.n_slots = 4, .chunk = 64, .context = 128, .max_tbt_ns = max_tbt_ns};
        struct fixture f;
        open_fixture(&f, LLAMA, &setting);
        add(&f, 0, 3, 10);
        while (f.texts[0].n_made < 2) {
            assert_ok(sc_schedule_step(f.schedule));
        }
        assert_int_equal(sc_schedule_counts(f.schedule)->n_chunks, 1);
        add(&f, 3, MOST_PROMPT, 1);
        run_all(&f);
        const struct sc_schedule_counts *counts = sc_schedule_counts(f.schedule);
        if (max_tbt_ns == 0) {
            assert_int_equal(counts->n_chunks, 3);
        } else {
            assert_in_range(counts->n_chunks, 1 + 7 + 1, 1 + 9 + 2); /* one for each token to come, then the rest */
            assert_int_equal(counts->most_chunks_between, 1);
        }
        close_fixture(&f);
    }
}

static void who_does_not_fit_waits_its_turn_and_who_never_can_is_refused(void **state)
{
    (void)state;
    const struct setting setting = {.n_slots = 4, .chunk = 16, .context = 256, .n_pages = 2};
    struct fixture f;
    open_fixture(&f, LLAMA, &setting);
    assert_fails(
        SC_LIMIT, "3 pages of caches, there are 2", sc_schedule_add(f.schedule, make_request(&f, 9, MOST_PROMPT, 60)));
    add(&f, 0, 60, 4); /* one page */
    add(&f, 1, 70, 20); /* two: has to wait */
    add(&f, 2, 5, 2); /* would fit, but came later */
    assert_ok(sc_schedule_step(f.schedule));
    assert_true(f.texts[0].request.begun_ns > 0 && f.texts[1].request.begun_ns == 0);
    run_all(&f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.texts[i].request.stop, SC_STOP_LENGTH);
        assert_int_equal(f.texts[i].ended_as, i);
    }
    close_fixture(&f);
}

static void cancelled_requests_leave_the_others_as_they_are(void **state)
{
    (void)state;
    const struct setting setting = {.n_slots = 4, .chunk = 7, .context = 128};
    struct fixture f;
    make_wanted(LLAMA);
    open_fixture(&f, LLAMA, &setting);
    for (int i = 0; i < 8; i++) {
        add(&f, i, prompt_of(i), predict_of(i));
    }
    sc_schedule_cancel(f.schedule, &f.texts[7].request); /* waits */
    assert_true(f.texts[7].request.done && f.texts[7].request.stop == SC_STOP_CALLER);
    assert_ok(sc_schedule_step(f.schedule));
    sc_schedule_cancel(f.schedule, &f.texts[1].request); /* or its prompt is under way */
    while (f.texts[4].n_made == 0) {
        assert_ok(sc_schedule_step(f.schedule));
    }
    sc_schedule_cancel(f.schedule, &f.texts[4].request); /* runs */
    sc_schedule_cancel(f.schedule, &f.texts[4].request);
    run_all(&f);
    for (int i = 0; i < 7; i++) {
        if (i != 1 && i != 4) {
            expect_wanted(&f, i);
        }
    }
    assert_int_equal(f.texts[4].request.stop, SC_STOP_CALLER);
    assert_memory_equal(f.texts[4].made, wanted->texts[4].made, (size_t)f.texts[4].request.n_made * sizeof(int64_t));
    assert_int_equal(f.n_ended, 8);
    close_fixture(&f);
    close_fixture(wanted);
    free(wanted);
}

/* A token without an embedding fails the step that it shares with others. */
static void a_row_that_fails_fails_its_request_alone(void **state)
{
    (void)state;
    static const int64_t forced[MOST_MADE] = {3, 4, 5, 1000000, 7};
    const struct setting setting = {.n_slots = 5, .chunk = 16, .context = 128};
    struct fixture f;
    make_wanted(LLAMA);
    open_fixture(&f, LLAMA, &setting);
    for (int i = 0; i < 5; i++) {
        add(&f, i, prompt_of(i), predict_of(i));
    }
    add(&f, 6, 40, MOST_MADE);
    f.texts[6].request.forced = forced;
    for (int i = 7; i < 12; i++) {
        add(&f, i, prompt_of(i), predict_of(i));
    }
    run_all(&f);
    for (int i = 0; i < 12; i++) {
        if (i != 5 && i != 6) {
            expect_wanted(&f, i);
        }
    }
    assert_int_equal(f.texts[6].request.stop, SC_STOP_ERROR);
    assert_int_equal(f.texts[6].request.error.code, SC_BAD_INPUT);
    assert_int_equal(f.texts[6].n_made, 4);
    close_fixture(&f);
    close_fixture(wanted);
    free(wanted);
}

enum { FEW_LOGITS = 8, FEW_STEPS = 3, FEW_PROMPT = 24, FEW_CHUNK = 8 };

static void keep_logits(void *arg, const float *logits)
{
    struct text *text = arg;
    memcpy(&text->logits[text->n_made * FEW_LOGITS], logits, FEW_LOGITS * sizeof *logits);
}

/* Tokens of which the one at `bad` has no embedding (-1: none), and then three that are given. */
static void add_few(struct fixture *f, int i, int n_prompt, int bad)
{
    static const int64_t forced[FEW_STEPS] = {2, 0, 5};
    struct sc_request *request = make_request(f, i, n_prompt, FEW_STEPS);
    for (int t = 0; t < n_prompt; t++) {
        f->texts[i].prompt[t] = t == bad ? 7 : (t * 5 + t / 4) % 6;
    }
    request->sample = (struct sc_sample_options){.top_p = 1};
    request->forced = forced;
    request->on_logits = keep_logits;
    assert_ok(sc_schedule_add(f->schedule, request));
}

/* The first one's last chunk fails while another is on its way that begins as it, past what then is still there. */
static void who_began_as_one_that_fails_begins_again(void **state)
{
    (void)state;
    const struct setting setting = {.n_slots = 2, .chunk = FEW_CHUNK, .context = 64};
    struct fixture f;
    open_fixture(&f, GRAPHS "pairs_few_rows", &setting);
    add_few(&f, 2, 20, -1);
    f.texts[2].request.fresh = true;
    run_all(&f);
    assert_int_equal(f.texts[2].n_made, FEW_STEPS);
    const int64_t n_chunks = sc_schedule_counts(f.schedule)->n_chunks;
    float alone[FEW_STEPS * FEW_LOGITS];
    memcpy(alone, f.texts[2].logits, sizeof alone);
    close_fixture(&f);

    open_fixture(&f, GRAPHS "pairs_few_rows", &setting);
    add_few(&f, 0, FEW_PROMPT, 18);
    add_few(&f, 1, 20, -1);
    while (f.texts[1].request.begun_ns == 0) {
        assert_ok(sc_schedule_step(f.schedule));
    }
    assert_int_equal(f.texts[1].request.n_shared, 18); /* the third chunk had brought 16 to 23, it seemed */
    run_all(&f);
    assert_int_equal(f.texts[0].request.stop, SC_STOP_ERROR);
    assert_int_equal(f.texts[1].request.stop, SC_STOP_LENGTH);
    assert_int_equal(f.texts[1].request.n_shared, 0);
    assert_int_equal(f.texts[1].n_made, FEW_STEPS);
    assert_memory_equal(f.texts[1].logits, alone, sizeof alone);
    assert_int_equal(sc_schedule_counts(f.schedule)->n_chunks, 3 + 1 + n_chunks);
    close_fixture(&f);
}

static void what_another_has_computed_is_not_computed_again(void **state)
{
    (void)state;
    const struct setting setting = {.n_slots = 3, .chunk = 8, .context = 128};
    struct fixture f;
    open_fixture(&f, LLAMA, &setting);
    for (int i = 0; i < 6; i++) {
        add(&f, i, 60, 3);
    }
    f.texts[4].request.fresh = true;
    run_all(&f);
    assert_int_equal(f.texts[0].request.n_shared, 0);
    for (int i = 1; i < 6; i++) {
        assert_int_equal(f.texts[i].request.n_shared, i == 4 ? 0 : 40);
    }
    assert_int_equal(sc_schedule_counts(f.schedule)->n_chunks, 8 + 4 * 3 + 8);
    close_fixture(&f);
}

/* What the slot of the only request holds, to a file. */
static void save(struct fixture *f, const char *path)
{
    int64_t n_text, n_held;
    const int64_t *text = sc_schedule_text(f->schedule, 0, &n_text, &n_held);
    assert_int_equal(n_held, n_text - 1); /* the last token was drawn and not fed */
    const struct sc_state_owner owner = sc_decoder_states(f->decoder);
    assert_ok(sc_state_file_save(path, &owner, sc_decoder_session(f->decoder), 0, text, n_text));
}

static void load(struct fixture *f, const char *path, struct text *text)
{
    const struct sc_state_owner owner = sc_decoder_states(f->decoder);
    struct sc_state_file *file;
    int64_t n;
    int slot;
    assert_ok(sc_state_file_open(path, &owner, &file));
    const int64_t *tokens = sc_state_file_tokens(file, &n);
    const struct sc_held_text held = {.tokens = tokens, .n = n, .n_held = sc_state_file_length(file)};
    assert_ok(sc_schedule_hold(f->schedule, &held, &slot));
    assert_ok(sc_state_file_restore(file, sc_decoder_session(f->decoder), slot));
    for (int64_t i = 0; i < n; i++) {
        text->prompt[i] = tokens[i];
    }
    text->request.n_prompt = n;
    sc_state_file_close(file);
}

/* Of pages and of tensors; prompt and half of the text, then the other half in another process. */
static void a_text_that_was_saved_goes_on(void **state)
{
    (void)state;
    static const char *const paths[] = {LLAMA, LFM2};
    char path[64];
    snprintf(path, sizeof path, "/tmp/sc_schedule_%d.state", (int)getpid());
    for (int m = 0; m < 2; m++) {
        const struct setting setting = {.n_slots = 2, .chunk = 7, .context = 100};
        struct fixture f;
        int64_t want[20];
        open_fixture(&f, paths[m], &setting);
        add(&f, 1, 30, 20);
        run_all(&f);
        memcpy(want, f.texts[1].made, sizeof want);
        close_fixture(&f);
        open_fixture(&f, paths[m], &setting);
        add(&f, 1, 30, 8);
        run_all(&f);
        save(&f, path);
        close_fixture(&f);
        open_fixture(&f, paths[m], &setting);
        struct sc_request *request = make_request(&f, 1, 1, 12);
        load(&f, path, &f.texts[1]);
        assert_int_equal(request->n_prompt, 38);
        assert_ok(sc_schedule_add(f.schedule, request));
        run_all(&f);
        assert_memory_equal(f.texts[1].made, want + 8, 12 * sizeof *want);
        assert_int_equal(sc_schedule_counts(f.schedule)->n_shared, 37);
        close_fixture(&f);
        assert_int_equal(unlink(path), 0);
    }
}

static enum sc_status hold(struct fixture *f, const int64_t *tokens, int64_t n, int *slot)
{
    const struct sc_held_text text = {.tokens = tokens, .n = n, .n_held = n - 1};
    return sc_schedule_hold(f->schedule, &text, slot);
}

static void a_text_without_room_is_not_held(void **state)
{
    (void)state;
    const struct setting setting = {.n_slots = 1, .chunk = 7, .context = 200, .n_pages = 2};
    struct fixture f;
    int64_t text[256] = {0};
    int slot;
    open_fixture(&f, LLAMA, &setting);
    assert_fails(SC_LIMIT, "201 tokens", hold(&f, text, 201, &slot));
    assert_fails(SC_LIMIT, "2 pages", hold(&f, text, 130, &slot));
    assert_ok(hold(&f, text, 128, &slot));
    sc_schedule_forget(f.schedule, slot);
    add(&f, 0, 50, 10);
    run_all(&f);
    assert_int_equal(f.texts[0].request.n_made, 10);
    add(&f, 1, 50, 10);
    assert_ok(sc_schedule_step(f.schedule));
    assert_fails(SC_LIMIT, "no slot is idle", hold(&f, text, 10, &slot));
    run_all(&f);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_do_not_depend_on_slots_chunks_or_each_other),
        cmocka_unit_test(a_long_prompt_holds_others_up_by_a_chunk_at_most),
        cmocka_unit_test(a_bound_in_time_makes_chunks_shorter_while_others_run),
        cmocka_unit_test(who_does_not_fit_waits_its_turn_and_who_never_can_is_refused),
        cmocka_unit_test(cancelled_requests_leave_the_others_as_they_are),
        cmocka_unit_test(a_row_that_fails_fails_its_request_alone),
        cmocka_unit_test(who_began_as_one_that_fails_begins_again),
        cmocka_unit_test(what_another_has_computed_is_not_computed_again),
        cmocka_unit_test(a_text_that_was_saved_goes_on),
        cmocka_unit_test(a_text_without_room_is_not_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
