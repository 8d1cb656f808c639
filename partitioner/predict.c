/* SPDX-License-Identifier: Apache-2.0
 * What the stages of a plan will take: seconds by the cost model, and bytes by going through each stage's nodes in
 * order, keeping values from their making to their last reader. */
#include <string.h>

#include "partitioner/partition.h"
#include "partitioner/reads.h"

struct prediction {
    struct sc_plan *plan;
    const struct sc_graph *graph;
    const struct sc_fact *facts; /* closed */
    const struct sc_cost_options *costs;
    const struct sc_kernels *kernels;
    int n_edges;
    const struct sc_plan_edge *edges;
    struct sc_arena *arena;
    int *n_reads, **reads; /* per node */
    bool *holds; /* per value: a weight, or a state: not an activation */
    int *stamp, *last; /* per value: in stage `stamp` - 1 the node that reads it last */
    int *weight_stamp; /* per weight */
};

/* The node after all others: values that leave the stage live as long. */
enum { END = INT32_MAX };

static void note_last(struct prediction *p, int stage, int value, int node)
{
    if (p->stamp[value] != stage + 1) {
        p->stamp[value] = stage + 1;
        p->last[value] = -1;
    }
    p->last[value] = node > p->last[value] ? node : p->last[value];
}

static int64_t last_bytes(const struct prediction *p, int node, int value)
{
    return p->last[value] == node && !p->holds[value] ? sc_fact_bytes(&p->facts[value]) : 0;
}

static void find_last_readers(struct prediction *p, int stage, const int *nodes, int n)
{
    for (int i = 0; i < n; i++) {
        const struct sc_node *node = &p->graph->nodes[nodes[i]];
        for (int o = 0; o < node->n_out; o++) {
            if (node->out[o] >= 0) {
                note_last(p, stage, node->out[o], nodes[i]);
            }
        }
        for (int r = 0; r < p->n_reads[nodes[i]]; r++) {
            note_last(p, stage, p->reads[nodes[i]][r], nodes[i]);
        }
    }
    for (int e = 0; e < p->n_edges; e++) {
        for (int v = 0; v < p->edges[e].n_values && p->edges[e].from == stage; v++) {
            note_last(p, stage, p->edges[e].values[v], END);
        }
    }
}

static int64_t peak_bytes(struct prediction *p, int stage, const int *nodes, int n)
{
    int64_t live = 0;
    find_last_readers(p, stage, nodes, n);
    for (int e = 0; e < p->n_edges; e++) {
        for (int v = 0; v < p->edges[e].n_values && p->edges[e].to == stage; v++) {
            const int value = p->edges[e].values[v];
            live += p->holds[value] ? 0 : sc_fact_bytes(&p->facts[value]);
        }
    }
    int64_t peak = live;
    for (int i = 0; i < n; i++) {
        const struct sc_node *node = &p->graph->nodes[nodes[i]];
        int64_t freed = 0;
        for (int o = 0; o < node->n_out; o++) {
            if (node->out[o] >= 0 && !p->holds[node->out[o]]) {
                live += sc_fact_bytes(&p->facts[node->out[o]]);
                freed += last_bytes(p, nodes[i], node->out[o]);
            }
        }
        peak = live > peak ? live : peak;
        for (int r = 0; r < p->n_reads[nodes[i]]; r++) {
            freed += last_bytes(p, nodes[i], p->reads[nodes[i]][r]);
        }
        live -= freed;
    }
    return peak;
}

static enum sc_status count_kept(struct prediction *p, int stage, const int *nodes, int n)
{
    struct sc_plan_stage *to = &p->plan->stages[stage];
    to->weight_bytes = to->packed_bytes = to->state_bytes = 0;
    for (int i = 0; i < n; i++) {
        struct sc_node_cost cost = {0};
        const struct sc_node *node = &p->graph->nodes[nodes[i]];
        SC_TRY(sc_node_cost(p->graph, node, p->facts, &p->costs->rates, p->kernels, &cost));
        to->weight_bytes += cost.body_weight_bytes;
        to->packed_bytes += cost.packed_bytes;
        to->state_bytes += p->costs->state_bytes ? p->costs->state_bytes[nodes[i]] : 0;
        for (int r = 0; r < p->n_reads[nodes[i]]; r++) {
            const struct sc_graph_value *value = &p->graph->values[p->reads[nodes[i]][r]];
            const int weight = value->weight;
            if (value->place == SC_PLACE_INITIALIZER && p->weight_stamp[weight] != stage + 1) {
                p->weight_stamp[weight] = stage + 1;
                to->weight_bytes += (int64_t)sc_weight_bytes(&p->graph->weights[weight]);
            }
        }
    }
    return SC_OK;
}

