/* SPDX-License-Identifier: Apache-2.0
 * A plan: which rank runs which nodes. */
#ifndef SC_PARTITIONER_PLAN_H
#define SC_PARTITIONER_PLAN_H

#include "model/model.h"

struct sc_plan_stage {
    int n_ranks;
    int *ranks; /* today one: replication comes with more */
    double seconds; /* predicted busy time a microbatch; a decoder's: a step */
    double chunk_seconds; /* and for a chunk of a prompt; 0: not known, or no decoder */
    int64_t weight_bytes, packed_bytes, activation_bytes, state_bytes;
    int n_nodes;
};

/* What a decoder's plan is made for; any other model's is for its microbatches, which are all alike. */
enum sc_plan_aim {
    SC_PLAN_FOR_BOTH, /* a step and a chunk of a prompt in turn, as when texts come and go */
    SC_PLAN_FOR_STEPS,
    SC_PLAN_FOR_PROMPTS
};

/* Stages are numbered in a topological order of the quotient graph. Everything is in `arena`. */
struct sc_plan {
    struct sc_arena arena;
    uint64_t fingerprint; /* of the model; 0 in a file written by hand without one */
    int n_stages;
    struct sc_plan_stage *stages;
    int n_nodes; /* nodes of the file's main graph */
    int *stage_of; /* by file node; -1: removed by a pass before the cut */
    bool latency; /* made to minimise the sum of the stages instead of the slowest */
    enum sc_plan_aim aim;
    double bound_seconds; /* no plan of this model with as many stages has a slowest stage of less load; 0: not known */
    const char *note; /* why fewer stages than ranks, or NULL */
};

void sc_plan_free(struct sc_plan *plan); /* safe on NULL */

/* The stage of a node after passes: that of its last origin. -1 for nodes without one. */
int sc_plan_stage_of(const struct sc_plan *plan, const struct sc_node *node);

/* "both", "steps" or "prompts", as plan.json and `plan --for` call it. */
const char *sc_plan_aim_name(enum sc_plan_aim aim);

/* Of a decoder, whose plan tells steps from chunks of prompts. */
bool sc_plan_has_chunks(const struct sc_plan *plan);

/* A stage's busy time by what the plan is made for: a step, a chunk, or both; and that of the slowest. */
double sc_plan_load(const struct sc_plan *plan, const struct sc_plan_stage *stage);
double sc_plan_slowest(const struct sc_plan *plan);

/* Renumbers the stages in a topological order of their quotient graph, the present order where it is one.
 * Fails with SC_BAD_INPUT, naming the values of a cycle, when there is no such order, and naming the node when a live
 * one has no stage. `what` names the plan in messages. */
enum sc_status sc_plan_order(struct sc_plan *plan, const struct sc_graph *graph, const char *what);

/* plan.json: made to be read and edited. A node is named by its first output (nodes of functions and branches too,
 * instead of the node that they replace), a run of nodes in file order may be written "first..last". Reading checks
 * that every node is named once (in a stage or under "removed"), that stages are orderable (those of a
 * file may stand in any order), and the fingerprint when there is one; SC_BAD_INPUT names the plan file, stage and
 * value. The text is free()d by the caller.
 *   {"format": 1, "model": "0123456789abcdef", "objective": "throughput", "bound_ms": 1.5, "stages": [
 *       {"ranks": [0], "ms": 1.6, "weight_bytes": 4096, "nodes": ["first..last", "single", ...]}, ...]}
 * A decoder's has "chunk_ms" beside "ms", and "for": "steps" or "prompts" when it is made for these alone. */
enum sc_status sc_plan_write(const struct sc_plan *plan, const struct sc_model *model, char **text);
enum sc_status sc_plan_read(const char *path, const struct sc_model *model, struct sc_plan **plan);

/* What the model file's own annotations say (model->file_node_stages is not NULL): stage k on rank k, or runs of stages
 * on a rank when there are fewer. SC_BAD_INPUT names a stage number that makes no sense, and as sc_plan_order does. */
enum sc_status sc_plan_annotated(const struct sc_model *model, int n_ranks, struct sc_plan **plan);

/* As flat bytes (malloc), for the broadcast from rank 0; both ends have the same byte order. Unpacking checks as much
 * as reading does. */
enum sc_status sc_plan_pack(const struct sc_plan *plan, void **bytes, size_t *n_bytes);
enum sc_status sc_plan_unpack(const void *bytes, size_t n_bytes, const struct sc_model *model, struct sc_plan **plan);

/* An edge carries values of one producer stage to one consumer stage. Stage -1 as producer is the caller (graph
 * inputs), as consumer the caller too (graph outputs). The one derivation of edges, for runtime, report and split
 * alike. */
struct sc_plan_edge {
    int from, to;
    int n_values;
    int *values; /* indices in graph->values */
};

/* Edges in order of (from, to), their values ascending; state pairs' values are left out (`is_state` by value index,
 * may be NULL). Weights are no edges, nor are inputs with a default: each stage that reads one keeps it. What bodies of
 * control flow capture is read by their node. A graph output that no node makes (an input or a weight) comes from stage
 * 0. A stage that reads nothing gets an edge from -1 with no values: it is told when to run. */
enum sc_status sc_plan_edges(const struct sc_plan *plan, const struct sc_graph *graph, const bool *is_state,
    struct sc_arena *arena, int *n_edges, struct sc_plan_edge **edges);

#endif
