/* SPDX-License-Identifier: Apache-2.0
 * The multi-device annotations of a model file (IR 11) as a plan. */
#include <stdlib.h>

#include "partitioner/plan.h"

static enum sc_status fail_stage(const struct sc_model *model, int stage, const char *why)
{
    return sc_fail(SC_BAD_INPUT, "'%s': pipeline_stage %d of its nodes %s", model->path, stage, why);
}

static enum sc_status count_stages(const struct sc_model *model, struct sc_plan *plan)
{
    for (int i = 0; i < model->n_file_nodes; i++) {
        const int stage = model->file_node_stages[i];
        if (stage >= model->n_file_nodes) {
            return fail_stage(model, stage, "is larger than there are nodes");
        }
        plan->n_stages = stage >= plan->n_stages ? stage + 1 : plan->n_stages;
    }
    return SC_OK;
}

static enum sc_status fill(const struct sc_model *model, int n_ranks, struct sc_plan *plan)
{
    SC_TRY(count_stages(model, plan));
    const int n = plan->n_stages;
    plan->n_nodes = model->n_units;
    plan->stages = sc_arena_array(&plan->arena, (size_t)n, sizeof *plan->stages);
    plan->stage_of = sc_arena_array(&plan->arena, (size_t)plan->n_nodes, sizeof *plan->stage_of);
    int *ranks = sc_arena_array(&plan->arena, (size_t)n, sizeof *ranks);
    if (!plan->stages || !plan->stage_of || !ranks) {
        return SC_NO_MEMORY;
    }
    plan->fingerprint = model->fingerprint;
    for (int i = 0; i < plan->n_nodes; i++) {
        const int node = model->unit_file_nodes[i]; /* one that became several gives them its stage */
        const int stage = node < 0 || !model->unit_names[i] ? -1 : model->file_node_stages[node];
        plan->stage_of[i] = stage;
        if (stage >= 0) {
            plan->stages[stage].n_nodes++;
        }
    }
    for (int s = 0; s < n; s++) {
        ranks[s] = n <= n_ranks ? s : (int)((int64_t)s * n_ranks / n);
        plan->stages[s].ranks = &ranks[s];
        plan->stages[s].n_ranks = 1;
        if (plan->stages[s].n_nodes == 0) {
            return fail_stage(model, s, "is none of any node, but larger ones are");
        }
    }
    return sc_plan_order(plan, model->graph, model->path);
}

enum sc_status sc_plan_annotated(const struct sc_model *model, int n_ranks, struct sc_plan **plan)
{
    struct sc_plan *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a plan");
    }
    const enum sc_status status = fill(model, n_ranks, made);
    if (status != SC_OK) {
        sc_plan_free(made);
        return status;
    }
    *plan = made;
    return SC_OK;
}
