/* SPDX-License-Identifier: Apache-2.0
 * Arrays of callers are checked here for what a struct can get wrong; whether they fit the model is the session's to
 * say. */
#include "api/pipeline.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct sc_text) == sizeof(struct sc_string), "strings are shown as they are");
static_assert(offsetof(struct sc_text, data) == offsetof(struct sc_string, data), "strings are shown as they are");
static_assert(offsetof(struct sc_text, bytes) == offsetof(struct sc_string, bytes), "strings are shown as they are");

/* Port i, and its name in the map. */
static enum sc_status make_port(struct sc_pipeline *pipeline, const struct sc_graph_value *value, int i,
    struct sc_port *ports, struct sc_map *names)
{
    const struct sc_fact *fact = &value->fact;
    const int rank = fact->kind == SC_KIND_TENSOR ? fact->rank : -1;
    int64_t *dims = sc_arena_array(&pipeline->arena, (size_t)(rank > 0 ? rank : 0) + 1, sizeof *dims);
    const char *name = sc_arena_text(&pipeline->arena, value->name, strlen(value->name));
    if (!dims || !name) {
        return SC_NO_MEMORY;
    }
    for (int d = 0; d < rank; d++) {
        dims[d] = fact->dims[d] >= 0 ? fact->dims[d] : -1;
    }
    ports[i] = (struct sc_port){.name = name,
        .type = fact->kind == SC_KIND_TENSOR ? (int32_t)fact->type : SC_ELEMENT_NONE,
        .rank = rank,
        .dims = dims};
    return sc_map_put(names, name, strlen(name), i);
}

enum sc_status sc_ports_make(const struct sc_model *model, struct sc_pipeline *pipeline)
{
    const struct sc_graph *graph = model->graph;
    const size_t n_in = (size_t)graph->n_inputs + 1, n_out = (size_t)graph->n_outputs + 1;
    pipeline->inputs = sc_arena_array(&pipeline->arena, n_in, sizeof *pipeline->inputs);
    pipeline->outputs = sc_arena_array(&pipeline->arena, n_out, sizeof *pipeline->outputs);
    pipeline->results = sc_arena_array(&pipeline->arena, n_out, sizeof *pipeline->results);
    if (!pipeline->inputs || !pipeline->outputs || !pipeline->results) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        SC_TRY(make_port(pipeline, value, i, pipeline->inputs, &pipeline->input_names));
        pipeline->inputs[i].optional = value->weight >= 0 || value->fact.kind == SC_KIND_OPTIONAL;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        const struct sc_graph_value *value = &graph->values[graph->outputs[o]];
        SC_TRY(make_port(pipeline, value, o, pipeline->outputs, &pipeline->output_names));
    }
    pipeline->n_inputs = graph->n_inputs;
    pipeline->n_outputs = graph->n_outputs;
    return SC_OK;
}

static enum sc_status check_strings(const struct sc_array *array, int64_t count)
{
    const struct sc_text *texts = array->data;
    for (int64_t i = 0; i < count; i++) {
        if (!texts[i].data && texts[i].bytes != 0) {
            return sc_fail(SC_BAD_INPUT, "input '%s': string %lld has no data", array->name, (long long)i);
        }
    }
    return SC_OK;
}

