/* SPDX-License-Identifier: Apache-2.0
 * The problem to solve: what nodes cost in a step and a chunk, what stays together, who reads whose values and
 * weights. */
#include "partitioner/cost.h"

#include <string.h>

#include "model/model.h"
#include "partitioner/reads.h"

static int find_root(int *up, int i)
{
    while (up[i] != i) {
        up[i] = up[up[i]];
        i = up[i];
    }
    return i;
}

/* Joins live nodes of one group, and those that stand for the same file node: sets and their roots. */
static enum sc_status join_nodes(const struct sc_graph *graph, const int *groups, int n, const int *node_of,
    struct sc_arena *arena, struct sc_cut_node *nodes)
{
    int *up = sc_arena_array(arena, (size_t)n, sizeof *up);
    struct sc_map first = {0};
    if (!up) {
        return SC_NO_MEMORY;
    }
    enum sc_status status = SC_OK;
    for (int i = 0; i < n; i++) {
        up[i] = i;
    }
    for (int i = 0; i < n && status == SC_OK; i++) {
        const struct sc_node *node = &graph->nodes[node_of[i]];
        for (int kind = 0; kind < 2 && status == SC_OK; kind++) {
            const int number = kind ? (groups ? groups[node_of[i]] : -1)
                : node->n_origins   ? node->origins[node->n_origins - 1]
                                    : -1;
            char *key = number < 0 ? NULL : sc_arena_printf(arena, "%c%d", kind ? 'g' : 'o', number);
            if (number < 0 || !key) {
                status = number < 0 ? SC_OK : SC_NO_MEMORY;
                continue;
            }
            const int other = (int)sc_map_get(&first, key, strlen(key), i);
            up[find_root(up, i)] = find_root(up, other);
            status = sc_map_put(&first, key, strlen(key), i);
        }
    }
    for (int i = 0; i < n; i++) {
        nodes[i].group = find_root(up, i);
    }
    sc_map_release(&first);
    return status;
}

struct building {
    const struct sc_graph *graph;
    const struct sc_cost_options *options;
    struct sc_arena *arena;
    int n;
    int n_sizes; /* of microbatches that count, each once */
    struct sc_fact *sizes[2]; /* closed facts at each */
    int *number; /* per graph node: its problem node, -1: dead */
    int n_edges, n_uses; /* counted first, filled then */
    struct sc_cut_edge *edges;
    struct sc_cut_use *uses;
};

static enum sc_status add_reads(struct building *b, int node, struct sc_arena *scratch)
{
    int n = 0, *values = NULL;
    SC_TRY(sc_node_reads(b->graph, &b->graph->nodes[node], scratch, &n, &values));
    for (int i = 0; i < n; i++) {
        const struct sc_graph_value *value = &b->graph->values[values[i]];
        if (value->place == SC_PLACE_INITIALIZER) {
            if (b->uses) {
                b->uses[b->n_uses] = (struct sc_cut_use){b->number[node], value->weight};
            }
            b->n_uses++;
        } else if (value->place == SC_PLACE_NODE && value->producer >= 0 && b->number[value->producer] >= 0) {
            if (b->edges) {
                b->edges[b->n_edges] = (struct sc_cut_edge){b->number[value->producer], b->number[node]};
            }
            b->n_edges++;
        }
    }
    return SC_OK;
}

static enum sc_status add_all_reads(struct building *b)
{
    struct sc_arena scratch = {0};
    enum sc_status status = SC_OK;
    b->n_edges = b->n_uses = 0;
    for (int i = 0; i < b->graph->n_nodes && status == SC_OK; i++) {
        if (b->number[i] >= 0) {
            sc_arena_reset(&scratch);
            status = add_reads(b, i, &scratch);
        }
    }
    sc_arena_release(&scratch);
    return status;
}

