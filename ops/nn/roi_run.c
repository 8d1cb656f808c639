/* SPDX-License-Identifier: Apache-2.0
 * Regions of pictures, each pooled to a grid of bins, in double, rounded once. What a bin takes of its rows is the same
 * for all columns and channels, and so the other way round: it is found once for some channels of a region, which are a
 * part. */
#include <math.h>
#include <string.h>

#include "ops/nn/roi.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { PART_BINS = 1024 };

/* A row or column of pixels, and what the samples of a bin between it and its neighbours make of it: the sum of their
 * weights, or the largest and the least one where the largest value is wanted. */
struct tap {
    int64_t at;
    double weight, least;
};

/* Bins along an axis: taps first[i] to first[i + 1] are those of bin i. */
struct bins {
    int64_t n, dim, room; /* dim: pixels; room: for taps */
    int64_t *first;
    struct tap *taps;
    bool *outside; /* a sample of it is outside of the picture, and 0 */
    double samples; /* of each bin */
};

/* The same of bins that have whole pixels: [first, end) of each, and [low, high) of all. */
struct spans {
    int64_t n, dim, low, high;
    int64_t *first, *end;
};

struct room {
    struct bins rows, columns;
    struct spans row_spans, column_spans;
    double *tall; /* numbers of a row of pixels */
    double *result; /* of a channel */
};

struct job {
    const struct sc_roi_params *p;
    const struct sc_tensor *x, *rois, *batches, *y;
    int64_t channels, parts_a_region; /* channels of a part */
    char *rooms;
    size_t room_bytes;
};

/* Bins lie side by side, so that there are about as many taps as pixels, and some at each border. */
static void open_bins(struct sc_room *room, int64_t n, int64_t dim, struct bins *b)
{
    *b = (struct bins){.n = n, .dim = dim, .room = 2 * dim + 4 * n};
    b->first = sc_room_take(room, n + 1, sizeof *b->first);
    b->taps = sc_room_take(room, b->room, sizeof *b->taps);
    b->outside = sc_room_take(room, n, sizeof *b->outside);
}

static void open_spans(struct sc_room *room, int64_t n, int64_t dim, struct spans *s)
{
    *s = (struct spans){.n = n, .dim = dim};
    s->first = sc_room_take(room, n, sizeof *s->first);
    s->end = sc_room_take(room, n, sizeof *s->end);
}

/* Returns its bytes; `at` may be NULL when these alone are asked for. */
static size_t open_room(const struct job *job, char *at, struct room *room)
{
    const struct sc_roi_params *p = job->p;
    struct sc_room left = {at, 0};
    if (p->align) {
        open_bins(&left, p->height, job->x->dims[2], &room->rows);
        open_bins(&left, p->width, job->x->dims[3], &room->columns);
    } else {
        open_spans(&left, p->height, job->x->dims[2], &room->row_spans);
        open_spans(&left, p->width, job->x->dims[3], &room->column_spans);
        room->tall = sc_room_take(&left, job->x->dims[3], sizeof *room->tall);
    }
    room->result = sc_room_take(&left, p->height * p->width, sizeof *room->result);
    return left.used;
}

/* Samples of one bin along an axis: sample i of n is at start + (i + 0.5) * step. Those that can be inside the picture
 * are [first, end); more than that would be zeros. */
struct samples {
    double start, step, n, first, end;
};

static struct samples bin_samples(
    const struct sc_roi_params *p, double start, double size, int64_t bin, int64_t bins, int64_t dim)
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

/* Samples go one way, so that a pixel which was met before is one of the last three. */
static void add_tap(struct bins *b, int64_t bin, bool max, int64_t at, double weight)
{
    struct tap *end = b->taps + b->first[bin + 1], *first = b->taps + b->first[bin];
    for (struct tap *t = end - first > 3 ? end - 3 : first; t < end; t++) {
        if (t->at == at) {
            t->weight = max ? fmax(t->weight, weight) : t->weight + weight;
            t->least = fmin(t->least, weight);
            return;
        }
    }
    if (b->first[bin + 1] < b->room) { /* as it is */
        *end = (struct tap){at, weight, weight};
        b->first[bin + 1]++;
    }
}

