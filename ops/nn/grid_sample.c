/* SPDX-License-Identifier: Apache-2.0
 * GridSample: pixels of the output are points of the input, between -1 and 1 along each axis, the last axis first.
 * Block by block of points, their taps are found, and then all channels take theirs. */
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/nn/sample_point.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

struct params {
    enum sc_sample_mode mode;
    enum sc_sample_padding padding;
    bool align_corners;
};

enum {
    BLOCK_TAPS = 1 << 14, /* that are found before channels are weighed: they and a plane are in a cache together */
    FIND_POINTS = 256, /* of a part that finds them */
    RUN_TAPS = 1 << 10, /* that are weighed at once */
    PART_TAPS = 1 << 17 /* of a part that weighs, over channels */
};

struct job {
    const struct sc_kernels *kernels;
    const struct sc_tensor *x, *grid, *y;
    struct sc_sampling sampling;
    enum sc_type part_type; /* of the numbers of an element: a complex one has two */
    int n_parts;
    int64_t plane, n_points; /* pixels of the input, and of the output */
    int64_t a_block, a_run, channels; /* points of a block, and weighed at once; channels of a part */
    struct sc_points points; /* of the block at hand: points first to first + n of a picture */
    int64_t picture, first, n;
    char *rooms;
    size_t room_bytes, scratch_bytes;
};

static enum sc_status read_choice(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, const char *const *choices, int *choice)
{
    const char *text;
    SC_TRY(sc_node_text(node, name, choices[0], &text));
    for (*choice = 0; choices[*choice]; (*choice)++) {
        if (strcmp(text, choices[*choice]) == 0) {
            return SC_OK;
        }
    }
    return sc_node_fail(
        graph, node, SC_BAD_MODEL, "%s is '%s', want %s, %s or %s", name, text, choices[0], choices[1], choices[2]);
}

static enum sc_status params_sample(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    static const char *const old_modes[] = {"bilinear", "nearest", "bicubic", NULL};
    static const char *const modes[] = {"linear", "nearest", "cubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    int mode, padding;
    int64_t align_corners;
    SC_TRY(read_choice(graph, node, "mode", node->version < 20 ? old_modes : modes, &mode));
    SC_TRY(read_choice(graph, node, "padding_mode", paddings, &padding));
    SC_TRY(sc_node_int(node, "align_corners", 0, &align_corners));
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    *(struct params *)*params =
        (struct params){(enum sc_sample_mode)mode, (enum sc_sample_padding)padding, align_corners != 0};
    return SC_OK;
}

static enum sc_status check_mode(const struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const struct sc_fact *x = infer->in[0];
    if (x->type == SC_STRING && p->mode != SC_SAMPLE_NEAREST) {
        return sc_node_fail(
            infer->graph, infer->node, SC_UNSUPPORTED, "strings can be taken from the nearest pixel alone");
    }
    if (x->rank >= 0 && (x->rank < 3 || !sc_sampling_fits(p->mode, x->rank - 2))) {
        return sc_node_fail(infer->graph, infer->node, x->rank < 3 ? SC_BAD_INPUT : SC_LIMIT,
            x->rank < 3 ? "X has rank %d, want 3 or more" : "X has rank %d, so that a point is of over 1024 pixels",
            x->rank);
    }
    return SC_OK;
}

static enum sc_status infer_sample(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0], *grid = infer->in[1];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    SC_TRY(check_mode(infer));
    if (x->rank < 0) {
        return SC_OK;
    }
    int64_t want[SC_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        want[d] = SC_DIM_UNKNOWN;
    }
    want[0] = x->dims[0];
    want[x->rank - 1] = x->rank - 2;
    SC_TRY(sc_infer_want(infer, 1, "grid", x->rank, want));
    if (grid->rank < 0) {
        sc_fact_of_rank(out, x->type, x->rank);
        return SC_OK;
    }
    int64_t dims[SC_MAX_RANK] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, grid->dims + 1, (size_t)(x->rank - 2) * sizeof *dims);
    if (out) {
        sc_fact_tensor(out, x->type, x->rank, dims);
    }
    return SC_OK;
}

static enum sc_status resolve_sample(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *x = sc_call_in(call, 0);
    return sc_dims_product(x->dims, 2, x->rank) > 0 || sc_tensor_count(sc_call_in(call, 1)) == 0
        ? SC_OK
        : sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "there are no pixels to sample");
}

/* From -1 .. 1 to pixels, in the precision of the grid, where a point may be half-way between two. */
static double place(const struct job *job, double x, int64_t dim)
{
    if (job->grid->type == SC_F64) {
        return job->sampling.align_corners ? (x + 1.0) / 2.0 * (double)(dim - 1)
                                           : ((x + 1.0) * (double)dim - 1.0) / 2.0;
    }
    const float f = (float)x + 1.0F;
    return (double)(job->sampling.align_corners ? f / 2.0F * (float)(dim - 1) : (f * (float)dim - 1.0F) / 2.0F);
}

/* What a worker has: coordinates of some points, and what one channel makes of some. */
struct room {
    struct sc_weigher weigher;
    double *grid, *sums;
    void *numbers;
};

