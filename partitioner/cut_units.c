/* SPDX-License-Identifier: Apache-2.0
 * Joins the nodes of a cut problem to units that no cut may divide: its groups, and whatever lies on a cycle once they
 * are joined (strongly connected components by Tarjan's algorithm, with a stack of our own). */
#include "partitioner/cut_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_int(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

enum sc_status sc_lists_build(
    struct sc_arena *arena, int n, int n_pairs, const int *key, const int *item, struct sc_lists *lists)
{
    int *start = sc_arena_array(arena, (size_t)n + 2, sizeof *start);
    int *items = sc_arena_array(arena, (size_t)n_pairs, sizeof *items);
    if (!start || !items) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n_pairs; i++) {
        if (key[i] >= 0) {
            start[key[i] + 2]++;
        }
    }
    for (int k = 0; k < n; k++) {
        start[k + 2] += start[k + 1];
    }
    for (int i = 0; i < n_pairs; i++) {
        if (key[i] >= 0) {
            items[start[key[i] + 1]++] = item[i];
        }
    }
    int to = 0;
    for (int k = 0; k < n; k++) {
        const int from = start[k], end = start[k + 1];
        qsort(items + from, (size_t)(end - from), sizeof *items, compare_int);
        start[k] = to;
        for (int i = from; i < end; i++) {
            if (i == from || items[i] != items[to - 1]) {
                items[to++] = items[i];
            }
        }
    }
    start[n] = to;
    *lists = (struct sc_lists){n, start, items};
    return SC_OK;
}

static bool is_amount(double x)
{
    return isfinite(x) && x >= 0;
}

static enum sc_status check_stages(const struct sc_cut_problem *problem)
{
    if (problem->n_stages < 1) {
        return sc_fail(SC_BAD_INPUT, "%d stages, want at least 1", problem->n_stages);
    }
    for (int k = 0; k < problem->n_stages; k++) {
        if (problem->speed && !(isfinite(problem->speed[k]) && problem->speed[k] > 0)) {
            return sc_fail(SC_BAD_INPUT, "stage %d: speed %g, want more than 0", k, problem->speed[k]);
        }
        if (problem->memory_limit && problem->memory_limit[k] < 0) {
            return sc_fail(SC_BAD_INPUT, "stage %d: a negative memory limit", k);
        }
    }
    if (!is_amount(problem->link_bytes_per_second) || !is_amount(problem->link_seconds)) {
        return sc_fail(SC_BAD_INPUT, "the speed of links is negative or not a number");
    }
    return SC_OK;
}

static enum sc_status check_numbers(const struct sc_cut_problem *problem)
{
    SC_TRY(check_stages(problem));
    int64_t bytes = 0;
    if (problem->n_nodes < 1) {
        return sc_fail(SC_BAD_INPUT, "there is no node to put on a stage");
    }
    for (int i = 0; i < problem->n_nodes; i++) {
        const struct sc_cut_node *node = &problem->nodes[i];
        if (!is_amount(node->seconds) || node->output_bytes < 0 || node->memory_bytes < 0) {
            return sc_fail(SC_BAD_INPUT, "node %d: a cost is negative or not a number", i);
        }
        if (node->memory_bytes > INT64_MAX - bytes) {
            return sc_fail(SC_BAD_INPUT, "node %d: the nodes' memory adds up to more than 2^63 bytes", i);
        }
        bytes += node->memory_bytes;
    }
    for (int i = 0; i < problem->n_weights; i++) {
        if (problem->weight_bytes[i] < 0 || problem->weight_bytes[i] > INT64_MAX - bytes) {
            return sc_fail(SC_BAD_INPUT, "shared weight %d: its size is negative or far too large", i);
        }
        bytes += problem->weight_bytes[i];
    }
    for (int i = 0; i < problem->n_edges; i++) {
        const struct sc_cut_edge *edge = &problem->edges[i];
        if (edge->from < 0 || edge->from >= problem->n_nodes || edge->to < 0 || edge->to >= problem->n_nodes) {
            return sc_fail(
                SC_BAD_INPUT, "edge %d: from node %d to node %d of %d", i, edge->from, edge->to, problem->n_nodes);
        }
    }
    for (int i = 0; i < problem->n_uses; i++) {
        const struct sc_cut_use *use = &problem->uses[i];
        if (use->node < 0 || use->node >= problem->n_nodes || use->weight < 0 || use->weight >= problem->n_weights) {
            return sc_fail(SC_BAD_INPUT, "use %d: shared weight %d at node %d", i, use->weight, use->node);
        }
    }
    return SC_OK;
}

