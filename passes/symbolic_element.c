/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators on lists, forms, tests and choices: the arithmetic of positions and masks. */
#include <math.h>
#include <string.h>

#include "passes/symbolic_parts.h"
#include "tensor/convert.h"

enum arithmetic {
    NOTHING,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL,
    EQUAL,
    AND,
    OR,
    LESSER
};

static enum arithmetic arithmetic_of(const struct sc_node *node)
{
    static const struct {
        const char *name;
        enum arithmetic does;
    } names[] = {{"Add", ADD}, {"Sub", SUBTRACT}, {"Mul", MULTIPLY}, {"Div", DIVIDE}, {"Less", LESS},
        {"LessOrEqual", LESS_OR_EQUAL}, {"Greater", GREATER}, {"GreaterOrEqual", GREATER_OR_EQUAL}, {"Equal", EQUAL},
        {"And", AND}, {"Or", OR}, {"Min", LESSER}};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (strcmp(names[k].name, node->op) == 0) {
            return names[k].does;
        }
    }
    return NOTHING;
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
static bool compute(
    struct sc_symbolics *s, enum arithmetic does, const struct sc_size *a, const struct sc_size *b, struct sc_size *c)
{
    struct sc_size d;
    int first, second;
    const struct sc_size zero = {0};
    switch (does) {
    case ADD:
        return sc_size_add(a, b, 1, c);
    case SUBTRACT:
        return sc_size_add(a, b, -1, c);
    case MULTIPLY:
        return sc_size_constant(b) ? sc_size_add(&zero, a, b->constant, c)
            : sc_size_constant(a)  ? sc_size_add(&zero, b, a->constant, c)
                                   : sc_symbolics_product(s, a, b, c);
    case DIVIDE: /* towards zero as towards minus infinity: only where both agree */
        if (!sc_size_constant(a) || !sc_size_constant(b) || a->constant < 0 || b->constant < 1) {
            return false;
        }
        *c = (struct sc_size){.constant = a->constant / b->constant};
        return true;
    case EQUAL:
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
    case AND:
    case OR:
        if (!sc_size_constant(a) || !sc_size_constant(b)) {
            return false;
        }
        *c = (struct sc_size){.constant = does == AND ? a->constant && b->constant : a->constant || b->constant};
        return true;
    case LESSER:
        return lesser(s, a, b, c);
    default:
        return false;
    }
}

static enum sc_status on_lists(struct sc_symbolics *s, enum arithmetic does, const struct sc_symbolic *a,
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

/* a + factor * b, over the same dims. */
static bool add_forms(const struct sc_form *a, const struct sc_form *b, int64_t factor, struct sc_form *sum)
{
    bool fits = sc_size_add(&a->base, &b->base, factor, &sum->base);
    for (int d = 0; d < SC_SYMBOLIC_RANK; d++) {
        const struct sc_size x = {.constant = a->index[d]}, y = {.constant = b->index[d]};
        struct sc_size z;
        fits = sc_size_add(&x, &y, factor, &z) && fits;
        sum->index[d] = z.constant;
    }
    return fits;
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
static enum sc_status on_forms(struct sc_symbolics *s, enum arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_form x, y, z;
    const struct sc_form zero = {.base = {0}};
    if (!lifted_form(a, out->rank, &x) || !lifted_form(b, out->rank, &y)) {
        return SC_OK;
    }
    bool known = false;
    enum sc_symbolic_kind kind = SC_SYMBOLIC_FORM;
    if (does == ADD || does == SUBTRACT) {
        known = add_forms(&x, &y, does == ADD ? 1 : -1, &z);
    } else if (does == MULTIPLY) {
        const bool by_y = sc_form_constant(&y) && sc_size_constant(&y.base);
        const bool by_x = sc_form_constant(&x) && sc_size_constant(&x.base);
        known = by_y ? add_forms(&zero, &x, y.base.constant, &z) : by_x && add_forms(&zero, &y, x.base.constant, &z);
    } else if (does >= LESS && does <= GREATER_OR_EQUAL) {
        const bool less = does == LESS || does == LESS_OR_EQUAL;
        kind = SC_SYMBOLIC_TEST;
        known = add_forms(less ? &y : &x, less ? &x : &y, -1, &z);
        z.base.constant -= does == LESS || does == GREATER;
    }
    return known ? sc_symbolic_set_form(s, out, kind, &z) : SC_OK;
}

/* A boolean value as a test over dims of `rank`: lists of equal booleans are tests too. */
static bool lifted_test(const struct sc_symbolic *value, int rank, struct sc_form *form)
{
    if (value->kind == SC_SYMBOLIC_TEST) {
        *form = *value->form;
        sc_symbolic_lift(form, value->rank, value->dims, rank);
        return true;
    }
    if (value->kind != SC_SYMBOLIC_LIST || !sc_symbolic_form(value, form) || !sc_size_constant(&form->base)) {
        return false;
    }
    form->base.constant--;
    return true;
}

/* x implies y where y - x >= 0 everywhere: then "and" is x, and "or" is y. */
static enum sc_status on_tests(struct sc_symbolics *s, enum arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    struct sc_form x, y, difference;
    if (!lifted_test(a, out->rank, &x) || !lifted_test(b, out->rank, &y)) {
        return SC_OK;
    }
    const int x_holds = sc_form_holds(s, &x, out->rank, out->dims);
    const int y_holds = sc_form_holds(s, &y, out->rank, out->dims);
    if (y_holds == 1 || x_holds == 0) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, does == AND ? &x : &y);
    }
    if (x_holds == 1 || y_holds == 0) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, does == AND ? &y : &x);
    }
    if (add_forms(&y, &x, -1, &difference) && sc_form_holds(s, &difference, out->rank, out->dims) == 1) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, does == AND ? &x : &y);
    }
    if (add_forms(&x, &y, -1, &difference) && sc_form_holds(s, &difference, out->rank, out->dims) == 1) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, does == AND ? &y : &x);
    }
    return SC_OK;
}

