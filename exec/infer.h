/* SPDX-License-Identifier: Apache-2.0
 * Facts of every value of a graph from facts of its inputs. */
#ifndef SC_EXEC_INFER_H
#define SC_EXEC_INFER_H

#include "model/model.h"
#include "ops/op.h"

/* Told of the outputs of each node once they are inferred, before anything reads them: may say more about them. */
struct sc_infer_watch {
    enum sc_status (*seen)(void *arg, const struct sc_node *node, struct sc_fact *const *out); /* NULL: absent */
    void *arg;
};

/* facts has graph->n_values entries. The caller sets those of inputs and, of a body, of outer values (others unknown);
 * initializers are filled in here. Pure nodes whose inputs are all known values and small are evaluated, so that chains
 * of shape arithmetic give known values. A value that depends on data keeps unknown dims. Fails as infer fails, naming
 * the node. `arena` holds the known values. watch may be NULL. */
enum sc_status sc_infer_graph(const struct sc_graph *graph, const struct sc_kernels *kernels, struct sc_arena *arena,
    const struct sc_infer_watch *watch, struct sc_fact *facts);

#endif