/* The two ends of every edge by some numbering; edges inside one number get key -1. */
static enum sc_status edge_lists(const struct sc_cut_problem *problem, struct sc_arena *arena, const int *number, int n,
    bool backwards, struct sc_lists *lists)
{
    int *key = sc_arena_array(arena, (size_t)problem->n_edges, sizeof *key);
    int *item = sc_arena_array(arena, (size_t)problem->n_edges, sizeof *item);
    if (!key || !item) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < problem->n_edges; i++) {
        const int from = number[problem->edges[i].from], to = number[problem->edges[i].to];
        key[i] = from == to ? -1 : backwards ? to : from;
        item[i] = backwards ? from : to;
    }
    return sc_lists_build(arena, n, problem->n_edges, key, item, lists);
}

static enum sc_status check_acyclic(const struct sc_cut_problem *problem, struct sc_arena *arena)
{
    const int n = problem->n_nodes;
    int *self = sc_arena_array(arena, (size_t)n, sizeof *self);
    int *waits = sc_arena_array(arena, (size_t)n, sizeof *waits);
    int *queue = sc_arena_array(arena, (size_t)n, sizeof *queue);
    if (!self || !waits || !queue) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        self[i] = i;
    }
    for (int i = 0; i < problem->n_edges; i++) {
        if (problem->edges[i].from == problem->edges[i].to) {
            return sc_fail(SC_BAD_INPUT, "node %d reads its own output", problem->edges[i].from);
        }
    }
    struct sc_lists succs = {0};
    SC_TRY(edge_lists(problem, arena, self, n, false, &succs));
    for (int e = 0; e < succs.start[n]; e++) {
        waits[succs.item[e]]++;
    }
    int n_queued = 0;
    for (int i = 0; i < n; i++) {
        if (!waits[i]) {
            queue[n_queued++] = i;
        }
    }
    for (int done = 0; done < n_queued; done++) {
        for (int e = succs.start[queue[done]]; e < succs.start[queue[done] + 1]; e++) {
            if (!--waits[succs.item[e]]) {
                queue[n_queued++] = succs.item[e];
            }
        }
    }
    for (int i = 0; i < n && n_queued < n; i++) {
        if (waits[i]) {
            return sc_fail(SC_BAD_INPUT, "the graph has a cycle: node %d depends on itself", i);
        }
    }
    return SC_OK;
}

struct member {
    int group, node;
};

static int compare_member(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                                : (x->node > y->node) - (x->node < y->node);
}

/* leader[node]: the first node of its group. */
static enum sc_status join_groups(const struct sc_cut_problem *problem, struct sc_arena *arena, int *leader)
{
    struct member *members = sc_arena_array(arena, (size_t)problem->n_nodes, sizeof *members);
    if (!members) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < problem->n_nodes; i++) {
        members[i] = (struct member){problem->nodes[i].group < 0 ? -1 : problem->nodes[i].group, i};
    }
    qsort(members, (size_t)problem->n_nodes, sizeof *members, compare_member);
    for (int i = 0; i < problem->n_nodes; i++) {
        const bool joins = i > 0 && members[i].group >= 0 && members[i].group == members[i - 1].group;
        leader[members[i].node] = joins ? leader[members[i - 1].node] : members[i].node;
    }
    return SC_OK;
}

struct tarjan {
    const struct sc_lists *succs;
    int n_seen, n_open, n_path;
    int *seen; /* 1 + when; 0: not yet */
    int *low;
    int *open; /* seen, component not yet known */
    int *path, *next; /* the walk: nodes and their next edge */
    int *component; /* -1: not yet known; else the smallest node of it */
};

