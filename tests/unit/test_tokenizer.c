/* SPDX-License-Identifier: Apache-2.0
 * Claims about text/: ids and texts against those of Hugging Face's tokenizers (tests/tokenizer/make_expected.py), and
 * what a broken or hostile file does. Files of the same form named on the command line are checked too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "text/tokenizer.h"

struct place {
    const char *file;
    const char *name;
    size_t index;
};

static void check_ids(
    const struct place *place, const char *what, const int64_t *ids, size_t n, const struct sc_json *want)
{
    size_t same = 0;
    while (same < n && same < sc_json_size(want) && ids[same] == sc_json_int(sc_json_at(want, same), -1)) {
        same++;
    }
    if (same != n || same != sc_json_size(want)) {
        fail_msg("%s: %s, case %zu, %s: %zu ids, want %zu; the first difference is at %zu (%lld, want %lld)",
            place->file, place->name, place->index, what, n, sc_json_size(want), same,
            same < n ? (long long)ids[same] : -1, (long long)sc_json_int(sc_json_at(want, same), -1));
    }
}

static void check_text(
    const struct place *place, const char *what, const char *text, size_t bytes, const struct sc_json *want)
{
    size_t want_bytes = 0;
    const char *const want_text = sc_json_text(want, &want_bytes);
    assert_non_null(want_text);
    if (bytes != want_bytes || memcmp(text, want_text, bytes) != 0) {
        fail_msg("%s: %s, case %zu, %s: '%.*s', want '%s'", place->file, place->name, place->index, what, (int)bytes,
            text, want_text);
    }
}

static void check_ok(const struct place *place, enum sc_status status)
{
    if (status != SC_OK) {
        fail_msg("%s: %s, case %zu: %s", place->file, place->name, place->index, sc_error_last()->text);
    }
}

/* Streaming gives the text of decoding at once, in whole characters. Where byte-fallback makes broken UTF-8 the two
 * may differ, so those cases are left out. */
static void check_stream(const struct place *place, struct sc_tokenizer *tokenizer, bool skip_special,
    const int64_t *ids, size_t n, const char *want, size_t want_bytes)
{
    struct sc_tokenizer_stream *stream = NULL;
    check_ok(place, sc_tokenizer_stream_create(tokenizer, skip_special, &stream));
    size_t at = 0;
    for (size_t i = 0; i <= n; i++) {
        const char *text = NULL;
        size_t bytes = 0;
        check_ok(place,
            i < n ? sc_tokenizer_stream_push(stream, ids[i], &text, &bytes)
                  : sc_tokenizer_stream_finish(stream, &text, &bytes));
        if (bytes > want_bytes - at || memcmp(text, want + at, bytes) != 0) {
            fail_msg("%s: %s, case %zu: streamed '%.*s' at byte %zu of '%s'", place->file, place->name, place->index,
                (int)bytes, text, at, want);
        }
        at += bytes;
        assert_true(at == want_bytes || ((unsigned char)want[at] & 0xc0) != 0x80);
    }
    if (at != want_bytes) {
        fail_msg("%s: %s, case %zu: streamed %zu bytes of '%s'", place->file, place->name, place->index, at, want);
    }
    sc_tokenizer_stream_free(stream);
}

/* The files leave out what is the same under another key. */
static const struct sc_json *get_or(const struct sc_json *expected, const char *key, const char *other)
{
    const struct sc_json *const found = sc_json_get(expected, key);
    return found != NULL ? found : sc_json_get(expected, other);
}

