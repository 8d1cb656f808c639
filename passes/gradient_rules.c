/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of operators that are more than a formula: products, lists, and moves. */
#include <string.h>

#include "passes/gradient.h"

static enum sc_type type_of(const struct sc_backward *b, const struct sc_node *node)
{
    return sc_backward_fact(b, node->out[0])->type;
}

static int64_t int_of(struct sc_backward *b, const struct sc_node *node, const char *name, int64_t otherwise)
{
    int64_t value = otherwise;
    const enum sc_status status = sc_node_int(node, name, otherwise, &value);
    b->status = b->status == SC_OK ? status : b->status;
    return value;
}

/* The last two axes swapped. */
static int turned(struct sc_backward *b, int value, int rank)
{
    int64_t *perm = sc_arena_array(b->edit->graph->arena, (size_t)rank, sizeof *perm);
    if (!perm) {
        b->status = SC_NO_MEMORY;
        return -1;
    }
    for (int d = 0; d < rank; d++) {
        perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    }
    const struct sc_attribute attribute = {.name = "perm", .type = SC_ATTRIBUTE_INTS, .n = rank, .u.ints = perm};
    return sc_backward_emit_with(b, "Transpose", 1, &value, &attribute);
}

static int with_axis(struct sc_backward *b, int value, int64_t axis)
{
    return sc_backward_emit(b, "Unsqueeze", 2, (const int[]){value, sc_backward_ints(b, 1, &axis)});
}

/* dA = dY Bᵀ, dB = Aᵀ dY; a vector is a matrix of one row on the left, of one column on the right. */
static void matmul(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int rank[2] = {sc_backward_fact(b, node->in[0])->rank, sc_backward_fact(b, node->in[1])->rank};
    if (rank[0] < 0 || rank[1] < 0) {
        sc_backward_refuse(b, node, "the rank of an input is not known");
        return;
    }
    int full[2], d = rank[1] == 1 ? with_axis(b, dy[0], -1) : dy[0];
    d = rank[0] == 1 ? with_axis(b, d, -2) : d;
    for (int i = 0; i < 2; i++) {
        full[i] = rank[i] == 1 ? with_axis(b, node->in[i], i) : node->in[i];
    }
    for (int i = 0; i < 2; i++) {
        if (dx[i] != SC_WANTED) {
            continue;
        }
        const int other = turned(b, full[1 - i], rank[1 - i] == 1 ? 2 : rank[1 - i]);
        dx[i] = sc_backward_emit(b, "MatMul", 2, i == 0 ? (const int[]){d, other} : (const int[]){other, d});
        if (rank[0] > 2 || rank[1] > 2) {
            dx[i] = sc_backward_sum_to(b, dx[i], full[i]);
        }
        if (rank[i] == 1) {
            const int shape = sc_backward_emit(b, "Shape", 1, &node->in[i]);
            dx[i] = sc_backward_emit(b, "Reshape", 2, (const int[]){dx[i], shape});
        }
    }
}

/* Y = alpha A' B' + beta C, where A' and B' may be transposed inputs. */
static void gemm(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const bool turn[2] = {int_of(b, node, "transA", 0) != 0, int_of(b, node, "transB", 0) != 0};
    float alpha = 1.0F, beta = 1.0F;
    b->status = b->status == SC_OK ? sc_node_float(node, "alpha", 1.0F, &alpha) : b->status;
    b->status = b->status == SC_OK ? sc_node_float(node, "beta", 1.0F, &beta) : b->status;
    const struct sc_backward_name names[] = {{"dy", dy[0]}, {"a", node->in[0]}, {"b", node->in[1]},
        {"alpha", sc_backward_scalar(b, type_of(b, node), (double)alpha)},
        {"beta", sc_backward_scalar(b, type_of(b, node), (double)beta)}};
    const char *left = turn[1] ? "dy b MatMul alpha Mul" : "dy b Transpose MatMul alpha Mul";
    const char *right = turn[0] ? "a dy MatMul alpha Mul" : "a Transpose dy MatMul alpha Mul";
    for (int i = 0; i < 2; i++) {
        if (dx[i] == SC_WANTED) {
            dx[i] = sc_backward_formula(b, i == 0 ? left : right, type_of(b, node), 5, names);
            dx[i] = turn[i] ? sc_backward_emit(b, "Transpose", 1, &dx[i]) : dx[i];
        }
    }
    if (node->n_in > 2 && dx[2] == SC_WANTED) {
        dx[2] = sc_backward_sum_to(b, sc_backward_formula(b, "dy beta Mul", type_of(b, node), 5, names), node->in[2]);
    }
}

static void transpose(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    int n;
    const int64_t *perm;
    b->status = sc_node_ints(node, "perm", &n, &perm);
    if (b->status != SC_OK || n < 0) {
        dx[0] = sc_backward_emit(b, "Transpose", 1, dy);
        return;
    }
    int64_t *back = sc_arena_array(b->edit->graph->arena, (size_t)n, sizeof *back);
    if (!back) {
        b->status = SC_NO_MEMORY;
        return;
    }
    for (int d = 0; d < n; d++) {
        if (perm[d] >= 0 && perm[d] < n) { /* inference has seen that it is a permutation */
            back[perm[d]] = d;
        }
    }
    const struct sc_attribute attribute = {.name = "perm", .type = SC_ATTRIBUTE_INTS, .n = n, .u.ints = back};
    dx[0] = sc_backward_emit_with(b, "Transpose", 1, dy, &attribute);
}

