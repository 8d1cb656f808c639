/* SPDX-License-Identifier: Apache-2.0
 * Each step turns a list of texts into a list of texts; the last list is joined. One row per kind.
 * Source: the decoders of Hugging Face's tokenizers 0.23. */
#include "text/decode_text.h"

#include <string.h>

#include "base/unicode.h"
#include "text/bytelevel.h"
#include "text/pattern.h"
#include "text/steps.h"

struct sc_decode_step {
    const struct kind *kind;
    struct sc_pattern pattern; /* Replace; Metaspace: its mark; BPEDecoder: the suffix */
    const char *content; /* Replace; Strip: one character */
    size_t content_bytes;
    int64_t n_start; /* Strip: how many at most at either end of a token */
    int64_t n_stop;
    bool drops_first; /* Metaspace: marks of the first token are no spaces */
};

/* The list that steps work on, in place. */
struct list {
    struct sc_arena *arena;
    struct sc_token *tokens;
    size_t n;
};

struct kind {
    const char *type;
    enum sc_status (*read)(const struct sc_json *node, struct sc_arena *arena, struct sc_decode_step *step);
    enum sc_status (*run)(const struct sc_decode_step *step, struct list *list);
};

static enum sc_status read_content(
    const struct sc_json *node, const char *what, struct sc_arena *arena, struct sc_decode_step *step)
{
    const char *text;
    SC_TRY(sc_step_text(node, what, "content", &text, &step->content_bytes));
    step->content = sc_arena_text(arena, text, step->content_bytes);
    return step->content == NULL ? SC_NO_MEMORY : SC_OK;
}

static enum sc_status read_replace(const struct sc_json *node, struct sc_arena *arena, struct sc_decode_step *step)
{
    SC_TRY(read_content(node, "decoder Replace", arena, step));
    return sc_pattern_read(sc_json_get(node, "pattern"), arena, &step->pattern);
}

static enum sc_status read_strip(const struct sc_json *node, struct sc_arena *arena, struct sc_decode_step *step)
{
    SC_TRY(read_content(node, "decoder Strip", arena, step));
    step->n_start = sc_json_int(sc_json_get(node, "start"), 0);
    step->n_stop = sc_json_int(sc_json_get(node, "stop"), 0);
    return step->content_bytes == 0 ? sc_fail(SC_BAD_MODEL, "decoder Strip has no content") : SC_OK;
}

static enum sc_status read_metaspace(const struct sc_json *node, struct sc_arena *arena, struct sc_decode_step *step)
{
    const char *mark;
    size_t bytes;
    SC_TRY(sc_step_text(node, "decoder Metaspace", "replacement", &mark, &bytes));
    const char *const scheme = sc_json_text(sc_json_get(node, "prepend_scheme"), NULL);
    step->drops_first =
        scheme == NULL ? sc_json_bool(sc_json_get(node, "add_prefix_space"), true) : strcmp(scheme, "never") != 0;
    return sc_pattern_literal(mark, bytes, arena, &step->pattern);
}

static enum sc_status read_suffix(const struct sc_json *node, struct sc_arena *arena, struct sc_decode_step *step)
{
    const char *suffix;
    size_t bytes;
    SC_TRY(sc_step_text(node, "decoder BPEDecoder", "suffix", &suffix, &bytes));
    return sc_pattern_literal(suffix, bytes, arena, &step->pattern);
}

static enum sc_status join(struct list *list, const char *between, size_t between_bytes)
{
    size_t total = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (list->tokens[i].bytes > SIZE_MAX / 4 - total - between_bytes) {
            return sc_fail(SC_NO_MEMORY, "out of memory: a decoded text of over %zu bytes", total);
        }
        total += list->tokens[i].bytes + between_bytes;
    }
    char *const joined = sc_arena_alloc(list->arena, total + 1);
    if (joined == NULL) {
        return SC_NO_MEMORY;
    }
    size_t at = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (i != 0) {
            memcpy(joined + at, between, between_bytes);
            at += between_bytes;
        }
        memcpy(joined + at, list->tokens[i].text, list->tokens[i].bytes);
        at += list->tokens[i].bytes;
    }
    joined[at] = '\0';
    list->tokens[0] = (struct sc_token){.text = joined, .bytes = at};
    list->n = 1;
    return SC_OK;
}

