/* SPDX-License-Identifier: Apache-2.0
 * Points between the pixels of [D1, D2, ...]: which pixels count, and by how much. */
#ifndef SC_OPS_NN_SAMPLE_POINT_H
#define SC_OPS_NN_SAMPLE_POINT_H

#include "ops/room.h"
#include "ops/op.h"

#define SC_MAX_TAPS 1024

enum sc_sample_mode { SC_SAMPLE_LINEAR, SC_SAMPLE_NEAREST, SC_SAMPLE_CUBIC };
enum sc_sample_padding { SC_SAMPLE_ZEROS, SC_SAMPLE_BORDER, SC_SAMPLE_REFLECTION };

struct sc_sampling {
    enum sc_sample_mode mode;
    enum sc_sample_padding padding;
    bool align_corners; /* reflection: the border is a pixel's center, else its edge */
    int axes;
    const int64_t *dims; /* none of them is 0 */
};

/* False when a point takes more than SC_MAX_TAPS pixels. */
bool sc_sampling_fits(enum sc_sample_mode mode, int axes);

/* Pixels that a point takes at most. */
int sc_sampling_taps(enum sc_sample_mode mode, int axes);

/* Points, each with the pixels that count for it, by their place in the plane, row-major; those outside are left
 * out. */
struct sc_points {
    int taps; /* that a point has room for */
    int *count; /* that it has */
    int64_t *at; /* [points, taps]; 0 past the last one */
    double *weight;
};

void sc_points_open(struct sc_points *points, struct sc_room *room, int64_t n, int taps);

/* point: one coordinate per axis, 0 being the center of the first pixel. What is no number is outside. */
void sc_points_set(const struct sc_points *points, int64_t i, const struct sc_sampling *sampling, const double *point);

/* What weighs points of planes of one type. */
struct sc_weigher {
    const struct sc_kernels *kernels;
    enum sc_type type; /* any that sc_convert takes */
    void *elements, *wide; /* taps of the points that are weighed at once, unless they are f32 or f64 */
};

void sc_weigher_open(struct sc_weigher *weigher, struct sc_room *room, int64_t n, int taps);

/* sums[i]: of weights times elements of the plane x over the taps of point first + i, in order. */
void sc_points_weigh(const struct sc_points *points, int64_t first, int64_t n, const struct sc_weigher *weigher,
    const void *x, double *sums);

/* n elements of up to 16 bytes are taken from their places; `outside` is where the place is -1. */
void sc_gather_places(const void *x, const int64_t *at, int64_t n, const void *outside, size_t bytes, void *y);

#endif
