/* SPDX-License-Identifier: Apache-2.0
 * sc_graph as GraphProto: what is dead or read by nobody is left out. */
#include <string.h>

#include "model/load.h"
#include "model/write.h"

static enum sc_status write_names(
    struct sc_writer *writer, const struct sc_graph *graph, int n, const int *values, char ***names)
{
    *names = sc_arena_array(writer->arena, (size_t)n, sizeof **names);
    if (!*names) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        (*names)[i] = sc_write_text(values[i] < 0 ? "" : sc_graph_value_name(graph, values[i]));
    }
    return SC_OK;
}

/* The model imports one version of a domain's operators; passes may have made nodes of another. */
static enum sc_status check_version(
    const struct sc_writer *writer, const struct sc_graph *graph, const struct sc_node *node)
{
    const int imported = sc_opset_version(writer->n_opsets, writer->opsets, node->domain);
    const bool assumed = imported == 0 && strcmp(node->domain, "com.microsoft") == 0 && node->version == 1;
    if (imported == node->version || assumed || node->function) {
        return SC_OK;
    }
    char name[192];
    return sc_fail(SC_UNSUPPORTED, "%s is of version %d of '%s', want %d, which the model imports",
        sc_node_text_name(graph, node, name, sizeof name), node->version, *node->domain ? node->domain : "ai.onnx",
        imported);
}

static enum sc_status write_node(
    struct sc_writer *writer, const struct sc_graph *graph, const struct sc_node *node, Sc__Onnx__NodeProto **result)
{
    SC_TRY(check_version(writer, graph, node));
    Sc__Onnx__NodeProto *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__node_proto__init(proto);
    proto->name = *node->name ? sc_write_text(node->name) : proto->name;
    proto->op_type = sc_write_text(node->op);
    proto->domain = *node->domain ? sc_write_text(node->domain) : proto->domain;
    writer->calls = writer->calls || node->function;
    if (node->function && *node->function->overload) {
        proto->overload = sc_write_text(node->function->overload);
    }
    proto->n_input = (size_t)node->n_in;
    proto->n_output = (size_t)node->n_out;
    proto->n_attribute = (size_t)node->n_attributes;
    SC_TRY(write_names(writer, graph, node->n_in, node->in, &proto->input));
    SC_TRY(write_names(writer, graph, node->n_out, node->out, &proto->output));
    *result = proto;
    return sc_write_attributes(writer, node->n_attributes, node->attributes, &proto->attribute);
}

/* The value is a weight that a node of the graph makes when it is loaded (passes/recipes.c). */
static bool is_made(const struct sc_graph *graph, int value)
{
    const struct sc_graph_value *v = &graph->values[value];
    const struct sc_recipe *recipe = v->place == SC_PLACE_INITIALIZER ? graph->weights[v->weight].recipe : NULL;
    return recipe && recipe->graph;
}

/* Nodes of recipes are nodes again. */
static bool is_written(const struct sc_graph *graph, const struct sc_node *node)
{
    bool written = !node->dead;
    for (int o = 0; o < node->n_out && !written; o++) {
        written = node->out[o] >= 0 && is_made(graph, node->out[o]);
    }
    return written;
}

/* IR 11: the stage of a node, under the one configuration that write.c names. */
static enum sc_status annotate(struct sc_writer *writer, int stage, Sc__Onnx__NodeProto *proto)
{
    Sc__Onnx__NodeDeviceConfigurationProto *configuration = sc_arena_alloc(writer->arena, sizeof *configuration);
    proto->device_configurations = sc_arena_array(writer->arena, 1, sizeof *proto->device_configurations);
    if (!configuration || !proto->device_configurations) {
        return SC_NO_MEMORY;
    }
    sc__onnx__node_device_configuration_proto__init(configuration);
    configuration->configuration_id = sc_write_text(SC_WRITE_CONFIGURATION);
    configuration->has_pipeline_stage = 1;
    configuration->pipeline_stage = stage;
    proto->device_configurations[0] = configuration;
    proto->n_device_configurations = 1;
    return SC_OK;
}

enum sc_status sc_write_nodes(
    struct sc_writer *writer, const struct sc_graph *graph, size_t *n, Sc__Onnx__NodeProto ***nodes)
{
    *n = 0;
    *nodes = sc_arena_array(writer->arena, (size_t)graph->n_nodes, sizeof(Sc__Onnx__NodeProto *));
    if (!*nodes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        if (is_written(graph, &graph->nodes[i])) {
            SC_TRY(write_node(writer, graph, &graph->nodes[i], &(*nodes)[*n]));
            const int stage = graph == writer->annotated ? writer->stages[i] : -1;
            SC_TRY(stage >= 0 ? annotate(writer, stage, (*nodes)[*n]) : SC_OK);
            (*n)++;
        }
    }
    return SC_OK;
}

