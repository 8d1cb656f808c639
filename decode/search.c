/* SPDX-License-Identifier: Apache-2.0
 * genai_config.json: model.context_length and the options of search. */
#include "decode/search.h"

#include <unistd.h>

#include "base/file.h"
#include "base/json_field.h"

#define MAX_BYTES ((size_t)16 << 20)

/* Kinds of search that are not ours: each must be off. */
static enum sc_status refuse_others(const struct sc_fields *search)
{
    static const struct {
        const char *name;
        int64_t off;
        const char *what;
    } others[] = {{"num_beams", 1, "search by beams is not supported"},
        {"num_return_sequences", 1, "one text is written for a prompt"},
        {"no_repeat_ngram_size", 0, "texts without repeated runs are not supported"},
        {"min_length", 0, "a least length is not supported"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        int64_t value = others[i].off;
        SC_TRY(sc_field_int(search, others[i].name, 0, &value));
        if (value > others[i].off) {
            return sc_fail(SC_UNSUPPORTED, "'%s': search.%s is %lld: %s", search->path, others[i].name,
                (long long)value, others[i].what);
        }
    }
    return SC_OK;
}

/* *least becomes the number, where the field has one and it is less. */
static enum sc_status read_fewer(const struct sc_fields *fields, const char *name, int64_t *least)
{
    int64_t n = 0;
    SC_TRY(sc_field_int(fields, name, 0, &n));
    *least = n > 0 && (*least == 0 || n < *least) ? n : *least;
    return SC_OK;
}

static enum sc_status read_search(const char *path, const struct sc_json *root, struct sc_search *to)
{
    struct sc_fields model, search;
    bool draws = false;
    SC_TRY(sc_fields_open(path, root, "model", &model));
    SC_TRY(sc_fields_open(path, root, "search", &search));
    SC_TRY(read_fewer(&model, "context_length", &to->context));
    SC_TRY(read_fewer(&search, "max_length", &to->context));
    to->found = search.object != NULL;
    SC_TRY(refuse_others(&search));
    to->sample = (struct sc_sample_options){.temperature = 1, .top_k = 50, .top_p = 1, .penalty = 1};
    SC_TRY(sc_field_bool(&search, "do_sample", &draws));
    SC_TRY(sc_field_real(&search, "temperature", &to->sample.temperature));
    SC_TRY(sc_field_int(&search, "top_k", 0, &to->sample.top_k));
    SC_TRY(sc_field_real(&search, "top_p", &to->sample.top_p));
    SC_TRY(sc_field_real(&search, "repetition_penalty", &to->sample.penalty));
    const enum sc_status status = sc_sample_check(&to->sample);
    to->sample.temperature = draws ? to->sample.temperature : 0;
    return status == SC_OK ? SC_OK : sc_fail(SC_BAD_MODEL, "'%s': search: %.200s", path, sc_error_last()->text);
}

enum sc_status sc_search_read(const char *folder, struct sc_arena *arena, struct sc_search *search)
{
    *search = (struct sc_search){.sample = {.top_p = 1, .penalty = 1}};
    const char *path = sc_path_join(arena, folder, "genai_config.json");
    if (!path || access(path, F_OK) != 0) {
        return path ? SC_OK : SC_NO_MEMORY;
    }
    char *text;
    size_t bytes;
    struct sc_json *root;
    SC_TRY(sc_file_read_text(path, MAX_BYTES, arena, &text, &bytes));
    SC_TRY(sc_json_parse(text, bytes, path, &root));
    const enum sc_status status = read_search(path, root, search);
    sc_json_free(root);
    return status;
}
