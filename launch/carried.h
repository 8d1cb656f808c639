/* SPDX-License-Identifier: Apache-2.0
 * States that `run` is given in .npy files: they go to the ranks that compute with them in pieces, and so do the states
 * that these become come back, so that rank 0 needs memory for a piece. */
#ifndef SC_LAUNCH_CARRIED_H
#define SC_LAUNCH_CARRIED_H

#include "launch/inputs.h"
#include "launch/outputs.h"

/* Pairs of an input and the output that continues it, for the session. */
struct sc_carried {
    int n;
    struct sc_state_pair *pairs;
    struct sc_state_pair *empty; /* the same, with the dims of one that holds nothing yet */
    int *inputs; /* which graph input a pair's is */
    int64_t n_runs; /* microbatches that go on from it, one from the other */
};

/* On every rank alike, from the model and the request alone: inputs of .npy files whose continuation is an output, and
 * of a request that cuts inputs into pieces all that have one. None else where files of outputs are to be .pb. In the
 * arena. */
enum sc_status sc_carried_find(struct sc_model *model, const struct sc_input_request *request,
    enum sc_output_format format, struct sc_arena *arena, struct sc_carried *carried);

/* What a session that carries them is opened for, and a microbatch of it, counted from 0. */
void sc_carried_options(const struct sc_carried *carried, struct sc_session_options *options);
void sc_carried_row(const struct sc_carried *carried, int64_t run, struct sc_microbatch *microbatch);

/* The pair that has this output; -1: none. */
int sc_carried_of_output(const struct sc_carried *carried, int value);

/* Rank 0, before the microbatch. The states are inputs no more. */
enum sc_status sc_carried_send(const struct sc_carried *carried, struct sc_session *session, struct sc_inputs *inputs);

/* Rank 0, after it: what the state has become, without its elements, and its file. */
enum sc_status sc_carried_shape(struct sc_session *session, int pair, struct sc_value *shape);
enum sc_status sc_carried_write(
    struct sc_session *session, int pair, const char *name, const struct sc_value *shape, struct sc_outputs *outputs);

#endif
