/* SPDX-License-Identifier: Apache-2.0
 * Plans in memory: look-ups, and the order of stages. */
#include "partitioner/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sc_plan_free(struct sc_plan *plan)
{
    if (plan) {
        struct sc_arena arena = plan->arena;
        sc_arena_release(&arena);
        free(plan);
    }
}

int sc_plan_stage_of(const struct sc_plan *plan, const struct sc_node *node)
{
    if (node->n_origins < 1) {
        return -1;
    }
    const int origin = node->origins[node->n_origins - 1];
    return origin >= 0 && origin < plan->n_nodes ? plan->stage_of[origin] : -1;
}

const char *sc_plan_aim_name(enum sc_plan_aim aim)
{
    static const char *const names[] = {
        [SC_PLAN_FOR_BOTH] = "both", [SC_PLAN_FOR_STEPS] = "steps", [SC_PLAN_FOR_PROMPTS] = "prompts"};
    return names[aim];
}

bool sc_plan_has_chunks(const struct sc_plan *plan)
{
    return plan->n_stages > 0 && plan->stages[0].chunk_seconds > 0;
}

double sc_plan_load(const struct sc_plan *plan, const struct sc_plan_stage *stage)
{
    switch (plan->aim) {
    case SC_PLAN_FOR_STEPS:
        return stage->seconds;
    case SC_PLAN_FOR_PROMPTS:
        return stage->chunk_seconds;
    default:
        return stage->seconds + stage->chunk_seconds;
    }
}

double sc_plan_slowest(const struct sc_plan *plan)
{
    double most = 0;
    for (int k = 0; k < plan->n_stages; k++) {
        const double load = sc_plan_load(plan, &plan->stages[k]);
        most = load > most ? load : most;
    }
    return most;
}

struct ordering {
    const struct sc_plan *plan;
    const struct sc_graph *graph;
    int n_edges;
    const struct sc_plan_edge *edges;
    int *first; /* per stage: its first edge as producer; n_stages + 1, as edges are sorted by producer */
    int *waits; /* per stage: edges from stages without a number */
    int *number; /* per stage: its place in the order; -1: none yet */
};

static enum sc_status open_ordering(struct ordering *o, struct sc_arena *scratch)
{
    const int n = o->plan->n_stages;
    o->first = sc_arena_array(scratch, (size_t)n + 1, sizeof *o->first);
    o->waits = sc_arena_array(scratch, (size_t)n, sizeof *o->waits);
    o->number = sc_arena_array(scratch, (size_t)n, sizeof *o->number);
    if (!o->first || !o->waits || !o->number) {
        return SC_NO_MEMORY;
    }
    int e = 0;
    for (int k = 0; k <= n; k++) {
        while (e < o->n_edges && o->edges[e].from < k) {
            e++;
        }
        o->first[k] = e;
    }
    for (e = o->first[0]; e < o->n_edges; e++) {
        if (o->edges[e].to >= 0) {
            o->waits[o->edges[e].to]++;
        }
    }
    for (int k = 0; k < n; k++) {
        o->number[k] = -1;
    }
    return SC_OK;
}

/* Each round numbers the first stage that waits for nothing; returns how many got a number. */
static int number_stages(struct ordering *o)
{
    int n = 0;
    for (int k = 0; k < o->plan->n_stages; k++) {
        if (o->number[k] >= 0 || o->waits[k] > 0) {
            continue;
        }
        o->number[k] = n++;
        int next = k;
        for (int e = o->first[k]; e < o->first[k + 1]; e++) {
            const int to = o->edges[e].to;
            if (to >= 0 && --o->waits[to] == 0) {
                next = to < next ? to : next;
            }
        }
        k = next < k ? next - 1 : k; /* an earlier stage has become free: go back to it */
    }
    return n;
}

/* Every stage without a number reads from another one. Going from reader to producer among them must come round.
 * waits[stage] becomes an edge by which it reads so. */
static enum sc_status report_cycle(struct ordering *o, const char *what)
{
    int at = 0;
    for (int e = o->first[0]; e < o->n_edges; e++) {
        if (o->edges[e].to >= 0 && o->number[o->edges[e].from] < 0) {
            at = o->edges[e].from;
            o->waits[o->edges[e].to] = e;
        }
    }
    for (int i = 0; i < o->plan->n_stages; i++) {
        at = o->edges[o->waits[at]].from;
    }
    char text[360] = "";
    int stage = at, n_hops = 0;
    do {
        const struct sc_plan_edge *edge = &o->edges[o->waits[stage]];
        const size_t used = strlen(text);
        if (n_hops < 4) {
            snprintf(text + used, sizeof text - used, "%sstage %d reads '%.48s' of stage %d", n_hops ? ", " : "",
                edge->to, o->graph->values[edge->values[0]].name, edge->from);
        } else if (n_hops == 4) {
            snprintf(text + used, sizeof text - used, ", and so on");
        }
        stage = edge->from;
        n_hops++;
    } while (stage != at);
    return sc_fail(SC_BAD_INPUT, "%s: the stages cannot be ordered: %s", what, text);
}

static enum sc_status renumber(struct sc_plan *plan, const int *number, struct sc_arena *scratch)
{
    struct sc_plan_stage *old = sc_arena_array(scratch, (size_t)plan->n_stages, sizeof *old);
    if (!old) {
        return SC_NO_MEMORY;
    }
    memcpy(old, plan->stages, (size_t)plan->n_stages * sizeof *old);
    for (int k = 0; k < plan->n_stages; k++) {
        plan->stages[number[k]] = old[k];
    }
    for (int i = 0; i < plan->n_nodes; i++) {
        plan->stage_of[i] = plan->stage_of[i] < 0 ? -1 : number[plan->stage_of[i]];
    }
    return SC_OK;
}

static enum sc_status order(
    struct sc_plan *plan, const struct sc_graph *graph, const char *what, struct sc_arena *scratch)
{
    struct ordering o = {.plan = plan, .graph = graph};
    struct sc_plan_edge *edges = NULL;
    if (sc_plan_edges(plan, graph, NULL, scratch, &o.n_edges, &edges) != SC_OK) {
        return sc_fail_in("%s", what);
    }
    o.edges = edges;
    SC_TRY(open_ordering(&o, scratch));
    if (number_stages(&o) < plan->n_stages) {
        return report_cycle(&o, what);
    }
    return renumber(plan, o.number, scratch);
}

enum sc_status sc_plan_order(struct sc_plan *plan, const struct sc_graph *graph, const char *what)
{
    struct sc_arena scratch = {0};
    const enum sc_status status = order(plan, graph, what, &scratch);
    sc_arena_release(&scratch);
    return status;
}
