/* SPDX-License-Identifier: Apache-2.0
 * Heartbeats: what a rank says of itself, and what it hears of those it watches. */
#ifndef SC_COMM_PULSE_H
#define SC_COMM_PULSE_H

#include <stdbool.h>

#include "base/error.h"

#define SC_PULSE_MOST 2

/* What a rank says with each beat. Texts end with a zero. */
struct sc_beat {
    int64_t seq; /* microbatch, -1: none */
    int32_t rank;
    int32_t phase; /* enum sc_phase */
    int32_t stage; /* -1: none */
    uint8_t away; /* its beats may stop for a while: see sc_world_away */
    uint8_t gone; /* it has left the job in good order */
    char host[64];
    char node[64]; /* the running step; empty: none */
};

/* A rank whose beats come here. */
struct sc_heard {
    int64_t count; /* another number: it lives */
    struct sc_beat beat; /* its last */
};

/* Ranks watch each other in rings: each the one before it on its node, and the one before it in the world when that is
 * on another node. On a node beats go through shared memory, from thread to thread: any thread may say and hear, so
 * they go on whatever worker 0 does. Between nodes worker 0 sends and receives them over MPI, as part of
 * sc_world_progress and sc_world_pause.
 *
 * Made by sc_world_watch. Whoever got it drops it; it outlives its world. */
struct sc_pulse;

void sc_pulse_drop(struct sc_pulse *pulse); /* safe on NULL */

/* This process lives, and is at this. Text is cut. */
void sc_pulse_say(struct sc_pulse *pulse, int phase, int stage, int64_t seq, const char *node);

/* Fills heard, returns how many ranks are watched. */
int sc_pulse_hear(struct sc_pulse *pulse, struct sc_heard heard[SC_PULSE_MOST]);

/* All ranks have finished together; what is left is the end of MPI and of the process. */
bool sc_pulse_ended(const struct sc_pulse *pulse);

#endif
