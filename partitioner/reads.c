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
