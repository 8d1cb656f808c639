/* SPDX-License-Identifier: Apache-2.0
 * Gives every value of the graph its fact: type, dims as far as they are known without data, content where it is
 * constant.
 *
 *   x float[batch,4] ── Relu ── y ?          becomes          x float[batch,4] ── Relu ── y float[batch,4]
 */
#include <string.h>

#include "passes/passes.h"

/* Known values move from the passing arena to the graph's. */
static enum sc_status keep(struct sc_graph *graph, const struct sc_fact *fact, struct sc_fact *kept)
{
    *kept = *fact;
    if (!fact->value) {
        return SC_OK;
    }
    const struct sc_value from = {.kind = SC_KIND_TENSOR, .u.tensor = *fact->value};
    struct sc_value *copy = sc_arena_alloc(graph->arena, sizeof *copy);
    if (!copy) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_value_copy(graph->arena, &from, copy));
    kept->value = &copy->u.tensor;
    return SC_OK;
}

enum sc_status sc_pass_infer(struct sc_graph *graph, const struct sc_kernels *kernels)
{
    return sc_pass_infer_watched(graph, kernels, NULL);
}

enum sc_status sc_pass_infer_watched(
    struct sc_graph *graph, const struct sc_kernels *kernels, const struct sc_infer_watch *watch)
{
    struct sc_arena passing = {0};
    struct sc_fact *facts = sc_arena_array(&passing, (size_t)graph->n_values + 1, sizeof *facts);
    enum sc_status status = facts ? SC_OK : SC_NO_MEMORY;
    for (int v = 0; status == SC_OK && v < graph->n_values; v++) {
        facts[v] = graph->values[v].fact;
    }
    if (status == SC_OK) {
        status = sc_infer_graph(graph, kernels, &passing, watch, facts);
    }
    for (int v = 0; status == SC_OK && v < graph->n_values; v++) {
        if (graph->values[v].place == SC_PLACE_NODE && facts[v].kind != SC_KIND_NONE) {
            status = keep(graph, &facts[v], &graph->values[v].fact);
        } else if (graph->values[v].place == SC_PLACE_INITIALIZER) {
            graph->values[v].fact = facts[v].kind != SC_KIND_NONE ? facts[v] : graph->values[v].fact;
        }
    }
    sc_arena_release(&passing);
    return status;
}
