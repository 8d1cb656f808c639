/* SPDX-License-Identifier: Apache-2.0
 * A name stands for one size wherever it occurs; a dim without a name can only be given with its input's whole
 * shape. */
#include "launch/dims.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/near.h"

#define SC_LARGEST_DIM (INT64_C(1) << 40)

static const char *input_name(const struct sc_dims *dims, int input)
{
    const struct sc_graph *graph = dims->model->graph;
    return graph->values[graph->inputs[input]].name;
}

/* The symbol of a dim, or -1: a number, or open without a name. */
static int symbol_of(const struct sc_dims *dims, int64_t dim)
{
    return dim < SC_DIM_UNKNOWN && -2 - dim < dims->model->n_symbols ? (int)(-2 - dim) : -1;
}

enum sc_status sc_dims_init(const struct sc_model *model, struct sc_arena *arena, struct sc_dims *dims)
{
    const struct sc_graph *graph = model->graph;
    *dims = (struct sc_dims){.model = model,
        .sizes = sc_arena_array(arena, (size_t)model->n_symbols + 1, sizeof *dims->sizes),
        .facts = sc_arena_array(arena, (size_t)graph->n_inputs + 1, sizeof *dims->facts)};
    if (!dims->sizes || !dims->facts) {
        return SC_NO_MEMORY;
    }
    for (int s = 0; s < model->n_symbols; s++) {
        dims->sizes[s] = -1;
    }
    for (int i = 0; i < graph->n_inputs; i++) {
        dims->facts[i] = graph->values[graph->inputs[i]].fact;
        dims->facts[i].value = NULL;
    }
    return SC_OK;
}

/* Sizes that have become known take the place of their names. */
static void spread(struct sc_dims *dims)
{
    for (int i = 0; i < dims->model->graph->n_inputs; i++) {
        struct sc_fact *fact = &dims->facts[i];
        for (int d = 0; d < fact->rank; d++) {
            const int symbol = symbol_of(dims, fact->dims[d]);
            fact->dims[d] = symbol >= 0 && dims->sizes[symbol] >= 0 ? dims->sizes[symbol] : fact->dims[d];
        }
    }
}

/* Dim d of an input is `size`. */
static enum sc_status settle(struct sc_dims *dims, int input, int d, int64_t size, enum sc_status code)
{
    const struct sc_graph *graph = dims->model->graph;
    struct sc_fact *fact = &dims->facts[input];
    const int symbol = symbol_of(dims, fact->dims[d]);
    if (fact->dims[d] >= 0 && fact->dims[d] != size) {
        const int named = symbol_of(dims, graph->values[graph->inputs[input]].fact.dims[d]);
        return sc_fail(code, "input '%s' has size %" PRId64 " in dim %d%s%s%s, want %" PRId64, input_name(dims, input),
            size, d, named >= 0 ? " ('" : "", named >= 0 ? dims->model->symbols[named] : "", named >= 0 ? "')" : "",
            fact->dims[d]);
    }
    fact->dims[d] = size;
    if (symbol >= 0) {
        dims->sizes[symbol] = size;
        spread(dims);
    }
    return SC_OK;
}

static bool read_size(const char **text, int64_t *size)
{
    char *end;
    if (**text < '0' || **text > '9') {
        return false;
    }
    const long long number = strtoll(*text, &end, 10);
    *text = end;
    *size = number;
    return number <= SC_LARGEST_DIM;
}

static enum sc_status add_symbol(struct sc_dims *dims, int symbol, const char *text)
{
    const char *at = text;
    int64_t size;
    if (!read_size(&at, &size) || *at) {
        return sc_fail(SC_BAD_USAGE, "option '--dim': '%s' is not a size", text);
    }
    if (dims->sizes[symbol] >= 0 && dims->sizes[symbol] != size) {
        return sc_fail(SC_BAD_USAGE, "option '--dim': '%s' is both %" PRId64 " and %" PRId64,
            dims->model->symbols[symbol], dims->sizes[symbol], size);
    }
    dims->sizes[symbol] = size;
    spread(dims);
    return SC_OK;
}