static void tarjan_enter(struct tarjan *t, int v)
{
    t->seen[v] = t->low[v] = ++t->n_seen;
    t->next[v] = t->succs->start[v];
    t->open[t->n_open++] = v;
    t->path[t->n_path++] = v;
}

static void tarjan_leave(struct tarjan *t, int v)
{
    t->n_path--;
    if (t->n_path > 0) {
        const int up = t->path[t->n_path - 1];
        t->low[up] = t->low[v] < t->low[up] ? t->low[v] : t->low[up];
    }
    if (t->low[v] != t->seen[v]) {
        return;
    }
    int from = t->n_open, least = v;
    do {
        from--;
        least = t->open[from] < least ? t->open[from] : least;
    } while (t->open[from] != v);
    for (int i = from; i < t->n_open; i++) {
        t->component[t->open[i]] = least;
    }
    t->n_open = from;
}

static void tarjan_walk(struct tarjan *t, int root)
{
    tarjan_enter(t, root);
    while (t->n_path > 0) {
        const int v = t->path[t->n_path - 1];
        if (t->next[v] == t->succs->start[v + 1]) {
            tarjan_leave(t, v);
            continue;
        }
        const int w = t->succs->item[t->next[v]++];
        if (!t->seen[w]) {
            tarjan_enter(t, w);
        } else if (t->component[w] < 0 && t->seen[w] < t->low[v]) {
            t->low[v] = t->seen[w];
        }
    }
}

/* component[node]: the smallest node that it is joined with. */
static enum sc_status join_cycles(
    const struct sc_cut_problem *problem, struct sc_arena *arena, const int *leader, int *component)
{
    const int n = problem->n_nodes;
    struct sc_lists succs = {0};
    SC_TRY(edge_lists(problem, arena, leader, n, false, &succs));
    int *space = sc_arena_array(arena, 5 * (size_t)n, sizeof *space);
    if (!space) {
        return SC_NO_MEMORY;
    }
    struct tarjan t = {&succs, 0, 0, 0, space, space + n, space + 2 * (size_t)n, space + 3 * (size_t)n,
        space + 4 * (size_t)n, component};
    for (int i = 0; i < n; i++) {
        component[i] = -1;
    }
    for (int i = 0; i < n; i++) {
        if (leader[i] == i && !t.seen[i]) {
            tarjan_walk(&t, i);
        }
    }
    for (int i = 0; i < n; i++) {
        component[i] = component[leader[i]];
    }
    return SC_OK;
}

static enum sc_status build_producers(struct sc_arena *arena, struct sc_units *units)
{
    const struct sc_cut_problem *problem = units->problem;
    const int n_edges = problem->n_edges;
    int *producer_of = sc_arena_array(arena, (size_t)problem->n_nodes, sizeof *producer_of);
    int *producer = sc_arena_array(arena, (size_t)n_edges, sizeof *producer);
    int *reader = sc_arena_array(arena, (size_t)n_edges, sizeof *reader);
    units->producer_unit = sc_arena_array(arena, (size_t)problem->n_nodes, sizeof(int));
    units->producer_cost = sc_arena_array(arena, (size_t)problem->n_nodes, sizeof(double));
    if (!producer_of || !producer || !reader || !units->producer_unit || !units->producer_cost) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < problem->n_nodes; i++) {
        producer_of[i] = -1;
    }
    for (int i = 0; i < n_edges; i++) {
        const int from = problem->edges[i].from;
        reader[i] = units->unit_of[problem->edges[i].to];
        producer[i] = -1;
        if (units->unit_of[from] == reader[i]) {
            continue;
        }
        if (producer_of[from] < 0) {
            producer_of[from] = units->n_producers++;
            const double rate = problem->link_bytes_per_second;
            units->producer_unit[producer_of[from]] = units->unit_of[from];
            units->producer_cost[producer_of[from]] =
                problem->link_seconds + (rate > 0 ? (double)problem->nodes[from].output_bytes / rate : 0);
        }
        producer[i] = producer_of[from];
    }
    SC_TRY(sc_lists_build(arena, units->n_producers, n_edges, producer, reader, &units->consumers));
    for (int i = 0; i < n_edges; i++) {
        reader[i] = producer[i] < 0 ? -1 : reader[i];
    }
    SC_TRY(sc_lists_build(arena, units->n, n_edges, reader, producer, &units->consumed));
    int *each = sc_arena_array(arena, (size_t)units->n_producers, sizeof *each);
    if (!each) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < units->n_producers; i++) {
        each[i] = i;
    }
    return sc_lists_build(arena, units->n, units->n_producers, units->producer_unit, each, &units->produced);
}

