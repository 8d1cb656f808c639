/* SPDX-License-Identifier: Apache-2.0
 * Normalisations over chosen axes: LpNormalization, MeanVarianceNormalization, and LRN over neighbouring channels.
 * Groups of elements are walked in place, along memory; sums are in double. */
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

#define TILE 256 /* elements in double at a time */
#define PART_ELEMENTS 16384

/* The axes at the end that are all kept, or all normalised, are one row. Of those before it kept axes number the
 * blocks, normalised ones the rows of a block. */
struct job {
    const struct sc_tensor *x, *y;
    const struct params *p;
    bool lp;
    bool across; /* a row is of one group; else each of its elements is of another */
    int n_kept, n_inner;
    int64_t kept_dims[SC_MAX_RANK], kept_strides[SC_MAX_RANK];
    int64_t inner_dims[SC_MAX_RANK], inner_strides[SC_MAX_RANK];
    int64_t row, rows; /* elements of a row, rows of a block */
    int64_t blocks, pieces; /* a row of many groups is cut in pieces of up to TILE */
    int64_t per_part; /* pieces of blocks */
};

/* A tile of sums, and what becomes of them. Where a row is of one group, they are joined and all the same. */
struct tile {
    double x[TILE], sums[TILE], mean[TILE], norm[TILE];
};

enum measure { SUM, SIZES, SQUARES }; /* of x, |x|, (x - mean)^2 */

static int64_t offset_of(int64_t index, int n, const int64_t *dims, const int64_t *strides)
{
    int64_t offset = 0;
    for (int i = n - 1; i >= 0; i--) {
        offset += index % dims[i] * strides[i];
        index /= dims[i];
    }
    return offset;
}

static int64_t inner_offset(const struct job *job, int64_t row)
{
    return offset_of(row, job->n_inner, job->inner_dims, job->inner_strides);
}

static void load_tile(const struct job *job, int64_t at, int64_t n, double *x)
{
    sc_convert(job->x->type, sc_const_at(job->x->data, at, sc_type_bytes(job->x->type)), SC_F64, x, n, 0);
}

static void add_tile(enum measure measure, struct tile *t, int64_t n)
{
    const double *x = t->x, *mean = t->mean;
    double *sums = t->sums;
    switch (measure) {
    case SUM:
        for (int64_t i = 0; i < n; i++) {
            sums[i] += x[i];
        }
        break;
    case SIZES:
        for (int64_t i = 0; i < n; i++) {
            sums[i] += fabs(x[i]);
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            sums[i] += (x[i] - mean[i]) * (x[i] - mean[i]);
        }
    }
}

/* All n sums become their sum, of which each eighth is added up in order. */
static void join_sums(double *sums, int64_t n)
{
    enum { LANES = 8 };
    double lanes[LANES] = {0.0}, sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        lanes[i % LANES] += sums[i];
    }
    for (int i = 0; i < LANES; i++) {
        sum += lanes[i];
    }
    for (int64_t i = 0; i < n; i++) {
        sums[i] = sum;
    }
}

/* Over the piece, of n elements a row, that begins at `at`. */
static void measure_piece(const struct job *job, int64_t at, int64_t n, enum measure measure, struct tile *t)
{
    const int64_t width = n < TILE ? n : TILE;
    memset(t->sums, 0, (size_t)width * sizeof *t->sums);
    for (int64_t r = 0; r < job->rows; r++) {
        const int64_t row = at + inner_offset(job, r);
        for (int64_t i = 0; i < n; i += TILE) {
            const int64_t m = n - i < TILE ? n - i : TILE;
            load_tile(job, row + i, m, t->x);
            add_tile(measure, t, m);
        }
    }
    if (job->across) {
        join_sums(t->sums, width);
    }
}

static void write_piece(const struct job *job, int64_t at, int64_t n, struct tile *t)
{
    const size_t bytes = sc_type_bytes(job->y->type);
    double *x = t->x;
    for (int64_t r = 0; r < job->rows; r++) {
        const int64_t row = at + inner_offset(job, r);
        for (int64_t i = 0; i < n; i += TILE) {
            const int64_t m = n - i < TILE ? n - i : TILE;
            load_tile(job, row + i, m, x);
            for (int64_t k = 0; k < m; k++) {
                x[k] = (x[k] - t->mean[k]) / t->norm[k];
            }
            sc_convert(SC_F64, x, job->y->type, sc_at(job->y->data, row + i, bytes), m, 0);
        }
    }
}

