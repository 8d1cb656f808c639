/* SPDX-License-Identifier: Apache-2.0
 * Reading plan.json: every entry is looked up among the file's nodes, every node must be met once, and what the file
 * says beyond that is checked line by line, since people edit it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "partitioner/plan.h"
#include "partitioner/plan_names.h"

enum { MAX_PLAN_BYTES = 256 << 20, UNNAMED = -2, REMOVED = -1 };

struct reading {
    const char *path;
    const struct sc_model *model;
    struct sc_plan_names names;
    struct sc_plan *plan;
    int stage; /* being read; REMOVED for that list */
};

static enum sc_status bad(const struct reading *r, const char *what)
{
    return r->stage >= 0 ? sc_fail(SC_BAD_INPUT, "%s: stage %d: %s", r->path, r->stage, what)
                         : sc_fail(SC_BAD_INPUT, "%s: %s", r->path, what);
}

static enum sc_status check_key(const struct reading *r, const char *key, const char *const *known)
{
    for (int i = 0; known[i]; i++) {
        if (!strcmp(key, known[i])) {
            return SC_OK;
        }
    }
    return r->stage >= 0 ? sc_fail(SC_BAD_INPUT, "%s: stage %d: unknown key '%.80s'", r->path, r->stage, key)
                         : sc_fail(SC_BAD_INPUT, "%s: unknown key '%.80s'", r->path, key);
}

static enum sc_status check_root_key(void *arg, const char *key, size_t key_bytes, const struct sc_json *value)
{
    static const char *const known[] = {
        "format", "model", "objective", "for", "bound_ms", "note", "stages", "removed", NULL};
    (void)key_bytes;
    (void)value;
    return check_key(arg, key, known);
}

static enum sc_status check_stage_key(void *arg, const char *key, size_t key_bytes, const struct sc_json *value)
{
    static const char *const known[] = {
        "ranks", "ms", "chunk_ms", "weight_bytes", "packed_bytes", "activation_bytes", "state_bytes", "nodes", NULL};
    (void)key_bytes;
    (void)value;
    return check_key(arg, key, known);
}

/* A time in milliseconds; 0 when it is not there. */
static enum sc_status read_ms(const struct reading *r, const struct sc_json *object, const char *key, double *seconds)
{
    const struct sc_json *node = sc_json_get(object, key);
    const double ms = node ? sc_json_real(node, -1) : 0;
    if (!(isfinite(ms) && ms >= 0)) {
        return r->stage >= 0 ? sc_fail(SC_BAD_INPUT, "%s: stage %d: '%s' is not a time", r->path, r->stage, key)
                             : sc_fail(SC_BAD_INPUT, "%s: '%s' is not a time", r->path, key);
    }
    *seconds = ms / 1e3;
    return SC_OK;
}

static enum sc_status read_bytes(const struct reading *r, const struct sc_json *object, const char *key, int64_t *bytes)
{
    const struct sc_json *node = sc_json_get(object, key);
    *bytes = node ? sc_json_int(node, -1) : 0;
    if (*bytes < 0) {
        return sc_fail(SC_BAD_INPUT, "%s: stage %d: '%s' is not a number of bytes", r->path, r->stage, key);
    }
    return SC_OK;
}

static enum sc_status read_ranks(struct reading *r, const struct sc_json *object, struct sc_plan_stage *stage)
{
    const struct sc_json *ranks = sc_json_get(object, "ranks");
    stage->n_ranks = 1;
    stage->ranks = sc_arena_array(&r->plan->arena, 1, sizeof *stage->ranks);
    if (!stage->ranks) {
        return SC_NO_MEMORY;
    }
    stage->ranks[0] = r->stage;
    if (!ranks) {
        return SC_OK;
    }
    if (!sc_json_is_array(ranks) || sc_json_size(ranks) < 1) {
        return bad(r, "'ranks' is not a list of a rank");
    }
    if (sc_json_size(ranks) > 1) {
        return sc_fail(SC_UNSUPPORTED, "%s: stage %d: %zu ranks, want 1: a stage cannot be replicated yet", r->path,
            r->stage, sc_json_size(ranks));
    }
    const struct sc_json *rank = sc_json_at(ranks, 0);
    const int64_t value = sc_json_int(rank, INT64_MIN);
    if (!sc_json_is_int(rank) || value < 0 || value > INT32_MAX) {
        return value == INT64_MIN
            ? bad(r, "the rank is not a whole number")
            : sc_fail(SC_BAD_INPUT, "%s: stage %d: rank %" PRId64 ", want 0 or more", r->path, r->stage, value);
    }
    stage->ranks[0] = (int)value;
    return SC_OK;
}

