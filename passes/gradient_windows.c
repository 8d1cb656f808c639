/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of operators that slide a window. Their padding is a step of its own, by pads that make the input exactly
 * as long as the windows reach; entries that no window reaches are cut off by pads below zero:
 *
 *   y  = Conv(Pad(x, pads), w)                       without pads
 *   dx = Pad(ConvTranspose(dy, w), -pads)            without pads
 *   dw = Conv(Pad(x, pads), dy)                      with strides for dilations, dilations for strides, and with
 *                                                    batch for channels */
#include <string.h>

#include "passes/gradient.h"

struct slide {
    const struct sc_node *node;
    int axes; /* that windows move along: all but the first two */
    int numbers; /* their numbers, for Pad and Concat */
    int kernel, pads; /* lists, by axis; pads has two */
};

/* The first entries of a list that the node may have; inference has seen that there are as many. */
static int list_of(struct sc_backward *b, const struct sc_node *node, const char *name, int n_wanted, int64_t otherwise)
{
    int64_t filled[SC_MAX_RANK];
    int n;
    const int64_t *values;
    const enum sc_status status = sc_node_ints(node, name, &n, &values);
    b->status = b->status == SC_OK ? status : b->status;
    for (int i = 0; i < n_wanted; i++) {
        filled[i] = b->status == SC_OK && n >= n_wanted ? values[i] : otherwise;
    }
    return sc_backward_ints(b, n_wanted, filled);
}

/* The dims from the third on. */
static int spatial(struct sc_backward *b, int value)
{
    static const int64_t two = 2, end = SC_MAX_RANK;
    const struct sc_backward_name names[] = {
        {"v", value}, {"two", sc_backward_ints(b, 1, &two)}, {"end", sc_backward_ints(b, 1, &end)}};
    return sc_backward_formula(b, "v Shape two end Slice", SC_I64, 3, names);
}

/* The pads at the beginning of each axis. total: what there is of pads in all, where they follow from the dims. */
static int begin_of(const struct slide *s, const char *total, struct sc_names *names)
{
    const char *pad = sc_backward_text(names->b, s->node, "auto_pad", "NOTSET");
    const bool upper = strcmp(pad, "SAME_UPPER") == 0;
    if (!upper && strcmp(pad, "SAME_LOWER") != 0 && !sc_node_attribute(s->node, "output_shape")) {
        return list_of(names->b, s->node, strcmp(pad, "NOTSET") == 0 ? "pads" : "none", s->axes, 0);
    }
    sc_names_add_formula(names, "total", total);
    const int half = sc_names_add_formula(names, "half", "total total 2 Mod Sub 2 Div");
    return upper ? half : sc_names_formula(names, "total half Sub");
}

/* Windows of s->kernel entries that move over `in` and have their places in `out`. total: a formula of what there is of
 * pads; i, o: the dims of the two; reach: how far windows reach. Returns false when the operator is refused. */
static bool open_slide(
    struct sc_backward *b, const struct sc_node *node, int in, int out, const char *total, struct slide *s)
{
    const int rank = sc_backward_rank(b, node, 3);
    if (rank < 0) {
        return false;
    }
    s->node = node;
    s->axes = rank - 2;
    s->numbers = sc_backward_range(b, 2, rank);
    struct sc_names names = {.b = b, .type = SC_I64};
    sc_names_add(&names, "i", spatial(b, in));
    sc_names_add(&names, "o", spatial(b, out));
    sc_names_add(&names, "kernel", s->kernel);
    sc_names_add(&names, "strides", list_of(b, node, "strides", s->axes, 1));
    sc_names_add(&names, "dilations", list_of(b, node, "dilations", s->axes, 1));
    sc_names_add(&names, "extra", list_of(b, node, "output_padding", s->axes, 0));
    sc_names_add_formula(&names, "reach", "o 1 Sub strides Mul kernel 1 Sub dilations Mul Add 1 Add");
    sc_names_add(&names, "begin", begin_of(s, total, &names));
    s->pads = sc_names_formula(&names, "begin reach i Sub begin Sub Concat");
    return b->status == SC_OK;
}

static int pad(struct sc_backward *b, const struct slide *s, int value, bool back)
{
    const int pads = back ? sc_backward_emit(b, "Neg", 1, &s->pads) : s->pads;
    return sc_backward_emit(b, "Pad", 4, (const int[]){value, pads, -1, s->numbers});
}

