/* SPDX-License-Identifier: Apache-2.0
 * NAME=FILE and NAME=N, held against the graph. */
#include "launch/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "launch/npy.h"

/* Splits "NAME=REST"; names may contain '=' nowhere. */
static enum sc_status split(const char *item, const char *option, size_t *name_bytes, const char **rest)
{
    const char *equals = strchr(item, '=');
    if (!equals || equals == item || equals[1] == '\0') {
        return sc_fail(SC_BAD_USAGE, "option '%s': '%s' is not NAME=%s", option, item, option[2] == 'd' ? "N" : "FILE");
    }
    *name_bytes = (size_t)(equals - item);
    *rest = equals + 1;
    return SC_OK;
}

static int find_input(const struct sc_graph *graph, const char *name, size_t bytes)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        const char *have = graph->values[graph->inputs[i]].name;
        if (strlen(have) == bytes && memcmp(have, name, bytes) == 0) {
            return i;
        }
    }
    return -1;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum sc_status read_one(
    const char *path, const struct sc_fact *fact, struct sc_arena *arena, struct sc_value *value)
{
    if (ends_with(path, ".pb")) {
        return sc_value_read_pb(path, fact, arena, value);
    }
    if (!ends_with(path, ".npy")) {
        return sc_fail(SC_BAD_USAGE, "'%s' is neither a .npy nor a .pb file", path);
    }
    value->kind = SC_KIND_TENSOR;
    return sc_npy_read(path, arena, &value->u.tensor);
}

enum sc_status sc_inputs_read(const struct sc_model *model, int n_items, const char *const *items,
    struct sc_arena *arena, const struct sc_value ***values, struct sc_fact **facts)
{
    const struct sc_graph *graph = model->graph;
    const size_t n = (size_t)graph->n_inputs + 1;
    struct sc_value *read = sc_arena_array(arena, n, sizeof *read);
    *values = sc_arena_array(arena, n, sizeof **values);
    *facts = sc_arena_array(arena, n, sizeof **facts);
    if (!read || !*values || !*facts) {
        return SC_NO_MEMORY;
    }
    for (int k = 0; k < n_items; k++) {
        size_t bytes;
        const char *path;
        SC_TRY(split(items[k], "--input", &bytes, &path));
        const int i = find_input(graph, items[k], bytes);
        if (i < 0) {
            return sc_fail(SC_BAD_INPUT, "the model has no input '%.*s'", (int)bytes, items[k]);
        }
        if ((*values)[i]) {
            return sc_fail(SC_BAD_USAGE, "input '%.*s' is given twice", (int)bytes, items[k]);
        }
        SC_TRY(read_one(path, &graph->values[graph->inputs[i]].fact, arena, &read[i]));
        (*values)[i] = &read[i];
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *declared = &graph->values[graph->inputs[i]];
        (*facts)[i] = declared->fact;
        if ((*values)[i]) {
            sc_fact_of(&(*facts)[i], (*values)[i]);
            (*facts)[i].value = NULL;
        } else if (declared->weight >= 0) {
            const struct sc_tensor *shape = &graph->weights[declared->weight].shape;
            sc_fact_tensor(&(*facts)[i], shape->type, shape->rank, shape->dims);
        } else if (declared->fact.kind != SC_KIND_OPTIONAL) {
            return sc_fail(SC_BAD_INPUT, "input '%s' is missing: give -i %s=FILE", declared->name, declared->name);
        }
    }
    return SC_OK;
}

enum sc_status sc_inputs_settle_dims(
    const struct sc_model *model, int n_items, const char *const *items, int n_facts, struct sc_fact *facts)
{
    for (int k = 0; k < n_items; k++) {
        size_t bytes;
        const char *number;
        char *end;
        SC_TRY(split(items[k], "--dim", &bytes, &number));
        const long long size = strtoll(number, &end, 10);
        if (*end || size < 0 || size > 1 << 30) {
            return sc_fail(SC_BAD_USAGE, "option '--dim': '%s' is not a size", number);
        }
        bool found = false;
        for (int s = 0; s < model->n_symbols; s++) {
            if (strlen(model->symbols[s]) != bytes || memcmp(model->symbols[s], items[k], bytes) != 0) {
                continue;
            }
            found = true;
            for (int f = 0; f < n_facts; f++) {
                for (int d = 0; d < facts[f].rank; d++) {
                    facts[f].dims[d] = facts[f].dims[d] == -2 - s ? (int64_t)size : facts[f].dims[d];
                }
            }
        }
        if (!found) {
            return sc_fail(SC_BAD_USAGE, "option '--dim': the model has no dim '%.*s'", (int)bytes, items[k]);
        }
    }
    for (int f = 0; f < n_facts; f++) {
        for (int d = 0; d < facts[f].rank; d++) {
            facts[f].dims[d] = facts[f].dims[d] < 0 ? 1 : facts[f].dims[d];
        }
    }
    return SC_OK;
}
