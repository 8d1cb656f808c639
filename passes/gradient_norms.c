/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of normalizations: h = (x - mean) / s over some axes, where s is the root of what is left, times a scale,
 * plus a shift. With g the gradient of h, that of x is
 *
 *   (g - mean(g) - h mean(g h)) / s
 *
 * without mean(g) where no mean is taken away. They are computed in float where the type is a narrower one, as the
 * statistics of the clauses are. */
#include <string.h>

#include "passes/gradient.h"

struct norm {
    const struct sc_node *node;
    struct sc_names names; /* of views, in the type of the statistics */
};

static struct norm open_norm(struct sc_backward *b, const struct sc_node *node)
{
    const enum sc_type type = sc_backward_fact(b, node->in[0])->type;
    return (struct norm){.node = node, .names = {.b = b, .type = type == SC_F64 ? SC_F64 : SC_F32}};
}

static int name(struct norm *norm, const char *text, int value)
{
    return sc_names_add(&norm->names, text, value);
}

static int let(struct norm *norm, const char *text, const char *formula)
{
    return sc_names_add_formula(&norm->names, text, formula);
}

static int formula(struct norm *norm, const char *text)
{
    return sc_names_formula(&norm->names, text);
}

/* `value` in the type of the statistics, and reshaped unless shape is -1. */
static int view(struct norm *norm, int value, int shape)
{
    struct sc_backward *b = norm->names.b;
    const int like = sc_backward_scalar(b, norm->names.type, 0);
    const int cast = sc_backward_emit(b, "CastLike", 2, (const int[]){value, like});
    return shape < 0 ? cast : sc_backward_emit(b, "Reshape", 2, (const int[]){cast, shape});
}

/* Back to the shape and type of an input of the node. */
static int unview(struct norm *norm, int value, int input)
{
    const struct sc_backward_name names[] = {{"v", value}, {"like", input}};
    return sc_backward_formula(norm->names.b, "v like Shape Reshape like CastLike", norm->names.type, 2, names);
}

/* The gradient of a scale or shift: `each` summed to its view. */
static int of_parameter(struct norm *norm, int each, int like, int input)
{
    return unview(norm, sc_backward_sum_to(norm->names.b, each, like), input);
}

/* "x" has its name; then "c", "s" and "h" have. */
static void statistics(struct norm *norm, int axes, bool centre)
{
    name(norm, "axes", axes);
    name(norm, "epsilon",
        sc_backward_scalar(
            norm->names.b, norm->names.type, sc_backward_float(norm->names.b, norm->node, "epsilon", 1e-5F)));
    let(norm, "c", centre ? "x x axes ReduceMean Sub" : "x");
    let(norm, "s", "c c Mul axes ReduceMean epsilon Add Sqrt");
    let(norm, "h", "c s Div");
}

/* The gradients of a scale and a shift, whose views are given, when they are wanted; "dy" and "h" have their names.
 * Names "g". */
static void scale_and_shift(struct norm *norm, int scale, int shift, int *dx)
{
    const struct sc_node *node = norm->node;
    name(norm, "scale", scale);
    let(norm, "g", "dy scale Mul");
    if (dx[1] == SC_WANTED) {
        dx[1] = of_parameter(norm, formula(norm, "dy h Mul"), scale, node->in[1]);
    }
    if (node->n_in > 2 && dx[2] == SC_WANTED) {
        dx[2] = of_parameter(norm, formula(norm, "dy"), shift, node->in[2]);
    }
}

static const char of_centred[] = "g g axes ReduceMean Sub h g h Mul axes ReduceMean Mul Sub s Div";
static const char of_plain[] = "g h g h Mul axes ReduceMean Mul Sub s Div";

/* The mean and 1 / s are outputs, too. */
static int of_outputs(struct norm *norm, int d, const int *dy)
{
    static const char *const texts[] = {"d each x Size each Size Div each CastLike Div Add",
        "d each h Mul s Div s Div x Size each Size Div each CastLike Div Sub"};
    for (int o = 1; o < norm->node->n_out; o++) {
        if (dy[o] >= 0) {
            struct norm own = *norm;
            name(&own, "d", d);
            name(&own, "each", view(&own, dy[o], -1));
            d = formula(&own, texts[o - 1]);
        }
    }
    return d;
}

