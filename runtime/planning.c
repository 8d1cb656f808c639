/* SPDX-License-Identifier: Apache-2.0
 * Facts at planning dims, groups of nodes that share a state, then the partitioner. */
#include "runtime/planning.h"

#include <string.h>

#include "exec/infer.h"
#include "partitioner/reads.h"
#include "runtime/part.h"
#include "tensor/page.h"

enum { PLANNED_STEPS = 64 }; /* of a text behind an encoder */

enum sc_status sc_planning_mark_states(
    struct sc_model *model, int n_pairs, const struct sc_state_pair *pairs, struct sc_arena *arena, bool **is_state)
{
    struct sc_graph *graph = model->graph;
    *is_state = sc_arena_array(arena, (size_t)graph->n_values + 1, sizeof **is_state);
    if (!*is_state) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < n_pairs; p++) {
        (*is_state)[pairs[p].in] = (*is_state)[pairs[p].out] = true;
        if (sc_state_is_viewed(&pairs[p])) {
            struct sc_fact *fact = &graph->values[pairs[p].in].fact;
            const int batch_axis = pairs[p].joined ? 1 : 0;
            const int64_t batch = fact->rank == 4 + batch_axis ? fact->dims[batch_axis] : SC_DIM_UNKNOWN;
            fact->kind = SC_KIND_STATE;
            fact->type = pairs[p].type;
            fact->rank = 4;
            fact->dims[0] = batch;
            fact->dims[1] = pairs[p].heads;
            fact->dims[2] = SC_DIM_UNKNOWN;
            fact->dims[3] = pairs[p].width;
        }
    }
    return SC_OK;
}

static bool is_constant(const struct sc_planning *planning, int value)
{
    bool constant = false;
    for (int p = 0; p < planning->n_pairs; p++) {
        constant |= planning->pairs[p].in == value && planning->pairs[p].kind == SC_STATE_CONSTANT;
    }
    return constant;
}

/* Inputs at planning size: given facts, else declared ones; caches with the positions that they are expected to hold,
 * which is what reading them costs. */
static void plan_inputs(const struct sc_graph *graph, const struct sc_planning *planning, const struct sc_fact *inputs,
    struct sc_fact *facts)
{
    const int64_t past = planning->past > 0 ? planning->past : planning->context / 2 + 1;
    for (int i = 0; i < graph->n_inputs; i++) {
        struct sc_fact *fact = &facts[graph->inputs[i]];
        if (fact->kind != SC_KIND_STATE && inputs) {
            *fact = inputs[i];
        }
        for (int d = 0; d < fact->rank; d++) {
            fact->dims[d] = fact->dims[d] >= 0 ? fact->dims[d] : 1;
        }
        if (fact->kind == SC_KIND_STATE && is_constant(planning, graph->inputs[i])) {
            fact->dims[2] = inputs ? inputs[i].dims[2] : 1;
        } else if (fact->kind == SC_KIND_STATE) {
            fact->dims[2] = past < planning->context ? past : planning->context;
        }
    }
}

static enum sc_status plan_facts(const struct sc_graph *graph, const struct sc_planning *planning,
    const struct sc_fact *inputs, struct sc_arena *arena, struct sc_fact **closed)
{
    struct sc_fact *facts = sc_arena_array(arena, (size_t)graph->n_values + 1, sizeof *facts);
    if (!facts) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        facts[v] = graph->values[v].fact;
    }
    plan_inputs(graph, planning, inputs, facts);
    if (sc_infer_graph(graph, planning->kernels, arena, NULL, facts) != SC_OK) {
        /* dims put to 1 need not go together; then what is known of every size has to do */
        for (int v = 0; v < graph->n_values; v++) {
            facts[v] = graph->values[v].fact;
        }
    }
    return sc_facts_closed(graph, facts, arena, closed);
}

static int find_group(int *group, int node)
{
    while (group[node] != node) {
        group[node] = group[group[node]];
        node = group[node];
    }
    return node;
}

/* The node that makes the continuation of the state that value v belongs to; -1: v is no state, or nothing makes it. */
static enum sc_status find_homes(const struct sc_graph *graph, const struct sc_planning *planning,
    struct sc_arena *arena, int64_t *state_bytes, int **homes)
{
    *homes = sc_arena_array(arena, (size_t)graph->n_values + 1, sizeof **homes);
    if (!*homes) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        (*homes)[v] = -1;
    }
    const struct sc_state_options caches = {
        .n_slots = planning->n_slots, .context = planning->context, .n_pages = planning->n_pages};
    for (int p = 0; p < planning->n_pairs; p++) {
        const struct sc_state_pair *pair = &planning->pairs[p];
        const int home = graph->values[pair->out].producer;
        if (home >= 0) {
            state_bytes[home] += sc_state_pair_bytes(pair, &caches);
            (*homes)[pair->in] = (*homes)[pair->out] = home;
        }
    }
    return SC_OK;
}

/* Joins every node that reads a state, in a body too, with the node that makes its continuation. */
static enum sc_status join_readers(
    const struct sc_graph *graph, const int *homes, struct sc_arena *arena, int *group, bool *grouped)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        int n_values = 0, *values = NULL;
        if (graph->nodes[n].dead) {
            continue;
        }
        SC_TRY(sc_node_reads(graph, &graph->nodes[n], arena, &n_values, &values));
        for (int i = 0; i < n_values; i++) {
            const int home = homes[values[i]];
            if (home >= 0) {
                grouped[n] = grouped[home] = true;
                group[find_group(group, n)] = find_group(group, home);
            }
        }
    }
    return SC_OK;
}

