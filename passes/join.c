/* SPDX-License-Identifier: Apache-2.0
 * Graphs side by side, an output of one feeding an input of the next.
 *
 *   a: x ── Relu ── y                                 a:x ── Relu ── a:y ── Exp ── z
 *   b: h ── Exp ── z         becomes, for b.h = a:y
 */
#include "passes/join.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "passes/edit.h"

struct joining {
    struct sc_model *model; /* the whole */
    struct sc_edit edit;
    struct sc_arena scratch; /* of the part at hand */
    const struct sc_join_part *part;
    const struct sc_graph *from; /* its graph */
    bool *read; /* by value of it: something that stays reads or makes it */
    bool *stays; /* by node of it */
    int *map; /* by value of it: what it is in the whole; -1: nothing */
    int first_unit, first_file, first_node, first_index;
};

static enum sc_status find_what_stays(struct joining *j)
{
    const struct sc_graph *from = j->from;
    j->read = sc_arena_array(&j->scratch, (size_t)from->n_values + 1, sizeof *j->read);
    j->stays = sc_arena_array(&j->scratch, (size_t)from->n_nodes + 1, sizeof *j->stays);
    j->map = sc_arena_array(&j->scratch, (size_t)from->n_values + 1, sizeof *j->map);
    if (!j->read || !j->stays || !j->map) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < from->n_values; v++) {
        j->map[v] = -1;
    }
    for (int o = 0; o < j->part->n_outputs; o++) {
        j->read[j->part->outputs[o]] = true;
    }
    for (int n = from->n_nodes - 1; n >= 0; n--) {
        const struct sc_node *node = &from->nodes[n];
        j->stays[n] = sc_node_mark_reads(node, j->read);
        for (int o = 0; o < node->n_out && j->stays[n]; o++) {
            j->read[node->out[o] < 0 ? from->n_values : node->out[o]] = true;
        }
    }
    return SC_OK;
}

/* The whole's arrays grow by those of the part. */
static enum sc_status take_files(struct joining *j)
{
    struct sc_model *model = j->model, *part = j->part->model;
    const size_t n = (size_t)model->n_files + (size_t)part->n_files;
    struct sc_file *files = sc_arena_array(&model->arena, n, sizeof *files);
    const char **names = sc_arena_array(&model->arena, n, sizeof *names);
    if (!files || !names) {
        return SC_NO_MEMORY;
    }
    for (size_t f = 0; f < n; f++) {
        const bool old = f < (size_t)model->n_files;
        const size_t at = old ? f : f - (size_t)model->n_files;
        files[f] = old ? model->files[at] : part->files[at];
        names[f] = old ? model->file_names[at] : part->file_names[at];
    }
    j->first_file = model->n_files;
    model->files = files;
    model->file_names = names;
    model->n_files = (int)n;
    part->n_files = 0; /* the whole releases them */
    return SC_OK;
}

static const char *prefixed(const struct joining *j, const char *name)
{
    return sc_arena_printf(&j->model->arena, "%s%s", j->part->prefix, name);
}

static enum sc_status take_units(struct joining *j)
{
    struct sc_model *model = j->model;
    const struct sc_model *part = j->part->model;
    j->first_unit = model->n_units;
    j->first_node = model->n_file_nodes;
    for (int u = 0; u < part->n_units; u++) {
        const char *name = part->unit_names[u];
        int unit;
        if (name && *name) {
            name = prefixed(j, name);
            SC_TRY(name ? SC_OK : SC_NO_MEMORY);
        }
        SC_TRY(sc_model_unit(model, name, -1, &unit));
        model->unit_file_nodes[unit] = part->unit_file_nodes[u] < 0 ? -1 : j->first_node + part->unit_file_nodes[u];
    }
    model->n_file_nodes += part->n_file_nodes;
    return SC_OK;
}

/* Dims keep their names. */
static enum sc_status move_fact(struct joining *j, struct sc_fact *fact)
{
    for (int d = 0; d < fact->rank; d++) {
        if (fact->dims[d] < SC_DIM_UNKNOWN) {
            SC_TRY(sc_model_symbol(j->model, j->part->model->symbols[-2 - fact->dims[d]], &fact->dims[d]));
        }
    }
    return SC_OK;
}

static enum sc_status take_value(struct joining *j, int v)
{
    struct sc_graph *graph = j->model->graph;
    const struct sc_graph_value *from = &j->from->values[v];
    const char *name = prefixed(j, from->name);
    SC_TRY(name ? SC_OK : SC_NO_MEMORY);
    SC_TRY(sc_graph_add_value(graph, name, &j->map[v]));
    struct sc_graph_value *to = &graph->values[j->map[v]];
    to->fact = from->fact;
    to->place = from->place;
    if (from->weight < 0) {
        return move_fact(j, &to->fact);
    }
    struct sc_weight weight = j->from->weights[from->weight];
    weight.file += weight.file < 0 ? 0 : j->first_file;
    return sc_graph_add_weight(graph, &weight, j->map[v]);
}

