/* SPDX-License-Identifier: Apache-2.0
 * NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: what the class of each sample is worth. Samples are the
 * positions of [N,C,d...] without C; their losses are added one after the other. Sums are in double, exponentials of
 * f32 and narrower scores are those of the kernels. */
#include <math.h>
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/shape/shape.h"
#include "ops/tile.h"
#include "tensor/convert.h"

#define TILE 256 /* classes read at a time */
#define PART_ELEMENTS 16384 /* classes of all samples of a part */

enum reduction { MEAN, SUM, NONE };

struct params {
    bool softmax; /* scores are no logarithms of probabilities yet */
    bool ignores;
    int64_t ignored;
    enum reduction reduction;
};

struct job {
    const struct sc_kernels *kernels;
    const struct params *p;
    const struct sc_tensor *scores, *target, *weight, *log_prob;
    int64_t n_classes, inner, n_samples, per_part;
    double *losses, *weights; /* by sample */
};

static enum sc_status params_loss(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    static const char *const names[] = {"mean", "sum", "none"};
    const char *reduction;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->softmax = strcmp(node->op, "SoftmaxCrossEntropyLoss") == 0;
    p->ignores = sc_node_attribute(node, "ignore_index") != NULL;
    SC_TRY(sc_node_int(node, "ignore_index", 0, &p->ignored));
    SC_TRY(sc_node_text(node, "reduction", "mean", &reduction));
    for (int r = MEAN; r <= NONE; r++) {
        if (strcmp(reduction, names[r]) == 0) {
            p->reduction = (enum reduction)r;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "reduction is '%s', want mean, sum or none", reduction);
}

static enum sc_status infer_loss(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *scores = infer->in[0];
    sc_infer_shape_of(infer, 1, scores, scores->type);
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, scores->type);
    if (p->reduction != NONE && out) {
        sc_fact_tensor(out, scores->type, 0, NULL);
    }
    if (scores->rank < 0) {
        return SC_OK;
    }
    if (scores->rank < 2) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "scores have rank %d, want 2 or more", scores->rank);
    }
    int64_t dims[SC_MAX_RANK] = {scores->dims[0]};
    memcpy(dims + 1, scores->dims + 2, (size_t)(scores->rank - 2) * sizeof *dims);
    SC_TRY(sc_infer_want(infer, 1, "target", scores->rank - 1, dims));
    SC_TRY(sc_infer_want(infer, 2, "weight", 1, &scores->dims[1]));
    if (p->reduction == NONE && out) {
        sc_fact_tensor(out, scores->type, scores->rank - 1, dims);
    }
    return SC_OK;
}

static bool is_ignored(const struct params *p, int64_t target)
{
    return p->ignores && target == p->ignored;
}

static enum sc_status resolve_loss(const struct sc_call *call)
{
    const struct params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *scores = sc_call_in(call, 0), *target = sc_call_in(call, 1);
    for (int64_t i = 0; i < sc_tensor_count(target); i++) {
        const int64_t class = sc_index_at(target, i);
        if ((class < 0 || class >= scores->dims[1]) && !is_ignored(p, class)) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "a target is %lld, but there are %lld classes",
                (long long)class, (long long)scores->dims[1]);
        }
    }
    return SC_OK;
}

/* Up to TILE classes of a sample from `class` on, as they are in memory where they lie next to each other, else in
 * room. Returns how many. */
static int64_t find_classes(const struct job *job, int64_t at, int64_t class, void *room, const void **found)
{
    const size_t bytes = sc_type_bytes(job->scores->type);
    const int64_t n = job->n_classes - class < TILE ? job->n_classes - class : TILE;
    *found = job->inner == 1 ? sc_const_at(job->scores->data, at + class, bytes) : room;
    for (int64_t i = 0; job->inner != 1 && i < n; i++) {
        sc_copy_element(
            sc_at(room, i, bytes), sc_const_at(job->scores->data, at + (class + i) * job->inner, bytes), bytes);
    }
    return n;
}

static int64_t read_doubles(const struct job *job, int64_t at, int64_t class, double *x)
{
    double room[TILE];
    const void *found;
    const int64_t n = find_classes(job, at, class, room, &found);
    sc_convert(job->scores->type, found, SC_F64, x, n, 0);
    return n;
}

/* The same for f32, f16 and bf16; *x is room, or the scores themselves. */
static int64_t read_floats(const struct job *job, int64_t at, int64_t class, float *room, const float **x)
{
    float narrow[TILE];
    const void *found;
    if (job->scores->type == SC_F32) {
        const int64_t n = find_classes(job, at, class, room, &found);
        *x = found;
        return n;
    }
    const int64_t n = find_classes(job, at, class, narrow, &found);
    sc_widen(job->kernels, job->scores->type, found, room, n);
    *x = room;
    return n;
}

/* Each eighth is added up in order. */
static double sum_of(const float *y, int64_t n)
{
    enum { LANES = 8 };
    double lanes[LANES] = {0.0}, sum = 0.0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += (double)y[i + k];
        }
    }
    for (; i < n; i++) {
        lanes[i % LANES] += (double)y[i];
    }
    for (int k = 0; k < LANES; k++) {
        sum += lanes[k];
    }
    return sum;
}