/* Weights with one unit are that unit's memory; the others stay shared. */
static enum sc_status build_weights(struct sc_arena *arena, struct sc_units *units)
{
    const struct sc_cut_problem *problem = units->problem;
    int *weight = sc_arena_array(arena, (size_t)problem->n_uses, sizeof *weight);
    int *unit = sc_arena_array(arena, (size_t)problem->n_uses, sizeof *unit);
    int64_t *bytes = sc_arena_array(arena, (size_t)problem->n_weights, sizeof *bytes);
    if (!weight || !unit || !bytes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < problem->n_uses; i++) {
        weight[i] = problem->uses[i].weight;
        unit[i] = units->unit_of[problem->uses[i].node];
    }
    SC_TRY(sc_lists_build(arena, problem->n_weights, problem->n_uses, weight, unit, &units->users));
    for (int w = 0; w < problem->n_weights; w++) {
        const int n_users = units->users.start[w + 1] - units->users.start[w];
        bytes[w] = n_users > 1 ? problem->weight_bytes[w] : 0;
        if (n_users == 1) {
            units->memory[units->users.item[units->users.start[w]]] += problem->weight_bytes[w];
        }
    }
    for (int i = 0; i < problem->n_uses; i++) {
        unit[i] = bytes[weight[i]] ? unit[i] : -1;
    }
    units->weight_bytes = bytes;
    return sc_lists_build(arena, units->n, problem->n_uses, unit, weight, &units->used);
}

enum sc_status sc_units_build(const struct sc_cut_problem *problem, struct sc_arena *arena, struct sc_units *units)
{
    SC_TRY(check_numbers(problem));
    SC_TRY(check_acyclic(problem, arena));
    const size_t n = (size_t)problem->n_nodes;
    int *leader = sc_arena_array(arena, n, sizeof *leader);
    int *component = sc_arena_array(arena, n, sizeof *component);
    *units = (struct sc_units){.problem = problem};
    units->unit_of = sc_arena_array(arena, n, sizeof *units->unit_of);
    units->seconds = sc_arena_array(arena, n, sizeof *units->seconds);
    units->memory = sc_arena_array(arena, n, sizeof *units->memory);
    if (!leader || !component || !units->unit_of || !units->seconds || !units->memory) {
        return SC_NO_MEMORY;
    }
    SC_TRY(join_groups(problem, arena, leader));
    SC_TRY(join_cycles(problem, arena, leader, component));
    for (int i = 0; i < problem->n_nodes; i++) {
        const int unit = component[i] == i ? units->n++ : units->unit_of[component[i]];
        units->unit_of[i] = unit;
        units->seconds[unit] += problem->nodes[i].seconds;
        units->memory[unit] += problem->nodes[i].memory_bytes;
        units->total_seconds += problem->nodes[i].seconds;
    }
    if (!isfinite(units->total_seconds)) {
        return sc_fail(SC_BAD_INPUT, "the nodes' seconds add up to more than a number holds");
    }
    SC_TRY(edge_lists(problem, arena, units->unit_of, units->n, false, &units->succs));
    SC_TRY(edge_lists(problem, arena, units->unit_of, units->n, true, &units->preds));
    SC_TRY(build_producers(arena, units));
    return build_weights(arena, units);
}

enum sc_status sc_units_suffice(const struct sc_units *units)
{
    const int wanted = units->problem->n_stages;
    return wanted <= units->n || units->problem->fewer
        ? SC_OK
        : sc_fail(SC_BAD_INPUT, "%d stages asked for, but the graph can be cut into %d at most", wanted, units->n);
}
