/* SPDX-License-Identifier: Apache-2.0
 * TreeEnsembleClassifier and TreeEnsembleRegressor: nodes are told by the ids of their tree and of themselves, and
 * leaves have any number of votes. */
#include <stdlib.h>
#include <string.h>

#include "ops/ml/rows.h"
#include "ops/ml/trees.h"
#include "tensor/convert.h"

struct params {
    struct sc_trees trees;
    enum sc_post post;
    bool classifies;
    bool single; /* two classes, and all votes are for the first: they say how much it is the second */
    bool all_positive;
    struct sc_labels labels;
    struct sc_reals base;
};

/* Where a node is, by its ids; and a vote, by those of its leaf. */
struct key {
    int64_t tree, node;
    int index;
};

struct lists {
    int n_nodes, n_votes;
    const int64_t *trees, *ids, *features, *yes, *no, *missing;
    const struct sc_string *modes;
    struct sc_reals splits;
    const int64_t *vote_trees, *vote_nodes, *targets;
    struct sc_reals weights;
    struct key *keys; /* of nodes, sorted */
};

struct job {
    const struct params *p;
    const struct sc_tensor *x, *top, *scores;
    int64_t n, width;
    char *memory;
    size_t worker_bytes;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->tree != b->tree) {
        return a->tree < b->tree ? -1 : 1;
    }
    return a->node < b->node ? -1 : a->node > b->node;
}

/* By ids, then by place in the file. */
static int compare_votes(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    const int order = compare_keys(left, right);
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

static int find_node(const struct lists *l, int64_t tree, int64_t node)
{
    const struct key wanted = {tree, node, 0};
    const struct key *found = bsearch(&wanted, l->keys, (size_t)l->n_nodes, sizeof *l->keys, compare_keys);
    return found ? found->index : -1;
}

static enum sc_status read_ints(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, int want, const int64_t **values)
{
    int n;
    SC_TRY(sc_node_ints(node, name, &n, values));
    n = n < 0 ? 0 : n;
    return n == want ? SC_OK : sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has %d entries, want %d", name, n, want);
}

static enum sc_status read_nodes(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, struct lists *l)
{
    SC_TRY(sc_node_ints(node, "nodes_nodeids", &l->n_nodes, &l->ids));
    l->n_nodes = l->n_nodes < 0 ? 0 : l->n_nodes;
    SC_TRY(read_ints(graph, node, "nodes_treeids", l->n_nodes, &l->trees));
    SC_TRY(read_ints(graph, node, "nodes_featureids", l->n_nodes, &l->features));
    SC_TRY(read_ints(graph, node, "nodes_truenodeids", l->n_nodes, &l->yes));
    SC_TRY(read_ints(graph, node, "nodes_falsenodeids", l->n_nodes, &l->no));
    const struct sc_attribute *missing = sc_node_attribute(node, "nodes_missing_value_tracks_true");
    if (missing && missing->n > 0) {
        SC_TRY(read_ints(graph, node, "nodes_missing_value_tracks_true", l->n_nodes, &l->missing));
    }
    const struct sc_attribute *modes = sc_node_attribute(node, "nodes_modes");
    SC_TRY(sc_reals_read(graph, node, "nodes_values", arena, &l->splits));
    if (!modes || modes->n != l->n_nodes || l->splits.n != l->n_nodes || l->n_nodes == 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d nodes, %d modes and %lld values, want as many of each",
            l->n_nodes, modes ? modes->n : 0, (long long)(l->splits.n < 0 ? 0 : l->splits.n));
    }
    l->modes = modes->u.strings;
    l->keys = sc_arena_array(arena, (size_t)l->n_nodes, sizeof *l->keys);
    if (!l->keys) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < l->n_nodes; i++) {
        l->keys[i] = (struct key){l->trees[i], l->ids[i], i};
    }
    qsort(l->keys, (size_t)l->n_nodes, sizeof *l->keys, compare_keys);
    for (int i = 1; i < l->n_nodes; i++) {
        if (compare_keys(&l->keys[i - 1], &l->keys[i]) == 0) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "tree %lld has two nodes %lld", (long long)l->keys[i].tree,
                (long long)l->keys[i].node);
        }
    }
    return SC_OK;
}

