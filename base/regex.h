/* SPDX-License-Identifier: Apache-2.0
 * Regular expressions over UTF-8 (PCRE2). */
#ifndef SC_BASE_REGEX_H
#define SC_BASE_REGEX_H

#include <stdbool.h>

#include "base/error.h"

/* A compiled pattern with the scratch of its matches: one thread at a time. */
struct sc_regex;

enum sc_regex_syntax {
    SC_REGEX_PERL, /* RE2's: \d \s \w are ASCII, and what only PCRE2 has is refused */
    SC_REGEX_ONIGURUMA /* what tokenizer files are written in: \s, \w, \h, ^, $ as Oniguruma's Ruby syntax has them */
};

/* Fails with SC_BAD_INPUT on a wrong pattern, naming it; with SC_UNSUPPORTED where the syntax means something that
 * PCRE2 cannot say (nested classes, && in a class). Patterns are at most 64 KiB. */
enum sc_status sc_regex_compile(
    const char *pattern, size_t bytes, enum sc_regex_syntax syntax, struct sc_regex **regex);
void sc_regex_free(struct sc_regex *regex);

/* The first match that begins at `start` or after it; looking behind sees the text before `start`.
 * text: valid UTF-8 (not checked again), start: on a character. Outputs but *found are set only when found.
 * Fails with SC_LIMIT when the pattern needs too many steps, or in all too long for the texts that it was given. */
enum sc_status sc_regex_find(struct sc_regex *regex, const char *text, size_t bytes, size_t start, bool *found,
    size_t *match_start, size_t *match_end);

/* The same, but of the matches that begin there the longest, as POSIX and RE2's longest_match have it; a group cannot
 * be referred to. SC_LIMIT too when the pattern is too large for this search. */
enum sc_status sc_regex_find_longest(struct sc_regex *regex, const char *text, size_t bytes, size_t start, bool *found,
    size_t *match_start, size_t *match_end);

/* Whether the pattern matches the whole text; texts that are not UTF-8 are SC_BAD_INPUT. */
enum sc_status sc_regex_matches(struct sc_regex *regex, const char *text, size_t bytes, bool *matches);

#endif
