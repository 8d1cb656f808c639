/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/regex.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/regex.h"

static struct sc_regex *compile(const char *pattern, enum sc_regex_syntax syntax)
{
    struct sc_regex *regex = NULL;
    if (sc_regex_compile(pattern, strlen(pattern), syntax, &regex) != SC_OK) {
        fail_msg("%s", sc_error_last()->text);
    }
    return regex;
}

/* Checks the first match from `start`; want_start < 0: none. */
static void check(const char *pattern, const char *text, size_t start, int want_start, int want_end)
{
    struct sc_regex *const regex = compile(pattern, SC_REGEX_ONIGURUMA);
    bool found = false;
    size_t from = 0;
    size_t to = 0;
    assert_int_equal(sc_regex_find(regex, text, strlen(text), start, &found, &from, &to), SC_OK);
    assert_int_equal(found, want_start >= 0);
    if (found) {
        assert_int_equal(from, want_start);
        assert_int_equal(to, want_end);
    }
    sc_regex_free(regex);
}

static void refuse(const char *pattern, enum sc_status status)
{
    struct sc_regex *regex = NULL;
    assert_int_equal(sc_regex_compile(pattern, strlen(pattern), SC_REGEX_ONIGURUMA, &regex), status);
    assert_null(regex);
}

/* The same by the longest match, in Perl's syntax. */
static void check_longest(const char *pattern, const char *text, size_t start, int want_start, int want_end)
{
    struct sc_regex *const regex = compile(pattern, SC_REGEX_PERL);
    bool found = false;
    size_t from = 0;
    size_t to = 0;
    assert_int_equal(sc_regex_find_longest(regex, text, strlen(text), start, &found, &from, &to), SC_OK);
    assert_int_equal(found, want_start >= 0);
    if (found) {
        assert_int_equal(from, want_start);
        assert_int_equal(to, want_end);
    }
    sc_regex_free(regex);
}

static void longest_match_wins_over_the_first_alternative(void **state)
{
    (void)state;
    check_longest("a|ab|abc", "xabcd", 0, 1, 4);
    check_longest("a*?", "aaa", 1, 1, 3);
    check_longest("b|c", "xabcd", 3, 3, 4);
    check_longest("z", "xabcd", 0, -1, -1);
    check_longest("\xc3\xa4.", "a\xc3\xa4\xc3\xb6", 0, 1, 5);
}

static void references_to_groups_are_refused_by_the_longest_match(void **state)
{
    (void)state;
    struct sc_regex *const regex = compile("(a)\\1", SC_REGEX_ONIGURUMA);
    bool found = false;
    size_t from;
    size_t to;
    assert_int_equal(sc_regex_find_longest(regex, "aa", 2, 0, &found, &from, &to), SC_BAD_INPUT);
    assert_false(found);
    sc_regex_free(regex);
}

static void classes_mean_what_unicode_says(void **state)
{
    (void)state;
    check("\\p{L}+",
        "1\xc3\xa4\xe4\xb8\xad"
        "2",
        0, 1, 6);
    check("\\s", "a\xc2\x85", 0, 1, 3); /* U+0085 is white space */
    check("\\s", "a\xe1\xa0\x8e", 0, -1, -1); /* U+180E is not */
    check("[\\s]", "a\xe3\x80\x80", 0, 1, 4);
    check("[\\S]+",
        " \xe1\xa0\x8e"
        "b ",
        0, 1, 5);
    check("[^\\S]+", "a  b", 0, 1, 3);
    check("\\w+", "-a\xcc\x88_9-", 0, 1, 6); /* marks belong to words */
    check("\\h+", "xBEEF g", 0, 1, 5);
    check("\\u00e4", "\xc3\xa4", 0, 0, 2);
    check("[[:alpha:]]+", "1ab2", 0, 1, 3);
}

static void lines_begin_and_end_anywhere(void **state)
{
    (void)state;
    check("^b$", "a\nb\nc", 0, 2, 3);
    check("a.b", "a\nb", 0, -1, -1);
    check("(?m:a.b)", "a\nb", 0, 0, 3);
    check("(?i:AB)", "xab", 0, 1, 3);
}

static void searching_starts_where_told_and_looks_behind(void **state)
{
    (void)state;
    check("a", "aXa", 1, 2, 3);
    check("(?<=X)a", "aXa", 2, 2, 3);
    check("\\s+(?!\\S)", "a   b", 0, 1, 3);
    check("x*", "", 0, 0, 0);
    check("a{,2}b", "aaab", 0, 1, 4);
    check("[]a]+", "x]a", 0, 1, 3);
    check("\\p{N}{1,3}", "12345", 0, 0, 3);
}

static void wrong_patterns_are_refused(void **state)
{
    (void)state;
    refuse("(", SC_BAD_INPUT);
    refuse("[a", SC_BAD_INPUT);
    refuse("a\\", SC_BAD_INPUT);
    refuse("\\p{Nonsense}", SC_BAD_INPUT);
    refuse("\\p{L", SC_BAD_INPUT);
    refuse("\\uzzzz", SC_BAD_INPUT);
    refuse("\xff", SC_BAD_INPUT);
    refuse("[a[b]]", SC_UNSUPPORTED);
    refuse("[a&&b]", SC_UNSUPPORTED);
    refuse("[\\W]", SC_UNSUPPORTED);
    refuse("a{1,3}+", SC_UNSUPPORTED);
    struct sc_regex *regex = NULL;
    char *const long_pattern = calloc(1, 1 << 20);
    assert_non_null(long_pattern);
    memset(long_pattern, '(', 1 << 20);
    assert_int_equal(sc_regex_compile(long_pattern, 1 << 20, SC_REGEX_PERL, &regex), SC_UNSUPPORTED);
    assert_int_equal(sc_regex_compile(long_pattern, 60000, SC_REGEX_PERL, &regex), SC_BAD_INPUT);
    free(long_pattern);
}

