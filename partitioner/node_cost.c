/* SPDX-License-Identifier: Apache-2.0
 * A roofline above a floor: a node takes some time whatever it does, and on top as long as its arithmetic or its memory
 * traffic, whichever is longer. */
#include <math.h>
#include <string.h>

#include "exec/infer.h"
#include "model/model.h"
#include "ops/kernels/kernels.h"
#include "partitioner/cost.h"
#include "partitioner/reads.h"

/* One core of a Zen 4 server sustains 105 GFLOP/s in f32 products and streams 27 GB/s of weights (bench_gemm); Zen 3
 * and Sapphire Rapids 80 to 90 and 20 to 25, the same ratio. A message between ranks of one node is copied at memory
 * speed; 100 Gbit/s Ethernet or InfiniBand gives 10 GB/s in practice; 5 microseconds cover MPI's latency and a wake-up.
 * A node on next to no data takes 0.1 (Constant) to 0.6 microseconds (Slice, RotaryEmbedding), 0.25 on the average of
 * small models. */
struct sc_rates sc_rates_default(void)
{
    return (struct sc_rates){105e9, 27e9, 10e9, 5e-6, 0.25e-6};
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

static struct sc_cost default_cost(const struct view *view)
{
    struct sc_cost cost = {0};
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

double sc_cost_seconds(const struct sc_rates *rates, double operations, double bytes)
{
    return rates->node_seconds + fmax(operations / rates->flops, bytes / rates->bytes_per_second);
}

static enum sc_status node_cost(const struct view *view, const struct sc_rates *rates, const struct sc_kernels *kernels,
    struct sc_arena *arena, struct sc_node_cost *result)
{
    *result = (struct sc_node_cost){0};
    struct sc_cost cost = default_cost(view);
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
    result->seconds = sc_cost_seconds(rates, result->operations, result->moved_bytes);
    return SC_OK;
}

/* Facts of a body's values when the outer ones are these; where they do not go together, what is declared has to do. */
static enum sc_status body_facts(
    const struct sc_graph *body, const struct sc_fact *outer, struct sc_arena *arena, struct sc_fact **closed)
{
    const struct sc_kernels *kernels;
    struct sc_fact *facts = sc_arena_array(arena, (size_t)body->n_values + 1, sizeof *facts);
    if (!facts) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < body->n_values; v++) {
        const struct sc_graph_value *value = &body->values[v];
        facts[v] = value->place == SC_PLACE_OUTER ? outer[value->outer] : value->fact;
    }
    SC_TRY(sc_kernels_best(&kernels));
    (void)sc_infer_graph(body, kernels, arena, NULL, facts);
    return sc_facts_closed(body, facts, arena, closed);
}

static void add_run(struct sc_node_cost *to, const struct sc_node_cost *cost)
{
    to->operations += cost->operations;
    to->moved_bytes += cost->moved_bytes;
    to->seconds += cost->seconds;
}

/* All nodes of a body, once. */
static enum sc_status body_cost(const struct sc_graph *body, const struct sc_fact *outer, const struct sc_rates *rates,
    struct sc_arena *arena, struct sc_node_cost *sum)
{
    struct sc_fact *facts;
    *sum = (struct sc_node_cost){0};
    SC_TRY(body_facts(body, outer, arena, &facts));
    for (int n = 0; n < body->n_nodes; n++) {
        struct sc_node_cost cost = {0};
        SC_TRY(body->nodes[n].dead ? SC_OK : sc_node_cost(body, &body->nodes[n], facts, rates, NULL, &cost));
        add_run(sum, &cost);
    }
    return SC_OK;
}

/* Of an If the longer branch counts, of other nodes all bodies. The recursion ends because loading bounds
 * how deep they are nested. */
static enum sc_status add_bodies(const struct sc_node *node, const struct sc_fact *facts, const struct sc_rates *rates,
    struct sc_arena *arena, struct sc_node_cost *to)
{
    struct sc_node_cost run = {0};
    const bool is_if = strcmp(node->op, "If") == 0;
    for (int a = 0; a < node->n_attributes; a++) {
        const struct sc_attribute *attribute = &node->attributes[a];
        const bool has = attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
        for (int b = 0; has && b < attribute->n; b++) {
            struct sc_node_cost cost;
            SC_TRY(body_cost(&attribute->u.graph[b], facts, rates, arena, &cost));
            if (!is_if) {
                add_run(&run, &cost);
            } else if (cost.seconds > run.seconds) {
                run = cost;
            }
        }
    }
    add_run(to, &run);
    return SC_OK;
}

/* Weights of its bodies, at any depth. */
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

enum sc_status sc_node_cost(const struct sc_graph *graph, const struct sc_node *node, const struct sc_fact *facts,
    const struct sc_rates *rates, const struct sc_kernels *kernels, struct sc_node_cost *cost)
{
    struct sc_arena arena = {0};
    struct view view = {0};
    enum sc_status status = open_view(graph, node, facts, &arena, &view);
    if (status == SC_OK) {
        status = node_cost(&view, rates, kernels, &arena, cost);
        status = status == SC_OK ? body_bytes(node, &arena, &cost->body_weight_bytes) : status;
        status = status == SC_OK ? add_bodies(node, facts, rates, &arena, cost) : status;
    }
    sc_arena_release(&arena);
    return status;
}
