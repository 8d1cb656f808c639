/* SPDX-License-Identifier: Apache-2.0
 * Bounds are kept in double and moved outward after every operation on floats, by more than a kernel is ever off. */
#include "passes/interval.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct sc_interval rule_fn(const struct sc_interval *const in[SC_INTERVAL_MOST]);

static const struct sc_interval anything = {-INFINITY, INFINITY, false};
static const struct sc_interval truth = {1, 1, true}, untruth = {0, 0, true}, either = {0, 1, false};

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static struct sc_interval of_add(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return (struct sc_interval){in[0]->least + in[1]->least, in[0]->most + in[1]->most, false};
}

static struct sc_interval of_sub(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return (struct sc_interval){in[0]->least - in[1]->most, in[0]->most - in[1]->least, false};
}

/* The hull of what the four corners give; NaN, as of 0 and infinity, is anything. */
static struct sc_interval hull(double a, double b, double c, double d)
{
    if (isnan(a) || isnan(b) || isnan(c) || isnan(d)) {
        return anything;
    }
    return (struct sc_interval){lesser(lesser(a, b), lesser(c, d)), greater(greater(a, b), greater(c, d)), false};
}

static struct sc_interval of_mul(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    const struct sc_interval *x = in[0], *y = in[1];
    return hull(x->least * y->least, x->least * y->most, x->most * y->least, x->most * y->most);
}

static struct sc_interval of_div(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    const struct sc_interval *x = in[0], *y = in[1];
    return y->least <= 0 && y->most >= 0
        ? anything
        : hull(x->least / y->least, x->least / y->most, x->most / y->least, x->most / y->most);
}

static struct sc_interval of_min(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    struct sc_interval out = *in[0];
    for (int i = 1; i < SC_INTERVAL_MOST && in[i]; i++) {
        out = (struct sc_interval){lesser(out.least, in[i]->least), lesser(out.most, in[i]->most), false};
    }
    return out;
}

static struct sc_interval of_max(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    struct sc_interval out = *in[0];
    for (int i = 1; i < SC_INTERVAL_MOST && in[i]; i++) {
        out = (struct sc_interval){greater(out.least, in[i]->least), greater(out.most, in[i]->most), false};
    }
    return out;
}

static struct sc_interval of_clip(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    struct sc_interval out = *in[0];
    if (in[1]) {
        out = (struct sc_interval){greater(out.least, in[1]->least), greater(out.most, in[1]->most), false};
    }
    if (in[2]) {
        out = (struct sc_interval){lesser(out.least, in[2]->least), lesser(out.most, in[2]->most), false};
    }
    return out;
}

static struct sc_interval of_neg(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return (struct sc_interval){-in[0]->most, -in[0]->least, false};
}

static struct sc_interval of_abs(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    const double a = fabs(in[0]->least), b = fabs(in[0]->most);
    const bool across = in[0]->least < 0 && in[0]->most > 0;
    return (struct sc_interval){across ? 0 : lesser(a, b), greater(a, b), false};
}

static struct sc_interval of_log(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return in[0]->least < 0 ? anything : (struct sc_interval){log(in[0]->least), log(in[0]->most), false};
}

static struct sc_interval of_sqrt(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return in[0]->least < 0 ? anything : (struct sc_interval){sqrt(in[0]->least), sqrt(in[0]->most), false};
}

static struct sc_interval of_floor(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return (struct sc_interval){floor(in[0]->least), floor(in[0]->most), false};
}

static struct sc_interval of_ceil(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return (struct sc_interval){ceil(in[0]->least), ceil(in[0]->most), false};
}

static struct sc_interval of_sign(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    const double least = in[0]->least, most = in[0]->most;
    return (struct sc_interval){(least > 0) - (least < 0), (most > 0) - (most < 0), false};
}

static struct sc_interval of_itself(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return *in[0];
}

static struct sc_interval decided(bool yes, bool no)
{
    return yes ? truth : no ? untruth : either;
}

static struct sc_interval of_less(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return decided(in[0]->most < in[1]->least, in[0]->least >= in[1]->most);
}

static struct sc_interval of_less_or_equal(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return decided(in[0]->most <= in[1]->least, in[0]->least > in[1]->most);
}

static struct sc_interval of_greater(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return decided(in[0]->least > in[1]->most, in[0]->most <= in[1]->least);
}

static struct sc_interval of_greater_or_equal(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return decided(in[0]->least >= in[1]->most, in[0]->most < in[1]->least);
}

static struct sc_interval of_equal(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    const struct sc_interval *x = in[0], *y = in[1];
    return decided(
        x->least == x->most && y->least == y->most && x->least == y->least, x->most < y->least || x->least > y->most);
}

static struct sc_interval of_and(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return decided(in[0]->least > 0 && in[1]->least > 0, in[0]->most <= 0 || in[1]->most <= 0);
}

