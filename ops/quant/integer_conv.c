/* SPDX-License-Identifier: Apache-2.0
 * Convolutions of 8-bit integers as products of weights and windows. The planes of a picture are copied with pads of
 * its zero point, so that every window lies in memory; the windows of a block of positions become panels of columns,
 * which a worker keeps while the next part it gets has the same positions. Where a group is one channel, its windows
 * are read as they lie. */
#include <string.h>

#include "ops/nn/conv.h"
#include "ops/nn/conv_ways.h"
#include "ops/quant/integer.h"
#include "ops/room.h"

enum {
    PANEL = SC_CONV_PANEL,
    MAPS = 64, /* of a block of sums */
    PANELS_BYTES = 1 << 19, /* that a worker should keep */
    FEW_MAPS = 4, /* of a group of one channel, up to which its windows are read as they lie */
    PART_WORK = 20000000, /* multiply-adds of a part */
    SLACK = 64 /* bytes past the planes that kernels may read */
};

size_t sc_integer_conv_packed_bytes(const struct sc_fact *w)
{
    return sc_bytes_rows_size(w->dims[0], sc_dims_product(w->dims, 1, w->rank));
}

static void pack_weights(
    const struct sc_kernels *kernels, struct sc_team *team, const struct sc_tensor *w, void *packed)
{
    sc_bytes_pack_rows(kernels, team, w->type, w->data, w->dims[0], sc_dims_product(w->dims, 1, w->rank), packed);
}

void sc_integer_conv_pack(const struct sc_pack *pack)
{
    pack_weights(pack->prepare->kernels, pack->team, pack->weight, pack->packed);
}

/* Dims of a plane between its pads. */
static void pad_dims(const struct sc_window *w, int64_t *dims)
{
    for (int d = 0; d < w->axes; d++) {
        const int64_t read = (w->out[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
        const int64_t copied = w->begin[d] + w->in[d];
        dims[d] = read > copied ? read : copied;
    }
}

enum sc_status sc_integer_conv_check(const struct sc_infer *infer)
{
    const struct sc_fact *x = infer->in[0], *w = infer->in[1];
    if (!sc_fact_dims_known(x) || !sc_fact_dims_known(w)) {
        return SC_OK;
    }
    struct sc_window window;
    SC_TRY(sc_conv_window(infer, &window));
    int64_t dims[SC_MAX_RANK] = {x->dims[1]};
    pad_dims(&window, dims + 1);
    if (sc_dims_check("X between its pads", SC_I64, window.axes + 1, dims) != SC_OK) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "X between its pads has too many elements");
    }
    return SC_OK;
}

