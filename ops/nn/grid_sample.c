/* SPDX-License-Identifier: Apache-2.0
 * GridSample: pixels of the output are points of the input, between -1 and 1 along each axis, the last axis first. */
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/nn/sample_point.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

#define PART_POINTS 256

struct params {
    enum sc_sample_mode mode;
    enum sc_sample_padding padding;
    bool align_corners;
};

struct job {
    const struct sc_tensor *x, *grid, *y;
    struct sc_sampling sampling;
    int64_t n_channels, plane, n_points, parts_a_picture; /* plane: pixels of the input, n_points: of the output */
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

/* A complex number is two. */
static struct sc_tensor as_numbers(const struct sc_tensor *tensor, int *a_number)
{
    struct sc_tensor numbers = *tensor;
    *a_number = tensor->type == SC_C64 || tensor->type == SC_C128 ? 2 : 1;
    numbers.type = *a_number == 1 ? tensor->type : tensor->type == SC_C64 ? SC_F32 : SC_F64;
    return numbers;
}

static void write_nearest(const struct job *job, const struct sc_taps *taps, int64_t from, int64_t to)
{
    const size_t bytes = sc_type_bytes(job->x->type);
    void *at = sc_at(job->y->data, to, bytes);
    const struct sc_string nothing = {"", 0};
    memset(at, 0, bytes);
    const void *outside = job->x->type == SC_STRING ? (const void *)&nothing : at;
    memmove(at, taps->n ? sc_const_at(job->x->data, from + taps->at[0], bytes) : outside, bytes);
}

static void write_sum(const struct job *job, const struct sc_taps *taps, int64_t from, int64_t to)
{
    int n;
    const struct sc_tensor x = as_numbers(job->x, &n), y = as_numbers(job->y, &n);
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int t = 0; t < taps->n; t++) {
            sum += taps->weight[t] * sc_number_at(&x, (from + taps->at[t]) * n + i);
        }
        sc_number_put(&y, to * n + i, sum);
    }
}

static void write_point(const struct job *job, const struct sc_taps *taps, int64_t picture, int64_t point)
{
    for (int64_t c = 0; c < job->n_channels; c++) {
        const int64_t from = (picture * job->n_channels + c) * job->plane;
        const int64_t to = (picture * job->n_channels + c) * job->n_points + point;
        (job->sampling.mode == SC_SAMPLE_NEAREST ? write_nearest : write_sum)(job, taps, from, to);
    }
}

static void sample_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int axes = job->sampling.axes;
    const int64_t picture = part / job->parts_a_picture;
    const int64_t first = part % job->parts_a_picture * PART_POINTS;
    const int64_t end = first + PART_POINTS < job->n_points ? first + PART_POINTS : job->n_points;
    struct sc_taps taps;
    for (int64_t p = first; p < end; p++) {
        double point[SC_MAX_RANK];
        for (int a = 0; a < axes; a++) {
            const double x = sc_number_at(job->grid, (picture * job->n_points + p) * axes + axes - 1 - a);
            point[a] = place(job, x, job->sampling.dims[a]);
        }
        sc_sample_point(&job->sampling, point, &taps);
        write_point(job, &taps, picture, p);
    }
}

static void run_sample(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    struct job job = {.x = x, .grid = sc_call_in(call, 1), .y = y, .n_channels = x->dims[1]};
    if (sc_tensor_count(y) == 0) {
        return;
    }
    job.sampling = (struct sc_sampling){p->mode, p->padding, p->align_corners, x->rank - 2, x->dims + 2};
    job.plane = sc_dims_product(x->dims, 2, x->rank);
    job.n_points = sc_dims_product(y->dims, 2, y->rank);
    job.parts_a_picture = sc_parts(job.n_points, PART_POINTS);
    sc_team_for(call->team, x->dims[0] * job.parts_a_picture, sample_part, &job);
}

#define ROW(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "GridSample", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS,                     \
        .params = params_sample, .infer = infer_sample, .resolve = resolve_sample, .run = run_sample                   \
    }

const struct sc_op sc_ops_nn_grid_sample[] = {ROW(16), ROW(20), ROW(22), {.name = NULL}};
