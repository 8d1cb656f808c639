/* SPDX-License-Identifier: Apache-2.0
 * Reads what ONNX Runtime said. */
#include "tests/decoder/reference.h"

#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "launch/npy.h"

static enum sc_status read_prompt(
    const struct sc_json *json, struct sc_arena *arena, struct sc_reference_prompt *prompt)
{
    const struct sc_json *ids = sc_json_get(json, "ids"), *greedy = sc_json_get(json, "greedy"),
                         *top = sc_json_get(json, "top5");
    prompt->n_ids = (int64_t)sc_json_size(ids);
    prompt->n_steps = (int64_t)sc_json_size(greedy);
    prompt->ids = sc_arena_array(arena, (size_t)prompt->n_ids, sizeof *prompt->ids);
    if (!prompt->ids) {
        return SC_NO_MEMORY;
    }
    if (prompt->n_steps < 1 || prompt->n_steps > SC_REFERENCE_STEPS || sc_json_size(top) != (size_t)prompt->n_steps) {
        return sc_fail(SC_BAD_INPUT, "reference.json: a prompt has %lld steps", (long long)prompt->n_steps);
    }
    for (int64_t i = 0; i < prompt->n_ids; i++) {
        prompt->ids[i] = sc_json_int(sc_json_at(ids, (size_t)i), -1);
    }
    for (int64_t s = 0; s < prompt->n_steps; s++) {
        prompt->greedy[s] = sc_json_int(sc_json_at(greedy, (size_t)s), -1);
        for (size_t k = 0; k < SC_REFERENCE_TOP; k++) {
            const struct sc_json *pair = sc_json_at(sc_json_at(top, (size_t)s), k);
            prompt->top[s][k].id = sc_json_int(sc_json_at(pair, 0), -1);
            prompt->top[s][k].logit = sc_json_real(sc_json_at(pair, 1), 1e30);
        }
    }
    return SC_OK;
}

/* Tokens, or the prompt's place among the features. */
static enum sc_status read_source(const struct sc_json *json, const struct sc_tensor *features, struct sc_arena *arena,
    struct sc_reference_prompt *prompt)
{
    const struct sc_json *ids = sc_json_get(json, "source");
    const int64_t at = sc_json_int(sc_json_get(json, "features"), -1), n = (int64_t)sc_json_size(ids);
    int64_t *made = sc_arena_array(arena, (size_t)n + 1, sizeof *made);
    struct sc_tensor *shown = sc_arena_alloc(arena, sizeof *shown);
    if (!made || !shown) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        made[i] = sc_json_int(sc_json_at(ids, (size_t)i), -1);
    }
    prompt->source = (struct sc_source){.ids = n > 0 ? made : NULL, .n = n};
    if (at >= 0 && features->rank == 3 && at < features->dims[0]) {
        sc_tensor_init(shown, SC_F32, 2, features->dims + 1);
        shown->data = (float *)features->data + at * features->dims[1] * features->dims[2];
        prompt->source.features = shown;
    }
    return SC_OK;
}

enum sc_status sc_reference_read(const char *folder, struct sc_arena *arena, struct sc_reference *reference)
{
    char *text;
    size_t bytes;
    struct sc_json *root;
    const char *path = sc_path_join(arena, folder, "reference.json"), *npy = sc_path_join(arena, folder, "logits.npy");
    SC_TRY(sc_file_read_text(path, (size_t)64 << 20, arena, &text, &bytes));
    SC_TRY(sc_npy_read(npy, arena, &reference->logits));
    struct sc_tensor features = {.rank = 0};
    const char *sounds = sc_path_join(arena, folder, "features.npy");
    SC_TRY(access(sounds, F_OK) == 0 ? sc_npy_read(sounds, arena, &features) : SC_OK);
    SC_TRY(sc_json_parse(text, bytes, path, &root));
    reference->n_prompts = (int)sc_json_size(root);
    reference->prompts = sc_arena_array(arena, (size_t)reference->n_prompts, sizeof *reference->prompts);
    enum sc_status status = reference->prompts ? SC_OK : SC_NO_MEMORY;
    for (int p = 0; p < reference->n_prompts && status == SC_OK; p++) {
        status = read_prompt(sc_json_at(root, (size_t)p), arena, &reference->prompts[p]);
        status = status == SC_OK ? read_source(sc_json_at(root, (size_t)p), &features, arena, &reference->prompts[p])
                                 : status;
    }
    sc_json_free(root);
    return status;
}
