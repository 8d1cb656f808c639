/* SPDX-License-Identifier: Apache-2.0
 * Damage that leaves JSON well formed, so that it comes past the parser to whoever reads the values. */
#include <stdlib.h>
#include <string.h>

#include "tests/hostile/mutate.h"

enum { MOST_NESTED = 3000 };

static size_t string_end(const char *text, size_t at)
{
    for (at++; text[at] && text[at] != '"'; at++) {
        at += text[at] == '\\' && text[at + 1];
    }
    return text[at] ? at + 1 : at;
}

static size_t value_end(const char *text, size_t at)
{
    size_t depth = 0;
    do {
        if (text[at] == '"') {
            at = string_end(text, at);
        } else if (strchr("[{", text[at])) {
            depth++;
            at++;
        } else if (strchr("]}", text[at])) {
            depth--;
            at++;
        } else if (strchr(",: \n\r\t", text[at])) {
            at++;
        } else {
            at += strcspn(text + at, ",:[]{}\" \n\r\t");
        }
    } while (depth > 0 && text[at]);
    return at;
}

/* Where the k-th value begins, keys being values too; the length of the text where there are fewer. */
static size_t find_value(const char *text, size_t k)
{
    size_t at = 0;
    for (;;) {
        at += strspn(text + at, ",: \n\r\t]}");
        if (k-- == 0 || !text[at]) {
            return at;
        }
        at = strchr("[{", text[at]) ? at + 1 : value_end(text, at);
    }
}

static size_t count_values(const char *text)
{
    size_t n = 0;
    while (text[find_value(text, n)]) {
        n++;
    }
    return n;
}

static char *spliced(const char *text, size_t at, size_t end, const char *by, size_t by_length)
{
    const size_t rest = strlen(text + end);
    char *made = malloc(at + by_length + rest + 1);
    if (!made) {
        abort();
    }
    memcpy(made, text, at);
    memcpy(made + at, by, by_length);
    memcpy(made + at + by_length, text + end, rest + 1);
    return made;
}

/* Brackets, or objects, as deep as a parser may have to go. */
static char *nested(const char *text, size_t at, size_t end, struct sc_draw *draw)
{
    const char *const open = sc_draw_below(draw, 2) ? "[" : "{\"a\":", *const shut = *open == '[' ? "]" : "}";
    const size_t depth = 1 + sc_draw_below(draw, MOST_NESTED), n_open = strlen(open);
    char *by = malloc(depth * (n_open + 1) + 2), *made;
    if (!by) {
        abort();
    }
    for (size_t d = 0; d < depth; d++) {
        memcpy(by + d * n_open, open, n_open);
        by[depth * n_open + 1 + d] = *shut;
    }
    by[depth * n_open] = '1';
    made = spliced(text, at, end, by, depth * (n_open + 1) + 1);
    free(by);
    return made;
}

/* The value, or the key with what it names, goes with a comma beside it. */
static char *without(const char *text, size_t at, size_t end)
{
    size_t next = end + strspn(text + end, " \n\r\t");
    if (text[next] == ':') {
        next += 1 + strspn(text + next + 1, " \n\r\t");
        end = text[next] ? value_end(text, next) : next;
        next = end + strspn(text + end, " \n\r\t");
    }
    return spliced(text, at, text[next] == ',' ? next + 1 : end, "", 0);
}

char *sc_mutate_json(struct sc_draw *draw, const char *text)
{
    static const char *const others[] = {"null", "true", "false", "[]", "{}", "\"\"", "\"x\"", "0", "-1", "0.5", "[[]]",
        "[0,0]", "[null]", "{\"\":0}", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "1e18", "1e308", "-1e999", "1e-400", "\"\\u0000\"", "\"\\ud800\"",
        "[\"a\",\"b\",\"c\"]"};
    char *changed = strdup(text);
    for (size_t times = 1 + sc_draw_below(draw, 2); changed && times > 0; times--) {
        const size_t n = count_values(changed);
        if (n == 0) {
            break;
        }
        const size_t at = find_value(changed, sc_draw_below(draw, n)), end = value_end(changed, at);
        const size_t other = find_value(changed, sc_draw_below(draw, n));
        const char *const by = others[sc_draw_below(draw, sizeof others / sizeof *others)];
        const size_t how = sc_draw_below(draw, 16);
        char *made = how == 0 ? nested(changed, at, end, draw)
            : how < 4         ? without(changed, at, end)
            : how < 7         ? spliced(changed, at, end, changed + other, value_end(changed, other) - other)
                              : spliced(changed, at, end, by, strlen(by));
        free(changed);
        changed = made;
    }
    if (!changed) {
        abort();
    }
    return changed;
}

unsigned char *sc_mutate_json_file(struct sc_draw *draw, const char *text, size_t *n)
{
    const size_t how = sc_draw_below(draw, 4);
    if (how == 0) {
        return sc_mutate_bytes(draw, (const unsigned char *)text, strlen(text), n);
    }
    char *changed = how == 1 ? sc_mutate_text(draw, text, " \n,\"[]{}:") : sc_mutate_json(draw, text);
    *n = strlen(changed);
    return (unsigned char *)changed;
}