static void check_case(const struct place *place, struct sc_tokenizer *tokenizer, const struct sc_json *expected)
{
    struct sc_arena arena = {0};
    size_t bytes = 0;
    size_t n = 0;
    int64_t *ids = NULL;
    const char *const input = sc_json_text(sc_json_get(expected, "text"), &bytes);
    if (input != NULL) {
        check_ok(place, sc_tokenizer_encode(tokenizer, input, bytes, false, &arena, &n, &ids));
        check_ids(place, "ids", ids, n, sc_json_get(expected, "ids"));
        check_ok(place, sc_tokenizer_encode(tokenizer, input, bytes, true, &arena, &n, &ids));
        check_ids(place, "framed", ids, n, get_or(expected, "framed", "ids"));
    } else {
        const struct sc_json *const list = sc_json_get(expected, "ids");
        n = sc_json_size(list);
        ids = sc_arena_array(&arena, n, sizeof *ids);
        assert_non_null(ids);
        for (size_t i = 0; i < n; i++) {
            ids[i] = sc_json_int(sc_json_at(list, i), -1);
        }
    }
    for (int skip = 0; skip <= 1; skip++) {
        char *text = NULL;
        check_ok(place, sc_tokenizer_decode(tokenizer, ids, n, skip, &arena, &text, &bytes));
        check_text(place, skip ? "plain" : "all", text, bytes, get_or(expected, skip ? "plain" : "all", "all"));
        const bool broken = sc_tokenizer_find(tokenizer, "<0x00>", 6) >= 0 && strstr(text, "\xef\xbf\xbd") != NULL;
        if (!broken) {
            check_stream(place, tokenizer, skip, ids, n, text, bytes);
        }
    }
    sc_arena_release(&arena);
}

static void check_entry(const char *file, const struct sc_json *entry)
{
    struct place place = {.file = file, .name = sc_json_text(sc_json_get(entry, "name"), NULL)};
    struct sc_tokenizer *tokenizer = NULL;
    struct sc_arena arena = {0};
    size_t bytes = 0;
    const char *const inside = sc_json_text(sc_json_get(entry, "tokenizer"), &bytes);
    const char *path = sc_json_text(sc_json_get(entry, "path"), NULL);
    assert_true(inside != NULL || path != NULL);
    if (path != NULL && path[0] != '/') {
        path = sc_path_join(&arena, SC_SOURCE_DIR, path);
    }
    check_ok(&place,
        inside != NULL ? sc_tokenizer_parse(inside, bytes, "inside", &tokenizer) : sc_tokenizer_load(path, &tokenizer));
    const struct sc_json *const cases = sc_json_get(entry, "cases");
    assert_true(sc_json_size(cases) > 0);
    for (place.index = 0; place.index < sc_json_size(cases); place.index++) {
        check_case(&place, tokenizer, sc_json_at(cases, place.index));
    }
    sc_tokenizer_free(tokenizer);
    sc_arena_release(&arena);
}

static void check_file(const char *path)
{
    struct sc_arena arena = {0};
    char *text = NULL;
    size_t bytes = 0;
    struct sc_json *root = NULL;
    if (sc_file_read_text(path, 1 << 30, &arena, &text, &bytes) != SC_OK ||
        sc_json_parse(text, bytes, path, &root) != SC_OK) {
        fail_msg("%s", sc_error_last()->text);
    }
    assert_true(sc_json_size(root) > 0);
    for (size_t i = 0; i < sc_json_size(root); i++) {
        check_entry(path, sc_json_at(root, i));
    }
    sc_json_free(root);
    sc_arena_release(&arena);
}

static void every_kind_of_step_does_what_the_reference_does(void **state)
{
    (void)state;
    check_file(SC_SOURCE_DIR "/tests/tokenizer/kinds.json");
}

static void unigram_spells_as_the_reference_does(void **state)
{
    (void)state;
    check_file(SC_SOURCE_DIR "/tests/tokenizer/unigram.json");
}

static void the_example_gives_the_ids_and_texts_of_the_reference(void **state)
{
    (void)state;
    check_file(SC_SOURCE_DIR "/tests/tokenizer/shakespeare.json");
}

/* A tokenizer of the letters a, b and c, which merges ab and abc. `more` is put before the model. */
static enum sc_status parse_small(const char *more, const char *model_more, struct sc_tokenizer **tokenizer)
{
    char text[4096];
    const int n = snprintf(text, sizeof text,
        "{%s \"model\": {\"type\": \"BPE\", %s \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"ab\": 3, \"abc\": 4}, "
        "\"merges\": [\"a b\", [\"ab\", \"c\"]]}}",
        more, model_more);
    assert_true(n > 0 && (size_t)n < sizeof text);
    return sc_tokenizer_parse(text, (size_t)n, "small.json", tokenizer);
}

