/* SPDX-License-Identifier: Apache-2.0
 * A node reads its inputs and the outer values of its bodies. */
#include "partitioner/reads.h"

#include <stdlib.h>

static int compare_int(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int n_bodies(const struct sc_attribute *attribute)
{
    return attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS ? attribute->n : 0;
}

/* Writes the captured values when `values` is given; returns their count. */
static int captured(const struct sc_graph *body, int *values)
{
    int n = 0;
    for (int v = 0; v < body->n_values; v++) {
        if (body->values[v].place == SC_PLACE_OUTER) {
            if (values) {
                values[n] = body->values[v].outer;
            }
            n++;
        }
    }
    return n;
}

enum sc_status sc_node_reads(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, int *n_values, int **values)
{
    size_t n = (size_t)node->n_in;
    for (int a = 0; a < node->n_attributes; a++) {
        for (int b = 0; b < n_bodies(&node->attributes[a]); b++) {
            n += (size_t)captured(&node->attributes[a].u.graph[b], NULL);
        }
    }
    int *all = sc_arena_array(arena, n, sizeof *all);
    if (!all) {
        return SC_NO_MEMORY;
    }
    n = 0;
    for (int i = 0; i < node->n_in; i++) {
        all[n++] = node->in[i];
    }
    for (int a = 0; a < node->n_attributes; a++) {
        for (int b = 0; b < n_bodies(&node->attributes[a]); b++) {
            n += (size_t)captured(&node->attributes[a].u.graph[b], all + n);
        }
    }
    qsort(all, n, sizeof *all, compare_int);
    int to = 0;
    for (size_t i = 0; i < n; i++) {
        if (all[i] >= 0 && all[i] < graph->n_values && (to == 0 || all[i] != all[to - 1])) {
            all[to++] = all[i];
        }
    }
    *n_values = to;
    *values = all;
    return SC_OK;
}

/* Appends the bodies of one node to a list that grows by doubling in the arena. */
static enum sc_status add_bodies(
    const struct sc_node *node, struct sc_arena *arena, int *n, int *cap, const struct sc_graph ***list)
{
    for (int a = 0; a < node->n_attributes; a++) {
        for (int b = 0; b < n_bodies(&node->attributes[a]); b++) {
            if (*n == *cap) {
                const int twice = *cap ? 2 * *cap : 4;
                const struct sc_graph **grown = sc_arena_array(arena, (size_t)twice, sizeof *grown);
                if (!grown) {
                    return SC_NO_MEMORY;
                }
                for (int i = 0; i < *n; i++) {
                    grown[i] = (*list)[i];
                }
                *list = grown;
                *cap = twice;
            }
            (*list)[(*n)++] = &node->attributes[a].u.graph[b];
        }
    }
    return SC_OK;
}

enum sc_status sc_node_bodies(
    const struct sc_node *node, struct sc_arena *arena, int *n_found, const struct sc_graph ***bodies)
{
    int n = 0, cap = 0;
    const struct sc_graph **list = NULL;
    SC_TRY(add_bodies(node, arena, &n, &cap, &list));
    for (int at = 0; at < n; at++) {
        const struct sc_graph *body = list[at];
        for (int i = 0; i < body->n_nodes; i++) {
            SC_TRY(add_bodies(&body->nodes[i], arena, &n, &cap, &list));
        }
    }
    *n_found = n;
    *bodies = list;
    return SC_OK;
}