static enum sc_status place_node(struct reading *r, int node)
{
    const char *name = r->names.name[node];
    const int before = r->plan->stage_of[node];
    if (before == UNNAMED) {
        r->plan->stage_of[node] = r->stage;
        return SC_OK;
    }
    if (r->stage < 0) {
        return before < 0 ? sc_fail(SC_BAD_INPUT, "%s: removed: '%.200s' stands there twice", r->path, name)
                          : sc_fail(SC_BAD_INPUT, "%s: removed: '%.200s' is in stage %d too", r->path, name, before);
    }
    return before == r->stage
        ? sc_fail(SC_BAD_INPUT, "%s: stage %d: '%.200s' stands there twice", r->path, r->stage, name)
        : sc_fail(SC_BAD_INPUT, "%s: stage %d: '%.200s' is in stage %d too", r->path, r->stage, name, before);
}

static enum sc_status read_nodes(struct reading *r, const struct sc_json *list, int *n_nodes)
{
    char where[32] = "removed";
    if (r->stage >= 0) {
        snprintf(where, sizeof where, "stage %d", r->stage);
    }
    if (!sc_json_is_array(list)) {
        return sc_fail(SC_BAD_INPUT, "%s: %s: the nodes are not a list of names", r->path, where);
    }
    *n_nodes = 0;
    const size_t n = sc_json_size(list);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = 0;
        int first = -1, last = -1;
        const char *entry = sc_json_text(sc_json_at(list, i), &bytes);
        if (!entry) {
            return sc_fail(SC_BAD_INPUT, "%s: %s: entry %zu of the nodes is not a name", r->path, where, i);
        }
        if (!sc_plan_names_find(&r->names, entry, bytes, &first, &last)) {
            return sc_fail(
                SC_BAD_INPUT, "%s: %s: '%.200s' is not the first output of a node of the model", r->path, where, entry);
        }
        for (int node = first; node <= last; node++) {
            SC_TRY(place_node(r, node));
        }
        *n_nodes += last - first + 1;
    }
    return SC_OK;
}

static enum sc_status read_stage(struct reading *r, const struct sc_json *object, struct sc_plan_stage *stage)
{
    if (!sc_json_is_object(object)) {
        return bad(r, "not an object with 'nodes'");
    }
    SC_TRY(sc_json_each(object, check_stage_key, r));
    SC_TRY(read_ranks(r, object, stage));
    SC_TRY(read_ms(r, object, "ms", &stage->seconds));
    SC_TRY(read_ms(r, object, "chunk_ms", &stage->chunk_seconds));
    SC_TRY(read_bytes(r, object, "weight_bytes", &stage->weight_bytes));
    SC_TRY(read_bytes(r, object, "packed_bytes", &stage->packed_bytes));
    SC_TRY(read_bytes(r, object, "activation_bytes", &stage->activation_bytes));
    SC_TRY(read_bytes(r, object, "state_bytes", &stage->state_bytes));
    SC_TRY(read_nodes(r, sc_json_get(object, "nodes"), &stage->n_nodes));
    if (!stage->n_nodes && r->plan->n_nodes > 0) {
        return bad(r, "it has no nodes");
    }
    return SC_OK;
}

static enum sc_status read_fingerprint(struct reading *r, const struct sc_json *root)
{
    const struct sc_json *node = sc_json_get(root, "model");
    if (!node) {
        return SC_OK;
    }
    size_t bytes = 0;
    const char *text = sc_json_text(node, &bytes);
    if (!text || bytes != 16 || strspn(text, "0123456789abcdefABCDEF") != 16) {
        return bad(r, "'model' is not a fingerprint of 16 hexadecimal digits");
    }
    r->plan->fingerprint = strtoull(text, NULL, 16);
    if (r->plan->fingerprint && r->plan->fingerprint != r->model->fingerprint) {
        return sc_fail(SC_BAD_INPUT,
            "%s: it was made for another model: fingerprint %s, this model has %016" PRIx64
            " (without \"model\" it is tried all the same)",
            r->path, text, r->model->fingerprint);
    }
    return SC_OK;
}

static enum sc_status read_aim(struct reading *r, const struct sc_json *root)
{
    const struct sc_json *aim = sc_json_get(root, "for");
    const char *text = aim ? sc_json_text(aim, NULL) : sc_plan_aim_name(SC_PLAN_FOR_BOTH);
    for (int a = SC_PLAN_FOR_BOTH; text && a <= SC_PLAN_FOR_PROMPTS; a++) {
        if (strcmp(text, sc_plan_aim_name((enum sc_plan_aim)a)) == 0) {
            r->plan->aim = (enum sc_plan_aim)a;
            return SC_OK;
        }
    }
    return bad(r, "'for' is none of \"both\", \"steps\" and \"prompts\"");
}

