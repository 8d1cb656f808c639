/* SPDX-License-Identifier: Apache-2.0
 * Random graphs of small matrices: operators that work in place, views of views, broadcasts, and dims that depend on
 * data; with a straightforward evaluation in which every value has memory of its own. */
#ifndef SC_TESTS_RANDOM_GRAPH_H
#define SC_TESTS_RANDOM_GRAPH_H

#include <math.h>

#include "base/random.h"
#include "graph_case.h"

enum { RANDOM_NODES = 40, RANDOM_VALUES = 64, RANDOM_ELEMENTS = 256 };

struct random_matrix {
    int64_t rows, columns;
    float data[RANDOM_ELEMENTS];
};

struct random_graph {
    struct sc_model model;
    struct sc_graph graph;
    struct sc_node nodes[RANDOM_NODES];
    int ports[RANDOM_NODES][3], out[RANDOM_NODES];
    struct sc_attribute attributes[RANDOM_NODES][3];
    int64_t numbers[RANDOM_NODES][4];
    int origins[RANDOM_NODES];
    int inputs[RANDOM_VALUES], outputs[RANDOM_VALUES];
    char names[RANDOM_VALUES][8];
    bool late[RANDOM_VALUES]; /* dims are known when it runs */
    bool read[RANDOM_VALUES];
    struct random_matrix want[RANDOM_VALUES]; /* the straightforward evaluation */
    struct sc_value values[RANDOM_VALUES]; /* of inputs */
    const struct sc_value *feeds[RANDOM_VALUES];
    int64_t shapes[RANDOM_VALUES][2]; /* of int64 inputs */
    struct sc_random_key key;
    uint64_t drawn;
};

static inline int random_draw(struct random_graph *g, int n)
{
    return (int)(sc_random_uniform(&g->key, g->drawn++) * n);
}

static inline int random_value(struct random_graph *g, int64_t rows, int64_t columns, bool late)
{
    int v = -1;
    snprintf(g->names[g->graph.n_values], sizeof g->names[0], "v%d", g->graph.n_values);
    assert_ok(sc_graph_add_value(&g->graph, g->names[g->graph.n_values], &v));
    g->graph.values[v].producer = g->graph.values[v].weight = g->graph.values[v].outer = -1;
    g->want[v].rows = rows;
    g->want[v].columns = columns;
    g->late[v] = late;
    return v;
}

static inline int random_input(struct random_graph *g, int64_t rows, int64_t columns)
{
    const int v = random_value(g, rows, columns, false);
    struct sc_tensor *tensor = &g->values[g->graph.n_inputs].u.tensor;
    g->graph.values[v].place = SC_PLACE_INPUT;
    for (int64_t i = 0; i < rows * columns; i++) {
        g->want[v].data[i] = (float)(random_draw(g, 41) - 20);
    }
    g->values[g->graph.n_inputs].kind = SC_KIND_TENSOR;
    sc_tensor_init(tensor, SC_F32, 2, (const int64_t[]){rows, columns});
    tensor->data = g->want[v].data;
    sc_fact_tensor(&g->graph.values[v].fact, SC_F32, 2, tensor->dims);
    g->feeds[g->graph.n_inputs] = &g->values[g->graph.n_inputs];
    g->inputs[g->graph.n_inputs++] = v;
    return v;
}

/* An int64 input that says the dims of a Reshape. */
static inline int random_shape(struct random_graph *g, int64_t rows, int64_t columns)
{
    const int v = random_input(g, 1, 2);
    const int i = g->graph.n_inputs - 1;
    const int64_t two = 2;
    g->shapes[i][0] = rows;
    g->shapes[i][1] = columns;
    sc_tensor_init(&g->values[i].u.tensor, SC_I64, 1, &two);
    g->values[i].u.tensor.data = g->shapes[i];
    sc_fact_tensor(&g->graph.values[v].fact, SC_I64, 1, &two);
    return v;
}

static inline struct sc_node *random_node(struct random_graph *g, const char *op, int version)
{
    const int n = g->graph.n_nodes++;
    g->origins[n] = n;
    g->nodes[n] = (struct sc_node){.name = "",
        .domain = "",
        .op = op,
        .version = version,
        .index = n,
        .origins = &g->origins[n],
        .n_origins = 1,
        .in = g->ports[n],
        .out = &g->out[n],
        .n_out = 1,
        .attributes = g->attributes[n]};
    return &g->nodes[n];
}

