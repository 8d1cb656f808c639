/* SPDX-License-Identifier: Apache-2.0
 * What the values of one run look like, for given dims of the inputs. For the files of exec/ alone. */
#ifndef SC_EXEC_LAYOUT_H
#define SC_EXEC_LAYOUT_H

#include "exec/step.h"

/* Made for a set of input dims; made anew for others it takes no memory that it did not have before. A step is planned
 * when all of its dims are known beforehand: its outputs have places in the frame's block (placement.h). The others are
 * settled while the frame runs. */
struct sc_layout {
    struct sc_arena arena;
    struct sc_fact *inputs; /* the facts it was made for; NULL: for none */
    struct sc_fact *facts; /* by slot; known values are kept, they are used by steps settled at run time */
    struct sc_value *templates; /* by slot: kind, type, dims, dense strides */
    bool *planned; /* by step */
    int64_t scratch_bytes;
    int64_t used; /* when it was last used, for replacing the oldest */
    int64_t placed; /* the placement that it was found to fit: its number */
};

/* layout: zeros, or one that was made before. inputs: facts of the program's inputs, without known values; values: the
 * inputs of the run at hand, whose states size scratch. */
enum sc_status sc_layout_make(const struct sc_program *program, const struct sc_fact *inputs,
    const struct sc_value *const *values, struct sc_team *team, struct sc_layout *layout);
void sc_layout_release(struct sc_layout *layout);

/* A tensor or state value with the dims of a fact and no data. */
enum sc_status sc_value_of_fact(struct sc_arena *arena, const struct sc_fact *fact, struct sc_value *value);

#endif
