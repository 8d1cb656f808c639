/* SPDX-License-Identifier: Apache-2.0
 * DeformConv: a convolution whose pixels are taken from points that lie off the grid. For each position of the output the
 * points become a column of numbers, which each output channel weighs. In double, rounded once. */
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/nn/sample_point.h"
#include "ops/nn/window.h"
#include "tensor/convert.h"

#define PART_PRODUCTS 65536

struct params {
    struct sc_window_params window;
    int64_t group, offset_group;
};

struct job {
    const struct params *p;
    const struct sc_tensor *x, *offset, *bias, *mask, *y;
    struct sc_window w;
    const double *weights; /* [oC, C / group, K] */
    double *columns; /* [C, K] for each worker */
    int64_t n_channels, n_entries, plane, n_positions, per_part; /* K, pixels of the input, of the output */
};

static enum sc_status params_deform(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "group", 1, &p->group));
    SC_TRY(sc_node_int(node, "offset_group", 1, &p->offset_group));
    if (p->group < 1 || p->offset_group < 1 || p->offset_group > INT32_MAX) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "there are %lld groups and %lld offset groups, want 1 or more",
            (long long)p->group, (long long)p->offset_group);
    }
    return sc_window_read(graph, node, &p->window);
}

static enum sc_status check_groups(const struct sc_infer *infer, const struct sc_fact *x, const struct sc_fact *w)
{
    const struct params *p = infer->params;
    const int64_t C = x->dims[1], oC = w->dims[0];
    if (C >= 0 && (C % p->group != 0 || C % p->offset_group != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "%lld channels cannot be in %lld groups and %lld offset groups", (long long)C, (long long)p->group,
            (long long)p->offset_group);
    }
    if ((oC >= 0 && oC % p->group != 0) || (C >= 0 && w->dims[1] >= 0 && w->dims[1] != C / p->group)) {
        char have[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "W has shape %s, which %lld channels in %lld "
            "groups do not fit",
            sc_dims_text(w->rank, w->dims, have, sizeof have), (long long)C, (long long)p->group);
    }
    return sc_infer_want(infer, 3, "B", 1, &w->dims[0]);
}

/* offset and mask: [N, offset groups * K (* axes), ...] */
static enum sc_status check_offsets(const struct sc_infer *infer, const struct sc_window *w)
{
    const struct params *p = infer->params;
    int64_t want[SC_MAX_RANK] = {infer->in[0]->dims[0], p->offset_group};
    for (int i = 0; i < w->axes; i++) {
        want[2 + i] = w->out[i];
        SC_TRY(sc_dim_multiply(infer, want[1], w->kernel[i], &want[1]));
    }
    SC_TRY(sc_infer_want(infer, 4, "mask", w->axes + 2, want));
    SC_TRY(sc_dim_multiply(infer, want[1], w->axes, &want[1]));
    return sc_infer_want(infer, 2, "offset", w->axes + 2, want);
}

static enum sc_status infer_deform(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *x = infer->in[0], *weights = infer->in[1];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    if (x->rank < 0 || weights->rank < 0) {
        return SC_OK;
    }
    const int axes = x->rank - 2;
    if (axes < 1 || weights->rank != x->rank || !sc_sampling_fits(SC_SAMPLE_LINEAR, axes)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "X has rank %d and W rank %d, want equal ones of 3 "
            "to 12",
            x->rank, weights->rank);
    }
    SC_TRY(check_groups(infer, x, weights));
    struct sc_window w;
    SC_TRY(sc_window_find(infer->graph, infer->node, &p->window, axes, x->dims + 2, weights->dims + 2, &w));
    SC_TRY(check_offsets(infer, &w));
    int64_t dims[SC_MAX_RANK] = {x->dims[0], weights->dims[0]};
    memcpy(dims + 2, w.out, (size_t)axes * sizeof *dims);
    if (out) {
        sc_fact_tensor(out, x->type, x->rank, dims);
    }
    return SC_OK;
}

/* Point k of the kernel at a position: its own place, moved by the offsets. */
static void find_point(const struct job *job, int64_t batch, int64_t og, int64_t position, int64_t k, double *point)
{
    const struct sc_window *w = &job->w;
    int64_t entry = k, rest = position;
    for (int a = w->axes - 1; a >= 0; a--) {
        const int64_t row = ((batch * job->p->offset_group + og) * job->n_entries + k) * w->axes + a;
        point[a] = (double)(rest % w->out[a] * w->stride[a] - w->begin[a] + entry % w->kernel[a] * w->dilation[a]) +
            sc_number_at(job->offset, row * job->n_positions + position);
        rest /= w->out[a];
        entry /= w->kernel[a];
    }
}

