/* SPDX-License-Identifier: Apache-2.0
 * TreeEnsemble-5: branching nodes and leaves in lists of their own. */
#include <math.h>

#include "ops/ml/rows.h"
#include "ops/ml/trees.h"
#include "tensor/convert.h"

struct params {
    struct sc_trees trees;
    enum sc_post post;
};

/* The attributes, before they are trees. */
struct lists {
    int n_nodes, n_leaves;
    const int64_t *features, *yes, *no, *yes_leaf, *no_leaf, *missing, *targets;
    struct sc_reals modes, splits, weights, members;
    int n_roots;
    const int64_t *roots;
};

struct job {
    const struct params *p;
    const struct sc_tensor *x, *y;
    int64_t n, width;
    char *memory; /* of each worker */
    size_t worker_bytes;
};

static enum sc_status read_ints(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, int want, const int64_t **values)
{
    int n;
    SC_TRY(sc_node_ints(node, name, &n, values));
    return n == want ? SC_OK : sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has %d entries, want %d", name, n, want);
}

static enum sc_status read_lists(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, struct lists *l)
{
    SC_TRY(sc_node_ints(node, "nodes_featureids", &l->n_nodes, &l->features));
    SC_TRY(sc_node_ints(node, "leaf_targetids", &l->n_leaves, &l->targets));
    SC_TRY(sc_node_ints(node, "tree_roots", &l->n_roots, &l->roots));
    SC_TRY(read_ints(graph, node, "nodes_truenodeids", l->n_nodes, &l->yes));
    SC_TRY(read_ints(graph, node, "nodes_falsenodeids", l->n_nodes, &l->no));
    SC_TRY(read_ints(graph, node, "nodes_trueleafs", l->n_nodes, &l->yes_leaf));
    SC_TRY(read_ints(graph, node, "nodes_falseleafs", l->n_nodes, &l->no_leaf));
    if (sc_node_attribute(node, "nodes_missing_value_tracks_true")) {
        SC_TRY(read_ints(graph, node, "nodes_missing_value_tracks_true", l->n_nodes, &l->missing));
    }
    SC_TRY(sc_reals_of_tensor(graph, node, "nodes_modes", arena, &l->modes));
    SC_TRY(sc_reals_of_tensor(graph, node, "nodes_splits", arena, &l->splits));
    SC_TRY(sc_reals_of_tensor(graph, node, "leaf_weights", arena, &l->weights));
    SC_TRY(sc_reals_of_tensor(graph, node, "membership_values", arena, &l->members));
    if (l->modes.n != l->n_nodes || l->splits.n != l->n_nodes || l->weights.n != l->n_leaves) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "nodes_modes, nodes_splits or leaf_weights have another length than there are nodes or leaves");
    }
    return SC_OK;
}

/* The next set of members, up to a NaN or the end. */
static enum sc_status next_set(const struct sc_graph *graph, const struct sc_node *node, const struct lists *l,
    int64_t *at, struct sc_tree_source *s)
{
    if (*at >= l->members.n) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "membership_values has fewer sets than nodes_modes has BRANCH_MEMBER");
    }
    s->first = (int)*at;
    while (*at < l->members.n && !isnan(l->members.values[*at])) {
        (*at)++;
    }
    s->n = (int)*at - s->first;
    (*at)++;
    return SC_OK;
}

/* Leaves follow the branching nodes. */
static int source_of(const struct lists *l, int64_t id, bool leaf)
{
    const bool fits = id >= 0 && id < (leaf ? l->n_leaves : l->n_nodes);
    return fits ? (int)id + (leaf ? l->n_nodes : 0) : -1;
}

static enum sc_status make_sources(const struct sc_graph *graph, const struct sc_node *node, const struct lists *l,
    struct sc_tree_source *sources, struct sc_tree_vote *votes)
{
    int64_t member = 0;
    for (int i = 0; i < l->n_nodes; i++) {
        struct sc_tree_source *s = &sources[i];
        if (!(l->modes.values[i] >= SC_TREE_LEQ && l->modes.values[i] <= SC_TREE_MEMBER)) {
            return sc_node_fail(
                graph, node, SC_BAD_MODEL, "nodes_modes has the entry %g, want 0 to 6", l->modes.values[i]);
        }
        *s = (struct sc_tree_source){.mode = (enum sc_tree_mode)l->modes.values[i],
            .missing = l->missing && l->missing[i],
            .feature = l->features[i],
            .split = l->splits.values[i],
            .yes = source_of(l, l->yes[i], l->yes_leaf[i] != 0),
            .no = source_of(l, l->no[i], l->no_leaf[i] != 0)};
        if (s->mode == SC_TREE_MEMBER) {
            SC_TRY(next_set(graph, node, l, &member, s));
        }
    }
    for (int i = 0; i < l->n_leaves; i++) {
        votes[i] = (struct sc_tree_vote){l->targets[i], l->weights.values[i]};
        sources[l->n_nodes + i] = (struct sc_tree_source){.mode = SC_TREE_LEAF, .first = i, .n = 1};
    }
    return SC_OK;
}

