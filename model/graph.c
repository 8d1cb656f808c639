/* SPDX-License-Identifier: Apache-2.0
 * Facts, look-ups and growth of graphs. Arrays double in the arena; what they grew out of stays there until the model
 * is closed, so pointers into old arrays never dangle. */
#include "model/graph.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void sc_fact_init(struct sc_fact *fact)
{
    memset(fact, 0, sizeof *fact);
    fact->rank = -1;
}

void sc_fact_tensor(struct sc_fact *fact, enum sc_type type, int rank, const int64_t *dims)
{
    sc_fact_init(fact);
    fact->kind = SC_KIND_TENSOR;
    fact->type = type;
    fact->rank = rank;
    for (int i = 0; i < rank; i++) {
        fact->dims[i] = dims[i];
    }
}

void sc_fact_of(struct sc_fact *fact, const struct sc_value *value)
{
    sc_fact_init(fact);
    fact->kind = value->kind;
    switch (value->kind) {
    case SC_KIND_TENSOR:
        sc_fact_tensor(fact, value->u.tensor.type, value->u.tensor.rank, value->u.tensor.dims);
        fact->value = &value->u.tensor;
        break;
    case SC_KIND_SEQUENCE:
        fact->type = value->u.sequence.type;
        fact->item_kind = value->u.sequence.n > 0 ? value->u.sequence.items[0].kind : SC_KIND_TENSOR;
        fact->key_type = fact->item_kind == SC_KIND_MAP ? sc_map_key_type(&value->u.sequence.items[0]) : SC_TYPE_NONE;
        break;
    case SC_KIND_MAP:
        fact->type = value->u.sequence.type;
        fact->key_type = sc_map_key_type(value);
        break;
    case SC_KIND_OPTIONAL:
        fact->type = value->u.optional.type;
        fact->item_kind = value->u.optional.item ? value->u.optional.item->kind : value->u.optional.item_kind;
        break;
    case SC_KIND_STATE:
        fact->type = value->u.state->type;
        break;
    case SC_KIND_NONE:
        break;
    }
}

bool sc_fact_dims_known(const struct sc_fact *fact)
{
    if (fact->rank < 0) {
        return false;
    }
    for (int i = 0; i < fact->rank; i++) {
        if (fact->dims[i] < 0) {
            return false;
        }
    }
    return true;
}

int sc_graph_find(const struct sc_graph *graph, const char *name)
{
    return (int)sc_map_get(&graph->names, name, strlen(name), -1);
}

const char *sc_graph_value_name(const struct sc_graph *graph, int value)
{
    while (graph->values[value].place == SC_PLACE_OUTER && graph->outer) {
        value = graph->values[value].outer;
        graph = graph->outer;
    }
    return graph->values[value].name;
}

/* Makes room for one more entry in an array of the graph. */
static enum sc_status grow(struct sc_arena *arena, void **array, int n, int *capacity, size_t size)
{
    if (n < *capacity) {
        return SC_OK;
    }
    if (n > INT_MAX / 4) {
        return sc_fail(SC_LIMIT, "a graph has more than %d values", INT_MAX / 4);
    }
    const int larger = *capacity ? 2 * *capacity : 16;
    void *grown = sc_arena_array(arena, (size_t)larger, size);
    if (!grown) {
        return SC_NO_MEMORY;
    }
    if (n) {
        memcpy(grown, *array, (size_t)n * size);
    }
    *array = grown;
    *capacity = larger;
    return SC_OK;
}

enum sc_status sc_graph_add_value(struct sc_graph *graph, const char *name, int *index)
{
    if (sc_graph_find(graph, name) >= 0) {
        return sc_fail(SC_BAD_MODEL, "value '%s' is defined twice", name);
    }
    void *values = graph->values;
    SC_TRY(grow(graph->arena, &values, graph->n_values, &graph->cap_values, sizeof *graph->values));
    graph->values = values;
    struct sc_graph_value *value = &graph->values[graph->n_values];
    memset(value, 0, sizeof *value);
    value->name = sc_arena_text(graph->arena, name, strlen(name));
    if (!value->name) {
        return SC_NO_MEMORY;
    }
    sc_fact_init(&value->fact);
    value->producer = value->weight = value->outer = -1;
    SC_TRY(sc_map_put(&graph->names, value->name, strlen(name), graph->n_values));
    *index = graph->n_values++;
    return SC_OK;
}

