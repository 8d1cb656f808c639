/* SPDX-License-Identifier: Apache-2.0
 * A node that reads weights alone makes a weight: the rank that owns it makes it, once, when it loads. For contents
 * that passes do not read; small ones were folded before.
 *
 *   w f16 ── Cast ── Transpose ─┐
 *                          x ───┴─ MatMul ── y       becomes       y = MatMul(x, w'),  w' = recipe: Transpose(Cast(w))
 *
 * A Reshape, and what else leaves the bytes as they are, only gives the weight other dims. Not where the result is much
 * larger than what it is made of, since it would stay in memory; outputs of the graph keep their producer. The same
 * bits: the operator's own kernel makes it. */
#include <string.h>

#include "ops/op.h"
#include "passes/edit.h"
#include "passes/passes.h"

enum { MOST_STEPS = 16, MOST_GROWTH = 8 /* of a 4-bit weight to f32 */ };

static bool is_weight(const struct sc_graph *graph, int value)
{
    return value >= 0 && graph->values[value].place == SC_PLACE_INITIALIZER && graph->values[value].weight >= 0;
}

static const struct sc_weight *weight_of(const struct sc_graph *graph, int value)
{
    return &graph->weights[graph->values[value].weight];
}

static bool has_body(const struct sc_node *node)
{
    for (int a = 0; a < node->n_attributes; a++) {
        if (node->attributes[a].type == SC_ATTRIBUTE_GRAPH || node->attributes[a].type == SC_ATTRIBUTE_GRAPHS) {
            return true;
        }
    }
    return false;
}

/* How many nodes would run; 0: some input is no weight. */
static int count_steps(const struct sc_graph *graph, const struct sc_node *node, int64_t *read_bytes)
{
    int n = 1, n_weights = 0;
    for (int i = 0; i < node->n_in; i++) {
        if (node->in[i] >= 0 && !is_weight(graph, node->in[i])) {
            return 0;
        }
        if (node->in[i] >= 0) {
            const struct sc_weight *weight = weight_of(graph, node->in[i]);
            n += weight->recipe ? weight->recipe->n_steps : 0;
            *read_bytes += (int64_t)sc_weight_bytes(weight);
            n_weights++;
        }
    }
    return n_weights > 0 ? n : 0;
}

static bool can_be_weights(
    const struct sc_graph *graph, const struct sc_node *node, const bool *is_output, int64_t read_bytes)
{
    int64_t bytes = 0;
    bool any = false;
    for (int o = 0; o < node->n_out; o++) {
        if (node->out[o] < 0) {
            continue;
        }
        const struct sc_fact *fact = &graph->values[node->out[o]].fact;
        if (is_output[node->out[o]] || fact->kind != SC_KIND_TENSOR || !sc_fact_dims_known(fact) ||
            fact->type == SC_TYPE_NONE || fact->type == SC_STRING) {
            return false;
        }
        bytes += (int64_t)sc_type_bytes(fact->type) * sc_dims_product(fact->dims, 0, fact->rank);
        any = true;
    }
    return any && bytes <= MOST_GROWTH * read_bytes;
}

/* The number of nodes that the recipe would have; 0: there is none. */
static int find_recipe(const struct sc_graph *graph, const struct sc_node *node, const bool *is_output)
{
    const struct sc_op *op = node->dead ? NULL : sc_op_find(node->domain, node->op, node->version);
    int64_t read_bytes = 0;
    if (!op || !(op->flags & SC_OP_PURE) || op->exec || has_body(node)) {
        return 0;
    }
    const int n = count_steps(graph, node, &read_bytes);
    return n <= MOST_STEPS && can_be_weights(graph, node, is_output, read_bytes) ? n : 0;
}

/* The weight with other dims, where the node leaves its bytes as they are. */
static bool with_other_dims(const struct sc_graph *graph, const struct sc_node *node, struct sc_weight *weight)
{
    static const char *const names[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"};
    const struct sc_fact *fact = &graph->values[node->out[0]].fact;
    bool listed = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        listed |= !node->domain[0] && strcmp(node->op, names[i]) == 0;
    }
    *weight = *weight_of(graph, node->in[0]);
    if (!listed || weight->recipe) {
        return false;
    }
    void *data = weight->shape.data;
    sc_tensor_init(&weight->shape, fact->type, fact->rank, fact->dims);
    weight->shape.owner = SC_OWNER_MODEL;
    weight->shape.data = data;
    return true;
}

