/* SPDX-License-Identifier: Apache-2.0
 * Walks up from the logits to the product; puts a Gather before it. */
#include "decode/last_row.h"

#include <string.h>

#include "passes/edit.h"

enum { MOST_STEPS = 8 };

static const struct sc_node *maker(const struct sc_graph *graph, int value)
{
    const struct sc_graph_value *v = &graph->values[value];
    return v->place == SC_PLACE_NODE && v->producer >= 0 && v->output == 0 ? &graph->nodes[v->producer] : NULL;
}

static int n_readers(const struct sc_graph *graph, int value)
{
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        for (int p = 0; p < graph->nodes[i].n_in && !graph->nodes[i].dead; p++) {
            n += graph->nodes[i].in[p] == value;
        }
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        n += graph->outputs[o] == value;
    }
    return n;
}

/* A constant of one element. */
static bool is_number(const struct sc_graph *graph, int value)
{
    const struct sc_graph_value *v = &graph->values[value];
    const struct sc_node *node = maker(graph, value);
    if (v->weight >= 0 && v->place == SC_PLACE_INITIALIZER) {
        return sc_tensor_count(&graph->weights[v->weight].shape) == 1;
    }
    const struct sc_attribute *constant =
        node && strcmp(node->op, "Constant") == 0 ? sc_node_attribute(node, "value") : NULL;
    return constant && constant->type == SC_ATTRIBUTE_TENSOR && sc_tensor_count(constant->u.tensor) == 1;
}

/* Which input the node works through element by element; -1: it is not such a node. */
static int element_input(const struct sc_graph *graph, const struct sc_node *node)
{
    if (node->domain[0]) {
        return -1;
    }
    if (strcmp(node->op, "Tanh") == 0 || strcmp(node->op, "Cast") == 0 || strcmp(node->op, "Identity") == 0) {
        return 0;
    }
    if (strcmp(node->op, "Mul") != 0 && strcmp(node->op, "Div") != 0) {
        return -1;
    }
    return is_number(graph, node->in[1]) ? 0 : strcmp(node->op, "Mul") == 0 && is_number(graph, node->in[0]) ? 1 : -1;
}

/* A weight of rank 2, or one that is transposed. */
static bool is_matrix(const struct sc_graph *graph, int value)
{
    const struct sc_node *node = maker(graph, value);
    if (node && !node->domain[0] && strcmp(node->op, "Transpose") == 0) {
        value = node->in[0];
    }
    const struct sc_graph_value *v = &graph->values[value];
    return v->weight >= 0 && v->place == SC_PLACE_INITIALIZER && graph->weights[v->weight].shape.rank == 2;
}

static bool is_product(const struct sc_graph *graph, const struct sc_node *node)
{
    if (strcmp(node->op, "MatMulNBits") == 0) {
        return strcmp(node->domain, "com.microsoft") == 0;
    }
    return !node->domain[0] && strcmp(node->op, "MatMul") == 0 && is_matrix(graph, node->in[1]);
}

/* The product that logits are made of, or NULL; values on the way are of the last row alone then. */
static const struct sc_node *find_product(const struct sc_graph *graph, int logits, int *n, int *on_the_way)
{
    int value = logits;
    for (*n = 0; *n < MOST_STEPS;) {
        const struct sc_node *node = maker(graph, value);
        if (!node || n_readers(graph, value) != 1) {
            return NULL;
        }
        on_the_way[(*n)++] = value;
        if (is_product(graph, node)) {
            return node;
        }
        const int input = element_input(graph, node);
        if (input < 0) {
            return NULL;
        }
        value = node->in[input];
    }
    return NULL;
}

static enum sc_status append_last(struct sc_edit *edit, const struct sc_node *product, int *row)
{
    struct sc_graph *graph = edit->graph;
    struct sc_weight weight = {.file = -1};
    struct sc_node gather;
    const int64_t one = 1;
    int index;
    SC_TRY(sc_tensor_new(graph->arena, SC_I64, 1, &one, &weight.shape));
    ((int64_t *)weight.shape.data)[0] = -1;
    weight.decoded = weight.shape.data;
    SC_TRY(sc_edit_value(edit, sc_edit_label(graph, product), "last", &index));
    SC_TRY(sc_graph_add_weight(graph, &weight, index));
    sc_graph_make_constant(graph, index);
    SC_TRY(sc_edit_value(edit, sc_edit_label(graph, product), "row", row));
    const int in[2] = {product->in[0], index};
    SC_TRY(sc_edit_node(edit, product, "Gather", 13, 2, in, 1, row, &gather));
    gather.attributes = sc_arena_alloc(graph->arena, sizeof *gather.attributes);
    if (!gather.attributes) {
        return SC_NO_MEMORY;
    }
    gather.n_attributes = 1;
    *gather.attributes = (struct sc_attribute){.name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1};
    return sc_edit_append(edit, &gather);
}

int sc_decode_find_logits(const struct sc_graph *graph)
{
    for (int o = 0; o < graph->n_outputs; o++) {
        if (strcmp(graph->values[graph->outputs[o]].name, "logits") == 0) {
            return graph->outputs[o];
        }
    }
    return -1;
}

enum sc_status sc_decode_last_row(struct sc_model *model, int logits)
{
    struct sc_graph *graph = model->graph;
    int n_way, way[MOST_STEPS], n;
    const struct sc_node *product = find_product(graph, logits, &n_way, way);
    if (!product || graph->values[logits].fact.rank != 3) {
        return SC_OK;
    }
    struct sc_edit edit;
    sc_edit_open(&edit, model);
    const struct sc_node *nodes = sc_edit_graph(&edit, graph, &n);
    for (int i = 0; i < n; i++) {
        struct sc_node node = nodes[i];
        if (&nodes[i] == product) {
            int *in = sc_arena_array(graph->arena, (size_t)node.n_in, sizeof *in);
            if (!in) {
                return SC_NO_MEMORY;
            }
            memcpy(in, node.in, (size_t)node.n_in * sizeof *in);
            SC_TRY(append_last(&edit, product, &in[0]));
            node.in = in;
        }
        SC_TRY(sc_edit_append(&edit, &node));
    }
    for (int w = 0; w < n_way; w++) {
        struct sc_fact *fact = &graph->values[way[w]].fact;
        if (fact->rank == 3) {
            fact->dims[1] = 1;
        }
    }
    return SC_OK;
}
