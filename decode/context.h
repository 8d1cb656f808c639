/* SPDX-License-Identifier: Apache-2.0
 * How many positions a decoder may reach. */
#ifndef SC_DECODE_CONTEXT_H
#define SC_DECODE_CONTEXT_H

#include "model/graph.h"
#include "runtime/state.h"

/* *context in: what was asked for, 0: nothing. Out: that, or all that the graph has room for (the rows of its rotary
 * tables, what its caches are allowed), 4096 where that is more or not known. Fails with SC_BAD_USAGE when more was
 * asked for than there is room for. */
enum sc_status sc_context_settle(
    const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs, int64_t *context);

/* The most positions that the graph has room for; INT64_MAX: nothing in it tells. */
int64_t sc_context_most(const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs);

#endif