/* A graph of the node alone, over copies of what is known of its weights. */
static enum sc_status write_recipe(
    struct sc_model *model, const struct sc_node *node, int output, int n_steps, struct sc_recipe *recipe)
{
    const struct sc_graph *graph = model->graph;
    struct sc_graph *made = sc_model_new_graph(model);
    if (!made) {
        return SC_NO_MEMORY;
    }
    made->name = "";
    made->nodes = sc_arena_alloc(made->arena, sizeof *made->nodes);
    made->outputs = sc_arena_alloc(made->arena, sizeof *made->outputs);
    int *in = sc_arena_array(made->arena, (size_t)node->n_in + 1, sizeof *in);
    int *out = sc_arena_array(made->arena, (size_t)node->n_out + 1, sizeof *out);
    if (!made->nodes || !made->outputs || !in || !out) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < node->n_in; i++) {
        const char *name = node->in[i] < 0 ? NULL : graph->values[node->in[i]].name;
        in[i] = name ? sc_graph_find(made, name) : -1;
        if (name && in[i] < 0) {
            SC_TRY(sc_graph_add_value(made, name, &in[i]));
            SC_TRY(sc_graph_add_weight(made, weight_of(graph, node->in[i]), in[i]));
            sc_graph_make_constant(made, in[i]);
        }
    }
    for (int o = 0; o < node->n_out; o++) {
        out[o] = -1;
        if (node->out[o] >= 0) {
            SC_TRY(sc_graph_add_value(made, graph->values[node->out[o]].name, &out[o]));
            made->values[out[o]].fact = graph->values[node->out[o]].fact;
            made->values[out[o]].place = SC_PLACE_NODE;
            made->values[out[o]].producer = 0;
            made->values[out[o]].output = o;
        }
    }
    made->nodes[0] = *node;
    made->nodes[0].in = in;
    made->nodes[0].out = out;
    made->n_nodes = made->n_outputs = 1;
    made->outputs[0] = out[output];
    *recipe = (struct sc_recipe){.graph = made, .n_steps = n_steps};
    return SC_OK;
}

static enum sc_status make_weight(struct sc_model *model, const struct sc_node *node, int output, int n_steps)
{
    struct sc_graph *graph = model->graph;
    const struct sc_fact *fact = &graph->values[node->out[output]].fact;
    struct sc_weight weight;
    if (!with_other_dims(graph, node, &weight)) {
        struct sc_recipe *recipe = sc_arena_alloc(graph->arena, sizeof *recipe);
        if (!recipe) {
            return SC_NO_MEMORY;
        }
        SC_TRY(write_recipe(model, node, output, n_steps, recipe));
        weight = (struct sc_weight){.file = -1, .recipe = recipe};
        sc_tensor_init(&weight.shape, fact->type, fact->rank, fact->dims);
        weight.shape.owner = SC_OWNER_MODEL;
    }
    SC_TRY(sc_graph_add_weight(graph, &weight, node->out[output]));
    sc_graph_make_constant(graph, node->out[output]);
    return SC_OK;
}

enum sc_status sc_pass_recipes(struct sc_model *model)
{
    struct sc_graph *graph = model->graph;
    struct sc_arena passing = {0};
    bool *is_output = sc_arena_array(&passing, (size_t)graph->n_values + 1, sizeof *is_output);
    enum sc_status status = is_output ? SC_OK : SC_NO_MEMORY;
    for (int o = 0; status == SC_OK && o < graph->n_outputs; o++) {
        is_output[graph->outputs[o]] = true;
    }
    for (int n = 0; n < graph->n_nodes && status == SC_OK; n++) {
        struct sc_node *node = &graph->nodes[n];
        const int n_steps = find_recipe(graph, node, is_output);
        for (int o = 0; n_steps > 0 && o < node->n_out && status == SC_OK; o++) {
            status = node->out[o] < 0 ? SC_OK : make_weight(model, node, o, n_steps);
        }
        node->dead |= n_steps > 0;
    }
    sc_arena_release(&passing);
    return status;
}
