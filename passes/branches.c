/* SPDX-License-Identifier: Apache-2.0
 * An If whose condition is known becomes the nodes of the branch that it takes.
 *
 *   true ── If ── y                              x ── Add ── y
 *     then: y' = Add(x, x)        becomes
 *     else: y' = Neg(x)
 *
 * Known are constants, what inference finds, and inputs that are said to be a mode. Values of the branch keep
 * their names where nobody else has them, and its nodes are units that plans can place. Branches within the branch are
 * seen in the next round. */
#include <stdlib.h>
#include <string.h>

#include "ops/kernels/kernels.h"
#include "passes/edit.h"
#include "passes/passes.h"

struct branches {
    struct sc_edit edit;
    struct sc_arena scratch;
    const struct sc_pass_options *options;
    struct sc_fact *facts;
};

static bool is_if(const struct sc_node *node)
{
    return !node->dead && !node->domain[0] && strcmp(node->op, "If") == 0 && node->n_in == 1 && node->in[0] >= 0;
}

/* 1, 0, or -1 for not known. */
static int condition(const struct branches *b, int value)
{
    const struct sc_graph *graph = b->edit.model->graph;
    const struct sc_tensor *known = b->facts[value].value;
    for (int i = 0; b->options->modes && i < graph->n_inputs; i++) {
        if (graph->inputs[i] == value && b->options->modes[i]) {
            return b->options->modes[i] > 0;
        }
    }
    if (!known || known->type != SC_BOOL || sc_tensor_count(known) != 1 || known->storage != SC_STORAGE_PLAIN) {
        return -1;
    }
    return *(const uint8_t *)known->data != 0;
}

/* The branch that the node takes, or NULL. */
static struct sc_graph *taken(const struct branches *b, const struct sc_node *node)
{
    const int holds = is_if(node) ? condition(b, node->in[0]) : -1;
    const struct sc_attribute *branch =
        holds < 0 ? NULL : sc_node_attribute(node, holds ? "then_branch" : "else_branch");
    const bool fits = branch && branch->type == SC_ATTRIBUTE_GRAPH && branch->u.graph->n_inputs == 0 &&
        branch->u.graph->n_outputs >= node->n_out;
    return fits ? branch->u.graph : NULL;
}

static enum sc_status new_value(
    struct branches *b, const struct sc_node *node, const struct sc_graph_value *from, int *to)
{
    struct sc_graph *graph = b->edit.graph;
    SC_TRY(sc_graph_find(graph, from->name) < 0 ? sc_graph_add_value(graph, from->name, to)
                                                : sc_edit_value(&b->edit, sc_edit_label(graph, node), from->name, to));
    graph->values[*to].fact = from->fact;
    return SC_OK;
}

/* What each value of the branch is in the graph around it. Outputs of the If are the branch's own values. */
static enum sc_status map_values(struct branches *b, const struct sc_node *node, const struct sc_graph *body, int *map)
{
    for (int v = 0; v < body->n_values; v++) {
        map[v] = body->values[v].place == SC_PLACE_OUTER ? body->values[v].outer : -1;
    }
    for (int o = 0; o < node->n_out; o++) {
        const int made = body->outputs[o];
        if (node->out[o] >= 0 && map[made] < 0 && body->values[made].place == SC_PLACE_NODE) {
            map[made] = node->out[o];
        }
    }
    for (int v = 0; v < body->n_values; v++) {
        if (map[v] >= 0) {
            continue;
        }
        SC_TRY(new_value(b, node, &body->values[v], &map[v]));
        if (body->values[v].place == SC_PLACE_INITIALIZER) {
            SC_TRY(sc_graph_add_weight(b->edit.graph, &body->weights[body->values[v].weight], map[v]));
            b->edit.graph->values[map[v]].place = SC_PLACE_INITIALIZER;
        }
    }
    return SC_OK;
}

/* Bodies of the branch's nodes are bodies of the graph's now. */
static void adopt_bodies(const struct sc_graph *graph, const struct sc_node *node, const int *map)
{
    for (int a = 0; a < node->n_attributes; a++) {
        if (node->attributes[a].type != SC_ATTRIBUTE_GRAPH) {
            continue;
        }
        struct sc_graph *body = node->attributes[a].u.graph;
        body->outer = graph;
        for (int v = 0; v < body->n_values; v++) {
            if (body->values[v].place == SC_PLACE_OUTER) {
                body->values[v].outer = map[body->values[v].outer];
            }
        }
    }
}