static enum sc_status read_votes(const struct sc_graph *graph, const struct sc_node *node, const struct params *p,
    struct sc_arena *arena, struct lists *l)
{
    const bool classes = p->classifies;
    SC_TRY(sc_node_ints(node, classes ? "class_ids" : "target_ids", &l->n_votes, &l->targets));
    l->n_votes = l->n_votes < 0 ? 0 : l->n_votes;
    SC_TRY(read_ints(graph, node, classes ? "class_treeids" : "target_treeids", l->n_votes, &l->vote_trees));
    SC_TRY(read_ints(graph, node, classes ? "class_nodeids" : "target_nodeids", l->n_votes, &l->vote_nodes));
    SC_TRY(sc_reals_read(graph, node, classes ? "class_weights" : "target_weights", arena, &l->weights));
    return l->weights.n == l->n_votes || (l->n_votes == 0 && l->weights.n < 0)
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "has %lld weights for %d votes", (long long)l->weights.n, l->n_votes);
}

static enum sc_status read_mode(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_string text, enum sc_tree_mode *mode)
{
    static const struct {
        const char *name;
        enum sc_tree_mode mode;
    } modes[] = {{"BRANCH_LEQ", SC_TREE_LEQ}, {"BRANCH_LT", SC_TREE_LT}, {"BRANCH_GTE", SC_TREE_GTE},
        {"BRANCH_GT", SC_TREE_GT}, {"BRANCH_EQ", SC_TREE_EQ}, {"BRANCH_NEQ", SC_TREE_NEQ}, {"LEAF", SC_TREE_LEAF}};
    for (int i = 0; i < SC_LENGTH(modes); i++) {
        if (strlen(modes[i].name) == text.bytes && memcmp(modes[i].name, text.data, text.bytes) == 0) {
            *mode = modes[i].mode;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "nodes_modes has the entry '%.*s'", (int)text.bytes, text.data);
}

/* Votes in the order of their leaves, which learn which are theirs. */
static enum sc_status sort_votes(const struct sc_graph *graph, const struct sc_node *node, const struct lists *l,
    struct sc_arena *arena, struct sc_tree_source *sources, struct sc_tree_vote *votes)
{
    struct key *order = sc_arena_array(arena, (size_t)l->n_votes, sizeof *order);
    if (!order) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < l->n_votes; v++) {
        order[v] = (struct key){l->vote_trees[v], l->vote_nodes[v], v};
    }
    qsort(order, (size_t)l->n_votes, sizeof *order, compare_votes);
    for (int v = 0; v < l->n_votes; v++) {
        const int leaf = find_node(l, order[v].tree, order[v].node);
        if (leaf < 0 || sources[leaf].mode != SC_TREE_LEAF) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "a vote is of node %lld of tree %lld, which is no leaf",
                (long long)order[v].node, (long long)order[v].tree);
        }
        sources[leaf].first = sources[leaf].n ? sources[leaf].first : v;
        sources[leaf].n++;
        votes[v] = (struct sc_tree_vote){l->targets[order[v].index], l->weights.values[order[v].index]};
    }
    return SC_OK;
}

