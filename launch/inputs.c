/* SPDX-License-Identifier: Apache-2.0
 * Given tensors come first: their dims may settle those of the ones to make. */
#include "launch/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "launch/dims.h"
#include "launch/near.h"
#include "launch/npy.h"
#include "launch/sound.h"
#include "tensor/convert.h"

static const struct sc_graph_value *declared(const struct sc_model *model, int input)
{
    return &model->graph->values[model->graph->inputs[input]];
}

int sc_item_find(const struct sc_graph *graph, int n_values, const int *values, const char *item, const char **rest)
{
    int found = -1;
    size_t longest = 0;
    for (int i = 0; i < n_values; i++) {
        const char *name = graph->values[values[i]].name;
        const size_t bytes = strlen(name);
        if (strncmp(item, name, bytes) == 0 && item[bytes] == '=' && bytes >= longest) {
            found = i;
            longest = bytes;
            *rest = item + bytes + 1;
        }
    }
    return found;
}

int sc_inputs_find(const struct sc_model *model, const char *item, const char **path)
{
    return sc_item_find(model->graph, model->graph->n_inputs, model->graph->inputs, item, path);
}

static enum sc_status fail_unknown(const struct sc_model *model, const char *item, struct sc_arena *arena)
{
    const char *name = sc_arena_text(arena, item, strcspn(item, "="));
    if (!name) {
        return SC_NO_MEMORY;
    }
    struct sc_near near = {.word = name};
    const char *first = model->graph->n_inputs > 0 ? declared(model, 0)->name : NULL;
    for (int i = 0; i < model->graph->n_inputs; i++) {
        sc_near_try(&near, declared(model, i)->name, declared(model, i)->name);
    }
    if (near.found) {
        return sc_fail(SC_BAD_INPUT, "the model has no input '%s', did you mean '%s'?", name, near.found);
    }
    return sc_fail(SC_BAD_INPUT, "the model has no input '%s'; %s%s%s", name, first ? "its first is '" : "it has none",
        first ? first : "", first ? "'" : "");
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* left: where the mapping of a .npy file goes that its elements stay in; NULL: they are read. */
static enum sc_status read_file(const char *path, int64_t rate, const struct sc_graph_value *input,
    struct sc_arena *arena, struct sc_value *value, struct sc_file *left)
{
    if (ends_with(path, ".wav")) {
        return sc_sound_read(path, rate, input, arena, value);
    }
    if (ends_with(path, ".pb")) {
        return sc_value_read_pb(path, &input->fact, arena, value);
    }
    if (!ends_with(path, ".npy")) {
        return sc_fail(SC_BAD_USAGE, "'%s' is no .npy, .pb or .wav file", path);
    }
    if (input->fact.kind == SC_KIND_SEQUENCE || input->fact.kind == SC_KIND_MAP) {
        return sc_fail(SC_BAD_INPUT, "input '%s' is a %s, which a .npy file cannot hold: give a .pb file", input->name,
            input->fact.kind == SC_KIND_MAP ? "map" : "sequence");
    }
    value->kind = SC_KIND_TENSOR;
    return left ? sc_npy_map(path, arena, &value->u.tensor, left) : sc_npy_read(path, arena, &value->u.tensor);
}

static bool is_left(const struct sc_input_request *request, int input)
{
    for (int k = 0; k < request->n_left; k++) {
        if (request->left[k] == input) {
            return true;
        }
    }
    return request->pieces && sc_pieces_cuts(request->pieces, input);
}

/* One "NAME=FILE". */
static enum sc_status read_item(const struct sc_model *model, const struct sc_input_request *request, const char *item,
    struct sc_arena *arena, struct sc_inputs *inputs, struct sc_dims *dims)
{
    const char *equals = strchr(item, '='), *path = NULL;
    if (!equals || equals == item || !equals[1]) {
        return sc_fail(SC_BAD_USAGE, "option '--input': '%s' is not NAME=FILE", item);
    }
    const int i = sc_inputs_find(model, item, &path);
    if (i < 0) {
        return fail_unknown(model, item, arena);
    }
    const struct sc_graph_value *input = declared(model, i);
    if (inputs->values[i]) {
        return sc_fail(SC_BAD_USAGE, "input '%s' is given twice", input->name);
    }
    struct sc_value *value = sc_arena_alloc(arena, sizeof *value);
    if (!value) {
        return SC_NO_MEMORY;
    }
    SC_TRY(read_file(path, request->rate, input, arena, value, is_left(request, i) ? &inputs->files[i] : NULL));
    SC_TRY(request->pieces ? sc_pieces_take(request->pieces, model, i, &inputs->files[i], arena, value) : SC_OK);
    SC_TRY(sc_dims_bind(dims, i, value));
    inputs->values[i] = value;
    return SC_OK;
}

static enum sc_status fill(uint64_t seed, int input, const char *name, struct sc_tensor *tensor)
{
    const struct sc_random_key key = {.seed = seed, .stream = (uint64_t)input};
    const bool is_float = sc_type_is_float(tensor->type);
    const int64_t n = sc_tensor_count(tensor);
    if (!is_float && !sc_type_is_int(tensor->type) && tensor->type != SC_BOOL) {
        return sc_fail(SC_UNSUPPORTED, "input '%s' is %s, which cannot be made at random: give -i %s=FILE", name,
            sc_type_name(tensor->type), name);
    }
    for (int64_t i = 0; i < n; i++) {
        const double uniform = sc_random_uniform(&key, (uint64_t)i);
        const double value = is_float ? 2 * uniform - 1 : uniform < 0.5 ? 0 : 1;
        sc_convert(SC_F64, &value, tensor->type, (char *)tensor->data + (size_t)i * sc_type_bytes(tensor->type), 1, 0);
    }
    return SC_OK;
}

static enum sc_status make_random(const struct sc_model *model, int input, uint64_t seed, struct sc_arena *arena,
    struct sc_dims *dims, struct sc_value **made)
{
    const struct sc_fact *fact = &dims->facts[input];
    const char *name = declared(model, input)->name;
    if (fact->kind != SC_KIND_TENSOR) {
        return sc_fail(
            SC_UNSUPPORTED, "input '%s' is no tensor and cannot be made at random: give -i %s=FILE", name, name);
    }
    SC_TRY(sc_dims_require(dims, input));
    SC_TRY(sc_dims_check(name, fact->type, fact->rank, fact->dims));
    struct sc_value *value = sc_arena_alloc(arena, sizeof *value);
    if (!value) {
        return SC_NO_MEMORY;
    }
    value->kind = SC_KIND_TENSOR;
    const enum sc_status status = sc_tensor_new(arena, fact->type, fact->rank, fact->dims, &value->u.tensor);
    if (status == SC_NO_MEMORY) {
        return sc_fail(SC_LIMIT, "input '%s' of these dims: %s", name, sc_error_last()->text);
    }
    SC_TRY(status);
    SC_TRY(fill(seed, input, name, &value->u.tensor));
    *made = value;
    return SC_OK;
}

/* The pair whose state this input is; NULL: none that begins as zeros. */
static const struct sc_state_pair *find_state(
    const struct sc_model *model, const struct sc_input_request *request, int input)
{
    for (int s = 0; s < request->n_states; s++) {
        if (request->states[s].in == model->graph->inputs[input]) {
            return &request->states[s];
        }
    }
    return NULL;
}

static bool is_said(const struct sc_model *model, int value)
{
    for (int i = 0; i < model->n_said_states; i++) {
        if (model->said_states[2 * i] == value) {
            return true;
        }
    }
    return false;
}

/* Zeros of the dims that are known; where the state's operator or name says what it is, open ones are as it begins. */
static enum sc_status make_zeros(const struct sc_model *model, const struct sc_state_pair *pair, int input,
    struct sc_arena *arena, struct sc_dims *dims, struct sc_value **made)
{
    const struct sc_fact *fact = &dims->facts[input];
    int64_t empty[SC_MAX_RANK];
    SC_TRY(fact->rank != pair->rank || is_said(model, pair->in) ? sc_dims_require(dims, input) : SC_OK);
    for (int d = 0; d < fact->rank; d++) {
        empty[d] = fact->dims[d] >= 0 ? fact->dims[d] : pair->dims[d];
    }
    struct sc_value *value = sc_arena_alloc(arena, sizeof *value);
    if (!value) {
        return SC_NO_MEMORY;
    }
    value->kind = SC_KIND_TENSOR;
    SC_TRY(sc_dims_check(declared(model, input)->name, pair->type, fact->rank, empty));
    SC_TRY(sc_tensor_new(arena, pair->type, fact->rank, empty, &value->u.tensor));
    *made = value;
    return sc_dims_bind(dims, input, value);
}

/* What no item gave. */
static enum sc_status complete(const struct sc_model *model, const struct sc_input_request *request, int input,
    struct sc_arena *arena, struct sc_inputs *inputs, struct sc_dims *dims)
{
    const struct sc_graph_value *value = declared(model, input);
    struct sc_value *made = NULL;
    if (!inputs->values[input] && value->weight >= 0) {
        const struct sc_tensor *shape = &model->graph->weights[value->weight].shape;
        sc_fact_tensor(&dims->facts[input], shape->type, shape->rank, shape->dims);
        return SC_OK;
    }
    if (inputs->values[input] || value->fact.kind == SC_KIND_OPTIONAL) {
        return SC_OK;
    }
    const struct sc_state_pair *state = find_state(model, request, input);
    if (state) {
        SC_TRY(make_zeros(model, state, input, arena, dims, &made));
        inputs->values[input] = made;
        return SC_OK;
    }
    if (!request->random) {
        return sc_fail(SC_BAD_INPUT, "input '%s' is missing: give -i %s=FILE, or --random SEED to make one",
            value->name, value->name);
    }
    SC_TRY(make_random(model, input, request->seed, arena, dims, &made));
    inputs->values[input] = made;
    return SC_OK;
}

enum sc_status sc_inputs_make(const struct sc_model *model, const struct sc_input_request *request,
    struct sc_arena *arena, struct sc_inputs *inputs)
{
    struct sc_dims dims;
    const size_t n = (size_t)model->graph->n_inputs + 1;
    *inputs = (struct sc_inputs){.values = sc_arena_array(arena, n, sizeof *inputs->values),
        .given = sc_arena_array(arena, n, sizeof *inputs->given),
        .modes = sc_arena_array(arena, n, sizeof *inputs->modes),
        .files = sc_arena_array(arena, n, sizeof *inputs->files)};
    if (!inputs->values || !inputs->given || !inputs->modes || !inputs->files) {
        return SC_NO_MEMORY;
    }
    inputs->n_files = model->graph->n_inputs;
    SC_TRY(sc_dims_init(model, arena, &dims));
    SC_TRY(sc_dims_add_all(&dims, request->n_dims, request->dims));
    for (int k = 0; k < request->n_items; k++) {
        SC_TRY(read_item(model, request, request->items[k], arena, inputs, &dims));
    }
    for (int i = 0; i < model->graph->n_inputs; i++) {
        SC_TRY(complete(model, request, i, arena, inputs, &dims));
        inputs->given[i] = inputs->values[i] != NULL;
        inputs->modes[i] = sc_value_mode(inputs->values[i]);
    }
    inputs->facts = dims.facts;
    return SC_OK;
}

void sc_inputs_release(struct sc_inputs *inputs)
{
    for (int i = 0; inputs->files && i < inputs->n_files; i++) {
        sc_file_release(&inputs->files[i]);
    }
    inputs->n_files = 0;
}

void sc_inputs_options(const struct sc_inputs *inputs, struct sc_session_options *options)
{
    options->input_facts = inputs->facts;
    options->given_inputs = inputs->given;
    options->modes = inputs->modes;
}

struct sc_input_request sc_input_request_of(const struct sc_options *options)
{
    struct sc_input_request request = {.random = sc_options_given(options, "random"),
        .seed = (uint64_t)sc_options_int(options, "random"),
        .rate = sc_options_int(options, "rate")};
    request.n_items = sc_options_list(options, "input", &request.items);
    request.n_dims = sc_options_list(options, "dim", &request.dims);
    return request;
}