static void tokens_are_found_by_spelling_and_by_id(void **state)
{
    (void)state;
    struct sc_tokenizer *tokenizer = NULL;
    assert_int_equal(
        parse_small("\"added_tokens\": [{\"id\": 9, \"content\": \"<s>\", \"special\": true}],", "", &tokenizer),
        SC_OK);
    size_t bytes = 0;
    assert_int_equal(sc_tokenizer_vocabulary_size(tokenizer), 10);
    assert_int_equal(sc_tokenizer_find(tokenizer, "abc", 3), 4);
    assert_int_equal(sc_tokenizer_find(tokenizer, "<s>", 3), 9);
    assert_int_equal(sc_tokenizer_find(tokenizer, "x", 1), -1);
    assert_string_equal(sc_tokenizer_token(tokenizer, 3, &bytes), "ab");
    assert_int_equal(bytes, 2);
    assert_null(sc_tokenizer_token(tokenizer, 5, &bytes));
    assert_null(sc_tokenizer_token(tokenizer, -1, &bytes));
    assert_null(sc_tokenizer_token(tokenizer, INT64_MAX, &bytes));
    assert_true(sc_tokenizer_is_special(tokenizer, 9));
    assert_false(sc_tokenizer_is_special(tokenizer, 3));
    assert_false(sc_tokenizer_is_special(tokenizer, 99));
    sc_tokenizer_free(tokenizer);
    sc_tokenizer_free(NULL);
}

static void text_that_is_not_utf_8_is_refused(void **state)
{
    (void)state;
    struct sc_tokenizer *tokenizer = NULL;
    struct sc_arena arena = {0};
    size_t n = 7;
    int64_t *ids = NULL;
    assert_int_equal(parse_small("", "", &tokenizer), SC_OK);
    assert_int_equal(sc_tokenizer_encode(tokenizer, "ab\xff", 3, true, &arena, &n, &ids), SC_BAD_INPUT);
    assert_string_equal(sc_error_last()->text, "byte 2 of the text is not UTF-8");
    assert_int_equal(n, 7);
    sc_arena_release(&arena);
    sc_tokenizer_free(tokenizer);
}

static void a_megabyte_word_is_merged_in_time(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    struct sc_tokenizer *tokenizer = NULL;
    struct sc_arena arena = {0};
    size_t n = 0;
    int64_t *ids = NULL;
    char *const text = malloc(N);
    assert_non_null(text);
    for (int i = 0; i < N; i++) {
        text[i] = "abc"[i % 3];
    }
    assert_int_equal(parse_small("", "", &tokenizer), SC_OK);
    assert_int_equal(sc_tokenizer_encode(tokenizer, text, N, false, &arena, &n, &ids), SC_OK);
    assert_int_equal(n, N / 3 + 1); /* N = 3 k + 1: the last a stays */
    assert_int_equal(ids[0], 4);
    assert_int_equal(ids[n - 1], 0);
    free(text);
    sc_arena_release(&arena);
    sc_tokenizer_free(tokenizer);
}

static void refuse(const char *more, const char *model_more, enum sc_status want, const char *says)
{
    struct sc_tokenizer *tokenizer = NULL;
    const enum sc_status status = parse_small(more, model_more, &tokenizer);
    if (status != want || strstr(sc_error_last()->text, says) == NULL) {
        fail_msg("'%s' '%s': %s (%s), want %s: %s", more, model_more, sc_status_name(status),
            status == SC_OK ? "" : sc_error_last()->text, sc_status_name(want), says);
    }
    assert_null(tokenizer);
    assert_non_null(strstr(sc_error_last()->text, "small.json"));
}

static void kinds_that_are_not_known_are_named(void **state)
{
    (void)state;
    static const char *const keys[] = {"normalizer", "pre_tokenizer", "post_processor", "decoder"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char more[100];
        (void)snprintf(more, sizeof more, "\"%s\": {\"type\": \"Oddity\"},", keys[i]);
        refuse(more, "", SC_UNSUPPORTED, "'Oddity' is not supported");
    }
    refuse("\"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\"},", "", SC_UNSUPPORTED, "decoder 'WordPiece'");
    refuse("", "\"dropout\": 0.1,", SC_UNSUPPORTED, "dropout");
    struct sc_tokenizer *tokenizer = NULL;
    static const char wordpiece[] = "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {}}}";
    static const char unigram[] = "{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}";
    assert_int_equal(sc_tokenizer_parse(wordpiece, sizeof wordpiece - 1, "w", &tokenizer), SC_UNSUPPORTED);
    assert_non_null(strstr(sc_error_last()->text, "'WordPiece'"));
    assert_int_equal(sc_tokenizer_parse(unigram, sizeof unigram - 1, "u", &tokenizer), SC_BAD_MODEL);
    assert_non_null(strstr(sc_error_last()->text, "the Unigram model has no list of tokens"));
}

