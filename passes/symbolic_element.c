/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators on lists, forms, tests and choices: the arithmetic of positions and masks. */
#include <math.h>
#include <string.h>

#include "passes/symbolic_parts.h"
#include "tensor/convert.h"

static enum sc_arithmetic arithmetic_of(const struct sc_node *node)
{
    static const struct {
        const char *name;
        enum sc_arithmetic does;
    } names[] = {{"Add", SC_ADD}, {"Sub", SC_SUBTRACT}, {"Mul", SC_MULTIPLY}, {"Div", SC_DIVIDE}, {"Less", SC_LESS},
        {"LessOrEqual", SC_LESS_OR_EQUAL}, {"Greater", SC_GREATER}, {"GreaterOrEqual", SC_GREATER_OR_EQUAL},
        {"Equal", SC_EQUAL}, {"And", SC_AND}, {"Or", SC_OR}, {"Min", SC_LESSER}, {"Pow", SC_POWER}};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (strcmp(names[k].name, node->op) == 0) {
            return names[k].does;
        }
    }
    return SC_NOTHING;
}

/* 1, 0, or -1 for not known. */
static int not_negative(const struct sc_symbolics *s, const struct sc_size *size)
{
    const struct sc_form form = {.base = *size};
    return sc_form_holds(s, &form, 0, NULL);
}

static bool lesser(struct sc_symbolics *s, const struct sc_size *a, const struct sc_size *b, struct sc_size *c)
{
    struct sc_size d;
    const int greater = sc_size_add(a, b, -1, &d) ? not_negative(s, &d) : -1;
    if (greater >= 0) {
        *c = greater ? *b : *a;
        return true;
    }
    return sc_symbolics_lesser(s, a, b, c);
}

/* One element of two. false: not known. */
static bool compute(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_size *a, const struct sc_size *b,
    struct sc_size *c)
{
    struct sc_size d;
    int first, second;
    const struct sc_size zero = {0};
    switch (does) {
    case SC_ADD:
        return sc_size_add(a, b, 1, c);
    case SC_SUBTRACT:
        return sc_size_add(a, b, -1, c);
    case SC_MULTIPLY:
        return sc_size_constant(b) ? sc_size_add(&zero, a, b->constant, c)
            : sc_size_constant(a)  ? sc_size_add(&zero, b, a->constant, c)
                                   : sc_symbolics_product(s, a, b, c);
    case SC_DIVIDE: /* towards zero as towards minus infinity: only where both agree */
        if (!sc_size_constant(a) || !sc_size_constant(b) || a->constant < 0 || b->constant < 1) {
            return false;
        }
        *c = (struct sc_size){.constant = a->constant / b->constant};
        return true;
    case SC_EQUAL:
        if (!sc_size_add(a, b, -1, &d)) {
            return false;
        }
        first = not_negative(s, &d);
        second = sc_size_add(b, a, -1, &d) ? not_negative(s, &d) : -1;
        if (first == 0 || second == 0 || (first == 1 && second == 1)) {
            *c = (struct sc_size){.constant = first == 1 && second == 1};
            return true;
        }
        return false;
    case SC_AND:
    case SC_OR:
        if (!sc_size_constant(a) || !sc_size_constant(b)) {
            return false;
        }
        *c = (struct sc_size){.constant = does == SC_AND ? a->constant && b->constant : a->constant || b->constant};
        return true;
    case SC_LESSER:
        return lesser(s, a, b, c);
    default:
        return false;
    }
}

static enum sc_status on_lists(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_size x[SC_SYMBOLIC_MOST], y[SC_SYMBOLIC_MOST], z[SC_SYMBOLIC_MOST];
    int n_x, n_y;
    if (!sc_symbolic_list(a, &n_x, x) || !sc_symbolic_list(b, &n_y, y) || (n_x != n_y && n_x != 1 && n_y != 1)) {
        return SC_OK;
    }
    const int n = n_x == 1 ? n_y : n_x;
    for (int i = 0; i < n; i++) {
        if (!compute(s, does, &x[n_x == 1 ? 0 : i], &y[n_y == 1 ? 0 : i], &z[i])) {
            return SC_OK;
        }
    }
    return sc_symbolic_set_list(s, out, n, z);
}

