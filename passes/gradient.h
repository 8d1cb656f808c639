/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of operators, as nodes. For passes/gradient*.c alone. */
#ifndef SC_PASSES_GRADIENT_H
#define SC_PASSES_GRADIENT_H

#include "passes/edit.h"

/* Nodes that are appended to an edited graph, at the place of `like`, a Gradient. The first failure is kept in
 * `status`; from then on values are -1 and nothing is appended, so that a rule need not look. */
struct sc_backward {
    struct sc_edit *edit;
    const struct sc_node *like;
    const struct sc_fact *facts; /* of the values that were there before */
    int n_facts;
    enum sc_status status;
};

/* A node of operator `op` with one output, of the opset that rules are written in. */
int sc_backward_emit(struct sc_backward *b, const char *op, int n_in, const int *in);
int sc_backward_emit_with(struct sc_backward *b, const char *op, int n_in, const int *in, int n_attributes,
    const struct sc_attribute *attributes);

/* A copy of `node` with its first input replaced and new outputs, the first of which is returned. */
int sc_backward_copy(struct sc_backward *b, const struct sc_node *node, int input, int *outs);

/* Such a copy of a Reduce operator whose reduced axes stay as 1; of the sum over the same axes instead when `sum`. */
int sc_backward_reduce(struct sc_backward *b, const struct sc_node *node, int input, bool sum);

/* Weights: a scalar, a list, and the list from, from + 1, ... to - 1. */
int sc_backward_scalar(struct sc_backward *b, enum sc_type type, double value);
int sc_backward_ints(struct sc_backward *b, int n, const int64_t *values);
int sc_backward_range(struct sc_backward *b, int from, int to);

/* `value` summed to the shape of `like`, against which it was broadcast. */
int sc_backward_sum_to(struct sc_backward *b, int value, int like);

/* A formula in reverse Polish notation, "dy 1 y y Mul Sub Mul": names are values of `names`, numbers are scalars of
 * `type`, words with a capital letter are operators of as many operands as they must have. */
struct sc_backward_name {
    const char *name;
    int value;
};
int sc_backward_formula(
    struct sc_backward *b, const char *text, enum sc_type type, int n, const struct sc_backward_name *names);

/* Names that a rule gives its values one after the other, each in formulas over those before it. */
struct sc_names {
    struct sc_backward *b;
    enum sc_type type; /* of numbers */
    int n;
    struct sc_backward_name list[16];
};
int sc_names_add(struct sc_names *names, const char *name, int value); /* returns the value */
int sc_names_formula(struct sc_names *names, const char *text);
int sc_names_add_formula(struct sc_names *names, const char *name, const char *text);

/* What is known of a value; nothing for those that rules made. */
const struct sc_fact *sc_backward_fact(const struct sc_backward *b, int value);

/* Typed reads; a failure is kept in `status`. */
int64_t sc_backward_int(struct sc_backward *b, const struct sc_node *node, const char *name, int64_t otherwise);
double sc_backward_float(struct sc_backward *b, const struct sc_node *node, const char *name, float otherwise);
const char *sc_backward_text(
    struct sc_backward *b, const struct sc_node *node, const char *name, const char *otherwise);

/* The rank of the first input when it is at least `least`; else refuses and returns -1. */
int sc_backward_rank(struct sc_backward *b, const struct sc_node *node, int least);

/* dy[o]: the gradient of output o, or -1. dx[i]: wanted (SC_WANTED) or not (-1); set to the gradient of input i, or to
 * -1 when there is none. */
enum { SC_WANTED = -2 };
void sc_backward_node(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx);

/* A rule of an operator that has more than a formula. */
typedef void sc_rule_fn(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx);
struct sc_rule {
    const char *op;
    int since; /* of the versions from this one on; they may be told apart by node->version */
    sc_rule_fn *run;
};
extern const struct sc_rule *const sc_gradient_rules[]; /* lists that end with op NULL; ends with NULL */
extern const struct sc_rule sc_gradient_windows[], sc_gradient_norms[], sc_gradient_losses[];

/* An operator that only moves elements of its first input: it is run on their numbers, and each gradient is added where
 * its element came from. */
void sc_backward_move(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx);

/* Fails at this node: SC_UNSUPPORTED. */
void sc_backward_refuse(struct sc_backward *b, const struct sc_node *node, const char *why);

#endif
