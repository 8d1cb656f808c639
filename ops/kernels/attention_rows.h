/* SPDX-License-Identifier: Apache-2.0
 * What the f32 and the f64 form of attention share: which keys a query sees, and where elements lie. */
#ifndef SC_OPS_KERNELS_ATTENTION_ROWS_H
#define SC_OPS_KERNELS_ATTENTION_ROWS_H

#include "ops/kernels/attention.h"

/* Keys [from, to) are visible; empty when from >= to. */
struct sc_key_range {
    int64_t from, to;
};

struct sc_key_range sc_attention_visible(const struct sc_attention *attention, int64_t batch, int64_t query);

/* Offset of element (b, h, i, 0), in elements. */
static inline int64_t sc_attention_at(const int64_t strides[4], int64_t b, int64_t h, int64_t i)
{
    return b * strides[0] + h * strides[1] + i * strides[2];
}

static inline bool sc_attention_in_f64(const struct sc_attention *attention)
{
    return attention->type == SC_F64 || attention->v_type == SC_F64;
}

/* to[d][j] = from[j][d] for n of the 64 columns of a block of keys, zeros in the others. Sixteen d at a time stay in
 * the first cache. */
void sc_attention_turn(
    const float *from, int64_t row_stride, int64_t column_stride, int64_t n, int64_t width, float *to);

/* The f64 form: libm's functions, sums in order of the keys. Scratch: a row of scores and one of y a worker. */
size_t sc_attention_f64_scratch_bytes(const struct sc_attention *attention, int64_t max_length, int n_workers);
void sc_attention_f64_run(struct sc_team *team, const struct sc_attention *attention, void *scratch);

#endif
