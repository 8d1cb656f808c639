/* SPDX-License-Identifier: Apache-2.0
 * The order of the parts; what each does is in its own file. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/unicode.h"
#include "text/tokenizer_parts.h"

enum { MAX_FILE = 256 << 20 };

static enum sc_status read_parts(const struct sc_json *root, struct sc_tokenizer *tokenizer)
{
    struct sc_arena *const arena = &tokenizer->arena;
    if (!sc_json_is_object(sc_json_get(root, "model"))) {
        return sc_fail(SC_BAD_MODEL, "there is no tokenizer model");
    }
    SC_TRY(sc_normalizer_read(sc_json_get(root, "normalizer"), arena, &tokenizer->normalizer));
    SC_TRY(sc_pretokenizer_read(sc_json_get(root, "pre_tokenizer"), arena, &tokenizer->pretokenizer));
    const struct sc_json *const model = sc_json_get(root, "model");
    SC_TRY(sc_unigram_is_one(model) ? sc_unigram_read(model, arena, &tokenizer->model, &tokenizer->unigram)
                                    : sc_bpe_read(model, arena, &tokenizer->model, &tokenizer->bpe));
    SC_TRY(sc_added_read(
        sc_json_get(root, "added_tokens"), &tokenizer->normalizer, arena, &tokenizer->model, &tokenizer->added));
    SC_TRY(sc_surround_read(sc_json_get(root, "post_processor"), &tokenizer->surround));
    return sc_decoder_read(sc_json_get(root, "decoder"), arena, &tokenizer->decoder);
}

enum sc_status sc_tokenizer_parse(const char *text, size_t bytes, const char *what, struct sc_tokenizer **tokenizer)
{
    struct sc_json *root = NULL;
    const enum sc_status parsed = sc_json_parse(text, bytes, what, &root);
    if (parsed == SC_BAD_INPUT) { /* here it is a file of the model that is broken */
        sc_error_last()->code = SC_BAD_MODEL;
        return SC_BAD_MODEL;
    }
    SC_TRY(parsed);
    struct sc_tokenizer *const made = calloc(1, sizeof *made);
    enum sc_status status = made == NULL ? sc_fail(SC_NO_MEMORY, "out of memory: a tokenizer") : read_parts(root, made);
    sc_json_free(root);
    if (status != SC_OK) {
        status = sc_fail_in("'%s'", what);
        sc_tokenizer_free(made);
        return status;
    }
    *tokenizer = made;
    return SC_OK;
}

enum sc_status sc_tokenizer_load(const char *path, struct sc_tokenizer **tokenizer)
{
    struct sc_arena arena = {0};
    char *text;
    size_t bytes;
    enum sc_status status = sc_file_read_text(path, MAX_FILE, &arena, &text, &bytes);
    if (status == SC_OK) {
        status = sc_tokenizer_parse(text, bytes, path, tokenizer);
    }
    sc_arena_release(&arena);
    return status;
}

void sc_tokenizer_free(struct sc_tokenizer *tokenizer)
{
    if (tokenizer != NULL) {
        sc_decoder_release(&tokenizer->decoder);
        sc_bpe_release(&tokenizer->bpe);
        sc_unigram_release(&tokenizer->unigram);
        sc_pretokenizer_release(&tokenizer->pretokenizer);
        sc_normalizer_release(&tokenizer->normalizer);
        sc_added_release(&tokenizer->added);
        sc_vocabulary_release(&tokenizer->model);
        sc_arena_release(&tokenizer->arena);
        free(tokenizer);
    }
}

/* A growing list of ids in an arena. */
struct id_list {
    struct sc_arena *arena;
    int64_t *items;
    size_t n;
    size_t capacity;
};

static enum sc_status make_room(struct id_list *list, size_t n_more)
{
    if (list->items != NULL && n_more <= list->capacity - list->n) {
        return SC_OK;
    }
    const size_t capacity = 2 * list->capacity + n_more + 16;
    int64_t *const items = sc_arena_array(list->arena, capacity, sizeof *items);
    if (items == NULL) {
        return SC_NO_MEMORY;
    }
    if (list->n != 0) {
        memcpy(items, list->items, list->n * sizeof *items);
    }
    list->items = items;
    list->capacity = capacity;
    return SC_OK;
}

