/* SPDX-License-Identifier: Apache-2.0
 * RoiAlign and MaxRoiPool: regions of pictures, each pooled to a grid of bins. In double, rounded once. */
#include <math.h>
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

struct params {
    bool align; /* RoiAlign, else MaxRoiPool */
    bool max, half_pixel;
    int64_t height, width, sampling_ratio; /* of the grid of bins; samples a bin, 0: about one a pixel */
    double scale;
};

struct job {
    const struct params *p;
    const struct sc_tensor *x, *rois, *batches, *y;
};

static enum sc_status read_align(const struct sc_graph *graph, const struct sc_node *node, struct params *p)
{
    const char *mode, *transformation, *old = node->version < 16 ? "output_half_pixel" : "half_pixel";
    SC_TRY(sc_node_text(node, "mode", "avg", &mode));
    SC_TRY(sc_node_text(node, "coordinate_transformation_mode", old, &transformation));
    SC_TRY(sc_node_int(node, "output_height", 1, &p->height));
    SC_TRY(sc_node_int(node, "output_width", 1, &p->width));
    SC_TRY(sc_node_int(node, "sampling_ratio", 0, &p->sampling_ratio));
    p->max = strcmp(mode, "max") == 0;
    p->half_pixel = strcmp(transformation, "half_pixel") == 0;
    if (!p->max && strcmp(mode, "avg") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "mode is '%s', want avg or max", mode);
    }
    if (!p->half_pixel && strcmp(transformation, "output_half_pixel") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "coordinate_transformation_mode is '%s', want half_pixel or output_half_pixel", transformation);
    }
    if (p->sampling_ratio < 0 || p->sampling_ratio > INT16_MAX) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "sampling_ratio is %lld, want 0 to %d", (long long)p->sampling_ratio, INT16_MAX);
    }
    return SC_OK;
}

static enum sc_status params_roi(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    float scale;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_float(node, "spatial_scale", 1.0F, &scale));
    p->scale = (double)scale;
    p->align = strcmp(node->op, "RoiAlign") == 0;
    if (p->align) {
        SC_TRY(read_align(graph, node, p));
    } else {
        int n;
        const int64_t *shape;
        SC_TRY(sc_node_ints(node, "pooled_shape", &n, &shape));
        if (n != 2) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "pooled_shape has %d entries, want 2", n < 0 ? 0 : n);
        }
        p->height = shape[0];
        p->width = shape[1];
    }
    if (p->height < 1 || p->width < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "regions become %lld x %lld bins, want 1 x 1 or more",
            (long long)p->height, (long long)p->width);
    }
    return SC_OK;
}

static enum sc_status infer_roi(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    static const int64_t any[4] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_needs(infer, p->align ? 3 : 2));
    const struct sc_fact *x = infer->in[0], *rois = infer->in[1];
    const int64_t columns[2] = {SC_DIM_UNKNOWN, p->align ? 4 : 5};
    SC_TRY(sc_infer_want(infer, 0, "X", 4, any));
    SC_TRY(sc_infer_want(infer, 1, "rois", 2, columns));
    const int64_t n_rois = rois->rank == 2 ? rois->dims[0] : SC_DIM_UNKNOWN;
    SC_TRY(sc_infer_want(infer, 2, "batch_indices", 1, &n_rois));
    const int64_t dims[4] = {n_rois, x->rank == 4 ? x->dims[1] : SC_DIM_UNKNOWN, p->height, p->width};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], x->type, 4, dims);
    }
    return SC_OK;
}

/* The picture of a region: an input of its own, or the first column. */
static double batch_of(const struct job *job, int64_t roi)
{
    return job->batches ? (double)sc_index_at(job->batches, roi) : sc_number_at(job->rois, roi * 5);
}

static enum sc_status resolve_roi(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *x = sc_call_in(call, 0), *rois = sc_call_in(call, 1);
    const struct job job = {.rois = rois, .batches = sc_call_in(call, 2)};
    for (int64_t r = 0; r < rois->dims[0]; r++) {
        const double batch = batch_of(&job, r);
        if (!(batch >= 0.0 && batch < (double)x->dims[0])) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "region %lld is of picture %g, want one in [0, %lld)", (long long)r, batch, (long long)x->dims[0]);
        }
    }
    return SC_OK;
}

