/* SPDX-License-Identifier: Apache-2.0
 * One row per kind: how its step is read from the file and how it changes a text. */
#include "text/normalize.h"

#include <string.h>

#include "base/unicode.h"
#include "text/bytelevel.h"
#include "text/pattern.h"
#include "text/precompiled.h"
#include "text/steps.h"

struct text {
    const char *data;
    size_t bytes;
};

struct sc_normalize_step {
    const struct kind *kind;
    struct sc_pattern pattern; /* Replace */
    struct text content; /* Replace, Prepend */
    struct sc_precompiled table; /* Precompiled */
    bool strips_left; /* Strip */
    bool strips_right;
};

struct kind {
    const char *type;
    enum sc_status (*read)(const struct sc_json *node, struct sc_arena *arena, struct sc_normalize_step *step);
    enum sc_status (*run)(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text);
};

static enum sc_status read_text(
    const struct sc_json *node, const char *what, const char *key, struct sc_arena *arena, struct text *text)
{
    const char *found;
    size_t bytes;
    SC_TRY(sc_step_text(node, what, key, &found, &bytes));
    char *const copy = sc_arena_text(arena, found, bytes);
    if (copy == NULL) {
        return SC_NO_MEMORY;
    }
    *text = (struct text){.data = copy, .bytes = bytes};
    return SC_OK;
}

static enum sc_status read_prepend(const struct sc_json *node, struct sc_arena *arena, struct sc_normalize_step *step)
{
    return read_text(node, "normalizer Prepend", "prepend", arena, &step->content);
}

static enum sc_status read_replace(const struct sc_json *node, struct sc_arena *arena, struct sc_normalize_step *step)
{
    SC_TRY(read_text(node, "normalizer Replace", "content", arena, &step->content));
    return sc_pattern_read(sc_json_get(node, "pattern"), arena, &step->pattern);
}

static enum sc_status read_strip(const struct sc_json *node, struct sc_arena *arena, struct sc_normalize_step *step)
{
    (void)arena;
    step->strips_left = sc_json_bool(sc_json_get(node, "strip_left"), true);
    step->strips_right = sc_json_bool(sc_json_get(node, "strip_right"), true);
    return SC_OK;
}

static enum sc_status run_form(enum sc_unicode_form form, struct sc_arena *arena, struct text *text)
{
    char *normal;
    SC_TRY(sc_unicode_normalize(form, text->data, text->bytes, arena, &normal, &text->bytes));
    text->data = normal;
    return SC_OK;
}

static enum sc_status run_nfc(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)step;
    return run_form(SC_UNICODE_NFC, arena, text);
}

static enum sc_status run_nfd(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)step;
    return run_form(SC_UNICODE_NFD, arena, text);
}

static enum sc_status run_nfkc(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)step;
    return run_form(SC_UNICODE_NFKC, arena, text);
}

static enum sc_status run_nfkd(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)step;
    return run_form(SC_UNICODE_NFKD, arena, text);
}

static enum sc_status run_lowercase(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)step;
    char *lower;
    SC_TRY(sc_unicode_lower(text->data, text->bytes, arena, &lower, &text->bytes));
    text->data = lower;
    return SC_OK;
}

static enum sc_status run_prepend(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    if (text->bytes == 0) {
        return SC_OK;
    }
    char *const joined = sc_arena_alloc(arena, step->content.bytes + text->bytes + 1);
    if (joined == NULL) {
        return SC_NO_MEMORY;
    }
    memcpy(joined, step->content.data, step->content.bytes);
    memcpy(joined + step->content.bytes, text->data, text->bytes);
    *text = (struct text){.data = joined, .bytes = step->content.bytes + text->bytes};
    return SC_OK;
}

static enum sc_status run_replace(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    return sc_pattern_replace(&step->pattern, text->data, text->bytes, step->content.data, step->content.bytes, arena,
        &text->data, &text->bytes);
}

static enum sc_status run_strip(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)arena;
    uint32_t code;
    while (step->strips_left && text->bytes != 0) {
        const size_t length = sc_utf8_decode(text->data, &code);
        if (!sc_unicode_is_space(code)) {
            break;
        }
        text->data += length;
        text->bytes -= length;
    }
    while (step->strips_right && text->bytes != 0) {
        size_t start = text->bytes - 1;
        while (start > 0 && ((unsigned char)text->data[start] & 0xc0) == 0x80) {
            start--;
        }
        (void)sc_utf8_decode(text->data + start, &code);
        if (!sc_unicode_is_space(code)) {
            break;
        }
        text->bytes = start;
    }
    return SC_OK;
}

