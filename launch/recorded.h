/* SPDX-License-Identifier: Apache-2.0
 * Models with recorded inputs and outputs, laid out as the official cases are: FOLDER/model.onnx and
 * FOLDER/test_data_set_N/ with input_J.pb and output_J.pb. */
#ifndef SC_LAUNCH_RECORDED_H
#define SC_LAUNCH_RECORDED_H

#include "comm/world.h"
#include "launch/inputs.h"

/* Texts in the caller's arena; `name` itself is freed by sc_names_release. */
struct sc_names {
    int n, capacity;
    char **name;
};

void sc_names_release(struct sc_names *names); /* safe on zeros */

/* Appends `path` to `folders` when it is a folder with a model and data sets, else those of its folders that have a
 * model, sorted. A model file, and a folder with a model alone, go to `alone`. */
enum sc_status sc_recorded_find(
    struct sc_arena *arena, const char *path, struct sc_names *folders, struct sc_names *alone);

/* Rank 0's list to all: other hosts may not have the folders. Collective. */
enum sc_status sc_recorded_share(struct sc_world *world, struct sc_arena *arena, struct sc_names *folders);

/* One folder. The graph is that of its model, before or after passes: they keep inputs and outputs. */
struct sc_recorded {
    const char *folder;
    const struct sc_graph *graph;
    struct sc_names sets; /* names of the data sets in the order of their numbers; at least one */
};

/* Fills in `sets`. */
enum sc_status sc_recorded_list(struct sc_recorded *recorded, struct sc_arena *arena);

/* Values of a data set, in the arena. inputs: one per graph input, NULL for one that is not recorded. */
enum sc_status sc_recorded_inputs(
    const struct sc_recorded *recorded, int set, struct sc_arena *arena, const struct sc_value ***inputs);
enum sc_status sc_recorded_output(
    const struct sc_recorded *recorded, int set, int output, struct sc_arena *arena, struct sc_value *value);

/* For a session that starts with set `first`: values, modes and facts of that set's inputs, and which inputs any set
 * gives. *end: the first set after it with other modes, which needs a session of its own, or how many there are. In the
 * arena. */
enum sc_status sc_recorded_open(
    const struct sc_recorded *recorded, int first, struct sc_arena *arena, struct sc_inputs *inputs, int *end);

#endif
