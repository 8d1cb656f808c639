/* SPDX-License-Identifier: Apache-2.0
 * Edges of a plan: every value that crosses from one stage to another is a triple (from, to, value); sorted, those with
 * the same ends make an edge. */
#include <stdlib.h>

#include "partitioner/plan.h"
#include "partitioner/reads.h"

struct crossing {
    int from, to, value; /* value -1: only tells that the edge exists */
};

struct crossings {
    size_t n, cap;
    struct crossing *items;
};

static int compare_crossing(const void *a, const void *b)
{
    const struct crossing *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return x->to != y->to ? (x->to < y->to ? -1 : 1) : (x->value > y->value) - (x->value < y->value);
}

static enum sc_status add_crossing(struct crossings *crossings, int from, int to, int value)
{
    if (crossings->n == crossings->cap) {
        const size_t cap = crossings->cap ? 2 * crossings->cap : 256;
        struct crossing *items = realloc(crossings->items, cap * sizeof *items);
        if (!items) {
            return sc_fail(SC_NO_MEMORY, "out of memory for the edges of the plan");
        }
        crossings->items = items;
        crossings->cap = cap;
    }
    crossings->items[crossings->n++] = (struct crossing){from, to, value};
    return SC_OK;
}

struct derivation {
    const struct sc_plan *plan;
    const struct sc_graph *graph;
    const bool *is_state;
    int *stage_of; /* per node of the graph; -1: dead */
    bool *reads; /* per stage */
    struct crossings crossings;
};

static enum sc_status place_nodes(struct derivation *d)
{
    char name[192];
    for (int i = 0; i < d->graph->n_nodes; i++) {
        const struct sc_node *node = &d->graph->nodes[i];
        d->stage_of[i] = node->dead ? -1 : sc_plan_stage_of(d->plan, node);
        if (!node->dead && d->stage_of[i] < 0) {
            return sc_fail(
                SC_BAD_INPUT, "%s is in no stage of the plan", sc_node_text_name(d->graph, node, name, sizeof name));
        }
    }
    return SC_OK;
}

/* The stage that has a value first; -1: the caller. */
static enum sc_status source_of(const struct derivation *d, int v, int *stage)
{
    const struct sc_graph_value *value = &d->graph->values[v];
    *stage = -1;
    if (value->place != SC_PLACE_NODE) {
        return SC_OK;
    }
    *stage = value->producer >= 0 && value->producer < d->graph->n_nodes ? d->stage_of[value->producer] : -1;
    return *stage >= 0 ? SC_OK : sc_fail(SC_INTERNAL, "value '%s' is read, but its node was removed", value->name);
}

/* State does not travel: whoever reads a new state has to be where it is made. */
static enum sc_status check_state(const struct derivation *d, int v, int from, int to)
{
    if (from < 0 || from == to) {
        return SC_OK;
    }
    return sc_fail(SC_BAD_INPUT, "state '%s' is made in stage %d of the plan and read in stage %d: want one stage",
        d->graph->values[v].name, from, to);
}

static enum sc_status add_reads(struct derivation *d, const struct sc_node *node, int to, struct sc_arena *scratch)
{
    int n = 0, *values = NULL;
    SC_TRY(sc_node_reads(d->graph, node, scratch, &n, &values));
    for (int i = 0; i < n; i++) {
        int from = -1;
        if (d->graph->values[values[i]].place == SC_PLACE_INITIALIZER) {
            continue;
        }
        SC_TRY(source_of(d, values[i], &from));
        if (d->is_state && d->is_state[values[i]]) {
            SC_TRY(check_state(d, values[i], from, to));
            continue;
        }
        if (from != to) {
            d->reads[to] = true;
            SC_TRY(add_crossing(&d->crossings, from, to, values[i]));
        }
    }
    return SC_OK;
}

static enum sc_status add_outputs(struct derivation *d)
{
    for (int i = 0; i < d->graph->n_outputs; i++) {
        const int v = d->graph->outputs[i];
        int from = 0;
        if (d->is_state && d->is_state[v]) {
            continue;
        }
        if (d->graph->values[v].place == SC_PLACE_NODE) {
            SC_TRY(source_of(d, v, &from));
        } else if (d->graph->values[v].place != SC_PLACE_INITIALIZER) {
            d->reads[0] = true;
            SC_TRY(add_crossing(&d->crossings, -1, 0, v));
        }
        SC_TRY(add_crossing(&d->crossings, from, -1, v));
    }
    return SC_OK;
}

static enum sc_status collect(struct derivation *d, struct sc_arena *scratch)
{
    d->stage_of = sc_arena_array(scratch, (size_t)d->graph->n_nodes, sizeof *d->stage_of);
    d->reads = sc_arena_array(scratch, (size_t)d->plan->n_stages, sizeof *d->reads);
    if (!d->stage_of || !d->reads) {
        return SC_NO_MEMORY;
    }
    SC_TRY(place_nodes(d));
    for (int i = 0; i < d->graph->n_nodes; i++) {
        if (!d->graph->nodes[i].dead) {
            SC_TRY(add_reads(d, &d->graph->nodes[i], d->stage_of[i], scratch));
        }
    }
    SC_TRY(add_outputs(d));
    for (int k = 0; k < d->plan->n_stages; k++) {
        if (!d->reads[k]) {
            SC_TRY(add_crossing(&d->crossings, -1, k, -1));
        }
    }
    return SC_OK;
}

static enum sc_status make_edges(
    struct crossings *crossings, struct sc_arena *arena, int *n_edges, struct sc_plan_edge **edges)
{
    qsort(crossings->items, crossings->n, sizeof *crossings->items, compare_crossing);
    struct sc_plan_edge *made = sc_arena_array(arena, crossings->n, sizeof *made);
    int *values = sc_arena_array(arena, crossings->n, sizeof *values);
    if (!made || !values) {
        return SC_NO_MEMORY;
    }
    int n = 0, n_values = 0;
    for (size_t i = 0; i < crossings->n; i++) {
        const struct crossing *now = &crossings->items[i];
        const struct crossing *before = i > 0 ? now - 1 : NULL;
        const bool opens = !before || before->from != now->from || before->to != now->to;
        if (opens) {
            made[n++] = (struct sc_plan_edge){now->from, now->to, 0, values + n_values};
        }
        if (now->value >= 0 && (opens || before->value != now->value)) {
            values[n_values++] = now->value;
            made[n - 1].n_values++;
        }
    }
    *n_edges = n;
    *edges = made;
    return SC_OK;
}

enum sc_status sc_plan_edges(const struct sc_plan *plan, const struct sc_graph *graph, const bool *is_state,
    struct sc_arena *arena, int *n_edges, struct sc_plan_edge **edges)
{
    struct derivation d = {.plan = plan, .graph = graph, .is_state = is_state};
    struct sc_arena scratch = {0};
    enum sc_status status = collect(&d, &scratch);
    if (status == SC_OK) {
        status = make_edges(&d.crossings, arena, n_edges, edges);
    }
    sc_arena_release(&scratch);
    free(d.crossings.items);
    return status;
}
