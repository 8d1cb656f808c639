/* SPDX-License-Identifier: Apache-2.0
 * PCRE2 with bounded steps and memory. Oniguruma's syntax is translated where the two disagree in silence. */
#include "base/regex.h"
#include "base/regex_re2.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/unicode.h"

enum {
    MAX_PATTERN = 64 << 10,
    MAX_STEPS = 10000000, /* per start; a run of a megabyte may be given back one by one */
    MAX_HEAP_KIB = 256 << 10,
    DFA_STATES = 8 << 10, /* of the search for the longest match; 32 KiB of stack */
    WINDOW = 64, /* starts between two looks at the clock, at first */
    MOST_WINDOW = 4096, /* PCRE2 may look for a character up to the text's end in each */
    GRACE_NS = 2000000000,
    SLOW_NS = 1000000, /* a window that takes longer is followed by a small one */
    MOST_NS = 500000000, /* that a window counts: the program may have been stopped meanwhile */
    BYTE_NS = 4000 /* a hundred times what a tokenizer's pattern takes */
};

struct sc_regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    bool whole; /* the first start is the only one, or \G would match where a window begins */
    bool lines; /* later starts are those of lines: a window does not begin within one */
    int64_t spent_ns, passed_bytes; /* by all searches */
};

/* Sets that PCRE2 spells otherwise or defines otherwise: its \s has U+180E, its \w no marks, its \h is a space. */
#define SPACE "\\t-\\r\\x{85}\\p{Z}"
#define NOT_SPACE                                                                                                      \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"                    \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"

struct set {
    char letter;
    const char *outside; /* of brackets */
    const char *inside; /* NULL: cannot be said */
};

static const struct set sets[] = {
    {'s', "[" SPACE "]", SPACE},
    {'S', "[^" SPACE "]", NOT_SPACE},
    {'w', "[" WORD "]", WORD},
    {'W', "[^" WORD "]", NULL},
    {'h', "[0-9A-Fa-f]", "0-9A-Fa-f"},
    {'H', "[^0-9A-Fa-f]", NULL},
    {'v', "\\x{b}", "\\x{b}"},
};

/* Reading one pattern and writing another. No input byte becomes more than 200 bytes. */
struct translation {
    const char *in;
    size_t n_in;
    size_t at;
    char *out;
    size_t n_out;
    bool in_class;
};

static void put(struct translation *t, const char *text, size_t bytes)
{
    memcpy(t->out + t->n_out, text, bytes);
    t->n_out += bytes;
}

static char peek(const struct translation *t, size_t ahead)
{
    return ahead < t->n_in - t->at ? t->in[t->at + ahead] : '\0';
}

static void copy(struct translation *t, size_t bytes)
{
    const size_t n = bytes < t->n_in - t->at ? bytes : t->n_in - t->at;
    put(t, t->in + t->at, n);
    t->at += n;
}

static enum sc_status translate_escape(struct translation *t)
{
    const char letter = peek(t, 1);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (sets[i].letter == letter) {
            const char *const said = t->in_class ? sets[i].inside : sets[i].outside;
            if (said == NULL) {
                return sc_fail(SC_UNSUPPORTED, "regular expression: \\%c inside brackets is not supported", letter);
            }
            put(t, said, strlen(said));
            t->at += 2;
            return SC_OK;
        }
    }
    if (letter == 'u') { /* \uHHHH */
        t->at += 2;
        put(t, "\\x{", 3);
        copy(t, 4);
        put(t, "}", 1);
        return SC_OK;
    }
    const bool has_braces = peek(t, 2) == '{'; /* as in \p{L} and \x{10} */
    copy(t, 2);
    while (has_braces && t->at < t->n_in && peek(t, 0) != '}') {
        copy(t, 1);
    }
    if (has_braces) {
        copy(t, 1);
    }
    return SC_OK;
}

static enum sc_status translate_in_class(struct translation *t)
{
    const char c = peek(t, 0);
    if (c == '[' && peek(t, 1) == ':') { /* [:alpha:] */
        do {
            copy(t, 1);
        } while (t->at < t->n_in && peek(t, 0) != ']');
        copy(t, 1);
        return SC_OK;
    }
    if (c == '[' || (c == '&' && peek(t, 1) == '&')) {
        return sc_fail(
            SC_UNSUPPORTED, "regular expression: %s inside brackets is not supported", c == '[' ? "[" : "&&");
    }
    t->in_class = c != ']';
    copy(t, 1);
    return SC_OK;
}