/* Everything that reads a state or its continuation stays with the node that makes the continuation. */
static enum sc_status group_states(const struct sc_graph *graph, const struct sc_planning *planning,
    struct sc_arena *arena, int **groups, int64_t **state_bytes)
{
    int *homes;
    *groups = sc_arena_array(arena, (size_t)graph->n_nodes + 1, sizeof **groups);
    *state_bytes = sc_arena_array(arena, (size_t)graph->n_nodes + 1, sizeof **state_bytes);
    bool *grouped = sc_arena_array(arena, (size_t)graph->n_nodes + 1, sizeof *grouped);
    if (!*groups || !*state_bytes || !grouped) {
        return SC_NO_MEMORY;
    }
    int *group = *groups;
    for (int n = 0; n < graph->n_nodes; n++) {
        group[n] = n;
    }
    SC_TRY(find_homes(graph, planning, arena, *state_bytes, &homes));
    SC_TRY(join_readers(graph, homes, arena, group, grouped));
    for (int n = 0; n < graph->n_nodes; n++) {
        group[n] = grouped[n] ? find_group(group, n) : n;
    }
    for (int n = 0; n < graph->n_nodes; n++) { /* not before: roots were found by way of these */
        group[n] = grouped[n] ? group[n] : -1;
    }
    return SC_OK;
}

/* Operators count what they read of a past in the model's type: what pages of another format have less of it. */
static enum sc_status find_spared(const struct sc_graph *graph, const struct sc_planning *planning,
    const struct sc_fact *facts, struct sc_arena *arena, double **spared)
{
    *spared = sc_arena_array(arena, (size_t)graph->n_nodes + 1, sizeof **spared);
    if (!*spared) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < planning->n_pairs; p++) {
        const struct sc_state_pair *pair = &planning->pairs[p];
        const int home = graph->values[pair->out].producer;
        if (pair->kind == SC_STATE_PAGED && home >= 0 && facts[pair->in].kind == SC_KIND_STATE) {
            const int64_t plain = sc_page_row_bytes(SC_PAGE_AS_TYPE, pair->type, pair->width);
            const int64_t kept = sc_page_row_bytes(pair->format, pair->type, pair->width);
            (*spared)[home] += (double)(pair->heads * facts[pair->in].dims[2]) * (double)(plain - kept);
        }
    }
    return SC_OK;
}

/* Of nodes that only constant states need: once for a text, of which most microbatches are steps. */
static enum sc_status find_often(
    const struct sc_graph *graph, const struct sc_planning *planning, struct sc_arena *arena, double **often)
{
    *often = NULL;
    if (sc_parts_count(planning->n_pairs, planning->pairs) == 1) {
        return SC_OK;
    }
    bool *steps = sc_arena_array(arena, (size_t)graph->n_values + 1, sizeof *steps);
    *often = sc_arena_array(arena, (size_t)graph->n_nodes + 1, sizeof **often);
    if (!steps || !*often) {
        return SC_NO_MEMORY;
    }
    sc_part_mark(graph, planning->n_pairs, planning->pairs, SC_PART_STEPS, steps);
    for (int n = 0; n < graph->n_nodes; n++) {
        (*often)[n] = sc_part_runs(&graph->nodes[n], steps) ? 1 : 1.0 / PLANNED_STEPS;
    }
    return SC_OK;
}

enum sc_status sc_planning_make(struct sc_model *model, const struct sc_planning *planning, const bool *is_state,
    struct sc_arena *arena, struct sc_fact **facts, struct sc_plan **plan)
{
    const struct sc_graph *graph = model->graph;
    struct sc_partition_options options = sc_partition_options_default(planning->n_ranks);
    int *groups;
    int64_t *state_bytes;
    struct sc_fact *chunk = NULL;
    double *often, *spared;
    SC_TRY(find_often(graph, planning, arena, &often));
    SC_TRY(plan_facts(graph, planning, planning->input_facts, arena, facts));
    if (planning->chunk_facts && !often) {
        SC_TRY(plan_facts(graph, planning, planning->chunk_facts, arena, &chunk));
    }
    SC_TRY(find_spared(graph, planning, *facts, arena, &spared));
    SC_TRY(group_states(graph, planning, arena, &groups, &state_bytes));
    options.n_stages = planning->n_stages;
    options.exact = planning->n_stages > 0;
    options.fewer = planning->fewer;
    options.random = planning->random;
    options.seed = planning->random_seed;
    options.memory = planning->memory;
    options.costs.groups = groups;
    options.costs.state_bytes = state_bytes;
    options.costs.is_state = is_state;
    options.costs.often = often;
    options.costs.spared_bytes = spared;
    options.costs.chunk_facts = chunk;
    options.costs.aim = planning->aim;
    options.kernels = planning->kernels;
    if (planning->plan_path && planning->random) {
        return sc_fail(SC_BAD_USAGE, "options '--plan' and '--random-plan' exclude each other");
    }
    const bool annotated = model->file_node_stages && planning->n_stages == 0 && !planning->random;
    if (!planning->plan_path && !annotated) {
        return sc_partition(model, graph, *facts, &options, plan);
    }
    struct sc_plan *read;
    SC_TRY(planning->plan_path ? sc_plan_read(planning->plan_path, model, &read)
                               : sc_plan_annotated(model, planning->n_ranks, &read));
    const enum sc_status status = options.exact && read->n_stages != planning->n_stages
        ? sc_fail(SC_BAD_USAGE, "'%s' has %d stages, option '-pp' asks for %d", planning->plan_path, read->n_stages,
              planning->n_stages)
        : sc_plan_predict(read, graph, *facts, &options.costs, planning->kernels);
    if (status != SC_OK) {
        sc_plan_free(read);
        return status;
    }
    *plan = read;
    return SC_OK;
}
