/* SPDX-License-Identifier: Apache-2.0
 * What every rank did when, on one clock. */
#ifndef SC_RUNTIME_TRACE_H
#define SC_RUNTIME_TRACE_H

#include "base/activity.h"
#include "comm/world.h"

/* One phase of one rank, on that rank's monotonic clock. */
struct sc_trace_event {
    int64_t start_ns, end_ns, seq;
    int32_t phase, stage;
};

/* A buffer of fixed size, filled by the thread that drives the session; what does not fit is counted. Zeros: off. */
struct sc_trace {
    struct sc_trace_event *events;
    int64_t n, capacity, n_dropped;
};

enum sc_status sc_trace_start(struct sc_trace *trace, int64_t capacity);
void sc_trace_release(struct sc_trace *trace);

/* Enters a phase and, when the trace is on, records the one that ends. Allocates nothing. */
void sc_trace_enter(struct sc_trace *trace, struct sc_activity *activity, enum sc_phase phase, int stage, int64_t seq);

/* Writes all ranks' events to path on rank 0, as Chrome trace JSON, which Perfetto opens: one process a rank, times in
 * microseconds from the first event. Clocks of other hosts are brought to rank 0's by the fastest of some round trips.
 * Collective; no message of a session may be under way. Fails together on all ranks. */
struct sc_session;
enum sc_status sc_trace_write(struct sc_session *session, const char *path);

#endif