enum sc_status sc_graph_add_weight(struct sc_graph *graph, const struct sc_weight *weight, int value)
{
    void *weights = graph->weights;
    SC_TRY(grow(graph->arena, &weights, graph->n_weights, &graph->cap_weights, sizeof *graph->weights));
    graph->weights = weights;
    graph->weights[graph->n_weights] = *weight;
    struct sc_graph_value *target = &graph->values[value];
    target->weight = graph->n_weights++;
    if (target->place == SC_PLACE_INPUT) { /* a default, which a caller may replace: its content says nothing */
        return SC_OK;
    }
    sc_graph_make_constant(graph, value);
    return SC_OK;
}

void sc_graph_make_constant(struct sc_graph *graph, int value)
{
    struct sc_graph_value *target = &graph->values[value];
    const struct sc_tensor *shape = &graph->weights[target->weight].shape;
    target->place = SC_PLACE_INITIALIZER;
    target->producer = -1;
    sc_fact_tensor(&target->fact, shape->type, shape->rank, shape->dims);
    target->fact.value = shape->data ? shape : NULL;
}

const struct sc_attribute *sc_node_attribute(const struct sc_node *node, const char *name)
{
    for (int i = 0; i < node->n_attributes; i++) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return &node->attributes[i];
        }
    }
    return NULL;
}

static const char *attribute_type_name(enum sc_attribute_type type)
{
    static const char *const names[] = {"nothing", "a float", "an int", "a string", "a tensor", "a graph", "floats",
        "ints", "strings", "tensors", "graphs", "a sparse tensor", "sparse tensors", "a type", "types"};
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

/* *found is NULL when the attribute is absent. */
static enum sc_status find_typed(
    const struct sc_node *node, const char *name, enum sc_attribute_type type, const struct sc_attribute **found)
{
    *found = sc_node_attribute(node, name);
    if (*found && (*found)->type != type) {
        return sc_fail(SC_BAD_MODEL, "node '%s' (%s): attribute '%s' is %s, want %s", node->name, node->op, name,
            attribute_type_name((*found)->type), attribute_type_name(type));
    }
    return SC_OK;
}

enum sc_status sc_node_int(const struct sc_node *node, const char *name, int64_t otherwise, int64_t *value)
{
    const struct sc_attribute *found;
    SC_TRY(find_typed(node, name, SC_ATTRIBUTE_INT, &found));
    *value = found ? found->u.i : otherwise;
    return SC_OK;
}

enum sc_status sc_node_float(const struct sc_node *node, const char *name, float otherwise, float *value)
{
    const struct sc_attribute *found;
    SC_TRY(find_typed(node, name, SC_ATTRIBUTE_FLOAT, &found));
    *value = found ? found->u.f : otherwise;
    return SC_OK;
}

enum sc_status sc_node_text(const struct sc_node *node, const char *name, const char *otherwise, const char **value)
{
    const struct sc_attribute *found;
    SC_TRY(find_typed(node, name, SC_ATTRIBUTE_STRING, &found));
    if (found && memchr(found->u.s.data, 0, found->u.s.bytes)) {
        return sc_fail(SC_BAD_MODEL, "node '%s' (%s): attribute '%s' has a NUL inside", node->name, node->op, name);
    }
    *value = found ? found->u.s.data : otherwise;
    return SC_OK;
}

enum sc_status sc_node_ints(const struct sc_node *node, const char *name, int *n, const int64_t **values)
{
    const struct sc_attribute *found;
    SC_TRY(find_typed(node, name, SC_ATTRIBUTE_INTS, &found));
    *n = found ? found->n : -1;
    *values = found ? found->u.ints : NULL;
    return SC_OK;
}

enum sc_status sc_node_floats(const struct sc_node *node, const char *name, int *n, const float **values)
{
    const struct sc_attribute *found;
    SC_TRY(find_typed(node, name, SC_ATTRIBUTE_FLOATS, &found));
    *n = found ? found->n : -1;
    *values = found ? found->u.floats : NULL;
    return SC_OK;
}

char *sc_node_text_name(const struct sc_graph *graph, const struct sc_node *node, char *buffer, size_t bytes)
{
    const char *name = node->name ? node->name : "";
    for (int i = 0; i < node->n_out && !*name; i++) {
        name = node->out[i] >= 0 ? graph->values[node->out[i]].name : "";
    }
    (void)snprintf(buffer, bytes, "node '%s' (%s)", name, node->op);
    return buffer;
}
