/* SPDX-License-Identifier: Apache-2.0
 * What nodes cost, as the problem that the solver cuts. */
#ifndef SC_PARTITIONER_COST_H
#define SC_PARTITIONER_COST_H

#include "ops/op.h"
#include "partitioner/cut.h"
#include "partitioner/plan.h"

/* How fast a rank and the links between ranks are. */
struct sc_rates {
    double flops; /* arithmetic operations a second */
    double bytes_per_second; /* memory */
    double link_bytes_per_second;
    double link_seconds; /* to send or receive anything at all */
    double node_seconds; /* of a node, however little it does: to call it, to check and place what it reads and makes */
};

/* One core of a current server; stages are only compared with each other, so the ratios matter. */
struct sc_rates sc_rates_default(void);

/* Facts of all values of `graph` (exec/infer.h) with no dim left open: dims that are not known count as 1. In the
 * arena. */
enum sc_status sc_facts_closed(
    const struct sc_graph *graph, const struct sc_fact *facts, struct sc_arena *arena, struct sc_fact **closed);

/* Bytes of a value with closed facts; 0 for what is not a tensor of known type. */
int64_t sc_fact_bytes(const struct sc_fact *fact);

struct sc_node_cost {
    double operations; /* of arithmetic */
    double moved_bytes; /* that it reads and writes */
    double seconds; /* sc_cost_seconds of these; of a node with bodies its own, and those of the bodies' nodes */
    int64_t output_bytes; /* of all its outputs */
    int64_t body_weight_bytes; /* weights of its bodies, which no other node reads */
    int64_t packed_bytes; /* what its kernel keeps of a constant input; 0 when not asked */
};

/* node_seconds + max(operations / flops, bytes / bytes_per_second) */
double sc_cost_seconds(const struct sc_rates *rates, double operations, double bytes);

/* facts: closed. kernels: to ask operators for packed bytes; NULL: do not ask. Views move nothing; control flow counts
 * as the nodes of its bodies, run once: of an If those of the longer branch. Fails when the node's attributes do. */
enum sc_status sc_node_cost(const struct sc_graph *graph, const struct sc_node *node, const struct sc_fact *facts,
    const struct sc_rates *rates, const struct sc_kernels *kernels, struct sc_node_cost *cost);

struct sc_cost_options {
    struct sc_rates rates;
    const int *groups; /* per node of the graph, -1: free; NULL: none */
    const int64_t *state_bytes; /* per node of the graph: what it keeps for the run; NULL: none */
    const double *spared_bytes; /* per node of the graph: moved bytes that are none, as caches hold fewer; NULL: none */
    const double *often; /* per node of the graph: how many times it runs a microbatch; NULL: once */
    const bool *is_state; /* per value: kept by its stage, no activation; NULL: none */
    /* Per value: for a chunk of a prompt, where those of a step are given beside these options; NULL: all
     * microbatches are alike. */
    const struct sc_fact *chunk_facts;
    enum sc_plan_aim aim;
};

/* The live nodes of a graph, with the edges between them and weights that each stage keeps once (exactly). Nodes with
 * the same last origin are grouped, since a plan speaks of those. Where chunks differ from steps a node costs what
 * the aim asks for: one, or the sum of both. Stages and limits are left to the caller.
 * problem and node_of (per problem node: its index in the graph) are in the arena. */
enum sc_status sc_cost_problem(const struct sc_graph *graph, const struct sc_fact *facts,
    const struct sc_cost_options *options, struct sc_arena *arena, struct sc_cut_problem *problem, int **node_of);

#endif
