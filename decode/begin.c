/* SPDX-License-Identifier: Apache-2.0
 * Two JSON files, the first of which to have a field says it. */
#include "decode/begin.h"

#include <string.h>

#include "base/json_field.h"

enum { GENERATION, CONFIG, N_FILES };
enum { MOST_FORCED = 64 };

struct reading {
    struct sc_arena *arena;
    const char *paths[N_FILES];
    struct sc_json *roots[N_FILES]; /* NULL: there is no such file */
};

/* The field, and the file that has it; NULL where neither does, or says null. */
static const struct sc_json *find(const struct reading *r, const char *name, int *file)
{
    for (int f = 0; f < N_FILES; f++) {
        const struct sc_json *field = sc_json_get(r->roots[f], name);
        if (!sc_json_is_null(field)) {
            *file = f;
            return field;
        }
    }
    return NULL;
}

static enum sc_status refuse(const struct reading *r, int file, const char *name, const char *want)
{
    return sc_fail(SC_BAD_MODEL, "'%s': field '%s' is not %s", r->paths[file], name, want);
}

/* *id stays as it is where no file has the field. */
static enum sc_status read_id(const struct reading *r, const char *name, int64_t *id)
{
    int file = 0;
    const struct sc_json *field = find(r, name, &file);
    if (!field) {
        return SC_OK;
    }
    if (!sc_json_is_int(field) || sc_json_int(field, -1) < 0) {
        return refuse(r, file, name, "a token's id");
    }
    *id = sc_json_int(field, -1);
    return SC_OK;
}

static enum sc_status read_ids(const struct reading *r, const char *name, int *n, int64_t **ids)
{
    int file = 0;
    const struct sc_json *field = find(r, name, &file);
    const size_t size = sc_json_is_array(field) ? sc_json_size(field) : 0;
    if (field && !sc_json_is_array(field)) {
        return refuse(r, file, name, "a list of tokens' ids");
    }
    *ids = sc_arena_array(r->arena, size + 1, sizeof **ids);
    if (!*ids) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < size; i++) {
        (*ids)[i] = sc_json_int(sc_json_at(field, i), -1);
        if ((*ids)[i] < 0) {
            return refuse(r, file, name, "a list of tokens' ids");
        }
    }
    *n = (int)size;
    return SC_OK;
}

static enum sc_status append(struct sc_begin *begin, int64_t id)
{
    if (begin->n_prompt == MOST_FORCED) {
        return sc_fail(SC_BAD_MODEL, "more than %d tokens are forced at a text's begin", MOST_FORCED);
    }
    begin->prompt[begin->n_prompt++] = id;
    return SC_OK;
}

/* [[1, id], [2, id], ...]: what stands at those positions; -1 for null, or a gap, which the model is to find out. */
static enum sc_status read_forced(const struct reading *r, int64_t forced[MOST_FORCED], int *n)
{
    int file = 0;
    const struct sc_json *list = find(r, "forced_decoder_ids", &file);
    *n = 0;
    for (size_t i = 0; i < sc_json_size(list); i++) {
        const struct sc_json *pair = sc_json_at(list, i);
        const int64_t at = sc_json_int(sc_json_at(pair, 0), -1), id = sc_json_int(sc_json_at(pair, 1), -1);
        if (sc_json_size(pair) != 2 || at < 1 || at > MOST_FORCED) {
            return refuse(r, file, "forced_decoder_ids", "a list of pairs [position, id]");
        }
        while (*n < at) {
            forced[(*n)++] = -1;
        }
        forced[at - 1] = id;
    }
    return SC_OK;
}

/* The id of a language or task: of "en" or "<|en|>". */
static enum sc_status find_word(
    const struct reading *r, const char *map, const char *word, const char *option, int64_t *id)
{
    int file = 0;
    const struct sc_json *table = find(r, map, &file);
    const char *marked = sc_arena_printf(r->arena, "<|%s|>", word);
    if (!marked) {
        return SC_NO_MEMORY;
    }
    *id = sc_json_int(sc_json_get(table, marked), sc_json_int(sc_json_get(table, word), -1));
    return *id >= 0 ? SC_OK : sc_fail(SC_BAD_USAGE, "option '%s' is '%s', which the model does not know", option, word);
}

struct languages {
    const struct reading *r;
    struct sc_begin *begin;
};

static enum sc_status add_language(void *arg, const char *key, size_t key_bytes, const struct sc_json *value)
{
    const struct languages *to = arg;
    struct sc_begin *begin = to->begin;
    const char *name = sc_arena_printf(to->r->arena, "%.*s", (int)(key_bytes < 80 ? key_bytes : 80), key);
    const int64_t id = sc_json_int(value, -1);
    if (id < 0) {
        return sc_fail(SC_BAD_MODEL, "'lang_to_id' has no token's id for '%.80s'", key);
    }
    begin->languages[begin->n_languages] = id;
    begin->language_names[begin->n_languages++] = name;
    return name ? SC_OK : SC_NO_MEMORY;
}

