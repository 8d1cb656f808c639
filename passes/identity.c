/* SPDX-License-Identifier: Apache-2.0
 * Readers of an Identity read its input instead; the node itself is left for the dead pass, and stays where it makes an
 * output of the graph.
 *
 *   x ── Identity ── y ── Relu          becomes          x ── Relu
 */
#include <string.h>

#include "passes/passes.h"

/* Bodies refer to values around them by index, at any depth; only the first level names this graph's values. */
static void redirect_bodies(struct sc_node *node, const int *now)
{
    for (int a = 0; a < node->n_attributes; a++) {
        const struct sc_attribute *attribute = &node->attributes[a];
        if (attribute->type != SC_ATTRIBUTE_GRAPH && attribute->type != SC_ATTRIBUTE_GRAPHS) {
            continue;
        }
        for (int g = 0; g < attribute->n; g++) {
            struct sc_graph *body = &attribute->u.graph[g];
            for (int v = 0; v < body->n_values; v++) {
                if (body->values[v].place == SC_PLACE_OUTER) {
                    body->values[v].outer = now[body->values[v].outer];
                }
            }
        }
    }
}

enum sc_status sc_pass_identity(struct sc_graph *graph)
{
    struct sc_arena passing = {0};
    int *now =
        sc_arena_array(&passing, (size_t)graph->n_values + 1, sizeof *now); /* by value: the one to read in its place */
    if (!now) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        now[v] = v;
    }
    for (int n = 0; n < graph->n_nodes; n++) {
        struct sc_node *node = &graph->nodes[n];
        if (node->dead) {
            continue;
        }
        for (int i = 0; i < node->n_in; i++) {
            node->in[i] = node->in[i] < 0 ? -1 : now[node->in[i]];
        }
        redirect_bodies(node, now);
        if (strcmp(node->op, "Identity") == 0 && node->domain[0] == '\0' && node->in[0] >= 0 && node->out[0] >= 0) {
            now[node->out[0]] = node->in[0];
        }
    }
    sc_arena_release(&passing);
    return SC_OK;
}
