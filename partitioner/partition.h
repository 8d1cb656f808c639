/* SPDX-License-Identifier: Apache-2.0
 * From a model to a plan. */
#ifndef SC_PARTITIONER_PARTITION_H
#define SC_PARTITIONER_PARTITION_H

#include "partitioner/cost.h"
#include "partitioner/plan.h"

struct sc_partition_options {
    int n_stages; /* at most (exact: exactly) so many; 0: as many as the ranks */
    int n_ranks; /* at least 1 */
    bool fewer; /* a graph of fewer separable nodes gets as many stages as it has, in place of an error */
    bool exact; /* exactly n_stages stages, though fewer be as fast; without: fewer when more gain under 3 % */
    bool random; /* a random plan of exactly n_stages (or n_ranks) stages by seed, for tests */
    uint64_t seed;
    bool latency; /* minimise the sum of the stages */
    const int64_t *memory; /* by rank: bytes for weights and state, 0: not limited; NULL: none is */
    struct sc_cost_options costs;
    const struct sc_kernels *kernels; /* to ask operators for packed bytes; NULL: not asked, they count as 0 */
};

/* Options with default rates, for n_ranks ranks. */
struct sc_partition_options sc_partition_options_default(int n_ranks);

/* The plan of model->graph, or of another graph of the same file (a mode). facts: one per value, as at the size to plan
 * for. Stage i runs on rank i; with more stages than ranks each rank has a run of stages, balanced by cost. A model
 * with no nodes left gets one stage without nodes. Fails with SC_LIMIT when nothing fits, saying how much memory
 * would. */
enum sc_status sc_partition(const struct sc_model *model, const struct sc_graph *graph, const struct sc_fact *facts,
    const struct sc_partition_options *options, struct sc_plan **plan);

/* Fills in the predictions of a plan made elsewhere (a file without them): seconds and bytes of its stages. */
enum sc_status sc_plan_predict(struct sc_plan *plan, const struct sc_graph *graph, const struct sc_fact *facts,
    const struct sc_cost_options *costs, const struct sc_kernels *kernels);

#endif