static struct sc_interval of_or(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return decided(in[0]->least > 0 || in[1]->least > 0, in[0]->most <= 0 && in[1]->most <= 0);
}

static struct sc_interval of_not(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    return decided(in[0]->most <= 0, in[0]->least > 0);
}

static struct sc_interval of_where(const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    if (in[0]->least > 0 || in[0]->most <= 0) {
        return *in[in[0]->least > 0 ? 1 : 2];
    }
    return (struct sc_interval){lesser(in[1]->least, in[2]->least), greater(in[1]->most, in[2]->most), false};
}

static const struct {
    const char *name;
    rule_fn *rule;
    int n_in; /* at least */
    bool exact; /* the result is one of the inputs, or nothing is rounded */
} rules[] = {{"Abs", of_abs, 1, true}, {"Add", of_add, 2, false}, {"And", of_and, 2, true},
    {"Cast", of_itself, 1, false}, {"Ceil", of_ceil, 1, true}, {"Clip", of_clip, 1, true}, {"Div", of_div, 2, false},
    {"Equal", of_equal, 2, true}, {"Floor", of_floor, 1, true}, {"Greater", of_greater, 2, true},
    {"GreaterOrEqual", of_greater_or_equal, 2, true}, {"Identity", of_itself, 1, true}, {"Less", of_less, 2, true},
    {"LessOrEqual", of_less_or_equal, 2, true}, {"Log", of_log, 1, false}, {"Max", of_max, 1, true},
    {"Min", of_min, 1, true}, {"Mul", of_mul, 2, false}, {"Neg", of_neg, 1, true}, {"Not", of_not, 1, true},
    {"Or", of_or, 2, true}, {"Sign", of_sign, 1, true}, {"Sqrt", of_sqrt, 1, false}, {"Sub", of_sub, 2, false},
    {"Where", of_where, 3, true}};

static int find(const struct sc_node *node)
{
    for (size_t r = 0; !node->domain[0] && r < sizeof rules / sizeof rules[0]; r++) {
        if (strcmp(rules[r].name, node->op) == 0) {
            return (int)r;
        }
    }
    return -1;
}

bool sc_interval_knows(const struct sc_node *node)
{
    const int r = find(node);
    if (r < 0 || node->n_in < rules[r].n_in || node->n_in > SC_INTERVAL_MOST) {
        return false;
    }
    return strcmp(node->op, "Clip") != 0 || node->version >= 11; /* before, its bounds were attributes */
}

/* By how much floats of the type are off after an operation, relatively, and what vanishes; 0: not floats. */
static double error_of(enum sc_type type, double *tiny)
{
    *tiny = type == SC_F16 ? 1e-4 : 1e-37;
    return type == SC_F64 ? 1e-12 : type == SC_F32 ? 1e-6 : type == SC_F16 ? 2e-3 : type == SC_BF16 ? 2e-2 : 0;
}

static struct sc_interval round_floats(struct sc_interval x, enum sc_type type, bool exact)
{
    double tiny;
    const double error = exact ? 0 : error_of(type, &tiny);
    const double largest = type == SC_F16 ? 65504 : type == SC_F64 ? DBL_MAX : (double)FLT_MAX;
    if (error > 0) {
        x.least -= isfinite(x.least) ? error * fabs(x.least) + tiny : 0;
        x.most += isfinite(x.most) ? error * fabs(x.most) + tiny : 0;
    }
    x.least = x.least < -largest ? -INFINITY : x.least;
    x.most = x.most > largest ? INFINITY : x.most;
    return x;
}

/* Fractions are cut off; what does not fit may become any number. */
static struct sc_interval round_integers(struct sc_interval x, enum sc_type type)
{
    const double room = type == SC_I32 ? 0x1p31 : 0x1p53;
    x.least = trunc(x.least);
    x.most = trunc(x.most);
    return x.least > -room && x.most < room ? x : anything;
}

struct sc_interval sc_interval_of(
    const struct sc_node *node, enum sc_type type, const struct sc_interval *const in[SC_INTERVAL_MOST])
{
    const int r = find(node);
    struct sc_interval out = rules[r].rule(in);
    /* floats that may be anything may be NaN, which a Min or Clip does not bound */
    bool same = true, open = isnan(out.least) || isnan(out.most);
    for (int i = 0; i < SC_INTERVAL_MOST; i++) {
        same = same && (!in[i] || in[i]->same);
        open |= in[i] && rules[r].rule != of_where && in[i]->least == -INFINITY && in[i]->most == INFINITY;
    }
    if (type == SC_BOOL) {
        out = decided(out.least > 0 || out.most < 0, out.least == 0 && out.most == 0);
    } else if (sc_type_is_float(type)) {
        out = open ? anything : round_floats(out, type, rules[r].exact);
    } else {
        out = type == SC_I64 || type == SC_I32 ? round_integers(out, type) : anything;
    }
    out.same = same || out.same || (out.least == out.most && isfinite(out.least));
    return out;
}
