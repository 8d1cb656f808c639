/* SPDX-License-Identifier: Apache-2.0
 * One execution of a program in flight: its values, memory and dims. */
#ifndef SC_EXEC_FRAME_H
#define SC_EXEC_FRAME_H

#include "base/activity.h"
#include "exec/program.h"

/* A frame infers what its values look like for the dims of its inputs when it sees them, and keeps a few such layouts.
 * Places in memory are for the largest dims so far, with some room once they grow: a run with dims that are not larger
 * allocates nothing. Steps whose dims depend on data are settled on the way, in an arena that keeps its memory
 * from run to run.
 *
 *   sc_frame_create ──► sc_frame_run (any number of times) ──► outputs valid until the next run ──► sc_frame_free
 *
 * A frame belongs to one thread at a time, the team's worker 0. */
struct sc_frame;

struct sc_frame_options {
    struct sc_team *team; /* NULL: one thread */
    struct sc_activity *activity; /* NULL: none; the running step is written there */
    enum sc_status (*on_step)(
        void *arg, int step); /* a step is done, of this program and not of bodies; NULL: no matter */
    void *on_step_arg;
};

enum sc_status sc_frame_create(
    const struct sc_program *program, const struct sc_frame_options *options, struct sc_frame **frame);
void sc_frame_free(struct sc_frame *frame); /* safe on NULL */

/* inputs: one per input of the program, borrowed until the outputs were read. seq keys random operators.
 * Fails with the node's error; the frame can be run again. */
enum sc_status sc_frame_run(struct sc_frame *frame, const struct sc_value *const *inputs, int64_t seq);

/* Output i of the last run: dense when a tensor. Borrowed until the next run. */
const struct sc_value *sc_frame_output(const struct sc_frame *frame, int i);

/* Memory for the largest dims so far: activations and scratch. */
size_t sc_frame_bytes(const struct sc_frame *frame);

/* Bytes of packed weights that steps have read in all runs: each step its own once a run, for however many rows. */
int64_t sc_frame_read_weight_bytes(const struct sc_frame *frame);

/* How often places in memory were chosen, for tests. */
int64_t sc_frame_placements(const struct sc_frame *frame);

/* Counters of the last run, for tests: steps that wrote a tensor whose dims include `dim`. */
int sc_frame_steps_writing_dim(const struct sc_frame *frame, int64_t dim);

#endif
