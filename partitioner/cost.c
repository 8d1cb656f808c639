/* SPDX-License-Identifier: Apache-2.0
 * A roofline: a node takes as long as its arithmetic or its memory traffic, whichever is longer. */
#include "partitioner/cost.h"

#include <math.h>
#include <string.h>

#include "model/model.h"
#include "partitioner/reads.h"

/* One core of a Zen 4 server sustains 105 GFLOP/s in f32 products and streams 27 GB/s of weights (bench_gemm); Zen 3 and
 * Sapphire Rapids 80 to 90 and 20 to 25, the same ratio. A message between ranks of one node is copied at memory speed; 100 Gbit/s
 * Ethernet or InfiniBand gives 10 GB/s in practice; 5 microseconds cover MPI's latency and a wake-up. */
struct sc_rates sc_rates_default(void)
{
    return (struct sc_rates){105e9, 27e9, 10e9, 5e-6};
}

enum sc_status sc_facts_closed(
    const struct sc_graph *graph, const struct sc_fact *facts, struct sc_arena *arena, struct sc_fact **closed)
{
    struct sc_fact *copy = sc_arena_array(arena, (size_t)graph->n_values, sizeof *copy);
    if (!copy) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        copy[v] = facts[v];
        for (int d = 0; d < copy[v].rank && d < SC_MAX_RANK; d++) {
            copy[v].dims[d] = copy[v].dims[d] < 0 ? 1 : copy[v].dims[d];
        }
    }
    *closed = copy;
    return SC_OK;
}

static double fact_elements(const struct sc_fact *fact)
{
    double n = 1;
    for (int d = 0; d < fact->rank && d < SC_MAX_RANK; d++) {
        n *= (double)fact->dims[d];
    }
    return fact->rank < 0 || fact->kind != SC_KIND_TENSOR ? 0 : n;
}

int64_t sc_fact_bytes(const struct sc_fact *fact)
{
    const double most = 0x1p46; /* sc_dims_check refuses more */
    const double bytes = fact_elements(fact) * (double)sc_type_bytes(fact->type);
    return (int64_t)(bytes < most ? bytes : most);
}

/* The node as its operator sees it. */
struct view {
    const struct sc_op *op;
    struct sc_infer infer;
    bool known; /* every named input and output is a tensor, or a cache, of known type and rank */
};

static bool is_known(const struct sc_fact *fact)
{
    return (fact->kind == SC_KIND_TENSOR || fact->kind == SC_KIND_STATE) && fact->rank >= 0 &&
        fact->type != SC_TYPE_NONE;
}

static enum sc_status open_view(const struct sc_graph *graph, const struct sc_node *node, const struct sc_fact *facts,
    struct sc_arena *arena, struct view *view)
{
    const struct sc_fact **in = sc_arena_array(arena, (size_t)node->n_in, sizeof *in);
    struct sc_fact **out = sc_arena_array(arena, (size_t)node->n_out, sizeof *out);
    struct sc_fact *made = sc_arena_array(arena, (size_t)node->n_out, sizeof *made);
    if (!in || !out || !made) {
        return SC_NO_MEMORY;
    }
    view->op = sc_op_find(node->domain, node->op, node->version);
    view->known = true;
    for (int i = 0; i < node->n_in; i++) {
        in[i] = node->in[i] < 0 ? NULL : &facts[node->in[i]];
        view->known &= !in[i] || is_known(in[i]);
    }
    for (int o = 0; o < node->n_out; o++) {
        if (node->out[o] >= 0) {
            made[o] = facts[node->out[o]];
            out[o] = &made[o];
            view->known &= is_known(&made[o]);
        }
    }
    view->infer = (struct sc_infer){
        .graph = graph, .node = node, .n_in = node->n_in, .n_out = node->n_out, .in = in, .out = out, .arena = arena};
    if (view->op && view->op->params && view->known) {
        void *params = NULL;
        SC_TRY(view->op->params(graph, node, arena, &params));
        view->infer.params = params;
    }
    return SC_OK;
}