/* The logarithm of the sum of exponentials of all classes. The sum is in double, so that a loss near 0 is more than the
 * last place of 1. What is no number makes the sum none, whatever the largest. */
static double log_sum_f32(const struct job *job, int64_t at)
{
    float room[TILE], y[TILE], most = -INFINITY;
    const float *x;
    double sum = 0.0;
    for (int64_t c = 0, n; c < job->n_classes; c += n) {
        n = read_floats(job, at, c, room, &x);
        most = fmaxf(most, job->kernels->max(x, n));
    }
    for (int64_t c = 0, n; c < job->n_classes; c += n) {
        n = read_floats(job, at, c, room, &x);
        (void)job->kernels->exp_sum(x, most, y, n);
        sum += sum_of(y, n);
    }
    return (double)most + log(sum);
}

static double log_sum(const struct job *job, int64_t at)
{
    double x[TILE], most = -INFINITY, sum = 0.0;
    if (job->scores->type != SC_F64) {
        return log_sum_f32(job, at);
    }
    for (int64_t c = 0, n; c < job->n_classes; c += n) {
        n = read_doubles(job, at, c, x);
        for (int64_t i = 0; i < n; i++) {
            most = x[i] > most || isnan(x[i]) ? x[i] : most;
        }
    }
    for (int64_t c = 0, n; c < job->n_classes; c += n) {
        n = read_doubles(job, at, c, x);
        for (int64_t i = 0; i < n; i++) {
            sum += exp(x[i] - most);
        }
    }
    return most + log(sum);
}

static void write_log_prob(const struct job *job, int64_t at, double less)
{
    const enum sc_type type = job->scores->type;
    const size_t bytes = sc_type_bytes(type);
    double x[TILE], y[TILE];
    for (int64_t c = 0, n; c < job->n_classes; c += n) {
        n = read_doubles(job, at, c, x);
        for (int64_t i = 0; i < n; i++) {
            x[i] -= less;
        }
        void *to = job->inner == 1 ? sc_at(job->log_prob->data, at + c, bytes) : y;
        sc_convert(SC_F64, x, type, to, n, 0);
        for (int64_t i = 0; job->inner != 1 && i < n; i++) {
            sc_copy_element(
                sc_at(job->log_prob->data, at + (c + i) * job->inner, bytes), sc_const_at(y, i, bytes), bytes);
        }
    }
}

static void loss_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t end = (part + 1) * job->per_part < job->n_samples ? (part + 1) * job->per_part : job->n_samples;
    for (int64_t s = part * job->per_part; s < end; s++) {
        const int64_t at = s / job->inner * job->n_classes * job->inner + s % job->inner;
        const int64_t class = sc_index_at(job->target, s);
        const bool ignored = is_ignored(job->p, class);
        const double less = job->p->softmax && (!ignored || job->log_prob) ? log_sum(job, at) : 0.0;
        if (job->log_prob) {
            write_log_prob(job, at, less);
        }
        job->weights[s] = ignored ? 0.0 : job->weight ? sc_number_at(job->weight, class) : 1.0;
        job->losses[s] = ignored ? 0.0 : -(sc_number_at(job->scores, at + class * job->inner) - less) * job->weights[s];
    }
}

static int64_t count_samples(const struct sc_call *call)
{
    return sc_tensor_count(sc_call_in(call, 1));
}

static size_t scratch_loss(const struct sc_call *call)
{
    return 2 * sizeof(double) * (size_t)count_samples(call);
}

static void run_loss(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *scores = sc_call_in(call, 0), *out = sc_call_out(call, 0);
    struct job job = {.kernels = call->kernels,
        .p = p,
        .scores = scores,
        .target = sc_call_in(call, 1),
        .weight = sc_call_in(call, 2),
        .log_prob = sc_call_out(call, 1),
        .n_classes = scores->dims[1],
        .inner = sc_dims_product(scores->dims, 2, scores->rank),
        .n_samples = count_samples(call),
        .losses = call->scratch};
    job.weights = job.losses + job.n_samples;
    job.per_part = 1 + PART_ELEMENTS / (job.n_classes + 1);
    if (job.n_samples > 0) {
        sc_team_for(call->team, sc_parts(job.n_samples, job.per_part), loss_part, &job);
    }
    if (!out) {
        return;
    }
    if (p->reduction == NONE) {
        sc_convert(SC_F64, job.losses, out->type, out->data, job.n_samples, 0);
        return;
    }
    double loss = 0.0, weight = 0.0;
    for (int64_t s = 0; s < job.n_samples; s++) {
        loss += job.losses[s];
        weight += job.weights[s];
    }
    loss = p->reduction == MEAN ? loss / weight : loss;
    sc_convert(SC_F64, &loss, out->type, out->data, 1, 0);
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = (op), .since = (version), .flags = SC_OP_PURE, .params = params_loss,                    \
        .infer = infer_loss, .scratch = scratch_loss, .resolve = resolve_loss, .run = run_loss                         \
    }

const struct sc_op sc_ops_nn_loss[] = {
    ROW("NegativeLogLikelihoodLoss", 12),
    ROW("NegativeLogLikelihoodLoss", 13),
    ROW("NegativeLogLikelihoodLoss", 22),
    ROW("SoftmaxCrossEntropyLoss", 12),
    ROW("SoftmaxCrossEntropyLoss", 13),
    {.name = NULL},
};