static enum sc_status run_bytelevel(const struct sc_decode_step *step, struct list *list)
{
    (void)step;
    size_t total = 0;
    for (size_t i = 0; i < list->n; i++) {
        total += list->tokens[i].bytes;
    }
    char *const raw = sc_arena_alloc(list->arena, total + 1);
    if (raw == NULL) {
        return SC_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        n += sc_bytelevel_read(list->tokens[i].text, list->tokens[i].bytes, raw + n);
    }
    char *text;
    size_t bytes;
    size_t consumed;
    SC_TRY(sc_utf8_repair(raw, n, true, list->arena, &text, &bytes, &consumed));
    list->tokens[0] = (struct sc_token){.text = text, .bytes = bytes};
    list->n = 1;
    return SC_OK;
}

/* The byte of a <0xHH> token, or -1. */
static int fallback_byte(const struct sc_token *token)
{
    if (token->bytes != 6 || memcmp(token->text, "<0x", 3) != 0 || token->text[5] != '>') {
        return -1;
    }
    int byte = 0;
    for (int i = 3; i < 5; i++) {
        const char c = token->text[i];
        const int digit = c >= '0' && c <= '9' ? c - '0'
            : c >= 'a' && c <= 'f'             ? c - 'a' + 10
            : c >= 'A' && c <= 'F'             ? c - 'A' + 10
                                               : -1;
        if (digit < 0) {
            return -1;
        }
        byte = byte * 16 + digit;
    }
    return byte;
}

/* A run of byte tokens is one text when all of it is UTF-8, else one U+FFFD per byte. */
static enum sc_status run_byte_fallback(const struct sc_decode_step *step, struct list *list)
{
    (void)step;
    size_t n_out = 0;
    for (size_t i = 0; i < list->n;) {
        size_t end = i;
        while (end < list->n && fallback_byte(&list->tokens[end]) >= 0) {
            end++;
        }
        if (end == i) {
            list->tokens[n_out++] = list->tokens[i++];
            continue;
        }
        const size_t n = end - i;
        char *const run = sc_arena_alloc(list->arena, 3 * n + 1);
        if (run == NULL) {
            return SC_NO_MEMORY;
        }
        for (size_t k = 0; k < n; k++) {
            run[k] = (char)fallback_byte(&list->tokens[i + k]);
        }
        const bool valid = sc_utf8_valid(run, n) == n;
        for (size_t k = 0; k < n && !valid; k++) {
            memcpy(run + 3 * k, "\xef\xbf\xbd", 3);
        }
        list->tokens[n_out++] = (struct sc_token){.text = run, .bytes = valid ? n : 3 * n};
        i = end;
    }
    list->n = n_out;
    return SC_OK;
}

static enum sc_status run_fuse(const struct sc_decode_step *step, struct list *list)
{
    (void)step;
    return join(list, "", 0);
}

static enum sc_status run_replace(const struct sc_decode_step *step, struct list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct sc_token *const token = &list->tokens[i];
        SC_TRY(sc_pattern_replace(&step->pattern, token->text, token->bytes, step->content, step->content_bytes,
            list->arena, &token->text, &token->bytes));
    }
    return SC_OK;
}

static enum sc_status run_strip(const struct sc_decode_step *step, struct list *list)
{
    const size_t n = step->content_bytes;
    for (size_t i = 0; i < list->n; i++) {
        struct sc_token *const token = &list->tokens[i];
        for (int64_t k = 0; k < step->n_start && token->bytes >= n; k++) {
            if (memcmp(token->text, step->content, n) != 0) {
                break;
            }
            token->text += n;
            token->bytes -= n;
        }
        for (int64_t k = 0; k < step->n_stop && token->bytes >= n; k++) {
            if (memcmp(token->text + token->bytes - n, step->content, n) != 0) {
                break;
            }
            token->bytes -= n;
        }
    }
    return SC_OK;
}

