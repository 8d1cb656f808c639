/* SPDX-License-Identifier: Apache-2.0
 * Derivatives of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss:
 *
 *   loss = -weight x at the target of each sample; their sum; or that over the sum of the weights
 *
 * where x are the scores, or their LogSoftmax. A sample whose target is ignored has no part. */
#include <string.h>

#include "passes/gradient.h"

/* "chosen": true at [n, c, ...] where c is the target of a sample that counts. "x" has its name. */
static void name_chosen(struct sc_names *names, const struct sc_node *node, int column)
{
    struct sc_backward *b = names->b;
    struct sc_names own = {.b = b, .type = SC_I64};
    const int ignored = sc_backward_scalar(b, SC_I64, (double)sc_backward_int(b, node, "ignore_index", 0));
    sc_names_add(&own, "x", node->in[0]);
    sc_names_add(&own, "column", column);
    sc_names_add(&own, "ignored", ignored);
    sc_names_add(&own, "axis", sc_backward_range(b, 1, 2));
    sc_names_add(&own, "given", node->in[1]);
    sc_names_add_formula(&own, "target", "given ignored CastLike axis Unsqueeze");
    sc_names_add_formula(&own, "classes", "0 x Shape 1 Gather 1 Range column Reshape");
    sc_names_add(names, "chosen",
        sc_names_formula(&own,
            sc_node_attribute(node, "ignore_index") ? "target classes Equal target ignored Equal Not And"
                                                    : "target classes Equal"));
}

/* The gradient of x by that of the loss, and that of the weights when it is wanted. */
static int likelihood(struct sc_names *names, const struct sc_node *node, int dy, int column, int *dw)
{
    static const int64_t all = -1;
    struct sc_backward *b = names->b;
    const char *reduction = sc_backward_text(b, node, "reduction", "mean");
    const bool mean = strcmp(reduction, "mean") == 0, each = strcmp(reduction, "none") == 0;
    const char *share = mean ? "dy at flat Reshape first ReduceSum Div" : each ? "dy axis Unsqueeze" : "dy";
    const bool weighted = node->n_in > 2 && node->in[2] >= 0;
    name_chosen(names, node, column);
    sc_names_add(names, "dy", dy);
    sc_names_add(names, "loss", node->out[0]);
    sc_names_add(names, "flat", sc_backward_ints(b, 1, &all));
    sc_names_add(names, "first", sc_backward_range(b, 0, 1));
    sc_names_add(names, "weights", weighted ? node->in[2] : sc_backward_scalar(b, names->type, 1));
    sc_names_add(names, "column", column);
    const int weight = sc_names_add_formula(names, "weight", weighted ? "weights column Reshape" : "weights");
    sc_names_add_formula(names, "at", "chosen weight 0 Where");
    sc_names_add_formula(names, "g", share);
    if (weighted && *dw == SC_WANTED) {
        const int of_each =
            sc_names_formula(names, mean ? "chosen x loss Add 0 Where g Mul Neg" : "chosen x 0 Where g Mul Neg");
        sc_names_add(names, "summed", sc_backward_sum_to(b, of_each, weight));
        *dw = sc_names_formula(names, "summed weights Shape Reshape");
    }
    return sc_names_formula(names, "at g Mul Neg");
}

static void loss(struct sc_backward *b, const struct sc_node *node, const int *dy, int *dx)
{
    const int rank = sc_backward_rank(b, node, 2);
    if (rank < 0) {
        return;
    }
    int64_t column[SC_MAX_RANK] = {-1};
    for (int d = 1; d < rank - 1; d++) {
        column[d] = 1;
    }
    const bool softmax = strcmp(node->op, "SoftmaxCrossEntropyLoss") == 0;
    const struct sc_attribute axis = {.name = "axis", .type = SC_ATTRIBUTE_INT, .n = 1, .u.i = 1};
    struct sc_names names = {.b = b, .type = sc_backward_fact(b, node->in[0])->type};
    const int x = softmax ? sc_backward_emit_with(b, "LogSoftmax", 1, node->in, 1, &axis) : node->in[0];
    const int shape = sc_backward_ints(b, rank - 1, column);
    int d = -1, unwanted = -1;
    sc_names_add(&names, "x", x);
    sc_names_add(&names, "axis", sc_backward_range(b, 1, 2));
    if (dy[0] >= 0) {
        d = likelihood(&names, node, dy[0], shape, node->n_in > 2 ? &dx[2] : &unwanted);
    }
    if (softmax && node->n_out > 1 && dy[1] >= 0) {
        d = d < 0 ? dy[1] : sc_backward_emit(b, "Add", 2, (const int[]){d, dy[1]});
    }
    if (softmax) {
        sc_names_add(&names, "d", d);
        d = sc_names_formula(&names, "d x Exp d axis ReduceSum Mul Sub");
    }
    dx[0] = dx[0] == SC_WANTED ? d : -1;
    if (node->n_in > 2 && dx[2] == SC_WANTED) {
        dx[2] = -1; /* log_prob alone was asked for, which has no weights */
    }
}

const struct sc_rule sc_gradient_losses[] = {
    {"NegativeLogLikelihoodLoss", 12, loss},
    {"SoftmaxCrossEntropyLoss", 12, loss},
    {.op = NULL},
};
