/* SPDX-License-Identifier: Apache-2.0
 * Normalisation of rows: what RMSNormalization and LayerNormalization share. */
#ifndef SC_OPS_NN_NORM_H
#define SC_OPS_NN_NORM_H

#include "ops/op.h"

/* Each of `rows` rows of `n` elements is centred (or not), divided by the root of its mean square + epsilon, rounded to
 * the input's type, then scaled and shifted in the type of the scale, as the clauses' function bodies do.
 * Statistics are f32 whatever the type (stash_type 1). */
struct sc_norm {
    const struct sc_kernels *kernels;
    enum sc_type type, out_type; /* f32, f16, bf16, f64 */
    int64_t rows, n;
    const void *x;
    void *y;
    float epsilon;
    bool centre;
    const void *scale, *bias; /* of out_type; NULL: none. Content of sc_norm_expand, or n elements */
    int64_t scale_step, bias_step; /* elements from one row's scale to the next row's: 0 or n */
    float *mean, *inverse; /* one per row; NULL: not asked for */
    char *scratch; /* sc_norm_scratch_bytes */
};

/* Elements of f32, f16, bf16 or f64 as f32: x itself for f32, else converted into room. */
const float *sc_norm_widen(const struct sc_kernels *kernels, enum sc_type type, const void *x, float *room, int64_t n);

/* Rounds n floats once into `type`; nothing to do when y is x. */
void sc_norm_narrow(const struct sc_kernels *kernels, enum sc_type type, const float *x, void *y, int64_t n);

size_t sc_norm_scratch_bytes(int64_t n, int n_workers);

void sc_norm_run(const struct sc_norm *norm, struct sc_team *team);

/* A scale or bias that broadcasts to X whose axes from `axis` on are normalised. Bytes of room that sc_norm_expand
 * needs; 0 when the tensor can be used as it lies. */
size_t sc_norm_expand_bytes(const struct sc_tensor *x, int axis, const struct sc_tensor *scale);

/* The scale as rows: returns what to read and sets the step between rows. */
const void *sc_norm_expand(
    const struct sc_tensor *x, int axis, const struct sc_tensor *scale, void *room, int64_t *row_step);

/* Fails unless `scale` broadcasts to x one way. */
enum sc_status sc_norm_check_scale(const struct sc_infer *infer, const struct sc_fact *x, const struct sc_fact *scale);

#endif