/* LayerNormalization and RMSNormalization: the axes from `axis` on; scale and shift are broadcast. */
static void row_norm(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct norm norm = open_norm(b, node);
    const int rank = sc_backward_rank(b, node, 1);
    if (rank < 0) {
        return;
    }
    const bool centre = strcmp(node->op, "LayerNormalization") == 0;
    const int axis = (int)sc_backward_int(b, node, "axis", -1);
    name(&norm, "x", view(&norm, node->in[0], -1));
    name(&norm, "dy", dy[0] >= 0 ? view(&norm, dy[0], -1) : formula(&norm, "0 x Shape Expand"));
    statistics(&norm, sc_backward_range(b, axis < 0 ? axis + rank : axis, rank), centre);
    const int shift = node->n_in > 2 ? node->in[2] : -1;
    scale_and_shift(&norm, view(&norm, node->in[1], -1), shift, dx);
    if (dx[0] == SC_WANTED) {
        dx[0] = unview(&norm, of_outputs(&norm, formula(&norm, centre ? of_centred : of_plain), dy), node->in[0]);
    }
}

/* A parameter by channel as [C, 1, ...], to stand against [N, C, ...]. */
static int channels(struct norm *norm, int value, int rank)
{
    int64_t dims[SC_MAX_RANK] = {-1};
    for (int d = 1; d < rank - 1; d++) {
        dims[d] = 1;
    }
    return view(norm, value, sc_backward_ints(norm->names.b, rank - 1, dims));
}

static void instance_norm(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct norm norm = open_norm(b, node);
    const int rank = sc_backward_rank(b, node, 3);
    if (rank < 0) {
        return;
    }
    name(&norm, "x", view(&norm, node->in[0], -1));
    name(&norm, "dy", view(&norm, dy[0], -1));
    statistics(&norm, sc_backward_range(b, 2, rank), true);
    scale_and_shift(&norm, channels(&norm, node->in[1], rank), channels(&norm, node->in[2], rank), dx);
    dx[0] = dx[0] == SC_WANTED ? unview(&norm, formula(&norm, of_centred), node->in[0]) : -1;
}

/* As [N, groups, C / groups, ...], whose axes from the third on are normalised; scale and shift are by channel, until
 * version 21 by group. */
static void group_norm(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct norm norm = open_norm(b, node);
    const int rank = sc_backward_rank(b, node, 3);
    if (rank < 0) {
        return;
    }
    const int64_t groups = sc_backward_int(b, node, "num_groups", 1);
    int64_t ones[SC_MAX_RANK];
    for (int i = 0; i < SC_MAX_RANK; i++) {
        ones[i] = 1;
    }
    struct sc_backward_name names[] = {{"x", node->in[0]}, {"g", sc_backward_ints(b, 1, &groups)},
        {"first", sc_backward_range(b, 0, 1)}, {"second", sc_backward_range(b, 1, 2)},
        {"others", sc_backward_range(b, 2, rank)}, {"ones", sc_backward_ints(b, rank - 2, ones)}, {"each", -1}};
    names[6].value = sc_backward_formula(b, "x Shape second Gather g Div", SC_I64, 6, names);
    const int shape = sc_backward_formula(
        b, "x Shape first Gather g Concat each Concat x Shape others Gather Concat", SC_I64, 7, names);
    const int by = sc_backward_formula(
        b, node->version < 21 ? "g second Concat ones Concat" : "g each Concat ones Concat", SC_I64, 7, names);
    name(&norm, "x", view(&norm, node->in[0], shape));
    name(&norm, "dy", view(&norm, dy[0], shape));
    statistics(&norm, sc_backward_range(b, 2, rank + 1), true);
    scale_and_shift(&norm, view(&norm, node->in[1], by), view(&norm, node->in[2], by), dx);
    dx[0] = dx[0] == SC_WANTED ? unview(&norm, formula(&norm, of_centred), node->in[0]) : -1;
}

