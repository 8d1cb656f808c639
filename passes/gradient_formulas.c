/* SPDX-License-Identifier: Apache-2.0
 * Derivatives that are a formula: a line an operator. */
#include <string.h>

#include "passes/gradient.h"

enum form {
    PLAIN, /* the formula has the shape of the input */
    BROADCAST, /* it has the shape of the output, to which the input was broadcast */
    REDUCED /* "k" is the output with the reduced axes kept as 1, "d" its gradient */
};

/* "a", "b", "c": inputs; "y": the output; "dy": its gradient; "p": the attribute `parameter`. An input without a
 * formula has no derivative, or one that is 0 wherever it exists. */
struct formula {
    const char *op;
    int since;
    enum form form;
    const char *of[3];
    const char *parameter;
    float otherwise;
};

static const struct formula formulas[] = {
    {"Abs", 1, PLAIN, {"dy a Sign Mul"}, NULL, 0},
    {"Acos", 7, PLAIN, {"dy 1 a a Mul Sub Sqrt Div Neg"}, NULL, 0},
    {"Acosh", 9, PLAIN, {"dy a a Mul 1 Sub Sqrt Div"}, NULL, 0},
    {"Add", 7, BROADCAST, {"dy", "dy"}, NULL, 0},
    {"Asin", 7, PLAIN, {"dy 1 a a Mul Sub Sqrt Div"}, NULL, 0},
    {"Asinh", 9, PLAIN, {"dy a a Mul 1 Add Sqrt Div"}, NULL, 0},
    {"Atan", 7, PLAIN, {"dy 1 a a Mul Add Div"}, NULL, 0},
    {"Atanh", 9, PLAIN, {"dy 1 a a Mul Sub Div"}, NULL, 0},
    {"Cast", 6, PLAIN, {"dy a CastLike"}, NULL, 0},
    {"CastLike", 15, PLAIN, {"dy a CastLike"}, NULL, 0},
    {"Ceil", 1, PLAIN, {NULL}, NULL, 0},
    {"Celu", 12, PLAIN, {"a 0 Less dy a p Div Exp Mul dy Where"}, "alpha", 1.0F},
    {"Clip", 6, PLAIN, {"a y Equal dy 0 Where"}, NULL, 0},
    {"Cos", 7, PLAIN, {"dy a Sin Mul Neg"}, NULL, 0},
    {"Cosh", 9, PLAIN, {"dy a Sinh Mul"}, NULL, 0},
    {"Div", 7, BROADCAST, {"dy b Div", "dy y Mul b Div Neg"}, NULL, 0},
    {"Elu", 6, PLAIN, {"a 0 Less dy y p Add Mul dy Where"}, "alpha", 1.0F},
    {"Erf", 9, PLAIN, {"dy 1.1283791670955126 Mul a a Mul Neg Exp Mul"}, NULL, 0},
    {"Exp", 1, PLAIN, {"dy y Mul"}, NULL, 0},
    {"Expand", 8, BROADCAST, {"dy"}, NULL, 0},
    {"Flatten", 1, PLAIN, {"dy a Shape Reshape"}, NULL, 0},
    {"Floor", 1, PLAIN, {NULL}, NULL, 0},
    {"GlobalAveragePool", 1, PLAIN, {"dy a Size y Size Div dy CastLike Div a Shape Expand"}, NULL, 0},
    {"HardSigmoid", 6, PLAIN, {"y y 1 Sub Mul 0 Less dy p Mul 0 Where"}, "alpha", 0.2F},
    {"HardSwish", 14, PLAIN, {"a 3 Less a 3 Add 0 Less 0 dy a a Add 3 Add Mul 6 Div Where dy Where"}, NULL, 0},
    {"Identity", 1, PLAIN, {"dy"}, NULL, 0},
    {"LeakyRelu", 1, PLAIN, {"a 0 Less dy p Mul dy Where"}, "alpha", 0.01F},
    {"Log", 1, PLAIN, {"dy a Div"}, NULL, 0},
    {"Mish", 18, PLAIN, {"dy a Softplus Tanh a a Sigmoid Mul 1 a Softplus Tanh a Softplus Tanh Mul Sub Mul Add Mul"},
        NULL, 0},
    {"Mul", 7, BROADCAST, {"dy b Mul", "dy a Mul"}, NULL, 0},
    {"Neg", 1, PLAIN, {"dy Neg"}, NULL, 0},
    {"PRelu", 9, BROADCAST, {"a 0 Less dy b Mul dy Where", "a 0 Less dy a Mul 0 Where"}, NULL, 0},
    /* 0 to the power of 0 is flat; the exponent may have another type, and of 0 has no derivative worth a NaN */
    {"Pow", 7, BROADCAST,
        {"b 0 b CastLike Equal 0 dy b dy CastLike Mul a b 1 b CastLike Sub Pow Mul Where",
            "a 0 a CastLike Equal 0 dy y Mul a Log Mul Where b CastLike"},
        NULL, 0},
    {"Reciprocal", 1, PLAIN, {"dy y Mul y Mul Neg"}, NULL, 0},
    {"ReduceL1", 1, REDUCED, {"d a Sign Mul"}, NULL, 0},
    {"ReduceL2", 1, REDUCED, {"d a Mul k Div"}, NULL, 0},
    {"ReduceLogSum", 1, REDUCED, {"d k Exp Div a Shape Expand"}, NULL, 0},
    {"ReduceLogSumExp", 1, REDUCED, {"d a k Sub Exp Mul"}, NULL, 0},
    {"ReduceMean", 1, REDUCED, {"d a Size k Size Div d CastLike Div a Shape Expand"}, NULL, 0},
    {"ReduceSum", 1, REDUCED, {"d a Shape Expand"}, NULL, 0},
    {"ReduceSumSquare", 1, REDUCED, {"d a Mul 2 Mul"}, NULL, 0},
    {"Relu", 1, PLAIN, {"dy y Sign Mul"}, NULL, 0},
    {"Reshape", 1, PLAIN, {"dy a Shape Reshape"}, NULL, 0},
    {"Round", 11, PLAIN, {NULL}, NULL, 0},
    {"Shrink", 9, PLAIN, {"p a Abs Less dy 0 Where"}, "lambd", 0.5F},
    {"Sigmoid", 1, PLAIN, {"dy y Mul 1 y Sub Mul"}, NULL, 0},
    {"Sign", 9, PLAIN, {NULL}, NULL, 0},
    {"Sin", 7, PLAIN, {"dy a Cos Mul"}, NULL, 0},
    {"Sinh", 9, PLAIN, {"dy a Cosh Mul"}, NULL, 0},
    {"Softplus", 1, PLAIN, {"dy a Sigmoid Mul"}, NULL, 0},
    {"Softsign", 1, PLAIN, {"dy 1 a Abs Add Div 1 a Abs Add Div"}, NULL, 0},
    {"Sqrt", 1, PLAIN, {"dy y Div 2 Div"}, NULL, 0},
    {"Squeeze", 1, PLAIN, {"dy a Shape Reshape"}, NULL, 0},
    {"Sub", 7, BROADCAST, {"dy", "dy Neg"}, NULL, 0},
    {"Swish", 24, PLAIN, {"dy a p Mul Sigmoid y p Mul 1 a p Mul Sigmoid Sub Mul Add Mul"}, "alpha", 1.0F},
    {"Tan", 7, PLAIN, {"dy 1 y y Mul Add Mul"}, NULL, 0},
    {"Tanh", 1, PLAIN, {"dy 1 y y Mul Sub Mul"}, NULL, 0},
    {"ThresholdedRelu", 10, PLAIN, {"p a Less dy 0 Where"}, "alpha", 1.0F},
    {"Unsqueeze", 1, PLAIN, {"dy a Shape Reshape"}, NULL, 0},
    {"Where", 9, BROADCAST, {NULL, "a dy 0 Where", "a 0 dy Where"}, NULL, 0},
};