/* `model` and `normalizer` are what stands in their braces. */
static void refuse_unigram(const char *model, const char *normalizer, const char *words)
{
    char text[1024];
    struct sc_tokenizer *tokenizer = NULL;
    const int n = snprintf(text, sizeof text,
        "{\"normalizer\": {\"type\": \"Precompiled\", %s}, \"model\": {\"type\": \"Unigram\", %s}}", normalizer, model);
    assert_true(n > 0 && (size_t)n < sizeof text);
    assert_int_equal(sc_tokenizer_parse(text, (size_t)n, "u.json", &tokenizer), SC_BAD_MODEL);
    if (strstr(sc_error_last()->text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, sc_error_last()->text);
    }
}

static void broken_unigram_models_are_refused(void **state)
{
    static const char none[] = "\"precompiled_charsmap\": null", good[] = "\"vocab\": [[\"a\", -1]]";
    (void)state;
    refuse_unigram("\"vocab\": [[\"a\"]]", none, "token 0 of the Unigram model");
    refuse_unigram("\"vocab\": [[\"a\", \"x\"]]", none, "token 0 of the Unigram model");
    refuse_unigram("\"vocab\": [[\"a\", -1]], \"unk_id\": 7", none, "unk_id is 7, it has 1");
    refuse_unigram(good, "\"precompiled_charsmap\": \"A*AA\"", "character 1 of its table is not base64");
    refuse_unigram(good, "\"precompiled_charsmap\": \"AAA\"", "is cut short");
    refuse_unigram(good, "\"precompiled_charsmap\": \"BAAAAA==\"", "has a trie of 4");
    refuse_unigram(good, "\"precompiled_charsmap\": \"AQAAAAAA\"", "has a trie of 1");
}

static void a_character_without_token_needs_one_for_such(void **state)
{
    static const char text[] = "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", -1]]}}";
    struct sc_tokenizer *tokenizer = NULL;
    struct sc_arena arena = {0};
    int64_t *ids;
    size_t n;
    (void)state;
    assert_int_equal(sc_tokenizer_parse(text, sizeof text - 1, "u", &tokenizer), SC_OK);
    assert_int_equal(sc_tokenizer_encode(tokenizer, "aa", 2, true, &arena, &n, &ids), SC_OK);
    assert_int_equal(n, 2);
    assert_int_equal(sc_tokenizer_encode(tokenizer, "ab", 2, true, &arena, &n, &ids), SC_BAD_MODEL);
    sc_tokenizer_free(tokenizer);
    sc_arena_release(&arena);
}

/* A table that leads out of itself: a unit of label 'a' with a value far away. */
static void tables_that_lead_nowhere_are_refused(void **state)
{
    static const char text[] = "{\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"%s\"}, "
                               "\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", -1]]}}";
    unsigned char table[4 + 4 * 128] = {0};
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char base64[sizeof table / 3 * 4 + 8], whole[2048];
    struct sc_tokenizer *tokenizer = NULL;
    struct sc_arena arena = {0};
    int64_t *ids;
    size_t n, at = 0;
    (void)state;
    const uint32_t trie = 4 * 128, unit = 0x3ff00000u | 1u << 8 | 'a';
    memcpy(table, &trie, 4);
    memcpy(table + 4 + 4 * 'a', &unit, 4); /* the root's distance is 0 */
    for (size_t i = 0; i < sizeof table; i += 3) {
        const uint32_t three = (uint32_t)table[i] << 16 | (uint32_t)table[i + 1] << 8 | table[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) {
            base64[at++] = digits[three >> shift & 63];
        }
    }
    base64[at] = '\0';
    assert_true(snprintf(whole, sizeof whole, text, base64) < (int)sizeof whole);
    assert_int_equal(sc_tokenizer_parse(whole, strlen(whole), "u", &tokenizer), SC_OK);
    assert_int_equal(sc_tokenizer_encode(tokenizer, "a", 1, true, &arena, &n, &ids), SC_BAD_MODEL);
    assert_non_null(strstr(sc_error_last()->text, "becomes no text"));
    sc_tokenizer_free(tokenizer);
    sc_arena_release(&arena);
}

