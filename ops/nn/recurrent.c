/* SPDX-License-Identifier: Apache-2.0
 * RNN, GRU and LSTM: parameters, dims and checks. */
#include "ops/nn/recurrent.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/shape/shape.h"

static const struct {
    const char *name;
    float alpha, beta;
} activations[SC_ACTIVATION_N] = {
#define X(name, alpha, beta) {#name, alpha, beta},
    SC_ACTIVATIONS(X)
#undef X
};

static bool takes_alpha(enum sc_activation_kind kind)
{
    return activations[kind].alpha != 0.0F;
}

static bool takes_beta(enum sc_activation_kind kind)
{
    return kind == SC_ACTIVATION_Affine || kind == SC_ACTIVATION_ScaledTanh || kind == SC_ACTIVATION_HardSigmoid;
}

static bool same_word(const struct sc_string *text, const char *word)
{
    size_t i = 0;
    for (; i < text->bytes && word[i]; i++) { /* exporters write "tanh" as well as "Tanh" */
        if ((text->data[i] | 0x20) != (word[i] | 0x20)) {
            return false;
        }
    }
    return i == text->bytes && !word[i];
}

/* alpha and beta are consumed in the order of the functions that take them. */
static enum sc_status read_activations(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_recurrent_params *p)
{
    static const enum sc_activation_kind usual[3] = {SC_ACTIVATION_Sigmoid, SC_ACTIVATION_Tanh, SC_ACTIVATION_Tanh};
    const int each = p->cell == SC_CELL_LSTM ? 3 : p->cell == SC_CELL_GRU ? 2 : 1;
    const struct sc_attribute *names = sc_node_attribute(node, "activations");
    int n_alpha, n_beta;
    const float *alpha, *beta;
    SC_TRY(sc_node_floats(node, "activation_alpha", &n_alpha, &alpha));
    SC_TRY(sc_node_floats(node, "activation_beta", &n_beta, &beta));
    if (names && (names->type != SC_ATTRIBUTE_STRINGS || names->n < each * p->directions)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "'activations' does not have %d entries", each * p->directions);
    }
    for (int i = 0, at_alpha = 0, at_beta = 0; i < each * p->directions; i++) {
        int kind = p->cell == SC_CELL_RNN ? SC_ACTIVATION_Tanh : usual[i % each];
        if (names) {
            kind = 0;
            while (kind < SC_ACTIVATION_N && !same_word(&names->u.strings[i], activations[kind].name)) {
                kind++;
            }
            if (kind == SC_ACTIVATION_N) {
                return sc_node_fail(graph, node, SC_BAD_MODEL, "'activations' has '%.*s', which is none of the clause",
                    (int)names->u.strings[i].bytes, names->u.strings[i].data);
            }
        }
        struct sc_activation *f = &p->f[i / each][i % each];
        *f = (struct sc_activation){(enum sc_activation_kind)kind, activations[kind].alpha, activations[kind].beta};
        if (takes_alpha(f->kind) && at_alpha < n_alpha) {
            f->alpha = alpha[at_alpha++];
        }
        if (takes_beta(f->kind) && at_beta < n_beta) {
            f->beta = beta[at_beta++];
        }
    }
    return SC_OK;
}

static enum sc_status params_recurrent(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_recurrent_params), params));
    struct sc_recurrent_params *p = *params;
    const char *direction;
    int64_t layout, reset_last, input_forget;
    p->cell = node->op[0] == 'L' ? SC_CELL_LSTM : node->op[0] == 'G' ? SC_CELL_GRU : SC_CELL_RNN;
    p->gates = p->cell == SC_CELL_LSTM ? 4 : p->cell == SC_CELL_GRU ? 3 : 1;
    SC_TRY(sc_node_text(node, "direction", "forward", &direction));
    SC_TRY(sc_node_int(node, "layout", 0, &layout));
    SC_TRY(sc_node_int(node, "linear_before_reset", 0, &reset_last));
    SC_TRY(sc_node_int(node, "input_forget", 0, &input_forget));
    SC_TRY(sc_node_float(node, "clip", 0.0F, &p->clip));
    SC_TRY(sc_node_int(node, "hidden_size", 0, &p->hidden));
    if (layout != 0 && layout != 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "layout is %lld, want 0 or 1", (long long)layout);
    }
    p->batch_first = layout == 1;
    p->reset_last = reset_last != 0;
    p->input_forget = input_forget != 0;
    p->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    p->reverse = strcmp(direction, "reverse") == 0;
    /* the default of GRU-1 is spelt "foward" */
    if (p->directions == 1 && !p->reverse && strcmp(direction, "forward") != 0 && strcmp(direction, "foward") != 0) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "direction is '%s', want forward, reverse or bidirectional", direction);
    }
    return read_activations(graph, node, p);
}

