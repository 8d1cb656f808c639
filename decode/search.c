/* SPDX-License-Identifier: Apache-2.0
 * genai_config.json: model.context_length and the options of search. */
#include "decode/search.h"

#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#define MAX_BYTES ((size_t)16 << 20)

/* Kinds of search that are not ours: each must be off. */
static enum sc_status refuse_others(const char *path, const struct sc_json *search)
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
        const int64_t value = sc_json_int(sc_json_get(search, others[i].name), others[i].off);
        if (value > others[i].off) {
            return sc_fail(
                SC_UNSUPPORTED, "'%s': search.%s is %lld: %s", path, others[i].name, (long long)value, others[i].what);
        }
    }
    return SC_OK;
}

static void fewer(int64_t *least, int64_t n)
{
    *least = n > 0 && (*least == 0 || n < *least) ? n : *least;
}

static enum sc_status read_search(const char *path, const struct sc_json *root, struct sc_search *to)
{
    const struct sc_json *search = sc_json_get(root, "search");
    fewer(&to->context, sc_json_int(sc_json_get(sc_json_get(root, "model"), "context_length"), 0));
    fewer(&to->context, sc_json_int(sc_json_get(search, "max_length"), 0));
    to->found = sc_json_is_object(search);
    SC_TRY(refuse_others(path, search));
    const bool draws = sc_json_bool(sc_json_get(search, "do_sample"), false);
    to->sample.temperature = draws ? sc_json_real(sc_json_get(search, "temperature"), 1.0) : 0.0;
    to->sample.top_k = sc_json_int(sc_json_get(search, "top_k"), 50);
    to->sample.top_p = sc_json_real(sc_json_get(search, "top_p"), 1.0);
    to->sample.penalty = sc_json_real(sc_json_get(search, "repetition_penalty"), 1.0);
    const enum sc_status status = sc_sample_check(&to->sample);
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