struct job {
    struct sc_conv conv;
    const struct sc_integer *op;
    int64_t padded[SC_MAX_AXES], pitch[SC_MAX_AXES], plane; /* dims, strides and elements of a padded plane */
    int64_t depth, panels, blocks, maps, cuts; /* panels of a block; maps of a part, parts of a block */
    int64_t image;
    bool centred; /* sums of columns are not needed */
    bool taps; /* one channel a group: windows are too small for panels */
    /* rooms */
    const int8_t *weights;
    int64_t *offsets;
    uint8_t *planes;
    char *workers;
    size_t weights_bytes, offsets_bytes, planes_bytes, panels_bytes, worker_bytes, total;
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void cut_work(struct job *job)
{
    const struct sc_conv *c = &job->conv;
    const int64_t depth = job->depth > 0 ? job->depth : 1, maps = c->maps > 0 ? c->maps : 1;
    const int64_t all = sc_parts(c->positions, PANEL), most = SC_INTEGER_COLUMNS / PANEL;
    const int64_t fit = job->taps ? most : clamp(PANELS_BYTES / PANEL / depth, 1, most);
    job->blocks = sc_parts(all, clamp(PART_WORK / PANEL / depth / maps, fit < 6 ? fit : 6, fit));
    job->panels = job->blocks > 0 ? sc_parts(all, job->blocks) : 0;
    job->maps = clamp(PART_WORK / PANEL / depth / (job->panels > 0 ? job->panels : 1) / 8 * 8, 8, maps);
    job->maps = job->taps ? maps : job->maps;
    job->cuts = sc_parts(maps, job->maps);
}

static void open_job(struct job *job, const struct sc_call *call, struct sc_integer *op, const struct sc_tensor *x,
    const struct sc_tensor *w)
{
    memset(job, 0, sizeof(*job));
    sc_conv_open(call, x, w, &job->conv);
    const struct sc_conv *c = &job->conv;
    job->op = op;
    op->K = c->K;
    job->depth = sc_bytes_depth(c->K);
    pad_dims(&c->window, job->padded);
    sc_dense_strides(c->window.axes, job->padded, job->pitch);
    job->plane = sc_dims_product(job->padded, 0, c->window.axes);
    job->taps = c->channels == 1 && c->maps <= FEW_MAPS;
    cut_work(job);
    job->weights_bytes = call->packed ? 0 : sc_bytes_rows_size(w->dims[0], c->K);
    job->offsets_bytes = sc_room_round((size_t)c->K * sizeof(int64_t));
    job->planes_bytes = sc_room_round((size_t)(x->dims[1] * job->plane) + SLACK);
    job->panels_bytes = job->taps ? 0 : sc_room_round((size_t)(job->panels * PANEL * job->depth));
    const size_t sums = (size_t)(job->panels * PANEL) * sizeof(int32_t);
    job->worker_bytes = 64 + job->panels_bytes + sums * (MAPS + 1); /* the held block, its panels and sums of columns */
    job->total = job->weights_bytes + job->offsets_bytes + job->planes_bytes +
        job->worker_bytes * (size_t)sc_team_size(call->team);
    char *at = call->scratch;
    if (at) {
        job->weights = (const int8_t *)(call->packed ? call->packed : at);
        job->offsets = (int64_t *)(void *)(at + job->weights_bytes);
        job->planes = (uint8_t *)at + job->weights_bytes + job->offsets_bytes;
        job->workers = (char *)job->planes + job->planes_bytes;
    }
}

size_t sc_integer_conv_scratch(
    const struct sc_call *call, struct sc_integer *op, const struct sc_tensor *x, const struct sc_tensor *w)
{
    struct job job;
    open_job(&job, call, op, x, w);
    return job.total + sc_integer_bytes(op);
}

/* Where entry k of a window lies from its first one: over channels, then kernel entries in row-major order. */
static void find_offsets(const struct job *job)
{
    const struct sc_conv *c = &job->conv;
    const int64_t window = sc_dims_product(c->window.kernel, 0, c->window.axes);
    for (int64_t k = 0; k < c->K; k++) {
        int64_t rest = k % window;
        job->offsets[k] = k / window * job->plane;
        for (int d = c->window.axes - 1; d >= 0; d--) {
            job->offsets[k] += rest % c->window.kernel[d] * c->window.dilation[d] * job->pitch[d];
            rest /= c->window.kernel[d];
        }
    }
}

/* One plane of the picture between its pads, as B has its bytes. */
static void pad_part(void *arg, int64_t channel, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_conv *c = &job->conv;
    const struct sc_window *w = &c->window;
    const int last = w->axes - 1;
    const uint8_t zero =
        (uint8_t)sc_bytes_zero(c->x->type, true, job->op->columns.zero ? job->op->columns.zero->data : NULL, 0);
    const uint8_t turn = (uint8_t)sc_bytes_zero(c->x->type, true, NULL, 0);
    const uint8_t *from = (const uint8_t *)c->x->data + (job->image * c->x->dims[1] + channel) * c->in_count;
    uint8_t *plane = job->planes + channel * job->plane;
    memset(plane, zero, (size_t)job->plane);
    int64_t at[SC_MAX_AXES] = {0};
    for (int64_t row = 0; row < sc_dims_product(w->in, 0, last); row++) {
        uint8_t *to = plane + w->begin[last];
        for (int d = 0; d < last; d++) {
            to += (at[d] + w->begin[d]) * job->pitch[d];
        }
        c->call->kernels->byte_row(from + row * w->in[last], w->in[last], turn, (int8_t *)to);
        for (int d = last - 1; d >= 0 && ++at[d] == w->in[d]; d--) {
            at[d] = 0;
        }
    }
}

/* A run of positions along the last axis, no longer than n: where its first window begins, and its length. */
static int64_t find_run(const struct job *job, int64_t position, int64_t n, int64_t *from)
{
    const struct sc_window *w = &job->conv.window;
    const int last = w->axes - 1;
    const int64_t left = w->out[last] - position % w->out[last];
    *from = 0;
    for (int d = last; d >= 0; d--) {
        *from += position % w->out[d] * w->stride[d] * job->pitch[d];
        position /= w->out[d];
    }
    return left < n ? left : n;
}

static void find_runs(const struct job *job, int64_t first, int64_t n, struct sc_byte_windows *windows)
{
    windows->n_runs = 0;
    for (int64_t j = 0; j < n;) {
        const int r = windows->n_runs++;
        windows->runs[r].at = (int)j;
        windows->runs[r].n = (int)find_run(job, first + j, n - j, &windows->runs[r].from);
        j += windows->runs[r].n;
    }
}

static const uint8_t *group_planes(const struct job *job, int64_t group)
{
    return job->planes + group * job->conv.channels * job->plane;
}

static int64_t last_stride(const struct job *job)
{
    return job->conv.window.stride[job->conv.window.axes - 1];
}

static void gather(const struct job *job, int64_t group, int64_t first, uint8_t *panels, int32_t *sums)
{
    const struct sc_conv *c = &job->conv;
    struct sc_byte_windows windows = {
        .x = group_planes(job, group), .offsets = job->offsets, .k = c->K, .step = last_stride(job)};
    if (!job->centred) {
        memset(sums, 0, (size_t)(job->panels * PANEL) * sizeof(*sums));
    }
    for (int64_t p = 0; p < job->panels && first + p * PANEL < c->positions; p++) {
        find_runs(job, first + p * PANEL, clamp(c->positions - first - p * PANEL, 0, PANEL), &windows);
        windows.sums = job->centred ? NULL : sums + p * PANEL;
        c->call->kernels->gather_bytes(&windows, panels + p * PANEL * job->depth);
    }
}

static void put_maps(
    const struct job *job, int64_t row, int64_t rows, int64_t first, int64_t n, int32_t *block, const int32_t *columns)
{
    const struct sc_conv *c = &job->conv;
    for (int64_t m = 0; m < rows; m++) {
        const int64_t at = (job->image * c->groups * c->maps + row + m) * c->positions + first;
        const struct sc_integer_row sums = {.row = row + m,
            .n = n,
            .sums = block + m * job->panels * PANEL,
            .column_sums = columns,
            .to = sc_at(c->y->data, at, sc_type_bytes(c->y->type))};
        sc_integer_put(job->op, &sums);
    }
}

/* Sums of n positions under the entries of a row of weights; NULL: all are 1. */
static void sum_taps(const struct job *job, const uint8_t *x, const int8_t *w, int64_t first, int64_t n, int32_t *sums)
{
    struct sc_byte_taps taps = {.offsets = job->offsets, .w = w, .n_taps = job->conv.K, .step = last_stride(job)};
    for (int64_t j = 0; j < n; j += taps.n) {
        int64_t from;
        taps.n = find_run(job, first + j, n - j, &from);
        taps.x = x + from;
        job->op->kernels->byte_taps(&taps, sums + j);
    }
}

static void run_taps(const struct job *job, int64_t group, int64_t first, int64_t n, int32_t *columns, int32_t *block)
{
    const struct sc_conv *c = &job->conv;
    const uint8_t *x = group_planes(job, group);
    if (!job->centred) {
        sum_taps(job, x, NULL, first, n, columns);
    }
    for (int64_t row = group * c->maps; row < (group + 1) * c->maps; row++) {
        sum_taps(job, x, job->weights + row * job->depth, first, n, block);
        put_maps(job, row, 1, first, n, block, columns);
    }
}

static void conv_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_conv *c = &job->conv;
    const int64_t whole = part / job->cuts, first = whole % job->blocks * job->panels * PANEL;
    const int64_t group = whole / job->blocks, map0 = part % job->cuts * job->maps;
    const int64_t n = clamp(c->positions - first, 0, job->panels * PANEL);
    int64_t *held = (int64_t *)(void *)(job->workers + (size_t)worker * job->worker_bytes);
    uint8_t *panels = (uint8_t *)held + 64;
    int32_t *columns = (int32_t *)(void *)(panels + job->panels_bytes), *block = columns + job->panels * PANEL;
    if (job->taps) {
        run_taps(job, group, first, n, columns, block);
        return;
    }
    if (*held != whole) {
        gather(job, group, first, panels, columns);
        *held = whole;
    }
    struct sc_byte_tile tile = {.quads = job->depth / 4,
        .panels = sc_parts(n, PANEL),
        .a_stride = job->depth,
        .b = panels,
        .panel_stride = PANEL * job->depth,
        .c = block,
        .c_stride = job->panels * PANEL};
    const int64_t end = clamp(map0 + job->maps, 0, c->maps);
    for (int64_t map = map0; map < end; map += tile.m) {
        const int64_t row = group * c->maps + map;
        tile.m = clamp(end - map, 0, MAPS);
        tile.a = job->weights + row * job->depth;
        sc_bytes_tile(job->op->kernels, &tile);
        put_maps(job, row, tile.m, first, n, block, columns);
    }
}

void sc_integer_conv_run(
    const struct sc_call *call, struct sc_integer *op, const struct sc_tensor *x, const struct sc_tensor *w)
{
    struct job job;
    open_job(&job, call, op, x, w);
    const struct sc_conv *c = &job.conv;
    if (sc_tensor_count(op->y) == 0) {
        return;
    }
    if (!call->packed) {
        pack_weights(op->kernels, call->team, w, call->scratch);
    }
    op->row_sums = sc_bytes_row_sums(job.weights, w->dims[0], c->K);
    sc_integer_spread(op, (char *)call->scratch + job.total);
    job.centred = sc_integer_rows_are_centred(op);
    find_offsets(&job);
    memset(job.planes + x->dims[1] * job.plane, 0, SLACK);
    for (job.image = 0; job.image < x->dims[0]; job.image++) {
        sc_team_for(call->team, x->dims[1], pad_part, &job);
        for (int worker = 0; worker < sc_team_size(call->team); worker++) {
            *(int64_t *)(void *)(job.workers + (size_t)worker * job.worker_bytes) = -1;
        }
        sc_team_for(call->team, c->groups * job.blocks * job.cuts, conv_part, &job);
    }
}