static enum sc_status read_head(struct reading *r, const struct sc_json *root)
{
    if (!sc_json_is_object(root)) {
        return bad(r, "not a plan: want an object with 'format' and 'stages'");
    }
    SC_TRY(sc_json_each(root, check_root_key, r));
    const struct sc_json *format = sc_json_get(root, "format");
    if (sc_json_int(format, 0) != 1) {
        return bad(
            r, format ? "'format' is one that this version does not know, want 1" : "'format' is missing, want 1");
    }
    SC_TRY(read_fingerprint(r, root));
    const struct sc_json *objective = sc_json_get(root, "objective");
    const char *text = objective ? sc_json_text(objective, NULL) : "throughput";
    if (!text || (strcmp(text, "throughput") && strcmp(text, "latency"))) {
        return bad(r, "'objective' is neither \"throughput\" nor \"latency\"");
    }
    r->plan->latency = !strcmp(text, "latency");
    SC_TRY(read_aim(r, root));
    SC_TRY(read_ms(r, root, "bound_ms", &r->plan->bound_seconds));
    size_t note_bytes = 0;
    const char *note = sc_json_text(sc_json_get(root, "note"), &note_bytes);
    if (note && !(r->plan->note = sc_arena_text(&r->plan->arena, note, note_bytes))) {
        return SC_NO_MEMORY;
    }
    return SC_OK;
}

static enum sc_status check_complete(struct reading *r)
{
    int n_missing = 0, first = 0;
    for (int i = r->plan->n_nodes - 1; i >= 0; i--) {
        if (r->plan->stage_of[i] == UNNAMED && !r->names.name[i]) {
            r->plan->stage_of[i] = REMOVED;
        } else if (r->plan->stage_of[i] == UNNAMED) {
            first = i;
            n_missing++;
        }
    }
    if (n_missing > 1) {
        return sc_fail(SC_BAD_INPUT, "%s: node '%.200s' and %d more are in no stage", r->path, r->names.name[first],
            n_missing - 1);
    }
    return n_missing ? sc_fail(SC_BAD_INPUT, "%s: node '%.200s' is in no stage", r->path, r->names.name[first]) : SC_OK;
}

static enum sc_status read_plan(struct reading *r, const struct sc_json *root)
{
    struct sc_plan *plan = r->plan;
    SC_TRY(read_head(r, root));
    const struct sc_json *stages = sc_json_get(root, "stages");
    const size_t n = sc_json_size(stages);
    if (!sc_json_is_array(stages) || n < 1) {
        return bad(r, "'stages' is not a list of stages");
    }
    plan->n_nodes = r->model->n_units;
    if (n > (size_t)plan->n_nodes && n > 1) {
        return sc_fail(SC_BAD_INPUT, "%s: %zu stages for %d nodes", r->path, n, plan->n_nodes);
    }
    plan->n_stages = (int)n;
    plan->stages = sc_arena_array(&plan->arena, n, sizeof *plan->stages);
    plan->stage_of = sc_arena_array(&plan->arena, (size_t)plan->n_nodes, sizeof *plan->stage_of);
    if (!plan->stages || !plan->stage_of) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < plan->n_nodes; i++) {
        plan->stage_of[i] = UNNAMED;
    }
    for (r->stage = 0; r->stage < plan->n_stages; r->stage++) {
        SC_TRY(read_stage(r, sc_json_at(stages, (size_t)r->stage), &plan->stages[r->stage]));
    }
    r->stage = REMOVED;
    const struct sc_json *removed = sc_json_get(root, "removed");
    int n_removed = 0;
    if (removed) {
        SC_TRY(read_nodes(r, removed, &n_removed));
    }
    SC_TRY(check_complete(r));
    return sc_plan_order(plan, r->model->graph, r->path);
}

static enum sc_status read_file(struct reading *r)
{
    struct sc_arena scratch = {0};
    struct sc_json *root = NULL;
    char *text = NULL;
    size_t bytes = 0;
    enum sc_status status = sc_file_read_text(r->path, MAX_PLAN_BYTES, &scratch, &text, &bytes);
    if (status == SC_OK) {
        status = sc_json_parse(text, bytes, r->path, &root);
    }
    if (status == SC_OK) {
        status = read_plan(r, root);
    }
    sc_json_free(root);
    sc_arena_release(&scratch);
    return status;
}

enum sc_status sc_plan_read(const char *path, const struct sc_model *model, struct sc_plan **plan)
{
    struct reading r = {.path = path, .model = model, .stage = REMOVED};
    SC_TRY(sc_plan_names_init(model, &r.names));
    r.plan = calloc(1, sizeof *r.plan);
    const enum sc_status status = r.plan ? read_file(&r) : sc_fail(SC_NO_MEMORY, "out of memory for a plan");
    sc_plan_names_release(&r.names);
    if (status != SC_OK) {
        sc_plan_free(r.plan);
        return status;
    }
    *plan = r.plan;
    return SC_OK;
}