static float arithmetic_f32(enum arithmetic does, double a, double b)
{
    const float x = (float)a, y = (float)b;
    return does == ADD ? x + y : does == SUBTRACT ? x - y : does == MULTIPLY ? x * y : x / y;
}

/* Floats: a choice with a number that is the same everywhere, or with a choice of the same test. */
static enum sc_status on_choices(struct sc_symbolics *s, enum arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out)
{
    if (does < ADD || does > DIVIDE || a->kind != SC_SYMBOLIC_CHOICE || b->kind != SC_SYMBOLIC_CHOICE) {
        return SC_OK;
    }
    struct sc_form x = *a->form, y = *b->form;
    sc_symbolic_lift(&x, a->rank, a->dims, out->rank);
    sc_symbolic_lift(&y, b->rank, b->dims, out->rank);
    const int x_holds = sc_form_holds(s, &x, out->rank, out->dims);
    const int y_holds = sc_form_holds(s, &y, out->rank, out->dims);
    if (x_holds < 0 && y_holds < 0 && memcmp(&x, &y, sizeof x) != 0) {
        return SC_OK;
    }
    out->yes = (double)arithmetic_f32(does, x_holds == 0 ? a->no : a->yes, y_holds == 0 ? b->no : b->yes);
    out->no = (double)arithmetic_f32(does, x_holds == 1 ? a->yes : a->no, y_holds == 1 ? b->yes : b->no);
    return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, x_holds < 0 ? &x : &y);
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
    const enum arithmetic does = arithmetic_of(node);
    SC_TRY(sc_symbolic_set(s, out, rank, dims));
    if (does == NOTHING || a->kind == SC_SYMBOLIC_ANY || b->kind == SC_SYMBOLIC_ANY) {
        return SC_OK;
    }
    if (does == AND || does == OR) {
        SC_TRY(on_tests(s, does, a, b, out));
    } else {
        SC_TRY(on_choices(s, does, a, b, out));
    }
    if (out->kind == SC_SYMBOLIC_ANY && rank <= 1) {
        SC_TRY(on_lists(s, does, a, b, out));
    }
    return out->kind == SC_SYMBOLIC_ANY ? on_forms(s, does, a, b, out) : SC_OK;
}

/* Where(test, number, number), or of lists. */
static enum sc_status where(struct sc_symbolics *s, const struct sc_node *node)
{
    struct sc_symbolic *test = sc_symbolic_in(s, node, 0), *out = sc_symbolic_out(s, node, 0);
    struct sc_symbolic *a = sc_symbolic_in(s, node, 1), *b = sc_symbolic_in(s, node, 2);
    struct sc_size dims[SC_SYMBOLIC_RANK], all[SC_SYMBOLIC_RANK];
    int rank, rank_all;
    if (!test || !a || !b ||
        !sc_symbolic_broadcast(
            s, &(struct sc_shape){a->rank, a->dims}, &(struct sc_shape){b->rank, b->dims}, &rank, dims) ||
        !sc_symbolic_broadcast(
            s, &(struct sc_shape){test->rank, test->dims}, &(struct sc_shape){rank, dims}, &rank_all, all)) {
        return SC_OK;
    }
    SC_TRY(sc_symbolic_set(s, out, rank_all, all));
    struct sc_form form;
    if (a->kind == SC_SYMBOLIC_CHOICE && b->kind == SC_SYMBOLIC_CHOICE && lifted_test(test, rank_all, &form)) {
        const int a_holds = sc_form_holds(s, a->form, a->rank, a->dims);
        const int b_holds = sc_form_holds(s, b->form, b->rank, b->dims);
        const int holds = sc_form_holds(s, &form, rank_all, all);
        if (holds >= 0) { /* one of the two, whatever it is */
            const struct sc_symbolic *taken = holds ? a : b;
            form = *taken->form;
            sc_symbolic_lift(&form, taken->rank, taken->dims, rank_all);
            out->yes = taken->yes;
            out->no = taken->no;
            return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, &form);
        }
        if (a_holds >= 0 && b_holds >= 0) {
            out->yes = a_holds ? a->yes : a->no;
            out->no = b_holds ? b->yes : b->no;
            return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, &form);
        }
        return SC_OK;
    }
    struct sc_size x[SC_SYMBOLIC_MOST], y[SC_SYMBOLIC_MOST], z[SC_SYMBOLIC_MOST];
    int64_t flags[SC_SYMBOLIC_MOST];
    int n_flags, n_x, n_y;
    if (rank_all > 1 || !sc_symbolic_ints(test, &n_flags, flags) || !sc_symbolic_list(a, &n_x, x) ||
        !sc_symbolic_list(b, &n_y, y)) {
        return SC_OK;
    }
    int n = n_flags > n_x ? n_flags : n_x;
    n = n_y > n ? n_y : n;
    for (int i = 0; i < n; i++) {
        z[i] = flags[n_flags == 1 ? 0 : i] ? x[n_x == 1 ? 0 : i] : y[n_y == 1 ? 0 : i];
    }
    return sc_symbolic_set_list(s, out, n, z);
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

