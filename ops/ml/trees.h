/* SPDX-License-Identifier: Apache-2.0
 * Ensembles of decision trees: one layout, whatever attributes they come from. */
#ifndef SC_OPS_ML_TREES_H
#define SC_OPS_ML_TREES_H

#include "ops/ml/scores.h"

/* The numbers of TreeEnsemble-5, and leaves. */
enum sc_tree_mode {
    SC_TREE_LEQ,
    SC_TREE_LT,
    SC_TREE_GTE,
    SC_TREE_GT,
    SC_TREE_EQ,
    SC_TREE_NEQ,
    SC_TREE_MEMBER,
    SC_TREE_LEAF
};
enum sc_tree_sum { SC_TREE_AVERAGE, SC_TREE_SUM, SC_TREE_MIN, SC_TREE_MAX };

/* A node as the attributes have it. */
struct sc_tree_source {
    enum sc_tree_mode mode;
    bool missing; /* NaN takes the true branch */
    int64_t feature;
    double split;
    int yes, no; /* nodes; not of leaves */
    int first, n; /* votes of a leaf; members of a set, in `members` */
};

struct sc_tree_vote {
    int64_t target;
    double weight;
};

/* A node as it is walked. Nodes of a tree stand by breadth; a node's branches stand beside each other, the true one
 * first. */
struct sc_tree_node {
    double split;
    int32_t feature;
    int32_t branch; /* the true one; the other stands behind it */
    int32_t first, n; /* votes of a leaf, members of a set */
    uint8_t mode, missing;
};

struct sc_trees {
    int n_trees;
    int32_t *roots;
    struct sc_tree_node *nodes;
    const struct sc_tree_vote *votes;
    const double *members;
    int64_t n_targets, n_features; /* n_features: one more than the largest that a node looks at */
    enum sc_tree_sum sum;
};

/* Lays out n sources, of which roots (places among them) are trees. Targets of votes and features are checked here; a
 * node that two others lead to, or one that leads back, is SC_BAD_MODEL. Votes and members are kept. */
enum sc_status sc_trees_build(const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, int n,
    const struct sc_tree_source *sources, int n_roots, const int64_t *roots, struct sc_trees *trees);

/* Rows that a worker takes at once, and its memory for them, of `width` features each. */
enum { SC_TREE_ROWS = 64 };
size_t sc_trees_bytes(const struct sc_trees *trees, int64_t width);

/* What the trees say of `n` <= SC_TREE_ROWS rows of a dense tensor of `width` features from `row` on: scores
 * [n, n_targets], in `memory`. A target without a vote has 0. */
double *sc_trees_scores(
    const struct sc_trees *trees, const struct sc_tensor *input, int64_t width, int64_t row, int64_t n, void *memory);

#endif
