/* SPDX-License-Identifier: Apache-2.0
 * The rotation of one head's vector, for every operator that has it. */
#ifndef SC_OPS_NN_ROTARY_H
#define SC_OPS_NN_ROTARY_H

#include "ops/op.h"

struct sc_rotation {
    const struct sc_kernels *kernels;
    enum sc_type type; /* of vector and angles */
    int64_t width, head_width; /* the first `width` elements of a head are rotated, the others copied */
    bool interleaved; /* pairs are neighbours; else halves */
};

/* x and y: head_width elements each, not overlapping. c, s: cosines and sines, width / 2 each. Source: ONNX
 * RotaryEmbedding-23. */
void sc_rotate_head(const struct sc_rotation *r, const void *x, const void *c, const void *s, void *y, float *room);
size_t sc_rotate_room_bytes(int64_t width);

#endif