static enum sc_status check_inputs(const struct sc_infer *infer, const struct sc_recurrent_sizes *s)
{
    const struct sc_recurrent_params *p = infer->params;
    const int64_t d = p->directions;
    const int64_t gates = s->hidden >= 0 ? p->gates * s->hidden : SC_DIM_UNKNOWN;
    const int64_t w[3] = {d, gates, s->input};
    const int64_t r[3] = {d, gates, s->hidden};
    const int64_t b[2] = {d, gates >= 0 ? 2 * gates : SC_DIM_UNKNOWN};
    const int64_t peep[2] = {d, s->hidden >= 0 ? 3 * s->hidden : SC_DIM_UNKNOWN};
    const int64_t state[3] = {p->batch_first ? s->batch : d, p->batch_first ? d : s->batch, s->hidden};
    SC_TRY(sc_infer_want(infer, SC_RNN_W, "W", 3, w));
    SC_TRY(sc_infer_want(infer, SC_RNN_R, "R", 3, r));
    SC_TRY(sc_infer_want(infer, SC_RNN_B, "B", 2, b));
    SC_TRY(sc_infer_want(infer, SC_RNN_LENGTHS, "sequence_lens", 1, &s->batch));
    SC_TRY(sc_infer_want(infer, SC_RNN_H, "initial_h", 3, state));
    if (p->cell == SC_CELL_LSTM) {
        SC_TRY(sc_infer_want(infer, SC_RNN_C, "initial_c", 3, state));
        SC_TRY(sc_infer_want(infer, SC_RNN_P, "P", 2, peep));
    }
    return SC_OK;
}

static enum sc_status infer_recurrent(struct sc_infer *infer)
{
    const struct sc_recurrent_params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *x = infer->in[SC_RNN_X];
    const struct sc_fact *r = infer->in[SC_RNN_R];
    if ((x->rank >= 0 && x->rank != 3) || (r->rank >= 0 && r->rank != 3)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d and R rank %d, want 3", x->rank, r->rank);
    }
    struct sc_recurrent_sizes s = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    if (x->rank == 3) {
        s.steps = x->dims[p->batch_first ? 1 : 0];
        s.batch = x->dims[p->batch_first ? 0 : 1];
        s.input = x->dims[2];
    }
    s.hidden = r->rank == 3 ? r->dims[2] : SC_DIM_UNKNOWN;
    if (s.hidden >= 0 && p->hidden > 0 && s.hidden != p->hidden) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "R is for %lld neurons, hidden_size is %lld",
            (long long)s.hidden, (long long)p->hidden);
    }
    SC_TRY(check_inputs(infer, &s));
    const int64_t d = p->directions;
    const int64_t all[4] = {s.steps, d, s.batch, s.hidden};
    const int64_t all_batch[4] = {s.batch, s.steps, d, s.hidden};
    const int64_t last[3] = {p->batch_first ? s.batch : d, p->batch_first ? d : s.batch, s.hidden};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], x->type, 4, p->batch_first ? all_batch : all);
    }
    for (int i = 1; i < 3; i++) {
        if (sc_infer_out(infer, i)) {
            sc_fact_tensor(infer->out[i], x->type, 3, last);
        }
    }
    return SC_OK;
}

static enum sc_status resolve_recurrent(const struct sc_call *call)
{
    const struct sc_recurrent_params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *lengths = sc_call_in(call, SC_RNN_LENGTHS);
    const int64_t steps = sc_call_in(call, SC_RNN_X)->dims[p->batch_first ? 1 : 0];
    for (int64_t b = 0, n = lengths ? sc_tensor_count(lengths) : 0; b < n; b++) {
        const int64_t length = sc_index_at(lengths, b);
        if (length < 0 || length > steps) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "sequence_lens has %lld, X has %lld steps",
                (long long)length, (long long)steps);
        }
    }
    return SC_OK;
}

/* As sc_recurrent_prepare decides. */
static bool is_packed(const struct sc_infer *infer, enum sc_type type)
{
    bool constant = type == SC_F32 && infer->graph;
    for (int i = SC_RNN_W; constant && i <= SC_RNN_R; i++) {
        constant = infer->graph->values[infer->node->in[i]].place == SC_PLACE_INITIALIZER;
    }
    return constant;
}

static void cost_recurrent(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_recurrent_params *p = infer->params;
    const struct sc_fact *x = infer->in[SC_RNN_X];
    const struct sc_fact *r = infer->in[SC_RNN_R];
    const double rows = (double)x->dims[0] * (double)x->dims[1];
    const double hidden = (double)r->dims[2];
    const double weights = p->directions * p->gates * hidden * ((double)x->dims[2] + hidden);
    const double bytes = (double)sc_type_bytes(x->type);
    cost->operations = 2 * rows * weights + 30 * rows * hidden * p->directions;
    const double copies = is_packed(infer, x->type) ? 0 : 2; /* else each run copies and packs the weights */
    const double steps = (double)x->dims[p->batch_first ? 1 : 0]; /* which all read them */
    cost->read_bytes = bytes * (weights * (copies + steps) + rows * (double)x->dims[2]);
    cost->written_bytes = bytes * (copies * weights + rows * hidden * p->directions);
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_recurrent,  \
        .infer = infer_recurrent, .scratch = sc_recurrent_scratch, .resolve = resolve_recurrent,                       \
        .prepare = sc_recurrent_prepare, .pack = sc_recurrent_pack, .run = sc_recurrent_run, .cost = cost_recurrent    \
    }

const struct sc_op sc_ops_nn_recurrent[] = {
    ROW(RNN, 1),
    ROW(RNN, 7),
    ROW(RNN, 14),
    ROW(RNN, 22),
    ROW(GRU, 1),
    ROW(GRU, 3),
    ROW(GRU, 7),
    ROW(GRU, 14),
    ROW(GRU, 22),
    ROW(LSTM, 1),
    ROW(LSTM, 7),
    ROW(LSTM, 14),
    ROW(LSTM, 22),
    {.name = NULL},
};
