/* SPDX-License-Identifier: Apache-2.0
 * Normalisations whose scale belongs to a channel: BatchNormalization, InstanceNormalization, GroupNormalization. All
 * are y = (x - mean) * inverse * scale + bias over spans of one channel; they differ in where mean and inverse come
 * from. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { TILE = 4096 }; /* elements that are widened at a time */

struct params {
    float epsilon, momentum;
    int64_t groups; /* GroupNormalization; 0: one group per channel */
    bool group_scale; /* GroupNormalization-18: scale and bias have one entry per group */
    bool spatial; /* false: BatchNormalization-7 and older with statistics per activation */
    bool training;
};

static enum sc_status params_instance(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->spatial = true;
    return sc_node_float(node, "epsilon", 1e-5F, &p->epsilon);
}

static enum sc_status params_group(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(params_instance(graph, node, arena, params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "num_groups", 0, &p->groups));
    p->group_scale = node->version < 21;
    return p->groups >= 1
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "num_groups is %lld, want 1 or more", (long long)p->groups);
}

/* Old versions train when they have more outputs than inference needs; they are read by exporters' habits, which leave
 * is_test alone in models for inference. */
static enum sc_status params_batch(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(params_instance(graph, node, arena, params));
    struct params *p = *params;
    int64_t training, spatial, is_test;
    SC_TRY(sc_node_float(node, "momentum", 0.9F, &p->momentum));
    SC_TRY(sc_node_int(node, "training_mode", 0, &training));
    SC_TRY(sc_node_int(node, "spatial", 1, &spatial));
    SC_TRY(sc_node_int(node, "is_test", 0, &is_test));
    p->spatial = spatial != 0;
    p->training = node->version >= 14 ? training != 0 : node->n_out > 1 && !is_test;
    return SC_OK;
}

/* X as [batch, channels, span]. */
struct view {
    int64_t batch, channels, span;
};

static struct view view_of(const struct sc_tensor *x, bool spatial)
{
    const int64_t batch = x->dims[0];
    const int64_t channels = x->rank > 1 ? x->dims[1] : 1;
    const int64_t span = sc_dims_product(x->dims, 2, x->rank > 2 ? x->rank : 2);
    return spatial ? (struct view){batch, channels, span} : (struct view){batch, channels * span, 1};
}

static enum sc_status want_entries(const struct sc_infer *infer, int input, int64_t want)
{
    const struct sc_fact *fact = sc_infer_in(infer, input);
    const int64_t n = fact->rank >= 0 ? sc_fact_product(fact, 0, fact->rank) : SC_DIM_UNKNOWN;
    if (n >= 0 && want >= 0 && n != want) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input %d has %lld entries, want %lld", input,
            (long long)n, (long long)want);
    }
    return SC_OK;
}

static enum sc_status infer_channel(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const int vectors = strcmp(infer->node->op, "BatchNormalization") == 0 ? 4 : 2;
    SC_TRY(sc_infer_needs(infer, 1 + vectors));
    const struct sc_fact *x = infer->in[0];
    sc_infer_shape_of(infer, 0, x, x->type);
    for (int i = 1; i < infer->n_out; i++) {
        const struct sc_fact *like = infer->in[3 + (i - 1) % 2]; /* mean, variance; saved mean, saved variance */
        sc_infer_shape_of(infer, i, like, like->type);
    }
    if (x->rank < 0) {
        return SC_OK;
    }
    if (x->rank < 1 || (vectors == 2 && x->rank < 2)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d, want %d or more", x->rank, vectors == 2 ? 2 : 1);
    }
    int64_t channels = x->rank > 1 ? x->dims[1] : 1;
    if (p->groups && channels >= 0 && channels % p->groups != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%lld channels cannot be cut in %lld groups",
            (long long)channels, (long long)p->groups);
    }
    if (!p->spatial) {
        channels = sc_fact_product(x, 1, x->rank);
    }
    for (int i = 1; i <= vectors; i++) {
        SC_TRY(want_entries(infer, i, p->group_scale ? p->groups : channels));
    }
    return SC_OK;
}

static double entry(const struct sc_tensor *t, int64_t i)
{
    double value;
    sc_convert(t->type, sc_const_at(t->data, i, sc_type_bytes(t->type)), SC_F64, &value, 1, 0);
    return value;
}

