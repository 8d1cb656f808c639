/* SPDX-License-Identifier: Apache-2.0
 * Arithmetic on 16-bit floats: a tile is widened to f32, computed there and rounded once. */
#ifndef SC_OPS_TILE_H
#define SC_OPS_TILE_H

#include "ops/broadcast.h"

#define SC_TILE 256 /* elements */

/* What a loop over spans is given as its argument. */
struct sc_span_arg {
    const struct sc_kernels *kernels;
    const void *params;
    int n; /* operands */
};

/* One function per element type; f16 and bf16 have none of their own and use the one of f32. */
struct sc_span_table {
    sc_span_fn *of[SC_N_TYPES];
};

/* Runs the function of `type` over the operands into output 0. Where f16 or bf16 has none, that of f32 runs on tiles of
 * the operands of that type, widened. The function gets a struct sc_span_arg with `params`. */
void sc_elementwise(const struct sc_call *call, const struct sc_span_table *table, enum sc_type type, int n,
    const struct sc_tensor *const *in, const void *params);

/* SC_UNSUPPORTED when sc_elementwise could not run on this type; a type that is not known yet passes. */
enum sc_status sc_elementwise_check(const struct sc_infer *infer, const struct sc_span_table *table, enum sc_type type);

/* n elements of f16 or bf16 to f32, and back. */
void sc_widen(const struct sc_kernels *kernels, enum sc_type type, const void *x, float *y, int64_t n);
void sc_round_to(const struct sc_kernels *kernels, enum sc_type type, const float *x, void *y, int64_t n);

#endif
