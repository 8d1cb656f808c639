/* SPDX-License-Identifier: Apache-2.0
 * From a path to a model: map, walk to a skeleton, unpack it, copy what matters into the model's arena. */
#include <stdlib.h>
#include <string.h>

#include "model/load.h"

#define OLDEST_IR 3
#define NEWEST_IR 14

struct sc_graph *sc_model_new_graph(struct sc_model *model)
{
    struct sc_graph *graph = sc_arena_alloc(&model->arena, sizeof *graph);
    if (!graph) {
        return NULL;
    }
    graph->arena = &model->arena;
    graph->name = "";
    if (model->last_graph) {
        model->last_graph->next = graph;
    } else {
        model->all_graphs = graph;
    }
    model->last_graph = graph;
    return graph;
}

int sc_model_opset(const struct sc_model *model, const char *domain)
{
    return sc_opset_version(model->n_opsets, model->opsets, sc_domain_of(domain));
}

static enum sc_status load_header(struct sc_loader *loader, const Sc__Onnx__ModelProto *proto)
{
    struct sc_model *model = loader->model;
    if (!proto->has_ir_version || !proto->graph) {
        return sc_fail(SC_BAD_MODEL, "'%s' has no %s: it is not an ONNX model", loader->what,
            proto->has_ir_version ? "graph" : "ir_version");
    }
    if (proto->ir_version < OLDEST_IR || proto->ir_version > NEWEST_IR) {
        return sc_fail(SC_UNSUPPORTED, "'%s' has IR version %lld, known are %d to %d", loader->what,
            (long long)proto->ir_version, OLDEST_IR, NEWEST_IR);
    }
    model->ir_version = proto->ir_version;
    const char *producer = sc_or_empty(proto->producer_name);
    model->producer = sc_arena_text(loader->arena, producer, strlen(producer));
    if (!model->producer) {
        return SC_NO_MEMORY;
    }
    if (proto->n_opset_import == 0) {
        return sc_fail(SC_BAD_MODEL, "'%s' imports no operator set", loader->what);
    }
    return SC_OK;
}

/* The pipeline stage that the file's multi-device annotations give a node, or -1. */
static int annotated_stage(const Sc__Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_device_configurations; i++) {
        if (node->device_configurations[i]->has_pipeline_stage) {
            return node->device_configurations[i]->pipeline_stage;
        }
    }
    return -1;
}

/* What plans call the nodes of the file, and the stages that it asks for. */
static enum sc_status note_file_nodes(struct sc_loader *loader, const Sc__Onnx__GraphProto *proto)
{
    struct sc_model *model = loader->model;
    const struct sc_graph *graph = model->graph;
    const char **names = sc_arena_array(loader->arena, (size_t)graph->n_nodes, sizeof *names);
    int *stages = sc_arena_array(loader->arena, (size_t)graph->n_nodes, sizeof *stages);
    model->unit_file_nodes = sc_arena_array(loader->arena, (size_t)graph->n_nodes, sizeof *model->unit_file_nodes);
    if (!names || !stages || !model->unit_file_nodes) {
        return SC_NO_MEMORY;
    }
    bool annotated = false;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct sc_node *node = &graph->nodes[i];
        names[i] = "";
        model->unit_file_nodes[i] = i;
        for (int j = 0; j < node->n_out && !names[i][0]; j++) {
            names[i] = node->out[j] >= 0 ? graph->values[node->out[j]].name : "";
        }
        stages[i] = annotated_stage(proto->node[i]);
        annotated = annotated || stages[i] >= 0;
    }
    model->n_file_nodes = model->n_units = model->cap_units = graph->n_nodes;
    model->unit_names = names;
    model->file_node_stages = annotated ? stages : NULL;
    return SC_OK;
}

enum sc_status sc_model_unit(struct sc_model *model, const char *name, int from, int *unit)
{
    if (model->n_units == model->cap_units) {
        const int capacity = model->cap_units < 32 ? 64 : 2 * model->cap_units;
        const char **names = sc_arena_array(&model->arena, (size_t)capacity, sizeof *names);
        int *file_nodes = sc_arena_array(&model->arena, (size_t)capacity, sizeof *file_nodes);
        if (!names || !file_nodes) {
            return SC_NO_MEMORY;
        }
        for (int i = 0; i < model->n_units; i++) {
            names[i] = model->unit_names[i];
            file_nodes[i] = model->unit_file_nodes[i];
        }
        model->unit_names = names;
        model->unit_file_nodes = file_nodes;
        model->cap_units = capacity;
    }
    *unit = model->n_units++;
    model->unit_names[*unit] = name;
    model->unit_file_nodes[*unit] = from < 0 ? -1 : model->unit_file_nodes[from];
    return SC_OK;
}

/* Value infos came after the nodes that own bodies, so what bodies know of outer values is settled last. */
static void settle_outer_facts(struct sc_model *model)
{
    for (struct sc_graph *graph = model->all_graphs; graph; graph = graph->next) {
        for (int i = 0; i < graph->n_values; i++) {
            struct sc_graph_value *value = &graph->values[i];
            if (value->place == SC_PLACE_OUTER) {
                value->fact = graph->outer->values[value->outer].fact;
            }
        }
    }
}