static inline void random_ints(
    struct random_graph *g, struct sc_node *node, const char *name, int from, int n, int64_t a, int64_t b)
{
    int64_t *numbers = g->numbers[node->index] + from;
    numbers[0] = a;
    if (n > 1) {
        numbers[1] = b;
    }
    node->attributes[node->n_attributes++] =
        (struct sc_attribute){.name = name, .type = SC_ATTRIBUTE_INTS, .n = n, .u.ints = numbers};
}

static inline void random_reads(struct random_graph *g, struct sc_node *node, int v)
{
    node->in[node->n_in++] = v;
    g->read[v] = true;
}

static inline struct random_matrix *random_makes(
    struct random_graph *g, struct sc_node *node, int64_t rows, int64_t columns, bool late)
{
    const int v = random_value(g, rows, columns, late);
    g->graph.values[v].place = SC_PLACE_NODE;
    g->graph.values[v].producer = node->index;
    node->out[0] = v;
    return &g->want[v];
}

static inline void random_unary(struct random_graph *g, int a)
{
    static const char *const ops[] = {"Neg", "Abs", "Relu"};
    const int kind = random_draw(g, 3);
    struct sc_node *node = random_node(g, ops[kind], 13);
    random_reads(g, node, a);
    struct random_matrix *y = random_makes(g, node, g->want[a].rows, g->want[a].columns, g->late[a]);
    for (int64_t i = 0; i < y->rows * y->columns; i++) {
        const float x = g->want[a].data[i];
        y->data[i] = kind == 0 ? -x : kind == 1 ? fabsf(x) : x > 0 ? x : 0;
    }
}

/* Of equal dims, or one of them a single number. */
static inline bool random_binary(struct random_graph *g, int a, int b)
{
    static const char *const ops[] = {"Add", "Sub", "Max"};
    const struct random_matrix *x = &g->want[a], *z = &g->want[b];
    const bool small_x = x->rows * x->columns == 1, small_z = z->rows * z->columns == 1;
    if (!small_x && !small_z && (x->rows != z->rows || x->columns != z->columns)) {
        return false;
    }
    const int kind = random_draw(g, 3);
    struct sc_node *node = random_node(g, ops[kind], 13);
    random_reads(g, node, a);
    random_reads(g, node, b);
    const struct random_matrix *wide = small_x ? z : x;
    struct random_matrix *y = random_makes(g, node, wide->rows, wide->columns, g->late[a] || g->late[b]);
    for (int64_t i = 0; i < y->rows * y->columns; i++) {
        const float p = x->data[small_x ? 0 : i], q = z->data[small_z ? 0 : i];
        y->data[i] = kind == 0 ? p + q : kind == 1 ? p - q : p > q ? p : q;
    }
    return true;
}

static inline void random_transpose(struct random_graph *g, int a)
{
    struct sc_node *node = random_node(g, "Transpose", 13);
    random_ints(g, node, "perm", 0, 2, 1, 0);
    random_reads(g, node, a);
    const struct random_matrix *x = &g->want[a];
    struct random_matrix *y = random_makes(g, node, x->columns, x->rows, g->late[a]);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->columns; j++) {
            y->data[j * x->rows + i] = x->data[i * x->columns + j];
        }
    }
}

/* Columns [1, columns), by the old form with attributes. */
static inline bool random_slice(struct random_graph *g, int a)
{
    const struct random_matrix *x = &g->want[a];
    if (x->columns < 3) {
        return false;
    }
    struct sc_node *node = random_node(g, "Slice", 1);
    random_ints(g, node, "axes", 0, 1, 1, 0);
    random_ints(g, node, "starts", 1, 1, 1, 0);
    random_ints(g, node, "ends", 2, 1, x->columns, 0);
    random_reads(g, node, a);
    struct random_matrix *y = random_makes(g, node, x->rows, x->columns - 1, g->late[a]);
    for (int64_t i = 0; i < y->rows; i++) {
        memcpy(y->data + i * y->columns, x->data + i * x->columns + 1, (size_t)y->columns * sizeof *y->data);
    }
    return true;
}

