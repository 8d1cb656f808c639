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

/* A text on its way to be cut, part by part. */
struct cutting {
    const struct sc_pattern *pattern;
    const char *text;
    size_t bytes;
    size_t at, last_end; /* where to search on; where the last match ended */
    size_t done; /* parts up to here were given */
    struct sc_match match; /* found, to be given behind what comes before it */
    bool has_match;
};

static struct cutting begin_cutting(const struct sc_pattern *pattern, const char *text, size_t bytes)
{
    return (struct cutting){.pattern = pattern, .text = text, .bytes = bytes, .last_end = SIZE_MAX};
}

static enum sc_status find_next(struct cutting *c)
{
    while (c->at <= c->bytes && c->bytes != 0) {
        bool found = false;
        struct sc_match match = {0};
        SC_TRY(find(c->pattern, c->text, c->bytes, c->at, &found, &match));
        if (!found) {
            c->at = c->bytes + 1;
        } else if (match.start == match.end && match.start == c->last_end) {
            /* An empty match right behind the last match is passed over, as Oniguruma's iteration does. */
            c->at = next_character(c->text, c->bytes, match.end);
        } else {
            c->match = match;
            c->has_match = c->match.is_match = true;
            c->at = c->last_end = match.end;
            return SC_OK;
        }
    }
    return SC_OK;
}

/* *more false: there are no more parts. */
static enum sc_status next_part(struct cutting *c, struct sc_match *part, bool *more)
{
    SC_TRY(c->has_match ? SC_OK : find_next(c));
    const size_t end = c->has_match ? c->match.start : c->bytes;
    *more = true;
    if (end > c->done) {
        *part = (struct sc_match){.start = c->done, .end = end};
    } else if (c->has_match) {
        *part = c->match;
        c->has_match = false;
    } else {
        *more = false;
        return SC_OK;
    }
    c->done = part->end;
    return SC_OK;
}

enum sc_status sc_pattern_cut(const struct sc_pattern *pattern, const char *text, size_t bytes, struct sc_arena *arena,
    struct sc_match **parts, size_t *n_parts)
{
    struct parts list = {.arena = arena};
    struct cutting cutting = begin_cutting(pattern, text, bytes);
    struct sc_match part;
    bool more;
    SC_TRY(next_part(&cutting, &part, &more));
    while (more) {
        SC_TRY(add_part(&list, part));
        SC_TRY(next_part(&cutting, &part, &more));
    }
    *parts = list.items;
    *n_parts = list.n;
    return SC_OK;
}

/* A text that grows; a 0 stands behind it. */
struct written {
    struct sc_arena *arena;
    char *data;
    size_t bytes, capacity;
};

static enum sc_status append(struct written *to, const char *text, size_t bytes)
{
    if (bytes > SC_MAX_TEXT - to->bytes) {
        return sc_fail(SC_LIMIT, "a replaced text grows over %d bytes", SC_MAX_TEXT);
    }
    if (bytes > to->capacity - to->bytes) {
        const size_t capacity = 2 * (to->bytes + bytes);
        char *const data = sc_arena_alloc(to->arena, capacity + 1);
        if (data == NULL) {
            return SC_NO_MEMORY;
        }
        if (to->bytes != 0) {
            memcpy(data, to->data, to->bytes);
        }
        to->data = data;
        to->capacity = capacity;
    }
    if (bytes != 0) {
        memcpy(to->data + to->bytes, text, bytes);
    }
    to->bytes += bytes;
    return SC_OK;
}

enum sc_status sc_pattern_replace(const struct sc_pattern *pattern, const char *text, size_t bytes, const char *content,
    size_t content_bytes, struct sc_arena *arena, const char **replaced, size_t *replaced_bytes)
{
    struct written to = {.arena = arena, .capacity = bytes, .data = sc_arena_alloc(arena, bytes + 1)};
    struct cutting cutting = begin_cutting(pattern, text, bytes);
    struct sc_match part;
    bool more;
    SC_TRY(to.data != NULL ? SC_OK : SC_NO_MEMORY);
    SC_TRY(next_part(&cutting, &part, &more));
    while (more) {
        SC_TRY(part.is_match ? append(&to, content, content_bytes)
                             : append(&to, text + part.start, part.end - part.start));
        SC_TRY(next_part(&cutting, &part, &more));
    }
    *replaced = to.data;
    *replaced_bytes = to.bytes;
    return SC_OK;
}
