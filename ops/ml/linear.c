/* SPDX-License-Identifier: Apache-2.0
 * LinearRegressor and LinearClassifier: a row of coefficients for each score. One row for two classes is the score of
 * the second; that of the first is its opposite. In double, rounded once; some rows and some scores go side by side. */
#include <string.h>

#include "ops/ml/rows.h"
#include "ops/ml/scores.h"
#include "ops/room.h"
#include "tensor/convert.h"

#define PART_PRODUCTS 65536
enum { ROWS = SC_DOUBLE_ROWS, COLUMNS = SC_DOUBLE_COLUMNS, TILE = 128 }; /* of X, of scores; features at a time */

struct params {
    bool classifies;
    struct sc_labels labels;
    enum sc_post post;
    int64_t n_rows, n_scores, n_features; /* rows of coefficients */
    const double *coefficients; /* [n_rows / COLUMNS, rounded up][n_features][COLUMNS], unlike the attribute */
    const float *intercepts; /* may be NULL */
};

/* Of a worker. A score is one chain of products over features in order. */
struct room {
    double x[ROWS][TILE];
    double scores[]; /* [ROWS][n_scores] */
};

struct job {
    const struct sc_kernels *kernels;
    const struct params *p;
    const struct sc_tensor *x, *top, *scores;
    int64_t n, per_part; /* rows; of a part a multiple of ROWS */
    char *rooms;
};

static enum sc_status lay_out(struct sc_arena *arena, const float *given, struct params *p)
{
    const int64_t n = p->n_features, panels = (p->n_rows + COLUMNS - 1) / COLUMNS;
    double *coefficients = sc_arena_array(arena, (size_t)(panels * n), COLUMNS * sizeof(*coefficients));
    if (!coefficients) {
        return SC_NO_MEMORY;
    }
    for (int64_t r = 0; r < panels * COLUMNS; r++) {
        for (int64_t f = 0; f < n; f++) {
            coefficients[(r / COLUMNS * n + f) * COLUMNS + r % COLUMNS] =
                r < p->n_rows ? (double)given[r * n + f] : 0.0;
        }
    }
    p->coefficients = coefficients;
    return SC_OK;
}

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
    if (p->n_scores < 1 || n < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %lld scores and %d coefficients, want some",
            (long long)p->n_scores, n < 0 ? 0 : n);
    }
    if (n % p->n_rows != 0 || (n_intercepts > 0 && n_intercepts != p->n_rows)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d coefficients and %d intercepts for %lld scores", n,
            n_intercepts < 0 ? 0 : n_intercepts, (long long)p->n_scores);
    }
    p->n_features = n / p->n_rows;
    return lay_out(arena, given, p);
}

static enum sc_status infer_linear(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    return sc_scores_infer(infer, p->classifies ? &p->labels : NULL, p->n_features, p->n_scores);
}

static void read_features(
    const struct job *job, int64_t row, int64_t n_rows, int64_t first, int64_t n, struct room *room)
{
    const size_t bytes = sc_type_bytes(job->x->type);
    for (int64_t i = 0; i < ROWS; i++) {
        if (i < n_rows) {
            const int64_t at = (row + i) * job->p->n_features + first;
            sc_convert(job->x->type, sc_const_at(job->x->data, at, bytes), SC_F64, room->x[i], n, 0);
        } else {
            memset(room->x[i], 0, (size_t)n * sizeof(double));
        }
    }
}

static void score_rows(const struct job *job, int64_t row, int64_t n_rows, struct room *room)
{
    const struct params *p = job->p;
    for (int64_t first = 0; first < p->n_features; first += TILE) {
        const int64_t n = p->n_features - first < TILE ? p->n_features - first : TILE;
        read_features(job, row, n_rows, first, n, room);
        for (int64_t r = 0; r < p->n_rows; r += COLUMNS) {
            const int64_t columns = p->n_rows - r < COLUMNS ? p->n_rows - r : COLUMNS;
            double sums[ROWS][COLUMNS] = {{0.0}};
            for (int64_t i = 0; i < ROWS * columns; i++) {
                const int64_t k = i % columns;
                const double start = p->intercepts ? (double)p->intercepts[r + k] : 0.0;
                sums[i / columns][k] = first == 0 ? start : room->scores[i / columns * p->n_scores + r + k];
            }
            job->kernels->double_tile(
                room->x[0], TILE, p->coefficients + r * p->n_features + first * COLUMNS, n, sums[0]);
            for (int64_t i = 0; i < ROWS; i++) {
                memcpy(room->scores + i * p->n_scores + r, sums[i], (size_t)columns * sizeof(double));
            }
        }
    }
}

static void put_row(const struct job *job, int64_t row, double *scores)
{
    const struct params *p = job->p;
    if (p->n_rows < p->n_scores) {
        scores[1] = scores[0];
        scores[0] = -scores[1];
    }
    sc_labels_put(&p->labels, sc_scores_top(scores, p->n_scores), job->top, row);
    if (job->scores) {
        const size_t bytes = sc_type_bytes(job->scores->type);
        sc_post_apply(p->post, scores, p->n_scores);
        sc_convert(
            SC_F64, scores, job->scores->type, sc_at(job->scores->data, row * p->n_scores, bytes), p->n_scores, 0);
    }
}

static size_t room_bytes(const struct params *p)
{
    return sc_room_round(sizeof(struct room) + ROWS * (size_t)p->n_scores * sizeof(double));
}

static void linear_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const int64_t end = (part + 1) * job->per_part < job->n ? (part + 1) * job->per_part : job->n;
    struct room *room = (void *)(job->rooms + (size_t)worker * room_bytes(job->p));
    for (int64_t row = part * job->per_part; row < end; row += ROWS) {
        const int64_t n_rows = end - row < ROWS ? end - row : ROWS;
        score_rows(job, row, n_rows, room);
        for (int64_t i = 0; i < n_rows; i++) {
            put_row(job, row + i, room->scores + i * job->p->n_scores);
        }
    }
}

static size_t scratch_linear(const struct sc_call *call)
{
    return room_bytes(call->params) * (size_t)sc_team_size(call->team);
}

static void run_linear(const struct sc_call *call)
{
    const struct params *p = call->params;
    int64_t n_features;
    struct job job = {.kernels = call->kernels, .p = p, .x = sc_call_in(call, 0), .rooms = call->scratch};
    job.n = sc_scores_rows(job.x, &n_features);
    job.top = p->classifies ? sc_call_out(call, 0) : NULL;
    job.scores = sc_call_out(call, p->classifies ? 1 : 0);
    job.per_part = (1 + PART_PRODUCTS / (ROWS * p->n_rows * p->n_features)) * ROWS;
    sc_team_for(call->team, sc_parts(job.n, job.per_part), linear_part, &job);
}

#define ROW(op)                                                                                                        \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .name = (op), .since = 1, .flags = SC_OP_PURE, .params = params_linear,                \
        .infer = infer_linear, .scratch = scratch_linear, .run = run_linear                                            \
    }

const struct sc_op sc_ops_ml_linear[] = {ROW("LinearClassifier"), ROW("LinearRegressor"), {.name = NULL}};