static enum sc_status add_shape(struct sc_dims *dims, int input, const char *text)
{
    struct sc_fact *fact = &dims->facts[input];
    int64_t sizes[SC_MAX_RANK];
    int rank = 0;
    for (const char *at = text;; at++) {
        if (rank == SC_MAX_RANK || !read_size(&at, &sizes[rank++]) || (*at && *at != 'x')) {
            return sc_fail(SC_BAD_USAGE, "option '--dim': '%s' is not a shape such as 1x3x224x224", text);
        }
        if (!*at) {
            break;
        }
    }
    if (fact->rank < 0) {
        fact->rank = rank;
        for (int d = 0; d < rank; d++) {
            fact->dims[d] = SC_DIM_UNKNOWN;
        }
    }
    if (fact->rank != rank) {
        return sc_fail(SC_BAD_USAGE, "option '--dim': '%s' has %d dim%s, input '%s' has %d", text, rank,
            rank == 1 ? "" : "s", input_name(dims, input), fact->rank);
    }
    for (int d = 0; d < rank; d++) {
        SC_TRY(settle(dims, input, d, sizes[d], SC_BAD_USAGE));
    }
    return SC_OK;
}

static enum sc_status fail_unknown(const struct sc_dims *dims, const char *name)
{
    struct sc_near near = {.word = name};
    for (int s = 0; s < dims->model->n_symbols; s++) {
        sc_near_try(&near, dims->model->symbols[s], dims->model->symbols[s]);
    }
    for (int i = 0; i < dims->model->graph->n_inputs; i++) {
        sc_near_try(&near, input_name(dims, i), input_name(dims, i));
    }
    return sc_fail(SC_BAD_USAGE, "option '--dim': the model has no dim '%s'%s%s%s", name,
        near.found ? ", did you mean '" : "", near.found ? near.found : "", near.found ? "'?" : "");
}

enum sc_status sc_dims_add(struct sc_dims *dims, const char *item)
{
    char name[256];
    const char *equals = strrchr(item, '='); /* a name may have one, a size has none */
    if (!equals || equals == item || !equals[1] || (size_t)(equals - item) >= sizeof name) {
        return sc_fail(SC_BAD_USAGE, "option '--dim': '%s' is not NAME=N", item);
    }
    memcpy(name, item, (size_t)(equals - item));
    name[equals - item] = '\0';
    for (int s = 0; s < dims->model->n_symbols; s++) {
        if (strcmp(dims->model->symbols[s], name) == 0 && !strchr(equals, 'x')) {
            return add_symbol(dims, s, equals + 1);
        }
    }
    for (int i = 0; i < dims->model->graph->n_inputs; i++) {
        if (strcmp(input_name(dims, i), name) == 0) {
            return add_shape(dims, i, equals + 1);
        }
    }
    for (int s = 0; s < dims->model->n_symbols; s++) {
        if (strcmp(dims->model->symbols[s], name) == 0) {
            return add_symbol(dims, s, equals + 1); /* says that it is no size */
        }
    }
    return fail_unknown(dims, name);
}

enum sc_status sc_dims_add_all(struct sc_dims *dims, int n, const char *const *items)
{
    for (int i = 0; i < n; i++) {
        SC_TRY(sc_dims_add(dims, items[i]));
    }
    return SC_OK;
}

