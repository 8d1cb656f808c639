/* SPDX-License-Identifier: Apache-2.0
 * Coordinates and filters of Resize. With antialias a filter is stretched by 1 / scale when the axis shrinks. */
#include <math.h>

#include "ops/nn/resize.h"

bool sc_resize_moves(const struct sc_resize_params *params, const struct sc_resize_axis *axis)
{
    return axis->scale != 1.0F || axis->in != axis->out ||
        (params->place == SC_RESIZE_TF_CROP_AND_RESIZE && (axis->start != 0.0F || axis->end != 1.0F));
}

/* Where output x lies on the input's axis. */
static double place(const struct sc_resize_params *params, const struct sc_resize_axis *axis, int64_t x)
{
    const double scale = (double)axis->scale;
    const double at = (double)x;
    const double last = (double)axis->in - 1.0;
    switch (params->place) {
    case SC_RESIZE_HALF_PIXEL:
        break;
    case SC_RESIZE_HALF_PIXEL_SYMMETRIC:
        return (double)axis->in / 2.0 * (1.0 - (double)axis->out / axis->length) + (at + 0.5) / scale - 0.5;
    case SC_RESIZE_PYTORCH_HALF_PIXEL:
        if (axis->out == 1) {
            return 0.0;
        }
        break;
    case SC_RESIZE_ALIGN_CORNERS:
        return axis->length == 1.0 ? 0.0 : at * last / (axis->length - 1.0);
    case SC_RESIZE_ASYMMETRIC:
        return at / scale;
    case SC_RESIZE_TF_HALF_PIXEL_FOR_NN:
        return (at + 0.5) / scale;
    case SC_RESIZE_TF_CROP_AND_RESIZE: {
        const double start = (double)axis->start;
        const double end = (double)axis->end;
        return axis->out > 1 ? start * last + at * (end - start) * last / (axis->length - 1.0)
                             : 0.5 * (start + end) * last;
    }
    }
    return (at + 0.5) / scale - 0.5;
}

/* A scale of 1/3 is no float: in double, output 1 over it falls just short of 3. The quotient is rounded to float, as
 * all peers do, before it is rounded to an element. */
static int64_t nearest(const struct sc_resize_params *params, const struct sc_resize_axis *axis, double place)
{
    const double at = (double)(float)place;
    switch (params->nearest) {
    case SC_RESIZE_ROUND_PREFER_FLOOR:
        return (int64_t)ceil(at - 0.5);
    case SC_RESIZE_ROUND_PREFER_CEIL:
        return (int64_t)floor(at + 0.5);
    case SC_RESIZE_FLOOR:
        return (int64_t)floor(at);
    case SC_RESIZE_CEIL:
        return (int64_t)ceil(at);
    case SC_RESIZE_SIMPLE:
        break;
    }
    return (int64_t)(axis->scale < 1.0F ? ceil(at) : floor(at));
}

/* The filter at distance x of an input element. */
static double filter(const struct sc_resize_params *params, double x)
{
    const double a = (double)params->cubic;
    x = fabs(x);
    if (params->mode == SC_RESIZE_LINEAR) {
        return x < 1.0 ? 1.0 - x : 0.0;
    }
    if (x <= 1.0) {
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    }
    return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

static double shrink(const struct sc_resize_params *params, const struct sc_resize_axis *axis)
{
    return params->antialias && axis->scale < 1.0F ? (double)axis->scale : 1.0;
}

int64_t sc_resize_taps(const struct sc_resize_params *params, const struct sc_resize_axis *axis)
{
    if (params->mode == SC_RESIZE_NEAREST) {
        return 1;
    }
    const double radius = params->mode == SC_RESIZE_LINEAR ? 1.0 : 2.0;
    const double reach = ceil(radius / shrink(params, axis));
    return 2 * (int64_t)fmin(reach, 2.0 * (double)axis->in + 2.0);
}

int64_t sc_resize_most_taps(const struct sc_resize_params *params, int64_t in, int64_t out)
{
    if (params->mode == SC_RESIZE_NEAREST || !params->antialias) {
        return sc_resize_taps(params, &(struct sc_resize_axis){.in = in, .out = out, .scale = 1.0F});
    }
    const bool crop = params->place == SC_RESIZE_TF_CROP_AND_RESIZE;
    const double radius = params->mode == SC_RESIZE_LINEAR ? 1.0 : 2.0;
    const double most = 2.0 * (double)in + 2.0;
    const double reach = crop || out < 1 ? most : ceil(radius * (double)in / ((double)out - 0.5)) + 2.0;
    return 2 * (int64_t)fmax(radius, fmin(reach, most));
}

static int64_t clamp(int64_t at, int64_t in)
{
    return at < 0 ? 0 : at < in ? at : in - 1;
}

static void find_filtered(const struct sc_resize_params *params, const struct sc_resize_axis *axis, double place,
    int64_t *from, double *weights)
{
    const int64_t taps = sc_resize_taps(params, axis);
    const double scale = shrink(params, axis);
    const double limit = 2.0 * (double)axis->in + 2.0 * (double)taps; /* beyond, all taps are the same edge */
    place = fmax(-limit, fmin(place, limit));
    const int64_t first = (int64_t)ceil(place) - taps / 2; /* an element on the place is the last of the lower half */
    double sum = 0.0;
    for (int64_t k = 0; k < taps; k++) {
        const int64_t at = first + k;
        const bool outside = params->exclude_outside && (at < 0 || at >= axis->in);
        weights[k] = outside ? 0.0 : filter(params, ((double)at - place) * scale);
        from[k] = clamp(at, axis->in);
        sum += weights[k];
    }
    for (int64_t k = 0; sum != 0.0 && k < taps; k++) {
        weights[k] /= sum;
    }
}

void sc_resize_find(
    const struct sc_resize_params *params, const struct sc_resize_axis *axis, int64_t *from, double *weights)
{
    const int64_t taps = sc_resize_taps(params, axis);
    const bool crop = params->place == SC_RESIZE_TF_CROP_AND_RESIZE;
    for (int64_t x = 0; x < axis->out; x++) {
        const double at = place(params, axis, x);
        if (isnan(at) || (crop && (at < 0.0 || at > (double)axis->in - 1.0))) {
            for (int64_t k = 0; k < taps; k++) {
                from[x * taps + k] = -1;
                if (weights) {
                    weights[x * taps + k] = 0.0;
                }
            }
        } else if (params->mode == SC_RESIZE_NEAREST) {
            from[x] = clamp(nearest(params, axis, fmax(-1.0, fmin(at, (double)axis->in))), axis->in);
        } else {
            find_filtered(params, axis, at, from + x * taps, weights + x * taps);
        }
    }
}