static void fill_column(const struct job *job, int64_t batch, int64_t position, double *column)
{
    const struct sc_sampling sampling = {SC_SAMPLE_LINEAR, SC_SAMPLE_ZEROS, true, job->w.axes, job->w.in};
    const int64_t channels = job->n_channels / job->p->offset_group;
    struct sc_taps taps;
    for (int64_t og = 0; og < job->p->offset_group; og++) {
        for (int64_t k = 0; k < job->n_entries; k++) {
            double point[SC_MAX_AXES], mask = 1.0;
            find_point(job, batch, og, position, k, point);
            sc_sample_point(&sampling, point, &taps);
            if (job->mask) {
                const int64_t row = (batch * job->p->offset_group + og) * job->n_entries + k;
                mask = sc_number_at(job->mask, row * job->n_positions + position);
            }
            for (int64_t c = og * channels; c < (og + 1) * channels; c++) {
                double sum = 0.0;
                for (int t = 0; t < taps.n; t++) {
                    sum +=
                        taps.weight[t] * sc_number_at(job->x, (batch * job->n_channels + c) * job->plane + taps.at[t]);
                }
                column[c * job->n_entries + k] = sum * mask;
            }
        }
    }
}

static void weigh_column(const struct job *job, int64_t batch, int64_t position, const double *column)
{
    const int64_t n_out = job->y->dims[1], n = job->n_channels / job->p->group * job->n_entries;
    for (int64_t o = 0; o < n_out; o++) {
        const double *weights = job->weights + o * n, *x = column + o / (n_out / job->p->group) * n;
        double sum = job->bias ? sc_number_at(job->bias, o) : 0.0;
        for (int64_t i = 0; i < n; i++) {
            sum += weights[i] * x[i];
        }
        sc_number_put(job->y, (batch * n_out + o) * job->n_positions + position, sum);
    }
}

static void deform_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const int64_t n = job->x->dims[0] * job->n_positions;
    const int64_t end = (part + 1) * job->per_part < n ? (part + 1) * job->per_part : n;
    double *column = job->columns + worker * job->n_channels * job->n_entries;
    for (int64_t i = part * job->per_part; i < end; i++) {
        fill_column(job, i / job->n_positions, i % job->n_positions, column);
        weigh_column(job, i / job->n_positions, i % job->n_positions, column);
    }
}

static size_t scratch_deform(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *w = sc_call_in(call, 1);
    const int64_t column = x->dims[1] * sc_dims_product(w->dims, 2, w->rank);
    return sizeof(double) * (size_t)(sc_tensor_count(w) + column * sc_team_size(call->team));
}

static void run_deform(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *w = sc_call_in(call, 1), *y = sc_call_out(call, 0);
    struct job job = {.p = p,
        .x = x,
        .offset = sc_call_in(call, 2),
        .bias = sc_call_in(call, 3),
        .mask = sc_call_in(call, 4),
        .y = y,
        .weights = call->scratch,
        .columns = (double *)call->scratch + sc_tensor_count(w),
        .n_channels = x->dims[1]};
    if (sc_tensor_count(y) == 0 ||
        sc_window_find(call->graph, call->node, &p->window, x->rank - 2, x->dims + 2, w->dims + 2, &job.w) != SC_OK) {
        return; /* the latter cannot be: resolve has found the same window */
    }
    sc_convert(w->type, w->data, SC_F64, call->scratch, sc_tensor_count(w), 0);
    job.n_entries = sc_dims_product(w->dims, 2, w->rank);
    job.plane = sc_dims_product(x->dims, 2, x->rank);
    job.n_positions = sc_dims_product(y->dims, 2, y->rank);
    job.per_part = 1 + PART_PRODUCTS / (sc_tensor_count(w) + 1);
    sc_team_for(call->team, sc_parts(x->dims[0] * job.n_positions, job.per_part), deform_part, &job);
}

static void cost_deform(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_fact *w = infer->in[1], *y = infer->out[0];
    const double bytes = (double)sc_type_bytes(y->type);
    const double weights = (double)sc_dims_product(w->dims, 0, w->rank);
    const double outputs = (double)sc_dims_product(y->dims, 0, y->rank);
    cost->operations = 2.0 * outputs * weights / (double)(w->dims[0] > 0 ? w->dims[0] : 1);
    cost->read_bytes = weights * bytes;
    cost->written_bytes = outputs * bytes;
}

#define ROW(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "DeformConv", .since = (version), .flags = SC_OP_PURE, .params = params_deform,          \
        .infer = infer_deform, .scratch = scratch_deform, .resolve = sc_resolve_by_infer, .run = run_deform,           \
        .cost = cost_deform                                                                                            \
    }

const struct sc_op sc_ops_nn_deform_conv[] = {ROW(19), ROW(22), {.name = NULL}};