/* Nodes and, by the ids of their trees, the ones that no other leads to. */
static enum sc_status make_sources(const struct sc_graph *graph, const struct sc_node *node, const struct lists *l,
    struct sc_arena *arena, struct sc_tree_source *sources, int64_t *roots, int *n_roots)
{
    bool *led = sc_arena_array(arena, (size_t)l->n_nodes, sizeof *led);
    if (!led) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < l->n_nodes; i++) {
        struct sc_tree_source *s = &sources[i];
        *s = (struct sc_tree_source){.missing = l->missing && l->missing[i],
            .feature = l->features[i],
            .split = l->splits.values[i],
            .yes = find_node(l, l->trees[i], l->yes[i]),
            .no = find_node(l, l->trees[i], l->no[i])};
        SC_TRY(read_mode(graph, node, l->modes[i], &s->mode));
        if (s->mode != SC_TREE_LEAF && s->yes >= 0 && s->no >= 0) {
            led[s->yes] = led[s->no] = true;
        }
    }
    *n_roots = 0;
    for (int k = 0; k < l->n_nodes; k++) {
        const int i = l->keys[k].index;
        if (!led[i] && *n_roots && l->trees[roots[*n_roots - 1]] == l->trees[i]) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "tree %lld has two roots, nodes %lld and %lld",
                (long long)l->trees[i], (long long)l->ids[roots[*n_roots - 1]], (long long)l->ids[i]);
        }
        if (!led[i]) {
            roots[(*n_roots)++] = i;
        }
    }
    return *n_roots ? SC_OK : sc_node_fail(graph, node, SC_BAD_MODEL, "has no tree with a root");
}

static enum sc_status read_targets(const struct sc_graph *graph, const struct sc_node *node, struct params *p)
{
    static const char *const sums[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    const char *sum;
    if (p->classifies) {
        p->trees.sum = SC_TREE_SUM;
        SC_TRY(sc_labels_read(graph, node, "classlabels_int64s", "classlabels_strings", &p->labels));
        p->trees.n_targets = p->labels.n;
        return SC_OK;
    }
    SC_TRY(sc_node_int(node, "n_targets", 1, &p->trees.n_targets));
    SC_TRY(sc_node_text(node, "aggregate_function", "SUM", &sum));
    if (p->trees.n_targets < 1 || p->trees.n_targets > INT32_MAX) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "n_targets is %lld, want 1 or more", (long long)p->trees.n_targets);
    }
    for (int i = SC_TREE_AVERAGE; i <= SC_TREE_MAX; i++) {
        if (strcmp(sum, sums[i]) == 0) {
            p->trees.sum = (enum sc_tree_sum)i;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "aggregate_function is '%s', want AVERAGE, SUM, MIN or MAX", sum);
}

static enum sc_status find_single(
    const struct sc_graph *graph, const struct sc_node *node, const struct lists *l, struct params *p)
{
    p->single = p->classifies && p->labels.n == 2 && l->n_votes > 0;
    p->all_positive = true;
    for (int v = 0; v < l->n_votes; v++) {
        p->single &= l->targets[v] == 0;
        p->all_positive &= l->weights.values[v] >= 0.0;
    }
    if (p->base.n > 0 && p->base.n != p->trees.n_targets && !(p->single && p->base.n == 1)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %lld base values for %lld scores", (long long)p->base.n,
            (long long)p->trees.n_targets);
    }
    return SC_OK;
}

static enum sc_status params_classic(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    struct lists l = {0};
    int n_roots;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->classifies = strcmp(node->op, "TreeEnsembleClassifier") == 0;
    SC_TRY(sc_post_read(graph, node, &p->post));
    SC_TRY(read_targets(graph, node, p));
    SC_TRY(sc_reals_read(graph, node, "base_values", arena, &p->base));
    SC_TRY(read_nodes(graph, node, arena, &l));
    SC_TRY(read_votes(graph, node, p, arena, &l));
    SC_TRY(find_single(graph, node, &l, p));
    struct sc_tree_source *sources = sc_arena_array(arena, (size_t)l.n_nodes, sizeof *sources);
    struct sc_tree_vote *votes = sc_arena_array(arena, (size_t)l.n_votes, sizeof *votes);
    int64_t *roots = sc_arena_array(arena, (size_t)l.n_nodes, sizeof *roots);
    if (!sources || !votes || !roots) {
        return SC_NO_MEMORY;
    }
    p->trees.votes = votes;
    SC_TRY(make_sources(graph, node, &l, arena, sources, roots, &n_roots));
    SC_TRY(sort_votes(graph, node, &l, arena, sources, votes));
    return sc_trees_build(graph, node, arena, l.n_nodes, sources, n_roots, roots, &p->trees);
}

