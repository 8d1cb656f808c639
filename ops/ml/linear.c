/* SPDX-License-Identifier: Apache-2.0
 * LinearRegressor and LinearClassifier: a row of coefficients for each score. One row for two classes is the score of the
 * second; that of the first is its opposite. In double, rounded once. */
#include <string.h>

#include "ops/ml/rows.h"
#include "ops/ml/scores.h"
#include "tensor/convert.h"

#define PART_PRODUCTS 65536

struct params {
    bool classifies;
    struct sc_labels labels;
    enum sc_post post;
    int64_t n_rows, n_scores, n_features; /* rows of coefficients */
    const double *coefficients; /* [n_features][n_rows], unlike the attribute */
    const float *intercepts; /* may be NULL */
};

struct job {
    const struct params *p;
    const struct sc_tensor *x, *top, *scores;
    int64_t n, per_part;
    double *results; /* of a row for each worker */
};

static enum sc_status params_linear(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    int n, n_intercepts;
    const float *given;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->classifies = strcmp(node->op, "LinearClassifier") == 0;
    SC_TRY(sc_post_read(graph, node, &p->post));
    SC_TRY(sc_node_floats(node, "coefficients", &n, &given));
    SC_TRY(sc_node_floats(node, "intercepts", &n_intercepts, &p->intercepts));
    p->intercepts = n_intercepts > 0 ? p->intercepts : NULL;
    SC_TRY(sc_node_int(node, "targets", 1, &p->n_scores));
    if (p->classifies) {
        SC_TRY(sc_labels_read(graph, node, "classlabels_ints", "classlabels_strings", &p->labels));
        p->n_scores = p->labels.n;
    }
    p->n_rows = p->classifies && p->n_scores == 2 && n_intercepts == 1 ? 1 : p->n_scores;
    if (p->n_rows < 1 || n < 1 || n % p->n_rows != 0 || (n_intercepts > 0 && n_intercepts != p->n_rows)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d coefficients and %d intercepts for %lld scores", n,
            n_intercepts < 0 ? 0 : n_intercepts, (long long)p->n_scores);
    }
    p->n_features = n / p->n_rows;
    double *coefficients = sc_arena_array(arena, (size_t)n, sizeof(*coefficients));
    if (!coefficients) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        coefficients[i % p->n_features * p->n_rows + i / p->n_features] = (double)given[i];
    }
    p->coefficients = coefficients;
    return SC_OK;
}

static enum sc_status infer_linear(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    return sc_scores_infer(infer, p->classifies ? &p->labels : NULL, p->n_features, p->n_scores);
}

static void score_row(const struct job *job, int64_t row, double *scores)
{
    const struct params *p = job->p;
    for (int64_t r = 0; r < p->n_rows; r++) {
        scores[r] = p->intercepts ? (double)p->intercepts[r] : 0.0;
    }
    for (int64_t f = 0; f < p->n_features; f++) {
        const double x = sc_number_at(job->x, row * p->n_features + f), *of_row = p->coefficients + f * p->n_rows;
        for (int64_t r = 0; r < p->n_rows; r++) {
            scores[r] += x * of_row[r];
        }
    }
    if (p->n_rows < p->n_scores) {
        scores[1] = scores[0];
        scores[0] = -scores[1];
    }
}

static void linear_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct params *p = job->p;
    const int64_t end = (part + 1) * job->per_part < job->n ? (part + 1) * job->per_part : job->n;
    double *scores = job->results + worker * p->n_scores;
    for (int64_t row = part * job->per_part; row < end; row++) {
        score_row(job, row, scores);
        sc_labels_put(&p->labels, sc_scores_top(scores, p->n_scores), job->top, row);
        sc_post_apply(p->post, scores, p->n_scores);
        for (int64_t s = 0; s < p->n_scores && job->scores; s++) {
            sc_number_put(job->scores, row * p->n_scores + s, scores[s]);
        }
    }
}

static size_t scratch_linear(const struct sc_call *call)
{
    const struct params *p = call->params;
    return (size_t)p->n_scores * sizeof(double) * (size_t)sc_team_size(call->team);
}

static void run_linear(const struct sc_call *call)
{
    const struct params *p = call->params;
    int64_t n_features;
    struct job job = {.p = p, .x = sc_call_in(call, 0), .results = call->scratch};
    job.n = sc_scores_rows(job.x, &n_features);
    job.top = p->classifies ? sc_call_out(call, 0) : NULL;
    job.scores = sc_call_out(call, p->classifies ? 1 : 0);
    job.per_part = 1 + PART_PRODUCTS / (p->n_rows * p->n_features);
    sc_team_for(call->team, sc_parts(job.n, job.per_part), linear_part, &job);
}

#define ROW(op)                                                                                                        \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .name = (op), .since = 1, .flags = SC_OP_PURE, .params = params_linear,                \
        .infer = infer_linear, .scratch = scratch_linear, .run = run_linear                                            \
    }

const struct sc_op sc_ops_ml_linear[] = {ROW("LinearClassifier"), ROW("LinearRegressor"), {.name = NULL}};