/* Mean and variance are inputs. */
static void given_norm(struct norm *norm, int rank, int *dx)
{
    const struct sc_node *node = norm->node;
    const int mean = name(norm, "mean", channels(norm, node->in[3], rank));
    const int variance = name(norm, "variance", channels(norm, node->in[4], rank));
    const double epsilon = sc_backward_float(norm->names.b, node, "epsilon", 1e-5F);
    name(norm, "epsilon", sc_backward_scalar(norm->names.b, norm->names.type, epsilon));
    let(norm, "s", "variance epsilon Add Sqrt");
    let(norm, "h", "x mean Sub s Div");
    scale_and_shift(norm, channels(norm, node->in[1], rank), channels(norm, node->in[2], rank), dx);
    const int d = let(norm, "d", "g s Div");
    if (dx[0] == SC_WANTED) {
        dx[0] = unview(norm, d, node->in[0]);
    }
    if (dx[3] == SC_WANTED) {
        dx[3] = of_parameter(norm, formula(norm, "d Neg"), mean, node->in[3]);
    }
    if (dx[4] == SC_WANTED) {
        dx[4] = of_parameter(norm, formula(norm, "d h Mul s Div 2 Div Neg"), variance, node->in[4]);
    }
}

static void batch_norm(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct norm norm = open_norm(b, node);
    const int rank = sc_backward_rank(b, node, 2);
    bool wanted = false; /* gradients of other outputs */
    for (int o = 1; o < node->n_out; o++) {
        wanted |= dy[o] >= 0;
    }
    if (wanted || sc_backward_int(b, node, "spatial", 1) == 0) {
        sc_backward_refuse(b, node, "of its running statistics, or with spatial 0");
    }
    if (rank < 0 || b->status != SC_OK) {
        return;
    }
    name(&norm, "x", view(&norm, node->in[0], -1));
    name(&norm, "dy", view(&norm, dy[0], -1));
    if (node->version < 14 ? node->n_out == 1 : sc_backward_int(b, node, "training_mode", 0) == 0) {
        given_norm(&norm, rank, dx);
        return;
    }
    const int first = sc_backward_range(b, 0, 1), others = sc_backward_range(b, 2, rank);
    statistics(&norm, sc_backward_emit(b, "Concat", 2, (const int[]){first, others}), true);
    scale_and_shift(&norm, channels(&norm, node->in[1], rank), channels(&norm, node->in[2], rank), dx);
    dx[0] = dx[0] == SC_WANTED ? unview(&norm, formula(&norm, of_centred), node->in[0]) : -1;
    dx[3] = dx[4] = -1;
}

/* (x - mean) / (s + 1e-9), where s has no epsilon. */
static void mean_variance_norm(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    static const int64_t usual[] = {0, 2, 3};
    struct norm norm = open_norm(b, node);
    int n = -1;
    const int64_t *axes = NULL;
    b->status = b->status == SC_OK ? sc_node_ints(node, "axes", &n, &axes) : b->status;
    name(&norm, "x", view(&norm, node->in[0], -1));
    name(&norm, "g", view(&norm, dy[0], -1));
    name(&norm, "axes", sc_backward_ints(b, n < 0 ? 3 : n, n < 0 ? usual : axes));
    let(&norm, "c", "x x axes ReduceMean Sub");
    let(&norm, "s", "c c Mul axes ReduceMean Sqrt");
    let(&norm, "all", "s 1e-9 Add");
    let(&norm, "h", "c all Div");
    dx[0] = unview(
        &norm, formula(&norm, "g g axes ReduceMean Sub all Div h g h Mul axes ReduceMean Mul s Div Sub"), node->in[0]);
}

