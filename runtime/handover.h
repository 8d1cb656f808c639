/* SPDX-License-Identifier: Apache-2.0
 * From the stages of the prefill plan to the stores of the main one; for the files of runtime/ alone. */
#ifndef SC_RUNTIME_HANDOVER_H
#define SC_RUNTIME_HANDOVER_H

#include "runtime/stage.h"

/* What a layer of a stage adds to its states goes, as soon as the layer's step is done, along an edge of its own to the
 * stage of the main plan that owns the states there. The owner is a stage more of the prefill plan, without nodes: it
 * puts what comes into its store, and tells the caller once it has all of a microbatch. So windows, poison, the order
 * of slots that are dropped and the end work as along all edges, and a microbatch that is delivered has been handed
 * over. What an encoder makes goes the same way; an edge brings nothing of pairs that are not of the part that runs.
 *
 * Stage n + d of the prefill plan, which has n stages, is the owner that is stage d of the main plan. */

/* Adds the edges to those of the prefill plan. */
enum sc_status sc_handover_edges(struct sc_session *session, struct sc_pipe *pipe);

/* A part of a stage that is compiled: which edges leave after which step. */
enum sc_status sc_giver_make(
    struct sc_session *session, struct sc_pipe *pipe, struct sc_stage *stage, enum sc_part part);

/* The stage is about to run a part for a microbatch. */
void sc_giver_begin(struct sc_giver *giver, const struct sc_microbatch *microbatch, enum sc_part part);

/* For frames: after a step of the stage whose giver `arg` is. */
enum sc_status sc_giver_on_step(void *arg, int step);

/* What has not left yet, or poison along its edges. */
enum sc_status sc_giver_finish(struct sc_giver *giver, const struct sc_error *poison);

/* The owners on this rank, once the stages are there. */
enum sc_status sc_takers_make(struct sc_session *session, struct sc_pipe *pipe);

/* Takes in what there is. *did: there was something. */
enum sc_status sc_takers_step(struct sc_session *session, struct sc_pipe *pipe, bool *did);

#endif