static enum sc_status write_value_info(
    struct sc_writer *writer, const struct sc_graph_value *value, Sc__Onnx__ValueInfoProto **result)
{
    Sc__Onnx__ValueInfoProto *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__value_info_proto__init(proto);
    proto->name = sc_write_text(value->name);
    *result = proto;
    return sc_write_type(writer, &value->fact, &proto->type);
}

/* Defaults that passes have made constants are inputs no more. */
static enum sc_status write_inputs(struct sc_writer *writer, const struct sc_graph *graph, Sc__Onnx__GraphProto *proto)
{
    proto->input = sc_arena_array(writer->arena, (size_t)graph->n_inputs, sizeof(Sc__Onnx__ValueInfoProto *));
    if (!proto->input) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        if (value->place != SC_PLACE_INITIALIZER) {
            SC_TRY(write_value_info(writer, value, &proto->input[proto->n_input]));
            proto->n_input++;
        }
    }
    return SC_OK;
}

static enum sc_status write_outputs(struct sc_writer *writer, const struct sc_graph *graph, Sc__Onnx__GraphProto *proto)
{
    proto->output = sc_arena_array(writer->arena, (size_t)graph->n_outputs, sizeof(Sc__Onnx__ValueInfoProto *));
    if (!proto->output) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        SC_TRY(write_value_info(writer, &graph->values[graph->outputs[o]], &proto->output[o]));
        proto->n_output++;
    }
    return SC_OK;
}

enum sc_status sc_write_value_infos(
    struct sc_writer *writer, const struct sc_graph *graph, size_t *n, Sc__Onnx__ValueInfoProto ***infos)
{
    bool *skip = sc_arena_array(writer->arena, (size_t)graph->n_values, sizeof *skip);
    *n = 0;
    *infos = sc_arena_array(writer->arena, (size_t)graph->n_values, sizeof(Sc__Onnx__ValueInfoProto *));
    if (!skip || !*infos) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        skip[graph->outputs[o]] = true; /* declared there */
    }
    for (int v = 0; v < graph->n_values; v++) {
        const struct sc_graph_value *value = &graph->values[v];
        const bool made = value->place == SC_PLACE_NODE && value->producer >= 0 && !graph->nodes[value->producer].dead;
        const bool tells =
            value->fact.kind != SC_KIND_NONE && (value->fact.kind != SC_KIND_TENSOR || value->fact.rank >= 0);
        if (made && tells && !skip[v]) {
            SC_TRY(write_value_info(writer, value, &(*infos)[*n]));
            *n += (*infos)[*n]->type != NULL;
        }
    }
    return SC_OK;
}

static void mark_reads(const struct sc_graph *graph, bool *read)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        const struct sc_node *node = &graph->nodes[n];
        const bool written = is_written(graph, node);
        for (int i = 0; i < node->n_in && written; i++) {
            if (node->in[i] >= 0) {
                read[node->in[i]] = true;
            }
        }
        for (int a = 0; a < node->n_attributes && written; a++) {
            const struct sc_attribute *attribute = &node->attributes[a];
            const struct sc_graph *body =
                attribute->type == SC_ATTRIBUTE_GRAPH && !attribute->ref ? attribute->u.graph : NULL;
            for (int v = 0; body && v < body->n_values; v++) {
                if (body->values[v].place == SC_PLACE_OUTER) {
                    read[body->values[v].outer] = true;
                }
            }
        }
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        read[graph->outputs[o]] = true;
    }
}

static enum sc_status write_initializers(
    struct sc_writer *writer, const struct sc_graph *graph, Sc__Onnx__GraphProto *proto)
{
    bool *read = sc_arena_array(writer->arena, (size_t)graph->n_values, sizeof *read);
    proto->initializer = sc_arena_array(writer->arena, (size_t)graph->n_values, sizeof(Sc__Onnx__TensorProto *));
    if (!read || !proto->initializer) {
        return SC_NO_MEMORY;
    }
    mark_reads(graph, read);
    for (int v = 0; v < graph->n_values; v++) {
        const struct sc_graph_value *value = &graph->values[v];
        const bool is_default = value->place == SC_PLACE_INPUT && value->weight >= 0;
        if (is_default || (value->place == SC_PLACE_INITIALIZER && read[v] && !is_made(graph, v))) {
            SC_TRY(sc_write_weight(
                writer, &graph->weights[value->weight], value->name, &proto->initializer[proto->n_initializer]));
            proto->n_initializer++;
        }
    }
    return SC_OK;
}

enum sc_status sc_write_graph(struct sc_writer *writer, const struct sc_graph *graph, Sc__Onnx__GraphProto **result)
{
    Sc__Onnx__GraphProto *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__graph_proto__init(proto);
    proto->name = sc_write_text(graph->name);
    SC_TRY(sc_write_nodes(writer, graph, &proto->n_node, &proto->node));
    SC_TRY(write_inputs(writer, graph, proto));
    SC_TRY(write_outputs(writer, graph, proto));
    SC_TRY(write_initializers(writer, graph, proto));
    *result = proto;
    return sc_write_value_infos(writer, graph, &proto->n_value_info, &proto->value_info);
}
