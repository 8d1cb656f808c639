/* SPDX-License-Identifier: Apache-2.0
 * Worker threads that share out the parts of a loop. */
#ifndef SC_BASE_TEAM_H
#define SC_BASE_TEAM_H

#include "base/error.h"

/* Worker 0 is the thread that calls; the others wait for it: they spin for some microseconds, then sleep.
 * Parts are numbered; their count comes from the shape of the work, never from n_workers, so that results
 * do not depend on the number of threads. Which worker runs which part is left open.
 * Between parts worker 0 calls `progress` (messages, heartbeats), so a part should take under half a millisecond. */
struct sc_team;

typedef void sc_part_fn(void *arg, int64_t part, int worker);

struct sc_team_options {
    int n_workers; /* at least 1 */
    void (*on_start)(void *arg, int worker); /* run once on each worker, 0 in the caller: binds it; NULL: none */
    void *on_start_arg;
};

enum sc_status sc_team_create(const struct sc_team_options *options, struct sc_team **team);
void sc_team_free(struct sc_team *team);

/* Number of workers; 1 for NULL: a NULL team runs everything in the caller. */
int sc_team_size(const struct sc_team *team);

/* Runs fn(arg, part, worker) for every part in [0, n_parts), and returns when all are done. Never nested. Allocates
 * nothing. */
void sc_team_for(struct sc_team *team, int64_t n_parts, sc_part_fn *fn, void *arg);

/* What worker 0 calls between parts and while it waits; NULL: nothing. */
void sc_team_set_progress(struct sc_team *team, void (*progress)(void *arg), void *arg);

/* Calls it now: for long loops that worker 0 runs alone. Safe on NULL. */
void sc_team_make_progress(const struct sc_team *team);

/* Runs fn(arg) on one more thread, while worker 0, which calls, makes progress every half millisecond: for work that
 * takes long and has no short parts. There fn is worker 0 and may use the team; progress is left to the caller. Some 30
 * us are lost. Runs fn here when there is no progress to make, and within such work. */
enum sc_status sc_team_relieve(struct sc_team *team, enum sc_status (*fn)(void *arg), void *arg);

#endif