static enum sc_status params_trees(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    struct lists l = {0};
    int64_t post, sum;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "post_transform", 0, &post));
    SC_TRY(sc_node_int(node, "aggregate_function", SC_TREE_SUM, &sum));
    SC_TRY(sc_node_int(node, "n_targets", 1, &p->trees.n_targets));
    if (post < SC_POST_NONE || post > SC_POST_PROBIT || sum < SC_TREE_AVERAGE || sum > SC_TREE_MAX ||
        p->trees.n_targets < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "post_transform is %lld, aggregate_function %lld and n_targets %lld, want 0 to 4, 0 to 3 and 1 or more",
            (long long)post, (long long)sum, (long long)p->trees.n_targets);
    }
    p->post = (enum sc_post)post;
    p->trees.sum = (enum sc_tree_sum)sum;
    SC_TRY(read_lists(graph, node, arena, &l));
    struct sc_tree_source *sources = sc_arena_array(arena, (size_t)(l.n_nodes + l.n_leaves), sizeof *sources);
    struct sc_tree_vote *votes = sc_arena_array(arena, (size_t)l.n_leaves, sizeof *votes);
    if (!sources || !votes) {
        return SC_NO_MEMORY;
    }
    p->trees.votes = votes;
    p->trees.members = l.members.values;
    for (int64_t t = 0; t < l.n_roots; t++) {
        if (l.roots[t] < 0 || l.roots[t] >= l.n_nodes) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "tree_roots has the entry %lld, want one in [0, %lld)",
                (long long)l.roots[t], (long long)l.n_nodes);
        }
    }
    SC_TRY(make_sources(graph, node, &l, sources, votes));
    return sc_trees_build(graph, node, arena, l.n_nodes + l.n_leaves, sources, l.n_roots, l.roots, &p->trees);
}

static enum sc_status infer_trees(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    static const int64_t any[2] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    SC_TRY(sc_infer_want(infer, 0, "X", 2, any));
    if (x->rank == 2 && x->dims[1] >= 0 && x->dims[1] < p->trees.n_features) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "X has %lld features, but a node looks at number %lld", (long long)x->dims[1],
            (long long)p->trees.n_features - 1);
    }
    const int64_t dims[2] = {x->rank == 2 ? x->dims[0] : SC_DIM_UNKNOWN, p->trees.n_targets};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], x->type, 2, dims);
    }
    return SC_OK;
}

static void trees_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct params *p = job->p;
    const int64_t row = part * SC_TREE_ROWS, targets = p->trees.n_targets;
    const int64_t n = job->n - row < SC_TREE_ROWS ? job->n - row : SC_TREE_ROWS;
    double *scores =
        sc_trees_scores(&p->trees, job->x, job->width, row, n, job->memory + (size_t)worker * job->worker_bytes);
    for (int64_t r = 0; r < n; r++) {
        sc_post_apply(p->post, scores + r * targets, targets);
    }
    sc_convert(
        SC_F64, scores, job->y->type, sc_at(job->y->data, row * targets, sc_type_bytes(job->y->type)), n * targets, 0);
}

static size_t scratch_trees(const struct sc_call *call)
{
    const struct params *p = call->params;
    return sc_trees_bytes(&p->trees, sc_call_in(call, 0)->dims[1]) * (size_t)sc_team_size(call->team);
}

static void run_trees(const struct sc_call *call)
{
    struct job job = {.p = call->params, .x = sc_call_in(call, 0), .y = sc_call_out(call, 0), .memory = call->scratch};
    job.n = job.x->dims[0];
    job.width = job.x->dims[1];
    job.worker_bytes = sc_trees_bytes(&job.p->trees, job.width);
    if (job.n > 0) {
        sc_team_for(call->team, sc_parts(job.n, SC_TREE_ROWS), trees_part, &job);
    }
}

const struct sc_op sc_ops_ml_tree_ensemble[] = {
    {.domain = "ai.onnx.ml",
        .name = "TreeEnsemble",
        .since = 5,
        .flags = SC_OP_PURE,
        .params = params_trees,
        .infer = infer_trees,
        .scratch = scratch_trees,
        .run = run_trees},
    {.name = NULL},
};
