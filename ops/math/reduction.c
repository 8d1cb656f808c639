/* SPDX-License-Identifier: Apache-2.0
 * Collapses the axes of a reduction into alternating kept and reduced ones. */
#include "ops/math/reduce.h"

#include "ops/broadcast.h"

void sc_reduction_init(struct sc_reduction *reduction, int rank, const int64_t *dims, const bool *axes)
{
    int64_t group[SC_MAX_RANK];
    bool reduced[SC_MAX_RANK];
    int n = 0;
    *reduction = (struct sc_reduction){.rounds = 1, .count = 1, .inner = 1, .n_out = 1};
    for (int d = 0; d < rank; d++) {
        if (axes[d]) {
            reduction->count *= dims[d];
        } else {
            reduction->n_out *= dims[d];
        }
        if (dims[d] == 1) {
            continue;
        }
        if (n > 0 && reduced[n - 1] == axes[d]) {
            group[n - 1] *= dims[d];
        } else {
            group[n] = dims[d];
            reduced[n++] = axes[d];
        }
    }
    if (n > 0) {
        reduction->inner = group[--n];
        reduction->inner_reduced = reduced[n];
    }
    int64_t step = reduction->inner;
    int64_t steps[SC_MAX_RANK];
    for (int g = n - 1; g >= 0; g--) {
        steps[g] = step;
        step *= group[g];
    }
    int64_t outer = 1;
    for (int g = 0; g < n; g++) {
        if (reduced[g]) {
            reduction->reduced_dims[reduction->n_reduced] = group[g];
            reduction->reduced_steps[reduction->n_reduced++] = steps[g];
            reduction->rounds *= group[g];
        } else {
            reduction->kept_dims[reduction->n_kept] = group[g];
            reduction->kept_steps[reduction->n_kept++] = steps[g];
            outer *= group[g];
        }
    }
    reduction->lanes_units = reduction->inner_reduced ? 1 : (reduction->inner + SC_REDUCE_LANES - 1) / SC_REDUCE_LANES;
    reduction->n_units = outer * reduction->lanes_units;
}

struct sc_reduction_unit sc_reduction_unit(const struct sc_reduction *reduction, int64_t unit)
{
    int64_t outer = unit / reduction->lanes_units;
    const int64_t lane = unit % reduction->lanes_units * SC_REDUCE_LANES;
    struct sc_reduction_unit result = {.n = 1, .out_at = outer};
    if (!reduction->inner_reduced) {
        result.n = reduction->inner - lane < SC_REDUCE_LANES ? reduction->inner - lane : SC_REDUCE_LANES;
        result.out_at = outer * reduction->inner + lane;
        result.in_at = lane;
    }
    for (int k = reduction->n_kept - 1; k >= 0; k--) {
        result.in_at += outer % reduction->kept_dims[k] * reduction->kept_steps[k];
        outer /= reduction->kept_dims[k];
    }
    return result;
}

int64_t sc_reduction_next(const struct sc_reduction *reduction, int64_t *index, int64_t offset)
{
    for (int k = reduction->n_reduced - 1; k >= 0; k--) {
        offset += reduction->reduced_steps[k];
        if (++index[k] < reduction->reduced_dims[k]) {
            return offset;
        }
        offset -= reduction->reduced_steps[k] * reduction->reduced_dims[k];
        index[k] = 0;
    }
    return offset;
}

int64_t sc_reduction_part(const struct sc_reduction *reduction, int64_t *n_parts)
{
    const int64_t lanes = reduction->n_units > 0 ? reduction->n_out / reduction->n_units : 0;
    const int64_t work = (lanes > 0 ? lanes : 1) * (reduction->count > 0 ? reduction->count : 1);
    const int64_t units = work >= SC_BROADCAST_PART ? 1 : SC_BROADCAST_PART / work;
    *n_parts = (reduction->n_units + units - 1) / units;
    return units;
}