static void broken_steps_are_refused(void **state)
{
    (void)state;
    refuse("\"normalizer\": {\"kind\": 1},", "", SC_BAD_MODEL, "no type");
    refuse("\"normalizer\": {\"type\": \"Sequence\"},", "", SC_BAD_MODEL, "no list 'normalizers'");
    refuse("\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [null]},", "", SC_BAD_MODEL, "no type");
    refuse("\"normalizer\": {\"type\": \"Prepend\"},", "", SC_BAD_MODEL, "no text 'prepend'");
    refuse(
        "\"normalizer\": {\"type\": \"Replace\", \"content\": \"x\", \"pattern\": {}},", "", SC_BAD_MODEL, "pattern");
    refuse("\"normalizer\": {\"type\": \"Replace\", \"content\": \"x\", \"pattern\": {\"Regex\": \"(\"}},", "",
        SC_BAD_MODEL, "regular expression");
    refuse("\"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Odd\", \"pattern\": {\"String\": \"x\"}},", "",
        SC_BAD_MODEL, "behavior 'Odd'");
    refuse("\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\", \"prepend_scheme\": \"x\"},", "",
        SC_BAD_MODEL, "prepend_scheme 'x'");
    refuse("\"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\", \"delimiter\": \"\"},", "", SC_UNSUPPORTED,
        "pattern of 0 bytes");
    refuse("\"decoder\": {\"type\": \"Strip\", \"content\": \"\"},", "", SC_BAD_MODEL, "Strip has no content");
    refuse("\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": []},", "", SC_UNSUPPORTED,
        "the text 0 times");
    refuse("\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"x\"}}]},",
        "", SC_BAD_MODEL, "special token 'x' has no ids");
    refuse("\"post_processor\": {\"type\": \"BertProcessing\"},", "", SC_BAD_MODEL, "has id -1");
}

static void broken_vocabularies_are_refused(void **state)
{
    (void)state;
    refuse("\"added_tokens\": [{\"id\": 0, \"content\": \"x\"}],", "", SC_BAD_MODEL, "which is that of 'a'");
    refuse("\"added_tokens\": [{\"id\": 1, \"content\": \"a\"}],", "", SC_BAD_MODEL, "has id 0 and id 1");
    refuse("\"added_tokens\": [{\"id\": -1, \"content\": \"x\"}],", "", SC_BAD_MODEL, "has id -1");
    refuse("\"added_tokens\": [{\"id\": 999999999999, \"content\": \"x\"}],", "", SC_BAD_MODEL, "has id 999999999999");
    refuse("\"added_tokens\": [{\"id\": 9, \"content\": \"x\"}, {\"id\": 9, \"content\": \"y\"}],", "", SC_BAD_MODEL,
        "both have id 9");
    refuse("\"added_tokens\": [{\"content\": \"x\"}],", "", SC_BAD_MODEL, "no content or no id");
    refuse("\"added_tokens\": [7],", "", SC_BAD_MODEL, "no content or no id");
    static const struct {
        const char *model;
        const char *says;
    } bad[] = {
        {"[]", "no tokenizer model"},
        {"{\"type\": \"BPE\", \"merges\": []}", "no vocab"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0}}", "no list of merges"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": \"x\"}, \"merges\": []}", "no number"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}", "both have id 0"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": -5}, \"merges\": []}", "has id -5"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a\"]}", "merge 0 is not a pair"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a a a\"]}", "merge 0 is not a pair"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [[\"a\"]]}", "merge 0 is not a pair"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [7]}", "merge 0 is not a pair"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a a\"]}", "'aa' is not in the vocabulary"},
        {"{\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"b a\"]}", "'b' is not in the vocabulary"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[300];
        struct sc_tokenizer *tokenizer = NULL;
        const int n = snprintf(text, sizeof text, "{\"model\": %s}", bad[i].model);
        assert_int_equal(sc_tokenizer_parse(text, (size_t)n, "bad.json", &tokenizer), SC_BAD_MODEL);
        if (strstr(sc_error_last()->text, bad[i].says) == NULL) {
            fail_msg("%s: %s, want %s", text, sc_error_last()->text, bad[i].says);
        }
    }
}

