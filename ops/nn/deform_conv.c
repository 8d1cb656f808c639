/* SPDX-License-Identifier: Apache-2.0
 * DeformConv: a convolution whose pixels are taken from points that lie off the grid. At each position of the output
 * the points become a column of numbers, weighed in double, which the weights multiply: chains of fused multiply-adds
 * in f32, after which 16-bit floats are rounded, or sums in f64. A part is a block of positions: panels of sixteen
 * columns. */
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/nn/sample_point.h"
#include "ops/nn/window.h"
#include "ops/room.h"
#include "ops/tile.h"
#include "tensor/convert.h"

enum { PANEL = 16, MOST_PANELS = 3, K_STEP = 256 }; /* rows of so many panels stay in the first cache */

struct params {
    struct sc_window_params window;
    int64_t group, offset_group;
};

struct job {
    const struct params *p;
    const struct sc_kernels *kernels;
    const struct sc_tensor *x, *offset, *bias, *mask, *y;
    struct sc_window w;
    enum sc_type type; /* of products: f64, else f32 */
    int64_t n_channels, n_entries, plane, n_positions; /* entries of the kernel; pixels of the input, of the output */
    int64_t panels, blocks; /* of 16 positions, in a block; blocks of an image */
    void *weights, *shifts; /* [oC, C / group, entries] and, with a bias, [oC], of `type` */
    char *rooms;
    size_t room_bytes, scratch_bytes;
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
    sc_fact_of_type(sc_infer_out(infer, 0), x->type);
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
    sc_window_output(infer, 0, x->type, weights->dims[0], &w);
    return SC_OK;
}

/* What a worker has: the points of one kernel entry at the positions of a block, and the columns of that block. By axis
 * and position: where windows begin, and the offsets of the entry. By position: the mask, and sums of one channel. */
struct room {
    struct sc_points points;
    struct sc_weigher weigher;
    double *starts, *offsets, *mask, *sums;
    void *columns; /* panels of [C, K, 16] */
    float *result; /* of 16-bit floats: [oC / group, positions] */
};

static bool is_narrow(const struct job *job)
{
    return job->x->type == SC_F16 || job->x->type == SC_BF16;
}

/* Returns its bytes; `at` may be NULL when these alone are asked for. */
static size_t open_room(const struct job *job, char *at, struct room *room)
{
    const int64_t n = job->panels * PANEL, maps = job->y->dims[1] / job->p->group;
    struct sc_room left = {at, 0};
    const int taps = sc_sampling_taps(SC_SAMPLE_LINEAR, job->w.axes);
    sc_points_open(&room->points, &left, n, taps);
    room->weigher = (struct sc_weigher){.kernels = job->kernels, .type = job->x->type};
    sc_weigher_open(&room->weigher, &left, n, taps);
    room->starts = sc_room_take(&left, n * job->w.axes, sizeof(double));
    room->offsets = sc_room_take(&left, n * job->w.axes, sizeof(double));
    room->mask = sc_room_take(&left, n, sizeof(double));
    room->sums = sc_room_take(&left, n, sizeof(double));
    room->columns = sc_room_take(&left, n * job->n_channels * job->n_entries, sc_type_bytes(job->type));
    room->result = sc_room_take(&left, is_narrow(job) ? n * maps : 0, sizeof(float));
    return left.used;
}

/* Sizes that follow from dims alone. False where the window does not fit, which infer has refused. */
static bool open_job(const struct sc_call *call, struct job *job)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *w = sc_call_in(call, 1), *y = sc_call_out(call, 0);
    *job = (struct job){.p = p,
        .kernels = call->kernels,
        .x = x,
        .offset = sc_call_in(call, 2),
        .bias = sc_call_in(call, 3),
        .mask = sc_call_in(call, 4),
        .y = y,
        .type = x->type == SC_F64 ? SC_F64 : SC_F32,
        .n_channels = x->dims[1]};
    if (sc_window_find(call->graph, call->node, &p->window, x->rank - 2, x->dims + 2, w->dims + 2, &job->w) != SC_OK) {
        return false;
    }
    job->n_entries = sc_dims_product(w->dims, 2, w->rank);
    job->plane = sc_dims_product(x->dims, 2, x->rank);
    job->n_positions = sc_dims_product(y->dims, 2, y->rank);
    job->panels = sc_parts(job->n_positions, PANEL);
    job->panels = job->panels < MOST_PANELS ? job->panels : MOST_PANELS;
    job->blocks = sc_parts(job->n_positions, job->panels * PANEL);
    struct sc_room room = {call->scratch, 0};
    struct room of_worker;
    job->weights = sc_room_take(&room, sc_tensor_count(w), sc_type_bytes(job->type));
    job->shifts = sc_room_take(&room, y->dims[1], sc_type_bytes(job->type));
    job->rooms = (char *)call->scratch + room.used;
    job->room_bytes = open_room(job, NULL, &of_worker);
    job->scratch_bytes = room.used + job->room_bytes * (size_t)sc_team_size(call->team);
    return true;
}

