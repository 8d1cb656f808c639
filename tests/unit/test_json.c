/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/json.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static struct sc_json *parse(const char *text)
{
    struct sc_json *root = NULL;
    assert_int_equal(sc_json_parse(text, strlen(text), "test", &root), SC_OK);
    return root;
}

static void refuse(const char *text, size_t bytes)
{
    struct sc_json *root = NULL;
    assert_int_equal(sc_json_parse(text, bytes, "file.json", &root), SC_BAD_INPUT);
    assert_int_equal(strncmp(sc_error_last()->text, "file.json:", 10), 0);
    assert_null(root);
}

static void values_are_read_by_kind(void **state)
{
    (void)state;
    struct sc_json *const root =
        parse("{\"t\": \"a\\u0000b\", \"i\": -3, \"r\": 2.5, \"w\": 4.0, \"b\": true, \"n\": null, \"l\": [1, 2]}");
    size_t bytes = 0;
    assert_memory_equal(sc_json_text(sc_json_get(root, "t"), &bytes), "a\0b", 4);
    assert_int_equal(bytes, 3);
    assert_int_equal(sc_json_int(sc_json_get(root, "i"), 0), -3);
    assert_int_equal(sc_json_int(sc_json_get(root, "r"), 9), 9);
    assert_int_equal(sc_json_int(sc_json_get(root, "w"), 9), 4);
    assert_true(sc_json_real(sc_json_get(root, "r"), 0) == 2.5);
    assert_true(sc_json_real(sc_json_get(root, "i"), 0) == -3);
    assert_true(sc_json_bool(sc_json_get(root, "b"), false));
    assert_true(sc_json_bool(sc_json_get(root, "i"), true));
    assert_null(sc_json_text(sc_json_get(root, "i"), NULL));
    assert_int_equal(sc_json_size(sc_json_get(root, "l")), 2);
    assert_int_equal(sc_json_size(root), 7);
    assert_int_equal(sc_json_size(sc_json_get(root, "i")), 0);
    assert_true(sc_json_is_object(root));
    assert_true(sc_json_is_array(sc_json_get(root, "l")));
    assert_true(sc_json_is_text(sc_json_get(root, "t")));
    assert_true(sc_json_is_int(sc_json_get(root, "i")));
    assert_false(sc_json_is_int(sc_json_get(root, "r")));
    sc_json_free(root);
}

static void what_is_absent_passes_through(void **state)
{
    (void)state;
    struct sc_json *const root = parse("{\"a\": [0]}");
    const struct sc_json *const none = sc_json_get(sc_json_at(sc_json_get(root, "x"), 3), "y");
    assert_null(none);
    assert_null(sc_json_at(sc_json_get(root, "a"), 1));
    assert_null(sc_json_get(sc_json_get(root, "a"), "k"));
    assert_int_equal(sc_json_size(none), 0);
    assert_int_equal(sc_json_int(none, 7), 7);
    assert_null(sc_json_text(none, NULL));
    assert_false(sc_json_is_object(none));
    sc_json_free(root);
    sc_json_free(NULL);
}

static enum sc_status join_keys(void *arg, const char *key, size_t key_bytes, const struct sc_json *value)
{
    (void)value;
    if (strcmp(key, "stop") == 0) {
        return sc_fail(SC_LIMIT, "stopped");
    }
    strncat(arg, key, key_bytes);
    return SC_OK;
}

static void members_are_visited_in_file_order_until_a_failure(void **state)
{
    (void)state;
    char keys[64] = "";
    struct sc_json *const root = parse("{\"z\": 1, \"a\": 2, \"m\": 3, \"stop\": 4, \"q\": 5}");
    assert_int_equal(sc_json_each(root, join_keys, keys), SC_LIMIT);
    assert_string_equal(keys, "zam");
    assert_int_equal(sc_json_each(NULL, join_keys, keys), SC_OK);
    sc_json_free(root);
}

static void what_is_not_json_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{", "[1,]", "{\"a\": 1, \"a\": 2}", "[1] x", "\"\xff\"", "[1e999]",
        "[99999999999999999999]", "nul", "{1: 2}", "[\"\\ud800\"]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse(bad[i], strlen(bad[i]));
    }
    refuse("{\n\"a\": x}", 9);
    assert_non_null(strstr(sc_error_last()->text, "file.json:2:"));
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *const deep = malloc(DEPTH);
    assert_non_null(deep);
    memset(deep, '[', DEPTH);
    refuse(deep, DEPTH);
    free(deep);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    struct sc_json *root = NULL;
    struct sc_json *list = NULL;
    assert_int_equal(sc_json_new(false, &root), SC_OK);
    assert_int_equal(sc_json_add_text(root, "name", "st\xc3\xa4ge"), SC_OK);
    assert_int_equal(sc_json_add_text(root, "path",
                         "a\xff"
                         "b"),
        SC_OK);
    assert_int_equal(sc_json_add_bytes(root, "text", "a\0b\xff", 4), SC_OK);
    assert_int_equal(sc_json_add(root, "list", true, &list), SC_OK);
    assert_int_equal(sc_json_add_int(list, NULL, INT64_MIN), SC_OK);
    assert_int_equal(sc_json_add_real(list, NULL, 0.1), SC_OK);
    assert_int_equal(sc_json_add_real(list, NULL, NAN), SC_OK);
    char *const text = sc_json_print(root);
    assert_non_null(text);
    assert_int_equal(text[strlen(text) - 1], '\n');
    struct sc_json *const again = parse(text);
    assert_string_equal(sc_json_text(sc_json_get(again, "name"), NULL), "st\xc3\xa4ge");
    assert_string_equal(sc_json_text(sc_json_get(again, "path"), NULL), "a?b");
    size_t bytes = 0;
    assert_memory_equal(sc_json_text(sc_json_get(again, "text"), &bytes), "a\0b?", 4);
    assert_int_equal(bytes, 4);
    const struct sc_json *const read = sc_json_get(again, "list");
    assert_int_equal(sc_json_int(sc_json_at(read, 0), 0), INT64_MIN);
    assert_true(sc_json_real(sc_json_at(read, 1), 0) == 0.1);
    assert_true(sc_json_real(sc_json_at(read, 2), 5) == 5);
    free(text);
    sc_json_free(again);
    sc_json_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_by_kind),
        cmocka_unit_test(what_is_absent_passes_through),
        cmocka_unit_test(members_are_visited_in_file_order_until_a_failure),
        cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(what_is_written_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