enum sc_status sc_dims_bind(struct sc_dims *dims, int input, const struct sc_value *value)
{
    static const char *const kinds[] = {"nothing", "a tensor", "a sequence", "an optional", "a map", "a state"};
    struct sc_fact *fact = &dims->facts[input];
    const struct sc_tensor *tensor = &value->u.tensor;
    const char *name = input_name(dims, input);
    if (fact->kind == SC_KIND_SEQUENCE || fact->kind == SC_KIND_OPTIONAL || fact->kind == SC_KIND_MAP) {
        sc_fact_of(fact, value);
        fact->value = NULL;
        return SC_OK; /* checked by the operators that take it apart */
    }
    if (value->kind != SC_KIND_TENSOR) {
        return sc_fail(SC_BAD_INPUT, "input '%s' is %s, want a tensor", name, kinds[value->kind]);
    }
    if (fact->type != SC_TYPE_NONE && fact->type != tensor->type) {
        return sc_fail(
            SC_BAD_INPUT, "input '%s' is %s, want %s", name, sc_type_name(tensor->type), sc_type_name(fact->type));
    }
    if (fact->rank >= 0 && fact->rank != tensor->rank) {
        return sc_fail(SC_BAD_INPUT, "input '%s' has rank %d, want %d", name, tensor->rank, fact->rank);
    }
    for (int d = 0; d < fact->rank; d++) {
        SC_TRY(settle(dims, input, d, tensor->dims[d], SC_BAD_INPUT));
    }
    sc_fact_of(fact, value);
    fact->value = NULL;
    return SC_OK;
}

/* "-d batch=N", or the whole shape where an open dim has no name: "-d x=Nx3x8". */
static void print_remedy(const struct sc_dims *dims, int input, char *text, size_t bytes)
{
    const struct sc_fact *fact = &dims->facts[input];
    size_t at = 0;
    bool nameless = fact->rank < 0;
    for (int d = 0; d < fact->rank; d++) {
        nameless = nameless || (fact->dims[d] < 0 && symbol_of(dims, fact->dims[d]) < 0);
    }
    text[0] = '\0';
    if (nameless) {
        (void)snprintf(text, bytes, " -d %.120s=%s", input_name(dims, input), fact->rank < 0 ? "NxN..." : "");
    }
    for (int d = 0; d < fact->rank; d++) {
        at = strlen(text);
        const int symbol = symbol_of(dims, fact->dims[d]);
        bool seen = false;
        for (int before = 0; before < d; before++) {
            seen = seen || fact->dims[before] == fact->dims[d];
        }
        if (nameless && fact->dims[d] >= 0) {
            (void)snprintf(text + at, bytes - at, "%s%" PRId64, d ? "x" : "", fact->dims[d]);
        } else if (nameless) {
            (void)snprintf(text + at, bytes - at, "%sN", d ? "x" : "");
        } else if (symbol >= 0 && !seen) {
            (void)snprintf(text + at, bytes - at, " -d %.60s=N", dims->model->symbols[symbol]);
        }
    }
}

enum sc_status sc_dims_require(struct sc_dims *dims, int input)
{
    const struct sc_fact *fact = &dims->facts[input];
    char remedy[320];
    if (fact->rank < 0) {
        print_remedy(dims, input, remedy, sizeof remedy);
        return sc_fail(SC_BAD_USAGE, "input '%s' has no declared shape: give%s", input_name(dims, input), remedy);
    }
    for (int d = 0; d < fact->rank; d++) {
        if (fact->dims[d] >= 0) {
            continue;
        }
        const int symbol = symbol_of(dims, fact->dims[d]);
        print_remedy(dims, input, remedy, sizeof remedy);
        return sc_fail(SC_BAD_USAGE, "input '%s' has no size in dim %d%s%s%s: give%s", input_name(dims, input), d,
            symbol >= 0 ? " ('" : "", symbol >= 0 ? dims->model->symbols[symbol] : "", symbol >= 0 ? "')" : "", remedy);
    }
    return SC_OK;
}

enum sc_status sc_dims_fill(struct sc_dims *dims, struct sc_arena *arena, const char **names)
{
    const char *list = "";
    for (int i = 0; i < dims->model->graph->n_inputs; i++) {
        struct sc_fact *fact = &dims->facts[i];
        for (int d = 0; d < fact->rank; d++) {
            const int symbol = symbol_of(dims, fact->dims[d]);
            if (symbol >= 0) {
                list = list ? sc_arena_printf(arena, "%s%s%s", list, *list ? ", " : "", dims->model->symbols[symbol])
                            : NULL;
                dims->sizes[symbol] = 1;
                spread(dims);
            }
            fact->dims[d] = fact->dims[d] < 0 ? 1 : fact->dims[d];
        }
    }
    *names = list;
    return list ? SC_OK : SC_NO_MEMORY;
}