/* Returns its bytes; `at` may be NULL when these alone are asked for. */
static size_t open_room(const struct job *job, char *at, struct room *room)
{
    struct sc_room left = {at, 0};
    room->weigher = (struct sc_weigher){.kernels = job->kernels, .type = job->part_type};
    sc_weigher_open(&room->weigher, &left, job->a_run, job->points.taps);
    room->grid = sc_room_take(&left, FIND_POINTS * job->sampling.axes, sizeof(double));
    room->sums = sc_room_take(&left, job->a_run, sizeof(double));
    room->numbers = sc_room_take(&left, job->a_run, sizeof(double));
    return left.used;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct job open_job(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    const int taps = sc_sampling_taps(p->mode, x->rank - 2);
    struct job job = {.kernels = call->kernels,
        .x = x,
        .grid = sc_call_in(call, 1),
        .y = y,
        .sampling = {p->mode, p->padding, p->align_corners, x->rank - 2, x->dims + 2},
        .n_parts = x->type == SC_C64 || x->type == SC_C128 ? 2 : 1,
        .plane = sc_dims_product(x->dims, 2, x->rank),
        .n_points = sc_dims_product(y->dims, 2, y->rank)};
    struct sc_room room = {call->scratch, 0};
    struct room of_worker;
    job.part_type = job.n_parts == 1 ? x->type : x->type == SC_C64 ? SC_F32 : SC_F64;
    job.a_block = clamp(BLOCK_TAPS / taps, 1, job.n_points > 0 ? job.n_points : 1);
    job.a_run = clamp(RUN_TAPS / taps, 1, job.a_block);
    job.channels = sc_parts(PART_TAPS, taps * job.a_block);
    sc_points_open(&job.points, &room, job.a_block, taps);
    job.rooms = (char *)call->scratch + room.used;
    job.room_bytes = open_room(&job, NULL, &of_worker);
    job.scratch_bytes = room.used + job.room_bytes * (size_t)sc_team_size(call->team);
    return job;
}

/* The taps of some points of the block. The nearest pixel of a point is -1 where it has none; places of complex
 * elements are those of their first parts. */
static void find_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const int axes = job->sampling.axes;
    const int64_t first = part * FIND_POINTS, n = clamp(job->n - first, 0, FIND_POINTS);
    const int64_t from = (job->picture * job->n_points + job->first + first) * axes;
    const bool nearest = job->sampling.mode == SC_SAMPLE_NEAREST;
    struct room room;
    open_room(job, job->rooms + (size_t)worker * job->room_bytes, &room);
    sc_convert(job->grid->type, sc_const_at(job->grid->data, from, sc_type_bytes(job->grid->type)), SC_F64, room.grid,
        n * axes, 0);
    for (int64_t p = 0; p < n; p++) {
        double point[SC_MAX_RANK];
        for (int a = 0; a < axes; a++) {
            point[a] = place(job, room.grid[p * axes + axes - 1 - a], job->sampling.dims[a]);
        }
        sc_points_set(&job->points, first + p, &job->sampling, point);
        int64_t *at = job->points.at + (first + p) * job->points.taps;
        for (int t = 0; t < job->points.taps && !nearest; t++) {
            at[t] *= job->n_parts;
        }
        if (nearest && job->points.count[first + p] == 0) {
            at[0] = -1;
        }
    }
}

/* Points of the block, of one channel. */
static void weigh_run(const struct job *job, int64_t first, int64_t n, const struct room *room, const void *x, void *y)
{
    const enum sc_type type = job->part_type;
    const size_t bytes = sc_type_bytes(type);
    for (int i = 0; i < job->n_parts; i++) {
        sc_points_weigh(&job->points, first, n, &room->weigher, sc_const_at(x, i, bytes), room->sums);
        sc_convert(SC_F64, room->sums, type, job->n_parts == 1 ? y : room->numbers, n, 0);
        for (int64_t p = 0; p < n && job->n_parts > 1; p++) {
            sc_copy_element(sc_at(y, p * job->n_parts + i, bytes), sc_const_at(room->numbers, p, bytes), bytes);
        }
    }
}

static void sample_part(void *arg, int64_t part, int worker)
{
    static const struct sc_string nothing = {"", 0};
    static const unsigned char zeros[16];
    const struct job *job = arg;
    const size_t bytes = sc_type_bytes(job->x->type);
    const void *outside = job->x->type == SC_STRING ? (const void *)&nothing : zeros;
    const int64_t all = job->x->dims[1], from = part * job->channels, end = clamp(from + job->channels, 0, all);
    struct room room;
    open_room(job, job->rooms + (size_t)worker * job->room_bytes, &room);
    for (int64_t c = job->picture * all + from; c < job->picture * all + end; c++) {
        const void *x = sc_const_at(job->x->data, c * job->plane, bytes);
        void *y = sc_at(job->y->data, c * job->n_points + job->first, bytes);
        if (job->sampling.mode == SC_SAMPLE_NEAREST) {
            sc_gather_places(x, job->points.at, job->n, outside, bytes, y);
            continue;
        }
        for (int64_t p = 0; p < job->n; p += job->a_run) {
            weigh_run(job, p, clamp(job->n - p, 0, job->a_run), &room, x, sc_at(y, p, bytes));
        }
    }
}

static size_t scratch_sample(const struct sc_call *call)
{
    return open_job(call).scratch_bytes;
}

static void run_sample(const struct sc_call *call)
{
    struct job job = open_job(call);
    if (sc_tensor_count(job.y) == 0) {
        return;
    }
    for (job.picture = 0; job.picture < job.x->dims[0]; job.picture++) {
        for (job.first = 0; job.first < job.n_points; job.first += job.a_block) {
            job.n = clamp(job.n_points - job.first, 0, job.a_block);
            sc_team_for(call->team, sc_parts(job.n, FIND_POINTS), find_part, &job);
            sc_team_for(call->team, sc_parts(job.x->dims[1], job.channels), sample_part, &job);
        }
    }
}

#define ROW(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "GridSample", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS,                     \
        .params = params_sample, .infer = infer_sample, .scratch = scratch_sample, .resolve = resolve_sample,          \
        .run = run_sample                                                                                              \
    }

const struct sc_op sc_ops_nn_grid_sample[] = {ROW(16), ROW(20), ROW(22), {.name = NULL}};
