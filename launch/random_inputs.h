/* SPDX-License-Identifier: Apache-2.0
 * Inputs for runs whose answers do not matter. */
#ifndef SC_LAUNCH_RANDOM_INPUTS_H
#define SC_LAUNCH_RANDOM_INPUTS_H

#include "model/model.h"

/* One tensor for every graph input without a default, of declared type and dims: symbols as "NAME=N" items of `dims` say, else 1.
 * Floats are uniform in [-1, 1), integers and bools 0 or 1 (valid as ids and as masks), by `seed` alone.
 * SC_UNSUPPORTED for an input that is no tensor, has no declared rank or is of another type. All in the arena. */
enum sc_status sc_random_inputs(const struct sc_model *model, uint64_t seed, int n_dims, const char *const *dims,
    struct sc_arena *arena, const struct sc_value ***values, struct sc_fact **facts);

#endif
