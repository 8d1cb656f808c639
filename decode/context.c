/* SPDX-License-Identifier: Apache-2.0
 * The fewest positions among the graph's tables and caches. */
#include "decode/context.h"

#include <string.h>

#define SC_DEFAULT_CONTEXT 4096

static void limit(int64_t *context, int64_t rows)
{
    *context = rows > 0 && rows < *context ? rows : *context;
}

/* RotaryEmbedding-23 looks position_ids (3) up in cos_cache (1). */
static bool is_table_lookup(const struct sc_graph *graph, const struct sc_node *node)
{
    return strcmp(node->op, "RotaryEmbedding") == 0 && node->domain[0] == '\0' && node->n_in > 3 && node->in[3] >= 0 &&
        graph->values[node->in[1]].weight >= 0;
}

static int64_t graph_context(const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs)
{
    int64_t context = INT64_MAX;
    for (int p = 0; p < n_pairs; p++) {
        limit(&context, pairs[p].capacity);
    }
    for (int n = 0; n < graph->n_nodes; n++) {
        if (is_table_lookup(graph, &graph->nodes[n])) {
            limit(&context, graph->weights[graph->values[graph->nodes[n].in[1]].weight].shape.dims[0]);
        }
    }
    return context;
}

enum sc_status sc_context_settle(
    const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs, int64_t *context)
{
    const int64_t most = graph_context(graph, n_pairs, pairs);
    if (*context <= 0) {
        *context = most < SC_DEFAULT_CONTEXT ? most : SC_DEFAULT_CONTEXT;
    }
    if (*context > most) {
        return sc_fail(SC_BAD_USAGE, "a context of %lld positions was asked for, the model has room for %lld",
            (long long)*context, (long long)most);
    }
    return SC_OK;
}
