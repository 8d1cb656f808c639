/* SPDX-License-Identifier: Apache-2.0
 * From a model to a plan: costs, a cut of as many stages as are worth it, stages to ranks. */
#include "partitioner/partition.h"

#include <stdlib.h>

/* A stage more has to make the slowest one faster by this part, or it is not worth a rank. */
static const double worth = 0.03;

struct sc_partition_options sc_partition_options_default(int n_ranks)
{
    return (struct sc_partition_options){.n_ranks = n_ranks, .costs = {.rates = sc_rates_default()}};
}

struct partition {
    const struct sc_partition_options *options;
    const struct sc_graph *graph;
    const struct sc_fact *facts;
    struct sc_arena *arena;
    struct sc_cut_problem problem;
    int *node_of; /* per problem node */
    int *stage_of, *trial; /* per problem node */
    int64_t *limits; /* per stage */
    struct sc_plan *plan;
};

/* Stage k runs on rank k. Which of more stages than ranks share one is not known yet: then the least memory counts,
 * shared out. */
static void set_limits(struct partition *p, int n)
{
    const int n_ranks = p->options->n_ranks, per_rank = (n + n_ranks - 1) / n_ranks;
    const int64_t *memory = p->options->memory;
    int64_t least = 0;
    for (int r = 0; memory && r < n_ranks; r++) {
        least = memory[r] > 0 && (least == 0 || memory[r] < least) ? memory[r] : least;
    }
    least = least > 0 && least < per_rank ? 1 : least / per_rank; /* 0 would be no limit */
    for (int k = 0; k < n; k++) {
        p->limits[k] = n <= n_ranks && memory ? memory[k] : least;
    }
}

/* A cut into at most n stages (exact: exactly). */
static enum sc_status cut(struct partition *p, int n, int *stage_of, struct sc_cut_result *result)
{
    set_limits(p, n);
    p->problem.n_stages = n;
    p->problem.memory_limit = p->options->memory ? p->limits : NULL;
    p->problem.latency = p->options->latency;
    p->problem.exact_stages = p->options->exact;
    p->problem.fewer = p->options->fewer;
    result->stage_of = stage_of;
    return p->options->random ? sc_cut_random(&p->problem, p->options->seed, result)
                              : sc_cut_solve(&p->problem, result);
}

/* The fewest stages whose slowest is nearly as fast as with all: by halving, since more stages are never slower. */
static enum sc_status spare_stages(struct partition *p, struct sc_cut_result *best)
{
    const double enough = best->slowest_seconds / (1 - worth);
    int low = 1, high = best->n_stages;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        struct sc_cut_result result = {0};
        const enum sc_status status = cut(p, middle, p->trial, &result);
        if (status != SC_OK && status != SC_LIMIT) {
            return status;
        }
        if (status == SC_OK && result.slowest_seconds <= enough) {
            int *other = p->stage_of;
            p->stage_of = p->trial;
            p->trial = other;
            *best = result;
            high = result.n_stages < middle ? result.n_stages : middle;
        } else {
            low = middle + 1;
        }
    }
    return SC_OK;
}

static enum sc_status choose(struct partition *p, struct sc_cut_result *result)
{
    const struct sc_partition_options *options = p->options;
    const int n = options->n_stages > 0 ? options->n_stages : options->n_ranks;
    p->stage_of = sc_arena_array(p->arena, (size_t)p->problem.n_nodes, sizeof *p->stage_of);
    p->trial = sc_arena_array(p->arena, (size_t)p->problem.n_nodes, sizeof *p->trial);
    p->limits = sc_arena_array(p->arena, (size_t)n, sizeof *p->limits);
    if (!p->stage_of || !p->trial || !p->limits) {
        return SC_NO_MEMORY;
    }
    SC_TRY(cut(p, n, p->stage_of, result));
    if (options->exact || options->random) {
        return SC_OK;
    }
    if (!options->latency) {
        SC_TRY(spare_stages(p, result));
    }
    if (result->n_stages == n) {
        return SC_OK;
    }
    const char *stages = result->n_stages == 1 ? "stage" : "stages";
    p->plan->note = options->latency
        ? sc_arena_printf(
              &p->plan->arena, "%d %s instead of %d: more would take longer in all", result->n_stages, stages, n)
        : sc_arena_printf(&p->plan->arena, "%d %s instead of %d: more would make the slowest less than %.0f %% faster",
              result->n_stages, stages, n, 100 * worth);
    return p->plan->note ? SC_OK : SC_NO_MEMORY;
}

static enum sc_status make_stages(struct sc_plan *plan, int n_stages)
{
    plan->n_stages = n_stages;
    plan->stages = sc_arena_array(&plan->arena, (size_t)n_stages, sizeof *plan->stages);
    int *ranks = sc_arena_array(&plan->arena, (size_t)n_stages, sizeof *ranks);
    if (!plan->stages || !ranks) {
        return SC_NO_MEMORY;
    }
    for (int k = 0; k < n_stages; k++) {
        ranks[k] = k;
        plan->stages[k].n_ranks = 1;
        plan->stages[k].ranks = ranks + k;
    }
    return SC_OK;
}

