/* SPDX-License-Identifier: Apache-2.0
 * A block of rows walks one tree after the other, so that a tree stays in the cache; each row adds its votes in the
 * order of the trees. */
#include "ops/ml/trees.h"
#include "ops/room.h"

#include <math.h>
#include <string.h>

#include "tensor/convert.h"

static enum sc_status check_source(const struct sc_graph *graph, const struct sc_node *node, int n, int index,
    const struct sc_tree_source *s, struct sc_trees *trees)
{
    if (s->mode == SC_TREE_LEAF) {
        for (int v = s->first; v < s->first + s->n; v++) {
            if (trees->votes[v].target < 0 || trees->votes[v].target >= trees->n_targets) {
                return sc_node_fail(graph, node, SC_BAD_MODEL, "a leaf votes for target %lld, want one in [0, %lld)",
                    (long long)trees->votes[v].target, (long long)trees->n_targets);
            }
        }
        return SC_OK;
    }
    if (s->yes < 0 || s->yes >= n || s->no < 0 || s->no >= n) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "node %d leads to a node that is not there", index);
    }
    if (s->feature < 0 || s->feature >= INT32_MAX) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "node %d looks at feature %lld, want 0 or more", index, (long long)s->feature);
    }
    trees->n_features = s->feature + 1 > trees->n_features ? s->feature + 1 : trees->n_features;
    return SC_OK;
}

static struct sc_tree_node lay_out(const struct sc_tree_source *s, int32_t branch)
{
    return (struct sc_tree_node){.split = s->split,
        .feature = (int32_t)(s->mode == SC_TREE_LEAF ? 0 : s->feature),
        .branch = branch,
        .first = s->first,
        .n = s->n,
        .mode = (uint8_t)s->mode,
        .missing = s->missing};
}

/* queue[i] is the source of node i. */
static enum sc_status build_tree(const struct sc_graph *graph, const struct sc_node *node,
    const struct sc_tree_source *sources, bool *reached, int *queue, int *n_nodes, struct sc_trees *trees)
{
    int end = *n_nodes + 1;
    for (int i = *n_nodes; i < end; i++) {
        const struct sc_tree_source *s = &sources[queue[i]];
        trees->nodes[i] = lay_out(s, end);
        if (s->mode == SC_TREE_LEAF) {
            continue;
        }
        if (reached[queue[i]]) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "node %d is reached twice", queue[i]);
        }
        reached[queue[i]] = true;
        queue[end++] = s->yes;
        queue[end++] = s->no;
    }
    *n_nodes = end;
    return SC_OK;
}

enum sc_status sc_trees_build(const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, int n,
    const struct sc_tree_source *sources, int n_roots, const int64_t *roots, struct sc_trees *trees)
{
    /* a branching node is reached once, and brings two nodes */
    const size_t most = 2 * (size_t)n + (size_t)n_roots + 2;
    bool *reached = sc_arena_array(arena, (size_t)n, sizeof *reached);
    int *queue = sc_arena_array(arena, most, sizeof *queue);
    trees->roots = sc_arena_array(arena, (size_t)n_roots, sizeof *trees->roots);
    trees->nodes = sc_arena_array(arena, most, sizeof *trees->nodes);
    if (!reached || !queue || !trees->roots || !trees->nodes) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        SC_TRY(check_source(graph, node, n, i, &sources[i], trees));
    }
    int n_nodes = 0;
    trees->n_trees = n_roots;
    for (int t = 0; t < n_roots; t++) {
        trees->roots[t] = n_nodes;
        queue[n_nodes] = (int)roots[t];
        SC_TRY(build_tree(graph, node, sources, reached, queue, &n_nodes, trees));
    }
    return SC_OK;
}

static bool is_member(const struct sc_trees *trees, const struct sc_tree_node *node, double x)
{
    bool found = false;
    for (int32_t m = node->first; m < node->first + node->n; m++) {
        found |= trees->members[m] == x;
    }
    return found;
}

static bool takes_true(const struct sc_trees *trees, const struct sc_tree_node *node, double x)
{
    if (isnan(x) && node->missing) {
        return true;
    }
    switch (node->mode) {
    case SC_TREE_LEQ:
        return x <= node->split;
    case SC_TREE_LT:
        return x < node->split;
    case SC_TREE_GTE:
        return x >= node->split;
    case SC_TREE_GT:
        return x > node->split;
    case SC_TREE_EQ:
        return x == node->split;
    case SC_TREE_NEQ:
        return x != node->split;
    default:
        return is_member(trees, node, x);
    }
}

static const struct sc_tree_node *find_leaf(const struct sc_trees *trees, int32_t root, const double *x)
{
    const struct sc_tree_node *node = &trees->nodes[root];
    while (node->mode != SC_TREE_LEAF) {
        node = &trees->nodes[node->branch + !takes_true(trees, node, x[node->feature])];
    }
    return node;
}

static void vote(const struct sc_trees *trees, const struct sc_tree_node *leaf, double *scores, bool *voted)
{
    for (int32_t v = leaf->first; v < leaf->first + leaf->n; v++) {
        double *score = &scores[trees->votes[v].target];
        const double weight = trees->votes[v].weight;
        const bool first = !voted[trees->votes[v].target];
        if (trees->sum == SC_TREE_MIN || trees->sum == SC_TREE_MAX) {
            const bool better = trees->sum == SC_TREE_MIN ? weight < *score : weight > *score;
            *score = first || better ? weight : *score;
        } else {
            *score += weight;
        }
        voted[trees->votes[v].target] = true;
    }
}

static void run_rows(const struct sc_trees *trees, const struct sc_tensor *input, int64_t row, int64_t n, double *x,
    double *scores, bool *voted)
{
    const int64_t width = input->dims[input->rank - 1];
    const size_t count = (size_t)(n * trees->n_targets);
    sc_convert(input->type, sc_const_at(input->data, row * width, sc_type_bytes(input->type)), SC_F64, x, n * width, 0);
    memset(scores, 0, count * sizeof *scores);
    memset(voted, 0, count * sizeof *voted);
    for (int t = 0; t < trees->n_trees; t++) {
        for (int64_t r = 0; r < n; r++) {
            const struct sc_tree_node *leaf = find_leaf(trees, trees->roots[t], x + r * width);
            vote(trees, leaf, scores + r * trees->n_targets, voted + r * trees->n_targets);
        }
    }
    for (size_t i = 0; i < count && trees->sum == SC_TREE_AVERAGE; i++) {
        scores[i] /= (double)trees->n_trees;
    }
}

size_t sc_trees_bytes(const struct sc_trees *trees, int64_t width)
{
    const size_t targets = (size_t)trees->n_targets, rows = SC_TREE_ROWS;
    return sc_room_round(rows * ((size_t)width + targets) * sizeof(double) + rows * targets * sizeof(bool));
}

double *sc_trees_scores(
    const struct sc_trees *trees, const struct sc_tensor *input, int64_t width, int64_t row, int64_t n, void *memory)
{
    double *x = memory;
    double *scores = x + SC_TREE_ROWS * width;
    run_rows(trees, input, row, n, x, scores, (bool *)(scores + SC_TREE_ROWS * trees->n_targets));
    return scores;
}
