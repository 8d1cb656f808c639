/* SPDX-License-Identifier: Apache-2.0
 * What PCRE2 understands and RE2 does not, or otherwise. */
#include <string.h>

#include "base/regex_re2.h"

enum { MOST_REPEATS = 1000 };

struct scan {
    const char *at, *end;
};

static enum sc_status refuse(const char *what)
{
    return sc_fail(SC_BAD_INPUT, "RE2 has no %s", what);
}

static bool starts(const struct scan *s, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0;
}

/* After a backslash. */
static enum sc_status escape(struct scan *s)
{
    if (s->at == s->end) {
        return SC_OK; /* PCRE2 says what is wrong */
    }
    const char c = *s->at++;
    const bool more_digits = s->at < s->end && *s->at >= '0' && *s->at <= '7';
    if (c == '8' || c == '9' || (c >= '1' && c <= '7' && !more_digits)) {
        return refuse("references to groups");
    }
    if (c == 'Q') { /* as it stands, to \E */
        while (s->at < s->end && !starts(s, "\\E")) {
            s->at++;
        }
        return SC_OK;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return !letter || strchr("aftnrxdDsSwWAbBzpPE", c)
        ? SC_OK
        : sc_fail(SC_BAD_INPUT, "RE2 has no \\%c, or another than PCRE2", c);
}

/* A set in brackets, after the first of them. */
static enum sc_status set(struct scan *s)
{
    s->at += s->at < s->end && *s->at == '^';
    s->at += s->at < s->end && *s->at == ']'; /* the first one is an element */
    while (s->at < s->end && *s->at != ']') {
        if (starts(s, "[:")) {
            s->at += 2;
            while (s->at < s->end && !starts(s, ":]")) {
                s->at++;
            }
            s->at += s->at < s->end ? 2 : 0;
        } else if (*s->at++ == '\\') {
            SC_TRY(escape(s));
        }
    }
    s->at += s->at < s->end;
    return SC_OK;
}

/* A group, after its "(": flags, a name, or nothing. */
static enum sc_status group(struct scan *s)
{
    if (s->at < s->end && *s->at == '*') {
        return refuse("verbs");
    }
    if (!starts(s, "?")) {
        return SC_OK;
    }
    s->at++;
    const bool behind = starts(s, "<=") || starts(s, "<!");
    if (starts(s, "P<") || (starts(s, "<") && !behind)) {
        return SC_OK;
    }
    while (s->at < s->end && strchr("imsU-", *s->at)) {
        s->at++;
    }
    return starts(s, ":") || starts(s, ")") ? SC_OK
                                            : refuse("groups that look around, give nothing back, or call others");
}

/* The number at *at, which it moves behind; more than the most where there are too many digits. */
static int number(struct scan *s)
{
    int n = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        n = n > MOST_REPEATS ? n : 10 * n + (*s->at - '0');
    }
    return n;
}

/* *, +, ? or {n,m}, and what must not follow. False in *repeats where it is none. */
static enum sc_status repeat(struct scan *s, bool *repeats)
{
    struct scan t = *s;
    *repeats = t.at < t.end && strchr("*+?", *t.at) != NULL;
    if (*repeats) {
        t.at++;
    } else if (starts(&t, "{") && t.at + 1 < t.end && t.at[1] >= '0' && t.at[1] <= '9') {
        t.at++;
        int most = number(&t);
        if (starts(&t, ",")) {
            t.at++;
            const int upper = number(&t);
            most = upper > most ? upper : most;
        }
        *repeats = starts(&t, "}");
        t.at++;
        if (*repeats && most > MOST_REPEATS) {
            return sc_fail(SC_BAD_INPUT, "RE2 repeats at most %d times", MOST_REPEATS);
        }
    }
    if (!*repeats) {
        return SC_OK;
    }
    *s = t;
    s->at += starts(s, "?");
    return starts(s, "+") ? refuse("repetitions that give nothing back") : SC_OK;
}

enum sc_status sc_regex_re2_check(const char *pattern, size_t bytes)
{
    struct scan s = {pattern, pattern + bytes};
    while (s.at < s.end) {
        bool repeats;
        SC_TRY(repeat(&s, &repeats));
        if (repeats) {
            continue;
        }
        const char c = *s.at++;
        SC_TRY(c == '\\' ? escape(&s) : c == '[' ? set(&s) : c == '(' ? group(&s) : SC_OK);
    }
    return SC_OK;
}