/* Of a number, as scales of attention are computed from a dim. */
static enum sc_status square_root(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_symbolic *out = sc_symbolic_out(s, node, 0);
    SC_TRY(same(s, node));
    if (!in || in->kind != SC_SYMBOLIC_CHOICE) {
        return SC_OK;
    }
    out->yes = (double)sqrtf((float)in->yes);
    out->no = (double)sqrtf((float)in->no);
    return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, in->form);
}

static enum sc_status negate(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_form form, negative;
    const struct sc_form zero = {.base = {0}};
    SC_TRY(same(s, node));
    return sc_symbolic_form(in, &form) && add_forms(&zero, &form, -1, &negative)
        ? sc_symbolic_set_form(s, sc_symbolic_out(s, node, 0), SC_SYMBOLIC_FORM, &negative)
        : SC_OK;
}

/* not (x >= 0) is -x - 1 >= 0 */
static enum sc_status invert(struct sc_symbolics *s, const struct sc_node *node)
{
    const struct sc_symbolic *in = sc_symbolic_in(s, node, 0);
    struct sc_form form, inverse;
    const struct sc_form zero = {.base = {0}};
    SC_TRY(same(s, node));
    if (!in || in->rank < 0 || !lifted_test(in, in->rank, &form) || !add_forms(&zero, &form, -1, &inverse)) {
        return SC_OK;
    }
    inverse.base.constant--;
    return sc_symbolic_set_form(s, sc_symbolic_out(s, node, 0), SC_SYMBOLIC_TEST, &inverse);
}

static double rounded(double number, enum sc_type type)
{
    uint64_t room;
    sc_convert(SC_F64, &number, type, &room, 1, 0);
    sc_convert(type, &room, SC_F64, &number, 1, 0);
    return number;
}

static enum sc_status cast_to_float(
    struct sc_symbolics *s, enum sc_type type, const struct sc_symbolic *in, struct sc_symbolic *out)
{
    struct sc_form form;
    if (in->kind == SC_SYMBOLIC_CHOICE) {
        out->yes = rounded(in->yes, type);
        out->no = rounded(in->no, type);
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, in->form);
    }
    if (in->kind == SC_SYMBOLIC_TEST) {
        out->yes = 1;
        out->no = 0;
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, in->form);
    }
    if (sc_symbolic_form(in, &form) && sc_form_constant(&form) && sc_size_constant(&form.base)) {
        out->yes = out->no = rounded((double)form.base.constant, type);
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_CHOICE, &(struct sc_form){{0}, {0}});
    }
    return SC_OK;
}

static enum sc_status cast_to_bool(struct sc_symbolics *s, const struct sc_symbolic *in, struct sc_symbolic *out)
{
    struct sc_form form;
    const struct sc_form zero = {.base = {0}};
    if (in->kind == SC_SYMBOLIC_TEST) {
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, in->form);
    }
    if (in->kind == SC_SYMBOLIC_CHOICE && (in->yes != 0) != (in->no != 0)) {
        const bool turned = in->no != 0;
        if (!add_forms(&zero, in->form, turned ? -1 : 1, &form)) {
            return SC_OK;
        }
        form.base.constant -= turned;
        return sc_symbolic_set_form(s, out, SC_SYMBOLIC_TEST, &form);
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
        return cast_to_float(s, to, in, out);
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
        {"Where", where}, {"Identity", identity}, {"Neg", negate}, {"Sqrt", square_root}, {"Not", invert},
        {"Cast", cast}, {"CastLike", cast}};
    static const char *const plain[] = {"Reciprocal", "Exp", "Log", "Tanh", "Sigmoid", "Erf", "Gelu", "Relu", "Sin",
        "Cos", "Abs", "Softmax", "LogSoftmax", "IsNaN", "IsInf", "Floor", "Ceil", "Round", "Sign", "Clip", "HardSwish",
        "HardSigmoid", "LeakyRelu", "Elu", "Softplus", "Mish", "LayerNormalization", "RMSNormalization",
        "GroupNormalization", "InstanceNormalization", "LpNormalization", "RotaryEmbedding", "CumSum", "Dropout"};
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
