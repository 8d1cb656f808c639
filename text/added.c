/* SPDX-License-Identifier: Apache-2.0
 * Tokens are sorted by content. At each byte of a text the range of tokens that share what was read so far is narrowed
 * by binary search; the last whole token seen is the longest. */
#include "text/added.h"

#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"

enum { MAX_CONTENT = 1024 }; /* bounds the search from one byte of a text */

static int compare_contents(const struct sc_added_token *a, const struct sc_added_token *b)
{
    const int order = memcmp(a->content, b->content, a->bytes < b->bytes ? a->bytes : b->bytes);
    return order != 0 ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Of tokens with the same content the first in the file is found. */
static int compare_tokens(const void *left, const void *right)
{
    const struct sc_added_token *const a = left;
    const struct sc_added_token *const b = right;
    if (a->normalized != b->normalized) {
        return a->normalized ? 1 : -1;
    }
    const int order = compare_contents(a, b);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

/* Adds the token to the vocabulary, under an id that neither the model nor an earlier one contradicts. */
static enum sc_status add_token(const struct sc_vocabulary *model, const char *content, size_t bytes, int64_t id,
    struct sc_arena *arena, struct sc_vocabulary *vocabulary)
{
    const int64_t in_model = sc_vocabulary_find(model, content, bytes);
    const int64_t before = sc_vocabulary_find(vocabulary, content, bytes);
    const int64_t known = before >= 0 ? before : in_model;
    if (known >= 0 && known != id) {
        return sc_fail(
            SC_BAD_MODEL, "added token '%.60s' has id %lld and id %lld", content, (long long)known, (long long)id);
    }
    const struct sc_token *const other = sc_vocabulary_token(model, id);
    if (in_model < 0 && other != NULL) {
        return sc_fail(SC_BAD_MODEL, "added token '%.60s' has id %lld, which is that of '%.60s'", content,
            (long long)id, other->text);
    }
    return before < 0 ? sc_vocabulary_add(vocabulary, arena, content, bytes, id) : SC_OK;
}

static enum sc_status read_token(const struct sc_json *node, const struct sc_normalizer *normalizer,
    struct sc_arena *arena, const struct sc_vocabulary *model, struct sc_added *added)
{
    size_t bytes = 0;
    const char *const content = sc_json_text(sc_json_get(node, "content"), &bytes);
    const struct sc_json *const id_node = sc_json_get(node, "id");
    if (content == NULL || !sc_json_is_int(id_node)) {
        return sc_fail(SC_BAD_MODEL, "an added token has no content or no id");
    }
    if (bytes > MAX_CONTENT) {
        return sc_fail(SC_UNSUPPORTED, "added token of %zu bytes, at most %d are supported", bytes, MAX_CONTENT);
    }
    const int64_t id = sc_json_int(id_node, -1);
    SC_TRY(add_token(model, content, bytes, id, arena, &added->vocabulary));
    struct sc_token *const token = &added->vocabulary.tokens[id];
    token->special = sc_json_bool(sc_json_get(node, "special"), false);
    const bool normalized = sc_json_bool(sc_json_get(node, "normalized"), !token->special);
    if (normalized) {
        SC_TRY(sc_normalizer_run(normalizer, token->text, token->bytes, arena, &token->text, &token->bytes));
    }
    if (token->bytes == 0 || token->bytes > MAX_CONTENT) {
        return SC_OK; /* nothing to search for */
    }
    added->n_raw += !normalized;
    added->tokens[added->n++] = (struct sc_added_token){
        .content = token->text,
        .bytes = token->bytes,
        .id = id,
        .normalized = normalized,
        .single_word = sc_json_bool(sc_json_get(node, "single_word"), false),
        .lstrip = sc_json_bool(sc_json_get(node, "lstrip"), false),
        .rstrip = sc_json_bool(sc_json_get(node, "rstrip"), false),
    };
    return SC_OK;
}

enum sc_status sc_added_read(const struct sc_json *list, const struct sc_normalizer *normalizer, struct sc_arena *arena,
    const struct sc_vocabulary *model, struct sc_added *added)
{
    const size_t n = sc_json_is_array(list) ? sc_json_size(list) : 0;
    added->tokens = sc_arena_array(arena, n, sizeof *added->tokens);
    if (added->tokens == NULL) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        SC_TRY(read_token(sc_json_at(list, i), normalizer, arena, model, added));
    }
    if (added->n != 0) {
        qsort(added->tokens, added->n, sizeof *added->tokens, compare_tokens);
    }
    return SC_OK;
}

void sc_added_release(struct sc_added *added)
{
    sc_vocabulary_release(&added->vocabulary);
    *added = (struct sc_added){0};
}

/* The first token of [low, high) whose byte `at` is not below c; tokens that end before it come first. */
static size_t lower_bound(const struct sc_added_token *tokens, size_t low, size_t high, size_t at, int c)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int byte = tokens[middle].bytes > at ? (unsigned char)tokens[middle].content[at] : -1;
        if (byte < c) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The longest token that text begins with, or NULL. */
static const struct sc_added_token *find_longest(
    const struct sc_added_token *tokens, size_t n_tokens, const char *text, size_t bytes)
{
    const struct sc_added_token *longest = NULL;
    size_t low = 0;
    size_t high = n_tokens;
    for (size_t at = 0; at < bytes && low < high; at++) {
        const int c = (unsigned char)text[at];
        low = lower_bound(tokens, low, high, at, c);
        high = lower_bound(tokens, low, high, at, c + 1);
        if (low < high && tokens[low].bytes == at + 1) {
            longest = &tokens[low];
        }
    }
    return longest;
}

static size_t character_before(const char *text, size_t at, uint32_t *code)
{
    size_t start = at - 1;
    while (start > 0 && ((unsigned char)text[start] & 0xc0) == 0x80) {
        start--;
    }
    (void)sc_utf8_decode(text + start, code);
    return start;
}

static bool touches_word(const char *text, size_t bytes, size_t start, size_t end)
{
    uint32_t code;
    if (start > 0) {
        (void)character_before(text, start, &code);
        if (sc_unicode_is_word(code)) {
            return true;
        }
    }
    if (end < bytes) {
        (void)sc_utf8_decode(text + end, &code);
        return sc_unicode_is_word(code);
    }
    return false;
}

/* Widens [*start, *end) over white space, not past `done`. */
static void take_spaces(
    const struct sc_added_token *token, const char *text, size_t bytes, size_t done, size_t *start, size_t *end)
{
    uint32_t code;
    while (token->lstrip && *start > done) {
        const size_t before = character_before(text, *start, &code);
        if (!sc_unicode_is_space(code)) {
            break;
        }
        *start = before;
    }
    while (token->rstrip && *end < bytes) {
        const size_t length = sc_utf8_decode(text + *end, &code);
        if (!sc_unicode_is_space(code)) {
            break;
        }
        *end += length;
    }
}

static enum sc_status cut(
    const struct sc_added_token *tokens, size_t n_tokens, struct sc_piece whole, struct sc_pieces *pieces)
{
    const char *const text = whole.text;
    size_t done = 0;
    for (size_t at = 0; at < whole.bytes && n_tokens != 0;) {
        const struct sc_added_token *const token = find_longest(tokens, n_tokens, text + at, whole.bytes - at);
        if (token == NULL) {
            at++;
            continue;
        }
        size_t start = at;
        size_t end = at + token->bytes;
        at = end; /* searching goes on behind the match itself, not behind spaces that it takes */
        if (token->single_word && touches_word(text, whole.bytes, start, end)) {
            continue;
        }
        take_spaces(token, text, whole.bytes, done, &start, &end);
        if (done < start) {
            SC_TRY(sc_pieces_add(pieces,
                (struct sc_piece){
                    .text = text + done, .bytes = start - done, .at_start = whole.at_start && done == 0, .id = -1}));
        }
        SC_TRY(sc_pieces_add(pieces, (struct sc_piece){.text = text + start, .bytes = end - start, .id = token->id}));
        done = end;
    }
    return sc_pieces_add(pieces,
        (struct sc_piece){
            .text = text + done, .bytes = whole.bytes - done, .at_start = whole.at_start && done == 0, .id = -1});
}

enum sc_status sc_added_cut(const struct sc_added *added, const struct sc_normalizer *normalizer, const char *text,
    size_t bytes, struct sc_pieces *pieces)
{
    struct sc_pieces raw = {.arena = pieces->arena};
    const struct sc_piece whole = {.text = text, .bytes = bytes, .at_start = true, .id = -1};
    SC_TRY(cut(added->tokens, added->n_raw, whole, &raw));
    for (size_t i = 0; i < raw.n; i++) {
        struct sc_piece piece = raw.items[i];
        if (piece.id < 0) {
            SC_TRY(sc_normalizer_run(normalizer, piece.text, piece.bytes, pieces->arena, &piece.text, &piece.bytes));
            SC_TRY(cut(added->tokens + added->n_raw, added->n - added->n_raw, piece, pieces));
        } else {
            SC_TRY(sc_pieces_add(pieces, piece));
        }
    }
    return SC_OK;
}
