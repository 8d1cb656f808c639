/* SPDX-License-Identifier: Apache-2.0
 * A state of a run is a dense state of a session with one slot, which is at position 1 as soon as it holds anything. */
#include "launch/carried.h"

#include <string.h>

#include "decode/pairs.h"

static bool is_npy(const char *path)
{
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".npy") == 0;
}

/* The graph input that the value is, when the request gives it as a .npy file; -1: it does not. */
static int find_given(const struct sc_model *model, const struct sc_input_request *request, int value)
{
    for (int k = 0; k < request->n_items; k++) {
        const char *path = NULL;
        const int input = sc_inputs_find(model, request->items[k], &path);
        if (input >= 0 && model->graph->inputs[input] == value && is_npy(path)) {
            return input;
        }
    }
    return -1;
}

enum sc_status sc_carried_find(struct sc_model *model, const struct sc_input_request *request,
    enum sc_output_format format, struct sc_arena *arena, struct sc_carried *carried)
{
    const struct sc_graph *graph = model->graph;
    struct sc_state_pair *pairs;
    int n = 0;
    *carried = (struct sc_carried){0};
    if (format == SC_OUTPUT_PB || sc_pairs_find(model, &n, &pairs) != SC_OK) {
        return SC_OK; /* states that have no pair are inputs and outputs like others */
    }
    carried->pairs = sc_arena_array(arena, (size_t)n + 1, sizeof *carried->pairs);
    carried->inputs = sc_arena_array(arena, (size_t)n + 1, sizeof *carried->inputs);
    if (!carried->pairs || !carried->inputs) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < n; p++) {
        const int input = find_given(model, request, pairs[p].in);
        const struct sc_graph_value *in = &graph->values[pairs[p].in], *out = &graph->values[pairs[p].out];
        const bool has_file = sc_outputs_check(out->name, SC_KIND_TENSOR, in->fact.type, SC_OUTPUT_NPY) == SC_OK;
        if (input >= 0 && has_file && out->producer >= 0 && in->fact.rank >= 0) {
            carried->inputs[carried->n] = input;
            carried->pairs[carried->n++] = (struct sc_state_pair){.in = pairs[p].in,
                .out = pairs[p].out,
                .node = -1,
                .kind = SC_STATE_DENSE,
                .type = in->fact.type,
                .rank = in->fact.rank}; /* dims of 0: of any size, which was held against what the graph declares */
        }
    }
    return SC_OK;
}

void sc_carried_options(const struct sc_carried *carried, struct sc_session_options *options)
{
    if (carried->n > 0) {
        options->n_pairs = carried->n;
        options->pairs = carried->pairs;
        options->n_slots = 1;
        options->context = 2; /* what was given, and what it becomes */
    }
}

void sc_carried_row(const struct sc_carried *carried, struct sc_microbatch *microbatch)
{
    if (carried->n > 0) {
        microbatch->n_rows = 1;
        microbatch->rows[0] = (struct sc_row){.slot = 0, .pos = 1, .n_new = 1};
    }
}

int sc_carried_of_output(const struct sc_carried *carried, int value)
{
    for (int p = 0; p < carried->n; p++) {
        if (carried->pairs[p].out == value) {
            return p;
        }
    }
    return -1;
}

static enum sc_status send_state(
    struct sc_session *session, int p, const struct sc_tensor *tensor, const struct sc_file *file)
{
    const size_t element = sc_type_bytes(tensor->type);
    const char *data = tensor->data;
    const int64_t count = sc_tensor_count(tensor), most = (int64_t)(SC_NPY_PIECE_BYTES / element);
    SC_TRY(sc_session_state_expect(session, p, 0, tensor, 1));
    for (int64_t at = 0; at < count; at += most) {
        const int64_t n = count - at < most ? count - at : most;
        const char *piece = data + (size_t)at * element;
        SC_TRY(sc_session_state_write(session, p, 0, at, n, piece));
        if (file->data) { /* what was sent is not read again, and no memory of this process */
            sc_file_drop(file, (size_t)(piece - (const char *)file->data), (size_t)n * element);
        }
    }
    return SC_OK;
}

enum sc_status sc_carried_send(const struct sc_carried *carried, struct sc_session *session, struct sc_inputs *inputs)
{
    for (int p = 0; p < carried->n; p++) {
        const int i = carried->inputs[p];
        SC_TRY(send_state(session, p, &inputs->values[i]->u.tensor, &inputs->files[i]));
        inputs->values[i] = NULL;
    }
    return SC_OK;
}

enum sc_status sc_carried_shape(struct sc_session *session, int pair, struct sc_value *shape)
{
    int64_t length;
    shape->kind = SC_KIND_TENSOR;
    return sc_session_state_shape(session, pair, 0, &shape->u.tensor, &length);
}

struct source {
    struct sc_session *session;
    int pair;
};

static enum sc_status read_piece(void *arg, int64_t at, int64_t n, void *to)
{
    const struct source *source = arg;
    return sc_session_state_read(source->session, source->pair, 0, at, n, to);
}

enum sc_status sc_carried_write(
    struct sc_session *session, int pair, const char *name, const struct sc_value *shape, struct sc_outputs *outputs)
{
    struct source source = {session, pair};
    return sc_outputs_add_pieces(outputs, name, &shape->u.tensor, read_piece, &source);
}