static void norm_piece(const struct job *job, int64_t at, int64_t n, struct tile *t)
{
    const int64_t width = n < TILE ? n : TILE;
    const double count = (double)(job->rows * (job->across ? n : 1));
    memset(t->mean, 0, (size_t)width * sizeof *t->mean);
    if (!job->lp) {
        measure_piece(job, at, n, SUM, t);
        for (int64_t i = 0; i < width; i++) {
            t->mean[i] = t->sums[i] / count;
        }
    }
    measure_piece(job, at, n, job->lp && job->p->p == 1 ? SIZES : SQUARES, t);
    for (int64_t i = 0; i < width; i++) {
        if (job->lp) {
            t->norm[i] = job->p->p == 1 ? t->sums[i] : sqrt(t->sums[i]);
            t->norm[i] = t->norm[i] != 0.0 ? t->norm[i] : INFINITY; /* a group of zeros stays one */
        } else {
            t->norm[i] = sqrt(t->sums[i] / count) + 1e-9;
        }
    }
    write_piece(job, at, n, t);
}

static void norm_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    struct tile tile;
    const int64_t all = job->blocks * job->pieces;
    const int64_t end = (part + 1) * job->per_part < all ? (part + 1) * job->per_part : all;
    for (int64_t i = part * job->per_part; i < end; i++) {
        const int64_t first = i % job->pieces * TILE;
        const int64_t n = job->across ? job->row : job->row - first < TILE ? job->row - first : TILE;
        norm_piece(job, offset_of(i / job->pieces, job->n_kept, job->kept_dims, job->kept_strides) + first, n, &tile);
    }
}

static void run_axis_norm(const struct sc_call *call)
{
    struct job job = {.x = sc_call_in(call, 0),
        .y = sc_call_out(call, 0),
        .p = call->params,
        .lp = strcmp(call->node->op, "LpNormalization") == 0,
        .row = 1,
        .rows = 1,
        .blocks = 1};
    const struct sc_infer infer = {.graph = call->graph, .node = call->node, .params = call->params};
    uint32_t mask = 0;
    int last = job.x->rank;
    if (axes_of(&infer, last, &mask) != SC_OK || sc_tensor_count(job.x) == 0) {
        return; /* infer has refused it, or nothing to do */
    }
    job.across = last > 0 && mask >> (last - 1) & 1;
    while (last > 0 && (mask >> (last - 1) & 1) == job.across) {
        job.row *= job.x->dims[--last];
    }
    for (int i = 0; i < last; i++) {
        if (mask >> i & 1) {
            job.inner_dims[job.n_inner] = job.x->dims[i];
            job.inner_strides[job.n_inner++] = job.x->strides[i];
            job.rows *= job.x->dims[i];
        } else {
            job.kept_dims[job.n_kept] = job.x->dims[i];
            job.kept_strides[job.n_kept++] = job.x->strides[i];
            job.blocks *= job.x->dims[i];
        }
    }
    job.pieces = job.across ? 1 : sc_parts(job.row, TILE);
    job.per_part = 1 + PART_ELEMENTS / (job.rows * (job.across || job.row < TILE ? job.row : TILE));
    sc_team_for(call->team, sc_parts(job.blocks * job.pieces, job.per_part), norm_part, &job);
}

/* Of LRN. */
struct lrn {
    const struct sc_tensor *x, *y;
    const struct params *p;
    int64_t spatial; /* elements of a channel */
};

/* A part is one batch row; sums run over the channels around each. */
static void lrn_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct lrn *job = arg;
    const struct params *p = job->p;
    const int64_t channels = job->x->dims[1];
    const int64_t spatial = job->spatial;
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
    struct lrn job = {.x = sc_call_in(call, 0), .y = sc_call_out(call, 0), .p = call->params};
    job.spatial = sc_dims_product(job.x->dims, 2, job.x->rank);
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
