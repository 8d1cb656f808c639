/* SPDX-License-Identifier: Apache-2.0
 * The fewest positions among the graph's tables and caches. */
#include "decode/context.h"

#include <string.h>

#define SC_DEFAULT_CONTEXT 4096

static void limit(int64_t *context, int64_t rows)
{
    *context = rows > 0 && rows < *context ? rows : *context;
}

/* Operators that look positions up in a table of cosines: which input that is. RotaryEmbedding-23 does when it has
 * position_ids (3). Rows that a Gather takes from a learned table are what capacities say already. */
static const struct {
    const char *domain, *op;
    int positions, table; /* inputs; positions -1: of its own making */
} lookups[] = {{"", "RotaryEmbedding", 3, 1}, {"com.microsoft", "RotaryEmbedding", 1, 2},
    {"com.microsoft", "GroupQueryAttention", -1, 7}, {"com.microsoft", "EmbedLayerNormalization", -1, 3}};

static bool has_input(const struct sc_node *node, int i)
{
    return i < 0 || (i < node->n_in && node->in[i] >= 0);
}

/* The weight that is such a table, or -1. */
static int find_table(const struct sc_graph *graph, const struct sc_node *node)
{
    for (size_t l = 0; l < sizeof lookups / sizeof lookups[0]; l++) {
        if (strcmp(node->op, lookups[l].op) == 0 && strcmp(node->domain, lookups[l].domain) == 0 &&
            has_input(node, lookups[l].positions) && has_input(node, lookups[l].table)) {
            return graph->values[node->in[lookups[l].table]].weight;
        }
    }
    return -1;
}

int64_t sc_context_most(const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs)
{
    int64_t context = INT64_MAX;
    for (int p = 0; p < n_pairs; p++) {
        limit(&context, pairs[p].capacity);
    }
    for (int n = 0; n < graph->n_nodes; n++) {
        const int table = find_table(graph, &graph->nodes[n]);
        if (table >= 0 && graph->weights[table].shape.rank > 0) {
            limit(&context, graph->weights[table].shape.dims[0]);
        }
    }
    return context;
}

enum sc_status sc_context_settle(
    const struct sc_graph *graph, int n_pairs, const struct sc_state_pair *pairs, int64_t *context)
{
    const int64_t most = sc_context_most(graph, n_pairs, pairs);
    if (*context <= 0) {
        *context = most < SC_DEFAULT_CONTEXT ? most : SC_DEFAULT_CONTEXT;
    }
    if (*context > most) {
        return sc_fail(SC_BAD_USAGE, "a context of %lld positions was asked for, the model has room for %lld",
            (long long)*context, (long long)most);
    }
    return SC_OK;
}
