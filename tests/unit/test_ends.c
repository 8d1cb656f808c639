/* SPDX-License-Identifier: Apache-2.0
 * Claims about the tokens that end a text. */
#include "decode/ends.h"

#include <sys/stat.h>

#include "graph_case.h"

struct fixture {
    struct sc_arena arena;
    struct sc_tokenizer *tokenizer;
    int n;
    int64_t *ids;
};

static void remove_files(const char *folder)
{
    static const char *const names[] = {"genai_config.json", "generation_config.json", "config.json"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
    (void)rmdir(folder);
}

/* name: of the one file in the folder, NULL for none; text NULL: a folder in its place. */
static enum sc_status read_ends(struct fixture *f, const char *name, const char *text)
{
    static const char tokenizer[] =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"</s>\": 1}, \"merges\": []}}";
    char folder[] = "/tmp/sc_ends_XXXXXX", path[128];
    memset(f, 0, sizeof *f);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, name ? name : "other");
    if (text) {
        assert_ok(sc_file_write(path, text, strlen(text)));
    } else if (name) {
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_ok(sc_tokenizer_parse(tokenizer, sizeof tokenizer - 1, "t", &f->tokenizer));
    const enum sc_status status = sc_ends_read(folder, f->tokenizer, &f->arena, &f->n, &f->ids);
    remove_files(folder);
    return status;
}

static void release(struct fixture *f)
{
    sc_tokenizer_free(f->tokenizer);
    sc_arena_release(&f->arena);
}

static void expect_ids(const char *name, const char *text, int n, const int64_t *ids)
{
    struct fixture f;
    assert_ok(read_ends(&f, name, text));
    assert_int_equal(f.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(f.ids[i], ids[i]);
    }
    release(&f);
}

static void files_say_an_id_or_several(void **state)
{
    (void)state;
    expect_ids("genai_config.json", "{\"model\": {\"eos_token_id\": 7}, \"eos_token_id\": 8}", 1, (const int64_t[]){7});
    expect_ids("generation_config.json", "{\"eos_token_id\": [5, 6, -1]}", 2, (const int64_t[]){5, 6});
    expect_ids("config.json", "{\"eos_token_id\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}", 18,
        (const int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18});
}

static void where_no_file_says_the_usual_token_ends(void **state)
{
    (void)state;
    static const int64_t usual[] = {1};
    expect_ids(NULL, NULL, 1, usual);
    expect_ids("config.json", "{\"eos_token_id\": null}", 1, usual);
    expect_ids("config.json", "{\"eos_token_id\": -1}", 1, usual);
    expect_ids("config.json", "{\"eos_token_id\": []}", 1, usual);
    expect_ids("genai_config.json", "{}", 1, usual);
}

static void what_is_no_id_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *why;
    } bad[] = {{"config.json", "{\"eos_token_id\": \"</s>\"}", "field 'eos_token_id' is a text, want a whole number"},
        {"config.json", "{\"eos_token_id\": 1.5}", "is a number, want a whole number"},
        {"config.json", "{\"eos_token_id\": -2}", "is -2, want -1 or more"},
        {"config.json", "{\"eos_token_id\": [1, \"x\"]}", "has a text among its ids"},
        {"config.json", "{\"eos_token_id\": [[1]]}", "has a list among its ids"},
        {"config.json", "{\"eos_token_id\": [-7]}", "has a negative number among its ids"},
        {"genai_config.json", "{\"model\": []}", "field 'model' is a list, want an object"},
        {"generation_config.json", "7", "expected"}, {"generation_config.json", "[1]", "is a list, want an object"},
        {"config.json", NULL, "is a directory"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fixture f;
        assert_int_not_equal(read_ends(&f, bad[i].name, bad[i].text), SC_OK);
        if (!strstr(sc_error_last()->text, bad[i].why)) {
            fail_msg("'%s' is not in '%s'", bad[i].why, sc_error_last()->text);
        }
        assert_non_null(strstr(sc_error_last()->text, bad[i].name));
        release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_say_an_id_or_several),
        cmocka_unit_test(where_no_file_says_the_usual_token_ends),
        cmocka_unit_test(what_is_no_id_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