/* Conv or ConvTranspose without pads, with strides and dilations of the node, or with each for the other. */
static int convolve(struct sc_backward *b, const struct slide *s, const char *op, int x, int w, bool crossed)
{
    struct sc_attribute made[3];
    int n = 0;
    for (int a = 0; a < s->node->n_attributes; a++) {
        const struct sc_attribute *attribute = &s->node->attributes[a];
        const bool strides = strcmp(attribute->name, "strides") == 0;
        if (strides || strcmp(attribute->name, "dilations") == 0) {
            made[n] = *attribute;
            made[n++].name = strides != crossed ? "strides" : "dilations";
        } else if (strcmp(attribute->name, "group") == 0) {
            made[n++] = *attribute;
        }
    }
    return sc_backward_emit_with(b, op, 2, (const int[]){x, w}, n, made);
}

/* Axes `first` and `second` exchanged. */
static int exchange(struct sc_backward *b, int value, int rank, int first, int second)
{
    int64_t *perm = sc_arena_array(b->edit->graph->arena, (size_t)rank, sizeof *perm);
    if (!perm) {
        b->status = SC_NO_MEMORY;
        return -1;
    }
    for (int d = 0; d < rank; d++) {
        perm[d] = d == first ? second : d == second ? first : d;
    }
    const struct sc_attribute attribute = {.name = "perm", .type = SC_ATTRIBUTE_INTS, .n = rank, .u.ints = perm};
    return sc_backward_emit_with(b, "Transpose", 1, &value, 1, &attribute);
}

/* [a, groups * m, ...] as [m, groups * a, ...]: each group's channels become its batch. */
static int exchange_in_groups(struct sc_backward *b, const struct slide *s, int value)
{
    struct sc_names names = {.b = b, .type = SC_I64};
    const int64_t groups = sc_backward_int(b, s->node, "group", 1);
    sc_names_add(&names, "v", value);
    sc_names_add(&names, "g", sc_backward_ints(b, 1, &groups));
    sc_names_add(&names, "zero", sc_backward_range(b, 0, 1));
    sc_names_add(&names, "one", sc_backward_range(b, 1, 2));
    sc_names_add(&names, "rest", spatial(b, value));
    sc_names_add_formula(&names, "a", "v Shape zero Gather");
    sc_names_add_formula(&names, "m", "v Shape one Gather g Div");
    const int apart = sc_names_formula(&names, "v a g Concat m Concat rest Concat Reshape");
    sc_names_add(&names, "turned", exchange(b, apart, s->axes + 3, 0, 2));
    return sc_names_formula(&names, "turned m g a Mul Concat rest Concat Reshape");
}

/* The gradient of weights between `wide`, which windows move over, and their places `narrow`. */
static int weights(struct sc_backward *b, const struct slide *s, int wide, int narrow)
{
    const int rank = s->axes + 2;
    const int made = convolve(b, s, "Conv", exchange_in_groups(b, s, wide), exchange(b, narrow, rank, 0, 1), true);
    return exchange(b, made, rank, 0, 1);
}

/* All axes but that of the channels are summed. */
static int bias(struct sc_backward *b, const struct slide *s, int dy)
{
    const struct sc_backward_name names[] = {{"dy", dy}, {"rest", s->numbers}, {"zero", sc_backward_range(b, 0, 1)},
        {"channels", sc_backward_range(b, 1, 2)}};
    return sc_backward_formula(b, "dy zero rest Concat ReduceSum dy Shape channels Gather Reshape", SC_I64, 4, names);
}

static void conv(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int x = node->in[0], w = node->in[1];
    struct slide s = {.kernel = spatial(b, w)};
    if (!open_slide(b, node, x, node->out[0], "reach i Sub 0 Max", &s)) {
        return;
    }
    if (dx[0] == SC_WANTED) {
        dx[0] = pad(b, &s, convolve(b, &s, "ConvTranspose", dy[0], w, false), true);
    }
    if (dx[1] == SC_WANTED) {
        dx[1] = weights(b, &s, pad(b, &s, x, false), dy[0]);
    }
    if (node->n_in > 2 && dx[2] == SC_WANTED) {
        dx[2] = bias(b, &s, dy[0]);
    }
}