static void what_re2_lacks_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {"(a)\\1", "a\\8", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a)", "(?|a)",
        "(?R)", "(?x)a", "(*SKIP)a", "a++", "a*+", "a?+", "a{2}+", "a{1001}", "a{2,99999999999}", "\\v", "\\K", "\\R",
        "[\\h]", "[]\\N]"};
    static const char *const taken[] = {"(?P<n>a)", "(?<n>a)", "(?i:a)", "(?is-U:a)", "(?U)a*", "\\Qa++(?=\\E", "[a++]",
        "a{2,1000}", "a{x}+", "a*?", "\\x41\\pN\\z", "\\101", "[[:alpha:]\\]]", "(?:a)", "a|()", "\\++"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct sc_regex *regex = NULL;
        assert_int_equal(sc_regex_compile(refused[i], strlen(refused[i]), SC_REGEX_PERL, &regex), SC_BAD_INPUT);
        assert_non_null(strstr(sc_error_last()->text, "RE2"));
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        sc_regex_free(compile(taken[i], SC_REGEX_PERL));
    }
}

static void endless_matching_is_cut_off(void **state)
{
    (void)state;
    struct sc_regex *const regex = compile("(a+)+$", SC_REGEX_PERL);
    char text[64];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 'b';
    bool found;
    size_t from;
    size_t to;
    assert_int_equal(sc_regex_find(regex, text, sizeof text, 0, &found, &from, &to), SC_LIMIT);
    sc_regex_free(regex);
}

/* Each start stays under the bound on steps. */
static void starts_without_end_are_cut_off(void **state)
{
    (void)state;
    struct sc_regex *const regex = compile("(a|aa)+[bd]", SC_REGEX_ONIGURUMA);
    enum { WORD = 25, TEXT = WORD * 4000 };
    char *const text = malloc(TEXT);
    assert_non_null(text);
    memset(text, 'a', TEXT);
    for (size_t i = WORD - 1; i < TEXT; i += WORD) {
        text[i] = ' ';
    }
    bool found;
    size_t from;
    size_t to;
    assert_int_equal(sc_regex_find(regex, text, TEXT, 0, &found, &from, &to), SC_LIMIT);
    assert_non_null(strstr(sc_error_last()->text, "takes too long on a text of 100000 bytes"));
    sc_regex_free(regex);
    free(text);
}

/* A search goes by windows: what begins in another than the first is found all the same, and nothing else is. */
static void far_matches_are_found_where_they_begin(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *tail;
        int start, end; /* behind the filling; -1: not found */
    } cases[] = {{"b", "b", 0, 1}, {"(?<=c)b", "cb", 1, 2}, {"\\Gb", "b", -1, -1}, {"^b", "b", -1, -1},
        {"^b", "\nb", 1, 2}, {"$", "", 0, 0}, {".*=", "xx", -1, -1}, {".*\\+", "\nzz+", 1, 4}, {"\\z", "ab", 2, 2},
        {"[^\xc3\xa4]", "c", 0, 1}};
    for (size_t n = 0; n < 200; n++) {
        char text[512];
        for (size_t i = 0; i < n; i++) {
            memcpy(text + 2 * i, "\xc3\xa4", 2); /* a character of two bytes */
        }
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct sc_regex *const regex = compile(cases[i].pattern, SC_REGEX_ONIGURUMA);
            const size_t tail = strlen(cases[i].tail);
            bool found;
            size_t from = 0, to = 0;
            memcpy(text + 2 * n, cases[i].tail, tail);
            assert_int_equal(sc_regex_find(regex, text, 2 * n + tail, 0, &found, &from, &to), SC_OK);
            const bool at_once = n == 0 && cases[i].tail[0] == 'b'; /* where all begins \G and ^ match */
            assert_int_equal(found, cases[i].start >= 0 || at_once);
            if (cases[i].start >= 0) {
                assert_int_equal(from, 2 * n + (size_t)cases[i].start);
                assert_int_equal(to, 2 * n + (size_t)cases[i].end);
            }
            sc_regex_free(regex);
        }
    }
}

static void whole_texts_match_or_not(void **state)
{
    (void)state;
    struct sc_regex *const regex = compile("a|ab|\\d+", SC_REGEX_PERL);
    static const struct {
        const char *text;
        bool matches;
    } cases[] = {{"ab", true}, {"a", true}, {"abc", false}, {"", false}, {"12", true}, {"\xd9\xa3", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool matches = !cases[i].matches;
        assert_int_equal(sc_regex_matches(regex, cases[i].text, strlen(cases[i].text), &matches), SC_OK);
        assert_int_equal(matches, cases[i].matches);
    }
    bool matches;
    assert_int_equal(sc_regex_matches(regex, "a\xff", 2, &matches), SC_BAD_INPUT);
    sc_regex_free(regex);
    sc_regex_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_match_wins_over_the_first_alternative),
        cmocka_unit_test(references_to_groups_are_refused_by_the_longest_match),
        cmocka_unit_test(classes_mean_what_unicode_says),
        cmocka_unit_test(lines_begin_and_end_anywhere),
        cmocka_unit_test(searching_starts_where_told_and_looks_behind),
        cmocka_unit_test(wrong_patterns_are_refused),
        cmocka_unit_test(what_re2_lacks_is_refused),
        cmocka_unit_test(endless_matching_is_cut_off),
        cmocka_unit_test(starts_without_end_are_cut_off),
        cmocka_unit_test(far_matches_are_found_where_they_begin),
        cmocka_unit_test(whole_texts_match_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
