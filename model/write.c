/* SPDX-License-Identifier: Apache-2.0
 * From a graph to a file: messages that point into the model are made first, then packed straight to the disk. */
#include "model/write.h"

#include <limits.h>
#include <string.h>

#include "model/load.h"

enum { OLDEST_WRITTEN_IR = 4, ANNOTATED_IR = 11, COPIED_BYTES = 4 << 20 };

/* What protobuf-c packs goes to a file. */
struct sink {
    ProtobufCBuffer base; /* first: protobuf-c hands it back */
    struct sc_file_writer file;
    const struct sc_model *model;
    enum sc_status status;
};

/* The pages of a mapped file that were copied will not be read again. */
static void let_go(const struct sc_model *model, const unsigned char *data, size_t bytes)
{
    for (int i = 0; i < model->n_files; i++) {
        const struct sc_file *file = &model->files[i];
        if (file->data && data >= file->data && data < file->data + file->bytes) {
            sc_file_drop(file, (size_t)(data - file->data), bytes);
        }
    }
}

/* In pieces, so that only a few megabytes of mapped files are in memory at a time. */
static enum sc_status copy(struct sink *sink, const unsigned char *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const size_t piece = bytes - at < COPIED_BYTES ? bytes - at : COPIED_BYTES;
        SC_TRY(sc_file_append(&sink->file, data + at, piece));
        if (piece > COPIED_BYTES / 64) {
            let_go(sink->model, data + at, piece);
        }
        at += piece;
    }
    return SC_OK;
}

static void take(ProtobufCBuffer *buffer, size_t bytes, const uint8_t *data)
{
    struct sink *sink = (struct sink *)buffer;
    if (sink->status == SC_OK) {
        sink->status = copy(sink, data, bytes);
    }
}

static enum sc_status write_opsets(struct sc_writer *writer, size_t *n, Sc__Onnx__OperatorSetIdProto ***imports)
{
    *n = (size_t)writer->n_opsets;
    *imports = sc_arena_array(writer->arena, *n, sizeof(Sc__Onnx__OperatorSetIdProto *));
    Sc__Onnx__OperatorSetIdProto *protos = sc_arena_array(writer->arena, *n, sizeof *protos);
    if (!*imports || !protos) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < *n; i++) {
        sc__onnx__operator_set_id_proto__init(&protos[i]);
        protos[i].domain = sc_write_text(writer->opsets[i].domain);
        protos[i].has_version = 1;
        protos[i].version = writer->opsets[i].version;
        (*imports)[i] = &protos[i];
    }
    return SC_OK;
}

/* A function imports what it was loaded with. */
static enum sc_status write_function(
    struct sc_writer *writer, const struct sc_function *function, Sc__Onnx__FunctionProto **result)
{
    const struct sc_graph *body = function->body;
    Sc__Onnx__FunctionProto *proto = sc_arena_alloc(writer->arena, sizeof *proto);
    if (!proto) {
        return SC_NO_MEMORY;
    }
    sc__onnx__function_proto__init(proto);
    proto->name = sc_write_text(function->name);
    proto->domain = sc_write_text(function->domain);
    proto->overload = *function->overload ? sc_write_text(function->overload) : proto->overload;
    proto->n_input = (size_t)body->n_inputs;
    proto->n_output = (size_t)body->n_outputs;
    proto->input = sc_arena_array(writer->arena, proto->n_input, sizeof *proto->input);
    proto->output = sc_arena_array(writer->arena, proto->n_output, sizeof *proto->output);
    proto->n_attribute = (size_t)function->n_attributes;
    proto->attribute = sc_arena_array(writer->arena, proto->n_attribute, sizeof *proto->attribute);
    if (!proto->input || !proto->output || !proto->attribute) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < body->n_inputs; i++) {
        proto->input[i] = sc_write_text(body->values[body->inputs[i]].name);
    }
    for (int o = 0; o < body->n_outputs; o++) {
        proto->output[o] = sc_write_text(body->values[body->outputs[o]].name);
    }
    for (int a = 0; a < function->n_attributes; a++) {
        proto->attribute[a] = sc_write_text(function->attributes[a]);
    }
    writer->n_opsets = function->n_opsets ? function->n_opsets : writer->model->n_opsets;
    writer->opsets = function->n_opsets ? function->opsets : writer->model->opsets;
    SC_TRY(write_opsets(writer, &proto->n_opset_import, &proto->opset_import));
    proto->n_attribute_proto = (size_t)function->n_defaults;
    SC_TRY(sc_write_attributes(writer, function->n_defaults, function->defaults, &proto->attribute_proto));
    SC_TRY(sc_write_nodes(writer, body, &proto->n_node, &proto->node));
    *result = proto;
    return sc_write_value_infos(writer, body, &proto->n_value_info, &proto->value_info);
}

static enum sc_status write_functions(struct sc_writer *writer, Sc__Onnx__ModelProto *proto)
{
    const struct sc_model *model = writer->model;
    const int n = writer->calls ? model->n_functions : 0; /* none once they have become their nodes */
    proto->functions = sc_arena_array(writer->arena, (size_t)n, sizeof(Sc__Onnx__FunctionProto *));
    if (!proto->functions) {
        return SC_NO_MEMORY;
    }
    for (int f = 0; f < n; f++) {
        SC_TRY(write_function(writer, &model->functions[f], &proto->functions[f]));
        proto->n_functions++;
    }
    return SC_OK;
}