/* The other way round: x has the places of windows that move over y. */
static void conv_transpose(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int x = node->in[0], w = node->in[1];
    struct slide s = {.kernel = spatial(b, w)};
    if (!open_slide(b, node, node->out[0], x, "reach extra Add i Sub", &s)) {
        return;
    }
    const int whole = pad(b, &s, dy[0], false);
    if (dx[0] == SC_WANTED) {
        dx[0] = convolve(b, &s, "Conv", whole, w, false);
    }
    if (dx[1] == SC_WANTED) {
        dx[1] = weights(b, &s, whole, x);
    }
    if (node->n_in > 2 && dx[2] == SC_WANTED) {
        dx[2] = bias(b, &s, dy[0]);
    }
}

static bool open_pool(struct sc_backward *b, const struct sc_node *node, struct slide *s)
{
    const int rank = sc_backward_rank(b, node, 3);
    s->kernel = list_of(b, node, "kernel_shape", rank - 2, 1);
    return rank >= 0 && open_slide(b, node, node->in[0], node->out[0], "reach i Sub 0 Max", s);
}

/* `each`, by window, added to all entries of its window: [N, C, ...] of the windows to that of `like`. Channels are
 * taken for batch, so that one kernel of ones serves. */
static int spread(struct sc_backward *b, const struct slide *s, int each, int like, enum sc_type type)
{
    struct sc_names names = {.b = b, .type = type};
    sc_names_add(&names, "v", each);
    sc_names_add(&names, "like", like);
    sc_names_add(&names, "kernel", s->kernel);
    sc_names_add(&names, "rest", spatial(b, each));
    sc_names_add(&names, "zero", sc_backward_range(b, 0, 1));
    sc_names_add(&names, "one", sc_backward_range(b, 1, 2));
    const int ones = sc_names_formula(&names, "1 one one Concat kernel Concat Expand");
    sc_names_add_formula(&names, "n", "v Shape zero Gather v Shape one Gather Mul");
    const int planes = sc_names_formula(&names, "v n one Concat rest Concat Reshape");
    sc_names_add(&names, "made", pad(b, s, convolve(b, s, "ConvTranspose", planes, ones, false), true));
    return sc_names_formula(&names, "made like Shape Reshape");
}

/* How many entries of the input each window has: [1, 1, ...]. */
static int windows_full(struct sc_backward *b, const struct slide *s, int x, enum sc_type type)
{
    const struct sc_backward_name names[] = {
        {"kernel", s->kernel}, {"dims", spatial(b, x)}, {"one", sc_backward_range(b, 1, 2)}};
    const int ones = sc_backward_formula(b, "1 one one Concat kernel Concat Expand", type, 3, names);
    const int input = sc_backward_formula(b, "1 one one Concat dims Concat Expand", type, 3, names);
    return convolve(b, s, "Conv", pad(b, s, input, false), ones, false);
}

/* What a window divides by is known from its mean of ones, however padding counts; one without entries gives
 * nothing. */
static void average_pool(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct slide s;
    int out;
    const int x = node->in[0];
    const enum sc_type type = sc_backward_fact(b, node->out[0])->type;
    if (!open_pool(b, node, &s)) {
        return;
    }
    struct sc_backward_name names[] = {{"dy", dy[0]}, {"x", x}, {"full", windows_full(b, &s, x, type)}, {"mean", -1}};
    names[3].value = sc_backward_copy(b, node, sc_backward_formula(b, "1 x Shape Expand", type, 2, names), &out);
    dx[0] = spread(b, &s, sc_backward_formula(b, "dy mean Mul full 1 Max Div", type, 4, names), x, type);
}

/* y = (sum of |x| ^ p) ^ (1 / p), over windows or all; one of zeros counts as flat. */
static int powers(struct sc_backward *b, const struct sc_node *node, const int *dy, const struct slide *s)
{
    const enum sc_type type = sc_backward_fact(b, node->out[0])->type;
    const double p = (double)sc_backward_int(b, node, "p", 2);
    struct sc_backward_name names[] = {
        {"dy", dy[0]}, {"y", node->out[0]}, {"x", node->in[0]}, {"p", sc_backward_scalar(b, type, p)}, {"steep", -1}};
    const int steep = sc_backward_formula(b, "y 0 Equal 0 dy y 1 p Sub Pow Mul Where", type, 4, names);
    names[4].value = s ? spread(b, s, steep, node->in[0], type) : steep;
    return sc_backward_formula(b, "steep x Sign Mul x Abs p 1 Sub Pow Mul", type, 5, names);
}