static bool lifted_form(const struct sc_symbolic *value, int rank, struct sc_form *form)
{
    if (!sc_symbolic_form(value, form)) {
        return false;
    }
    sc_symbolic_lift(form, value->rank, value->dims, rank);
    return true;
}

/* Whole numbers. A comparison becomes a test: a <= b is b - a >= 0. */
static enum sc_status on_forms(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_form x, y, z;
    const struct sc_form zero = {.base = {0}};
    if (!lifted_form(a, out->rank, &x) || !lifted_form(b, out->rank, &y)) {
        return SC_OK;
    }
    bool known = false;
    enum sc_symbolic_kind kind = SC_SYMBOLIC_FORM;
    if (does == SC_ADD || does == SC_SUBTRACT) {
        known = sc_form_add(&x, &y, does == SC_ADD ? 1 : -1, &z);
    } else if (does == SC_MULTIPLY) {
        const bool by_y = sc_form_constant(&y) && sc_size_constant(&y.base);
        const bool by_x = sc_form_constant(&x) && sc_size_constant(&x.base);
        known =
            by_y ? sc_form_add(&zero, &x, y.base.constant, &z) : by_x && sc_form_add(&zero, &y, x.base.constant, &z);
    } else if (does >= SC_LESS && does <= SC_GREATER_OR_EQUAL) {
        const bool less = does == SC_LESS || does == SC_LESS_OR_EQUAL;
        kind = SC_SYMBOLIC_TEST;
        known = sc_form_add(less ? &y : &x, less ? &x : &y, -1, &z);
        z.base.constant -= does == SC_LESS || does == SC_GREATER;
    }
    return known ? sc_symbolic_set_form(s, out, kind, &z) : SC_OK;
}

static bool is_real(enum sc_type type)
{
    return type == SC_F32 || type == SC_F16 || type == SC_BF16;
}

static double rounded(double number, enum sc_type type)
{
    uint64_t room;
    sc_convert(SC_F64, &number, type, &room, 1, 0);
    sc_convert(type, &room, SC_F64, &number, 1, 0);
    return number;
}

static void round_choice(const struct sc_symbolics *s, const struct sc_node *node, struct sc_symbolic *out)
{
    if (out && out->kind == SC_SYMBOLIC_CHOICE) {
        out->yes = rounded(out->yes, s->facts[node->out[0]].type);
        out->no = rounded(out->no, s->facts[node->out[0]].type);
    }
}

static enum sc_status binary(struct sc_symbolics *s, const struct sc_node *node)
{
    struct sc_symbolic *a = sc_symbolic_in(s, node, 0), *b = sc_symbolic_in(s, node, 1);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    struct sc_size dims[SC_SYMBOLIC_RANK];
    int rank;
    if (!a || !b || node->n_in != 2 ||
        !sc_symbolic_broadcast(
            s, &(struct sc_shape){a->rank, a->dims}, &(struct sc_shape){b->rank, b->dims}, &rank, dims)) {
        return SC_OK;
    }
    const enum sc_arithmetic does = arithmetic_of(node);
    SC_TRY(sc_symbolic_set(s, out, rank, dims));
    if (does == SC_NOTHING || a->kind == SC_SYMBOLIC_ANY || b->kind == SC_SYMBOLIC_ANY) {
        return SC_OK;
    }
    if (does == SC_AND || does == SC_OR) {
        SC_TRY(sc_symbolic_on_tests(s, does, a, b, out));
    } else {
        SC_TRY(is_real(s->facts[node->in[0]].type) ? sc_symbolic_on_floats(s, does, a, b, out) : SC_OK);
        round_choice(s, node, out);
    }
    if (out->kind == SC_SYMBOLIC_ANY && rank <= 1) {
        SC_TRY(on_lists(s, does, a, b, out));
    }
    return out->kind == SC_SYMBOLIC_ANY ? on_forms(s, does, a, b, out) : SC_OK;
}

/* The dims of input 0, elements unknown. */
static enum sc_status same(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    return in && in->rank >= 0 ? sc_symbolic_set(s, sc_symbolic_out(s, node, 0), in->rank, in->dims) : SC_OK;
}

static enum sc_status identity(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    if (in && in->rank >= 0) {
        *out = *in;
    }
    return SC_OK;
}