/* Softmax: y (dy - sum(y dy)); LogSoftmax: dy - exp(y) sum(dy). */
static void softmax(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int64_t axis = int_of(b, node, "axis", -1);
    const struct sc_backward_name names[] = {
        {"dy", dy[0]}, {"y", node->out[0]}, {"axis", sc_backward_ints(b, 1, &axis)}};
    const char *text = strcmp(node->op, "Softmax") == 0 ? "dy dy y Mul axis ReduceSum Sub y Mul"
                                                        : "dy y Exp dy axis ReduceSum Mul Sub";
    dx[0] = sc_backward_formula(b, text, type_of(b, node), 3, names);
}

static void sum(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    int d = dy[0];
    if (strcmp(node->op, "Mean") == 0) {
        d = sc_backward_emit(b, "Div", 2, (const int[]){d, sc_backward_scalar(b, type_of(b, node), node->n_in)});
    }
    for (int i = 0; i < node->n_in; i++) {
        dx[i] = dx[i] == SC_WANTED ? sc_backward_sum_to(b, d, node->in[i]) : -1;
    }
}

/* Max and Min: the input that is the output has the gradient; of equal ones the first, as their sum is to be whole. */
static void extreme(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    int left = dy[0]; /* where no input has been the output yet */
    for (int i = 0; i < node->n_in; i++) {
        const struct sc_backward_name names[] = {{"a", node->in[i]}, {"y", node->out[0]}, {"left", left}};
        if (dx[i] == SC_WANTED) {
            const int own = sc_backward_formula(b, "a y Equal left 0 Where", type_of(b, node), 3, names);
            dx[i] = sc_backward_sum_to(b, own, node->in[i]);
        }
        left = i + 1 < node->n_in ? sc_backward_formula(b, "a y Equal 0 left Where", type_of(b, node), 3, names) : -1;
    }
}

/* An operator that only moves elements of its first input: it is run on their numbers, and each gradient is added where
 * its element came from. */
static void move(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    static const int64_t all = -1;
    const int x = node->in[0];
    if (dx[0] != SC_WANTED) {
        return;
    }
    const struct sc_backward_name names[] = {{"x", x}, {"flat", sc_backward_ints(b, 1, &all)}};
    const int numbers = sc_backward_formula(b, "0 x Size 1 Range x Shape Reshape", SC_I64, 2, names);
    int *moved = sc_arena_array(b->edit->graph->arena, (size_t)node->n_out, sizeof *moved);
    if (!moved) {
        b->status = SC_NO_MEMORY;
        return;
    }
    sc_backward_copy(b, node, numbers, moved);
    int total = sc_backward_formula(b, "0 x Size flat Reshape Expand", type_of(b, node), 2, names);
    for (int o = 0; o < node->n_out; o++) {
        if (dy[o] >= 0) {
            const struct sc_backward_name each[] = {
                {"total", total}, {"from", moved[o]}, {"dy", dy[o]}, {"flat", names[1].value}};
            total = sc_backward_formula(
                b, "total from flat Reshape dy flat Reshape ScatterElements", type_of(b, node), 4, each);
        }
    }
    dx[0] = sc_backward_emit(b, "Reshape", 2, (const int[]){total, sc_backward_emit(b, "Shape", 1, &x)});
    for (int i = 1; i < node->n_in; i++) {
        dx[i] = -1;
    }
}

/* Each input is its part of the output: a piece of the length that it has on the axis. */
static void concat(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int64_t axis = int_of(b, node, "axis", 1), zero = 0;
    const int at = sc_backward_ints(b, 1, &axis);
    int from = sc_backward_ints(b, 1, &zero);
    for (int i = 0; i < node->n_in; i++) {
        const struct sc_backward_name names[] = {{"x", node->in[i]}, {"at", at}, {"from", from}};
        const int end = sc_backward_formula(b, "from x Shape at Gather Add", SC_I64, 3, names);
        if (dx[i] == SC_WANTED) {
            dx[i] = sc_backward_emit(b, "Slice", 4, (const int[]){dy[0], from, end, at});
        }
        from = end;
    }
}

/* What `move` makes, so that moves have second derivatives. */
static void scatter_add(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const char *reduction = "";
    b->status = sc_node_text(node, "reduction", "none", &reduction);
    if (strcmp(reduction, "add") != 0) {
        sc_backward_refuse(b, node, "its reduction is not add");
        return;
    }
    const struct sc_attribute axis = {
        .name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = int_of(b, node, "axis", 0)};
    dx[0] = dx[0] == SC_WANTED ? dy[0] : -1;
    if (dx[2] == SC_WANTED) {
        dx[2] = sc_backward_emit_with(b, "GatherElements", 2, (const int[]){dy[0], node->in[1]}, &axis);
    }
}

const struct sc_rule sc_gradient_rules[] = {
    {"Concat", 4, concat},
    {"DepthToSpace", 1, move},
    {"Gather", 1, move},
    {"GatherElements", 11, move},
    {"GatherND", 11, move},
    {"Gemm", 7, gemm},
    {"LogSoftmax", 13, softmax},
    {"MatMul", 1, matmul},
    {"Max", 8, extreme},
    {"Mean", 8, sum},
    {"Min", 8, extreme},
    {"ScatterElements", 16, scatter_add},
    {"Slice", 1, move},
    {"Softmax", 13, softmax},
    {"SpaceToDepth", 1, move},
    {"Split", 2, move},
    {"Sum", 8, sum},
    {"Tile", 6, move},
    {"Transpose", 1, transpose},
    {.op = NULL},
};