/* Adds what a node costs in a microbatch of one size. */
static enum sc_status add_size(const struct building *b, const struct sc_fact *facts, int node, struct sc_cut_node *to)
{
    const struct sc_cost_options *options = b->options;
    struct sc_node_cost cost = {0};
    SC_TRY(sc_node_cost(b->graph, &b->graph->nodes[node], facts, &options->rates, NULL, &cost));
    const double often = options->often ? options->often[node] : 1;
    const double spared = options->spared_bytes ? options->spared_bytes[node] : 0;
    to->seconds += often *
        (spared != 0 ? sc_cost_seconds(&options->rates, cost.operations, cost.moved_bytes - spared) : cost.seconds);
    to->output_bytes += (int64_t)((double)cost.output_bytes * often);
    to->memory_bytes = cost.body_weight_bytes + (options->state_bytes ? options->state_bytes[node] : 0);
    return SC_OK;
}

static enum sc_status build_nodes(struct building *b, struct sc_cut_node *nodes, const int *node_of)
{
    for (int i = 0; i < b->n; i++) {
        nodes[i] = (struct sc_cut_node){0};
        for (int s = 0; s < b->n_sizes; s++) {
            SC_TRY(add_size(b, b->sizes[s], node_of[i], &nodes[i]));
        }
    }
    return join_nodes(b->graph, b->options->groups, b->n, node_of, b->arena, nodes);
}

static enum sc_status close_sizes(struct building *b, const struct sc_fact *facts)
{
    const struct sc_fact *chunk = b->options->chunk_facts;
    if (!chunk || b->options->aim != SC_PLAN_FOR_PROMPTS) {
        SC_TRY(sc_facts_closed(b->graph, facts, b->arena, &b->sizes[b->n_sizes++]));
    }
    if (chunk && b->options->aim != SC_PLAN_FOR_STEPS) {
        SC_TRY(sc_facts_closed(b->graph, chunk, b->arena, &b->sizes[b->n_sizes++]));
    }
    return SC_OK;
}

enum sc_status sc_cost_problem(const struct sc_graph *graph, const struct sc_fact *facts,
    const struct sc_cost_options *options, struct sc_arena *arena, struct sc_cut_problem *problem, int **node_of)
{
    struct building b = {.graph = graph, .options = options, .arena = arena};
    SC_TRY(close_sizes(&b, facts));
    b.number = sc_arena_array(arena, (size_t)graph->n_nodes, sizeof *b.number);
    int *nodes_of = sc_arena_array(arena, (size_t)graph->n_nodes, sizeof *nodes_of);
    struct sc_cut_node *nodes = sc_arena_array(arena, (size_t)graph->n_nodes, sizeof *nodes);
    int64_t *weight_bytes = sc_arena_array(arena, (size_t)graph->n_weights, sizeof *weight_bytes);
    if (!b.number || !nodes_of || !nodes || !weight_bytes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        b.number[i] = graph->nodes[i].dead ? -1 : b.n;
        nodes_of[b.n] = i;
        b.n += !graph->nodes[i].dead;
    }
    for (int w = 0; w < graph->n_weights; w++) {
        weight_bytes[w] = (int64_t)sc_weight_bytes(&graph->weights[w]);
    }
    SC_TRY(build_nodes(&b, nodes, nodes_of));
    SC_TRY(add_all_reads(&b));
    b.edges = sc_arena_array(arena, (size_t)b.n_edges, sizeof *b.edges);
    b.uses = sc_arena_array(arena, (size_t)b.n_uses, sizeof *b.uses);
    if (!b.edges || !b.uses) {
        return SC_NO_MEMORY;
    }
    SC_TRY(add_all_reads(&b));
    *problem = (struct sc_cut_problem){.n_nodes = b.n,
        .n_edges = b.n_edges,
        .nodes = nodes,
        .edges = b.edges,
        .link_bytes_per_second = options->rates.link_bytes_per_second,
        .link_seconds = b.n_sizes * options->rates.link_seconds,
        .n_weights = graph->n_weights,
        .n_uses = b.n_uses,
        .weight_bytes = weight_bytes,
        .uses = b.uses};
    *node_of = nodes_of;
    return SC_OK;
}