/* Samples of one bin along an axis: sample i of n is at start + (i + 0.5) * step. Those that can be inside the picture
 * are [first, end); more than that would be zeros. */
struct samples {
    double start, step, n, first, end;
};

static struct samples bin_samples(
    const struct params *p, double start, double size, int64_t bin, int64_t bins, int64_t dim)
{
    const double width = size / (double)bins;
    const double n = p->sampling_ratio > 0 ? (double)p->sampling_ratio : ceil(width);
    struct samples s = {.start = start + (double)bin * width, .n = n >= 1.0 ? n : 0.0};
    s.step = s.n > 0.0 ? width / s.n : 0.0;
    s.end = s.n;
    if (s.step > 0.0) {
        const double low = floor((-1.0 - s.start) / s.step - 0.5) - 1.0;
        const double high = ceil(((double)dim - s.start) / s.step - 0.5) + 2.0;
        s.first = low > 0.0 ? fmin(low, s.n) : 0.0;
        s.end = fmin(s.n, fmax(high, s.first));
    }
    return s;
}

/* The pixel at or before a coordinate, and the share of the next one; false outside. */
static bool split(double x, int64_t dim, int64_t *low, double *share)
{
    if (!(x >= -1.0 && x <= (double)dim)) {
        return false;
    }
    x = fmin(fmax(x, 0.0), (double)(dim - 1));
    *low = (int64_t)x;
    *share = x - (double)*low;
    return true;
}

static double larger(double a, double b)
{
    return b > a || isnan(b) ? b : a;
}

/* A sample between pixels. The largest is that of the four weighed pixels, not of their sum: so the official data. */
static double pixel(const struct job *job, int64_t plane, double y, double x)
{
    const int64_t height = job->x->dims[2], width = job->x->dims[3];
    int64_t row, column;
    double down, right;
    if (!split(y, height, &row, &down) || !split(x, width, &column, &right)) {
        return 0.0;
    }
    const int64_t at = (plane * height + row) * width + column;
    const int64_t below = row + 1 < height ? width : 0, beside = column + 1 < width ? 1 : 0;
    const double corners[4] = {(1.0 - down) * (1.0 - right) * sc_number_at(job->x, at),
        (1.0 - down) * right * sc_number_at(job->x, at + beside),
        down * (1.0 - right) * sc_number_at(job->x, at + below),
        down * right * sc_number_at(job->x, at + below + beside)};
    if (job->p->max) {
        return larger(larger(corners[0], corners[1]), larger(corners[2], corners[3]));
    }
    return corners[0] + corners[1] + corners[2] + corners[3];
}

static double align_bin(const struct job *job, int64_t plane, const struct samples *rows, const struct samples *columns)
{
    const double n = rows->n * columns->n;
    const bool outside = rows->end - rows->first < rows->n || columns->end - columns->first < columns->n;
    double sum = 0.0, most = outside ? 0.0 : -INFINITY;
    for (int64_t i = 0; i < (int64_t)(rows->end - rows->first); i++) {
        for (int64_t j = 0; j < (int64_t)(columns->end - columns->first); j++) {
            const double y = rows->start + (rows->first + (double)i + 0.5) * rows->step;
            const double x = columns->start + (columns->first + (double)j + 0.5) * columns->step;
            const double value = pixel(job, plane, y, x);
            sum += value;
            most = larger(most, value);
        }
    }
    if (n == 0.0) {
        return 0.0;
    }
    return job->p->max ? most : sum / n;
}

