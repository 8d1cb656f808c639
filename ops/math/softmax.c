/* SPDX-License-Identifier: Apache-2.0
 * Softmax, LogSoftmax and Hardmax. A row is brought to contiguous f32 (f64 stays f64) and a row's result depends on
 * that row alone. Before version 13 all axes from `axis` on are one row; from 13 on, one axis is. */
#include <math.h>
#include <string.h>

#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/types.h"
#include "ops/room.h"

enum kind { KIND_SOFTMAX, KIND_LOG_SOFTMAX, KIND_HARDMAX };

struct params {
    enum kind kind;
    bool flatten;
    int64_t axis;
};

static enum sc_status read_params(const struct sc_node *node, struct sc_arena *arena, enum kind kind, void **params)
{
    struct params *p = sc_arena_alloc(arena, sizeof *p);
    if (!p) {
        return SC_NO_MEMORY;
    }
    p->kind = kind;
    p->flatten = node->version < 13;
    SC_TRY(sc_node_int(node, "axis", p->flatten ? 1 : -1, &p->axis));
    *params = p;
    return SC_OK;
}

static enum sc_status infer_softmax(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const struct sc_fact *in = sc_infer_in(infer, 0);
    if (in && in->rank > 0 && !(p->flatten && p->axis == in->rank)) {
        int axis;
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, in->rank, &axis));
    }
    return sc_infer_same(infer);
}

/* rows of `length` elements `step` apart */
struct job {
    const struct sc_kernels *kernels;
    enum kind kind;
    enum sc_type type;
    int64_t length, step, n_rows, rows_a_part;
    const char *in;
    char *out;
    char *scratch; /* row_bytes for each worker */
    size_t row_bytes;
};

static void shape_of(const struct params *p, const struct sc_tensor *in, struct job *job)
{
    int64_t axis = p->axis < 0 ? p->axis + in->rank : p->axis;
    if (in->rank == 0) {
        axis = 0;
    }
    job->length = p->flatten ? sc_dims_product(in->dims, (int)axis, in->rank) : in->rank ? in->dims[axis] : 1;
    job->step = p->flatten || in->rank == 0 ? 1 : sc_dims_product(in->dims, (int)axis + 1, in->rank);
    job->n_rows = job->length ? sc_tensor_count(in) / job->length : 0;
    job->type = in->type;
    job->row_bytes = sc_room_round((size_t)job->length * (job->type == SC_F64 ? 8 : 4) * 2);
}

static void softmax_f32(const struct job *job, const float *x, float *y)
{
    const struct sc_kernels *kernels = job->kernels;
    const int64_t n = job->length;
    const float most = kernels->max(x, n);
    if (job->kind == KIND_SOFTMAX) {
        const float sum = kernels->exp_sum(x, most, y, n);
        kernels->scale(y, 1.0f / sum, y, n);
        return;
    }
    float tile[SC_TILE], sum = 0;
    for (int64_t from = 0; from < n; from += SC_TILE) { /* y may be x, which is still needed */
        sum += kernels->exp_sum(x + from, most, tile, n - from < SC_TILE ? n - from : SC_TILE);
    }
    const float log_sum = logf(sum);
    kernels->binary[SC_BINARY_sub](x, 1, &most, 0, y, n);
    kernels->binary[SC_BINARY_sub](y, 1, &log_sum, 0, y, n);
}

static void softmax_f64(const struct job *job, const double *x, double *y)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < job->length; i++) {
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    }
    for (int64_t i = 0; i < job->length; i++) {
        sum += exp(x[i] - most);
    }
    for (int64_t i = 0; i < job->length; i++) {
        y[i] = job->kind == KIND_SOFTMAX ? exp(x[i] - most) / sum : x[i] - most - log(sum);
    }
}

/* The first of equals; a NaN counts as the largest. */
static void hardmax_f32(const struct job *job, const float *x, float *y)
{
    const float most = job->kernels->max(x, job->length);
    int64_t best = 0;
    while (best + 1 < job->length && x[best] != most && (x[best] == x[best] || most == most)) {
        best++;
    }
    memset(y, 0, (size_t)job->length * sizeof(*y));
    y[best] = 1;
}

static void hardmax_f64(const struct job *job, const double *x, double *y)
{
    int64_t best = 0;
    for (int64_t i = 1; i < job->length; i++) {
        best = x[i] > x[best] || (x[i] != x[i] && x[best] == x[best]) ? i : best;
    }
    memset(y, 0, (size_t)job->length * sizeof(*y));
    y[best] = 1;
}