/* The positions of one part. */
struct spot {
    int64_t batch, first, n;
};

static void find_starts(const struct job *job, const struct spot *spot, double *starts)
{
    const struct sc_window *w = &job->w;
    for (int64_t i = 0; i < spot->n; i++) {
        int64_t rest = spot->first + i;
        for (int a = w->axes - 1; a >= 0; a--) {
            starts[a * spot->n + i] = (double)(rest % w->out[a] * w->stride[a] - w->begin[a]);
            rest /= w->out[a];
        }
    }
}

/* Of a row of offsets or masks, which has a number for each position. */
static void read_row(
    const struct job *job, const struct spot *spot, const struct sc_tensor *from, int64_t row, double *to)
{
    const int64_t at = row * job->n_positions + spot->first;
    sc_convert(from->type, sc_const_at(from->data, at, sc_type_bytes(from->type)), SC_F64, to, spot->n, 0);
}

/* The points of a kernel entry: its own places, moved by the offsets. `row` counts entries over images and offset
 * groups. */
static void find_points(const struct job *job, const struct spot *spot, int64_t row, const struct room *room)
{
    const struct sc_window *w = &job->w;
    const struct sc_sampling sampling = {SC_SAMPLE_LINEAR, SC_SAMPLE_ZEROS, true, w->axes, w->in};
    const int64_t n = spot->n;
    int64_t steps[SC_MAX_AXES], rest = row % job->n_entries;
    for (int a = w->axes - 1; a >= 0; a--) {
        steps[a] = rest % w->kernel[a] * w->dilation[a];
        rest /= w->kernel[a];
        read_row(job, spot, job->offset, row * w->axes + a, room->offsets + a * n);
    }
    for (int64_t i = 0; i < n; i++) {
        double point[SC_MAX_AXES];
        for (int a = 0; a < w->axes; a++) {
            point[a] = room->starts[a * n + i] + (double)steps[a] + room->offsets[a * n + i];
        }
        sc_points_set(&room->points, i, &sampling, point);
    }
}

/* Row `row` of the columns: numbers times the mask, and zeros to the end of the last panel. */
static void put_row(const struct job *job, int64_t row, int64_t n, const struct room *room)
{
    const int64_t depth = job->n_channels * job->n_entries;
    for (int64_t from = 0; from < n; from += PANEL) {
        const int64_t count = n - from < PANEL ? n - from : PANEL, at = from * depth + row * PANEL;
        double numbers[PANEL] = {0.0};
        for (int64_t j = 0; j < count; j++) {
            numbers[j] = room->sums[from + j] * (job->mask ? room->mask[from + j] : 1.0);
        }
        sc_convert(SC_F64, numbers, job->type, sc_at(room->columns, at, sc_type_bytes(job->type)), PANEL, 0);
    }
}

static void fill_columns(const struct job *job, const struct spot *spot, const struct room *room)
{
    const int64_t channels = job->n_channels / job->p->offset_group;
    find_starts(job, spot, room->starts);
    for (int64_t i = 0; i < job->p->offset_group * job->n_entries; i++) {
        const int64_t og = i / job->n_entries, k = i % job->n_entries;
        const int64_t row = spot->batch * job->p->offset_group * job->n_entries + i;
        find_points(job, spot, row, room);
        if (job->mask) {
            read_row(job, spot, job->mask, row, room->mask);
        }
        for (int64_t c = og * channels; c < (og + 1) * channels; c++) {
            const int64_t at = (spot->batch * job->n_channels + c) * job->plane;
            const void *x = sc_const_at(job->x->data, at, sc_type_bytes(job->x->type));
            sc_points_weigh(&room->points, 0, spot->n, &room->weigher, x, room->sums);
            put_row(job, c * job->n_entries + k, spot->n, room);
        }
    }
}

