/* SPDX-License-Identifier: Apache-2.0
 * One call of a pooling operator, and the ways of f32. */
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
    struct sc_band band; /* band.taps == 0: not run by bands */
    int64_t strides[SC_MAX_AXES]; /* of the plane */
    int64_t in_count, out_count, planes;
    const struct sc_tensor *x, *y, *indices;
    char *rooms; /* per worker: a plane in and out as f32, or a band */
    size_t room_bytes;
};

/* Elements that count in the average at position `at` of an axis. */
int64_t sc_pool_count(const struct sc_pool *pool, int axis, int64_t at);

/* Decides whether f32 windows are run by bands: sets band and room_bytes. */
void sc_pool_open_bands(struct sc_pool *pool);

/* One part of a run by bands, out of sc_pool_band_parts; the argument is the struct sc_pool. */
int64_t sc_pool_band_parts(const struct sc_pool *pool);
void sc_pool_band_part(void *arg, int64_t part, int worker);

#endif