static enum sc_status run_metaspace(const struct sc_decode_step *step, struct list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct sc_token *const token = &list->tokens[i];
        SC_TRY(sc_pattern_replace(&step->pattern, token->text, token->bytes, " ", i == 0 && step->drops_first ? 0 : 1,
            list->arena, &token->text, &token->bytes));
    }
    return SC_OK;
}

static enum sc_status run_suffix(const struct sc_decode_step *step, struct list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct sc_token *const token = &list->tokens[i];
        SC_TRY(sc_pattern_replace(&step->pattern, token->text, token->bytes, " ", i + 1 == list->n ? 0 : 1, list->arena,
            &token->text, &token->bytes));
    }
    return SC_OK;
}

static const struct kind kinds[] = {
    {"ByteLevel", NULL, run_bytelevel},
    {"ByteFallback", NULL, run_byte_fallback},
    {"Fuse", NULL, run_fuse},
    {"Replace", read_replace, run_replace},
    {"Strip", read_strip, run_strip},
    {"Metaspace", read_metaspace, run_metaspace},
    {"BPEDecoder", read_suffix, run_suffix},
};

struct reader {
    struct sc_arena *arena;
    struct sc_decoder *decoder;
};

enum { MAX_STEPS = 64 };

static enum sc_status read_step(void *arg, const char *type, const struct sc_json *node)
{
    const struct reader *const reader = arg;
    struct sc_decoder *const decoder = reader->decoder;
    if (decoder->n_steps == MAX_STEPS) {
        return sc_fail(SC_UNSUPPORTED, "more than %d decoders", MAX_STEPS);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            struct sc_decode_step *const step = &decoder->steps[decoder->n_steps++];
            step->kind = &kinds[i];
            return kinds[i].read == NULL ? SC_OK : kinds[i].read(node, reader->arena, step);
        }
    }
    return sc_fail(SC_UNSUPPORTED, "decoder '%.100s' is not supported", type);
}

enum sc_status sc_decoder_read(const struct sc_json *node, struct sc_arena *arena, struct sc_decoder *decoder)
{
    decoder->n_steps = 0;
    decoder->steps = sc_arena_array(arena, MAX_STEPS, sizeof *decoder->steps);
    if (decoder->steps == NULL) {
        return SC_NO_MEMORY;
    }
    struct reader reader = {.arena = arena, .decoder = decoder};
    const struct sc_step_source source = {.what = "decoder", .members = "decoders", .read = read_step, .arg = &reader};
    SC_TRY(sc_steps_read(node, &source));
    decoder->is_bytes = decoder->n_steps == 1 && decoder->steps[0].kind->run == run_bytelevel;
    return SC_OK;
}

void sc_decoder_release(struct sc_decoder *decoder)
{
    for (size_t i = 0; i < decoder->n_steps; i++) {
        sc_pattern_release(&decoder->steps[i].pattern);
    }
    *decoder = (struct sc_decoder){0};
}

enum sc_status sc_decoder_run(const struct sc_decoder *decoder, struct sc_token *tokens, size_t n,
    struct sc_arena *arena, char **text, size_t *bytes)
{
    struct list list = {.arena = arena, .tokens = tokens, .n = n};
    for (size_t i = 0; i < decoder->n_steps && list.n != 0; i++) {
        SC_TRY(decoder->steps[i].kind->run(&decoder->steps[i], &list));
    }
    if (list.n != 0) {
        SC_TRY(join(&list, " ", decoder->n_steps == 0 ? 1 : 0));
    }
    char *const out =
        list.n == 0 ? sc_arena_text(arena, "", 0) : sc_arena_text(arena, list.tokens[0].text, list.tokens[0].bytes);
    if (out == NULL) {
        return SC_NO_MEMORY;
    }
    *text = out;
    *bytes = list.n == 0 ? 0 : list.tokens[0].bytes;
    return SC_OK;
}