static enum sc_status infer_classic(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_scores_infer(infer, p->classifies ? &p->labels : NULL, -1, p->trees.n_targets));
    const struct sc_fact *x = infer->in[0];
    const int64_t width = x->rank > 0 ? x->dims[x->rank - 1] : SC_DIM_UNKNOWN;
    if (width >= 0 && width < p->trees.n_features) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "X has %lld features, but a node looks at number %lld", (long long)width,
            (long long)p->trees.n_features - 1);
    }
    return SC_OK;
}

/* The class; scores become what the second output has. */
static int64_t finish_single(const struct params *p, double *scores)
{
    const double base = p->base.n > 0 ? p->base.values[p->base.n - 1] : 0.0;
    const double score = scores[0] + base;
    const bool second = score > (p->all_positive ? 0.5 : 0.0);
    const bool share = p->post == SC_POST_PROBIT || (p->all_positive && p->post == SC_POST_NONE);
    scores[0] = share ? 1.0 - score : -score;
    scores[1] = score;
    sc_post_apply(p->post, scores, 2);
    return second;
}

static int64_t finish_row(const struct params *p, double *scores)
{
    if (p->single) {
        return finish_single(p, scores);
    }
    for (int64_t t = 0; t < p->base.n; t++) {
        scores[t] += p->base.values[t];
    }
    const int64_t top = sc_scores_top(scores, p->trees.n_targets);
    sc_post_apply(p->post, scores, p->trees.n_targets);
    return top;
}

static void classic_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct params *p = job->p;
    const int64_t row = part * SC_TREE_ROWS, targets = p->trees.n_targets;
    const int64_t n = job->n - row < SC_TREE_ROWS ? job->n - row : SC_TREE_ROWS;
    double *scores =
        sc_trees_scores(&p->trees, job->x, job->width, row, n, job->memory + (size_t)worker * job->worker_bytes);
    for (int64_t r = 0; r < n; r++) {
        const int64_t top = finish_row(p, scores + r * targets);
        if (job->top) {
            sc_labels_put(&p->labels, top, job->top, row + r);
        }
    }
    if (job->scores) {
        sc_convert(SC_F64, scores, SC_F32, (float *)job->scores->data + row * targets, n * targets, 0);
    }
}

static size_t scratch_classic(const struct sc_call *call)
{
    const struct params *p = call->params;
    int64_t width;
    sc_scores_rows(sc_call_in(call, 0), &width);
    return sc_trees_bytes(&p->trees, width) * (size_t)sc_team_size(call->team);
}

static void run_classic(const struct sc_call *call)
{
    struct job job = {.p = call->params, .x = sc_call_in(call, 0), .memory = call->scratch};
    job.n = sc_scores_rows(job.x, &job.width);
    job.top = job.p->classifies ? sc_call_out(call, 0) : NULL;
    job.scores = sc_call_out(call, job.p->classifies ? 1 : 0);
    job.worker_bytes = sc_trees_bytes(&job.p->trees, job.width);
    if (job.n > 0) {
        sc_team_for(call->team, sc_parts(job.n, SC_TREE_ROWS), classic_part, &job);
    }
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .name = (op), .since = (version), .flags = SC_OP_PURE, .params = params_classic,       \
        .infer = infer_classic, .scratch = scratch_classic, .run = run_classic                                         \
    }

const struct sc_op sc_ops_ml_tree_classic[] = {
    ROW("TreeEnsembleClassifier", 1),
    ROW("TreeEnsembleClassifier", 3),
    ROW("TreeEnsembleClassifier", 5),
    ROW("TreeEnsembleRegressor", 1),
    ROW("TreeEnsembleRegressor", 3),
    ROW("TreeEnsembleRegressor", 5),
    {.name = NULL},
};
