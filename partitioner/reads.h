/* SPDX-License-Identifier: Apache-2.0
 * What a node reads, captured values included. */
#ifndef SC_PARTITIONER_READS_H
#define SC_PARTITIONER_READS_H

#include "model/graph.h"

/* The values of `graph` that its node reads: its inputs, and what bodies of control flow capture, at any depth (a value
 * captured by an inner body is one of the outer body's SC_PLACE_OUTER values too). Ascending, each once, in the
 * arena. */
enum sc_status sc_node_reads(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, int *n_values, int **values);

/* Every body of a node, bodies inside bodies too, in the arena. */
enum sc_status sc_node_bodies(
    const struct sc_node *node, struct sc_arena *arena, int *n_bodies, const struct sc_graph ***bodies);

#endif