struct job {
    const struct sc_call *call;
    const struct params *p;
    const struct sc_tensor *x, *y;
    struct view view;
    double *stats; /* BatchNormalization: mean and variance of each channel */
    char *rooms; /* two tiles per worker */
};

static float *room_of(const struct job *job, int worker)
{
    return (float *)(void *)(job->rooms + (size_t)worker * 2 * TILE * sizeof(float));
}

/* Sum of x - shift, or of its squares, over n elements from `at` on. */
static double span_sum(const struct job *job, int64_t at, int64_t n, double shift, bool squares, float *room)
{
    const struct sc_kernels *k = job->call->kernels;
    const size_t bytes = sc_type_bytes(job->x->type);
    double sum = 0.0;
    if (job->x->type == SC_F64) {
        const double *x = (const double *)job->x->data + at;
        for (int64_t i = 0; i < n; i++) {
            sum += squares ? (x[i] - shift) * (x[i] - shift) : x[i];
        }
        return sum;
    }
    for (int64_t done = 0; done < n; done += TILE) {
        const int64_t m = n - done < TILE ? n - done : TILE;
        const float *x = sc_norm_widen(k, job->x->type, sc_const_at(job->x->data, at + done, bytes), room, m);
        sum += (double)(squares ? k->sum_squares(x, (float)shift, m) : k->sum(x, m));
    }
    return sum;
}

struct affine {
    double mean, inverse, scale, bias;
};

static void apply(const struct job *job, int64_t at, int64_t n, const struct affine *f, float *room)
{
    const struct sc_kernels *k = job->call->kernels;
    const size_t bytes = sc_type_bytes(job->x->type);
    if (job->x->type == SC_F64) {
        const double *x = (const double *)job->x->data + at;
        double *y = (double *)job->y->data + at;
        for (int64_t i = 0; i < n; i++) {
            y[i] = (x[i] - f->mean) * f->inverse * f->scale + f->bias;
        }
        return;
    }
    const float scale = (float)f->scale;
    const float bias = (float)f->bias;
    for (int64_t done = 0; done < n; done += TILE) {
        const int64_t m = n - done < TILE ? n - done : TILE;
        float *y = room + TILE;
        const float *x = sc_norm_widen(k, job->x->type, sc_const_at(job->x->data, at + done, bytes), room, m);
        k->scale_shift(x, (float)f->mean, (float)f->inverse, NULL, NULL, y, m);
        k->binary[SC_BINARY_mul](y, 1, &scale, 0, y, m);
        k->binary[SC_BINARY_add](y, 1, &bias, 0, y, m);
        sc_norm_narrow(k, job->x->type, y, sc_at(job->y->data, at + done, bytes), m);
    }
}

/* Instance and group: a part is one group of one batch row. */
static void group_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    float *room = room_of(job, worker);
    const int64_t groups = job->p->groups ? job->p->groups : job->view.channels;
    const int64_t channels = job->view.channels / groups;
    const int64_t n = channels * job->view.span;
    const int64_t first = part % groups * channels;
    struct affine f;
    f.mean = span_sum(job, part * n, n, 0.0, false, room) / (double)n;
    f.inverse = 1.0 / sqrt(span_sum(job, part * n, n, f.mean, true, room) / (double)n + (double)job->p->epsilon);
    for (int64_t c = 0; c < channels; c++) {
        const int64_t at = job->p->group_scale ? part % groups : first + c;
        f.scale = entry(sc_call_in(job->call, 1), at);
        f.bias = entry(sc_call_in(job->call, 2), at);
        apply(job, part * n + c * job->view.span, job->view.span, &f, room);
    }
}

static size_t scratch_channel(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct view view = view_of(sc_call_in(call, 0), p->spatial);
    const size_t stats = sc_room_round((size_t)view.channels * 2 * sizeof(double));
    return stats + 2 * TILE * sizeof(float) * (size_t)sc_team_size(call->team);
}

static struct job open_job(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct job job = {.call = call, .p = p, .x = sc_call_in(call, 0), .y = sc_call_out(call, 0)};
    job.view = view_of(job.x, p->spatial);
    job.stats = call->scratch;
    job.rooms = (char *)call->scratch + sc_room_round((size_t)job.view.channels * 2 * sizeof(double));
    return job;
}

