/* SPDX-License-Identifier: Apache-2.0
 * Nodes from formulas. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ops/schema.h"
#include "passes/gradient.h"
#include "tensor/convert.h"

enum { OPSET = 18, MAX_OPERANDS = 16, MAX_WORD = 32 };

/* Attributes that an operator always has in rules. */
static const struct {
    const char *op;
    struct sc_attribute attribute;
} always[] = {
    {"Reshape", {.name = "allowzero", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1}},
    {"ReduceSum", {.name = "noop_with_empty_axes", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1}},
    {"Concat", {.name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 0}},
    {"ScatterElements", {.name = "reduction", .type = SC_ATTRIBUTE_STRING, .n = 1, .u.s = {"add", 3}}},
};

static bool failed(struct sc_backward *b, enum sc_status status)
{
    b->status = b->status == SC_OK ? status : b->status;
    return b->status != SC_OK;
}

static int new_value(struct sc_backward *b, const char *name)
{
    int value = -1;
    const char *label = sc_edit_label(b->edit->graph, b->like);
    return failed(b, SC_OK) || failed(b, sc_edit_value(b->edit, label, name, &value)) ? -1 : value;
}

int sc_backward_emit_with(
    struct sc_backward *b, const char *op, int n_in, const int *in, const struct sc_attribute *attribute)
{
    struct sc_node node;
    const int out = new_value(b, op);
    for (size_t i = 0; !attribute && i < sizeof always / sizeof always[0]; i++) {
        attribute = strcmp(always[i].op, op) == 0 ? &always[i].attribute : NULL;
    }
    if (out < 0 || failed(b, sc_edit_node(b->edit, b->like, op, OPSET, n_in, in, 1, &out, &node))) {
        return -1;
    }
    if (attribute) {
        node.attributes = sc_arena_alloc(b->edit->graph->arena, sizeof *attribute);
        if (!node.attributes) {
            b->status = SC_NO_MEMORY;
            return -1;
        }
        node.attributes[0] = *attribute;
        node.n_attributes = 1;
    }
    return failed(b, sc_edit_append(b->edit, &node)) ? -1 : out;
}

int sc_backward_emit(struct sc_backward *b, const char *op, int n_in, const int *in)
{
    return sc_backward_emit_with(b, op, n_in, in, NULL);
}

int sc_backward_copy(struct sc_backward *b, const struct sc_node *node, int input, int *outs)
{
    struct sc_node copy = *node;
    struct sc_arena *arena = b->edit->graph->arena;
    copy.in = sc_arena_array(arena, (size_t)node->n_in, sizeof *copy.in);
    copy.out = sc_arena_array(arena, (size_t)node->n_out, sizeof *copy.out);
    if (!copy.in || !copy.out) {
        failed(b, SC_NO_MEMORY);
        return -1;
    }
    memcpy(copy.in, node->in, (size_t)node->n_in * sizeof *copy.in);
    copy.in[0] = input;
    for (int o = 0; o < node->n_out; o++) {
        copy.out[o] = node->out[o] < 0 ? -1 : new_value(b, node->op);
        outs[o] = copy.out[o];
    }
    copy.origins = b->like->origins;
    copy.n_origins = b->like->n_origins;
    copy.index = b->edit->next_index++;
    return failed(b, b->status) || failed(b, sc_edit_append(b->edit, &copy)) ? -1 : copy.out[0];
}

static int weight(struct sc_backward *b, struct sc_tensor *tensor)
{
    const struct sc_weight added = {.shape = *tensor, .decoded = tensor->data, .file = -1};
    const int value = new_value(b, "constant");
    return value < 0 || failed(b, sc_graph_add_weight(b->edit->graph, &added, value)) ? -1 : value;
}

int sc_backward_scalar(struct sc_backward *b, enum sc_type type, double value)
{
    struct sc_tensor tensor;
    if (failed(b, sc_tensor_new(b->edit->graph->arena, type, 0, NULL, &tensor))) {
        return -1;
    }
    sc_convert(SC_F64, &value, type, tensor.data, 1, 0);
    return weight(b, &tensor);
}

int sc_backward_ints(struct sc_backward *b, int n, const int64_t *values)
{
    struct sc_tensor tensor;
    const int64_t dim = n;
    if (failed(b, sc_tensor_new(b->edit->graph->arena, SC_I64, 1, &dim, &tensor))) {
        return -1;
    }
    memcpy(tensor.data, values, (size_t)n * sizeof *values);
    return weight(b, &tensor);
}

/* Axes along which `like` has the dim 1, or no dim at all, are summed. With known dims all but the sum folds. */
int sc_backward_sum_to(struct sc_backward *b, int value, int like)
{
    static const int64_t one = 1, all = -1;
    const struct sc_backward_name names[] = {
        {"v", value}, {"like", like}, {"one", sc_backward_ints(b, 1, &one)}, {"flat", sc_backward_ints(b, 1, &all)}};
    return sc_backward_formula(b,
        "v one v Shape Shape like Shape Shape Sub Expand like Shape Concat one Equal NonZero flat Reshape "
        "ReduceSum like Shape Reshape",
        SC_I64, 4, names);
}

/* How many operands a formula gives it. */
static int operands(const struct sc_schema *schema)
{
    const bool pair = strcmp(schema->name, "ReduceSum") == 0 || strcmp(schema->name, "Concat") == 0;
    return pair ? 2 : schema->min_in;
}

static int find_name(const char *word, int n, const struct sc_backward_name *names)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i].name, word) == 0) {
            return names[i].value;
        }
    }
    return -1;
}

int sc_backward_formula(
    struct sc_backward *b, const char *text, enum sc_type type, int n, const struct sc_backward_name *names)
{
    int stack[MAX_OPERANDS];
    int depth = 0;
    while (*text && b->status == SC_OK) {
        char word[MAX_WORD];
        const size_t length = strcspn(text, " ");
        memcpy(word, text, length < MAX_WORD ? length : MAX_WORD - 1);
        word[length < MAX_WORD ? length : MAX_WORD - 1] = '\0';
        text += length + (text[length] == ' ');
        int value;
        if (isupper((unsigned char)word[0])) {
            const struct sc_schema *schema = sc_schema_find("", word, OPSET);
            depth -= operands(schema);
            value = sc_backward_emit(b, schema->name, operands(schema), stack + depth);
        } else if (isdigit((unsigned char)word[0])) {
            value = sc_backward_scalar(b, type, strtod(word, NULL));
        } else {
            value = find_name(word, n, names);
        }
        stack[depth++] = value;
    }
    return b->status == SC_OK ? stack[0] : -1;
}

const struct sc_fact *sc_backward_fact(const struct sc_backward *b, int value)
{
    static const struct sc_fact nothing = {.rank = -1};
    return value >= 0 && value < b->n_facts ? &b->facts[value] : &nothing;
}