static enum sc_status read_array(const struct sc_array *array, struct sc_value *value)
{
    if (!sc_type_valid(array->type)) {
        return sc_fail(SC_BAD_INPUT, "input '%s': %d is no element type", array->name, array->type);
    }
    if (array->rank < 0 || array->rank > SC_MAX_RANK || (array->rank > 0 && !array->dims)) {
        return sc_fail(SC_BAD_INPUT, "input '%s' has rank %d and %s, want 0 to %d dims", array->name, array->rank,
            array->dims ? "dims" : "no dims", SC_MAX_RANK);
    }
    const enum sc_type type = (enum sc_type)array->type;
    if (sc_dims_check(array->name, type, array->rank, array->dims) != SC_OK) { /* which takes them for a model's */
        return sc_fail(SC_BAD_INPUT, "input %s", sc_error_last()->text);
    }
    value->kind = SC_KIND_TENSOR;
    struct sc_tensor *tensor = &value->u.tensor;
    sc_tensor_init(tensor, type, array->rank, array->dims);
    const size_t want = sc_tensor_bytes(tensor);
    if (array->bytes != want) {
        return sc_fail(SC_BAD_INPUT, "input '%s' has %zu bytes, its dims want %zu", array->name, array->bytes, want);
    }
    if (want > 0 && !array->data) {
        return sc_fail(SC_BAD_INPUT, "input '%s' has no data", array->name);
    }
    const size_t alignment = type == SC_STRING ? sizeof(void *) : sc_type_bytes(type) > 8 ? 8 : sc_type_bytes(type);
    if ((uintptr_t)array->data % alignment != 0) {
        return sc_fail(SC_BAD_INPUT, "input '%s': data is not aligned to %zu bytes", array->name, alignment);
    }
    tensor->data = (void *)(uintptr_t)array->data; /* inputs are only read */
    return type == SC_STRING ? check_strings(array, sc_tensor_count(tensor)) : SC_OK;
}

enum sc_status sc_arrays_read(
    struct sc_pipeline *pipeline, int n, const struct sc_array *arrays, const struct sc_value ***values)
{
    const size_t n_inputs = (size_t)pipeline->n_inputs + 1;
    struct sc_value *read = sc_arena_array(&pipeline->passing, n_inputs, sizeof *read);
    const struct sc_value **by_input = sc_arena_array(&pipeline->passing, n_inputs, sizeof *by_input);
    if (!read || !by_input) {
        return SC_NO_MEMORY;
    }
    for (int k = 0; k < n; k++) {
        if (!arrays[k].name) {
            return sc_fail(SC_BAD_INPUT, "input %d of %d has no name", k, n);
        }
        const int64_t i = sc_map_get(&pipeline->input_names, arrays[k].name, strlen(arrays[k].name), -1);
        if (i < 0) {
            return sc_fail(SC_BAD_INPUT, "the model has no input '%.100s'", arrays[k].name);
        }
        if (by_input[i]) {
            return sc_fail(SC_BAD_INPUT, "input '%s' is given twice", arrays[k].name);
        }
        SC_TRY(read_array(&arrays[k], &read[i]));
        by_input[i] = &read[i];
    }
    for (int i = 0; i < pipeline->n_inputs; i++) {
        if (!by_input[i] && !pipeline->inputs[i].optional) {
            return sc_fail(SC_BAD_INPUT, "input '%s' is missing", pipeline->inputs[i].name);
        }
    }
    *values = by_input;
    return SC_OK;
}

enum sc_status sc_array_show(
    struct sc_pipeline *pipeline, const struct sc_port *port, const struct sc_value *value, struct sc_array *array)
{
    if (value->kind != SC_KIND_TENSOR) {
        return sc_fail(SC_UNSUPPORTED, "output '%s' is no tensor", port->name);
    }
    const struct sc_tensor *tensor = &value->u.tensor;
    const bool as_is = tensor->storage == SC_STORAGE_PLAIN && sc_tensor_is_dense(tensor);
    struct sc_tensor shown = *tensor;
    if (!as_is) {
        SC_TRY(sc_tensor_new(&pipeline->shown, tensor->type, tensor->rank, tensor->dims, &shown));
        sc_tensor_copy_dense(tensor, shown.data);
    }
    *array = (struct sc_array){.name = port->name,
        .type = (int32_t)shown.type,
        .rank = shown.rank,
        .dims = as_is ? tensor->dims : NULL,
        .data = shown.data,
        .bytes = sc_tensor_bytes(&shown)};
    if (!as_is) {
        int64_t *dims = sc_arena_array(&pipeline->shown, SC_MAX_RANK, sizeof *dims);
        if (!dims) {
            return SC_NO_MEMORY;
        }
        memcpy(dims, shown.dims, sizeof shown.dims);
        array->dims = dims;
    }
    return SC_OK;
}
