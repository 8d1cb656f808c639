/* SPDX-License-Identifier: Apache-2.0
 * Keys and values that attention gives back beside its result are made of its own key and value alone, where there is
 * no past:
 *
 *   y, present_k, present_v = MultiHeadAttention(q, k, v, bias)
 *
 *   becomes    y = MultiHeadAttention(q, k, v, bias)
 *              present_k = Transpose(Reshape(k + bias[hidden ...]))       present_v likewise
 *
 * so that whoever wants those alone needs no query. The same bits. */
#include <string.h>

#include "passes/attention_parts.h"
#include "passes/edit.h"
#include "passes/passes.h"

enum { KEY = 1, VALUE, BIAS, PAST_KEY = 6 };

/* [batch, rows, hidden] with a hidden that is known; else 0. */
static int64_t hidden_of(const struct sc_graph *graph, int value)
{
    const struct sc_fact *fact = value < 0 ? NULL : &graph->values[value].fact;
    return fact && fact->rank == 3 && fact->dims[2] > 0 ? fact->dims[2] : 0;
}

static bool gives_back(const struct sc_graph *graph, const struct sc_node *node)
{
    const bool attends = !node->dead && strcmp(node->domain, "com.microsoft") == 0 &&
        strcmp(node->op, "MultiHeadAttention") == 0 && sc_node_in(node, PAST_KEY) < 0;
    return attends && hidden_of(graph, sc_node_in(node, KEY)) && hidden_of(graph, sc_node_in(node, VALUE)) &&
        (sc_node_out(node, 1) >= 0 || sc_node_out(node, 2) >= 0);
}

/* bias[from ... to) */
static enum sc_status append_slice(
    struct sc_edit *edit, const struct sc_node *like, int64_t from, int64_t to, enum sc_type type, int *value)
{
    const char *label = sc_edit_label(edit->graph, like);
    int in[3] = {like->in[BIAS], -1, -1};
    SC_TRY(sc_edit_number(edit, label, "from", SC_I64, 1, (double)from, &in[1]));
    SC_TRY(sc_edit_number(edit, label, "to", SC_I64, 1, (double)to, &in[2]));
    return sc_attention_append_node(edit, like, "Slice", 13, 3, in, type, value);
}

/* [batch, rows, hidden] becomes [batch, rows, heads, width]. */
static enum sc_status append_heads(
    struct sc_edit *edit, const struct sc_node *like, int64_t heads, enum sc_type type, int *value)
{
    static const double head[] = {0, 0, 0, -1}; /* 0: as it is */
    const char *label = sc_edit_label(edit->graph, like);
    int dims[4], in[2] = {*value, -1};
    struct sc_node concat;
    for (int d = 0; d < 4; d++) {
        SC_TRY(sc_edit_number(edit, label, "dim", SC_I64, 1, d == 2 ? (double)heads : head[d], &dims[d]));
    }
    SC_TRY(sc_edit_value(edit, label, "dims", &in[1]));
    SC_TRY(sc_edit_node(edit, like, "Concat", 13, 4, dims, 1, &in[1], &concat));
    concat.attributes = sc_arena_alloc(edit->graph->arena, sizeof *concat.attributes);
    SC_TRY(concat.attributes ? SC_OK : SC_NO_MEMORY);
    concat.n_attributes = 1;
    *concat.attributes = (struct sc_attribute){.name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 0};
    SC_TRY(sc_edit_append(edit, &concat));
    return sc_attention_append_node(edit, like, "Reshape", 14, 2, in, type, value);
}

/* Output 1 or 2 of the node, of its key or value. */
static enum sc_status append_present(struct sc_edit *edit, const struct sc_node *node, int output, int64_t from)
{
    static const int64_t heads_first[4] = {0, 2, 1, 3};
    int value = node->in[output == 1 ? KEY : VALUE];
    const enum sc_type type = edit->graph->values[value].fact.type;
    const int64_t hidden = hidden_of(edit->graph, value);
    int64_t heads;
    struct sc_node copy;
    SC_TRY(sc_node_int(node, "num_heads", 0, &heads));
    if (sc_node_in(node, BIAS) >= 0) {
        int in[2] = {value, -1};
        SC_TRY(append_slice(edit, node, from, from + hidden, type, &in[1]));
        SC_TRY(sc_attention_append_node(edit, node, "Add", 14, 2, in, type, &value));
    }
    SC_TRY(append_heads(edit, node, heads, type, &value));
    SC_TRY(sc_attention_append_transpose(edit, node, type, 4, heads_first, &value));
    SC_TRY(sc_edit_node(edit, node, "Identity", 14, 1, &value, 1, &node->out[output], &copy));
    return sc_edit_append(edit, &copy);
}

static enum sc_status replace(struct sc_edit *edit, const struct sc_node *node)
{
    const int64_t hidden = hidden_of(edit->graph, node->in[KEY]);
    for (int output = 1; output < node->n_out && output < 3; output++) {
        SC_TRY(node->out[output] >= 0 ? append_present(edit, node, output, output * hidden) : SC_OK);
    }
    struct sc_node attention = *node;
    attention.n_out = 1;
    return sc_edit_append(edit, &attention);
}

enum sc_status sc_pass_presents(struct sc_model *model, bool *changed)
{
    struct sc_edit edit;
    int n;
    *changed = false;
    for (int i = 0; i < model->graph->n_nodes; i++) {
        *changed |= gives_back(model->graph, &model->graph->nodes[i]);
    }
    if (!*changed) {
        return SC_OK;
    }
    sc_edit_open(&edit, model);
    const struct sc_node *nodes = sc_edit_graph(&edit, model->graph, &n);
    for (int i = 0; i < n; i++) {
        SC_TRY(gives_back(model->graph, &nodes[i]) ? replace(&edit, &nodes[i])
                : nodes[i].dead                    ? SC_OK
                                                   : sc_edit_append(&edit, &nodes[i]));
    }
    return SC_OK;
}
