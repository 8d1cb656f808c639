/* SPDX-License-Identifier: Apache-2.0
 * One call of a pooling operator, and its way by bands. */
#ifndef SC_OPS_NN_POOL_H
#define SC_OPS_NN_POOL_H

#include "ops/nn/band.h"

enum sc_pool_kind { SC_POOL_MAX, SC_POOL_AVERAGE, SC_POOL_LP };

struct sc_pool {
    enum sc_pool_kind kind;
    bool global, include_pads, column_major;
    double p;
    const struct sc_kernels *kernels;
    struct sc_window window;
    struct sc_band band; /* of the last two axes; band.taps == 0: not run by bands */
    int outer; /* axes before those */
    int64_t layers, slices; /* entries of the window along them; results of them, of all planes */
    int64_t strides[SC_MAX_AXES]; /* of the plane */
    int64_t in_count, out_count, planes;
    const struct sc_tensor *x, *y, *indices;
    char *rooms; /* per worker: a plane in and out as f32, or what a band needs */
    size_t room_bytes;
};

/* Elements that count in the average at position `at` of an axis. */
int64_t sc_pool_count(const struct sc_pool *pool, int axis, int64_t at);

/* n elements of the input's type to f32, and back. */
void sc_pool_widen(const struct sc_pool *pool, const void *x, float *y, int64_t n);
void sc_pool_narrow(const struct sc_pool *pool, const float *x, void *y, int64_t n);

/* Decides whether windows are run by bands: sets band and room_bytes. */
void sc_pool_open_bands(struct sc_pool *pool);

/* One part of a run by bands, out of sc_pool_band_parts; the argument is the struct sc_pool. */
int64_t sc_pool_band_parts(const struct sc_pool *pool);
void sc_pool_band_part(void *arg, int64_t part, int worker);

#endif