static enum sc_status add_word(struct sc_tokenizer *tokenizer, const struct sc_piece *word, struct id_list *list)
{
    if (word->id >= 0) {
        SC_TRY(make_room(list, 1));
        list->items[list->n++] = word->id;
        return SC_OK;
    }
    const int32_t *ids;
    size_t n;
    SC_TRY(tokenizer->unigram.vocabulary != NULL
            ? sc_unigram_encode(&tokenizer->unigram, word->text, word->bytes, &ids, &n)
            : sc_bpe_encode(&tokenizer->bpe, word->text, word->bytes, &ids, &n));
    SC_TRY(make_room(list, n));
    for (size_t i = 0; i < n; i++) {
        list->items[list->n++] = ids[i];
    }
    return SC_OK;
}

static enum sc_status add_special(const struct sc_surround *surround, size_t from, size_t to, struct id_list *list)
{
    SC_TRY(make_room(list, to - from));
    for (size_t i = from; i < to; i++) {
        list->items[list->n++] = surround->ids[i];
    }
    return SC_OK;
}

enum sc_status sc_tokenizer_encode(struct sc_tokenizer *tokenizer, const char *text, size_t bytes, bool add_special_ids,
    struct sc_arena *arena, size_t *n, int64_t **ids)
{
    const size_t n_valid = sc_utf8_valid(text, bytes);
    if (n_valid != bytes) {
        return sc_fail(SC_BAD_INPUT, "byte %zu of the text is not UTF-8", n_valid);
    }
    const struct sc_surround *const surround = &tokenizer->surround;
    struct sc_pieces pieces = {.arena = arena};
    struct id_list list = {.arena = arena};
    SC_TRY(sc_added_cut(&tokenizer->added, &tokenizer->normalizer, text, bytes, &pieces));
    SC_TRY(sc_pretokenizer_run(&tokenizer->pretokenizer, &pieces));
    SC_TRY(add_special(surround, 0, add_special_ids ? surround->n_before : 0, &list));
    for (size_t i = 0; i < pieces.n; i++) {
        SC_TRY(add_word(tokenizer, &pieces.items[i], &list));
    }
    SC_TRY(add_special(surround, surround->n_before, add_special_ids ? surround->n : surround->n_before, &list));
    *n = list.n;
    *ids = list.items;
    return SC_OK;
}

static const struct sc_token *find_token(const struct sc_tokenizer *tokenizer, int64_t id)
{
    const struct sc_token *const added = sc_vocabulary_token(&tokenizer->added.vocabulary, id);
    return added != NULL ? added : sc_vocabulary_token(&tokenizer->model, id);
}

enum sc_status sc_tokenizer_decode(struct sc_tokenizer *tokenizer, const int64_t *ids, size_t n, bool skip_special,
    struct sc_arena *arena, char **text, size_t *bytes)
{
    struct sc_token *const tokens = sc_arena_array(arena, n + 1, sizeof *tokens);
    if (tokens == NULL) {
        return SC_NO_MEMORY;
    }
    size_t n_tokens = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sc_token *const token = find_token(tokenizer, ids[i]);
        if (token != NULL && !(skip_special && sc_tokenizer_is_special(tokenizer, ids[i]))) {
            tokens[n_tokens++] = *token;
        }
    }
    return sc_decoder_run(&tokenizer->decoder, tokens, n_tokens, arena, text, bytes);
}

int64_t sc_tokenizer_vocabulary_size(const struct sc_tokenizer *tokenizer)
{
    const size_t model = tokenizer->model.n_tokens;
    const size_t added = tokenizer->added.vocabulary.n_tokens;
    return (int64_t)(model > added ? model : added);
}

int64_t sc_tokenizer_find(const struct sc_tokenizer *tokenizer, const char *token, size_t bytes)
{
    const int64_t added = sc_vocabulary_find(&tokenizer->added.vocabulary, token, bytes);
    return added >= 0 ? added : sc_vocabulary_find(&tokenizer->model, token, bytes);
}

const char *sc_tokenizer_token(const struct sc_tokenizer *tokenizer, int64_t id, size_t *bytes)
{
    const struct sc_token *const token = find_token(tokenizer, id);
    if (token == NULL) {
        return NULL;
    }
    *bytes = token->bytes;
    return token->text;
}

bool sc_tokenizer_is_special(const struct sc_tokenizer *tokenizer, int64_t id)
{
    const struct sc_token *const token = find_token(tokenizer, id);
    return token != NULL && token->special;
}
