/* SPDX-License-Identifier: Apache-2.0
 * Sizes of dims that a model leaves open: by -d and by the tensors that are given. */
#ifndef SC_LAUNCH_DIMS_H
#define SC_LAUNCH_DIMS_H

#include "model/model.h"

/* init ──► add (every -d) ──► bind (every given tensor) ──► require or fill. Everything is in the caller's arena. */
struct sc_dims {
    const struct sc_model *model;
    int64_t *sizes; /* by symbol; -1: not known yet */
    struct sc_fact *facts; /* per graph input, without contents */
};

enum sc_status sc_dims_init(const struct sc_model *model, struct sc_arena *arena, struct sc_dims *dims);

/* "NAME=N": the size of every dim of that name; "INPUT=NxNx...": the whole shape of an input. Fails with SC_BAD_USAGE
 * for what is neither, unknown names and sizes that contradict the model or each other. */
enum sc_status sc_dims_add(struct sc_dims *dims, const char *item);
enum sc_status sc_dims_add_all(struct sc_dims *dims, int n, const char *const *items);

/* A value for input i: its type, rank and dims must be those declared, and one size for each name. SC_BAD_INPUT names
 * the input, the dim, what it has and what is wanted. */
enum sc_status sc_dims_bind(struct sc_dims *dims, int input, const struct sc_value *value);

/* Every dim of input i has a size now, or SC_BAD_USAGE says which has none and how to give it. */
enum sc_status sc_dims_require(struct sc_dims *dims, int input);

/* Every dim that is still open becomes 1. Returns their names, as in "batch, sequence"; "" when there were none. */
enum sc_status sc_dims_fill(struct sc_dims *dims, struct sc_arena *arena, const char **names);

#endif