/* Every file node that a live node stands for is where that one is; its last one decides (sc_plan_stage_of). */
static void place_nodes(struct partition *p)
{
    struct sc_plan *plan = p->plan;
    for (int i = 0; i < plan->n_nodes; i++) {
        plan->stage_of[i] = -1;
    }
    for (int last = 0; last < 2; last++) {
        for (int i = 0; i < p->problem.n_nodes; i++) {
            const struct sc_node *node = &p->graph->nodes[p->node_of[i]];
            for (int o = last ? node->n_origins - 1 : 0; o >= 0 && o < node->n_origins; o++) {
                if (node->origins[o] >= 0 && node->origins[o] < plan->n_nodes) {
                    plan->stage_of[node->origins[o]] = p->stage_of[i];
                }
            }
        }
    }
    for (int i = 0; i < plan->n_nodes; i++) {
        if (plan->stage_of[i] >= 0) {
            plan->stages[plan->stage_of[i]].n_nodes++;
        }
    }
}

/* More stages than ranks: a chain of stages cut into runs. */
static enum sc_status place_stages(struct partition *p)
{
    struct sc_plan *plan = p->plan;
    const int n = plan->n_stages;
    if (n <= p->options->n_ranks) {
        return SC_OK;
    }
    struct sc_cut_node *nodes = sc_arena_array(p->arena, (size_t)n, sizeof *nodes);
    struct sc_cut_edge *edges = sc_arena_array(p->arena, (size_t)n, sizeof *edges);
    int64_t *limits = sc_arena_array(p->arena, (size_t)p->options->n_ranks, sizeof *limits);
    struct sc_cut_result result = {.stage_of = sc_arena_array(p->arena, (size_t)n, sizeof(int))};
    if (!nodes || !edges || !limits || !result.stage_of) {
        return SC_NO_MEMORY;
    }
    for (int k = 0; k < n; k++) {
        const struct sc_plan_stage *stage = &plan->stages[k];
        nodes[k] = (struct sc_cut_node){sc_plan_load(plan, stage), stage->weight_bytes + stage->state_bytes, 0, -1};
        edges[k] = (struct sc_cut_edge){k, k + 1};
    }
    for (int r = 0; r < p->options->n_ranks; r++) {
        limits[r] = p->options->memory ? p->options->memory[r] : 0;
    }
    const struct sc_cut_problem problem = {.n_nodes = n,
        .n_edges = n - 1,
        .nodes = nodes,
        .edges = edges,
        .n_stages = p->options->n_ranks,
        .memory_limit = limits,
        .exact_stages = true};
    SC_TRY(sc_cut_solve(&problem, &result));
    for (int k = 0; k < n; k++) {
        plan->stages[k].ranks[0] = result.stage_of[k];
    }
    return SC_OK;
}

static enum sc_status partition(struct partition *p)
{
    const struct sc_partition_options *options = p->options;
    struct sc_plan *plan = p->plan;
    struct sc_cut_result result = {0};
    SC_TRY(sc_cost_problem(p->graph, p->facts, &options->costs, p->arena, &p->problem, &p->node_of));
    plan->stage_of = sc_arena_array(&plan->arena, (size_t)plan->n_nodes, sizeof *plan->stage_of);
    if (!plan->stage_of) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < p->problem.n_nodes; i++) {
        const struct sc_node *node = &p->graph->nodes[p->node_of[i]];
        char name[192];
        if (node->n_origins < 1) {
            return sc_fail(
                SC_INTERNAL, "%s stands for no node of the file", sc_node_text_name(p->graph, node, name, sizeof name));
        }
    }
    result.n_stages = 1;
    if (p->problem.n_nodes > 0) {
        SC_TRY(choose(p, &result));
    }
    SC_TRY(make_stages(plan, result.n_stages));
    plan->latency = options->latency;
    plan->aim = options->costs.chunk_facts ? options->costs.aim : SC_PLAN_FOR_BOTH;
    plan->bound_seconds = result.bound_seconds;
    place_nodes(p);
    SC_TRY(sc_plan_order(plan, p->graph, "the plan"));
    SC_TRY(sc_plan_predict(plan, p->graph, p->facts, &options->costs, options->kernels));
    return place_stages(p);
}

enum sc_status sc_partition(const struct sc_model *model, const struct sc_graph *graph, const struct sc_fact *facts,
    const struct sc_partition_options *options, struct sc_plan **plan)
{
    if (options->n_ranks < 1 || options->n_stages < 0) {
        return sc_fail(SC_BAD_USAGE, "%d stages on %d ranks", options->n_stages, options->n_ranks);
    }
    struct sc_arena arena = {0};
    struct partition p = {.options = options, .graph = graph, .facts = facts, .arena = &arena};
    p.plan = calloc(1, sizeof *p.plan);
    if (!p.plan) {
        return sc_fail(SC_NO_MEMORY, "out of memory for a plan");
    }
    p.plan->fingerprint = model->fingerprint;
    p.plan->n_nodes = model->n_units;
    const enum sc_status status = partition(&p);
    sc_arena_release(&arena);
    if (status != SC_OK) {
        sc_plan_free(p.plan);
        return status;
    }
    *plan = p.plan;
    return SC_OK;
}
