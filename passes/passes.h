/* SPDX-License-Identifier: Apache-2.0
 * Rewrites of a graph before the cut. */
#ifndef SC_PASSES_PASSES_H
#define SC_PASSES_PASSES_H

#include "exec/infer.h"

/* Passes never look at the plan, so that every number of ranks computes the same. They may remove values, never rename
 * one; a node keeps the file nodes it came from. They read the content of small weights only. Each is one file, with
 * its picture.
 *
 *   sc_model_open ──► sc_passes_rewrite ──► state pairs are found and marked ──► sc_passes_run ──► partitioner
 */

/* What the model is made of, in order: functions become their nodes, then the graph is checked (sc_check_graph).
 * Afterwards every node is an operator that there is a kernel for. Does nothing the second time. */
enum sc_status sc_passes_rewrite(struct sc_model *model);

/* What follows from facts, in order: infer, fold, identity, dead. The graph's values have their facts afterwards. Fails
 * as infer does: this is also where a model's types and shapes are found to be wrong. */
enum sc_status sc_passes_run(struct sc_model *model, const struct sc_kernels *kernels);

enum sc_status sc_pass_functions(struct sc_model *model);
enum sc_status sc_pass_infer(struct sc_graph *graph, const struct sc_kernels *kernels);
enum sc_status sc_pass_fold(struct sc_graph *graph);
enum sc_status sc_pass_identity(struct sc_graph *graph);
enum sc_status sc_pass_dead(struct sc_graph *graph);

#endif