/* Of numbers, as scales of attention are computed from a dim; and minus whole numbers. */
static enum sc_status of_one(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    const bool root = strcmp(node->op, "Sqrt") == 0, turned = strcmp(node->op, "Neg") == 0;
    struct sc_form form, negative;
    const struct sc_form zero = {.base = {0}};
    SC_TRY(same(s, node));
    if (turned && sc_symbolic_form(in, &form)) {
        return sc_form_add(&zero, &form, -1, &negative) ? sc_symbolic_set_form(s, out, SC_SYMBOLIC_FORM, &negative)
                                                        : SC_OK;
    }
    if (!in || in->kind != SC_SYMBOLIC_CHOICE) {
        return SC_OK;
    }
    struct sc_symbolic like = *in;
    like.yes = root ? (double)sqrtf((float)in->yes) : turned ? -in->yes : 1 / in->yes;
    like.no = root ? (double)sqrtf((float)in->no) : turned ? -in->no : 1 / in->no;
    SC_TRY(sc_symbolic_set_like(s, out, &like));
    round_choice(s, node, out);
    return SC_OK;
}

/* not (x >= 0) is -x - 1 >= 0 */
static enum sc_status invert(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_form form[2], inverse;
    const struct sc_form *also;
    SC_TRY(same(s, node));
    if (!in || in->rank < 0 || !sc_symbolic_test(in, in->rank, form, &also) || also ||
        !sc_form_invert(form, &inverse)) {
        return SC_OK;
    }
    return sc_symbolic_set_form(s, sc_symbolic_out(s, node, 0), SC_SYMBOLIC_TEST, &inverse);
}

/* Sums of one whole number along an axis. */
static enum sc_status running_sum(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_form form;
    int64_t exclusive, reverse, axis[SC_SYMBOLIC_MOST];
    int n;
    SC_TRY(same(s, node));
    if (!sc_symbolic_form(in, &form) || !sc_form_constant(&form) || !sc_size_constant(&form.base) ||
        !sc_symbolic_ints(sc_symbolic_in(s, node, 1), &n, axis) || n != 1 || axis[0] < -in->rank ||
        axis[0] >= in->rank || sc_node_int(node, "exclusive", 0, &exclusive) != SC_OK ||
        sc_node_int(node, "reverse", 0, &reverse) != SC_OK || reverse) {
        return SC_OK;
    }
    form.index[axis[0] < 0 ? axis[0] + in->rank : axis[0]] = form.base.constant;
    form.base.constant = exclusive ? 0 : form.base.constant;
    return sc_symbolic_set_form(s, sc_symbolic_out(s, node, 0), SC_SYMBOLIC_FORM, &form);
}

static enum sc_status cast_to_float(
    struct sc_symbolics *s, const struct sc_symbolic *in, enum sc_type to, struct sc_symbolic *out)
{
    struct sc_form form;
    struct sc_symbolic like = *in;
    if (in->kind == SC_SYMBOLIC_SLOPES && to == SC_F32) {
        return sc_symbolic_set_like(s, out, &like);
    }
    if (in->kind == SC_SYMBOLIC_TEST || in->kind == SC_SYMBOLIC_CHOICE) {
        like.yes = in->kind == SC_SYMBOLIC_TEST ? 1 : rounded(in->yes, to);
        like.no = in->kind == SC_SYMBOLIC_TEST ? 0 : rounded(in->no, to);
        like.kind = SC_SYMBOLIC_CHOICE;
        return sc_symbolic_set_like(s, out, &like);
    }
    if (!sc_symbolic_form(in, &form)) {
        return SC_OK;
    }
    if (sc_form_constant(&form) && sc_size_constant(&form.base)) {
        out->yes = out->no = rounded((double)form.base.constant, to);
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, &(struct sc_form){{0}, {0}});
    }
    return to == SC_F32 ? sc_symbolic_set_whole(s, out, &form) : SC_OK;
}