static enum sc_status predict_bytes(struct prediction *p)
{
    const int n_nodes = p->graph->n_nodes, n_stages = p->plan->n_stages;
    int *start = sc_arena_array(p->arena, (size_t)n_stages + 2, sizeof *start);
    int *nodes = sc_arena_array(p->arena, (size_t)n_nodes, sizeof *nodes);
    if (!start || !nodes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n_nodes; i++) {
        if (!p->graph->nodes[i].dead) {
            start[sc_plan_stage_of(p->plan, &p->graph->nodes[i]) + 2]++;
        }
    }
    for (int k = 0; k < n_stages; k++) {
        start[k + 2] += start[k + 1];
    }
    for (int i = 0; i < n_nodes; i++) {
        if (!p->graph->nodes[i].dead) {
            nodes[start[sc_plan_stage_of(p->plan, &p->graph->nodes[i]) + 1]++] = i;
        }
    }
    for (int k = 0; k < n_stages; k++) {
        const int *mine = nodes + start[k];
        const int n = start[k + 1] - start[k];
        p->plan->stages[k].activation_bytes = peak_bytes(p, k, mine, n);
        SC_TRY(count_kept(p, k, mine, n));
    }
    return SC_OK;
}

/* busy[stage] of microbatches of one size. */
static enum sc_status measure_size(struct prediction *p, const struct sc_fact *facts, double *busy)
{
    struct sc_cut_problem problem = {0};
    struct sc_cost_options costs = *p->costs;
    int *node_of = NULL;
    const int n_stages = p->plan->n_stages;
    costs.chunk_facts = NULL;
    SC_TRY(sc_cost_problem(p->graph, facts, &costs, p->arena, &problem, &node_of));
    int *stage_of = sc_arena_array(p->arena, (size_t)problem.n_nodes, sizeof *stage_of);
    int64_t *memory = sc_arena_array(p->arena, (size_t)n_stages, sizeof *memory);
    if (!stage_of || !memory) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < problem.n_nodes; i++) {
        stage_of[i] = sc_plan_stage_of(p->plan, &p->graph->nodes[node_of[i]]);
    }
    problem.n_stages = n_stages;
    return problem.n_nodes > 0 ? sc_cut_measure(&problem, stage_of, busy, memory) : SC_OK;
}

static enum sc_status predict_seconds(struct prediction *p)
{
    const size_t n_stages = (size_t)p->plan->n_stages;
    double *step = sc_arena_array(p->arena, n_stages, sizeof *step);
    double *chunk = sc_arena_array(p->arena, n_stages, sizeof *chunk);
    if (!step || !chunk) {
        return SC_NO_MEMORY;
    }
    SC_TRY(measure_size(p, p->facts, step));
    SC_TRY(p->costs->chunk_facts ? measure_size(p, p->costs->chunk_facts, chunk) : SC_OK);
    for (size_t k = 0; k < n_stages; k++) {
        p->plan->stages[k].seconds = step[k];
        p->plan->stages[k].chunk_seconds = chunk[k];
    }
    return SC_OK;
}

static enum sc_status prepare(struct prediction *p)
{
    const struct sc_graph *graph = p->graph;
    p->n_reads = sc_arena_array(p->arena, (size_t)graph->n_nodes, sizeof *p->n_reads);
    p->reads = sc_arena_array(p->arena, (size_t)graph->n_nodes, sizeof *p->reads);
    p->holds = sc_arena_array(p->arena, (size_t)graph->n_values, sizeof *p->holds);
    p->stamp = sc_arena_array(p->arena, (size_t)graph->n_values, sizeof *p->stamp);
    p->last = sc_arena_array(p->arena, (size_t)graph->n_values, sizeof *p->last);
    p->weight_stamp = sc_arena_array(p->arena, (size_t)graph->n_weights, sizeof *p->weight_stamp);
    if (!p->n_reads || !p->reads || !p->holds || !p->stamp || !p->last || !p->weight_stamp) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        if (!graph->nodes[i].dead) {
            SC_TRY(sc_node_reads(graph, &graph->nodes[i], p->arena, &p->n_reads[i], &p->reads[i]));
        }
    }
    for (int v = 0; v < graph->n_values; v++) {
        p->holds[v] = graph->values[v].place == SC_PLACE_INITIALIZER || (p->costs->is_state && p->costs->is_state[v]);
    }
    return SC_OK;
}

enum sc_status sc_plan_predict(struct sc_plan *plan, const struct sc_graph *graph, const struct sc_fact *facts,
    const struct sc_cost_options *costs, const struct sc_kernels *kernels)
{
    struct sc_arena arena = {0};
    struct prediction p = {.plan = plan, .graph = graph, .costs = costs, .kernels = kernels, .arena = &arena};
    struct sc_fact *closed = NULL;
    struct sc_plan_edge *edges = NULL;
    enum sc_status status = sc_facts_closed(graph, facts, &arena, &closed);
    p.facts = closed;
    status = status == SC_OK ? sc_plan_edges(plan, graph, costs->is_state, &arena, &p.n_edges, &edges) : status;
    p.edges = edges;
    status = status == SC_OK ? prepare(&p) : status;
    status = status == SC_OK ? predict_bytes(&p) : status;
    status = status == SC_OK ? predict_seconds(&p) : status;
    sc_arena_release(&arena);
    return status;
}