/* n positions of all maps of a group, in chains of fused multiply-adds. */
static void weigh_f32(const struct job *job, const struct spot *spot, int64_t group, const struct room *room)
{
    const int64_t n_out = job->y->dims[1], maps = n_out / job->p->group, map = group * maps;
    const int64_t depth = job->n_channels / job->p->group * job->n_entries;
    const int64_t to = (spot->batch * n_out + map) * job->n_positions + spot->first;
    const bool narrow = is_narrow(job);
    struct sc_gemm_tile tile = {.m = maps,
        .panels = sc_parts(spot->n, PANEL),
        .a_stride = depth,
        .panel_stride = depth * job->p->group * PANEL,
        .c = narrow ? room->result : (float *)job->y->data + to,
        .c_stride = narrow ? spot->n : job->n_positions,
        .n = spot->n};
    for (int64_t k = 0; k == 0 || k < depth; k += K_STEP) {
        tile.k = depth - k < K_STEP ? depth - k : K_STEP;
        tile.a = (const float *)job->weights + map * depth + k;
        tile.b = (const float *)room->columns + (group * depth + k) * PANEL;
        tile.accumulate = k > 0;
        tile.bias = job->bias && k + tile.k >= depth ? (const float *)job->shifts + map : NULL;
        job->kernels->gemm_tile(&tile);
    }
    for (int64_t m = 0; m < maps && narrow; m++) {
        void *y = sc_at(job->y->data, to + m * job->n_positions, sc_type_bytes(job->y->type));
        sc_round_to(job->kernels, job->y->type, room->result + m * spot->n, y, spot->n);
    }
}

/* Half a panel: its sums stay in registers. */
static void sum_columns(const double *weights, const double *x, int64_t depth, double bias, double *sums)
{
    double a[PANEL / 2];
    for (int j = 0; j < PANEL / 2; j++) {
        a[j] = bias;
    }
    for (int64_t i = 0; i < depth; i++, x += PANEL) {
        const double weight = weights[i];
        for (int j = 0; j < PANEL / 2; j++) {
            a[j] += weight * x[j];
        }
    }
    memcpy(sums, a, sizeof a);
}

static void weigh_f64(const struct job *job, const struct spot *spot, int64_t group, const struct room *room)
{
    const int64_t n_out = job->y->dims[1], maps = n_out / job->p->group;
    const int64_t depth = job->n_channels / job->p->group * job->n_entries;
    for (int64_t map = group * maps; map < (group + 1) * maps; map++) {
        const double *weights = (const double *)job->weights + map * depth;
        double *y = (double *)job->y->data + (spot->batch * n_out + map) * job->n_positions + spot->first;
        for (int64_t from = 0; from < spot->n; from += PANEL) {
            const double *x = (const double *)room->columns + (from * job->p->group + group * PANEL) * depth;
            double sums[PANEL];
            const double bias = job->bias ? ((const double *)job->shifts)[map] : 0.0;
            sum_columns(weights, x, depth, bias, sums);
            sum_columns(weights, x + PANEL / 2, depth, bias, sums + PANEL / 2);
            const int64_t left = spot->n - from;
            memcpy(y + from, sums, (size_t)(left < PANEL ? left : PANEL) * sizeof *sums);
        }
    }
}

static void deform_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    struct spot spot = {.batch = part / job->blocks, .first = part % job->blocks * job->panels * PANEL};
    const int64_t left = job->n_positions - spot.first;
    spot.n = left < job->panels * PANEL ? left : job->panels * PANEL;
    struct room room;
    open_room(job, job->rooms + (size_t)worker * job->room_bytes, &room);
    fill_columns(job, &spot, &room);
    for (int64_t group = 0; group < job->p->group; group++) {
        (job->type == SC_F64 ? weigh_f64 : weigh_f32)(job, &spot, group, &room);
    }
}

static size_t scratch_deform(const struct sc_call *call)
{
    struct job job;
    return open_job(call, &job) ? job.scratch_bytes : 0;
}

static void run_deform(const struct sc_call *call)
{
    struct job job;
    if (!open_job(call, &job) || sc_tensor_count(job.y) == 0) {
        return;
    }
    const struct sc_tensor *w = sc_call_in(call, 1);
    sc_convert(w->type, w->data, job.type, job.weights, sc_tensor_count(w), 0);
    if (job.bias) {
        sc_convert(job.bias->type, job.bias->data, job.type, job.shifts, sc_tensor_count(job.bias), 0);
    }
    sc_team_for(call->team, job.x->dims[0] * job.blocks, deform_part, &job);
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
