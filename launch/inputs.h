/* SPDX-License-Identifier: Apache-2.0
 * Graph inputs from the command line: files, and sizes of named dims. */
#ifndef SC_LAUNCH_INPUTS_H
#define SC_LAUNCH_INPUTS_H

#include "model/model.h"

/* Reads "NAME=FILE" items (.npy or .pb). values: one per graph input, NULL for inputs that take their default. facts: of the
 * same, for planning. Whether a value fits the graph's declaration is checked where it is submitted. SC_BAD_USAGE for a
 * malformed item or an unknown name, SC_BAD_INPUT for a missing one. All in the arena. */
enum sc_status sc_inputs_read(const struct sc_model *model, int n_items, const char *const *items,
    struct sc_arena *arena, const struct sc_value ***values, struct sc_fact **facts);

/* "NAME=N" items: gives every symbolic dim of the facts its size; those not named become 1. */
enum sc_status sc_inputs_settle_dims(
    const struct sc_model *model, int n_items, const char *const *items, int n_facts, struct sc_fact *facts);

#endif