static void run_row(const struct job *job, const void *x, void *y)
{
    if (job->type == SC_F64) {
        (job->kind == KIND_HARDMAX ? hardmax_f64 : softmax_f64)(job, x, y);
    } else {
        (job->kind == KIND_HARDMAX ? hardmax_f32 : softmax_f32)(job, x, y);
    }
}

/* Elements `step` apart to neighbours, or back. */
static void copy_strided(size_t width, int64_t n, const char *from, int64_t from_step, char *to, int64_t to_step)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(to, from, width);
        from += from_step * (int64_t)width;
        to += to_step * (int64_t)width;
    }
}

static void softmax_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const size_t width = sc_type_bytes(job->type);
    const bool half = width == 2;
    const int64_t end = (part + 1) * job->rows_a_part < job->n_rows ? (part + 1) * job->rows_a_part : job->n_rows;
    char *wide = job->scratch + (size_t)worker * job->row_bytes;
    char *narrow = wide + (size_t)job->length * (job->type == SC_F64 ? 8 : 4);
    for (int64_t row = part * job->rows_a_part; row < end; row++) {
        const size_t at = (size_t)(row / job->step * job->step * job->length + row % job->step) * width;
        const char *x = job->in + at;
        char *y = job->out + at;
        if (job->step == 1 && !half) {
            run_row(job, x, y);
            continue;
        }
        const char *row_in = x;
        if (job->step != 1) {
            copy_strided(width, job->length, x, job->step, narrow, 1);
            row_in = narrow;
        }
        if (half) {
            sc_widen(job->kernels, job->type, row_in, (float *)(void *)wide, job->length);
            run_row(job, wide, wide);
            sc_round_to(job->kernels, job->type, (const float *)(void *)wide, job->step == 1 ? y : narrow, job->length);
        } else {
            run_row(job, narrow, narrow);
        }
        if (job->step != 1) {
            copy_strided(width, job->length, narrow, 1, y, job->step);
        }
    }
}

static size_t scratch_softmax(const struct sc_call *call)
{
    struct job job;
    shape_of(call->params, sc_call_in(call, 0), &job);
    return job.step == 1 && sc_type_bytes(job.type) > 2 ? 0 : job.row_bytes * (size_t)sc_team_size(call->team);
}

static void run_softmax(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct job job = {.kernels = call->kernels,
        .kind = p->kind,
        .in = in->data,
        .out = sc_call_out(call, 0)->data,
        .scratch = call->scratch};
    shape_of(p, in, &job);
    if (job.n_rows == 0) {
        return;
    }
    const int64_t quarter = SC_BROADCAST_PART / 4; /* an exponential is several cheap operations */
    job.rows_a_part = job.length >= quarter ? 1 : quarter / job.length;
    sc_team_for(call->team, (job.n_rows + job.rows_a_part - 1) / job.rows_a_part, softmax_part, &job);
}

static void cost_softmax(const struct sc_infer *infer, struct sc_cost *cost)
{
    sc_cost_elementwise(infer, 24, cost);
}

#define KIND(name, kind)                                                                                               \
    static enum sc_status params_##name(                                                                               \
        const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)               \
    {                                                                                                                  \
        (void)graph;                                                                                                   \
        return read_params(node, arena, kind, params);                                                                 \
    }
KIND(softmax, KIND_SOFTMAX)
KIND(log_softmax, KIND_LOG_SOFTMAX)
KIND(hardmax, KIND_HARDMAX)
#undef KIND

#define ROW(op, version, kind)                                                                                         \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,                \
        .params = params_##kind, .infer = infer_softmax, .scratch = scratch_softmax, .run = run_softmax,               \
        .cost = cost_softmax                                                                                           \
    }

const struct sc_op sc_ops_math_softmax[] = {
    ROW("Softmax", 1, softmax),
    ROW("Softmax", 11, softmax),
    ROW("Softmax", 13, softmax),
    ROW("LogSoftmax", 1, log_softmax),
    ROW("LogSoftmax", 11, log_softmax),
    ROW("LogSoftmax", 13, log_softmax),
    ROW("Hardmax", 1, hardmax),
    ROW("Hardmax", 11, hardmax),
    ROW("Hardmax", 13, hardmax),
    {.name = NULL},
};