static void run_group(const struct sc_call *call)
{
    struct job job = open_job(call);
    if (sc_tensor_count(job.x) > 0) {
        sc_team_for(call->team, job.view.batch * (job.p->groups ? job.p->groups : job.view.channels), group_part, &job);
    }
}

static void batch_stats_part(void *arg, int64_t channel, int worker)
{
    const struct job *job = arg;
    float *room = room_of(job, worker);
    const struct view *v = &job->view;
    const double n = (double)(v->batch * v->span);
    double sum = 0.0;
    double squares = 0.0;
    for (int64_t b = 0; b < v->batch; b++) {
        sum += span_sum(job, (b * v->channels + channel) * v->span, v->span, 0.0, false, room);
    }
    for (int64_t b = 0; b < v->batch; b++) {
        squares += span_sum(job, (b * v->channels + channel) * v->span, v->span, sum / n, true, room);
    }
    job->stats[2 * channel] = sum / n;
    job->stats[2 * channel + 1] = squares / n;
}

static void batch_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const int64_t c = part % job->view.channels;
    const struct affine f = {.mean = job->stats[2 * c],
        .inverse = 1.0 / sqrt(job->stats[2 * c + 1] + (double)job->p->epsilon),
        .scale = entry(sc_call_in(job->call, 1), c),
        .bias = entry(sc_call_in(job->call, 2), c)};
    apply(job, part * job->view.span, job->view.span, &f, room_of(job, worker));
}

/* Running mean and variance in outputs 1 and 2, those of the batch in 3 and 4. */
static void put_stats(const struct job *job)
{
    for (int o = 1; o < job->call->n_out; o++) {
        const struct sc_tensor *out = sc_call_out(job->call, o);
        const int which = (o - 1) % 2;
        for (int64_t c = 0; out && c < job->view.channels; c++) {
            double value = job->stats[2 * c + which];
            if (o < 3) {
                const double m = (double)job->p->momentum;
                value = entry(sc_call_in(job->call, 3 + which), c) * m + value * (1.0 - m);
            }
            sc_convert(SC_F64, &value, out->type, sc_at(out->data, c, sc_type_bytes(out->type)), 1, 0);
        }
    }
}

static void run_batch(const struct sc_call *call)
{
    struct job job = open_job(call);
    if (job.p->training && sc_tensor_count(job.x) > 0) {
        sc_team_for(call->team, job.view.channels, batch_stats_part, &job);
    } else {
        for (int64_t c = 0; c < job.view.channels; c++) {
            job.stats[2 * c] = entry(sc_call_in(call, 3), c);
            job.stats[2 * c + 1] = entry(sc_call_in(call, 4), c);
        }
    }
    put_stats(&job);
    if (sc_tensor_count(job.x) > 0) {
        sc_team_for(call->team, job.view.batch * job.view.channels, batch_part, &job);
    }
}

#define ROW(op, version, more, params_fn, run_fn)                                                                      \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS | (more),                     \
        .params = params_fn, .infer = infer_channel, .scratch = scratch_channel, .run = run_fn                         \
    }

const struct sc_op sc_ops_nn_channel_norm[] = {
    ROW(InstanceNormalization, 1, 0, params_instance, run_group),
    ROW(InstanceNormalization, 6, 0, params_instance, run_group),
    ROW(InstanceNormalization, 22, 0, params_instance, run_group),
    ROW(GroupNormalization, 18, 0, params_group, run_group),
    ROW(GroupNormalization, 21, 0, params_group, run_group),
    ROW(BatchNormalization, 1, 0, params_batch, run_batch),
    ROW(BatchNormalization, 6, 0, params_batch, run_batch),
    ROW(BatchNormalization, 7, 0, params_batch, run_batch),
    ROW(BatchNormalization, 9, 0, params_batch, run_batch),
    ROW(BatchNormalization, 14, SC_OP_ROW_MIXING, params_batch, run_batch),
    ROW(BatchNormalization, 15, SC_OP_ROW_MIXING, params_batch, run_batch),
    {.name = NULL},
};