static void files_that_are_no_tokenizer_are_refused(void **state)
{
    (void)state;
    struct sc_tokenizer *tokenizer = NULL;
    assert_int_equal(sc_tokenizer_parse("{", 1, "x.json", &tokenizer), SC_BAD_MODEL);
    assert_non_null(strstr(sc_error_last()->text, "x.json:1:"));
    assert_int_equal(sc_tokenizer_parse("[]", 2, "x.json", &tokenizer), SC_BAD_MODEL);
    assert_int_equal(sc_tokenizer_load("/no/such/tokenizer.json", &tokenizer), SC_IO);
    assert_null(tokenizer);
}

/* 60 steps that double a text: without a bound 2^60 bytes. */
static void texts_that_grow_without_end_are_cut_off(void **state)
{
    (void)state;
    static const char double_step[] = "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aa\"}";
    const size_t room = 60 * sizeof double_step + 400;
    char *const text = malloc(room);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, room, "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [");
    for (int i = 0; i < 60; i++) {
        n += (size_t)snprintf(text + n, room - n, "%s%s", i == 0 ? "" : ",", double_step);
    }
    n += (size_t)snprintf(
        text + n, room - n, "]}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}");
    struct sc_tokenizer *tokenizer = NULL;
    struct sc_arena arena = {.limit_bytes = 64 << 20};
    int64_t *ids = NULL;
    assert_int_equal(sc_tokenizer_parse(text, n, "growing", &tokenizer), SC_OK);
    const enum sc_status status = sc_tokenizer_encode(tokenizer, "a", 1, false, &arena, &n, &ids);
    assert_true(status == SC_LIMIT || status == SC_NO_MEMORY);
    sc_arena_release(&arena);
    sc_tokenizer_free(tokenizer);
    free(text);
}

static void deep_and_long_sequences_are_refused(void **state)
{
    (void)state;
    char text[8192] = "";
    size_t n = (size_t)snprintf(text, sizeof text, "{\"normalizer\": ");
    for (int i = 0; i < 40; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "{\"type\": \"Sequence\", \"normalizers\": [");
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "{\"type\": \"NFC\"}");
    for (int i = 0; i < 40; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "]}");
    }
    n += (size_t)snprintf(text + n, sizeof text - n, ", \"model\": {}}");
    struct sc_tokenizer *tokenizer = NULL;
    assert_int_equal(sc_tokenizer_parse(text, n, "deep", &tokenizer), SC_UNSUPPORTED);
    assert_non_null(strstr(sc_error_last()->text, "nested deeper"));
    n = (size_t)snprintf(text, sizeof text, "{\"decoder\": {\"type\": \"Sequence\", \"decoders\": [");
    for (int i = 0; i < 100; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s{\"type\": \"Fuse\"}", i == 0 ? "" : ",");
    }
    n += (size_t)snprintf(
        text + n, sizeof text - n, "]}, \"model\": {\"type\": \"BPE\", \"vocab\": {}, \"merges\": []}}");
    assert_int_equal(sc_tokenizer_parse(text, n, "long", &tokenizer), SC_UNSUPPORTED);
    assert_non_null(strstr(sc_error_last()->text, "more than 64 decoders"));
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        check_file(argv[i]);
        (void)printf("%s: as expected\n", argv[i]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_step_does_what_the_reference_does),
        cmocka_unit_test(unigram_spells_as_the_reference_does),
        cmocka_unit_test(broken_unigram_models_are_refused),
        cmocka_unit_test(a_character_without_token_needs_one_for_such),
        cmocka_unit_test(tables_that_lead_nowhere_are_refused),
        cmocka_unit_test(the_example_gives_the_ids_and_texts_of_the_reference),
        cmocka_unit_test(tokens_are_found_by_spelling_and_by_id),
        cmocka_unit_test(text_that_is_not_utf_8_is_refused),
        cmocka_unit_test(a_megabyte_word_is_merged_in_time),
        cmocka_unit_test(kinds_that_are_not_known_are_named),
        cmocka_unit_test(broken_steps_are_refused),
        cmocka_unit_test(broken_vocabularies_are_refused),
        cmocka_unit_test(files_that_are_no_tokenizer_are_refused),
        cmocka_unit_test(texts_that_grow_without_end_are_cut_off),
        cmocka_unit_test(deep_and_long_sequences_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
