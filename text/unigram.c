/* SPDX-License-Identifier: Apache-2.0
 * From left to right the best spelling up to each character is known, and each token that begins there may end one that
 * is better. Of equal ones the first stays, and a character without token costs 10 more than the unlikeliest token.
 * Source: Unigram::encode_optimized of Hugging Face's tokenizers 0.23. */
#include "text/unigram.h"

#include <math.h>
#include <string.h>

#include "base/unicode.h"

enum { MAX_WORD = 1 << 26, UNKNOWN_PENALTY = 10 };

bool sc_unigram_is_one(const struct sc_json *model)
{
    const char *type = sc_json_text(sc_json_get(model, "type"), NULL);
    return type != NULL && strcmp(type, "Unigram") == 0;
}

static enum sc_status read_token(
    const struct sc_json *pair, size_t id, struct sc_arena *arena, struct sc_unigram *unigram, double *least)
{
    size_t bytes;
    const char *const text = sc_json_text(sc_json_at(pair, 0), &bytes);
    const double score = sc_json_real(sc_json_at(pair, 1), NAN);
    if (sc_json_size(pair) != 2 || text == NULL || !isfinite(score)) {
        return sc_fail(SC_BAD_MODEL, "token %zu of the Unigram model is not a text with its score", id);
    }
    unigram->scores[id] = score;
    *least = score < *least ? score : *least;
    unigram->most_bytes = bytes > unigram->most_bytes ? bytes : unigram->most_bytes;
    return sc_vocabulary_add(unigram->vocabulary, arena, text, bytes, (int64_t)id);
}

enum sc_status sc_unigram_read(
    const struct sc_json *model, struct sc_arena *arena, struct sc_vocabulary *vocabulary, struct sc_unigram *unigram)
{
    const struct sc_json *const list = sc_json_get(model, "vocab");
    const size_t n = sc_json_size(list);
    if (!sc_json_is_array(list) || n == 0) {
        return sc_fail(SC_BAD_MODEL, "the Unigram model has no list of tokens");
    }
    double least = HUGE_VAL;
    unigram->vocabulary = vocabulary;
    unigram->scores = sc_arena_array(arena, n, sizeof *unigram->scores);
    if (unigram->scores == NULL) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        SC_TRY(read_token(sc_json_at(list, i), i, arena, unigram, &least));
    }
    unigram->unknown = sc_json_int(sc_json_get(model, "unk_id"), -1);
    if (unigram->unknown >= (int64_t)n) {
        return sc_fail(
            SC_BAD_MODEL, "the Unigram model's unk_id is %lld, it has %zu tokens", (long long)unigram->unknown, n);
    }
    unigram->unknown_score = least - UNKNOWN_PENALTY;
    unigram->byte_fallback = sc_json_bool(sc_json_get(model, "byte_fallback"), false);
    return SC_OK;
}

void sc_unigram_release(struct sc_unigram *unigram)
{
    sc_arena_release(&unigram->scratch);
    *unigram = (struct sc_unigram){0};
}

/* The best spelling that ends here: its last token, and where that begins. */
struct ending {
    double score;
    size_t from;
    int64_t id;
    bool reached;
};

static void offer(struct ending *endings, size_t from, size_t to, int64_t id, double score)
{
    const double all = endings[from].score + score;
    if (!endings[to].reached || all > endings[to].score) {
        endings[to] = (struct ending){.score = all, .from = from, .id = id, .reached = true};
    }
}

/* All tokens that begin at a character, the shortest first. */
static enum sc_status offer_tokens(
    const struct sc_unigram *unigram, const char *word, size_t bytes, size_t from, struct ending *endings)
{
    uint32_t code;
    const size_t first = sc_utf8_decode(word + from, &code);
    bool single = false;
    for (size_t length = first; from + length <= bytes && length <= unigram->most_bytes;) {
        const int64_t id = sc_vocabulary_find(unigram->vocabulary, word + from, length);
        if (id >= 0) {
            offer(endings, from, from + length, id, unigram->scores[id]);
            single |= length == first;
        }
        length += from + length < bytes ? sc_utf8_decode(word + from + length, &code) : 1;
    }
    if (single) {
        return SC_OK;
    }
    if (unigram->unknown < 0) {
        return sc_fail(SC_BAD_MODEL, "a character has no token, and the Unigram model has none for such");
    }
    offer(endings, from, from + first, unigram->unknown, unigram->unknown_score);
    return SC_OK;
}

/* The <0xHH> tokens of a text, last first; false: not all exist. */
static bool add_bytes(const struct sc_unigram *unigram, const char *text, size_t bytes, int32_t *ids, size_t *n)
{
    static const char hex[] = "0123456789ABCDEF";
    const size_t n_before = *n;
    for (size_t i = bytes; i-- > 0;) {
        const unsigned char byte = (unsigned char)text[i];
        const char name[6] = {'<', '0', 'x', hex[byte >> 4], hex[byte & 15], '>'};
        const int64_t id = sc_vocabulary_find(unigram->vocabulary, name, sizeof name);
        if (id < 0) {
            *n = n_before;
            return false;
        }
        ids[(*n)++] = (int32_t)id;
    }
    return true;
}

/* Ids from the end of the word to its begin. */
static size_t collect(
    const struct sc_unigram *unigram, const char *word, size_t bytes, const struct ending *endings, int32_t *ids)
{
    size_t n = 0;
    for (size_t end = bytes; end > 0;) {
        size_t from = endings[end].from;
        const bool unknown = endings[end].id == unigram->unknown;
        while (unknown && from > 0 && endings[from].id == unigram->unknown) {
            from = endings[from].from;
        }
        if (!unknown || !unigram->byte_fallback || !add_bytes(unigram, word + from, end - from, ids, &n)) {
            ids[n++] = (int32_t)endings[end].id;
        }
        end = from;
    }
    return n;
}

enum sc_status sc_unigram_encode(
    struct sc_unigram *unigram, const char *word, size_t bytes, const int32_t **ids, size_t *n_ids)
{
    sc_arena_reset(&unigram->scratch);
    if (bytes > MAX_WORD) {
        return sc_fail(SC_LIMIT, "a word of %zu bytes, at most %d are supported", bytes, MAX_WORD);
    }
    struct ending *const endings = sc_arena_array(&unigram->scratch, bytes + 1, sizeof *endings);
    int32_t *const out = sc_arena_array(&unigram->scratch, bytes + 1, sizeof *out);
    if (endings == NULL || out == NULL) {
        return SC_NO_MEMORY;
    }
    uint32_t code;
    for (size_t at = 0; at < bytes; at += sc_utf8_decode(word + at, &code)) {
        SC_TRY(offer_tokens(unigram, word, bytes, at, endings));
    }
    const size_t n = collect(unigram, word, bytes, endings, out);
    for (size_t i = 0; i < n / 2; i++) {
        const int32_t moved = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = moved;
    }
    *ids = out;
    *n_ids = n;
    return SC_OK;
}
