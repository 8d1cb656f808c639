/* SPDX-License-Identifier: Apache-2.0
 * A node whose outputs are all known becomes initializers. Values of up to 64 KiB are known after inference, and the
 * values of Constant nodes whatever their size, since those lie in the file already.
 *
 *   [2,3] ── Constant ─┐
 *                      ├─ Concat ── s          becomes          s = initializer [2,3,4]
 *   [4] ─────────── ───┘
 */
#include "passes/passes.h"

#include <stdlib.h>

/* Outputs of the graph keep their producer: a stage has to send them. */
static bool folds(const struct sc_graph *graph, const bool *is_output, const struct sc_node *node)
{
    bool any = false;
    for (int o = 0; o < node->n_out; o++) {
        if (node->out[o] < 0) {
            continue;
        }
        if (!graph->values[node->out[o]].fact.value || is_output[node->out[o]]) {
            return false;
        }
        any = true;
    }
    return any;
}

static enum sc_status make_initializer(struct sc_graph *graph, int value)
{
    struct sc_weight weight = {.shape = *graph->values[value].fact.value, .file = -1};
    weight.decoded = weight.shape.data;
    SC_TRY(sc_graph_add_weight(graph, &weight, value));
    graph->values[value].place = SC_PLACE_INITIALIZER;
    graph->values[value].producer = -1;
    return SC_OK;
}

enum sc_status sc_pass_fold(struct sc_graph *graph)
{
    bool *is_output = calloc((size_t)graph->n_values + 1, sizeof *is_output);
    if (!is_output) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %d values", graph->n_values);
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        is_output[graph->outputs[o]] = true;
    }
    enum sc_status status = SC_OK;
    for (int n = 0; n < graph->n_nodes && status == SC_OK; n++) {
        struct sc_node *node = &graph->nodes[n];
        if (node->dead || !folds(graph, is_output, node)) {
            continue;
        }
        for (int o = 0; o < node->n_out && status == SC_OK; o++) {
            status = node->out[o] >= 0 ? make_initializer(graph, node->out[o]) : SC_OK;
        }
        node->dead = true;
    }
    free(is_output);
    return status;
}