static void find_bins(const struct sc_roi_params *p, double start, double size, struct bins *b)
{
    b->first[0] = 0;
    for (int64_t bin = 0; bin < b->n; bin++) {
        const struct samples s = bin_samples(p, start, size, bin, b->n, b->dim);
        const int64_t inside = (int64_t)(s.end - s.first);
        b->samples = s.n;
        b->outside[bin] = s.end - s.first < s.n;
        b->first[bin + 1] = b->first[bin];
        for (int64_t i = 0; i < inside; i++) {
            int64_t at;
            double share;
            if (!split(s.start + (s.first + (double)i + 0.5) * s.step, b->dim, &at, &share)) {
                b->outside[bin] = true;
                continue;
            }
            add_tap(b, bin, p->max, at, 1.0 - share);
            add_tap(b, bin, p->max, at + 1 < b->dim ? at + 1 : at, share);
        }
    }
}

static double larger(double a, double b)
{
    return b > a || isnan(b) ? b : a;
}

/* A sample between pixels is the sum of four that are weighed. The largest is that of the weighed pixels, not of their
 * sums: so the official data. */
#define TYPE float
#define LOAD(x) (x)
#define NAME align_f32
#include "ops/nn/roi_align.inc.h"
#define TYPE double
#define LOAD(x) (x)
#define NAME align_f64
#include "ops/nn/roi_align.inc.h"
#define TYPE uint16_t
#define LOAD(x) sc_f16_to_f32(x)
#define NAME align_f16
#include "ops/nn/roi_align.inc.h"
#define TYPE uint16_t
#define LOAD(x) sc_bf16_to_f32(x)
#define NAME align_bf16
#include "ops/nn/roi_align.inc.h"

static void align_region(const struct job *job, int64_t roi, struct room *room)
{
    const struct sc_roi_params *p = job->p;
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
    find_bins(p, corner[1], height, &room->rows);
    find_bins(p, corner[0], width, &room->columns);
}

