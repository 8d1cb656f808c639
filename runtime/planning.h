/* SPDX-License-Identifier: Apache-2.0
 * From a model with states to a plan: what a session does on rank 0, and `stagecoach plan` without ranks. */
#ifndef SC_RUNTIME_PLANNING_H
#define SC_RUNTIME_PLANNING_H

#include "ops/op.h"
#include "partitioner/partition.h"
#include "runtime/state.h"

struct sc_planning {
    int n_ranks;
    int n_stages; /* forced; 0: as many of the ranks as are worth having */
    bool fewer; /* than n_stages where the graph has fewer nodes to cut between, in place of an error */
    const char *plan_path; /* read from here; NULL: made */
    bool random;
    uint64_t random_seed;
    const int64_t *memory; /* bytes of each rank, 0: not limited; NULL: none is */
    int n_slots;
    int64_t context;
    int64_t past; /* positions that caches are expected to hold; 0: half of the context */
    int64_t n_pages; /* of the caches; 0: enough for all slots */
    int n_pairs;
    const struct sc_state_pair *pairs;
    const struct sc_fact *input_facts; /* per graph input; NULL: as declared, unknown dims as 1 */
    /* Per graph input: of a chunk of a prompt, where input_facts are of a step; NULL: microbatches are alike. Not
     * looked at behind an encoder, whose work is once for a text. */
    const struct sc_fact *chunk_facts;
    enum sc_plan_aim aim;
    const struct sc_kernels *kernels;
};

/* The graph's values, after passes, at the size to plan for: facts (one per value, in the arena), and the plan with its
 * predictions. States stay with the nodes that read and append to them. */
enum sc_status sc_planning_make(struct sc_model *model, const struct sc_planning *planning, const bool *is_state,
    struct sc_arena *arena, struct sc_fact **facts, struct sc_plan **plan);

/* is_state, by value, and the facts of inputs that are paged states, before passes run. In the arena. */
enum sc_status sc_planning_mark_states(
    struct sc_model *model, int n_pairs, const struct sc_state_pair *pairs, struct sc_arena *arena, bool **is_state);

#endif