/* The model is to say which; until then the first stands in its place. */
static enum sc_status read_languages(const struct reading *r, struct sc_begin *begin, int64_t *first)
{
    int file = 0;
    const struct sc_json *table = find(r, "lang_to_id", &file);
    const size_t n = sc_json_size(table);
    struct languages to = {r, begin};
    if (n == 0 || !sc_json_is_object(table)) {
        return refuse(r, file, "lang_to_id", "an object of languages");
    }
    begin->languages = sc_arena_array(r->arena, n, sizeof *begin->languages);
    begin->language_names = sc_arena_array(r->arena, n, sizeof *begin->language_names);
    SC_TRY(begin->languages && begin->language_names ? SC_OK : SC_NO_MEMORY);
    SC_TRY(sc_json_each(table, add_language, &to));
    *first = begin->languages[0];
    return SC_OK;
}

/* Language and task stand at 1 and 2 in models that know several, and the token that forbids timestamps is last. */
static enum sc_status read_speech(const struct reading *r, const struct sc_begin_wish *wish, struct sc_begin *begin,
    int64_t forced[MOST_FORCED], int *n)
{
    int64_t no_timestamps = -1;
    int file = 0;
    const bool languages = find(r, "lang_to_id", &file) != NULL;
    SC_TRY(read_id(r, "no_timestamps_token_id", &no_timestamps));
    if ((wish->language || wish->task) && !languages) {
        return sc_fail(SC_BAD_USAGE, "option '%s' is given, but the model has no languages and tasks to choose from",
            wish->language ? "--language" : "--task");
    }
    if (languages) {
        for (; *n < 2; ++*n) {
            forced[*n] = -1;
        }
        if (wish->language) {
            SC_TRY(find_word(r, "lang_to_id", wish->language, "--language", &forced[0]));
        } else if (forced[0] < 0) {
            SC_TRY(read_languages(r, begin, &forced[0]));
        }
        if (wish->task || forced[1] < 0) {
            SC_TRY(find_word(r, "task_to_id", wish->task ? wish->task : "transcribe", "--task", &forced[1]));
        }
    }
    const bool there = *n > 0 && no_timestamps >= 0 && forced[*n - 1] == no_timestamps;
    if (wish->timestamps) {
        *n -= there;
    } else if (no_timestamps >= 0 && !there && *n < MOST_FORCED) {
        forced[(*n)++] = no_timestamps;
    }
    return SC_OK;
}

static enum sc_status read_prompt(const struct reading *r, const struct sc_begin_wish *wish, struct sc_begin *begin)
{
    int64_t start = -1, first = -1, forced[MOST_FORCED];
    int n;
    SC_TRY(read_id(r, "decoder_start_token_id", &start));
    if (start < 0) {
        return sc_fail(SC_BAD_MODEL, "neither '%s' nor '%s' says 'decoder_start_token_id', with which a text begins",
            r->paths[GENERATION], r->paths[CONFIG]);
    }
    begin->prompt = sc_arena_array(r->arena, MOST_FORCED, sizeof *begin->prompt);
    if (!begin->prompt) {
        return SC_NO_MEMORY;
    }
    SC_TRY(append(begin, start));
    SC_TRY(read_id(r, "forced_bos_token_id", &first));
    SC_TRY(first >= 0 ? append(begin, first) : SC_OK);
    SC_TRY(read_forced(r, forced, &n));
    SC_TRY(read_speech(r, wish, begin, forced, &n));
    for (int i = 0; i < n; i++) {
        if (forced[i] < 0) {
            return sc_fail(SC_BAD_MODEL, "'forced_decoder_ids' says nothing of position %d, but of a later one", i + 1);
        }
        SC_TRY(append(begin, forced[i]));
    }
    return SC_OK;
}

static enum sc_status read_context(const struct reading *r, int64_t *context)
{
    *context = 0;
    SC_TRY(read_id(r, "max_position_embeddings", context));
    return read_id(r, "max_target_positions", context);
}

static enum sc_status read_all(const struct reading *r, const struct sc_begin_wish *wish, struct sc_begin *begin)
{
    SC_TRY(wish ? read_prompt(r, wish, begin) : SC_OK);
    SC_TRY(read_ids(r, "suppress_tokens", &begin->n_suppress, &begin->suppress));
    SC_TRY(read_ids(r, "begin_suppress_tokens", &begin->n_begin_suppress, &begin->begin_suppress));
    return read_context(r, &begin->context);
}

static enum sc_status open_files(struct reading *r, const char *folder)
{
    SC_TRY(sc_fields_parse(folder, "generation_config.json", r->arena, &r->paths[GENERATION], &r->roots[GENERATION]));
    return sc_fields_parse(folder, "config.json", r->arena, &r->paths[CONFIG], &r->roots[CONFIG]);
}

static void close_files(struct reading *r)
{
    sc_json_free(r->roots[GENERATION]);
    sc_json_free(r->roots[CONFIG]);
}

enum sc_status sc_begin_context(const char *folder, struct sc_arena *arena, int64_t *context)
{
    struct reading r = {.arena = arena};
    enum sc_status status = open_files(&r, folder);
    status = status == SC_OK ? read_context(&r, context) : status;
    close_files(&r);
    return status;
}

enum sc_status sc_begin_read(
    const char *folder, const struct sc_begin_wish *wish, struct sc_arena *arena, struct sc_begin *begin)
{
    struct reading r = {.arena = arena};
    struct sc_begin made = {0};
    enum sc_status status = open_files(&r, folder);
    status = status == SC_OK ? read_all(&r, wish, &made) : status;
    close_files(&r);
    SC_TRY(status);
    *begin = made;
    return SC_OK;
}
