/* SPDX-License-Identifier: Apache-2.0
 * GraphProto to sc_graph, in file order: a node may read only what is there when its turn comes, which makes order,
 * cycles and scopes one look-up. */
#include <limits.h>
#include <string.h>

#include "model/load.h"

static enum sc_status reserve(struct sc_graph *graph, size_t values, size_t weights, size_t nodes)
{
    if (values > INT_MAX / 4 || weights > INT_MAX / 4 || nodes > INT_MAX / 4) {
        return sc_fail(SC_LIMIT, "graph '%s' has more than %d nodes or values", graph->name, INT_MAX / 4);
    }
    graph->values = sc_arena_array(graph->arena, values, sizeof *graph->values);
    graph->weights = sc_arena_array(graph->arena, weights, sizeof *graph->weights);
    graph->nodes = sc_arena_array(graph->arena, nodes, sizeof *graph->nodes);
    if (!graph->values || !graph->weights || !graph->nodes) {
        return SC_NO_MEMORY;
    }
    graph->cap_values = (int)values;
    graph->cap_weights = (int)weights;
    graph->cap_nodes = (int)nodes;
    return SC_OK;
}

/* The value of that name in the scope or, made known in every graph between, in one around it; -1: there is none. */
static enum sc_status resolve(struct sc_scope *scope, const char *name, int *index)
{
    *index = sc_graph_find(scope->graph, name);
    if (*index >= 0 || !scope->outer) {
        return SC_OK;
    }
    int outer;
    SC_TRY(resolve(scope->outer, name, &outer));
    if (outer < 0) {
        return SC_OK;
    }
    SC_TRY(sc_graph_add_value(scope->graph, name, index));
    struct sc_graph_value *value = &scope->graph->values[*index];
    value->place = SC_PLACE_OUTER;
    value->outer = outer;
    return SC_OK;
}

static const char *call_name(const Sc__Onnx__NodeProto *node)
{
    const char *name = sc_or_empty(node->name);
    return !*name && node->n_output ? node->output[0] : name;
}

/* Why a name is not there: nobody makes it, or a node whose turn has not come. */
static enum sc_status undefined(const struct sc_scope *scope, const Sc__Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < scope->n_nodes; i++) {
        for (size_t j = 0; j < scope->nodes[i]->n_output; j++) {
            if (strcmp(scope->nodes[i]->output[j], name) == 0) {
                return sc_fail(SC_BAD_MODEL,
                    scope->nodes[i] == node ? "input '%s' is its own output (node '%s')"
                                            : "input '%s' is made by node '%s', which comes later: the nodes are out "
                                              "of order or in a cycle",
                    name, call_name(scope->nodes[i]));
            }
        }
    }
    return sc_fail(SC_BAD_MODEL, "input '%s' is not defined anywhere", name);
}

static enum sc_status load_node_inputs(
    struct sc_loader *loader, struct sc_scope *scope, const Sc__Onnx__NodeProto *proto, struct sc_node *node)
{
    node->in = sc_arena_array(loader->arena, proto->n_input, sizeof *node->in);
    if (!node->in) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < proto->n_input; i++) {
        node->in[i] = -1;
        if (!proto->input[i][0]) {
            continue;
        }
        SC_TRY(resolve(scope, proto->input[i], &node->in[i]));
        if (node->in[i] < 0) {
            return undefined(scope, proto, proto->input[i]);
        }
    }
    node->n_in = (int)proto->n_input;
    return SC_OK;
}

/* A node's output may not take the name of a value that can be seen outside its body: each name is assigned once. */
static enum sc_status check_new(const struct sc_scope *scope, const char *name)
{
    for (const struct sc_scope *outer = scope->outer; outer; outer = outer->outer) {
        if (sc_graph_find(outer->graph, name) >= 0) {
            return sc_fail(SC_BAD_MODEL, "output '%s' has the name of a value outside the body, want a new one", name);
        }
    }
    return SC_OK;
}

static enum sc_status load_node_outputs(
    struct sc_loader *loader, struct sc_scope *scope, const Sc__Onnx__NodeProto *proto, struct sc_node *node)
{
    struct sc_graph *graph = scope->graph;
    node->out = sc_arena_array(loader->arena, proto->n_output, sizeof *node->out);
    if (!node->out) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < proto->n_output; i++) {
        node->out[i] = -1;
        if (!proto->output[i][0]) {
            continue;
        }
        SC_TRY(check_new(scope, proto->output[i]));
        SC_TRY(sc_graph_add_value(graph, proto->output[i], &node->out[i]));
        struct sc_graph_value *value = &graph->values[node->out[i]];
        value->place = SC_PLACE_NODE;
        value->producer = graph->n_nodes;
        value->output = (int)i;
    }
    node->n_out = (int)proto->n_output;
    return SC_OK;
}

