/* SPDX-License-Identifier: Apache-2.0
 * plan.json as text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "partitioner/plan.h"
#include "partitioner/plan_names.h"

/* Six digits are plenty for a prediction, and shorter to read. */
static double rounded(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", isfinite(x) ? x : 0);
    return strtod(text, NULL);
}

/* Nodes from `first` to `last` as one entry where it is read back so; returns the last node written. */
static enum sc_status add_run(struct sc_json *list, struct sc_plan_names *names, int first, int last, int *written)
{
    *written = first;
    if (last - first >= 2) {
        char *run = sc_arena_printf(&names->arena, "%s..%s", names->name[first], names->name[last]);
        int from = -1, to = -1;
        if (!run) {
            return SC_NO_MEMORY;
        }
        if (sc_plan_names_find(names, run, strlen(run), &from, &to) && from == first && to == last) {
            *written = last;
            return sc_json_add_text(list, NULL, run);
        }
    }
    return sc_json_add_text(list, NULL, names->name[first]);
}

/* from[i]: nodes of a stage in file order are linked by next_of; this keeps writing linear in the nodes. */
static enum sc_status add_nodes(
    struct sc_json *list, struct sc_plan_names *names, const int *stage_of, const int *next_of, int first)
{
    for (int i = first; i >= 0;) {
        int last = i, written = i;
        while (last + 1 < names->n && stage_of[last + 1] == stage_of[i]) {
            last++;
        }
        SC_TRY(add_run(list, names, i, last, &written));
        i = next_of[written];
    }
    return SC_OK;
}

static enum sc_status add_stage(
    struct sc_json *stages, const struct sc_plan_stage *stage, struct sc_json **object, struct sc_json **nodes)
{
    struct sc_json *ranks = NULL;
    SC_TRY(sc_json_add(stages, NULL, false, object));
    SC_TRY(sc_json_add(*object, "ranks", true, &ranks));
    for (int r = 0; r < stage->n_ranks; r++) {
        SC_TRY(sc_json_add_int(ranks, NULL, stage->ranks[r]));
    }
    SC_TRY(sc_json_add_real(*object, "ms", rounded(stage->seconds * 1e3)));
    if (stage->chunk_seconds > 0) {
        SC_TRY(sc_json_add_real(*object, "chunk_ms", rounded(stage->chunk_seconds * 1e3)));
    }
    SC_TRY(sc_json_add_int(*object, "weight_bytes", stage->weight_bytes));
    SC_TRY(sc_json_add_int(*object, "packed_bytes", stage->packed_bytes));
    SC_TRY(sc_json_add_int(*object, "activation_bytes", stage->activation_bytes));
    SC_TRY(sc_json_add_int(*object, "state_bytes", stage->state_bytes));
    return sc_json_add(*object, "nodes", true, nodes);
}

static enum sc_status add_stages(const struct sc_plan *plan, struct sc_plan_names *names, struct sc_json *root)
{
    struct sc_json *stages = NULL, *object = NULL, *nodes = NULL;
    int *first = sc_arena_array(&names->arena, (size_t)plan->n_stages + 1, sizeof *first);
    int *next_of = sc_arena_array(&names->arena, (size_t)names->n, sizeof *next_of);
    if (!first || !next_of) {
        return SC_NO_MEMORY;
    }
    for (int k = 0; k <= plan->n_stages; k++) {
        first[k] = -1;
    }
    for (int i = names->n - 1; i >= 0; i--) {
        if (names->name[i]) {
            next_of[i] = first[plan->stage_of[i] + 1];
            first[plan->stage_of[i] + 1] = i;
        }
    }
    SC_TRY(sc_json_add(root, "stages", true, &stages));
    for (int k = 0; k < plan->n_stages; k++) {
        SC_TRY(add_stage(stages, &plan->stages[k], &object, &nodes));
        SC_TRY(add_nodes(nodes, names, plan->stage_of, next_of, first[k + 1]));
    }
    if (first[0] >= 0) {
        SC_TRY(sc_json_add(root, "removed", true, &nodes));
        SC_TRY(add_nodes(nodes, names, plan->stage_of, next_of, first[0]));
    }
    return SC_OK;
}

static enum sc_status add_plan(const struct sc_plan *plan, struct sc_plan_names *names, struct sc_json *root)
{
    char hex[20];
    snprintf(hex, sizeof hex, "%016" PRIx64, plan->fingerprint);
    SC_TRY(sc_json_add_int(root, "format", 1));
    if (plan->fingerprint) {
        SC_TRY(sc_json_add_text(root, "model", hex));
    }
    SC_TRY(sc_json_add_text(root, "objective", plan->latency ? "latency" : "throughput"));
    if (plan->aim != SC_PLAN_FOR_BOTH) {
        SC_TRY(sc_json_add_text(root, "for", sc_plan_aim_name(plan->aim)));
    }
    SC_TRY(sc_json_add_real(root, "bound_ms", rounded(plan->bound_seconds * 1e3)));
    if (plan->note) {
        SC_TRY(sc_json_add_text(root, "note", plan->note));
    }
    return add_stages(plan, names, root);
}

enum sc_status sc_plan_write(const struct sc_plan *plan, const struct sc_model *model, char **text)
{
    struct sc_plan_names names = {0};
    struct sc_json *root = NULL;
    if (plan->n_nodes != model->n_units) {
        return sc_fail(SC_INTERNAL, "the plan has %d nodes, the model %d", plan->n_nodes, model->n_units);
    }
    SC_TRY(sc_plan_names_init(model, &names));
    enum sc_status status = sc_json_new(false, &root);
    if (status == SC_OK) {
        status = add_plan(plan, &names, root);
    }
    char *printed = status == SC_OK ? sc_json_print(root) : NULL;
    if (printed) {
        *text = printed;
    } else if (status == SC_OK) {
        status = sc_fail(SC_NO_MEMORY, "out of memory for the text of the plan");
    }
    sc_json_free(root);
    sc_plan_names_release(&names);
    return status;
}
