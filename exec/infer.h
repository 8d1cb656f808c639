/* SPDX-License-Identifier: Apache-2.0
 * Facts of every value of a graph from facts of its inputs. */
#ifndef SC_EXEC_INFER_H
#define SC_EXEC_INFER_H

#include "model/model.h"
#include "ops/op.h"

/* facts has graph->n_values entries. The caller sets those of inputs (others unknown); initializers are filled in here.
 * Pure nodes whose inputs are all known values and small are evaluated, so that chains of shape arithmetic give known
 * values. A value that depends on data keeps unknown dims. Fails as infer fails, naming the node. `arena` holds the
 * known values. */
enum sc_status sc_infer_graph(
    const struct sc_graph *graph, const struct sc_kernels *kernels, struct sc_arena *arena, struct sc_fact *facts);

#endif
