/* SPDX-License-Identifier: Apache-2.0
 * Cutting a weighted directed graph into convex stages. Knows nothing of models. */
#ifndef SC_PARTITIONER_CUT_H
#define SC_PARTITIONER_CUT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct sc_cut_node {
    double seconds; /* compute */
    int64_t memory_bytes; /* weights and state that its stage keeps */
    int64_t output_bytes; /* what sending its output once moves */
    int group; /* nodes of one group >= 0 stay in one stage; -1: free */
};

struct sc_cut_edge {
    int from, to;
};

/* A weight that several nodes read: every stage with a reader keeps a copy, so it is not in their memory_bytes. */
struct sc_cut_use {
    int node, weight;
};

struct sc_cut_problem {
    int n_nodes, n_edges;
    const struct sc_cut_node *nodes; /* any order; the graph must be acyclic. Groups whose joining makes a cycle are
                                        joined with everything on that cycle */
    const struct sc_cut_edge *edges;
    int n_stages;
    const int64_t *memory_limit; /* per stage; 0: none */
    const double *speed; /* per stage, relative; NULL: all 1 */
    double link_bytes_per_second, link_seconds; /* a stage pays for what it receives and sends, once per producer and
                                                   side; no bandwidth (0): only link_seconds */
    bool exact_stages; /* exactly n_stages non-empty ones; else as few as give the best slowest stage */
    bool fewer; /* where the graph has fewer separable nodes than n_stages, as many stages as it has, and no error */
    bool latency; /* minimise the sum instead of the largest */
    int n_weights, n_uses; /* shared weights; zeros: none */
    const int64_t *weight_bytes;
    const struct sc_cut_use *uses; /* a pair may be listed twice */
};

struct sc_cut_result {
    int n_stages;
    int *stage_of; /* per node, in the caller's array of n_nodes */
    double slowest_seconds;
    double bound_seconds; /* proven: no partition has a faster slowest stage */
};

/* Slices of several good topological orders, each cut exactly by a dynamic programme (over a thinned set of places
 * where the order has too many), then improved by moving single nodes between stages. Groups are never divided. A graph
 * with few downsets, a chain above all, is solved exactly: the bound then is the value. Among equal slowest stages
 * fewer stages are taken (unless exact_stages), then the more even partition. result->stage_of is the caller's, stages
 * are numbered in a topological order of the quotient graph. Fails with SC_LIMIT when nothing fits, saying how much
 * memory would; with SC_BAD_INPUT for a cycle, for numbers that make no sense, and with exact_stages (and without
 * `fewer`) for more stages than separable nodes. */
enum sc_status sc_cut_solve(const struct sc_cut_problem *problem, struct sc_cut_result *result);

/* A random partition into exactly n_stages convex stages with an acyclic quotient, by seed (`fewer` as above): for
 * tests of "any plan". Memory limits are not looked at. */
enum sc_status sc_cut_random(const struct sc_cut_problem *problem, uint64_t seed, struct sc_cut_result *result);

/* What a partition with edges forward costs: busy seconds and memory bytes of each of problem->n_stages stages. Groups
 * are not looked at. */
enum sc_status sc_cut_measure(
    const struct sc_cut_problem *problem, const int *stage_of, double *busy_seconds, int64_t *memory_bytes);

#endif