static enum sc_status append_branch(struct branches *b, const struct sc_node *node, const struct sc_graph *body)
{
    int *map = sc_arena_array(&b->scratch, (size_t)body->n_values + 1, sizeof *map);
    if (!map) {
        return SC_NO_MEMORY;
    }
    SC_TRY(map_values(b, node, body, map));
    for (int n = 0; n < body->n_nodes; n++) {
        struct sc_node moved = body->nodes[n];
        for (int i = 0; i < moved.n_in; i++) {
            moved.in[i] = moved.in[i] < 0 ? -1 : map[moved.in[i]];
        }
        for (int o = 0; o < moved.n_out; o++) {
            moved.out[o] = moved.out[o] < 0 ? -1 : map[moved.out[o]];
        }
        adopt_bodies(b->edit.graph, &moved, map);
        SC_TRY(sc_edit_unit(&b->edit, &moved));
        SC_TRY(sc_edit_append(&b->edit, &moved));
    }
    const int version = sc_model_opset(b->edit.model, "");
    for (int o = 0; o < node->n_out; o++) {
        const int made = map[body->outputs[o]];
        if (node->out[o] >= 0 && made != node->out[o]) {
            struct sc_node copy;
            SC_TRY(sc_edit_node(&b->edit, node, "Identity", version, 1, &made, 1, &node->out[o], &copy));
            SC_TRY(sc_edit_unit(&b->edit, &copy));
            SC_TRY(sc_edit_append(&b->edit, &copy));
        }
    }
    sc_edit_replaced(&b->edit, node);
    return SC_OK;
}

/* One round; *again: something was taken, so that there may be more. */
static enum sc_status take(struct branches *b, struct sc_graph *graph, bool *again)
{
    b->facts = sc_arena_array(&b->scratch, (size_t)graph->n_values + 1, sizeof *b->facts);
    if (!b->facts) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        b->facts[v] = graph->values[v].fact;
    }
    SC_TRY(sc_infer_graph(graph, sc_kernels_at(SC_ISA_BASE), &b->scratch, NULL, b->facts));
    *again = false;
    for (int n = 0; n < graph->n_nodes && !*again; n++) {
        *again = taken(b, &graph->nodes[n]) != NULL;
    }
    if (!*again) {
        return SC_OK;
    }
    int n;
    const struct sc_node *nodes = sc_edit_graph(&b->edit, graph, &n);
    for (int i = 0; i < n; i++) {
        const struct sc_graph *branch = taken(b, &nodes[i]);
        SC_TRY(branch ? append_branch(b, &nodes[i], branch) : sc_edit_append(&b->edit, &nodes[i]));
    }
    return SC_OK;
}

static bool has_if(const struct sc_graph *graph)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        if (is_if(&graph->nodes[n])) {
            return true;
        }
    }
    return false;
}

/* The value of `main` that a body captures, however deep it is; -1: none. */
static int outermost(const struct sc_graph *main, const struct sc_graph *graph, int value)
{
    while (graph->outer && value >= 0) {
        const struct sc_graph_value *captured = &graph->values[value];
        value = captured->place == SC_PLACE_OUTER ? captured->outer : -1;
        graph = graph->outer;
    }
    return graph == main ? value : -1; /* else it is in a function that nobody calls any more */
}

enum sc_status sc_pass_keep_conditions(const struct sc_model *model, int8_t *modes)
{
    const struct sc_graph *main = model->graph;
    bool *decides = calloc((size_t)main->n_values + 1, sizeof *decides);
    if (!decides) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %d values", main->n_values);
    }
    for (const struct sc_graph *graph = model->all_graphs; graph; graph = graph->next) {
        for (int n = 0; n < graph->n_nodes; n++) {
            const int value = is_if(&graph->nodes[n]) ? outermost(main, graph, graph->nodes[n].in[0]) : -1;
            decides[value < 0 ? main->n_values : value] = true;
        }
    }
    for (int i = 0; i < main->n_inputs; i++) {
        modes[i] = (int8_t)(decides[main->inputs[i]] ? modes[i] : 0);
    }
    free(decides);
    return SC_OK;
}

enum sc_status sc_pass_branches(struct sc_model *model, const struct sc_pass_options *options)
{
    struct branches b = {.options = options};
    enum sc_status status = SC_OK;
    sc_edit_open(&b.edit, model);
    for (bool again = true; again && status == SC_OK && has_if(model->graph);) {
        status = take(&b, model->graph, &again);
    }
    sc_arena_release(&b.scratch);
    return status;
}