static enum sc_status load_content(struct sc_loader *loader, const Sc__Onnx__ModelProto *proto)
{
    struct sc_model *model = loader->model;
    SC_TRY(sc_load_opsets(loader, proto->n_opset_import, proto->opset_import, &model->n_opsets, &model->opsets));
    model->graph = sc_model_new_graph(model);
    if (!model->graph) {
        return SC_NO_MEMORY;
    }
    loader->next_index = proto->graph->n_node < INT32_MAX / 2 ? (int)proto->graph->n_node : INT32_MAX / 2;
    SC_TRY(sc_load_functions(loader, proto));
    struct sc_scope scope = {.graph = model->graph, .opsets = model->opsets, .n_opsets = model->n_opsets};
    SC_TRY(sc_load_graph(loader, proto->graph, &scope));
    SC_TRY(note_file_nodes(loader, proto->graph));
    settle_outer_facts(model);
    model->n_file_symbols = model->n_symbols;
    model->fingerprint = loader->skeleton.fingerprint;
    return SC_OK;
}

/* What is wrong inside is told without the file's name, which is put before it here. */
static enum sc_status load_model(struct sc_loader *loader, const Sc__Onnx__ModelProto *proto)
{
    SC_TRY(load_header(loader, proto));
    return load_content(loader, proto) == SC_OK ? SC_OK : sc_fail_in("'%s'", loader->what);
}

static enum sc_status map_model(struct sc_loader *loader, const char *path)
{
    struct sc_model *model = loader->model;
    SC_TRY(sc_locate_model(path, loader->arena, &model->path));
    model->folder = sc_path_folder(loader->arena, model->path);
    model->files = sc_arena_alloc(loader->arena, sizeof *model->files);
    model->file_names = sc_arena_alloc(loader->arena, sizeof *model->file_names);
    if (!model->folder || !model->files || !model->file_names) {
        return SC_NO_MEMORY;
    }
    loader->cap_files = 1;
    loader->what = model->path;
    model->file_names[0] = model->path;
    SC_TRY(sc_file_map(model->path, &model->files[0]));
    model->n_files = 1;
    loader->file = model->files[0];
    static const char pointer[] = "version https://git-lfs";
    if (loader->file.bytes >= sizeof pointer - 1 && memcmp(loader->file.data, pointer, sizeof pointer - 1) == 0) {
        return sc_fail(
            SC_BAD_MODEL, "'%s' is a Git LFS pointer, not the model: fetch it with 'git lfs pull'", model->path);
    }
    return SC_OK;
}

static enum sc_status unpack_and_load(struct sc_loader *loader)
{
    const ProtobufCMessage *message;
    SC_TRY(sc_skeleton_unpack(
        loader->what, &sc__onnx__model_proto__descriptor, &loader->skeleton, &loader->scratch, &message));
    loader->scratch.limit_bytes = 0; /* from here on it grows with what was let through */
    return load_model(loader, (const Sc__Onnx__ModelProto *)message);
}

enum sc_status sc_load_skeleton(struct sc_loader *loader)
{
    const enum sc_status status = unpack_and_load(loader);
    sc_arena_release(&loader->scratch);
    sc_map_release(&loader->external);
    sc_map_release(&loader->functions);
    free(loader->calls);
    return status;
}

enum sc_status sc_load_path(struct sc_loader *loader, const char *path)
{
    SC_TRY(map_model(loader, path));
    SC_TRY(sc_walk(loader->what, &sc__onnx__model_proto__descriptor, &loader->file, &loader->skeleton));
    SC_TRY(sc_load_skeleton(loader));
    for (int i = 0; i < loader->model->n_files; i++) {
        const struct sc_file *file = &loader->model->files[i];
        sc_file_drop(file, 0, file->bytes); /* looked at between weights that this rank may never need */
    }
    return SC_OK;
}

enum sc_status sc_model_open_with(const char *path, const struct sc_model_options *options, struct sc_model **model)
{
    struct sc_model *made = calloc(1, sizeof *made);
    if (!made) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a model wanted");
    }
    struct sc_loader loader = {
        .model = made, .arena = &made->arena, .links = options && options->links, .function = -1};
    const enum sc_status status = sc_load_path(&loader, path);
    sc_skeleton_release(&loader.skeleton);
    if (status != SC_OK) {
        sc_model_close(made);
        return status;
    }
    *model = made;
    return SC_OK;
}

enum sc_status sc_model_open(const char *path, struct sc_model **model)
{
    return sc_model_open_with(path, NULL, model);
}

enum sc_status sc_model_check_files(const struct sc_model *model)
{
    for (int i = 0; i < model->n_files && !model->remote; i++) {
        SC_TRY(sc_file_check(model->file_names[i], &model->files[i]));
    }
    return SC_OK;
}

void sc_model_close(struct sc_model *model)
{
    if (!model) {
        return;
    }
    for (struct sc_graph *graph = model->all_graphs; graph; graph = graph->next) {
        sc_map_release(&graph->names);
    }
    sc_map_release(&model->symbol_indices);
    for (int i = 0; i < model->n_files; i++) {
        sc_file_release(&model->files[i]);
    }
    for (int i = 0; i < model->n_parts; i++) {
        sc_model_close(model->parts[i]);
    }
    sc_arena_release(&model->arena);
    free(model);
}
