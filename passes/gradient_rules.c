/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of operators that are more than a formula: products, lists, and moves. */
#include <string.h>

#include "passes/gradient.h"

static enum sc_type type_of(const struct sc_backward *b, const struct sc_node *node)
{
    return sc_backward_fact(b, node->out[0])->type;
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
    return sc_backward_emit_with(b, "Transpose", 1, &value, 1, &attribute);
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
    const bool turn[2] = {sc_backward_int(b, node, "transA", 0) != 0, sc_backward_int(b, node, "transB", 0) != 0};
    const double alpha = sc_backward_float(b, node, "alpha", 1.0F), beta = sc_backward_float(b, node, "beta", 1.0F);
    const struct sc_backward_name names[] = {{"dy", dy[0]}, {"a", node->in[0]}, {"b", node->in[1]},
        {"alpha", sc_backward_scalar(b, type_of(b, node), alpha)},
        {"beta", sc_backward_scalar(b, type_of(b, node), beta)}};
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
    dx[0] = sc_backward_emit_with(b, "Transpose", 1, dy, 1, &attribute);
}

/* Softmax: y (dy - sum(y dy)); LogSoftmax: dy - exp(y) sum(dy). */
static void softmax(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int64_t axis = sc_backward_int(b, node, "axis", -1);
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

void sc_backward_move(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
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
    const int64_t axis = sc_backward_int(b, node, "axis", 1), zero = 0;
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
    if (strcmp(sc_backward_text(b, node, "reduction", "none"), "add") != 0) {
        sc_backward_refuse(b, node, "its reduction is not add");
        return;
    }
    const struct sc_attribute axis = {
        .name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = sc_backward_int(b, node, "axis", 0)};
    dx[0] = dx[0] == SC_WANTED ? dy[0] : -1;
    if (dx[2] == SC_WANTED) {
        dx[2] = sc_backward_emit_with(b, "GatherElements", 2, (const int[]){dy[0], node->in[1]}, 1, &axis);
    }
}

/* Max and Min over axes: equal entries share the gradient. Prod: the product of the others, which is one of all over
 * itself where nothing is 0; a single 0 has that of all but itself, and beside it everything is flat. */
static void reduce_chosen(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const enum sc_type type = type_of(b, node);
    struct sc_backward_name names[6] = {
        {"a", node->in[0]}, {"dy", dy[0]}, {"k", sc_backward_reduce(b, node, node->in[0], false)}};
    names[3] = (struct sc_backward_name){"d", sc_backward_formula(b, "dy k Shape Reshape", type, 3, names)};
    const bool product = strcmp(node->op, "ReduceProd") == 0;
    const int marked = sc_backward_formula(b, product ? "a 0 Equal 1 0 Where" : "a k Equal 1 0 Where", type, 4, names);
    names[4] = (struct sc_backward_name){"marked", marked};
    names[5] = (struct sc_backward_name){"n", sc_backward_reduce(b, node, marked, true)};
    if (!product) {
        dx[0] = sc_backward_formula(b, "marked n Div d Mul", type, 6, names);
        return;
    }
    names[2].value = sc_backward_reduce(b, node, sc_backward_formula(b, "a 0 Equal 1 a Where", type, 1, names), false);
    dx[0] =
        sc_backward_formula(b, "a 0 Equal n 1 Equal k 0 Where n 0 Equal k a Div 0 Where Where d Mul", type, 6, names);
}

/* The sums of what comes at or after: the same sums from the other end. */
static void cum_sum(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const struct sc_attribute made[] = {
        {.name = "exclusive", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = sc_backward_int(b, node, "exclusive", 0)},
        {.name = "reverse", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = sc_backward_int(b, node, "reverse", 0) == 0}};
    dx[0] = sc_backward_emit_with(b, "CumSum", 2, (const int[]){dy[0], node->in[1]}, 2, made);
}

/* An operator that keeps entries by their place alone, and has 0 elsewhere. */
static void keep(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    int out;
    dx[0] = sc_backward_copy(b, node, dy[0], &out);
}

static void top_k(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    if (node->n_out < 2 || node->out[1] < 0) {
        sc_backward_refuse(b, node, "its indices have no name");
        return;
    }
    const struct sc_backward_name names[] = {{"x", node->in[0]}};
    const struct sc_attribute made[] = {
        {.name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = sc_backward_int(b, node, "axis", -1)},
        {.name = "reduction", .type = SC_ATTRIBUTE_STRING, .n = 1, .u.s = {"add", 3}}};
    const int zeros = sc_backward_formula(b, "0 x Shape Expand", type_of(b, node), 1, names);
    dx[0] = sc_backward_emit_with(b, "ScatterElements", 3, (const int[]){zeros, node->out[1], dy[0]}, 2, made);
}

/* What training drops is not known where the mask is not asked for. */
static void dropout(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    if (node->n_in > 2 && node->in[2] >= 0) {
        const struct sc_tensor *training = sc_backward_fact(b, node->in[2])->value;
        if (!training || sc_tensor_count(training) != 1 || *(const bool *)training->data) {
            sc_backward_refuse(b, node, "training_mode is not known to be false");
            return;
        }
    }
    dx[0] = dx[0] == SC_WANTED ? dy[0] : -1;
}

/* Entries that are taken as they are; where the way leads outside there is a number of no entry. */
static void resize(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const bool nearest = strcmp(sc_backward_text(b, node, "mode", "nearest"), "nearest") == 0;
    const char *way = sc_backward_text(b, node, "coordinate_transformation_mode", "half_pixel");
    if (!nearest || strcmp(way, "tf_crop_and_resize") == 0) {
        sc_backward_refuse(b, node, "its mode is not nearest, or it crops");
        return;
    }
    sc_backward_move(b, node, dy, dx);
}

static void gelu(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct sc_backward_name names[] = {{"dy", dy[0]}, {"a", node->in[0]}, {"t", -1}};
    if (strcmp(sc_backward_text(b, node, "approximate", "none"), "tanh") != 0) {
        dx[0] = sc_backward_formula(b,
            "dy a 0.7071067811865476 Mul Erf 1 Add 2 Div a a a Mul 2 Div Neg Exp Mul 0.3989422804014327 Mul Add Mul",
            type_of(b, node), 2, names);
        return;
    }
    names[2].value = sc_backward_formula(
        b, "a 0.044715 a Mul a Mul a Mul Add 0.7978845608028654 Mul Tanh", type_of(b, node), 2, names);
    dx[0] = sc_backward_formula(b,
        "dy t 1 Add a 1 t t Mul Sub Mul 0.134145 a Mul a Mul 1 Add Mul 0.7978845608028654 Mul Add 2 Div Mul",
        type_of(b, node), 3, names);
}

static void selu(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const enum sc_type type = type_of(b, node);
    const double alpha = sc_backward_float(b, node, "alpha", 1.67326319217681884765625F);
    const double gamma = sc_backward_float(b, node, "gamma", 1.05070102214813232421875F);
    const struct sc_backward_name names[] = {{"dy", dy[0]}, {"y", node->out[0]}, {"a", node->in[0]},
        {"gamma", sc_backward_scalar(b, type, gamma)}, {"both", sc_backward_scalar(b, type, alpha * gamma)}};
    dx[0] = sc_backward_formula(b, "dy a 0 Less y both Add gamma Where Mul", type, 5, names);
}

static const struct sc_rule rules[] = {
    {"Compress", 9, sc_backward_move},
    {"Concat", 4, concat},
    {"CumSum", 11, cum_sum},
    {"DepthToSpace", 1, sc_backward_move},
    {"Dropout", 7, dropout},
    {"Gather", 1, sc_backward_move},
    {"GatherElements", 11, sc_backward_move},
    {"GatherND", 11, sc_backward_move},
    {"Gelu", 20, gelu},
    {"Gemm", 7, gemm},
    {"LogSoftmax", 13, softmax},
    {"MatMul", 1, matmul},
    {"Max", 8, extreme},
    {"Mean", 8, sum},
    {"Min", 8, extreme},
    {"ReduceMax", 11, reduce_chosen},
    {"ReduceMin", 11, reduce_chosen},
    {"ReduceProd", 11, reduce_chosen},
    {"Resize", 10, resize},
    {"ReverseSequence", 10, sc_backward_move},
    {"ScatterElements", 16, scatter_add},
    {"Selu", 6, selu},
    {"Slice", 1, sc_backward_move},
    {"Softmax", 13, softmax},
    {"SpaceToDepth", 1, sc_backward_move},
    {"Split", 2, sc_backward_move},
    {"Sum", 8, sum},
    {"Tile", 6, sc_backward_move},
    {"TopK", 10, top_k},
    {"Transpose", 1, transpose},
    {"Trilu", 14, keep},
    {.op = NULL},
};

const struct sc_rule *const sc_gradient_rules[] = {
    rules, sc_gradient_windows, sc_gradient_norms, sc_gradient_losses, NULL};
