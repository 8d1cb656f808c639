/* SPDX-License-Identifier: Apache-2.0
 * State pairs are recognised by the operator that goes on from them, else by the names that exporters use. */
#include "decode/pairs.h"

#include <stdio.h>
#include <string.h>

#include "decode/union.h"
#include "ops/infer.h"
#include "ops/nn/cache.h"
#include "tensor/page.h"

struct sc_finder {
    struct sc_model *model;
    struct sc_graph *graph;
    struct sc_state_pair *pairs;
    int n;
    bool *is_input, *is_output; /* by value */
    int *readers; /* by value: how many node inputs read it */
};

static bool is_op(const struct sc_node *node, const char *name)
{
    return node->domain[0] == '\0' && strcmp(node->op, name) == 0;
}

static enum sc_status add_pair(struct sc_finder *finder, int in, int out, struct sc_state_pair pair)
{
    const struct sc_graph_value *from = &finder->graph->values[in], *to = &finder->graph->values[out];
    if (from->fact.type != to->fact.type && to->fact.type != SC_TYPE_NONE) {
        return sc_fail(SC_BAD_MODEL, "state '%s' is %s, but its continuation '%s' is %s", from->name,
            sc_type_name(from->fact.type), to->name, sc_type_name(to->fact.type));
    }
    pair.in = in;
    pair.out = out;
    pair.type = from->fact.type;
    finder->pairs[finder->n++] = pair;
    return SC_OK;
}

/* A dim of a state, of its input or of its output: exporters name dims that their operators know. Negative: neither
 * says. */
static int64_t state_dim(const struct sc_finder *finder, int in, int out, int axis)
{
    const struct sc_fact *from = &finder->graph->values[in].fact, *to = &finder->graph->values[out].fact;
    return from->dims[axis] < 0 && to->rank == from->rank ? to->dims[axis] : from->dims[axis];
}

/* Floats, or codes of them that the operator reads and writes. */
static bool is_kept(enum sc_type type)
{
    return sc_type_is_float(type) || type == SC_I8 || type == SC_U8 || type == SC_F8E4M3FN;
}

/* A cache that an operator can append to in place: [batch, heads, positions, width] with known heads and width, read by
 * it alone. */
static bool can_be_paged(const struct sc_finder *finder, int in, int out)
{
    const struct sc_fact *fact = in < 0 ? NULL : &finder->graph->values[in].fact;
    return fact && out >= 0 && finder->is_input[in] && finder->is_output[out] && finder->readers[in] == 1 &&
        sc_pairs_find_input(finder->pairs, finder->n, in) < 0 && fact->rank == 4 && state_dim(finder, in, out, 1) > 0 &&
        state_dim(finder, in, out, 3) > 0 && is_kept(fact->type);
}

static enum sc_status add_paged(struct sc_finder *finder, int node, int in, int out, bool keys, int64_t capacity)
{
    return add_pair(finder, in, out,
        (struct sc_state_pair){.node = node,
            .kind = SC_STATE_PAGED,
            .heads = state_dim(finder, in, out, 1),
            .width = state_dim(finder, in, out, 3),
            .keys = keys,
            .capacity = capacity});
}

static enum sc_status find_attention(struct sc_finder *finder, int n)
{
    const struct sc_node *node = &finder->graph->nodes[n];
    const int past = sc_cache_past(node);
    const int key = past < 0 ? -1 : sc_node_in(node, past), value = past < 0 ? -1 : sc_node_in(node, past + 1);
    if (can_be_paged(finder, key, sc_node_out(node, 1)) && can_be_paged(finder, value, sc_node_out(node, 2)) &&
        finder->readers[node->out[1]] == 0 && finder->readers[node->out[2]] == 0) {
        SC_TRY(add_paged(finder, n, key, node->out[1], true, 0));
        SC_TRY(add_paged(finder, n, value, node->out[2], false, 0));
    }
    return SC_OK;
}

