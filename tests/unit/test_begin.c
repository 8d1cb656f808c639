/* SPDX-License-Identifier: Apache-2.0
 * Claims about how a text behind an encoder begins. */
#include "decode/begin.h"

#include "graph_case.h"

struct fixture {
    struct sc_arena arena;
    struct sc_begin begin;
};

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = text ? fopen(path, "w") : NULL;
    if (file) {
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
}

/* generation and config: content of the files; NULL: there is none. */
static enum sc_status read_files(
    struct fixture *f, const char *generation, const char *config, const struct sc_begin_wish *wish)
{
    char folder[] = "/tmp/sc_begin_XXXXXX", path[128];
    memset(f, 0, sizeof *f);
    assert_non_null(mkdtemp(folder));
    write_text(folder, "generation_config.json", generation);
    write_text(folder, "config.json", config);
    const enum sc_status status = sc_begin_read(folder, wish, &f->arena, &f->begin);
    snprintf(path, sizeof path, "%s/generation_config.json", folder);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/config.json", folder);
    (void)unlink(path);
    (void)rmdir(folder);
    return status;
}

static void expect_prompt(
    const char *generation, const char *config, const struct sc_begin_wish *wish, int n, const int64_t *prompt)
{
    struct fixture f;
    assert_ok(read_files(&f, generation, config, wish));
    assert_int_equal(f.begin.n_prompt, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(f.begin.prompt[i], prompt[i]);
    }
    sc_arena_release(&f.arena);
}

static const struct sc_begin_wish nothing;

static void the_start_and_what_is_forced_begin_the_text(void **state)
{
    (void)state;
    expect_prompt(NULL, "{\"decoder_start_token_id\": 5}", &nothing, 1, (const int64_t[]){5});
    expect_prompt("{\"decoder_start_token_id\": 6}", "{\"decoder_start_token_id\": 5, \"forced_bos_token_id\": 9}",
        &nothing, 2, (const int64_t[]){6, 9});
    expect_prompt("{\"decoder_start_token_id\": 6, \"forced_bos_token_id\": null, "
                  "\"forced_decoder_ids\": [[2, 8], [1, 7]]}",
        NULL, &nothing, 3, (const int64_t[]){6, 7, 8});
}

#define SPEECH                                                                                                         \
    "{\"decoder_start_token_id\": 1, \"lang_to_id\": {\"<|en|>\": 10, \"<|fr|>\": 11}, \"task_to_id\": "               \
    "{\"transcribe\": 20, \"translate\": 21}, \"no_timestamps_token_id\": 30, \"forced_decoder_ids\": [[1, null], "    \
    "[2, 20]]}"

static void language_task_and_no_timestamps_follow_the_start(void **state)
{
    (void)state;
    expect_prompt(SPEECH, NULL, &nothing, 4, (const int64_t[]){1, 10, 20, 30});
    expect_prompt(SPEECH, NULL, &(const struct sc_begin_wish){.language = "fr", .task = "translate"}, 4,
        (const int64_t[]){1, 11, 21, 30});
    expect_prompt(SPEECH, NULL, &(const struct sc_begin_wish){.language = "<|fr|>", .timestamps = true}, 3,
        (const int64_t[]){1, 11, 20});
    expect_prompt("{\"decoder_start_token_id\": 1, \"no_timestamps_token_id\": 3, \"forced_decoder_ids\": [[1, 3]]}",
        NULL, &nothing, 2, (const int64_t[]){1, 3});
}

