/* SPDX-License-Identifier: Apache-2.0
 * Nodes from formulas. */
#include <assert.h>
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
    {"ReduceMean", {.name = "noop_with_empty_axes", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1}},
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

int sc_backward_emit_with(struct sc_backward *b, const char *op, int n_in, const int *in, int n_attributes,
    const struct sc_attribute *attributes)
{
    struct sc_node node;
    const int out = new_value(b, op);
    if (out < 0 || failed(b, sc_edit_node(b->edit, b->like, op, OPSET, n_in, in, 1, &out, &node))) {
        return -1;
    }
    if (n_attributes > 0) {
        node.attributes = sc_arena_array(b->edit->graph->arena, (size_t)n_attributes, sizeof *attributes);
        if (!node.attributes) {
            b->status = SC_NO_MEMORY;
            return -1;
        }
        memcpy(node.attributes, attributes, (size_t)n_attributes * sizeof *attributes);
        node.n_attributes = n_attributes;
    }
    return failed(b, sc_edit_append(b->edit, &node)) ? -1 : out;
}

int sc_backward_emit(struct sc_backward *b, const char *op, int n_in, const int *in)
{
    const struct sc_attribute *attribute = NULL;
    for (size_t i = 0; !attribute && i < sizeof always / sizeof always[0]; i++) {
        attribute = strcmp(always[i].op, op) == 0 ? &always[i].attribute : NULL;
    }
    return sc_backward_emit_with(b, op, n_in, in, attribute ? 1 : 0, attribute);
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

int sc_backward_reduce(struct sc_backward *b, const struct sc_node *node, int input, bool sum)
{
    struct sc_node kept = *node;
    int out;
    kept.n_attributes = 0;
    kept.attributes = sc_arena_array(b->edit->graph->arena, (size_t)node->n_attributes + 1, sizeof *kept.attributes);
    if (!kept.attributes) {
        b->status = SC_NO_MEMORY;
        return -1;
    }
    for (int i = 0; i < node->n_attributes; i++) {
        if (strcmp(node->attributes[i].name, "keepdims") != 0) {
            kept.attributes[kept.n_attributes++] = node->attributes[i];
        }
    }
    kept.attributes[kept.n_attributes++] =
        (struct sc_attribute){.name = "keepdims", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1};
    if (sum) { /* its axes became an input five versions before those of the others */
        kept.op = "ReduceSum";
        kept.version = node->version < OPSET ? 11 : 13;
    }
    return sc_backward_copy(b, &kept, input, &out);
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

int sc_backward_range(struct sc_backward *b, int from, int to)
{
    int64_t values[SC_MAX_RANK];
    for (int i = from; i < to; i++) {
        values[i - from] = i;
    }
    return sc_backward_ints(b, to - from, values);
}

int64_t sc_backward_int(struct sc_backward *b, const struct sc_node *node, const char *name, int64_t otherwise)
{
    int64_t value = otherwise;
    return failed(b, sc_node_int(node, name, otherwise, &value)) ? otherwise : value;
}

double sc_backward_float(struct sc_backward *b, const struct sc_node *node, const char *name, float otherwise)
{
    float value = otherwise;
    return (double)(failed(b, sc_node_float(node, name, otherwise, &value)) ? otherwise : value);
}

const char *sc_backward_text(struct sc_backward *b, const struct sc_node *node, const char *name, const char *otherwise)
{
    const char *value = otherwise;
    return failed(b, sc_node_text(node, name, otherwise, &value)) ? otherwise : value;
}

int sc_backward_rank(struct sc_backward *b, const struct sc_node *node, int least)
{
    const int rank = sc_backward_fact(b, node->in[0])->rank;
    if (rank < least) {
        sc_backward_refuse(b, node, rank < 0 ? "the rank of its input is not known" : "its input has too few axes");
        return -1;
    }
    return rank;
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
    static const char *const pairs[] = {"Concat", "Max", "Min", "ReduceMean", "ReduceSum"};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (strcmp(pairs[i], schema->name) == 0) {
            return 2;
        }
    }
    return schema->min_in;
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

int sc_names_add(struct sc_names *names, const char *name, int value)
{
    assert((size_t)names->n < sizeof names->list / sizeof names->list[0]);
    names->list[names->n++] = (struct sc_backward_name){name, value};
    return value;
}

int sc_names_formula(struct sc_names *names, const char *text)
{
    return sc_backward_formula(names->b, text, names->type, names->n, names->list);
}

int sc_names_add_formula(struct sc_names *names, const char *name, const char *text)
{
    return sc_names_add(names, name, sc_names_formula(names, text));
}

const struct sc_fact *sc_backward_fact(const struct sc_backward *b, int value)
{
    static const struct sc_fact nothing = {.rank = -1};
    return value >= 0 && value < b->n_facts ? &b->facts[value] : &nothing;
}