/* Attention of com.microsoft: past (4) → present (1), [2, batch, heads, positions, width]; both are nobody else's. */
static enum sc_status find_joined(struct sc_finder *finder, int n)
{
    const struct sc_node *node = &finder->graph->nodes[n];
    const int in = sc_node_in(node, 4), out = sc_node_out(node, 1);
    const struct sc_fact *fact = in < 0 ? NULL : &finder->graph->values[in].fact;
    int64_t causal;
    SC_TRY(sc_node_int(node, "unidirectional", 0, &causal));
    if (!fact || out < 0 || !causal || !finder->is_input[in] || !finder->is_output[out] || finder->readers[in] != 1 ||
        finder->readers[out] != 0 || fact->rank != 5 || sc_pairs_find_input(finder->pairs, finder->n, in) >= 0 ||
        !sc_type_is_float(fact->type)) {
        return SC_OK;
    }
    const int64_t heads = state_dim(finder, in, out, 2), width = state_dim(finder, in, out, 4);
    if (state_dim(finder, in, out, 0) != 2 || heads < 1 || heads > INT32_MAX || width < 1) {
        return SC_OK;
    }
    return add_pair(finder, in, out,
        (struct sc_state_pair){
            .node = n, .kind = SC_STATE_PAGED, .heads = 2 * heads, .width = width, .keys = true, .joined = true});
}

static bool is_joining(const struct sc_node *node)
{
    return strcmp(node->domain, "com.microsoft") == 0 && strcmp(node->op, "Attention") == 0;
}

/* Which input of the one Attention node reads the value, or -1 when anything else does. */
static int attention_input(const struct sc_finder *finder, int value)
{
    if (finder->readers[value] != 1) {
        return -1;
    }
    for (int n = 0; n < finder->graph->n_nodes; n++) {
        const struct sc_node *node = &finder->graph->nodes[n];
        for (int i = 0; i < node->n_in; i++) {
            if (node->in[i] == value && !node->dead) {
                return is_op(node, "Attention") && (i == 1 || i == 2) && sc_node_in(node, 4) < 0 ? i : -1;
            }
        }
    }
    return -1;
}

/* TensorScatter-24, along positions: past_cache (0) → present_cache (0), which Attention reads as K (1) or V (2). */
static enum sc_status find_scatter(struct sc_finder *finder, int n)
{
    const struct sc_node *node = &finder->graph->nodes[n];
    const int in = sc_node_in(node, 0), out = sc_node_out(node, 0);
    const char *mode;
    int64_t axis;
    SC_TRY(sc_node_text(node, "mode", "linear", &mode));
    SC_TRY(sc_node_int(node, "axis", -2, &axis));
    if (!can_be_paged(finder, in, out) || strcmp(mode, "linear") != 0 || (axis != -2 && axis != 2)) {
        return SC_OK;
    }
    const int port = attention_input(finder, out);
    const int64_t capacity = finder->graph->values[in].fact.dims[2];
    return port < 0 ? SC_OK : add_paged(finder, n, in, out, port == 1, capacity > 0 ? capacity : 0);
}

/* What the output of a state input would be called. */
static bool name_of_output(const char *in, char *out, size_t bytes)
{
    static const struct {
        const char *from, *to;
    } rules[] = {{"past_key_values.", "present."}, {"past_key_values_", "present_key_values_"},
        {"past_key_", "present_key_"}, {"past_value_", "present_value_"}, {"past_conv.", "present_conv."},
        {"past.", "present."}, {"past_", "present_"}};
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        const size_t length = strlen(rules[r].from);
        if (strncmp(in, rules[r].from, length) == 0) {
            return snprintf(out, bytes, "%s%s", rules[r].to, in + length) < (int)bytes;
        }
    }
    return strstr(in, "cache") && snprintf(out, bytes, "updated_%s", in) < (int)bytes;
}