static void a_language_that_nobody_says_is_to_be_found(void **state)
{
    struct fixture f;
    (void)state;
    assert_ok(read_files(&f, SPEECH, NULL, &nothing));
    assert_int_equal(f.begin.n_languages, 2);
    assert_int_equal(f.begin.languages[1], 11);
    assert_string_equal(f.begin.language_names[1], "<|fr|>");
    assert_int_equal(f.begin.prompt[SC_BEGIN_LANGUAGE], 10);
    sc_arena_release(&f.arena);
    assert_ok(read_files(&f, SPEECH, NULL, &(const struct sc_begin_wish){.language = "fr"}));
    assert_int_equal(f.begin.n_languages, 0);
    sc_arena_release(&f.arena);
    assert_ok(read_files(&f,
        "{\"decoder_start_token_id\": 1, \"lang_to_id\": {\"<|en|>\": 10}, \"task_to_id\": {\"transcribe\": 20}, "
        "\"forced_decoder_ids\": [[1, 10], [2, 20]]}",
        NULL, &nothing));
    assert_int_equal(f.begin.n_languages, 0);
    sc_arena_release(&f.arena);
}

static void lists_and_numbers_are_read(void **state)
{
    struct fixture f;
    (void)state;
    assert_ok(read_files(&f, "{\"suppress_tokens\": [3, 4]}",
        "{\"decoder_start_token_id\": 5, \"begin_suppress_tokens\": [6], \"max_target_positions\": 448, "
        "\"max_position_embeddings\": 1024}",
        &nothing));
    assert_int_equal(f.begin.n_suppress, 2);
    assert_int_equal(f.begin.suppress[1], 4);
    assert_int_equal(f.begin.n_begin_suppress, 1);
    assert_int_equal(f.begin.begin_suppress[0], 6);
    assert_int_equal(f.begin.context, 448);
    sc_arena_release(&f.arena);
}

static void expect_failure(
    const char *generation, const struct sc_begin_wish *wish, enum sc_status code, const char *words)
{
    struct fixture f;
    assert_fails(code, words, read_files(&f, generation, NULL, wish));
    sc_arena_release(&f.arena);
}

static void what_cannot_be_is_refused(void **state)
{
    const struct sc_begin_wish german = {.language = "de"}, task = {.task = "sing"};
    (void)state;
    expect_failure(NULL, &nothing, SC_BAD_MODEL, "says 'decoder_start_token_id'");
    expect_failure("{", &nothing, SC_BAD_INPUT, "generation_config.json:1:");
    expect_failure(
        "{\"decoder_start_token_id\": -3}", &nothing, SC_BAD_MODEL, "'decoder_start_token_id' is not a token");
    expect_failure("{\"decoder_start_token_id\": \"x\"}", &nothing, SC_BAD_MODEL, "is not a token's id");
    expect_failure("{\"decoder_start_token_id\": 1, \"suppress_tokens\": 4}", &nothing, SC_BAD_MODEL,
        "'suppress_tokens' is not a list");
    expect_failure("{\"decoder_start_token_id\": 1, \"suppress_tokens\": [\"4\"]}", &nothing, SC_BAD_MODEL,
        "'suppress_tokens' is not a list");
    expect_failure("{\"decoder_start_token_id\": 1, \"forced_decoder_ids\": [[0, 3]]}", &nothing, SC_BAD_MODEL,
        "'forced_decoder_ids' is not");
    expect_failure("{\"decoder_start_token_id\": 1, \"forced_decoder_ids\": [[2, 3]]}", &nothing, SC_BAD_MODEL,
        "says nothing of position 1");
    expect_failure(SPEECH, &german, SC_BAD_USAGE, "'--language' is 'de'");
    expect_failure(SPEECH, &task, SC_BAD_USAGE, "'--task' is 'sing'");
    expect_failure("{\"decoder_start_token_id\": 1}", &german, SC_BAD_USAGE, "has no languages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_start_and_what_is_forced_begin_the_text),
        cmocka_unit_test(language_task_and_no_timestamps_follow_the_start),
        cmocka_unit_test(a_language_that_nobody_says_is_to_be_found), cmocka_unit_test(lists_and_numbers_are_read),
        cmocka_unit_test(what_cannot_be_is_refused)};
    return cmocka_run_group_tests_name("begin", tests, NULL, NULL);
}