/* One configuration with a device for each stage. */
static enum sc_status write_devices(struct sc_writer *writer, int n_stages, Sc__Onnx__ModelProto *proto)
{
    Sc__Onnx__DeviceConfigurationProto *configuration = sc_arena_alloc(writer->arena, sizeof *configuration);
    char **names = sc_arena_array(writer->arena, (size_t)n_stages, sizeof *names);
    proto->configuration = sc_arena_array(writer->arena, 1, sizeof *proto->configuration);
    if (!configuration || !names || !proto->configuration) {
        return SC_NO_MEMORY;
    }
    for (int s = 0; s < n_stages; s++) {
        names[s] = sc_arena_printf(writer->arena, "stage %d", s);
        if (!names[s]) {
            return SC_NO_MEMORY;
        }
    }
    sc__onnx__device_configuration_proto__init(configuration);
    configuration->name = sc_write_text(SC_WRITE_CONFIGURATION);
    configuration->has_num_devices = 1;
    configuration->num_devices = n_stages;
    configuration->n_device = (size_t)n_stages;
    configuration->device = names;
    proto->configuration[0] = configuration;
    proto->n_configuration = 1;
    proto->ir_version = proto->ir_version < ANNOTATED_IR ? ANNOTATED_IR : proto->ir_version;
    return SC_OK;
}

static enum sc_status write_model(struct sc_writer *writer, const struct sc_graph *graph, Sc__Onnx__ModelProto *proto)
{
    const struct sc_model *model = writer->model;
    sc__onnx__model_proto__init(proto);
    proto->has_ir_version = 1;
    proto->ir_version = model->ir_version < OLDEST_WRITTEN_IR ? OLDEST_WRITTEN_IR : model->ir_version;
    proto->producer_name = sc_write_text(model->producer);
    writer->n_opsets = model->n_opsets;
    writer->opsets = model->opsets;
    SC_TRY(write_opsets(writer, &proto->n_opset_import, &proto->opset_import));
    SC_TRY(sc_write_graph(writer, graph, &proto->graph));
    return write_functions(writer, proto);
}

static enum sc_status write_parts(struct sink *sink, const struct sc_writer *writer)
{
    static const unsigned char zeros[4096];
    size_t at = 0;
    for (size_t i = 0; i < writer->n_parts; i++) {
        const struct sc_written_part *part = &writer->parts[i];
        SC_TRY(sc_file_append(&sink->file, zeros, part->offset - at)); /* less than a page */
        SC_TRY(copy(sink, part->data, part->bytes));
        at = part->offset + part->bytes;
    }
    return sc_file_flush(&sink->file);
}

static enum sc_status pack(struct sink *sink, const Sc__Onnx__ModelProto *proto)
{
    const size_t bytes = protobuf_c_message_get_packed_size(&proto->base);
    if (bytes > INT_MAX) {
        return sc_fail(SC_LIMIT, "'%s' would have %zu bytes, want at most %d: put values into external data",
            sink->file.path, bytes, INT_MAX);
    }
    (void)protobuf_c_message_pack_to_buffer(&proto->base, &sink->base);
    SC_TRY(sink->status);
    return sc_file_flush(&sink->file);
}

/* Both files get their names when both are on the disk. */
static enum sc_status write_files(
    const struct sc_writer *writer, const Sc__Onnx__ModelProto *proto, const char *path, const char *data_path)
{
    struct sink model = {.base = {take}, .model = writer->model}, data = {.model = writer->model};
    enum sc_status status = SC_OK;
    if (writer->n_parts) {
        status = sc_file_begin(data_path, &data.file);
        status = status == SC_OK ? write_parts(&data, writer) : status;
    }
    status = status == SC_OK ? sc_file_begin(path, &model.file) : status;
    status = status == SC_OK ? pack(&model, proto) : status;
    if (writer->n_parts) {
        status = status == SC_OK ? sc_file_commit(&data.file) : status;
    }
    status = status == SC_OK ? sc_file_commit(&model.file) : status;
    sc_file_abandon(&model.file);
    sc_file_abandon(&data.file);
    return status;
}

static enum sc_status data_path_of(struct sc_writer *writer, const char *path, const char **data_path)
{
    const char *location = writer->location;
    if (!*location || strchr(location, '/') || strcmp(location, ".") == 0 || strcmp(location, "..") == 0) {
        return sc_fail(SC_BAD_USAGE, "'%s' is not the name of a file beside '%s'", location, path);
    }
    const char *folder = sc_path_folder(writer->arena, path);
    *data_path = folder ? sc_path_join(writer->arena, folder, location) : NULL;
    if (!*data_path) {
        return SC_NO_MEMORY;
    }
    return strcmp(*data_path, path) != 0
        ? SC_OK
        : sc_fail(SC_BAD_USAGE, "'%s' cannot be the model and its external data", path);
}

enum sc_status sc_model_write(const struct sc_model *model, const struct sc_graph *graph, const char *path,
    const struct sc_write_options *options)
{
    struct sc_arena arena = {0};
    struct sc_writer writer = {.model = model, .arena = &arena, .location = options ? options->location : NULL};
    Sc__Onnx__ModelProto proto;
    const char *data_path = NULL;
    if (model->remote) {
        return sc_fail(SC_UNSUPPORTED, "'%s' cannot be written by a process that has not its file", model->path);
    }
    if (options && options->stages) {
        writer.annotated = graph;
        writer.stages = options->stages;
    }
    enum sc_status status = writer.location ? data_path_of(&writer, path, &data_path) : SC_OK;
    if (status == SC_OK) {
        status = write_model(&writer, graph, &proto);
    }
    if (status == SC_OK && writer.annotated) {
        status = write_devices(&writer, options->n_stages, &proto);
    }
    if (status == SC_OK) {
        status = write_files(&writer, &proto, path, data_path);
    }
    sc_arena_release(&arena);
    return status;
}
