/* SPDX-License-Identifier: Apache-2.0
 * Normalisations over chosen axes: LpNormalization, MeanVarianceNormalization, and LRN over neighbouring channels. Each
 * group of elements is walked in place by strides; sums are in double. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

struct params {
    int64_t axis, p; /* LpNormalization */
    struct sc_ints axes; /* MeanVarianceNormalization */
    float alpha, beta, bias; /* LRN */
    int64_t size;
};

static const int64_t default_axes[3] = {0, 2, 3};

static enum sc_status params_axis_norm(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "axis", -1, &p->axis));
    SC_TRY(sc_node_int(node, "p", 2, &p->p));
    SC_TRY(sc_node_ints(node, "axes", &p->axes.n, &p->axes.values));
    SC_TRY(sc_node_float(node, "alpha", 0.0001F, &p->alpha));
    SC_TRY(sc_node_float(node, "beta", 0.75F, &p->beta));
    SC_TRY(sc_node_float(node, "bias", 1.0F, &p->bias));
    SC_TRY(sc_node_int(node, "size", 1, &p->size));
    if ((p->p != 1 && p->p != 2) || p->size < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "p is %lld and size %lld, want a p of 1 or 2 and a size of 1 or more", (long long)p->p, (long long)p->size);
    }
    if (p->axes.n < 0) {
        p->axes = (struct sc_ints){3, default_axes};
    }
    return SC_OK;
}

/* The normalised axes of a rank. */
static enum sc_status axes_of(const struct sc_infer *infer, int rank, uint32_t *mask)
{
    const struct params *p = infer->params;
    const struct sc_ints one = {1, &p->axis};
    return sc_axes_mask(infer, strcmp(infer->node->op, "LpNormalization") == 0 ? one : p->axes, rank, mask);
}

static enum sc_status infer_axis_norm(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    sc_infer_shape_of(infer, 0, x, x->type);
    if (x->rank < 0) {
        return SC_OK;
    }
    uint32_t mask;
    if (strcmp(infer->node->op, "LRN") != 0) {
        return axes_of(infer, x->rank, &mask);
    }
    return x->rank >= 2
        ? SC_OK
        : sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d, want 2 or more", x->rank);
}

static double load(const struct sc_tensor *t, int64_t i)
{
    double value;
    if (t->type == SC_F32) {
        return (double)((const float *)t->data)[i];
    }
    sc_convert(t->type, sc_const_at(t->data, i, sc_type_bytes(t->type)), SC_F64, &value, 1, 0);
    return value;
}

static void store(const struct sc_tensor *t, int64_t i, double value)
{
    if (t->type == SC_F32) {
        ((float *)t->data)[i] = (float)value;
    } else {
        sc_convert(SC_F64, &value, t->type, sc_at(t->data, i, sc_type_bytes(t->type)), 1, 0);
    }
}

/* Kept axes number the groups, normalised ones the elements of a group. */
struct job {
    const struct sc_tensor *x, *y;
    const struct params *p;
    bool lp;
    int n_kept, n_inner;
    int64_t kept_dims[SC_MAX_RANK], kept_strides[SC_MAX_RANK];
    int64_t inner_dims[SC_MAX_RANK], inner_strides[SC_MAX_RANK];
    int64_t count; /* elements of a group */
};

static int64_t offset_of(int64_t index, int n, const int64_t *dims, const int64_t *strides)
{
    int64_t offset = 0;
    for (int i = n - 1; i >= 0; i--) {
        offset += index % dims[i] * strides[i];
        index /= dims[i];
    }
    return offset;
}

static void group_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t at = offset_of(part, job->n_kept, job->kept_dims, job->kept_strides);
    double sum = 0.0;
    double squares = 0.0;
    for (int64_t i = 0; i < job->count; i++) {
        const double x = load(job->x, at + offset_of(i, job->n_inner, job->inner_dims, job->inner_strides));
        sum += job->lp ? fabs(x) : x;
        squares += x * x;
    }
    const double n = (double)job->count;
    const double mean = job->lp ? 0.0 : sum / n;
    const double norm = !job->lp ? sqrt(squares / n - mean * mean) + 1e-9 : job->p->p == 1 ? sum : sqrt(squares);
    for (int64_t i = 0; i < job->count; i++) {
        const int64_t to = at + offset_of(i, job->n_inner, job->inner_dims, job->inner_strides);
        store(job->y, to, norm != 0.0 ? (load(job->x, to) - mean) / norm : 0.0);
    }
}

static void run_axis_norm(const struct sc_call *call)
{
    struct job job = {.x = sc_call_in(call, 0),
        .y = sc_call_out(call, 0),
        .p = call->params,
        .lp = strcmp(call->node->op, "LpNormalization") == 0,
        .count = 1};
    const struct sc_infer infer = {.graph = call->graph, .node = call->node, .params = call->params};
    uint32_t mask = 0;
    if (axes_of(&infer, job.x->rank, &mask) != SC_OK || sc_tensor_count(job.x) == 0) {
        return; /* infer has refused it, or nothing to do */
    }
    int64_t groups = 1;
    for (int i = 0; i < job.x->rank; i++) {
        if (mask >> i & 1) {
            job.inner_dims[job.n_inner] = job.x->dims[i];
            job.inner_strides[job.n_inner++] = job.x->strides[i];
            job.count *= job.x->dims[i];
        } else {
            job.kept_dims[job.n_kept] = job.x->dims[i];
            job.kept_strides[job.n_kept++] = job.x->strides[i];
            groups *= job.x->dims[i];
        }
    }
    sc_team_for(call->team, groups, group_part, &job);
}

/* A part is one batch row; sums run over the channels around each. */
static void lrn_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct params *p = job->p;
    const int64_t channels = job->x->dims[1];
    const int64_t spatial = job->count;
    const int64_t before = (p->size - 1) / 2;
    const int64_t after = p->size - 1 - before;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t first = c > before ? c - before : 0;
        const int64_t last = after < channels - 1 - c ? c + after : channels - 1;
        for (int64_t s = 0; s < spatial; s++) {
            double sum = 0.0;
            for (int64_t d = first; d <= last; d++) {
                const double x = load(job->x, (part * channels + d) * spatial + s);
                sum += x * x;
            }
            const int64_t at = (part * channels + c) * spatial + s;
            const double base = (double)p->bias + (double)p->alpha / (double)p->size * sum;
            store(job->y, at, load(job->x, at) / pow(base, (double)p->beta));
        }
    }
}

static void run_lrn(const struct sc_call *call)
{
    struct job job = {.x = sc_call_in(call, 0), .y = sc_call_out(call, 0), .p = call->params};
    job.count = sc_dims_product(job.x->dims, 2, job.x->rank);
    if (sc_tensor_count(job.x) > 0) {
        sc_team_for(call->team, job.x->dims[0], lrn_part, &job);
    }
}

#define ROW(op, version, run_fn)                                                                                       \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE, .params = params_axis_norm,                \
        .infer = infer_axis_norm, .run = run_fn                                                                        \
    }

const struct sc_op sc_ops_nn_axis_norm[] = {
    ROW(LpNormalization, 1, run_axis_norm),
    ROW(LpNormalization, 22, run_axis_norm),
    ROW(MeanVarianceNormalization, 9, run_axis_norm),
    ROW(MeanVarianceNormalization, 13, run_axis_norm),
    ROW(LRN, 1, run_lrn),
    ROW(LRN, 13, run_lrn),
    {.name = NULL},
};
