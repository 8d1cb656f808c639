/* SPDX-License-Identifier: Apache-2.0
 * An Einsum whose letters and dims are known. */
#ifndef SC_OPS_MATH_EINSUM_H
#define SC_OPS_MATH_EINSUM_H

#include "ops/op.h"

enum { SC_EINSUM_TERMS = 16, SC_EINSUM_LETTERS = 52, SC_EINSUM_LABELS = SC_EINSUM_LETTERS + SC_MAX_RANK };

/* A term of the equation, or with `rank` the letters of an operand: those of the ellipsis are LETTERS + its axis. */
struct sc_einsum_term {
    int n, ellipsis; /* ellipsis: before which letter it stands; -1: nowhere */
    unsigned char letters[SC_MAX_RANK];
};

/* What an equation is for given ranks. */
struct sc_einsum_plan {
    struct sc_einsum_term operands[SC_EINSUM_TERMS], out; /* no ellipsis */
    int64_t dims[SC_EINSUM_LABELS]; /* by letter */
};

/* Runs it two operands at a time, from the left: large products as matrices, f32 accumulated in f32 (16-bit floats
 * too), integers wrapping. False, and nothing is done, where what lies between would be far larger than operands and
 * result. *scratch_bytes: what a run needs, when call->scratch is NULL; nothing is read or written then. */
bool sc_einsum_pairs(const struct sc_call *call, const struct sc_einsum_plan *plan, size_t *scratch_bytes);

#endif
