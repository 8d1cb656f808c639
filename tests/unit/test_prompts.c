/* SPDX-License-Identifier: Apache-2.0
 * Claims about files of requests. */
#include "graph_case.h"
#include "launch/prompts.h"

static const struct sc_prompt_defaults defaults = {
    .n_predict = 9, .sample = {.temperature = 0.5, .top_k = 3, .top_p = 1, .penalty = 1, .seed = 77}};

static struct sc_prompt *read_lines(struct sc_arena *arena, const char *text, size_t bytes, int64_t want)
{
    char path[] = "/tmp/test_prompts_XXXXXX";
    struct sc_prompt *read = sc_arena_array(arena, (size_t)want + 1, sizeof *read);
    struct sc_prompts prompts;
    bool more;
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
    assert_int_equal(close(fd), 0);
    assert_ok(sc_prompts_open(path, &defaults, &prompts));
    assert_int_equal(unlink(path), 0);
    for (int64_t i = 0; i <= want; i++) {
        assert_ok(sc_prompts_next(&prompts, arena, &read[i], &more));
        assert_int_equal(more, i < want);
    }
    sc_prompts_close(&prompts);
    return read;
}

static void a_line_says_what_differs_from_the_options(void **state)
{
    (void)state;
    static const char text[] =
        "\xef\xbb\xbf{\"prompt\": \"one\"}\r\n\n  \n" /* with the mark that some editors begin files with */
        "{\"prompt\": \"t\\u0000o\", \"id\": \"x\", \"max_tokens\": 4, \"temperature\": 1, \"top_k\": "
        "5, \"top_p\": 0.25, \"min_p\": 0.125, \"repeat_penalty\": 1.5, \"ignore_eos\": true}\n"
        "{\"prompt\": \"three\", \"n_predict\": 0, \"seed\": 5}";
    struct sc_arena arena = {0};
    const struct sc_prompt *p = read_lines(&arena, text, sizeof text - 1, 3);
    assert_int_equal(p[0].line, 1);
    assert_string_equal(p[0].text, "one");
    assert_int_equal(p[0].n_predict, 9);
    assert_memory_equal(&p[0].sample, &defaults.sample, sizeof defaults.sample);
    assert_null(p[0].id);
    assert_int_equal(p[1].line, 4);
    assert_int_equal(p[1].text_bytes, 3);
    assert_memory_equal(p[1].text, "t\0o", 4);
    assert_string_equal(p[1].id, "x");
    assert_int_equal(p[1].n_predict, 4);
    assert_true(p[1].sample.temperature == 1 && p[1].sample.top_k == 5 && p[1].sample.top_p == 0.25);
    assert_true(p[1].sample.min_p == 0.125 && p[1].sample.penalty == 1.5 && p[1].ignore_eos);
    assert_true(p[1].sample.seed == 77 && p[1].key == 1); /* drawn apart from the others by its place */
    assert_true(p[2].sample.seed == 5 && p[2].key == 0 && p[2].n_predict == 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p[i].error.code, SC_OK);
    }
    sc_arena_release(&arena);
}

static void a_bad_line_says_its_number_and_costs_itself_alone(void **state)
{
    (void)state;
    static const struct {
        const char *line, *why;
    } bad[] = {{"what", "line 2: JSON"}, {"7", "line 2: "}, {"[]", "line 2: not an object"},
        {"{}", "'prompt' is missing"}, {"{\"prompt\": 1}", "'prompt' is not a text"},
        {"{\"prompt\": \"x\", \"seed\": 1.5}", "'seed' is not a whole number"},
        {"{\"prompt\": \"x\", \"top_p\": \"1\"}", "'top_p' is not a number"},
        {"{\"prompt\": \"x\", \"ignore_eos\": 1}", "'ignore_eos' is not true or false"},
        {"{\"prompt\": \"x\", \"n_predict\": -1}", "negative"},
        {"{\"prompt\": \"x\", \"topk\": 1}", "unknown field 'topk'"},
        {"{\"prompt\": \"x\", \"temperature\": -1}", "temperature is -1"}, {"{\"prompt\": \"\xff\"}", "line 2: JSON"},
        {"{\"prompt\": \"x\", \"id\": \"a\\u0000b\"}", "'id' has a NUL"},
        {"{\"prompt\": \"x\", \"audio\": \"a\\u0000b\"}", "'audio' has a NUL"},
        {"{\"prompt\": \"x\", \"audio\": \"x.wav\"}", "'prompt' and 'audio' exclude"},
        {"{\"prompt\": \"x\", \"n_predict\": 3, \"max_tokens\": 4}", "'max_tokens' is another name"},
        {"{\"prompt\": \"x\", \"seed\": -1}", "a negative seed"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];
        struct sc_arena arena = {0};
        const int n = snprintf(text, sizeof text, "{\"prompt\": \"a\"}\n%s\n{\"prompt\": \"b\"}\n", bad[i].line);
        const struct sc_prompt *p = read_lines(&arena, text, (size_t)n, 3);
        assert_int_equal(p[0].error.code, SC_OK);
        assert_true(p[1].error.code == SC_BAD_INPUT || p[1].error.code == SC_BAD_USAGE);
        if (!strstr(p[1].error.text, bad[i].why)) {
            fail_msg("'%s' is not in '%s'", bad[i].why, p[1].error.text);
        }
        assert_string_equal(p[2].text, "b");
        sc_arena_release(&arena);
    }
}

static void a_bad_line_keeps_its_id_wherever_it_stands(void **state)
{
    (void)state;
    static const char text[] =
        "{\"prompt\": 5, \"id\": \"after\"}\n{\"id\": \"before\", \"topk\": 1}\n{\"prompt\": \"x\", \"id\": 7}";
    struct sc_arena arena = {0};
    const struct sc_prompt *p = read_lines(&arena, text, sizeof text - 1, 3);
    assert_non_null(strstr(p[0].error.text, "line 1: field 'prompt' is not a text"));
    assert_string_equal(p[0].id, "after");
    assert_non_null(strstr(p[1].error.text, "unknown field 'topk'"));
    assert_string_equal(p[1].id, "before");
    assert_non_null(strstr(p[2].error.text, "'id' is not a text"));
    assert_null(p[2].id);
    sc_arena_release(&arena);
}

static void a_line_that_is_too_long_is_not_read(void **state)
{
    (void)state;
    const size_t bytes = SC_PROMPTS_LINE + 100;
    char *text = malloc(bytes);
    struct sc_arena arena = {0};
    assert_non_null(text);
    memset(text, 'x', bytes);
    memcpy(text, "{\"prompt\": \"", 12);
    memcpy(text + bytes - 20, "\"}\n{\"prompt\": \"b\"}\n ", 20);
    const struct sc_prompt *p = read_lines(&arena, text, bytes, 2);
    assert_non_null(strstr(p[0].error.text, "want at most 4194304"));
    assert_string_equal(p[1].text, "b");
    sc_arena_release(&arena);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_what_differs_from_the_options),
        cmocka_unit_test(a_bad_line_says_its_number_and_costs_itself_alone),
        cmocka_unit_test(a_bad_line_keeps_its_id_wherever_it_stands),
        cmocka_unit_test(a_line_that_is_too_long_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
