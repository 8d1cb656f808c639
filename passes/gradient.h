/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of operators, as nodes. For passes/gradient*.c alone. */
#ifndef SC_PASSES_GRADIENT_H
#define SC_PASSES_GRADIENT_H

#include "passes/edit.h"

/* Nodes that are appended to an edited graph, at the place of `like`, a Gradient. The first failure is kept in `status`;
 * from then on values are -1 and nothing is appended, so that a rule need not look. */
struct sc_backward {
    struct sc_edit *edit;
    const struct sc_node *like;
    const struct sc_fact *facts; /* of the values that were there before */
    int n_facts;
    enum sc_status status;
};

/* A node of operator `op` with one output, of the opset that rules are written in. */
int sc_backward_emit(struct sc_backward *b, const char *op, int n_in, const int *in);
int sc_backward_emit_with(
    struct sc_backward *b, const char *op, int n_in, const int *in, const struct sc_attribute *attribute);

/* A copy of `node` with its first input replaced and new outputs, the first of which is returned. */
int sc_backward_copy(struct sc_backward *b, const struct sc_node *node, int input, int *outs);

/* Weights: a scalar, and a list. */
int sc_backward_scalar(struct sc_backward *b, enum sc_type type, double value);
int sc_backward_ints(struct sc_backward *b, int n, const int64_t *values);

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

/* What is known of a value; nothing for those that rules made. */
const struct sc_fact *sc_backward_fact(const struct sc_backward *b, int value);

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
extern const struct sc_rule sc_gradient_rules[]; /* ends with op NULL */

/* Fails at this node: SC_UNSUPPORTED. */
void sc_backward_refuse(struct sc_backward *b, const struct sc_node *node, const char *why);

#endif