/* x / n over one axis, where n is the sum of |x| or the root of that of its squares; zeros stay zeros. */
static void lp_norm(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct norm norm = open_norm(b, node);
    const int64_t axis = sc_backward_int(b, node, "axis", -1);
    const bool squares = sc_backward_int(b, node, "p", 2) == 2;
    name(&norm, "x", view(&norm, node->in[0], -1));
    name(&norm, "dy", view(&norm, dy[0], -1));
    name(&norm, "axis", sc_backward_ints(b, 1, &axis));
    let(&norm, "n", squares ? "x x Mul axis ReduceSum Sqrt" : "x Abs axis ReduceSum");
    let(&norm, "y", "x n Div");
    let(&norm, "dn", squares ? "y" : "x Sign");
    dx[0] = unview(&norm, formula(&norm, "n 0 Equal 0 dy dn y dy Mul axis ReduceSum Mul Sub n Div Where"), node->in[0]);
}

/* `value` summed over windows of `size` channels and divided by it, as an AveragePool over [N, 1, C, ...]. */
static int neighbours(struct norm *norm, int value, int rank, int64_t size, bool back)
{
    struct sc_backward *b = norm->names.b;
    int64_t *lists = sc_arena_array(b->edit->graph->arena, 3 * SC_MAX_RANK, sizeof *lists);
    if (!lists) {
        b->status = SC_NO_MEMORY;
        return -1;
    }
    int64_t *kernel = lists, *pads = lists + SC_MAX_RANK;
    const int axes = rank - 1;
    for (int i = 0; i < axes; i++) {
        kernel[i] = i == 0 ? size : 1;
    }
    pads[0] = back ? size / 2 : (size - 1) / 2;
    pads[axes] = size - 1 - pads[0];
    const struct sc_attribute made[] = {
        {.name = "kernel_shape", .type = SC_ATTRIBUTE_INTS, .n = axes, .u.ints = kernel},
        {.name = "pads", .type = SC_ATTRIBUTE_INTS, .n = 2 * axes, .u.ints = pads},
        {.name = "count_include_pad", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1}};
    const int one = sc_backward_range(b, 1, 2);
    const int wide = sc_backward_emit(b, "Unsqueeze", 2, (const int[]){value, one});
    const int made_of = sc_backward_emit_with(b, "AveragePool", 1, &wide, 3, made);
    return sc_backward_emit(b, "Squeeze", 2, (const int[]){made_of, one});
}

/* x / q ^ beta, where q = bias + alpha times the mean of the neighbours' squares. */
static void lrn(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct norm norm = open_norm(b, node);
    const int rank = sc_backward_rank(b, node, 2);
    const int64_t size = sc_backward_int(b, node, "size", 1);
    if (rank < 0) {
        return;
    }
    name(&norm, "x", view(&norm, node->in[0], -1));
    name(&norm, "dy", view(&norm, dy[0], -1));
    name(&norm, "alpha", sc_backward_scalar(b, norm.names.type, sc_backward_float(b, node, "alpha", 1e-4F)));
    name(&norm, "beta", sc_backward_scalar(b, norm.names.type, sc_backward_float(b, node, "beta", 0.75F)));
    name(&norm, "bias", sc_backward_scalar(b, norm.names.type, sc_backward_float(b, node, "bias", 1.0F)));
    name(&norm, "means", neighbours(&norm, formula(&norm, "x x Mul"), rank, size, false));
    let(&norm, "q", "bias alpha means Mul Add");
    let(&norm, "direct", "dy q beta Pow Div");
    name(&norm, "all", neighbours(&norm, formula(&norm, "direct x Mul q Div"), rank, size, true));
    dx[0] = unview(&norm, formula(&norm, "direct alpha beta Mul 2 Mul x Mul all Mul Sub"), node->in[0]);
}

const struct sc_rule sc_gradient_norms[] = {
    {"BatchNormalization", 7, batch_norm},
    {"GroupNormalization", 18, group_norm},
    {"InstanceNormalization", 6, instance_norm},
    {"LRN", 1, lrn},
    {"LayerNormalization", 17, row_norm},
    {"LpNormalization", 1, lp_norm},
    {"MeanVarianceNormalization", 9, mean_variance_norm},
    {"RMSNormalization", 23, row_norm},
    {.op = NULL},
};