static void lp_pool(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    struct slide s;
    if (open_pool(b, node, &s)) {
        dx[0] = powers(b, node, dy, &s);
    }
}

static void global_lp_pool(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    dx[0] = powers(b, node, dy, NULL);
}

/* The operator itself says where each largest entry is, the first of equal ones. */
static void max_pool(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    static const int64_t all = -1;
    struct sc_node both = *node;
    int outs[2] = {node->out[0], node->out[0]}, found[2];
    both.out = outs; /* its own are made; that there are two counts */
    both.n_out = 2;
    both.version = node->version < 8 ? 8 : node->version; /* the first with Indices */
    both.attributes = sc_arena_array(b->edit->graph->arena, (size_t)node->n_attributes + 1, sizeof *both.attributes);
    if (!both.attributes) {
        b->status = SC_NO_MEMORY;
        return;
    }
    both.n_attributes = 0;
    for (int a = 0; a < node->n_attributes; a++) {
        if (strcmp(node->attributes[a].name, "storage_order") != 0) {
            both.attributes[both.n_attributes++] = node->attributes[a];
        }
    }
    sc_backward_copy(b, &both, node->in[0], found);
    const struct sc_backward_name names[] = {
        {"x", node->in[0]}, {"dy", dy[0]}, {"at", found[1]}, {"flat", sc_backward_ints(b, 1, &all)}};
    dx[0] = sc_backward_formula(b,
        "0 x Size flat Reshape Expand at flat Reshape dy flat Reshape ScatterElements x Shape Reshape",
        sc_backward_fact(b, node->out[0])->type, 4, names);
}

/* Equal largest entries share the gradient. */
static void global_max_pool(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int rank = sc_backward_rank(b, node, 3);
    if (rank < 0) {
        return;
    }
    struct sc_backward_name names[] = {
        {"x", node->in[0]}, {"y", node->out[0]}, {"dy", dy[0]}, {"axes", sc_backward_range(b, 2, rank)}, {"top", -1}};
    const enum sc_type type = sc_backward_fact(b, node->out[0])->type;
    names[4].value = sc_backward_formula(b, "x y Equal 1 0 Where", type, 4, names);
    dx[0] = sc_backward_formula(b, "top top axes ReduceSum Div dy Mul", type, 5, names);
}

/* Padding with a number is undone by padding the other way, with zeros; what is cut off has none. */
static void constant_pad(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    static const int64_t all = -1;
    struct sc_node back = *node;
    int in[4] = {node->in[0], sc_backward_emit(b, "Neg", 1, &node->in[1]), -1, -1}, out;
    for (int i = 3; i < node->n_in; i++) {
        in[i] = node->in[i];
    }
    back.in = in;
    const int inner = sc_backward_copy(b, &back, dy[0], &out);
    if (node->n_in > 2 && dx[2] == SC_WANTED) {
        const struct sc_backward_name names[] = {{"dy", dy[0]}, {"inner", inner}, {"value", node->in[2]},
            {"flat", sc_backward_ints(b, 1, &all)}, {"zero", sc_backward_range(b, 0, 1)}};
        dx[2] = sc_backward_formula(b,
            "dy flat Reshape zero ReduceSum inner flat Reshape zero ReduceSum Sub value Shape Reshape", SC_I64, 5,
            names);
    }
    dx[0] = dx[0] == SC_WANTED ? inner : -1;
}

static void pad_any(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    if (strcmp(sc_backward_text(b, node, "mode", "constant"), "constant") == 0) {
        constant_pad(b, node, dy, dx);
    } else {
        sc_backward_move(b, node, dy, dx);
    }
}

const struct sc_rule sc_gradient_windows[] = {
    {"AveragePool", 1, average_pool},
    {"Conv", 1, conv},
    {"ConvTranspose", 1, conv_transpose},
    {"GlobalLpPool", 2, global_lp_pool},
    {"GlobalMaxPool", 1, global_max_pool},
    {"LpPool", 2, lp_pool},
    {"MaxPool", 1, max_pool},
    {"Pad", 11, pad_any},
    {.op = NULL},
};