static struct sc_cost default_cost(const struct view *view, int64_t body_bytes)
{
    struct sc_cost cost = {0, (double)body_bytes, 0};
    if (view->op && (view->op->flags & SC_OP_VIEW)) {
        return cost;
    }
    for (int i = 0; i < view->infer.n_in; i++) {
        cost.read_bytes += view->infer.in[i] ? (double)sc_fact_bytes(view->infer.in[i]) : 0;
    }
    for (int o = 0; o < view->infer.n_out; o++) {
        if (view->infer.out[o]) {
            cost.written_bytes += (double)sc_fact_bytes(view->infer.out[o]);
            cost.operations += fact_elements(view->infer.out[o]);
        }
    }
    return cost;
}

static enum sc_status packed_bytes(
    const struct view *view, const struct sc_kernels *kernels, struct sc_arena *arena, int64_t *bytes)
{
    const struct sc_infer *infer = &view->infer;
    bool *constant = sc_arena_array(arena, (size_t)infer->n_in, sizeof *constant);
    if (!constant) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < infer->n_in; i++) {
        constant[i] = infer->node->in[i] >= 0 && infer->graph->values[infer->node->in[i]].place == SC_PLACE_INITIALIZER;
    }
    struct sc_prepare prepare = {.graph = infer->graph,
        .node = infer->node,
        .params = infer->params,
        .n_in = infer->n_in,
        .in = infer->in,
        .constant = constant,
        .kernels = kernels};
    SC_TRY(view->op->prepare(&prepare));
    *bytes = prepare.packed_inputs != 0 && prepare.packed_bytes < INT64_MAX ? (int64_t)prepare.packed_bytes : 0;
    return SC_OK;
}

static enum sc_status body_bytes(const struct sc_node *node, struct sc_arena *arena, int64_t *bytes)
{
    int n = 0;
    const struct sc_graph **bodies = NULL;
    SC_TRY(sc_node_bodies(node, arena, &n, &bodies));
    *bytes = 0;
    for (int b = 0; b < n; b++) {
        for (int w = 0; w < bodies[b]->n_weights; w++) {
            *bytes += (int64_t)sc_weight_bytes(&bodies[b]->weights[w]);
        }
    }
    return SC_OK;
}

static double seconds_of(const struct sc_rates *rates, double operations, double bytes)
{
    return fmax(operations / rates->flops, bytes / rates->bytes_per_second);
}

static enum sc_status node_cost(const struct view *view, const struct sc_rates *rates, const struct sc_kernels *kernels,
    struct sc_arena *arena, struct sc_node_cost *result)
{
    *result = (struct sc_node_cost){0};
    SC_TRY(body_bytes(view->infer.node, arena, &result->body_weight_bytes));
    struct sc_cost cost = default_cost(view, result->body_weight_bytes);
    if (view->op && view->op->cost && view->known) {
        cost = (struct sc_cost){0};
        view->op->cost(&view->infer, &cost);
    }
    if (view->op && view->op->prepare && view->known && kernels) {
        SC_TRY(packed_bytes(view, kernels, arena, &result->packed_bytes));
    }
    for (int o = 0; o < view->infer.n_out; o++) {
        result->output_bytes += view->infer.out[o] ? sc_fact_bytes(view->infer.out[o]) : 0;
    }
    result->operations = cost.operations;
    result->moved_bytes = cost.read_bytes + cost.written_bytes;
    result->seconds = seconds_of(rates, result->operations, result->moved_bytes);
    return SC_OK;
}

enum sc_status sc_node_cost(const struct sc_graph *graph, const struct sc_node *node, const struct sc_fact *facts,
    const struct sc_rates *rates, const struct sc_kernels *kernels, struct sc_node_cost *cost)
{
    struct sc_arena arena = {0};
    struct view view = {0};
    enum sc_status status = open_view(graph, node, facts, &arena, &view);
    if (status == SC_OK) {
        status = node_cost(&view, rates, kernels, &arena, cost);
    }
    sc_arena_release(&arena);
    return status;
}

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
    to->seconds += often * seconds_of(&options->rates, cost.operations, cost.moved_bytes - spared);
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
