/* SPDX-License-Identifier: Apache-2.0
 * Each round looks at many values, since every look is a run of the whole model. */
#include "launch/bisect.h"

#include "partitioner/reads.h"

enum sc_status sc_bisect_start(
    const struct sc_graph *graph, int value, struct sc_arena *arena, struct sc_bisect *bisect)
{
    *bisect = (struct sc_bisect){.graph = graph,
        .arena = arena,
        .value = value,
        .equal = sc_arena_array(arena, (size_t)graph->n_values + 1, sizeof *bisect->equal)};
    return bisect->equal ? SC_OK : SC_NO_MEMORY;
}

static bool made_by_node(const struct sc_graph *graph, int value)
{
    return graph->values[value].producer >= 0 && graph->values[value].place == SC_PLACE_NODE;
}

/* Marks what the node reads. */
static enum sc_status mark(struct sc_bisect *bisect, int node, bool *marks)
{
    int n, *reads;
    SC_TRY(sc_node_reads(bisect->graph, &bisect->graph->nodes[node], bisect->arena, &n, &reads));
    for (int i = 0; i < n; i++) {
        marks[reads[i]] = made_by_node(bisect->graph, reads[i]);
    }
    return SC_OK;
}

/* Marks everything that the value comes from; nodes are in topological order. */
static enum sc_status mark_above(struct sc_bisect *bisect, bool *marks)
{
    const struct sc_graph *graph = bisect->graph;
    for (int m = graph->values[bisect->value].producer; m >= 0; m--) {
        const struct sc_node *node = &graph->nodes[m];
        bool wanted = m == graph->values[bisect->value].producer;
        for (int o = 0; o < node->n_out && !wanted; o++) {
            wanted = node->out[o] >= 0 && marks[node->out[o]];
        }
        SC_TRY(wanted ? mark(bisect, m, marks) : SC_OK);
    }
    return SC_OK;
}

/* Appends marked values that are not known to be equal, every so many of them, and takes their marks away. */
static void pick(const struct sc_bisect *bisect, bool *marks, int most, int *n, int *values)
{
    int n_open = 0, seen = 0;
    const int room = most - *n;
    for (int v = 0; v < bisect->graph->n_values; v++) {
        marks[v] = marks[v] && !bisect->equal[v] && v != bisect->value;
        n_open += marks[v];
    }
    const int step = room > 0 ? (n_open + room - 1) / room : 1;
    for (int v = 0; v < bisect->graph->n_values && *n < most; v++) {
        if (marks[v] && seen++ % (step > 0 ? step : 1) == 0) {
            values[(*n)++] = v;
        }
    }
}

enum sc_status sc_bisect_probes(struct sc_bisect *bisect, int most, int *n, int *values)
{
    const size_t n_values = (size_t)bisect->graph->n_values + 1;
    const int producer = bisect->graph->values[bisect->value].producer;
    bool *direct = sc_arena_array(bisect->arena, n_values, sizeof *direct);
    bool *above = sc_arena_array(bisect->arena, n_values, sizeof *above);
    *n = 0;
    if (!direct || !above) {
        return SC_NO_MEMORY;
    }
    if (producer < 0) {
        return SC_OK;
    }
    SC_TRY(mark(bisect, producer, direct));
    pick(bisect, direct, most / 2, n, values);
    if (*n == 0) {
        return SC_OK;
    }
    SC_TRY(mark_above(bisect, above));
    for (int i = 0; i < *n; i++) {
        above[values[i]] = false;
    }
    pick(bisect, above, most, n, values);
    return SC_OK;
}

void sc_bisect_tell(struct sc_bisect *bisect, int n, const int *values, const bool *differs)
{
    const struct sc_graph *graph = bisect->graph;
    for (int i = 0; i < n; i++) {
        if (!differs[i]) {
            bisect->equal[values[i]] = true;
        } else if (graph->values[values[i]].producer < graph->values[bisect->value].producer) {
            bisect->value = values[i];
        }
    }
}
