/* SPDX-License-Identifier: Apache-2.0
 * The three kinds differ in how the next match is found; the cutting between is one. */
#include "text/pattern.h"

#include <string.h>

#include "base/unicode.h"
#include "text/pieces.h"

enum { MAX_LITERAL = 1024 }; /* searching is plain: bytes of text times bytes of literal */

enum sc_status sc_pattern_literal(const char *text, size_t bytes, struct sc_arena *arena, struct sc_pattern *pattern)
{
    if (bytes == 0 || bytes > MAX_LITERAL) {
        return sc_fail(SC_UNSUPPORTED, "pattern of %zu bytes, 1 to %d are supported", bytes, MAX_LITERAL);
    }
    char *const copy = sc_arena_text(arena, text, bytes);
    if (copy == NULL) {
        return SC_NO_MEMORY;
    }
    *pattern = (struct sc_pattern){.literal = copy, .literal_bytes = bytes};
    return SC_OK;
}

enum sc_status sc_pattern_read(const struct sc_json *node, struct sc_arena *arena, struct sc_pattern *pattern)
{
    size_t bytes = 0;
    const char *text = sc_json_text(sc_json_get(node, "String"), &bytes);
    if (text != NULL) {
        return sc_pattern_literal(text, bytes, arena, pattern);
    }
    text = sc_json_text(sc_json_get(node, "Regex"), &bytes);
    if (text == NULL) {
        return sc_fail(SC_BAD_MODEL, "a pattern is neither String nor Regex");
    }
    struct sc_regex *regex = NULL;
    const enum sc_status status = sc_regex_compile(text, bytes, SC_REGEX_ONIGURUMA, &regex);
    if (status == SC_BAD_INPUT) {
        sc_error_last()->code = SC_BAD_MODEL;
        return SC_BAD_MODEL;
    }
    SC_TRY(status);
    *pattern = (struct sc_pattern){.regex = regex};
    return SC_OK;
}

void sc_pattern_release(struct sc_pattern *pattern)
{
    sc_regex_free(pattern->regex);
    *pattern = (struct sc_pattern){0};
}

static size_t next_character(const char *text, size_t bytes, size_t at)
{
    uint32_t code;
    return at < bytes ? at + sc_utf8_decode(text + at, &code) : at + 1;
}

static bool find_literal(
    const struct sc_pattern *pattern, const char *text, size_t bytes, size_t from, struct sc_match *match)
{
    const size_t n = pattern->literal_bytes;
    while (bytes - from >= n) {
        const char *const first = memchr(text + from, pattern->literal[0], bytes - from - n + 1);
        if (first == NULL) {
            return false;
        }
        from = (size_t)(first - text);
        if (memcmp(first, pattern->literal, n) == 0) {
            *match = (struct sc_match){.start = from, .end = from + n};
            return true;
        }
        from++;
    }
    return false;
}

static bool find_member(
    bool (*is_member)(uint32_t code), const char *text, size_t bytes, size_t from, struct sc_match *match)
{
    while (from < bytes) {
        uint32_t code;
        const size_t length = sc_utf8_decode(text + from, &code);
        if (is_member(code)) {
            *match = (struct sc_match){.start = from, .end = from + length};
            return true;
        }
        from += length;
    }
    return false;
}

static enum sc_status find(
    const struct sc_pattern *pattern, const char *text, size_t bytes, size_t from, bool *found, struct sc_match *match)
{
    if (pattern->regex != NULL) {
        return sc_regex_find(pattern->regex, text, bytes, from, found, &match->start, &match->end);
    }
    *found = pattern->is_member != NULL ? find_member(pattern->is_member, text, bytes, from, match)
                                        : find_literal(pattern, text, bytes, from, match);
    return SC_OK;
}

struct parts {
    struct sc_arena *arena;
    struct sc_match *items;
    size_t n;
    size_t capacity;
};

static enum sc_status add_part(struct parts *parts, struct sc_match part)
{
    if (parts->n == parts->capacity) {
        const size_t capacity = parts->capacity == 0 ? 16 : 2 * parts->capacity;
        struct sc_match *const items = sc_arena_array(parts->arena, capacity, sizeof *items);
        if (items == NULL) {
            return SC_NO_MEMORY;
        }
        if (parts->n != 0) {
            memcpy(items, parts->items, parts->n * sizeof *items);
        }
        parts->items = items;
        parts->capacity = capacity;
    }
    parts->items[parts->n++] = part;
    return SC_OK;
}

enum sc_status sc_pattern_cut(const struct sc_pattern *pattern, const char *text, size_t bytes, struct sc_arena *arena,
    struct sc_match **parts, size_t *n_parts)
{
    struct parts list = {.arena = arena};
    size_t done = 0;
    size_t last_end = SIZE_MAX;
    for (size_t at = 0; at <= bytes && bytes != 0;) {
        bool found = false;
        struct sc_match match = {0};
        SC_TRY(find(pattern, text, bytes, at, &found, &match));
        if (!found) {
            break;
        }
        /* An empty match right behind the last match is passed over, as Oniguruma's iteration does. */
        if (match.start == match.end && match.start == last_end) {
            at = next_character(text, bytes, match.end);
            continue;
        }
        if (match.start > done) {
            SC_TRY(add_part(&list, (struct sc_match){.start = done, .end = match.start}));
        }
        match.is_match = true;
        SC_TRY(add_part(&list, match));
        done = at = last_end = match.end;
    }
    if (done < bytes) {
        SC_TRY(add_part(&list, (struct sc_match){.start = done, .end = bytes}));
    }
    *parts = list.items;
    *n_parts = list.n;
    return SC_OK;
}

enum sc_status sc_pattern_replace(const struct sc_pattern *pattern, const char *text, size_t bytes, const char *content,
    size_t content_bytes, struct sc_arena *arena, const char **replaced, size_t *replaced_bytes)
{
    struct sc_match *parts;
    size_t n_parts;
    SC_TRY(sc_pattern_cut(pattern, text, bytes, arena, &parts, &n_parts));
    size_t total = 0;
    for (size_t i = 0; i < n_parts; i++) {
        const size_t n = parts[i].is_match ? content_bytes : parts[i].end - parts[i].start;
        if (n > SC_MAX_TEXT - total) {
            return sc_fail(SC_LIMIT, "a replaced text grows over %d bytes", SC_MAX_TEXT);
        }
        total += n;
    }
    char *const out = sc_arena_alloc(arena, total + 1);
    if (out == NULL) {
        return SC_NO_MEMORY;
    }
    size_t at = 0;
    for (size_t i = 0; i < n_parts; i++) {
        const size_t n = parts[i].is_match ? content_bytes : parts[i].end - parts[i].start;
        if (n != 0) {
            memcpy(out + at, parts[i].is_match ? content : text + parts[i].start, n);
        }
        at += n;
    }
    *replaced = out;
    *replaced_bytes = total;
    return SC_OK;
}
