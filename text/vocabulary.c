/* SPDX-License-Identifier: Apache-2.0
 * A map for one way, an array for the other. */
#include "text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

static enum sc_status make_room(struct sc_vocabulary *vocabulary, size_t wanted)
{
    if (wanted <= vocabulary->capacity) {
        return SC_OK;
    }
    const size_t capacity = wanted < 1024 ? 1024 : 2 * wanted;
    struct sc_token *const tokens = realloc(vocabulary->tokens, capacity * sizeof *tokens);
    if (tokens == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a vocabulary of %zu tokens", wanted);
    }
    memset(tokens + vocabulary->capacity, 0, (capacity - vocabulary->capacity) * sizeof *tokens);
    vocabulary->tokens = tokens;
    vocabulary->capacity = capacity;
    return SC_OK;
}

enum sc_status sc_vocabulary_add(
    struct sc_vocabulary *vocabulary, struct sc_arena *arena, const char *text, size_t bytes, int64_t id)
{
    if (id < 0 || id > SC_MAX_TOKEN_ID) {
        return sc_fail(SC_BAD_MODEL, "token '%.60s' has id %lld, want 0 to %d", text, (long long)id, SC_MAX_TOKEN_ID);
    }
    SC_TRY(make_room(vocabulary, (size_t)id + 1));
    struct sc_token *const token = &vocabulary->tokens[id];
    if (token->text != NULL) {
        return sc_fail(SC_BAD_MODEL, "tokens '%.60s' and '%.60s' both have id %lld", token->text, text, (long long)id);
    }
    char *const copy = sc_arena_text(arena, text, bytes);
    if (copy == NULL) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_map_put(&vocabulary->ids, copy, bytes, id));
    *token = (struct sc_token){.text = copy, .bytes = bytes};
    if ((size_t)id + 1 > vocabulary->n_tokens) {
        vocabulary->n_tokens = (size_t)id + 1;
    }
    return SC_OK;
}

int64_t sc_vocabulary_find(const struct sc_vocabulary *vocabulary, const char *text, size_t bytes)
{
    return sc_map_get(&vocabulary->ids, text, bytes, -1);
}

const struct sc_token *sc_vocabulary_token(const struct sc_vocabulary *vocabulary, int64_t id)
{
    if (id < 0 || (size_t)id >= vocabulary->n_tokens || vocabulary->tokens[id].text == NULL) {
        return NULL;
    }
    return &vocabulary->tokens[id];
}

void sc_vocabulary_release(struct sc_vocabulary *vocabulary)
{
    sc_map_release(&vocabulary->ids);
    free(vocabulary->tokens);
    *vocabulary = (struct sc_vocabulary){0};
}
