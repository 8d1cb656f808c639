/* SPDX-License-Identifier: Apache-2.0
 * What models share: rows of X, labels of classes, transforms of scores. */
#ifndef SC_OPS_ML_SCORES_H
#define SC_OPS_ML_SCORES_H

#include "ops/shape/shape.h"

/* The numbers of TreeEnsemble-5. */
enum sc_post { SC_POST_NONE, SC_POST_SOFTMAX, SC_POST_LOGISTIC, SC_POST_SOFTMAX_ZERO, SC_POST_PROBIT };

/* The attribute post_transform. */
enum sc_status sc_post_read(const struct sc_graph *graph, const struct sc_node *node, enum sc_post *post);
void sc_post_apply(enum sc_post post, double *scores, int64_t n);

double sc_logistic(double x);

/* One and only one of two lists. */
struct sc_labels {
    int64_t n;
    const int64_t *ints;
    const struct sc_string *strings; /* NULL: ints */
};

enum sc_status sc_labels_read(const struct sc_graph *graph, const struct sc_node *node, const char *ints,
    const char *strings, struct sc_labels *labels);
enum sc_type sc_labels_type(const struct sc_labels *labels);

/* Label `index` becomes element i. Nothing when nobody reads the tensor. */
void sc_labels_put(const struct sc_labels *labels, int64_t index, const struct sc_tensor *to, int64_t i);

/* Facts of a classifier's two outputs, or of a regressor's one (labels NULL): X is [N,F], or [F] for a single row.
 * n_features < 0: any. */
enum sc_status sc_scores_infer(
    struct sc_infer *infer, const struct sc_labels *labels, int64_t n_features, int64_t n_scores);

/* Rows of X and their length. */
int64_t sc_scores_rows(const struct sc_tensor *x, int64_t *n_features);

/* The first of the largest; NaN is larger than nothing. */
int64_t sc_scores_top(const double *scores, int64_t n);

/* A list of floats that may be given as doubles in a tensor "<name>_as_tensor" instead. n is -1 when it is absent. */
struct sc_reals {
    int64_t n;
    const double *values;
};
enum sc_status sc_reals_read(const struct sc_graph *graph, const struct sc_node *node, const char *name,
    struct sc_arena *arena, struct sc_reals *reals);

/* The same of a tensor attribute alone. */
enum sc_status sc_reals_of_tensor(const struct sc_graph *graph, const struct sc_node *node, const char *name,
    struct sc_arena *arena, struct sc_reals *reals);

#endif
