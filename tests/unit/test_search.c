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
};

static enum sc_status read_text(struct fixture *f, const char *text, struct sc_search *search)
{
    memset(f, 0, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/sc_search_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/genai_config.json", f->folder);
    if (text) {
        FILE *file = fopen(f->path, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    const enum sc_status status = sc_search_read(f->folder, &f->arena, search);
    (void)unlink(f->path);
    (void)rmdir(f->folder);
    return status;
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

static void other_searches_are_refused_with_a_word(void **state)
{
    (void)state;
    expect_failure(
        "{\"search\": {\"num_beams\": 4}}", SC_UNSUPPORTED, "search.num_beams is 4: search by beams is not supported");
    expect_failure("{\"search\": {\"no_repeat_ngram_size\": 2}}", SC_UNSUPPORTED, "search.no_repeat_ngram_size is 2");
    expect_failure("{\"search\": {\"min_length\": 9}}", SC_UNSUPPORTED, "search.min_length is 9");
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
        cmocka_unit_test(other_searches_are_refused_with_a_word),
        cmocka_unit_test(fields_of_another_kind_are_not_taken_for_absent),
        cmocka_unit_test(penalties_shrink_logits_of_tokens_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
