/* SPDX-License-Identifier: Apache-2.0
 * What a rank is doing now, readable from any thread. */
#ifndef SC_BASE_ACTIVITY_H
#define SC_BASE_ACTIVITY_H

#include <stdatomic.h>
#include <stdint.h>

enum sc_phase { SC_PHASE_IDLE, SC_PHASE_LOAD, SC_PHASE_COMPUTE, SC_PHASE_WAIT, SC_PHASE_SEND };

/* Written by worker 0 with relaxed stores, read by status and fault reports. `tick` grows with every part and poll. */
struct sc_activity {
    _Atomic int32_t phase;
    _Atomic int32_t stage; /* -1: none */
    _Atomic int32_t node; /* index of the step in the stage; -1: none */
    _Atomic int64_t seq;
    _Atomic int64_t since_ns; /* when the phase was entered */
    _Atomic int64_t tick;
    _Atomic int64_t phase_ns[5]; /* time spent in phases that were left, by enum sc_phase */
};

void sc_activity_enter(struct sc_activity *activity, enum sc_phase phase, int stage, int64_t seq);
const char *sc_phase_name(enum sc_phase phase);

#endif
