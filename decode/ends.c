/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/ends.h"

#include <string.h>

#include "base/json_field.h"

struct reading {
    struct sc_arena *arena;
    int n;
    int64_t *ids;
};

/* Some files say -1 for none. */
static enum sc_status read_ids(const struct sc_fields *fields, struct reading *r)
{
    static const char name[] = "eos_token_id";
    const struct sc_json *list = sc_json_get(fields->object, name);
    int64_t one = -1;
    if (!sc_json_is_array(list)) {
        SC_TRY(sc_field_int(fields, name, -1, &one));
    }
    const size_t n = sc_json_is_array(list) ? sc_json_size(list) : 1;
    r->ids = sc_arena_array(r->arena, n, sizeof *r->ids);
    if (!r->ids) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const struct sc_json *item = sc_json_at(list, i);
        const int64_t id = item ? sc_json_int(item, -2) : one;
        if (id < -1) {
            return sc_fail(SC_BAD_MODEL, "'%s': field '%s' has %s among its ids, want whole numbers", fields->path,
                name, sc_json_is_int(item) ? "a negative number" : sc_json_kind(item));
        }
        r->ids[r->n] = id;
        r->n += id >= 0;
    }
    return SC_OK;
}

static enum sc_status read_file(const char *folder, const char *name, const char *group, struct reading *r)
{
    const char *path;
    struct sc_json *root;
    struct sc_fields fields;
    SC_TRY(sc_fields_parse(folder, name, r->arena, &path, &root));
    if (!root) {
        return SC_OK; /* not every model has one */
    }
    enum sc_status status = sc_fields_open(path, root, group, &fields);
    status = status == SC_OK ? read_ids(&fields, r) : status;
    sc_json_free(root);
    return status;
}

enum sc_status sc_ends_read(
    const char *folder, const struct sc_tokenizer *tokenizer, struct sc_arena *arena, int *n, int64_t **ids)
{
    static const char *const files[] = {"genai_config.json", "generation_config.json", "config.json"};
    static const char *const tokens[] = {"<|endoftext|>", "</s>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>"};
    struct reading r = {.arena = arena};
    for (size_t f = 0; f < sizeof files / sizeof files[0] && r.n == 0; f++) {
        SC_TRY(read_file(folder, files[f], f == 0 ? "model" : NULL, &r));
    }
    for (size_t t = 0; t < sizeof tokens / sizeof tokens[0] && r.n == 0; t++) {
        r.ids = sc_arena_array(arena, 1, sizeof *r.ids);
        if (!r.ids) {
            return SC_NO_MEMORY;
        }
        r.ids[0] = sc_tokenizer_find(tokenizer, tokens[t], strlen(tokens[t]));
        r.n = r.ids[0] >= 0;
    }
    *n = r.n;
    *ids = r.ids;
    return SC_OK;
}