static const struct formula *find_formula(const struct sc_node *node)
{
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
        if (strcmp(formulas[i].op, node->op) == 0) {
            return node->version >= formulas[i].since ? &formulas[i] : NULL;
        }
    }
    return NULL;
}

static const struct sc_rule *find_rule(const struct sc_node *node)
{
    for (int l = 0; sc_gradient_rules[l]; l++) {
        for (const struct sc_rule *rule = sc_gradient_rules[l]; rule->op; rule++) {
            if (strcmp(rule->op, node->op) == 0) {
                return node->version >= rule->since ? rule : NULL;
            }
        }
    }
    return NULL;
}

/* Equal dims that are known, symbols among them. */
static bool same_shape(const struct sc_fact *a, const struct sc_fact *b)
{
    bool same = a->rank >= 0 && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) {
        same = a->dims[d] == b->dims[d] && a->dims[d] != SC_DIM_UNKNOWN;
    }
    return same;
}

static void apply(
    struct sc_backward *b, const struct sc_node *node, const struct formula *formula, const int *dy, int *dx)
{
    const enum sc_type type = sc_backward_fact(b, node->out[0])->type;
    struct sc_backward_name names[8] = {{"dy", dy[0]}, {"y", node->out[0]}};
    int n = 2;
    static const char *const letters[] = {"a", "b", "c"};
    for (int i = 0; i < node->n_in && i < 3; i++) {
        names[n++] = (struct sc_backward_name){letters[i], node->in[i]};
    }
    if (formula->parameter) {
        const double p = sc_backward_float(b, node, formula->parameter, formula->otherwise);
        names[n++] = (struct sc_backward_name){"p", sc_backward_scalar(b, type, p)};
    }
    if (formula->form == REDUCED) {
        names[n] = (struct sc_backward_name){"k", sc_backward_reduce(b, node, node->in[0], false)};
        names[n + 1] = (struct sc_backward_name){"d", sc_backward_formula(b, "dy k Shape Reshape", type, n + 1, names)};
        n += 2;
    }
    for (int i = 0; i < node->n_in; i++) {
        if (dx[i] != SC_WANTED) {
            continue;
        }
        const char *text = i < 3 ? formula->of[i] : NULL;
        dx[i] = text ? sc_backward_formula(b, text, type, n, names) : -1;
        const bool grown = formula->form == BROADCAST &&
            !same_shape(sc_backward_fact(b, node->in[i]), sc_backward_fact(b, node->out[0]));
        if (text && grown) {
            dx[i] = sc_backward_sum_to(b, dx[i], node->in[i]);
        }
    }
}

void sc_backward_refuse(struct sc_backward *b, const struct sc_node *node, const char *why)
{
    char name[160];
    if (b->status == SC_OK) {
        b->status = sc_fail(SC_UNSUPPORTED, "%s: has no derivative here: %s",
            sc_node_text_name(b->edit->graph, node, name, sizeof name), why);
    }
}

void sc_backward_node(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const struct formula *formula = node->domain[0] ? NULL : find_formula(node);
    if (formula) {
        apply(b, node, formula, dy, dx);
        return;
    }
    const struct sc_rule *rule = node->domain[0] ? NULL : find_rule(node);
    if (rule) {
        rule->run(b, node, dy, dx);
        return;
    }
    sc_backward_refuse(b, node, "no rule for this operator at this version");
}