static enum sc_status take_values(struct joining *j)
{
    const struct sc_join_part *part = j->part;
    const int fed = part->input ? sc_graph_find(j->from, part->input) : -1;
    if (fed >= 0) {
        j->map[fed] = sc_graph_find(j->model->graph, part->from);
        if (j->map[fed] < 0) {
            return sc_fail(SC_BAD_MODEL, "'%s': input '%s' is fed by '%s', which no earlier file makes",
                part->model->path, part->input, part->from);
        }
    }
    for (int v = 0; v < j->from->n_values; v++) {
        if (j->read[v] && j->map[v] < 0) {
            SC_TRY(take_value(j, v));
        }
    }
    return SC_OK;
}

static enum sc_status map_list(const struct joining *j, int n, const int *from, int **to)
{
    *to = sc_arena_array(&j->model->arena, (size_t)n + 1, sizeof **to);
    for (int i = 0; *to && i < n; i++) {
        (*to)[i] = from[i] < 0 ? -1 : j->map[from[i]];
    }
    return *to ? SC_OK : SC_NO_MEMORY;
}

/* What the bodies of a node capture is found in the whole. */
static enum sc_status move_bodies(struct joining *j, const struct sc_node *node)
{
    for (int a = 0; a < node->n_attributes; a++) {
        const struct sc_attribute *attribute = &node->attributes[a];
        const bool bodies = attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
        for (int g = 0; bodies && g < attribute->n; g++) {
            struct sc_graph *body = &attribute->u.graph[g];
            body->outer = j->model->graph;
            for (int v = 0; v < body->n_values; v++) {
                if (body->values[v].place == SC_PLACE_OUTER) {
                    body->values[v].outer = j->map[body->values[v].outer];
                }
            }
        }
    }
    return SC_OK;
}

/* Dims, files and numbers of nodes in the bodies of a part, at any depth. */
static enum sc_status renumber_bodies(struct joining *j)
{
    for (struct sc_graph *body = j->part->model->all_graphs; body; body = body->next) {
        if (body == j->from) {
            continue;
        }
        for (int v = 0; v < body->n_values; v++) {
            SC_TRY(move_fact(j, &body->values[v].fact));
        }
        for (int w = 0; w < body->n_weights; w++) {
            body->weights[w].file += body->weights[w].file < 0 ? 0 : j->first_file;
        }
        for (int n = 0; n < body->n_nodes; n++) {
            struct sc_node *node = &body->nodes[n];
            node->index += j->first_index;
            for (int o = 0; o < node->n_origins; o++) {
                node->origins[o] += j->first_unit;
            }
        }
    }
    return SC_OK;
}

static enum sc_status take_node(struct joining *j, const struct sc_node *from)
{
    struct sc_node node = *from;
    int *origins = sc_arena_array(&j->model->arena, (size_t)node.n_origins + 1, sizeof *origins);
    SC_TRY(origins ? SC_OK : SC_NO_MEMORY);
    for (int o = 0; o < node.n_origins; o++) {
        origins[o] = j->first_unit + from->origins[o];
    }
    node.origins = origins;
    node.index += j->first_index;
    SC_TRY(map_list(j, node.n_in, from->in, &node.in));
    SC_TRY(map_list(j, node.n_out, from->out, &node.out));
    SC_TRY(move_bodies(j, &node));
    return sc_edit_append(&j->edit, &node);
}

/* Ends of the part that are ends of the whole. */
static enum sc_status take_ends(struct joining *j)
{
    struct sc_graph *graph = j->model->graph;
    const struct sc_join_part *part = j->part;
    int *inputs =
        sc_arena_array(&j->model->arena, (size_t)graph->n_inputs + (size_t)j->from->n_inputs + 1, sizeof *inputs);
    int *outputs =
        sc_arena_array(&j->model->arena, (size_t)graph->n_outputs + (size_t)part->n_outputs + 1, sizeof *outputs);
    SC_TRY(inputs && outputs ? SC_OK : SC_NO_MEMORY);
    for (int i = 0; i < graph->n_inputs; i++) {
        inputs[i] = graph->inputs[i];
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        outputs[o] = graph->outputs[o];
    }
    graph->inputs = inputs;
    graph->outputs = outputs;
    for (int i = 0; i < j->from->n_inputs; i++) {
        const int value = j->map[j->from->inputs[i]];
        const bool own = value >= 0 && graph->values[value].place == SC_PLACE_INPUT;
        if (own && (!part->input || strcmp(j->from->values[j->from->inputs[i]].name, part->input) != 0)) {
            graph->inputs[graph->n_inputs++] = value;
        }
    }
    for (int o = 0; o < part->n_outputs && !part->inner; o++) {
        graph->outputs[graph->n_outputs++] = j->map[part->outputs[o]];
    }
    return SC_OK;
}

