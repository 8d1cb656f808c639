/* SPDX-License-Identifier: Apache-2.0
 * Weights that several files have, or one file twice, are kept once.
 *
 *   a: Gather(table a, ids)      becomes      a: Gather(table a, ids)
 *   b: Gather(table b, ids)                   b: Gather(table a, ids)      where both tables have the same bytes
 */
#include <string.h>

#include "passes/join.h"

enum { PROBES = 8, PROBE_BYTES = 64 };

static bool same_bytes(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    if (a == b) {
        return true;
    }
    for (size_t p = 0; p < PROBES && bytes > PROBES * PROBE_BYTES; p++) { /* nearly all that differ do so here */
        const size_t at = (bytes - PROBE_BYTES) / (PROBES - 1) * p;
        if (memcmp(a + at, b + at, PROBE_BYTES) != 0) {
            return false;
        }
    }
    return memcmp(a, b, bytes) == 0;
}

/* One place in one file, mapped twice. */
static bool same_place(const struct sc_model *model, const struct sc_weight *a, const struct sc_weight *b)
{
    if (a->file < 0 || b->file < 0) {
        return false;
    }
    const struct sc_file *x = &model->files[a->file], *y = &model->files[b->file];
    return x->device == y->device && x->node == y->node && x->changed_ns == y->changed_ns && x->node != 0 &&
        a->raw - x->data == b->raw - y->data;
}

static bool equal(const struct sc_model *model, const struct sc_weight *a, const struct sc_weight *b)
{
    const struct sc_tensor *x = &a->shape, *y = &b->shape;
    if (!a->raw || !b->raw || a->recipe || b->recipe || a->raw_bytes != b->raw_bytes || x->type != y->type ||
        x->storage != y->storage || x->rank != y->rank ||
        memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) != 0) {
        return false;
    }
    return same_place(model, a, b) || same_bytes(a->raw, b->raw, a->raw_bytes);
}

void sc_weights_compare(const struct sc_model *model, int *same)
{
    const struct sc_graph *graph = model->graph;
    for (int w = 0; w < graph->n_weights; w++) {
        same[w] = w;
        for (int v = 0; v < w && same[w] == w; v++) {
            same[w] = same[v] == v && equal(model, &graph->weights[v], &graph->weights[w]) ? v : w;
        }
    }
}

static void read_others(struct sc_graph *graph, const int *to)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        struct sc_node *node = &graph->nodes[n];
        for (int i = 0; i < node->n_in; i++) {
            node->in[i] = node->in[i] < 0 ? -1 : to[node->in[i]];
        }
        for (int a = 0; a < node->n_attributes; a++) {
            const struct sc_attribute *attribute = &node->attributes[a];
            const bool bodies = attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
            for (int g = 0; bodies && g < attribute->n; g++) {
                struct sc_graph *body = &attribute->u.graph[g];
                for (int v = 0; v < body->n_values; v++) {
                    struct sc_graph_value *value = &body->values[v];
                    value->outer = value->place == SC_PLACE_OUTER ? to[value->outer] : value->outer;
                }
            }
        }
    }
}

enum sc_status sc_weights_share(struct sc_model *model, const int *same)
{
    struct sc_graph *graph = model->graph;
    int *value_of = sc_arena_array(&model->arena, (size_t)graph->n_weights + 1, sizeof *value_of);
    int *to = sc_arena_array(&model->arena, (size_t)graph->n_values + 1, sizeof *to);
    if (!value_of || !to) {
        return SC_NO_MEMORY;
    }
    for (int v = 0; v < graph->n_values; v++) {
        to[v] = v;
        if (graph->values[v].weight >= 0) {
            value_of[graph->values[v].weight] = v;
        }
    }
    for (int v = 0; v < graph->n_values; v++) {
        const int w = graph->values[v].weight;
        if (w >= 0 && (same[w] < 0 || same[w] > w)) {
            return sc_fail(SC_BAD_INPUT, "weight %d is said to be weight %d", w, same[w]);
        }
        if (w >= 0 && graph->values[v].place == SC_PLACE_INITIALIZER) {
            to[v] = value_of[same[w]];
        }
    }
    read_others(graph, to);
    return SC_OK;
}