static enum sc_status set_version(const struct sc_scope *scope, const Sc__Onnx__NodeProto *proto, struct sc_node *node)
{
    node->version = sc_opset_version(scope->n_opsets, scope->opsets, node->domain);
    if (node->version == 0 && strcmp(node->domain, "com.microsoft") == 0) {
        node->version = 1; /* exporters leave the import out */
    }
    if (node->version == 0 && !node->function) {
        return sc_fail(SC_BAD_MODEL, "the model does not import the domain '%s' of this operator",
            *node->domain ? node->domain : sc_or_empty(proto->domain));
    }
    return SC_OK;
}

static enum sc_status set_origin(struct sc_loader *loader, const struct sc_scope *scope, struct sc_node *node)
{
    const bool in_main = scope->graph == loader->model->graph;
    node->index = in_main ? scope->node : loader->next_index++;
    if (scope->node < 0) {
        return SC_OK;
    }
    node->origins = sc_arena_alloc(loader->arena, sizeof *node->origins);
    if (!node->origins) {
        return SC_NO_MEMORY;
    }
    node->origins[0] = scope->node;
    node->n_origins = 1;
    return SC_OK;
}

/* A Constant of much content is an initializer: nobody reads it but its owner, a table of booleans apart. Functions
 * have none: theirs stay nodes. */
static enum sc_status find_large_constant(struct sc_loader *loader, const struct sc_scope *scope,
    const Sc__Onnx__NodeProto *proto, const struct sc_node *node, struct sc_weight *weight, bool *large)
{
    *large = false;
    const Sc__Onnx__AttributeProto *value = proto->n_attribute == 1 ? proto->attribute[0] : NULL;
    if (node->domain[0] || strcmp(node->op, "Constant") != 0 || node->function || scope->node < 0 || !value ||
        proto->n_input > 0 || proto->n_output != 1 || !proto->output[0][0]) {
        return SC_OK;
    }
    if (strcmp(sc_or_empty(value->name), "value") != 0 || !value->t || *sc_or_empty(value->ref_attr_name) ||
        (value->type && (int)value->type != SC_ATTRIBUTE_TENSOR) || value->t->data_type == SC_STRING) {
        return SC_OK;
    }
    SC_TRY(sc_load_weight(loader, "value", value->t, weight));
    *large = sc_weight_bytes(weight) > SC_SMALL_WEIGHT_BYTES;
    return SC_OK;
}

static enum sc_status load_node(struct sc_loader *loader, struct sc_scope *scope, const Sc__Onnx__NodeProto *proto)
{
    struct sc_node *node = &scope->graph->nodes[scope->graph->n_nodes];
    const char *name = sc_or_empty(proto->name), *op = sc_or_empty(proto->op_type);
    const char *domain = sc_domain_of(proto->domain);
    if (!*op) {
        return sc_fail(SC_BAD_MODEL, "the node has no op_type");
    }
    if (proto->n_input > INT_MAX || proto->n_output > INT_MAX || proto->n_attribute > INT_MAX) {
        return sc_fail(SC_LIMIT, "the node has more than %d inputs, outputs or attributes", INT_MAX);
    }
    node->name = sc_arena_text(loader->arena, name, strlen(name));
    node->op = sc_arena_text(loader->arena, op, strlen(op));
    node->domain = sc_arena_text(loader->arena, domain, strlen(domain));
    if (!node->name || !node->op || !node->domain) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_find_function(loader, proto, &node->function));
    SC_TRY(set_version(scope, proto, node));
    SC_TRY(set_origin(loader, scope, node));
    SC_TRY(load_node_inputs(loader, scope, proto, node));
    struct sc_weight weight;
    bool large;
    SC_TRY(find_large_constant(loader, scope, proto, node, &weight, &large));
    if (!large) {
        SC_TRY(sc_load_attributes(loader, scope, proto->n_attribute, proto->attribute, &node->attributes));
        node->n_attributes = (int)proto->n_attribute;
        return load_node_outputs(loader, scope, proto, node);
    }
    node->dead = true;
    SC_TRY(load_node_outputs(loader, scope, proto, node));
    SC_TRY(sc_load_small(loader, &weight));
    return sc_graph_add_weight(scope->graph, &weight, node->out[0]);
}