static enum sc_status cast_to_bool(struct sc_symbolics *s, const struct sc_symbolic *in, struct sc_symbolic *out)
{
    struct sc_form form;
    if (in->kind == SC_SYMBOLIC_TEST) {
        return sc_symbolic_set_like(s, out, in);
    }
    if (in->kind == SC_SYMBOLIC_CHOICE && (in->yes != 0) != (in->no != 0)) {
        if (in->yes != 0) {
            return sc_symbolic_set_both(s, out, SC_SYMBOLIC_TEST, in->form, in->also);
        }
        return !in->also && sc_form_invert(in->form, &form) ? sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, &form)
                                                            : SC_OK;
    }
    if (in->kind == SC_SYMBOLIC_CHOICE) {
        return sc_symbolic_set_form(
            s, out, SC_SYMBOLIC_TEST, &(struct sc_form){{.constant = in->yes != 0 ? 0 : -1}, {0}});
    }
    if (sc_symbolic_form(in, &form) && sc_form_constant(&form) && sc_size_constant(&form.base)) {
        form.base.constant = form.base.constant ? 0 : -1;
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, &form);
    }
    return SC_OK;
}

static enum sc_status cast(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    SC_TRY(same(s, node));
    if (!in || in->rank < 0) {
        return SC_OK;
    }
    const enum sc_type from = s->facts[node->in[0]].type, to = s->facts[node->out[0]].type;
    if (sc_type_is_float(to)) {
        return cast_to_float(s, in, to, out);
    }
    if (to == SC_BOOL) {
        return cast_to_bool(s, in, out);
    }
    const bool wide = to == SC_I64 || to == SC_I32;
    if (wide && (from == SC_I64 || from == SC_I32) && in->kind != SC_SYMBOLIC_ANY) {
        return identity(s, node);
    }
    return SC_OK;
}

sc_symbolic_op sc_symbolic_element_op(const char *name)
{
    static const struct {
        const char *name;
        sc_symbolic_op op;
    } special[] = {{"Add", binary}, {"Sub", binary}, {"Mul", binary}, {"Div", binary}, {"Pow", binary}, {"Mod", binary},
        {"Less", binary}, {"LessOrEqual", binary}, {"Greater", binary}, {"GreaterOrEqual", binary}, {"Equal", binary},
        {"And", binary}, {"Or", binary}, {"Xor", binary}, {"PRelu", binary}, {"Min", binary}, {"Max", binary},
        {"Where", sc_symbolic_where}, {"Identity", identity}, {"Neg", of_one}, {"Sqrt", of_one}, {"Reciprocal", of_one},
        {"CumSum", running_sum}, {"Not", invert}, {"Cast", cast}, {"CastLike", cast}};
    static const char *const plain[] = {"Exp", "Log", "Tanh", "Sigmoid", "Erf", "Gelu", "Relu", "Sin", "Cos", "Abs",
        "Softmax", "LogSoftmax", "IsNaN", "IsInf", "Floor", "Ceil", "Round", "Sign", "Clip", "HardSwish", "HardSigmoid",
        "LeakyRelu", "Elu", "Softplus", "Mish", "LayerNormalization", "RMSNormalization", "GroupNormalization",
        "InstanceNormalization", "LpNormalization", "SimplifiedLayerNormalization", "RotaryEmbedding", "Dropout"};
    for (size_t k = 0; k < sizeof special / sizeof special[0]; k++) {
        if (strcmp(special[k].name, name) == 0) {
            return special[k].op;
        }
    }
    for (size_t k = 0; k < sizeof plain / sizeof plain[0]; k++) {
        if (strcmp(plain[k], name) == 0) {
            return same;
        }
    }
    return NULL;
}

/* Results, and the sum beside it, as the first input. */
static enum sc_status skip_norm(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *sum = sc_symbolic_out(s, node, 3);
    SC_TRY(sum && in && in->rank >= 0 ? sc_symbolic_set(s, sum, in->rank, in->dims) : SC_OK);
    return same(s, node);
}

sc_symbolic_op sc_symbolic_microsoft_op(const char *name)
{
    static const char *const plain[] = {"BiasGelu", "FastGelu", "Gelu", "QuickGelu"};
    for (size_t k = 0; k < sizeof plain / sizeof plain[0]; k++) {
        if (strcmp(plain[k], name) == 0) {
            return same;
        }
    }
    return strcmp(name, "SkipLayerNormalization") == 0 || strcmp(name, "SkipSimplifiedLayerNormalization") == 0
        ? skip_norm
        : NULL;
}
