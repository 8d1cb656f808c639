/* SPDX-License-Identifier: Apache-2.0
 * Ends the process when this rank, or one that it watches, stands still. For programs: the library never starts one. */
#ifndef SC_RUNTIME_WATCHDOG_H
#define SC_RUNTIME_WATCHDOG_H

#include "base/activity.h"
#include "comm/world.h"

/* A thread that makes no MPI call. It writes one line that names rank, host, stage and node to stderr, then _exit(1),
 * and the launcher ends the others, when for `timeout`
 *   - worker 0 holds work (it loads, computes or sends) and neither its tick nor its node has changed,
 *   - a rank that this one watches (comm/pulse.h) has given no sign of life,
 *   - MPI does not start or does not end, and a rank of this host is stopped; without one to be seen, ten seconds
 *     later.
 * Only time in which it ran itself counts: a process that was suspended begins anew.
 *
 *   start ──► (world opens) ──► world ──► sessions attach, detach ──► (world is freed) ──► stop */
struct sc_watchdog;

/* who: begins each line, as "stagecoach run"; borrowed. */
enum sc_status sc_watchdog_start(int64_t timeout_ns, const char *who, struct sc_watchdog **watchdog);
void sc_watchdog_stop(struct sc_watchdog *watchdog); /* safe on NULL */

/* The world is open: ranks watch each other. Collective. */
enum sc_status sc_watchdog_world(struct sc_watchdog *watchdog, struct sc_world *world);

/* What this rank does is told by `activity` until detach; safe on a watchdog that is NULL.
 *   node_name: of a step of a stage of this rank, from the watchdog's thread; NULL: steps are numbered */
void sc_watchdog_attach(struct sc_watchdog *watchdog, const struct sc_activity *activity,
    const char *(*node_name)(const void *arg, int stage, int node), const void *arg);
void sc_watchdog_detach(struct sc_watchdog *watchdog);

#endif
