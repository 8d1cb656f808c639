/* SPDX-License-Identifier: Apache-2.0
 * A state of a run is a dense state of a session with one slot, which is at position 1 as soon as it holds anything,
 * and one position further after each microbatch. */
#include "launch/carried.h"

#include <string.h>

#include "decode/pairs.h"

static bool is_npy(const char *path)
{
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".npy") == 0;
}

/* Whether the request gives it as a .npy file. */
static bool is_given(const struct sc_model *model, const struct sc_input_request *request, int input)
{
    for (int k = 0; k < request->n_items; k++) {
        const char *path = NULL;
        if (sc_inputs_find(model, request->items[k], &path) == input && is_npy(path)) {
            return true;
        }
    }
    return false;
}

/* What is known of a cache's dims; the rest is a batch of one that holds nothing. */
static void find_empty(const struct sc_fact *fact, struct sc_state_pair *pair)
{
    const int batch_axis = pair->joined ? 1 : 0;
    if (pair->kind != SC_STATE_PAGED) {
        return; /* it has them */
    }
    pair->rank = fact->rank;
    for (int d = 0; d < fact->rank; d++) {
        pair->dims[d] = d == batch_axis ? 1 : d == fact->rank - 1 ? pair->width : 0;
    }
    pair->dims[batch_axis + 1] = pair->joined ? pair->heads / 2 : pair->heads;
}

static int find_input(const struct sc_graph *graph, int value)
{
    int i = 0;
    while (graph->inputs[i] != value) {
        i++;
    }
    return i;
}

static void add(const struct sc_graph *graph, const struct sc_state_pair *pair, int input, struct sc_carried *carried)
{
    const struct sc_fact *fact = &graph->values[pair->in].fact;
    carried->empty[carried->n] = *pair;
    find_empty(fact, &carried->empty[carried->n]);
    carried->inputs[carried->n] = input;
    carried->pairs[carried->n++] = (struct sc_state_pair){.in = pair->in,
        .out = pair->out,
        .node = -1,
        .kind = SC_STATE_DENSE,
        .type = fact->type,
        .rank = fact->rank}; /* dims of 0: of any size, which was held against what the graph declares */
}

static enum sc_status check_pieces(
    const struct sc_graph *graph, const struct sc_state_pair *pair, int input, const struct sc_pieces *pieces)
{
    const struct sc_graph_value *in = &graph->values[pair->in], *out = &graph->values[pair->out];
    if (sc_pieces_cuts(pieces, input)) {
        return sc_fail(
            SC_BAD_USAGE, "option '--over': input '%s' is a state, which goes on from '%s'", in->name, out->name);
    }
    return out->producer >= 0 && in->fact.rank >= 0
        ? SC_OK
        : sc_fail(
              SC_UNSUPPORTED, "state '%s' goes on from '%s', which the model does not compute", in->name, out->name);
}

enum sc_status sc_carried_find(struct sc_model *model, const struct sc_input_request *request,
    enum sc_output_format format, struct sc_arena *arena, struct sc_carried *carried)
{
    const struct sc_graph *graph = model->graph;
    const bool pieces = request->pieces && request->pieces->n_cuts > 0;
    struct sc_state_pair *pairs;
    int n = 0;
    *carried = (struct sc_carried){.n_runs = 1};
    const enum sc_status status = format == SC_OUTPUT_PB ? SC_OK : sc_pairs_find(model, &n, &pairs);
    if (status != SC_OK && !pieces) {
        return SC_OK; /* states that have no pair are inputs and outputs like others */
    }
    SC_TRY(status);
    carried->pairs = sc_arena_array(arena, (size_t)n + 1, sizeof *carried->pairs);
    carried->empty = sc_arena_array(arena, (size_t)n + 1, sizeof *carried->empty);
    carried->inputs = sc_arena_array(arena, (size_t)n + 1, sizeof *carried->inputs);
    if (!carried->pairs || !carried->empty || !carried->inputs) {
        return SC_NO_MEMORY;
    }
    for (int p = 0; p < n; p++) {
        const int input = find_input(graph, pairs[p].in);
        const struct sc_graph_value *in = &graph->values[pairs[p].in], *out = &graph->values[pairs[p].out];
        const bool has_file = sc_outputs_check(out->name, SC_KIND_TENSOR, in->fact.type, SC_OUTPUT_NPY) == SC_OK;
        SC_TRY(pieces ? check_pieces(graph, &pairs[p], input, request->pieces) : SC_OK);
        if (pieces || (is_given(model, request, input) && has_file && out->producer >= 0 && in->fact.rank >= 0)) {
            add(graph, &pairs[p], input, carried);
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
        options->context = carried->n_runs + 1; /* what was given, and what it becomes */
    }
}

void sc_carried_row(const struct sc_carried *carried, int64_t run, struct sc_microbatch *microbatch)
{
    if (carried->n > 0) {
        microbatch->n_rows = 1;
        microbatch->rows[0] = (struct sc_row){.slot = 0, .pos = run + 1, .n_new = 1};
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
