/* SPDX-License-Identifier: Apache-2.0
 * An input that has a default is an initializer, unless a caller will give it: what nobody replaces can be folded,
 * packed, and stays on the rank that reads it.
 *
 *   w (input, default [1,2]) ── Add       becomes       w = initializer [1,2] ── Add
 */
#include "passes/passes.h"

#include <string.h>

/* The input with a default of that name, or -1. */
static int find_default(const struct sc_graph *graph, const char *name, size_t bytes)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        if (value->weight >= 0 && strlen(value->name) == bytes && memcmp(value->name, name, bytes) == 0) {
            return i;
        }
    }
    return -1;
}

enum sc_status sc_pass_name_given(const struct sc_graph *graph, const char *names, bool *given)
{
    for (const char *at = names; *at;) {
        const size_t bytes = strcspn(at, ",");
        const int input = find_default(graph, at, bytes);
        if (input < 0) {
            return sc_fail(SC_BAD_USAGE, "option 'override': the model has no input '%.*s' with a default",
                bytes < 200 ? (int)bytes : 200, at);
        }
        given[input] = true;
        at += bytes + (at[bytes] == ',');
    }
    return SC_OK;
}

void sc_pass_defaults(struct sc_graph *graph, const bool *given)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        if (value->weight >= 0 && value->place == SC_PLACE_INPUT && !(given && given[i])) {
            sc_graph_make_constant(graph, graph->inputs[i]);
        }
    }
}
