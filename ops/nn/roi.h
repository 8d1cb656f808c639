/* SPDX-License-Identifier: Apache-2.0
 * RoiAlign and MaxRoiPool: what their attributes say, and their work. */
#ifndef SC_OPS_NN_ROI_H
#define SC_OPS_NN_ROI_H

#include "ops/op.h"

struct sc_roi_params {
    bool align; /* RoiAlign, else MaxRoiPool */
    bool max, half_pixel;
    int64_t height, width, sampling_ratio; /* of the grid of bins; samples a bin, 0: about one a pixel */
    double scale;
};

/* The picture of a region: an input of its own, or the first column. It may be no picture's number. */
double sc_roi_picture(const struct sc_tensor *rois, const struct sc_tensor *batches, int64_t roi);

/* Of the operators' rows; the pictures are those that there are. */
size_t sc_roi_scratch(const struct sc_call *call);
void sc_roi_run(const struct sc_call *call);

#endif