/* The newest of both, for nodes that passes make; those of files have versions of their own. */
static enum sc_status take_opsets(struct joining *j)
{
    struct sc_model *model = j->model;
    const struct sc_model *part = j->part->model;
    struct sc_opset *opsets =
        sc_arena_array(&model->arena, (size_t)model->n_opsets + (size_t)part->n_opsets + 1, sizeof *opsets);
    SC_TRY(opsets ? SC_OK : SC_NO_MEMORY);
    for (int o = 0; o < model->n_opsets; o++) {
        opsets[o] = model->opsets[o];
    }
    for (int p = 0; p < part->n_opsets; p++) {
        int at = 0;
        while (at < model->n_opsets && strcmp(opsets[at].domain, part->opsets[p].domain) != 0) {
            at++;
        }
        if (at == model->n_opsets) {
            opsets[model->n_opsets++] = part->opsets[p];
        } else if (opsets[at].version < part->opsets[p].version) {
            opsets[at].version = part->opsets[p].version;
        }
    }
    model->opsets = opsets;
    return SC_OK;
}

/* Numbers of nodes of this part come after all that are there. */
static int next_index(const struct sc_model *model)
{
    int next = model->n_file_nodes;
    for (int p = 0; p < model->n_parts; p++) {
        for (const struct sc_graph *graph = model->parts[p]->all_graphs; graph; graph = graph->next) {
            for (int n = 0; n < graph->n_nodes; n++) {
                next = graph->nodes[n].index >= next ? graph->nodes[n].index + 1 : next;
            }
        }
    }
    for (int n = 0; n < model->graph->n_nodes; n++) {
        next = model->graph->nodes[n].index >= next ? model->graph->nodes[n].index + 1 : next;
    }
    return next;
}

static enum sc_status take_part(struct joining *j)
{
    struct sc_model *model = j->model;
    const struct sc_model *part = j->part->model;
    j->from = part->graph;
    j->first_index = next_index(model);
    model->ir_version = part->ir_version > model->ir_version ? part->ir_version : model->ir_version;
    model->producer = part->producer;
    model->remote |= part->remote;
    model->fingerprint = model->fingerprint * UINT64_C(0x9e3779b97f4a7c15) + part->fingerprint;
    SC_TRY(find_what_stays(j));
    SC_TRY(take_opsets(j));
    SC_TRY(take_files(j));
    SC_TRY(take_units(j));
    SC_TRY(renumber_bodies(j));
    SC_TRY(take_values(j));
    for (int n = 0; n < j->from->n_nodes; n++) {
        SC_TRY(j->stays[n] ? take_node(j, &j->from->nodes[n]) : SC_OK);
    }
    return take_ends(j);
}

static enum sc_status join(struct joining *j, int n, const struct sc_join_part *parts, const char *path)
{
    struct sc_model *model = j->model;
    int n_nodes;
    model->path = sc_arena_text(&model->arena, path, strlen(path));
    model->folder = model->path;
    model->graph = sc_model_new_graph(model);
    SC_TRY(model->path && model->graph && model->parts ? SC_OK : SC_NO_MEMORY);
    sc_edit_open(&j->edit, model);
    (void)sc_edit_graph(&j->edit, model->graph, &n_nodes);
    for (int p = 0; p < n; p++) {
        j->part = &parts[p];
        SC_TRY(take_part(j));
        sc_arena_reset(&j->scratch);
        model->parts[model->n_parts++] = parts[p].model;
    }
    model->n_file_symbols = model->n_symbols;
    return SC_OK;
}

enum sc_status sc_models_join(int n, struct sc_join_part *parts, const char *path, struct sc_model **out)
{
    struct joining j = {.model = calloc(1, sizeof *j.model)};
    enum sc_status status = j.model ? SC_OK : sc_fail(SC_NO_MEMORY, "out of memory: a model wanted");
    if (status == SC_OK) {
        j.model->parts = sc_arena_array(&j.model->arena, (size_t)n + 1, sizeof(struct sc_model *));
        status = join(&j, n, parts, path);
    }
    sc_arena_release(&j.scratch);
    if (status == SC_OK) {
        *out = j.model;
        return SC_OK;
    }
    const struct sc_error error = *sc_error_last();
    for (int p = j.model ? j.model->n_parts : 0; p < n; p++) {
        sc_model_close(parts[p].model);
    }
    sc_model_close(j.model);
    return sc_error_set(&error);
}