static enum sc_status translate_next(struct translation *t)
{
    const char c = peek(t, 0);
    if (c == '\\') {
        return translate_escape(t);
    }
    if (t->in_class) {
        return translate_in_class(t);
    }
    if (c == '[') {
        t->in_class = true;
        copy(t, peek(t, 1) == '^' ? 2 : 1);
        if (peek(t, 0) == ']') { /* the first one stands for itself */
            copy(t, 1);
        }
    } else if (c == '(' && peek(t, 1) == '?') {
        copy(t, 2);
        for (char flag = peek(t, 0); flag == 'i' || flag == 'm' || flag == 'x' || flag == '-'; flag = peek(t, 0)) {
            /* Ruby's m lets the dot match line ends, which is s elsewhere. */
            put(t, flag == 'm' ? "s" : &flag, 1);
            t->at++;
        }
    } else if (c == '{' && peek(t, 1) == ',') {
        put(t, "{0", 2);
        t->at++;
    } else if (c == '}' && peek(t, 1) == '+') {
        return sc_fail(SC_UNSUPPORTED, "regular expression: + after {n,m} is not supported");
    } else {
        copy(t, 1);
    }
    return SC_OK;
}

static enum sc_status translate(
    const char *pattern, size_t bytes, struct sc_arena *arena, const char **translated, size_t *translated_bytes)
{
    struct translation t = {.in = pattern, .n_in = bytes};
    t.out = sc_arena_array(arena, bytes + 1, 200);
    if (t.out == NULL) {
        return SC_NO_MEMORY;
    }
    while (t.at < t.n_in) {
        SC_TRY(translate_next(&t));
    }
    *translated = t.out;
    *translated_bytes = t.n_out;
    return SC_OK;
}

static enum sc_status compile(const char *pattern, size_t bytes, uint32_t options, pcre2_code **code)
{
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_compile_context *const context = pcre2_compile_context_create(NULL);
    if (context == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a regular expression");
    }
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_code *const made =
        pcre2_compile((PCRE2_SPTR)pattern, bytes, options | PCRE2_NEVER_BACKSLASH_C, &error, &offset, context);
    pcre2_compile_context_free(context);
    if (made == NULL) {
        PCRE2_UCHAR why[120] = "";
        (void)pcre2_get_error_message(error, why, sizeof why);
        return sc_fail(
            SC_BAD_INPUT, "regular expression '%.200s': %s at byte %zu", pattern, (const char *)why, (size_t)offset);
    }
    *code = made;
    return SC_OK;
}

/* Which starts PCRE2 tries, so that windows leave out none and add none. */
static void find_starts(struct sc_regex *regex, const char *pattern, size_t bytes)
{
    uint32_t options = 0, first = 0;
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_ALLOPTIONS, &options);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FIRSTCODETYPE, &first);
    regex->whole = (options & PCRE2_ANCHORED) != 0;
    regex->lines = first == 2;
    for (size_t i = 0; i + 1 < bytes; i++) {
        regex->whole = regex->whole || (pattern[i] == '\\' && pattern[i + 1] == 'G');
    }
}

enum sc_status sc_regex_compile(const char *pattern, size_t bytes, enum sc_regex_syntax syntax, struct sc_regex **regex)
{
    if (bytes > MAX_PATTERN) {
        return sc_fail(SC_UNSUPPORTED, "regular expression of %zu bytes, at most %d are supported", bytes, MAX_PATTERN);
    }
    struct sc_arena arena = {0};
    struct sc_regex *const made = calloc(1, sizeof *made);
    enum sc_status status = made == NULL ? sc_fail(SC_NO_MEMORY, "out of memory: a regular expression") : SC_OK;
    const char *spelled = pattern;
    size_t spelled_bytes = bytes;
    uint32_t options = PCRE2_UTF;
    if (status == SC_OK && syntax == SC_REGEX_PERL) {
        status = sc_regex_re2_check(pattern, bytes);
    }
    if (status == SC_OK && syntax == SC_REGEX_ONIGURUMA) {
        options |= PCRE2_UCP | PCRE2_MULTILINE;
        status = translate(pattern, bytes, &arena, &spelled, &spelled_bytes);
    }
    if (status == SC_OK) {
        status = compile(spelled, spelled_bytes, options | PCRE2_USE_OFFSET_LIMIT, &made->code);
        find_starts(made, spelled, spelled_bytes);
    }
    sc_arena_release(&arena);
    if (status == SC_OK) {
        made->match = pcre2_match_data_create(1, NULL);
        made->context = pcre2_match_context_create(NULL);
        if (made->match == NULL || made->context == NULL) {
            status = sc_fail(SC_NO_MEMORY, "out of memory: a regular expression");
        }
    }
    if (status != SC_OK) {
        sc_regex_free(made);
        return status;
    }
    (void)pcre2_set_match_limit(made->context, MAX_STEPS);
    (void)pcre2_set_heap_limit(made->context, MAX_HEAP_KIB);
    *regex = made;
    return SC_OK;
}

void sc_regex_free(struct sc_regex *regex)
{
    if (regex != NULL) {
        pcre2_match_context_free(regex->context);
        pcre2_match_data_free(regex->match);
        pcre2_code_free(regex->code);
        free(regex);
    }
}

