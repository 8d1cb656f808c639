/* SPDX-License-Identifier: Apache-2.0
 * The shape of a reduction: which elements meet in which output, and in what order. */
#ifndef SC_OPS_MATH_REDUCE_H
#define SC_OPS_MATH_REDUCE_H

#include "ops/op.h"

#define SC_REDUCE_LANES 256 /* outputs that are computed side by side when the innermost axis is kept */

/* Neighbouring axes that are all kept or all reduced are one. The innermost is `inner`; the others are lists, outermost
 * first. A unit is one output (inner is reduced: a contiguous row is its innermost part) or up to SC_REDUCE_LANES
 * neighbouring outputs (inner is kept). Reduced indices run in order, so an output depends on its own elements
 * alone. */
struct sc_reduction {
    int n_kept, n_reduced;
    int64_t kept_dims[SC_MAX_RANK], kept_steps[SC_MAX_RANK]; /* steps in elements of the input */
    int64_t reduced_dims[SC_MAX_RANK], reduced_steps[SC_MAX_RANK];
    int64_t inner;
    bool inner_reduced;
    int64_t rounds; /* product of reduced_dims */
    int64_t count; /* elements that meet in one output */
    int64_t lanes_units; /* units along inner; 1 when it is reduced */
    int64_t n_units;
    int64_t n_out;
};

/* A unit of it: n outputs from `out_at` on, their first elements from `in_at` on. */
struct sc_reduction_unit {
    int64_t in_at, out_at, n;
};

/* axes[d]: whether axis d of the dense input is reduced. */
void sc_reduction_init(struct sc_reduction *reduction, int rank, const int64_t *dims, const bool *axes);
struct sc_reduction_unit sc_reduction_unit(const struct sc_reduction *reduction, int64_t unit);

/* Where the next round of reduced indices starts, relative to the first: call with zeroed index and offset 0. */
int64_t sc_reduction_next(const struct sc_reduction *reduction, int64_t *index, int64_t offset);

/* Units that make one part of a parallel loop, and how many parts that gives. From the shape alone. */
int64_t sc_reduction_part(const struct sc_reduction *reduction, int64_t *n_parts);

#endif