static enum sc_status run_strip_accents(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)step;
    char *const kept = sc_arena_alloc(arena, text->bytes + 1);
    if (kept == NULL) {
        return SC_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t at = 0; at < text->bytes;) {
        uint32_t code;
        const size_t length = sc_utf8_decode(text->data + at, &code);
        if (!sc_unicode_is_mark(code)) {
            memcpy(kept + n, text->data + at, length);
            n += length;
        }
        at += length;
    }
    *text = (struct text){.data = kept, .bytes = n};
    return SC_OK;
}

static enum sc_status run_bytelevel(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    (void)step;
    return sc_bytelevel_spell(text->data, text->bytes, arena, &text->data, &text->bytes);
}

static enum sc_status read_precompiled(
    const struct sc_json *node, struct sc_arena *arena, struct sc_normalize_step *step)
{
    return sc_precompiled_read(node, arena, &step->table);
}

static enum sc_status run_precompiled(const struct sc_normalize_step *step, struct sc_arena *arena, struct text *text)
{
    return sc_precompiled_run(&step->table, text->data, text->bytes, arena, &text->data, &text->bytes);
}

static const struct kind kinds[] = {
    {"NFC", NULL, run_nfc},
    {"NFD", NULL, run_nfd},
    {"NFKC", NULL, run_nfkc},
    {"NFKD", NULL, run_nfkd},
    {"Lowercase", NULL, run_lowercase},
    {"Prepend", read_prepend, run_prepend},
    {"Replace", read_replace, run_replace},
    {"Strip", read_strip, run_strip},
    {"StripAccents", NULL, run_strip_accents},
    {"ByteLevel", NULL, run_bytelevel},
    {"Precompiled", read_precompiled, run_precompiled},
};

struct reader {
    struct sc_arena *arena;
    struct sc_normalizer *normalizer;
};

enum { MAX_STEPS = 64 };

static enum sc_status read_step(void *arg, const char *type, const struct sc_json *node)
{
    const struct reader *const reader = arg;
    struct sc_normalizer *const normalizer = reader->normalizer;
    if (normalizer->n_steps == MAX_STEPS) {
        return sc_fail(SC_UNSUPPORTED, "more than %d normalizers", MAX_STEPS);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            struct sc_normalize_step *const step = &normalizer->steps[normalizer->n_steps++];
            step->kind = &kinds[i];
            return kinds[i].read == NULL ? SC_OK : kinds[i].read(node, reader->arena, step);
        }
    }
    return sc_fail(SC_UNSUPPORTED, "normalizer '%.100s' is not supported", type);
}

enum sc_status sc_normalizer_read(const struct sc_json *node, struct sc_arena *arena, struct sc_normalizer *normalizer)
{
    normalizer->n_steps = 0;
    normalizer->steps = sc_arena_array(arena, MAX_STEPS, sizeof *normalizer->steps);
    if (normalizer->steps == NULL) {
        return SC_NO_MEMORY;
    }
    struct reader reader = {.arena = arena, .normalizer = normalizer};
    const struct sc_step_source source = {
        .what = "normalizer", .members = "normalizers", .read = read_step, .arg = &reader};
    return sc_steps_read(node, &source);
}

void sc_normalizer_release(struct sc_normalizer *normalizer)
{
    for (size_t i = 0; i < normalizer->n_steps; i++) {
        sc_pattern_release(&normalizer->steps[i].pattern);
    }
    *normalizer = (struct sc_normalizer){0};
}

enum sc_status sc_normalizer_run(const struct sc_normalizer *normalizer, const char *text, size_t bytes,
    struct sc_arena *arena, const char **normal, size_t *normal_bytes)
{
    struct text work = {.data = text, .bytes = bytes};
    for (size_t i = 0; i < normalizer->n_steps; i++) {
        SC_TRY(normalizer->steps[i].kind->run(&normalizer->steps[i], arena, &work));
    }
    *normal = work.data;
    *normal_bytes = work.bytes;
    return SC_OK;
}