static void align_plane(const struct job *job, const struct room *room, const void *plane)
{
    const struct bins *rows = &room->rows, *columns = &room->columns;
    switch (job->x->type) {
    case SC_F32:
        align_f32(plane, columns->dim, rows, columns, job->p->max, room->result);
        break;
    case SC_F64:
        align_f64(plane, columns->dim, rows, columns, job->p->max, room->result);
        break;
    case SC_F16:
        align_f16(plane, columns->dim, rows, columns, job->p->max, room->result);
        break;
    default: /* there are no others */
        align_bf16(plane, columns->dim, rows, columns, job->p->max, room->result);
        break;
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

static void find_spans(double start, double size, struct spans *s)
{
    s->low = s->dim;
    s->high = 0;
    for (int64_t bin = 0; bin < s->n; bin++) {
        bin_pixels(start, size, bin, s->n, s->dim, &s->first[bin], &s->end[bin]);
        s->low = s->first[bin] < s->low ? s->first[bin] : s->low;
        s->high = s->end[bin] > s->high ? s->end[bin] : s->high;
    }
}

/* Corners are rounded to pixels, both of which belong to the region. */
static void pool_region(const struct job *job, int64_t roi, struct room *room)
{
    double corner[4];
    for (int i = 0; i < 4; i++) {
        corner[i] = round(sc_number_at(job->rois, roi * 5 + 1 + i) * job->p->scale);
    }
    find_spans(corner[1], fmax(corner[3] - corner[1] + 1.0, 1.0), &room->row_spans);
    find_spans(corner[0], fmax(corner[2] - corner[0] + 1.0, 1.0), &room->column_spans);
}

#define TYPE float
#define WIDE float
#define LOAD(x) (x)
#define NAME pool_f32
#include "ops/nn/roi_pool.inc.h"
#define TYPE double
#define WIDE double
#define LOAD(x) (x)
#define NAME pool_f64
#include "ops/nn/roi_pool.inc.h"
#define TYPE uint16_t
#define WIDE float
#define LOAD(x) sc_f16_to_f32(x)
#define NAME pool_f16
#include "ops/nn/roi_pool.inc.h"
#define TYPE uint16_t
#define WIDE float
#define LOAD(x) sc_bf16_to_f32(x)
#define NAME pool_bf16
#include "ops/nn/roi_pool.inc.h"

static void pool_plane(const struct job *job, const struct room *room, const void *plane)
{
    const struct spans *rows = &room->row_spans, *columns = &room->column_spans;
    switch (job->x->type) {
    case SC_F32:
        pool_f32(plane, columns->dim, rows, columns, room->tall, room->result);
        break;
    case SC_F64:
        pool_f64(plane, columns->dim, rows, columns, room->tall, room->result);
        break;
    case SC_F16:
        pool_f16(plane, columns->dim, rows, columns, room->tall, room->result);
        break;
    default: /* there are no others */
        pool_bf16(plane, columns->dim, rows, columns, room->tall, room->result);
        break;
    }
}

double sc_roi_picture(const struct sc_tensor *rois, const struct sc_tensor *batches, int64_t roi)
{
    return batches ? (double)sc_index_at(batches, roi) : sc_number_at(rois, roi * 5);
}

static void roi_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const size_t bytes = sc_type_bytes(job->x->type);
    const int64_t roi = part / job->parts_a_region, from = part % job->parts_a_region * job->channels;
    const int64_t all = job->x->dims[1], end = from + job->channels < all ? from + job->channels : all;
    const int64_t pixels = job->x->dims[2] * job->x->dims[3], n_bins = job->p->height * job->p->width;
    const int64_t picture = (int64_t)sc_roi_picture(job->rois, job->batches, roi);
    struct room room;
    open_room(job, job->rooms + (size_t)worker * job->room_bytes, &room);
    (job->p->align ? align_region : pool_region)(job, roi, &room);
    for (int64_t c = from; c < end; c++) {
        (job->p->align ? align_plane : pool_plane)(
            job, &room, sc_const_at(job->x->data, (picture * all + c) * pixels, bytes));
        void *y = sc_at(job->y->data, (roi * all + c) * n_bins, bytes);
        sc_convert(SC_F64, room.result, job->y->type, y, n_bins, 0);
    }
}

static struct job open_job(const struct sc_call *call)
{
    struct job job = {.p = call->params,
        .x = sc_call_in(call, 0),
        .rois = sc_call_in(call, 1),
        .batches = sc_call_in(call, 2),
        .y = sc_call_out(call, 0),
        .rooms = call->scratch};
    struct room room;
    job.channels = sc_parts(PART_BINS, job.p->height * job.p->width);
    job.parts_a_region = sc_parts(job.x->dims[1], job.channels);
    job.room_bytes = open_room(&job, NULL, &room);
    return job;
}

size_t sc_roi_scratch(const struct sc_call *call)
{
    return sc_tensor_count(sc_call_out(call, 0)) == 0 ? 0
                                                      : open_job(call).room_bytes * (size_t)sc_team_size(call->team);
}

void sc_roi_run(const struct sc_call *call)
{
    if (sc_tensor_count(sc_call_out(call, 0)) == 0) {
        return;
    }
    struct job job = open_job(call);
    if (sc_dims_product(job.x->dims, 2, 4) == 0) {
        memset(job.y->data, 0, sc_tensor_bytes(job.y));
        return;
    }
    sc_team_for(call->team, job.rois->dims[0] * job.parts_a_region, roi_part, &job);
}
