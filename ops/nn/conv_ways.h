/* SPDX-License-Identifier: Apache-2.0
 * A convolution with all its sizes, and the ways to run it. All give the same bits: each output is one chain of fused
 * multiply-adds over channels and kernel entries in order, entries outside of the input being zeros. */
#ifndef SC_OPS_NN_CONV_WAYS_H
#define SC_OPS_NN_CONV_WAYS_H

#include "ops/nn/product.h"
#include "ops/nn/window.h"

/* What prepare chose: a way of products (windows as rows, against weights as columns), or one of these. */
enum {
    SC_CONV_COLUMNS = SC_PRODUCT_PLAIN + 1, /* f32, or widened to it: weights as rows, against windows as columns */
    SC_CONV_POINTS, /* f32: positions as rows, against packed weights as columns, then turned */
    SC_CONV_DEPTHWISE /* the same, one channel a group, one or two axes */
};

struct sc_conv {
    const struct sc_call *call;
    const struct sc_tensor *x, *w, *bias, *y; /* bias may be NULL */
    struct sc_window window;
    int64_t groups, channels, maps, K; /* channels and maps of one group; K: multiply-adds of an output */
    int64_t in_count, positions; /* elements of a plane in and out */
    int64_t strides[SC_MAX_AXES]; /* of a plane of x */
};

/* Sizes of a call with Conv's parameters; no bias. */
void sc_conv_open(
    const struct sc_call *call, const struct sc_tensor *x, const struct sc_tensor *w, struct sc_conv *conv);

size_t sc_conv_rows_scratch(const struct sc_conv *conv);
void sc_conv_rows_run(const struct sc_conv *conv);
void sc_conv_rows_pack(
    const struct sc_kernels *kernels, struct sc_team *team, const struct sc_tensor *w, int64_t groups, void *packed);

size_t sc_conv_columns_scratch(const struct sc_conv *conv);
void sc_conv_columns_run(const struct sc_conv *conv);

size_t sc_conv_depthwise_scratch(const struct sc_conv *conv);
void sc_conv_depthwise_run(const struct sc_conv *conv);

/* Whether few positions waste more of a panel of columns than the maps do: then they are rows. Dims are known. */
bool sc_conv_points_pay(const struct sc_fact *w, const struct sc_window *window, int64_t groups);
size_t sc_conv_points_packed_bytes(const struct sc_fact *w, int64_t groups);
size_t sc_conv_points_scratch(const struct sc_conv *conv);
void sc_conv_points_run(const struct sc_conv *conv);

/* A call of f16 or bf16 as one of f32, whose choice is that of `given`: open, whose bytes of scratch come before those
 * of the f32 way; widen, run `call`, put. */
struct sc_conv_narrow {
    const struct sc_call *given;
    struct sc_call call;
    struct sc_value x, w, bias, y;
    const struct sc_value *in[3];
    struct sc_value *out[1];
    size_t bytes;
};

void sc_conv_narrow_pack(const struct sc_pack *pack); /* weights as f32 */
void sc_conv_narrow_open(const struct sc_call *call, struct sc_conv_narrow *narrow);
void sc_conv_narrow_widen(const struct sc_conv_narrow *narrow);
void sc_conv_narrow_put(const struct sc_conv_narrow *narrow);

/* Windows of one element, one after the other: entry k of all positions is a plane as it lies. */
bool sc_conv_in_place(const struct sc_window *window);

enum { SC_CONV_PANEL = 16 };

/* The windows of panels of sixteen positions, f32: entry k (over channels and kernel entries) of position `first` + 16
 * p + j is put at to[p * panel_step + k * row_step + j]. Entries of positions past the end are zeros. */
struct sc_conv_gather {
    const struct sc_conv *conv;
    const float *x; /* the planes of the group */
    int64_t first, panels;
    float *to;
    int64_t panel_step, row_step;
};

void sc_conv_gather(const struct sc_conv_gather *gather);

#endif