enum sc_status sc_load_nodes(struct sc_loader *loader, struct sc_scope *scope)
{
    const bool in_main = scope->graph == loader->model->graph;
    for (size_t i = 0; i < scope->n_nodes; i++) {
        scope->node = in_main ? (int)i : scope->node;
        if (load_node(loader, scope, scope->nodes[i]) != SC_OK) {
            return sc_fail_in("node '%s' (%s)", call_name(scope->nodes[i]), sc_or_empty(scope->nodes[i]->op_type));
        }
        scope->graph->n_nodes++;
    }
    return SC_OK;
}

enum sc_status sc_load_inputs(struct sc_loader *loader, struct sc_graph *graph, size_t n, char *const *names)
{
    graph->inputs = sc_arena_array(loader->arena, n, sizeof *graph->inputs);
    if (!graph->inputs) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        if (!names[i] || !names[i][0]) {
            return sc_fail(SC_BAD_MODEL, "input %zu of graph '%s' has no name", i, graph->name);
        }
        SC_TRY(sc_graph_add_value(graph, names[i], &graph->inputs[i]));
        graph->values[graph->inputs[i]].place = SC_PLACE_INPUT;
        graph->n_inputs++;
    }
    return SC_OK;
}

enum sc_status sc_load_outputs(struct sc_loader *loader, struct sc_scope *scope, size_t n, char *const *names)
{
    struct sc_graph *graph = scope->graph;
    graph->outputs = sc_arena_array(loader->arena, n, sizeof *graph->outputs);
    if (!graph->outputs) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = sc_or_empty(names[i]);
        graph->outputs[i] = sc_graph_find(graph, name);
        if (graph->outputs[i] < 0 || graph->values[graph->outputs[i]].place == SC_PLACE_OUTER) {
            return sc_fail(SC_BAD_MODEL, "output '%s' of graph '%s' is %s, want one of its own values", name,
                graph->name, graph->outputs[i] < 0 ? "not made by any of its nodes" : "a value outside it");
        }
        graph->n_outputs++;
    }
    return SC_OK;
}

enum sc_status sc_load_value_info(
    struct sc_loader *loader, struct sc_graph *graph, size_t n, Sc__Onnx__ValueInfoProto *const *infos)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = sc_or_empty(infos[i]->name);
        const int index = sc_graph_find(graph, name);
        if (index >= 0 && graph->values[index].fact.kind == SC_KIND_NONE) {
            SC_TRY(sc_load_type(loader, name, infos[i]->type, &graph->values[index].fact));
        }
    }
    return SC_OK;
}

/* A default has to be what its input declares. */
static enum sc_status check_default(
    const struct sc_loader *loader, const struct sc_graph_value *input, const struct sc_tensor *shape)
{
    const struct sc_fact *fact = &input->fact;
    bool fits = fact->kind == SC_KIND_TENSOR && (fact->type == SC_TYPE_NONE || fact->type == shape->type) &&
        (fact->rank < 0 || fact->rank == shape->rank);
    for (int d = 0; fits && d < fact->rank; d++) {
        fits = fact->dims[d] < 0 || fact->dims[d] == shape->dims[d];
    }
    if (fits || fact->kind == SC_KIND_NONE) {
        return SC_OK;
    }
    char have[256], want[256];
    return sc_fail(SC_BAD_MODEL, "input '%s' has the default %s, but is declared %s", input->name,
        sc_tensor_text(shape, have, sizeof have), sc_fact_text(loader->model, fact, want, sizeof want));
}

static enum sc_status add_initializer(
    struct sc_loader *loader, struct sc_graph *graph, const char *name, struct sc_weight *weight)
{
    int index = sc_graph_find(graph, name);
    if (index < 0) {
        SC_TRY(sc_graph_add_value(graph, name, &index));
        graph->values[index].place = SC_PLACE_INITIALIZER;
    } else if (graph->values[index].weight >= 0) {
        return sc_fail(SC_BAD_MODEL, "initializer '%s' is defined twice", name);
    } else {
        SC_TRY(check_default(loader, &graph->values[index], &weight->shape));
    }
    SC_TRY(sc_load_small(loader, weight));
    return sc_graph_add_weight(graph, weight, index);
}

