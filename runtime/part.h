/* SPDX-License-Identifier: Apache-2.0
 * The two parts of a graph that makes constant states. */
#ifndef SC_RUNTIME_PART_H
#define SC_RUNTIME_PART_H

#include "runtime/state.h"

/* A microbatch that adds positions runs the steps. Where the graph makes constant states, one that adds none makes
 * those, of what an encoder says; the values of the other part are then none at all on every edge. */
enum sc_part { SC_PART_STEPS, SC_PART_ENCODER, SC_PARTS };

/* 1 where no pair is constant: steps alone. */
int sc_parts_count(int n_pairs, const struct sc_state_pair *pairs);

/* in_part: [n_values + 1]: what the outputs of the part need, and what nodes that are there for them make besides;
 * steps alone have everything. */
void sc_part_mark(
    const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs, enum sc_part part, bool *in_part);

/* Whether the part has the node: for something that it makes. */
bool sc_part_runs(const struct sc_node *node, const bool *in_part);

#endif
