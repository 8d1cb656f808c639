/* SPDX-License-Identifier: Apache-2.0
 * Taps of an axis, and their products over all axes. */
#include "ops/nn/sample_point.h"

#include <math.h>

enum { AXIS_TAPS = 4, MAX_AXES = 16 };

struct axis_taps {
    int n;
    int64_t at[AXIS_TAPS]; /* -1: outside */
    double weight[AXIS_TAPS];
};

static int taps_of(enum sc_sample_mode mode)
{
    return mode == SC_SAMPLE_NEAREST ? 1 : mode == SC_SAMPLE_LINEAR ? 2 : 4;
}

bool sc_sampling_fits(enum sc_sample_mode mode, int axes)
{
    int n = 1;
    for (int a = 0; a < axes && n <= SC_MAX_TAPS; a++) {
        n *= taps_of(mode);
    }
    return n <= SC_MAX_TAPS;
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
    const double first = floor(x);
    taps->n = taps_of(s->mode);
    for (int k = 0; k < taps->n; k++) {
        const int64_t i = (int64_t)first + k - (s->mode == SC_SAMPLE_CUBIC);
        taps->at[k] = pixel(s, i, dim);
        const double distance = fabs(x - (double)i);
        taps->weight[k] = s->mode == SC_SAMPLE_NEAREST ? 1.0
            : s->mode == SC_SAMPLE_LINEAR              ? 1.0 - distance
                                                       : cubic(distance);
    }
}

void sc_sample_point(const struct sc_sampling *s, const double *point, struct sc_taps *taps)
{
    struct axis_taps of[MAX_AXES];
    int chosen[MAX_AXES] = {0};
    for (int a = 0; a < s->axes; a++) {
        tap_axis(s, point[a], s->dims[a], &of[a]);
    }
    taps->n = 0;
    for (int a = 0; a >= 0;) { /* every choice of one tap for each axis, the last axis fastest */
        int64_t at = 0;
        double weight = 1.0;
        for (int d = 0; d < s->axes && at >= 0; d++) {
            const int64_t i = of[d].at[chosen[d]];
            at = i < 0 ? -1 : at * s->dims[d] + i;
            weight *= of[d].weight[chosen[d]];
        }
        if (at >= 0) {
            taps->at[taps->n] = at;
            taps->weight[taps->n++] = weight;
        }
        for (a = s->axes - 1; a >= 0 && ++chosen[a] == of[a].n; a--) {
            chosen[a] = 0;
        }
    }
}