/* What a search returned; n: as PCRE2 counts. */
static enum sc_status outcome(int n, size_t bytes, bool *found)
{
    if (n >= 0) {
        *found = true;
        return SC_OK;
    }
    if (n == PCRE2_ERROR_NOMATCH) {
        *found = false;
        return SC_OK;
    }
    if (n == PCRE2_ERROR_MATCHLIMIT || n == PCRE2_ERROR_HEAPLIMIT || n == PCRE2_ERROR_DEPTHLIMIT ||
        n == PCRE2_ERROR_DFA_WSSIZE) {
        return sc_fail(SC_LIMIT, "a regular expression needs too many steps on a text of %zu bytes", bytes);
    }
    PCRE2_UCHAR why[120] = "";
    (void)pcre2_get_error_message(n, why, sizeof why);
    return sc_fail(
        n == PCRE2_ERROR_NOMEMORY ? SC_NO_MEMORY : SC_BAD_INPUT, "a regular expression fails: %s", (const char *)why);
}

static enum sc_status run(
    struct sc_regex *regex, const char *text, size_t bytes, size_t start, uint32_t options, bool *found)
{
    /* PCRE2 takes no NULL subject, even an empty one. */
    const int n = pcre2_match(regex->code, (PCRE2_SPTR)(text == NULL ? "" : text), bytes, start,
        options | PCRE2_NO_UTF_CHECK, regex->match, regex->context);
    return outcome(n, bytes, found);
}

static void ends_of(const struct sc_regex *regex, size_t *match_start, size_t *match_end)
{
    const PCRE2_SIZE *const ends = pcre2_get_ovector_pointer(regex->match);
    /* \K in a look-ahead can put the start behind the end. */
    *match_start = ends[0] <= ends[1] ? ends[0] : ends[1];
    *match_end = ends[1];
}

/* The first start that a window leaves to the next. */
static size_t end_of_window(const struct sc_regex *regex, const char *text, size_t bytes, size_t start, size_t window)
{
    if (regex->whole || bytes - start < window) {
        return bytes + 1;
    }
    if (regex->lines) {
        const char *found = memchr(text + start + window - 1, '\n', bytes - start - window + 1);
        return found ? (size_t)(found - text) + 1 : bytes + 1;
    }
    size_t end = start + window;
    while (end < bytes && ((unsigned char)text[end] & 0xc0) == 0x80) { /* within a character */
        end++;
    }
    return end;
}

/* Steps are bounded for each start; a text has millions of them, and a pattern may come near the bound at each. Time
 * alone tells. */
static enum sc_status check_time(struct sc_regex *regex, int64_t since_ns, size_t passed, size_t bytes)
{
    const int64_t ns = sc_clock_ns() - since_ns;
    regex->spent_ns += ns < MOST_NS ? ns : MOST_NS;
    regex->passed_bytes += (int64_t)passed;
    return regex->spent_ns < GRACE_NS + regex->passed_bytes * BYTE_NS
        ? SC_OK
        : sc_fail(SC_LIMIT, "a regular expression takes too long on a text of %zu bytes", bytes);
}

enum sc_status sc_regex_find(struct sc_regex *regex, const char *text, size_t bytes, size_t start, bool *found,
    size_t *match_start, size_t *match_end)
{
    *found = false;
    for (size_t at = start, window = WINDOW; at <= bytes && !*found;) {
        const int64_t since_ns = sc_clock_ns();
        const size_t end = end_of_window(regex, text, bytes, at, window);
        (void)pcre2_set_offset_limit(regex->context, end - 1);
        const enum sc_status status = run(regex, text, bytes, at, 0, found);
        (void)pcre2_set_offset_limit(regex->context, PCRE2_UNSET);
        SC_TRY(status);
        const size_t passed = *found ? pcre2_get_ovector_pointer(regex->match)[1] : end < bytes ? end : bytes;
        SC_TRY(check_time(regex, since_ns, passed - at, bytes));
        at = end;
        window = sc_clock_ns() - since_ns > SLOW_NS ? WINDOW : window < MOST_WINDOW ? 2 * window : window;
    }
    if (*found) {
        ends_of(regex, match_start, match_end);
    }
    return SC_OK;
}

enum sc_status sc_regex_find_longest(struct sc_regex *regex, const char *text, size_t bytes, size_t start, bool *found,
    size_t *match_start, size_t *match_end)
{
    int states[DFA_STATES];
    const int n = pcre2_dfa_match(regex->code, (PCRE2_SPTR)(text == NULL ? "" : text), bytes, start, PCRE2_NO_UTF_CHECK,
        regex->match, regex->context, states, DFA_STATES);
    SC_TRY(outcome(n, bytes, found));
    if (*found) { /* of all that were found the longest is first */
        ends_of(regex, match_start, match_end);
    }
    return SC_OK;
}

enum sc_status sc_regex_matches(struct sc_regex *regex, const char *text, size_t bytes, bool *matches)
{
    const size_t n_valid = sc_utf8_valid(text, bytes);
    if (n_valid != bytes) {
        return sc_fail(SC_BAD_INPUT, "byte %zu of the text is not UTF-8", n_valid);
    }
    return run(regex, text, bytes, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, matches);
}
