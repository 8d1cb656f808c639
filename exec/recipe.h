/* SPDX-License-Identifier: Apache-2.0
 * Weights that operators make of others, on the rank that owns them. */
#ifndef SC_EXEC_RECIPE_H
#define SC_EXEC_RECIPE_H

#include "exec/program.h"

/* What holds the content of such a weight; zeros hold nothing. */
struct sc_making {
    struct sc_program *program;
    struct sc_frame *frame;
};

/* Runs the graph of a recipe, as a program of this spec would: the tensor is valid until the close, which is due after
 * a failure too. */
enum sc_status sc_recipe_open(const struct sc_program_spec *spec, const struct sc_recipe *recipe, struct sc_team *team,
    struct sc_making *making, struct sc_tensor *tensor);
void sc_recipe_close(struct sc_making *making); /* safe on zeros, and twice */

#endif