/* What detectors of voice call the state of a recurrent layer, [layers, batch, width], and its continuation. */
static const char *name_of_continued(const char *in)
{
    static const char *const names[][2] = {{"state", "stateN"}, {"h", "hn"}, {"c", "cn"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(in, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool sc_pairs_is_constant(const char *input)
{
    return (starts_with(input, "past_key_values.") && strstr(input, ".encoder.")) ||
        starts_with(input, "past_key_cross_") || starts_with(input, "past_value_cross_");
}

bool sc_pairs_makes_constant(const struct sc_graph *reader, const char *output)
{
    char name[512];
    bool makes = false;
    for (int i = 0; i < reader->n_inputs && !makes; i++) {
        const char *input = reader->values[reader->inputs[i]].name;
        makes = sc_pairs_is_constant(input) && name_of_output(input, name, sizeof name) && strcmp(name, output) == 0;
    }
    return makes;
}

/* The dims of a state that holds nothing yet: what grows is 0. Two symbols at most: the batch, which is one, and the
 * length. */
static enum sc_status add_tensor(struct sc_finder *finder, enum sc_state_kind kind, int in, int out, int batch_axis)
{
    const struct sc_graph_value *value = &finder->graph->values[in];
    if (value->fact.kind != SC_KIND_TENSOR || value->fact.rank < 0) {
        return sc_fail(SC_BAD_MODEL, "state '%s' has no declared rank", value->name);
    }
    struct sc_state_pair pair = {.node = -1, .kind = kind, .rank = value->fact.rank};
    for (int d = 0; d < pair.rank; d++) {
        const int64_t dim = state_dim(finder, in, out, d);
        pair.dims[d] = dim >= 0 ? dim : d == batch_axis ? 1 : 0;
    }
    return add_pair(finder, in, out, pair);
}

static bool is_pair(const struct sc_finder *finder, int in)
{
    return sc_pairs_find_input(finder->pairs, finder->n, in) >= 0;
}

/* Operators that make one state from another of the same dims. */
static enum sc_status find_recurrent(struct sc_finder *finder, const struct sc_node *node)
{
    static const struct {
        const char *op;
        int in, out;
        bool directions; /* come before the batch, unless layout is 1 */
    } rules[] = {{"LinearAttention", 3, 1, false}, {"CausalConvWithState", 3, 1, false}, {"LSTM", 5, 1, true},
        {"LSTM", 6, 2, true}, {"GRU", 5, 1, true}, {"RNN", 5, 1, true}};
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        const int in = sc_node_in(node, rules[r].in), out = sc_node_out(node, rules[r].out);
        if (!is_op(node, rules[r].op) || in < 0 || out < 0 || !finder->is_input[in] || !finder->is_output[out] ||
            is_pair(finder, in)) {
            continue;
        }
        int64_t layout;
        SC_TRY(sc_node_int(node, "layout", 0, &layout));
        SC_TRY(add_tensor(finder, SC_STATE_DENSE, in, out, rules[r].directions && layout == 0 ? 1 : 0));
    }
    return SC_OK;
}

/* What is made and what is read may be of two files. */
static enum sc_status check_dims(const struct sc_finder *finder, int in, int out)
{
    const struct sc_graph_value *read = &finder->graph->values[in], *made = &finder->graph->values[out];
    char want[128], got[128];
    bool fits = read->fact.rank < 0 || made->fact.rank < 0 || read->fact.rank == made->fact.rank;
    for (int d = 0; fits && d < read->fact.rank && made->fact.rank >= 0; d++) {
        const int64_t a = read->fact.dims[d], b = made->fact.dims[d];
        fits = a < 0 || b < 0 || a == b;
    }
    return fits ? SC_OK
                : sc_fail(SC_BAD_MODEL, "'%s': state '%s' is read as %s, but made as %s", finder->model->path,
                      read->name, sc_dims_text(read->fact.rank, read->fact.dims, want, sizeof want),
                      sc_dims_text(made->fact.rank, made->fact.dims, got, sizeof got));
}

/* A state that the graph makes once for a text, and reads ever after. */
static enum sc_status find_constant(struct sc_finder *finder, int in)
{
    const struct sc_graph_value *value = &finder->graph->values[in];
    char name[512] = SC_UNION_CROSS;
    const size_t prefix = sizeof SC_UNION_CROSS - 1;
    const int out =
        name_of_output(value->name, name + prefix, sizeof name - prefix) ? sc_graph_find(finder->graph, name) : -1;
    if (out < 0 || !finder->is_output[out]) {
        return SC_OK;
    }
    SC_TRY(check_dims(finder, in, out));
    return add_tensor(finder, SC_STATE_CONSTANT, in, out, 0);
}

/* Not a cache, but what operators are told of one that has room for more. */
static bool is_about_caches(const char *input)
{
    return strcmp(input, "past_sequence_length") == 0 || strcmp(input, "cache_indirection") == 0;
}

/* Short names may mean anything: only together do they tell of a state. */
static enum sc_status find_continued(struct sc_finder *finder, int in)
{
    const struct sc_graph_value *values = finder->graph->values;
    const char *name = name_of_continued(values[in].name);
    const int out = name ? sc_graph_find(finder->graph, name) : -1;
    const bool fits = out >= 0 && finder->is_output[out] && values[in].weight < 0 && !is_pair(finder, in) &&
        values[in].fact.kind == SC_KIND_TENSOR && values[in].fact.rank == 3 &&
        values[in].fact.type == values[out].fact.type;
    return fits ? add_tensor(finder, SC_STATE_DENSE, in, out, 1) : SC_OK;
}

static enum sc_status find_named(struct sc_finder *finder)
{
    const struct sc_graph *graph = finder->graph;
    for (int i = 0; i < graph->n_inputs; i++) {
        const int in = graph->inputs[i];
        const struct sc_graph_value *value = &graph->values[in];
        char name[512];
        SC_TRY(find_continued(finder, in));
        if (value->weight < 0 && sc_pairs_is_constant(value->name)) {
            SC_TRY(find_constant(finder, in));
            continue;
        }
        /* a truth is a mode, such as use_cache_branch */
        if (value->weight >= 0 || value->fact.type == SC_BOOL || is_about_caches(value->name) || is_pair(finder, in) ||
            !name_of_output(value->name, name, sizeof name)) {
            continue;
        }
        const int out = sc_graph_find(graph, name);
        if (out < 0 || !finder->is_output[out]) {
            return sc_fail(
                SC_BAD_MODEL, "input '%s' looks like a state, but there is no output '%s'", value->name, name);
        }
        const bool joined = value->fact.rank == 5; /* [2, batch, heads, positions, width] */
        SC_TRY(add_tensor(finder, SC_STATE_DENSE, in, out, joined ? 1 : 0));
    }
    return SC_OK;
}

/* Constant state that attention can read as a cache of one row a text: [1, heads, positions, width], and nobody else
 * does. */
static struct sc_state_pair *find_cross(struct sc_finder *finder, int value)
{
    const int p = value < 0 ? -1 : sc_pairs_find_input(finder->pairs, finder->n, value);
    struct sc_state_pair *pair = p < 0 ? NULL : &finder->pairs[p];
    return pair && pair->kind == SC_STATE_CONSTANT && pair->rank == 4 && pair->dims[0] == 1 && pair->dims[1] > 0 &&
            pair->dims[3] > 0 && finder->readers[value] == 1 && sc_type_is_float(pair->type)
        ? pair
        : NULL;
}

/* Operators whose keys and values are inputs 1 and 2, and the inputs by which they append, or count or hide keys
 * otherwise; 0: no more of these. */
static const struct {
    const char *domain, *op;
    int others[4];
} crossing[] = {{"", "Attention", {4, 6}}, {"com.microsoft", "MultiHeadAttention", {4, 5, 6, 9}},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", {3, 4, 5, 9}}};

static bool reads_keys_alone(const struct sc_node *node)
{
    bool reads = false;
    for (size_t c = 0; c < sizeof crossing / sizeof crossing[0] && node->n_out == 1; c++) {
        bool fits = strcmp(node->domain, crossing[c].domain) == 0 && strcmp(node->op, crossing[c].op) == 0;
        for (int i = 0; i < 4 && crossing[c].others[i] > 0; i++) {
            fits = fits && sc_node_in(node, crossing[c].others[i]) < 0;
        }
        reads |= fits;
    }
    return reads && !node->dead;
}

/* Attention whose keys and values both are such states. */
static void find_viewed(struct sc_finder *finder)
{
    for (int n = 0; n < finder->graph->n_nodes; n++) {
        const struct sc_node *node = &finder->graph->nodes[n];
        struct sc_state_pair *const cross[2] = {
            find_cross(finder, sc_node_in(node, 1)), find_cross(finder, sc_node_in(node, 2))};
        if (!reads_keys_alone(node) || !cross[0] || !cross[1]) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            cross[i]->node = n;
            cross[i]->keys = i == 0;
            cross[i]->heads = cross[i]->dims[1];
            cross[i]->width = cross[i]->dims[3];
        }
    }
}

static enum sc_status find_said(struct sc_finder *finder)
{
    const struct sc_model *model = finder->model;
    for (int i = 0; i < model->n_said_states; i++) {
        const int in = model->said_states[2 * i], out = model->said_states[2 * i + 1];
        const int pair = sc_pairs_find_input(finder->pairs, finder->n, in);
        if (pair < 0) {
            SC_TRY(add_tensor(finder, SC_STATE_DENSE, in, out, 0));
        } else if (finder->pairs[pair].out != out) {
            const struct sc_graph_value *values = finder->graph->values;
            return sc_fail(SC_BAD_USAGE,
                "option '--state': '%s' goes on from '%s', which an operator makes of it, not from '%s'",
                values[in].name, values[finder->pairs[pair].out].name, values[out].name);
        }
    }
    return SC_OK;
}

static enum sc_status count_uses(struct sc_finder *finder)
{
    struct sc_graph *graph = finder->graph;
    struct sc_arena *arena = &finder->model->arena;
    const size_t n = (size_t)graph->n_values + 1;
    finder->is_input = sc_arena_array(arena, n, sizeof *finder->is_input);
    finder->is_output = sc_arena_array(arena, n, sizeof *finder->is_output);
    finder->readers = sc_arena_array(arena, n, sizeof *finder->readers);
    finder->pairs = sc_arena_array(arena, (size_t)graph->n_inputs + 1, sizeof *finder->pairs);
    if (!finder->is_input || !finder->is_output || !finder->readers || !finder->pairs) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        finder->is_input[graph->inputs[i]] = graph->values[graph->inputs[i]].weight < 0;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        finder->is_output[graph->outputs[o]] = true;
    }
    for (int m = 0; m < graph->n_nodes; m++) {
        for (int i = 0; i < graph->nodes[m].n_in && !graph->nodes[m].dead; i++) {
            if (graph->nodes[m].in[i] >= 0) {
                finder->readers[graph->nodes[m].in[i]]++;
            }
        }
    }
    return SC_OK;
}

enum sc_status sc_pairs_find(struct sc_model *model, int *n, struct sc_state_pair **pairs)
{
    struct sc_finder finder = {.model = model, .graph = model->graph};
    SC_TRY(count_uses(&finder));
    for (int m = 0; m < model->graph->n_nodes; m++) {
        const struct sc_node *node = &model->graph->nodes[m];
        if (node->dead) {
            continue;
        }
        SC_TRY(is_op(node, "TensorScatter") ? find_scatter(&finder, m)
                : is_joining(node)          ? find_joined(&finder, m)
                                            : find_attention(&finder, m));
        SC_TRY(find_recurrent(&finder, node));
    }
    SC_TRY(find_said(&finder));
    SC_TRY(find_named(&finder));
    find_viewed(&finder);
    *n = finder.n;
    *pairs = finder.pairs;
    return SC_OK;
}

int sc_pairs_find_input(const struct sc_state_pair *pairs, int n, int value)
{
    for (int p = 0; p < n; p++) {
        if (pairs[p].in == value) {
            return p;
        }
    }
    return -1;
}

enum sc_status sc_pairs_set_formats(struct sc_state_pair *pairs, int n, const struct sc_cache_formats *formats)
{
    bool paged = false;
    if (formats->keys == SC_PAGE_AS_TYPE && formats->values == SC_PAGE_AS_TYPE) {
        return SC_OK;
    }
    for (int p = 0; p < n; p++) {
        const enum sc_page_format format = pairs[p].keys ? formats->keys : formats->values;
        if (pairs[p].kind != SC_STATE_PAGED) {
            continue;
        }
        if (pairs[p].joined && formats->keys != formats->values) {
            return sc_fail(SC_UNSUPPORTED, "-ctk, -ctv: keys and values that are joined in one cache have one type");
        }
        if (pairs[p].type == SC_F64 || !sc_type_is_float(pairs[p].type)) {
            return sc_fail(
                SC_UNSUPPORTED, "-ctk, -ctv: caches of %s cannot be kept in another type", sc_type_name(pairs[p].type));
        }
        pairs[p].format = sc_page_type(format, pairs[p].type) == pairs[p].type ? SC_PAGE_AS_TYPE : format;
        paged = true;
    }
    return paged ? SC_OK : sc_fail(SC_BAD_USAGE, "-ctk, -ctv: the model has no caches that are kept in pages");
}

enum sc_status sc_pairs_parse(const struct sc_graph *graph, const char *text, int *in, int *out)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        const char *name = graph->values[graph->inputs[i]].name;
        const size_t bytes = strlen(name);
        for (int o = 0; o < graph->n_outputs && strncmp(text, name, bytes) == 0 && text[bytes] == '='; o++) {
            if (strcmp(text + bytes + 1, graph->values[graph->outputs[o]].name) == 0) {
                *in = i;
                *out = o;
                return SC_OK;
            }
        }
    }
    return sc_fail(SC_BAD_USAGE, "option '--state': '%s' is not IN=OUT, an input and an output of the model", text);
}

enum sc_status sc_pairs_say(struct sc_model *model, int n, const char *const *texts)
{
    model->said_states = sc_arena_array(&model->arena, 2 * (size_t)n + 1, sizeof *model->said_states);
    if (!model->said_states) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        int in, out;
        SC_TRY(sc_pairs_parse(model->graph, texts[i], &in, &out));
        for (int before = 0; before < i; before++) {
            if (model->said_states[2 * before] == model->graph->inputs[in]) {
                return sc_fail(SC_BAD_USAGE, "option '--state': input '%s' is given twice",
                    model->graph->values[model->graph->inputs[in]].name);
            }
        }
        model->said_states[2 * i] = model->graph->inputs[in];
        model->said_states[2 * i + 1] = model->graph->outputs[out];
    }
    model->n_said_states = n;
    return SC_OK;
}
