/* SPDX-License-Identifier: Apache-2.0
 * Claims about how a file says that text is drawn. */
#include "decode/search.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph_case.h"

struct fixture {
    char folder[64], path[96];
    struct sc_arena arena;
    const char *ignored;
};

/* Of a file; text NULL: it is not there. */
static enum sc_status read_file(
    struct fixture *f, const char *name, const char *text, bool one_beam, struct sc_search *search)
{
    memset(f, 0, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/sc_search_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/%s", f->folder, name);
    if (text) {
        FILE *file = fopen(f->path, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    const enum sc_status status = sc_search_read(f->folder, one_beam, &f->arena, search, &f->ignored);
    (void)unlink(f->path);
    (void)rmdir(f->folder);
    return status;
}

static enum sc_status read_text(struct fixture *f, const char *text, struct sc_search *search)
{
    return read_file(f, "genai_config.json", text, false, search);
}

static void expect_failure(const char *text, enum sc_status code, const char *words)
{
    struct fixture f;
    struct sc_search search;
    assert_int_equal(read_text(&f, text, &search), code);
    if (!strstr(sc_error_last()->text, words) || !strstr(sc_error_last()->text, "genai_config.json")) {
        fail_msg("'%s' is not in '%s'", words, sc_error_last()->text);
    }
    sc_arena_release(&f.arena);
}

static void no_file_says_nothing(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_search search;
    assert_ok(read_text(&f, NULL, &search));
    assert_false(search.found);
    assert_int_equal(search.context, 0);
    sc_arena_release(&f.arena);
}

static void text_is_greedy_unless_it_is_to_be_drawn(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_search search;
    assert_ok(read_text(&f,
        "{\"model\": {\"context_length\": 1024}, \"search\": {\"do_sample\": false, \"temperature\": 0.7, "
        "\"max_length\": 300, \"num_beams\": 1}}",
        &search));
    assert_true(search.found);
    assert_int_equal(search.context, 300);
    assert_true(search.sample.temperature == 0);
    sc_arena_release(&f.arena);
    assert_ok(read_text(&f,
        "{\"search\": {\"do_sample\": true, \"temperature\": 0.5, \"top_k\": 7, \"top_p\": 0.25, "
        "\"repetition_penalty\": 1.5}}",
        &search));
    assert_true(search.sample.temperature == 0.5 && search.sample.top_p == 0.25 && search.sample.penalty == 1.5);
    assert_int_equal(search.sample.top_k, 7);
    assert_int_equal(search.context, 0);
    sc_arena_release(&f.arena);
}

static void beams_are_refused_with_a_word(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_search search;
    expect_failure("{\"search\": {\"num_beams\": 4}}", SC_UNSUPPORTED,
        "search.num_beams is 4: search by beams is not supported; --num-beams 1 goes on with one");
    assert_fails(SC_UNSUPPORTED, "/generation_config.json': num_beams is 2",
        read_file(&f, "generation_config.json", "{\"num_beams\": 2}", false, &search));
    sc_arena_release(&f.arena);
    assert_ok(read_file(&f, "generation_config.json",
        "{\"num_beams\": 2, \"early_stopping\": true, \"length_penalty\": 2.0, \"typical_p\": 1.0}", true, &search));
    assert_true(search.found && search.sample.temperature == 0);
    assert_non_null(strstr(f.ignored, "generation_config.json': not followed: length_penalty, early_stopping"));
    sc_arena_release(&f.arena);
}

static void what_is_not_done_is_said(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_search search;
    assert_ok(read_text(&f,
        "{\"search\": {\"num_return_sequences\": 2, \"early_stopping\": true, \"length_penalty\": 2, "
        "\"diversity_penalty\": 0.0, \"bad_words_ids\": [[1]], \"stop_strings\": \"x\", \"guidance_scale\": null}}",
        &search));
    assert_non_null(
        strstr(f.ignored, "not followed: search.num_return_sequences, search.bad_words_ids, search.stop_strings"));
    assert_null(strstr(f.ignored, "length_penalty")); /* of beams, and there is one */
    sc_arena_release(&f.arena);
}

static void rules_of_texts_are_read(void **state)
{
    (void)state;
    struct fixture f;
    struct sc_search search;
    assert_ok(read_file(&f, "generation_config.json",
        "{\"no_repeat_ngram_size\": 3, \"min_length\": 56, \"min_new_tokens\": 2, \"max_length\": 142, "
        "\"max_new_tokens\": null, \"forced_eos_token_id\": [7, 2], \"do_sample\": true, \"min_p\": 0.25}",
        false, &search));
    assert_int_equal(search.sample.no_repeat, 3);
    assert_int_equal(search.sample.min_length, 56);
    assert_int_equal(search.sample.min_new, 2);
    assert_int_equal(search.max_length, 142);
    assert_int_equal(search.max_new, 0);
    assert_int_equal(search.forced_eos, 2);
    assert_int_equal(search.context, 0);
    assert_true(search.sample.temperature == 1 && search.sample.min_p == 0.25 && search.sample.tempered);
    assert_null(f.ignored);
    sc_arena_release(&f.arena);
    assert_ok(read_file(&f, "config.json", "{\"eos_token_id\": 2, \"max_length\": 20}", false, &search));
    assert_false(search.found);
    assert_int_equal(search.max_length, 20);
    assert_int_equal(search.forced_eos, -1);
    sc_arena_release(&f.arena);
}

static void lengths_are_as_the_files_say_unless_asked(void **state)
{
    (void)state;
    struct sc_search search = {.max_length = 20, .forced_eos = 2};
    struct sc_request request = {.n_prompt = 5, .n_predict = -1, .n_eos = 1};
    sc_search_limit(&search, 128, &request);
    assert_int_equal(request.n_predict, 15);
    assert_int_equal(*request.last, 2);
    request = (struct sc_request){.n_prompt = 30, .n_predict = -1};
    sc_search_limit(&search, 128, &request);
    assert_int_equal(request.n_predict, 1);
    assert_null(request.last); /* nothing ends this one */
    search = (struct sc_search){.max_length = 20, .max_new = 9, .forced_eos = -1};
    request = (struct sc_request){.n_prompt = 5, .n_predict = -1, .n_eos = 1};
    sc_search_limit(&search, 128, &request);
    assert_int_equal(request.n_predict, 9);
    assert_null(request.last);
    request.n_predict = 3;
    sc_search_limit(&search, 128, &request);
    assert_int_equal(request.n_predict, 3);
    search = (struct sc_search){.forced_eos = -1};
    request.n_predict = -1;
    sc_search_limit(&search, 128, &request);
    assert_int_equal(request.n_predict, 128);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    expect_failure(
        "{\"search\": {\"no_repeat_ngram_size\": -2}}", SC_BAD_MODEL, "field 'search.no_repeat_ngram_size' is -2");
    expect_failure("{\"search\": {\"min_length\": 1.5}}", SC_BAD_MODEL,
        "field 'search.min_length' is a number, want a whole number");
    expect_failure("{\"search\": {\"top_p\": \"x\"}}", SC_BAD_MODEL, "field 'search.top_p' is a text, want a number");
    expect_failure("{\"search\": {\"do_sample\": true, \"temperature\": -1}}", SC_BAD_MODEL, "temperature is -1");
    expect_failure("{\"search\": {\"top_p\": 3}}", SC_BAD_MODEL, "top-p is 3");
    expect_failure("{\"search\": ", SC_BAD_INPUT, "");
}

static void fields_of_another_kind_are_not_taken_for_absent(void **state)
{
    (void)state;
    expect_failure("[]", SC_BAD_MODEL, "is a list, want an object");
    expect_failure("{\"search\": 5}", SC_BAD_MODEL, "field 'search' is a number, want an object");
    expect_failure("{\"model\": \"m\"}", SC_BAD_MODEL, "field 'model' is a text, want an object");
    expect_failure("{\"model\": {\"context_length\": \"2k\"}}", SC_BAD_MODEL,
        "field 'model.context_length' is a text, want a whole number");
    expect_failure("{\"search\": {\"num_beams\": \"4\"}}", SC_BAD_MODEL, "field 'search.num_beams' is a text");
    expect_failure("{\"search\": {\"num_beams\": 1e300}}", SC_BAD_MODEL, "field 'search.num_beams' is a number");
    expect_failure("{\"search\": {\"num_beams\": -1}}", SC_BAD_MODEL, "field 'search.num_beams' is -1, want 0 or more");
    expect_failure("{\"search\": {\"do_sample\": 1}}", SC_BAD_MODEL, "is a number, want true or false");
    expect_failure("{\"search\": {\"top_p\": [1]}}", SC_BAD_MODEL, "field 'search.top_p' is a list, want a number");
    struct fixture f;
    struct sc_search search;
    assert_ok(read_text(&f, "{\"model\": null, \"search\": {\"top_p\": null, \"top_k\": 7.0}}", &search));
    assert_true(search.sample.top_p == 1 && search.sample.top_k == 7);
    sc_arena_release(&f.arena);
}

static void penalties_shrink_logits_of_tokens_seen(void **state)
{
    (void)state;
    float row[4] = {3, -3, 3, -INFINITY};
    const bool seen[4] = {true, true, false, true};
    sc_sample_penalise(2, seen, 4, row);
    assert_true(row[0] == 1.5F && row[1] == -6 && row[2] == 3 && row[3] == -INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_file_says_nothing),
        cmocka_unit_test(text_is_greedy_unless_it_is_to_be_drawn),
        cmocka_unit_test(beams_are_refused_with_a_word),
        cmocka_unit_test(what_is_not_done_is_said),
        cmocka_unit_test(rules_of_texts_are_read),
        cmocka_unit_test(lengths_are_as_the_files_say_unless_asked),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(fields_of_another_kind_are_not_taken_for_absent),
        cmocka_unit_test(penalties_shrink_logits_of_tokens_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
