/* SPDX-License-Identifier: Apache-2.0
 * A point between the pixels of [D1, D2, ...]: which pixels count, and by how much. */
#ifndef SC_OPS_NN_SAMPLE_POINT_H
#define SC_OPS_NN_SAMPLE_POINT_H

#include "ops/op.h"

#define SC_MAX_TAPS 1024

/* Pixels by their place in the plane, row-major. Those outside are left out. */
struct sc_taps {
    int n;
    int64_t at[SC_MAX_TAPS];
    double weight[SC_MAX_TAPS];
};

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

/* point: one coordinate per axis, 0 being the center of the first pixel. What is no number is outside. */
void sc_sample_point(const struct sc_sampling *sampling, const double *point, struct sc_taps *taps);

#endif
