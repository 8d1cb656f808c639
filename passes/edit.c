/* SPDX-License-Identifier: Apache-2.0
 * Lists of nodes that grow, and names that nobody has yet. */
#include "passes/edit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tensor/convert.h"

#define SC_MAX_NODES (INT_MAX / 4)

void sc_edit_open(struct sc_edit *edit, struct sc_model *model)
{
    *edit = (struct sc_edit){.model = model, .next_index = model->n_file_nodes};
    for (const struct sc_graph *graph = model->all_graphs; graph; graph = graph->next) {
        for (int n = 0; n < graph->n_nodes; n++) {
            const int index = graph->nodes[n].index;
            edit->next_index = index >= edit->next_index && index < INT_MAX ? index + 1 : edit->next_index;
        }
    }
}

const struct sc_node *sc_edit_graph(struct sc_edit *edit, struct sc_graph *graph, int *n)
{
    const struct sc_node *nodes = graph->nodes;
    *n = graph->n_nodes;
    edit->graph = graph;
    graph->nodes = NULL;
    graph->n_nodes = graph->cap_nodes = 0;
    return nodes;
}

static enum sc_status grow(struct sc_graph *graph)
{
    if (graph->n_nodes < graph->cap_nodes) {
        return SC_OK;
    }
    if (graph->n_nodes >= SC_MAX_NODES) {
        return sc_fail(SC_LIMIT, "a graph has more than %d nodes", SC_MAX_NODES);
    }
    const int capacity = graph->cap_nodes ? 2 * graph->cap_nodes : 64;
    struct sc_node *nodes = sc_arena_array(graph->arena, (size_t)capacity, sizeof *nodes);
    if (!nodes) {
        return SC_NO_MEMORY;
    }
    if (graph->n_nodes) {
        memcpy(nodes, graph->nodes, (size_t)graph->n_nodes * sizeof *nodes);
    }
    graph->nodes = nodes;
    graph->cap_nodes = capacity;
    return SC_OK;
}

enum sc_status sc_edit_append(struct sc_edit *edit, const struct sc_node *node)
{
    struct sc_graph *graph = edit->graph;
    SC_TRY(grow(graph));
    graph->nodes[graph->n_nodes] = *node;
    for (int o = 0; o < node->n_out; o++) {
        if (node->out[o] >= 0 && !node->dead) {
            struct sc_graph_value *value = &graph->values[node->out[o]];
            value->place = SC_PLACE_NODE;
            value->producer = graph->n_nodes;
            value->output = o;
        }
    }
    graph->n_nodes++;
    return SC_OK;
}

enum sc_status sc_edit_value(struct sc_edit *edit, const char *base, const char *name, int *value)
{
    struct sc_arena *arena = edit->graph->arena;
    const char *text = sc_arena_printf(arena, "%s/%s", base, name);
    while (text && sc_graph_find(edit->graph, text) >= 0) {
        text = sc_arena_printf(arena, "%s/%s#%lld", base, name, (long long)++edit->serial);
    }
    return text ? sc_graph_add_value(edit->graph, text, value) : SC_NO_MEMORY;
}

enum sc_status sc_edit_number(
    struct sc_edit *edit, const char *base, const char *name, enum sc_type type, int rank, double number, int *value)
{
    struct sc_tensor tensor;
    const int64_t one = 1;
    SC_TRY(sc_tensor_new(edit->graph->arena, type, rank, &one, &tensor));
    sc_convert(SC_F64, &number, type, tensor.data, 1, 0);
    const struct sc_weight added = {.shape = tensor, .decoded = tensor.data, .file = -1};
    SC_TRY(sc_edit_value(edit, base, name, value));
    return sc_graph_add_weight(edit->graph, &added, *value);
}

enum sc_status sc_edit_node(struct sc_edit *edit, const struct sc_node *like, const char *op, int version, int n_in,
    const int *in, int n_out, const int *out, struct sc_node *node)
{
    struct sc_arena *arena = edit->graph->arena;
    int *ins = sc_arena_array(arena, (size_t)n_in, sizeof *ins);
    int *outs = sc_arena_array(arena, (size_t)n_out, sizeof *outs);
    if (!ins || !outs) {
        return SC_NO_MEMORY;
    }
    memcpy(ins, in, (size_t)n_in * sizeof *ins);
    memcpy(outs, out, (size_t)n_out * sizeof *outs);
    *node = (struct sc_node){.name = like->name,
        .domain = "",
        .op = op,
        .version = version,
        .n_in = n_in,
        .n_out = n_out,
        .in = ins,
        .out = outs,
        .origins = like->origins,
        .n_origins = like->n_origins,
        .index = edit->next_index++};
    return SC_OK;
}

enum sc_status sc_edit_unit(struct sc_edit *edit, struct sc_node *node)
{
    const char *name = "";
    for (int o = 0; o < node->n_out && !*name; o++) {
        name = node->out[o] < 0 ? "" : edit->graph->values[node->out[o]].name;
    }
    int *origin = sc_arena_alloc(edit->graph->arena, sizeof *origin);
    if (!origin) {
        return SC_NO_MEMORY;
    }
    const int from = node->n_origins > 0 ? node->origins[0] : -1;
    node->origins = origin;
    node->n_origins = 1;
    return sc_model_unit(edit->model, name, from, origin);
}

void sc_edit_replaced(struct sc_edit *edit, const struct sc_node *node)
{
    for (int o = 0; o < node->n_origins; o++) {
        edit->model->unit_names[node->origins[o]] = NULL;
    }
}

const char *sc_edit_label(const struct sc_graph *graph, const struct sc_node *node)
{
    for (int o = 0; !*node->name && o < node->n_out; o++) {
        if (node->out[o] >= 0) {
            return graph->values[node->out[o]].name;
        }
    }
    return node->name;
}