static enum sc_status load_initializers(
    struct sc_loader *loader, const Sc__Onnx__GraphProto *proto, struct sc_graph *graph)
{
    struct sc_weight weight;
    for (size_t i = 0; i < proto->n_initializer + proto->n_sparse_initializer; i++) {
        const Sc__Onnx__SparseTensorProto *sparse =
            i < proto->n_initializer ? NULL : proto->sparse_initializer[i - proto->n_initializer];
        const Sc__Onnx__TensorProto *tensor = sparse ? sparse->values : proto->initializer[i];
        const char *name = tensor ? sc_or_empty(tensor->name) : "";
        if (!*name) {
            return sc_fail(SC_BAD_MODEL, "initializer %zu of graph '%s' has no name", i, graph->name);
        }
        SC_TRY(sparse ? sc_load_sparse(loader, name, sparse, &weight) : sc_load_weight(loader, name, tensor, &weight));
        SC_TRY(add_initializer(loader, graph, name, &weight));
    }
    return SC_OK;
}

/* The names of values to take as inputs or outputs: from message structs to a plain list, without those in `but`. */
static enum sc_status list_names(struct sc_loader *loader, size_t n, Sc__Onnx__ValueInfoProto *const *infos,
    const struct sc_map *but, size_t *n_names, char ***names)
{
    *names = sc_arena_array(&loader->scratch, n, sizeof **names);
    if (!*names) {
        return SC_NO_MEMORY;
    }
    *n_names = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = sc_or_empty(infos[i]->name);
        if (sc_map_get(but, name, strlen(name), 0) == 0) {
            (*names)[(*n_names)++] = infos[i]->name;
        }
    }
    return SC_OK;
}

/* Up to IR version 3 every initializer had to be an input as well, so being one does not make it a default there. */
static enum sc_status list_constants(struct sc_loader *loader, const Sc__Onnx__GraphProto *proto, struct sc_map *names)
{
    if (loader->model->ir_version >= 4) {
        return SC_OK;
    }
    for (size_t i = 0; i < proto->n_initializer; i++) {
        const char *name = sc_or_empty(proto->initializer[i]->name);
        SC_TRY(sc_map_put(names, name, strlen(name), 1));
    }
    return SC_OK;
}

static enum sc_status load_all(
    struct sc_loader *loader, const Sc__Onnx__GraphProto *proto, struct sc_scope *scope, struct sc_map *constants)
{
    struct sc_graph *graph = scope->graph;
    size_t n_outputs = 0, n;
    char **names;
    for (size_t i = 0; i < proto->n_node; i++) {
        n_outputs += proto->node[i]->n_output;
    }
    const size_t n_weights = proto->n_initializer + proto->n_sparse_initializer;
    SC_TRY(reserve(graph, proto->n_input + n_weights + n_outputs, n_weights, proto->n_node));
    SC_TRY(list_constants(loader, proto, constants));
    SC_TRY(list_names(loader, proto->n_input, proto->input, constants, &n, &names));
    SC_TRY(sc_load_inputs(loader, graph, n, names));
    SC_TRY(sc_load_value_info(loader, graph, proto->n_input, proto->input));
    SC_TRY(load_initializers(loader, proto, graph));
    SC_TRY(sc_load_nodes(loader, scope));
    const struct sc_map none = {0};
    SC_TRY(list_names(loader, proto->n_output, proto->output, &none, &n, &names));
    SC_TRY(sc_load_outputs(loader, scope, n, names));
    SC_TRY(sc_load_value_info(loader, graph, proto->n_output, proto->output));
    return sc_load_value_info(loader, graph, proto->n_value_info, proto->value_info);
}

enum sc_status sc_load_graph(struct sc_loader *loader, const Sc__Onnx__GraphProto *proto, struct sc_scope *scope)
{
    const char *name = sc_or_empty(proto->name);
    scope->graph->name = sc_arena_text(loader->arena, name, strlen(name));
    if (!scope->graph->name) {
        return SC_NO_MEMORY;
    }
    scope->graph->outer = scope->outer ? scope->outer->graph : NULL;
    scope->n_nodes = proto->n_node;
    scope->nodes = proto->node;
    struct sc_map constants = {0};
    const enum sc_status status = load_all(loader, proto, scope, &constants);
    sc_map_release(&constants);
    return status;
}
