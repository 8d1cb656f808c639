/* SPDX-License-Identifier: Apache-2.0
 * Nodes that no output of the graph depends on are removed.
 *
 *   x ─┬─ Relu ── y (output)          becomes          x ── Relu ── y
 *      └─ Exp ── z
 */
#include "passes/edit.h"
#include "passes/passes.h"

void sc_node_mark_captures(const struct sc_node *node, bool *read)
{
    for (int a = 0; a < node->n_attributes; a++) {
        const struct sc_attribute *attribute = &node->attributes[a];
        if (attribute->type != SC_ATTRIBUTE_GRAPH && attribute->type != SC_ATTRIBUTE_GRAPHS) {
            continue;
        }
        for (int g = 0; g < attribute->n; g++) {
            const struct sc_graph *body = &attribute->u.graph[g];
            for (int v = 0; v < body->n_values; v++) {
                if (body->values[v].place == SC_PLACE_OUTER) {
                    read[body->values[v].outer] = true;
                }
            }
        }
    }
}

bool sc_node_mark_reads(const struct sc_node *node, bool *read)
{
    bool live = false;
    for (int o = 0; o < node->n_out && !node->dead; o++) {
        live |= node->out[o] >= 0 && read[node->out[o]];
    }
    if (!live) {
        return false;
    }
    for (int i = 0; i < node->n_in; i++) {
        if (node->in[i] >= 0) {
            read[node->in[i]] = true;
        }
    }
    sc_node_mark_captures(node, read);
    return true;
}

enum sc_status sc_pass_dead(struct sc_graph *graph)
{
    struct sc_arena passing = {0};
    bool *read = sc_arena_array(&passing, (size_t)graph->n_values + 1, sizeof *read);
    if (!read) {
        return SC_NO_MEMORY;
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        read[graph->outputs[o]] = true;
    }
    for (int n = graph->n_nodes - 1; n >= 0; n--) {
        graph->nodes[n].dead = !sc_node_mark_reads(&graph->nodes[n], read);
    }
    sc_arena_release(&passing);
    return SC_OK;
}