/* To dims that an input says: known when it runs. */
static inline void random_reshape(struct random_graph *g, int a)
{
    const int shape = random_shape(g, g->want[a].columns, g->want[a].rows);
    struct sc_node *node = random_node(g, "Reshape", 13);
    random_reads(g, node, a);
    random_reads(g, node, shape);
    struct random_matrix *y = random_makes(g, node, g->want[a].columns, g->want[a].rows, true);
    memcpy(y->data, g->want[a].data, sizeof y->data);
}

static inline bool random_concat(struct random_graph *g, int a, int b)
{
    const struct random_matrix *x = &g->want[a], *z = &g->want[b];
    const int64_t count = (x->rows + z->rows) * x->columns;
    if (x->columns != z->columns || count > RANDOM_ELEMENTS) {
        return false;
    }
    struct sc_node *node = random_node(g, "Concat", 13);
    node->attributes[node->n_attributes++] =
        (struct sc_attribute){.name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 0};
    random_reads(g, node, a);
    random_reads(g, node, b);
    struct random_matrix *y = random_makes(g, node, x->rows + z->rows, x->columns, g->late[a] || g->late[b]);
    memcpy(y->data, x->data, (size_t)(x->rows * x->columns) * sizeof *y->data);
    memcpy(y->data + x->rows * x->columns, z->data, (size_t)(z->rows * z->columns) * sizeof *y->data);
    return true;
}

/* A value of the graph that is a matrix: near the end more often than not. */
static inline int random_pick(struct random_graph *g)
{
    for (;;) {
        const int n = g->graph.n_values;
        const int v = random_draw(g, 2) ? random_draw(g, n) : n - 1 - random_draw(g, n < 4 ? n : 4);
        if (g->graph.values[v].place == SC_PLACE_NODE || g->graph.values[v].fact.type == SC_F32) {
            return v;
        }
    }
}

static inline void random_step(struct random_graph *g, bool late)
{
    const int a = random_pick(g), b = random_pick(g);
    switch (random_draw(g, late ? 9 : 8)) {
    case 0:
    case 1:
        random_unary(g, a);
        return;
    case 5:
        random_transpose(g, a);
        return;
    case 6:
        (void)random_slice(g, a);
        return;
    case 7:
        (void)random_concat(g, a, b);
        return;
    case 8:
        random_reshape(g, a);
        return;
    default:
        (void)random_binary(g, a, b);
    }
}

static inline void random_graph_make(struct random_graph *g, uint64_t seed, int n_nodes, bool late)
{
    memset(g, 0, sizeof *g);
    g->key.seed = seed;
    g->graph = (struct sc_graph){
        .name = "random", .nodes = g->nodes, .inputs = g->inputs, .outputs = g->outputs, .arena = &g->model.arena};
    g->model.graph = &g->graph;
    random_input(g, 4, 5);
    random_input(g, 5, 4);
    random_input(g, 1, 1);
    while (g->graph.n_nodes < n_nodes && g->graph.n_values < RANDOM_VALUES - 2) {
        random_step(g, late);
    }
    g->model.n_file_nodes = g->model.n_units = g->graph.n_nodes;
    for (int v = 0; v < g->graph.n_values; v++) {
        if (g->graph.values[v].place == SC_PLACE_NODE && (!g->read[v] || random_draw(g, 8) == 0)) {
            g->outputs[g->graph.n_outputs++] = v;
        }
    }
}

static inline void random_graph_release(struct random_graph *g)
{
    sc_map_release(&g->graph.names);
    sc_arena_release(&g->model.arena);
}

static inline void random_graph_expect(const struct random_graph *g, int v, const struct sc_value *value)
{
    const struct random_matrix *want = &g->want[v];
    assert_int_equal(value->kind, SC_KIND_TENSOR);
    const struct sc_tensor *got = &value->u.tensor;
    assert_int_equal(got->rank, 2);
    assert_int_equal(got->dims[0], want->rows);
    assert_int_equal(got->dims[1], want->columns);
    for (int64_t i = 0; i < want->rows * want->columns; i++) {
        const float x = ((const float *)got->data)[i];
        if (!(x == want->data[i])) {
            fail_msg("seed %llu, value %d, element %lld: %g, want %g", (unsigned long long)g->key.seed, v, (long long)i,
                (double)x, (double)want->data[i]);
        }
    }
}

#endif
