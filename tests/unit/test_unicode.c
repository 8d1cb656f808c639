/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/unicode.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/unicode.h"

static void only_shortest_forms_of_scalar_values_are_valid(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
        size_t n_valid;
    } cases[] = {
        {"", 0, 0},
        {"a\0b", 3, 3},
        {"\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 18, 18},
        {"a\xc0\x80", 3, 1}, /* long NUL */
        {"a\xe0\x9f\xbf", 4, 1},
        {"a\xf0\x8f\xbf\xbf", 5, 1},
        {"a\xed\xa0\x80", 4, 1}, /* surrogate */
        {"a\xf4\x90\x80\x80", 5, 1}, /* past U+10FFFF */
        {"a\xf5\x80\x80\x80", 5, 1},
        {"a\x80", 2, 1},
        {"a\xe4\xb8", 3, 1}, /* cut off */
        {"a\xe4\x61\x61", 4, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sc_utf8_valid(cases[i].text, cases[i].bytes), cases[i].n_valid);
    }
}

static void every_code_point_survives_encoding(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff) {
            continue;
        }
        char text[4];
        const size_t n = sc_utf8_encode(code, text);
        uint32_t again;
        assert_int_equal(sc_utf8_valid(text, n), n);
        assert_int_equal(sc_utf8_decode(text, &again), n);
        assert_int_equal(again, code);
    }
}

#define FFFD "\xef\xbf\xbd"

static void maximal_parts_become_one_mark_each(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    char *text = NULL;
    size_t bytes = 0;
    size_t consumed = 0;
    /* Table 3-8 of Unicode 15: 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64 */
    const char *const mixed = "a\xf1\x80\x80\xe1\x80\xc2"
                              "b\x80"
                              "c\x80\xbf"
                              "d";
    assert_int_equal(sc_utf8_repair(mixed, strlen(mixed), true, &arena, &text, &bytes, &consumed), SC_OK);
    assert_string_equal(text, "a" FFFD FFFD FFFD "b" FFFD "c" FFFD FFFD "d");
    assert_int_equal(consumed, strlen(mixed));
    assert_int_equal(sc_utf8_repair("a\xf0\x9f\x98", 4, false, &arena, &text, &bytes, &consumed), SC_OK);
    assert_string_equal(text, "a");
    assert_int_equal(consumed, 1);
    assert_int_equal(sc_utf8_repair("a\xf0\x9f\x98", 4, true, &arena, &text, &bytes, &consumed), SC_OK);
    assert_string_equal(text, "a" FFFD);
    assert_int_equal(consumed, 4);
    sc_arena_release(&arena);
}

static void forms_are_those_of_uax_15(void **state)
{
    (void)state;
    static const struct {
        enum sc_unicode_form form;
        const char *text;
        const char *normal;
    } cases[] = {
        {SC_UNICODE_NFC, "a\xcc\x88", "\xc3\xa4"},
        {SC_UNICODE_NFD, "\xc3\xa4", "a\xcc\x88"},
        {SC_UNICODE_NFC, "\xef\xac\x81", "\xef\xac\x81"}, /* the ligature fi stays */
        {SC_UNICODE_NFKC, "\xef\xac\x81", "fi"},
        {SC_UNICODE_NFKD, "\xe2\x91\xa0\xc3\xa4", "1a\xcc\x88"},
        {SC_UNICODE_NFC, "\xe1\x84\x80\xe1\x85\xa1", "\xea\xb0\x80"}, /* Hangul */
        {SC_UNICODE_NFC, "\xe2\x84\xab", "\xc3\x85"}, /* Angstrom */
        {SC_UNICODE_NFC, "", ""},
    };
    struct sc_arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = NULL;
        size_t bytes = 0;
        assert_int_equal(
            sc_unicode_normalize(cases[i].form, cases[i].text, strlen(cases[i].text), &arena, &text, &bytes), SC_OK);
        assert_int_equal(bytes, strlen(cases[i].normal));
        assert_string_equal(text, cases[i].normal);
    }
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(sc_unicode_normalize(SC_UNICODE_NFC, "a\0a\xcc\x88", 5, &arena, &text, &bytes), SC_OK);
    assert_int_equal(bytes, 4);
    assert_memory_equal(text, "a\0\xc3\xa4", 4);
    assert_int_equal(sc_unicode_normalize(SC_UNICODE_NFC, "\xff", 1, &arena, &text, &bytes), SC_BAD_INPUT);
    sc_arena_release(&arena);
}

static void lower_case_may_be_longer(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    char *text = NULL;
    size_t bytes = 0;
    /* Z, U+023A, U+0130, sigma, sharp s */
    const char *const upper = "Z\xc8\xba\xc4\xb0\xce\xa3\xc3\x9f\xe1\xba\x9e";
    assert_int_equal(sc_unicode_lower(upper, strlen(upper), &arena, &text, &bytes), SC_OK);
    assert_string_equal(text, "z\xe2\xb1\xa5i\xcc\x87\xcf\x83\xc3\x9f\xc3\x9f");
    sc_arena_release(&arena);
}

static void properties_are_those_of_the_database(void **state)
{
    (void)state;
    assert_true(sc_unicode_is_space(0x85) && sc_unicode_is_space(0x3000) && sc_unicode_is_space('\n'));
    assert_false(sc_unicode_is_space(0x180e) || sc_unicode_is_space(0x200b) || sc_unicode_is_space('a'));
    assert_true(sc_unicode_is_word('_') && sc_unicode_is_word(0x308) && sc_unicode_is_word(0x24b6));
    assert_true(sc_unicode_is_word(0x4e2d) && sc_unicode_is_word(0x200d) && sc_unicode_is_word('9'));
    assert_false(sc_unicode_is_word('-') || sc_unicode_is_word(0xb2) || sc_unicode_is_word(0x1f600));
    assert_true(sc_unicode_is_number(0xb2) && sc_unicode_is_number(0x2167) && sc_unicode_is_number(0x663));
    assert_false(sc_unicode_is_number('a'));
    assert_true(sc_unicode_is_punctuation(0xab) && sc_unicode_is_punctuation('!') && sc_unicode_is_punctuation('_'));
    assert_false(sc_unicode_is_punctuation('$') || sc_unicode_is_punctuation('a'));
    assert_true(sc_unicode_is_mark(0x308));
    assert_false(sc_unicode_is_mark('a'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_shortest_forms_of_scalar_values_are_valid),
        cmocka_unit_test(every_code_point_survives_encoding),
        cmocka_unit_test(maximal_parts_become_one_mark_each),
        cmocka_unit_test(forms_are_those_of_uax_15),
        cmocka_unit_test(lower_case_may_be_longer),
        cmocka_unit_test(properties_are_those_of_the_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
