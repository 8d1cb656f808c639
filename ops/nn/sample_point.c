/* SPDX-License-Identifier: Apache-2.0
 * Taps of an axis, and their products over all axes. */
#include "ops/nn/sample_point.h"
#include "ops/room.h"

#include <math.h>

#include "ops/shape/shape.h"
#include "ops/tile.h"
#include "tensor/convert.h"

enum { AXIS_TAPS = 4 };

/* Those inside. */
struct axis_taps {
    int n;
    int64_t at[AXIS_TAPS];
    double weight[AXIS_TAPS];
};

static int taps_of(enum sc_sample_mode mode)
{
    return mode == SC_SAMPLE_NEAREST ? 1 : mode == SC_SAMPLE_LINEAR ? 2 : 4;
}

int sc_sampling_taps(enum sc_sample_mode mode, int axes)
{
    int n = 1;
    for (int a = 0; a < axes && n <= SC_MAX_TAPS; a++) {
        n *= taps_of(mode);
    }
    return n;
}

bool sc_sampling_fits(enum sc_sample_mode mode, int axes)
{
    return sc_sampling_taps(mode, axes) <= SC_MAX_TAPS;
}

/* Back and forth between two borders until it is within. */
static double reflect(double x, double low, double high)
{
    const double range = high - low;
    if (range <= 0) {
        return low;
    }
    const double past = x < low ? low - x : x > high ? x - high : 0.0;
    if (past == 0.0) {
        return x;
    }
    const double turns = floor(past / range), rest = past - turns * range;
    const bool from_low = (x < low) == (fmod(turns, 2.0) == 0.0);
    return from_low ? low + rest : high - rest;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* A pixel's index; -1 where there is none. */
static int64_t pixel(const struct sc_sampling *s, int64_t i, int64_t dim)
{
    if (i >= 0 && i < dim) {
        return i;
    }
    if (s->padding == SC_SAMPLE_ZEROS) {
        return -1;
    }
    const double edge = s->align_corners ? 0.0 : 0.5;
    const double x =
        s->padding == SC_SAMPLE_REFLECTION ? reflect((double)i, -edge, (double)dim - 1.0 + edge) : (double)i;
    return (int64_t)clamp(x, 0.0, (double)(dim - 1));
}

/* Keys' cubic convolution, a = -0.75, for pixels at a distance t of 0 to 2. */
static double cubic(double t)
{
    const double a = -0.75;
    return t <= 1.0 ? ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0 : ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a;
}

/* A whole number not above x, which is within the range of such numbers. */
static int64_t whole(double x)
{
    const int64_t i = (int64_t)x;
    return i - ((double)i > x);
}

static double weight_of(enum sc_sample_mode mode, double distance)
{
    switch (mode) {
    case SC_SAMPLE_NEAREST:
        return 1.0;
    case SC_SAMPLE_LINEAR:
        return 1.0 - distance;
    case SC_SAMPLE_CUBIC:
        break;
    }
    return cubic(distance);
}

static void tap_axis(const struct sc_sampling *s, double x, int64_t dim, struct axis_taps *taps)
{
    const double edge = s->align_corners ? 0.0 : 0.5, low = -edge, high = (double)dim - 1.0 + edge;
    x = s->mode == SC_SAMPLE_NEAREST ? nearbyint(x) : x;
    if (s->padding == SC_SAMPLE_BORDER && (x < low || x > high)) {
        x = clamp(x, 0.0, (double)(dim - 1));
    } else if (s->padding == SC_SAMPLE_REFLECTION) {
        x = reflect(x, low, high);
    }
    x = isnan(x) ? -8.0 : clamp(x, -8.0, (double)dim + 8.0); /* so that it is an index; outside stays outside */
    const int64_t first = whole(x) - (s->mode == SC_SAMPLE_CUBIC);
    const int n = taps_of(s->mode);
    taps->n = 0;
    for (int64_t i = first; i < first + n; i++) {
        taps->at[taps->n] = pixel(s, i, dim);
        taps->weight[taps->n] = weight_of(s->mode, fabs(x - (double)i));
        taps->n += taps->at[taps->n] >= 0;
    }
}

void sc_points_open(struct sc_points *p, struct sc_room *room, int64_t n, int taps)
{
    p->taps = taps;
    p->count = sc_room_take(room, n, sizeof *p->count);
    p->at = sc_room_take(room, n * taps, sizeof *p->at);
    p->weight = sc_room_take(room, n * taps, sizeof *p->weight);
}

/* Every choice of one tap for each axis, the last axis fastest: axis by axis each tap so far becomes as many as the
 * axis has, from the last one on, so that none is overwritten before its turn. */
void sc_points_set(const struct sc_points *p, int64_t i, const struct sc_sampling *s, const double *point)
{
    int64_t *at = p->at + i * p->taps;
    double *weight = p->weight + i * p->taps;
    int n = 1;
    at[0] = 0;
    weight[0] = 1.0;
    for (int a = 0; a < s->axes; a++) {
        struct axis_taps of;
        tap_axis(s, point[a], s->dims[a], &of);
        for (int t = n - 1; t >= 0; t--) {
            const int64_t before = at[t] * s->dims[a];
            const double share = weight[t];
            for (int k = 0; k < of.n; k++) {
                at[t * of.n + k] = before + of.at[k];
                weight[t * of.n + k] = share * of.weight[k];
            }
        }
        n *= of.n;
    }
    p->count[i] = n;
    for (int t = n; t < p->taps; t++) {
        at[t] = 0;
    }
}

void sc_weigher_open(struct sc_weigher *w, struct sc_room *room, int64_t n, int taps)
{
    const bool direct = w->type == SC_F32 || w->type == SC_F64;
    w->elements = sc_room_take(room, direct ? 0 : n * taps, sizeof(uint64_t));
    w->wide = sc_room_take(room, direct ? 0 : n * taps, sizeof(double));
}

#define TYPE float
#define NAME weigh_f32
#define PLACE(slot) p->at[slot]
#include "ops/nn/sample_point.inc.h"
#define TYPE double
#define NAME weigh_f64
#define PLACE(slot) p->at[slot]
#include "ops/nn/sample_point.inc.h"
#define TYPE float
#define NAME weigh_f32_in_order
#define PLACE(slot) (slot)
#include "ops/nn/sample_point.inc.h"
#define TYPE double
#define NAME weigh_f64_in_order
#define PLACE(slot) (slot)
#include "ops/nn/sample_point.inc.h"

void sc_points_weigh(
    const struct sc_points *p, int64_t first, int64_t n, const struct sc_weigher *w, const void *x, double *sums)
{
    const struct sc_points points = {p->taps, p->count + first, p->at + first * p->taps, p->weight + first * p->taps};
    if (w->type == SC_F32) {
        weigh_f32(&points, x, n, sums);
        return;
    }
    if (w->type == SC_F64) {
        weigh_f64(&points, x, n, sums);
        return;
    }
    sc_gather_places(x, points.at, n * p->taps, NULL, sc_type_bytes(w->type), w->elements);
    if (w->type == SC_F16 || w->type == SC_BF16) {
        sc_widen(w->kernels, w->type, w->elements, w->wide, n * p->taps);
        weigh_f32_in_order(&points, w->wide, n, sums);
    } else {
        sc_convert(w->type, w->elements, SC_F64, w->wide, n * p->taps, 0);
        weigh_f64_in_order(&points, w->wide, n, sums);
    }
}

/* Inlined where the size of an element is known. */
static inline void gather(const void *x, const int64_t *at, int64_t n, const void *outside, const size_t bytes, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(sc_at(y, i, bytes), at[i] < 0 ? outside : sc_const_at(x, at[i], bytes), bytes);
    }
}

void sc_gather_places(const void *x, const int64_t *at, int64_t n, const void *outside, size_t bytes, void *y)
{
    switch (bytes) {
    case 1:
        gather(x, at, n, outside, 1, y);
        break;
    case 2:
        gather(x, at, n, outside, 2, y);
        break;
    case 4:
        gather(x, at, n, outside, 4, y);
        break;
    case 8:
        gather(x, at, n, outside, 8, y);
        break;
    default:
        gather(x, at, n, outside, 16, y);
        break;
    }
}
