/* SPDX-License-Identifier: Apache-2.0
 * Where two runs of a graph part: from an output that differs up to the first value that does. */
#ifndef SC_LAUNCH_BISECT_H
#define SC_LAUNCH_BISECT_H

#include "model/graph.h"

/* start ──► probes ──► (look at them) tell ──► probes ... until there are none: `value` then differs, and everything
 * that its node reads does not. Everything is in the caller's arena. */
struct sc_bisect {
    const struct sc_graph *graph;
    struct sc_arena *arena;
    int value; /* known to differ */
    bool *equal; /* by value: known not to */
};

enum sc_status sc_bisect_start(
    const struct sc_graph *graph, int value, struct sc_arena *arena, struct sc_bisect *bisect);

/* Values to look at, at most `most` (at least 2): of those that the value's node reads, and from all above it
 * evenly. */
enum sc_status sc_bisect_probes(struct sc_bisect *bisect, int most, int *n, int *values);
void sc_bisect_tell(struct sc_bisect *bisect, int n, const int *values, const bool *differs);

#endif
