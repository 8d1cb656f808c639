/* SPDX-License-Identifier: Apache-2.0
 * Transforms are those of ONNX Runtime, which the clauses only name: PROBIT is an approximation of the inverse of the
 * error function, after Winitzki (2008); SOFTMAX_ZERO leaves scores that are 0 out of the exponentials. */
#include "ops/ml/scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/convert.h"

enum sc_status sc_post_read(const struct sc_graph *graph, const struct sc_node *node, enum sc_post *post)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char *text;
    SC_TRY(sc_node_text(node, "post_transform", "NONE", &text));
    for (int i = SC_POST_NONE; i <= SC_POST_PROBIT; i++) {
        if (strcmp(text, names[i]) == 0) {
            *post = (enum sc_post)i;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL,
        "post_transform is '%s', want NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", text);
}

double sc_logistic(double x)
{
    const double e = exp(-fabs(x));
    return x < 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
}

static double probit(double p)
{
    const double x = 2.0 * p - 1.0, rest = (1.0 - x) * (1.0 + x);
    if (rest == 0.0) {
        return 0.0;
    }
    const double a = 0.147, l = log(rest), v = 2.0 / (3.14159265358979323846 * a) + 0.5 * l;
    return 1.41421356 * copysign(sqrt(sqrt(v * v - l / a) - v), x);
}

static void softmax(double *scores, int64_t n, bool zeros_stay)
{
    const double most = n ? scores[sc_scores_top(scores, n)] : 0.0;
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const bool zero = zeros_stay && fabs(scores[i]) <= 1e-7;
        scores[i] = zero ? scores[i] * exp(-most) : exp(scores[i] - most);
        sum += scores[i];
    }
    for (int64_t i = 0; i < n; i++) {
        scores[i] = sum == 0.0 ? 0.5 : scores[i] / sum;
    }
}

void sc_post_apply(enum sc_post post, double *scores, int64_t n)
{
    if (post == SC_POST_SOFTMAX || post == SC_POST_SOFTMAX_ZERO) {
        softmax(scores, n, post == SC_POST_SOFTMAX_ZERO);
        return;
    }
    for (int64_t i = 0; i < n && post != SC_POST_NONE; i++) {
        scores[i] = post == SC_POST_LOGISTIC ? sc_logistic(scores[i]) : probit(scores[i]);
    }
}

enum sc_status sc_labels_read(const struct sc_graph *graph, const struct sc_node *node, const char *ints,
    const char *strings, struct sc_labels *labels)
{
    const struct sc_attribute *a = sc_node_attribute(node, ints), *b = sc_node_attribute(node, strings);
    a = a && a->n > 0 ? a : NULL;
    b = b && b->n > 0 ? b : NULL;
    if (!a == !b) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "has %s of '%s' and '%s', want one", a ? "both" : "none", ints, strings);
    }
    *labels =
        (struct sc_labels){.n = a ? a->n : b->n, .ints = a ? a->u.ints : NULL, .strings = b ? b->u.strings : NULL};
    return SC_OK;
}

enum sc_type sc_labels_type(const struct sc_labels *labels)
{
    return labels->strings ? SC_STRING : SC_I64;
}

void sc_labels_put(const struct sc_labels *labels, int64_t index, const struct sc_tensor *to, int64_t i)
{
    if (to && labels->strings) {
        ((struct sc_string *)to->data)[i] = labels->strings[index];
    } else if (to) {
        ((int64_t *)to->data)[i] = labels->ints[index];
    }
}

enum sc_status sc_scores_infer(
    struct sc_infer *infer, const struct sc_labels *labels, int64_t n_features, int64_t n_scores)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    if (x->rank >= 0 && x->rank != 1 && x->rank != 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d, want 1 or 2", x->rank);
    }
    if (x->rank > 0 && n_features >= 0) {
        const int64_t want[2] = {x->rank == 2 ? SC_DIM_UNKNOWN : n_features, n_features};
        SC_TRY(sc_infer_want(infer, 0, "X", x->rank, want));
    }
    const int64_t dims[2] = {x->rank == 1 ? 1 : x->rank == 2 ? x->dims[0] : SC_DIM_UNKNOWN, n_scores};
    struct sc_fact *scores = sc_infer_out(infer, labels ? 1 : 0), *top = labels ? sc_infer_out(infer, 0) : NULL;
    if (scores) {
        sc_fact_tensor(scores, SC_F32, 2, dims);
    }
    if (top) {
        sc_fact_tensor(top, sc_labels_type(labels), 1, dims);
    }
    return SC_OK;
}

int64_t sc_scores_rows(const struct sc_tensor *x, int64_t *n_features)
{
    *n_features = x->dims[x->rank - 1];
    return x->rank == 1 ? 1 : x->dims[0];
}

int64_t sc_scores_top(const double *scores, int64_t n)
{
    int64_t top = 0;
    for (int64_t i = 1; i < n; i++) {
        top = scores[i] > scores[top] ? i : top;
    }
    return top;
}

enum sc_status sc_reals_of_tensor(const struct sc_graph *graph, const struct sc_node *node, const char *name,
    struct sc_arena *arena, struct sc_reals *reals)
{
    const struct sc_attribute *attribute = sc_node_attribute(node, name);
    *reals = (struct sc_reals){.n = -1};
    if (!attribute) {
        return SC_OK;
    }
    const struct sc_tensor *tensor = attribute->u.tensor;
    const int64_t n = sc_tensor_count(tensor);
    if (!sc_convertible(tensor->type) || tensor->rank > 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' is no list of numbers", name);
    }
    double *values = sc_arena_array(arena, (size_t)n, sizeof *values);
    if (!values) {
        return SC_NO_MEMORY;
    }
    sc_convert(tensor->type, tensor->data, SC_F64, values, n, 0);
    *reals = (struct sc_reals){n, values};
    return SC_OK;
}

enum sc_status sc_reals_read(const struct sc_graph *graph, const struct sc_node *node, const char *name,
    struct sc_arena *arena, struct sc_reals *reals)
{
    int n;
    const float *floats;
    char tensor[64];
    SC_TRY(sc_node_floats(node, name, &n, &floats));
    snprintf(tensor, sizeof tensor, "%s_as_tensor", name);
    SC_TRY(sc_reals_of_tensor(graph, node, tensor, arena, reals));
    if (n < 0 || reals->n >= 0) {
        return n > 0 ? sc_node_fail(graph, node, SC_BAD_MODEL, "has both '%s' and '%s'", name, tensor) : SC_OK;
    }
    double *values = sc_arena_array(arena, (size_t)n, sizeof *values);
    if (!values) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        values[i] = (double)floats[i];
    }
    *reals = (struct sc_reals){n, values};
    return SC_OK;
}
