/* SPDX-License-Identifier: Apache-2.0
 * Outputs of many pieces as one tensor each: stacked along a new first axis or, where --join says so, one behind the
 * other along an axis that they have. */
#ifndef SC_LAUNCH_JOINED_H
#define SC_LAUNCH_JOINED_H

#include "launch/options.h"
#include "launch/outputs.h"
#include "model/model.h"

struct sc_joined_output {
    const char *name;
    bool left; /* the caller has it: it is a state */
    bool stacked;
    int axis; /* as it was said: negative ones count from the last; once a piece has come, of `all` */
    int64_t n; /* pieces that have come */
    int64_t step; /* what the first has along the axis */
    int64_t last; /* what the latest has */
    struct sc_value all; /* a tensor of the dims of all that have come, without elements */
    struct sc_growing_output file;
};

/* Of all graph outputs, in order; zeros: none. */
struct sc_joined {
    int n;
    struct sc_joined_output *outputs; /* in the arena */
    struct sc_outputs *folder; /* where files go; NULL: there are none */
};

/* --join; SC_BAD_USAGE for what is no output and its axis. */
enum sc_status sc_joined_parse(
    const struct sc_model *model, const struct sc_options *options, struct sc_arena *arena, struct sc_joined *joined);

/* The outputs of the next piece, of all that are not left. SC_UNSUPPORTED for one that is no tensor, SC_BAD_INPUT for
 * dims that do not go with those before, naming output and piece. Nothing of them is kept in memory. */
enum sc_status sc_joined_add(struct sc_joined *joined, const struct sc_value *const *values);

/* After the last piece: the file of one output, if there are files. */
enum sc_status sc_joined_end(struct sc_joined_output *output);

void sc_joined_release(struct sc_joined *joined); /* safe on zeros */

#endif