static void align_region(const struct job *job, int64_t roi, int64_t channel)
{
    const struct params *p = job->p;
    const double offset = p->half_pixel ? 0.5 : 0.0;
    double corner[4];
    for (int i = 0; i < 4; i++) {
        corner[i] = sc_number_at(job->rois, roi * 4 + i) * p->scale - offset;
    }
    double width = corner[2] - corner[0], height = corner[3] - corner[1];
    if (!p->half_pixel) {
        width = fmax(width, 1.0);
        height = fmax(height, 1.0);
    }
    const int64_t plane = (int64_t)batch_of(job, roi) * job->x->dims[1] + channel;
    const int64_t to = (roi * job->x->dims[1] + channel) * p->height * p->width;
    for (int64_t i = 0; i < p->height; i++) {
        const struct samples rows = bin_samples(p, corner[1], height, i, p->height, job->x->dims[2]);
        for (int64_t j = 0; j < p->width; j++) {
            const struct samples columns = bin_samples(p, corner[0], width, j, p->width, job->x->dims[3]);
            sc_number_put(job->y, to + i * p->width + j, align_bin(job, plane, &rows, &columns));
        }
    }
}

/* Whole pixels of a bin along an axis, of a region from `start` on. */
static void bin_pixels(double start, double size, int64_t bin, int64_t bins, int64_t dim, int64_t *first, int64_t *end)
{
    const double width = size / (double)bins, limit = (double)dim;
    const double low = floor((double)bin * width) + start, high = ceil((double)(bin + 1) * width) + start;
    *first = (int64_t)fmin(fmax(low, 0.0), limit);
    *end = (int64_t)fmin(fmax(high, 0.0), limit);
}

static double pool_bin(const struct job *job, int64_t plane, const int64_t rows[2], const int64_t columns[2])
{
    double most = rows[0] < rows[1] && columns[0] < columns[1] ? -INFINITY : 0.0;
    for (int64_t i = rows[0]; i < rows[1]; i++) {
        for (int64_t j = columns[0]; j < columns[1]; j++) {
            const double value = sc_number_at(job->x, (plane * job->x->dims[2] + i) * job->x->dims[3] + j);
            most = larger(most, value);
        }
    }
    return most;
}

/* Corners are rounded to pixels, both of which belong to the region. */
static void pool_region(const struct job *job, int64_t roi, int64_t channel)
{
    const struct params *p = job->p;
    double corner[4];
    for (int i = 0; i < 4; i++) {
        corner[i] = round(sc_number_at(job->rois, roi * 5 + 1 + i) * p->scale);
    }
    const double width = fmax(corner[2] - corner[0] + 1.0, 1.0), height = fmax(corner[3] - corner[1] + 1.0, 1.0);
    const int64_t plane = (int64_t)batch_of(job, roi) * job->x->dims[1] + channel;
    const int64_t to = (roi * job->x->dims[1] + channel) * p->height * p->width;
    for (int64_t i = 0; i < p->height; i++) {
        int64_t rows[2], columns[2];
        bin_pixels(corner[1], height, i, p->height, job->x->dims[2], &rows[0], &rows[1]);
        for (int64_t j = 0; j < p->width; j++) {
            bin_pixels(corner[0], width, j, p->width, job->x->dims[3], &columns[0], &columns[1]);
            sc_number_put(job->y, to + i * p->width + j, pool_bin(job, plane, rows, columns));
        }
    }
}

static void roi_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t channels = job->x->dims[1];
    (job->p->align ? align_region : pool_region)(job, part / channels, part % channels);
}

static void run_roi(const struct sc_call *call)
{
    struct job job = {.p = call->params,
        .x = sc_call_in(call, 0),
        .rois = sc_call_in(call, 1),
        .batches = sc_call_in(call, 2),
        .y = sc_call_out(call, 0)};
    if (sc_dims_product(job.x->dims, 2, 4) == 0) {
        memset(job.y->data, 0, sc_tensor_bytes(job.y));
        return;
    }
    sc_team_for(call->team, job.rois->dims[0] * job.x->dims[1], roi_part, &job);
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = (op), .since = (version), .flags = SC_OP_PURE, .params = params_roi, .infer = infer_roi, \
        .resolve = resolve_roi, .run = run_roi                                                                         \
    }

const struct sc_op sc_ops_nn_roi[] = {ROW("MaxRoiPool", 1), ROW("MaxRoiPool", 22), ROW("RoiAlign", 10),
    ROW("RoiAlign", 16), ROW("RoiAlign", 22), {.name = NULL}};
