/* SPDX-License-Identifier: Apache-2.0
 * Operator sets and local functions. A function is known by (domain, name, overload); who calls whom is noted while
 * bodies are loaded, and cycles are looked for afterwards. */
#include <stdlib.h>
#include <string.h>

#include "model/load.h"

#define NEWEST_ONNX_OPSET 28

int sc_opset_version(int n, const struct sc_opset *opsets, const char *domain)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(opsets[i].domain, domain) == 0) {
            return opsets[i].version;
        }
    }
    return 0;
}

static enum sc_status check_opset(const char *domain, int64_t version, int n, const struct sc_opset *opsets)
{
    if (version < 1 || version > INT32_MAX) {
        return sc_fail(
            SC_BAD_MODEL, "version %lld of domain '%s' is imported, want 1 or more", (long long)version, domain);
    }
    if (!*domain && version > NEWEST_ONNX_OPSET) {
        return sc_fail(SC_UNSUPPORTED, "opset %lld of ai.onnx is imported, known are 1 to %d", (long long)version,
            NEWEST_ONNX_OPSET);
    }
    const int known = sc_opset_version(n, opsets, domain);
    if (known != 0 && known != version) {
        return sc_fail(SC_BAD_MODEL, "versions %d and %lld of domain '%s' are imported, want one", known,
            (long long)version, domain);
    }
    return SC_OK;
}

enum sc_status sc_load_opsets(struct sc_loader *loader, size_t n, Sc__Onnx__OperatorSetIdProto *const *imports,
    int *n_opsets, struct sc_opset **opsets)
{
    /* Each is compared with all, and no model has more than a handful. */
    if (n > 1000) {
        return sc_fail(SC_LIMIT, "%zu domains are imported, want at most 1000", n);
    }
    struct sc_opset *made = sc_arena_array(loader->arena, n, sizeof *made);
    if (!made) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const char *domain = sc_domain_of(imports[i]->domain);
        SC_TRY(check_opset(domain, imports[i]->version, (int)i, made));
        made[i].version = (int)imports[i]->version;
        made[i].domain = sc_arena_text(loader->arena, domain, strlen(domain));
        if (!made[i].domain) {
            return SC_NO_MEMORY;
        }
    }
    *n_opsets = (int)n;
    *opsets = made;
    return SC_OK;
}

/* The three names one after the other, each with its NUL. */
static char *make_key(struct sc_arena *arena, const char *const names[3], size_t *length)
{
    const size_t a = strlen(names[0]) + 1, b = strlen(names[1]) + 1, c = strlen(names[2]) + 1;
    char *key = sc_arena_alloc(arena, a + b + c);
    if (key) {
        memcpy(key, names[0], a);
        memcpy(key + a, names[1], b);
        memcpy(key + a + b, names[2], c);
    }
    *length = a + b + c;
    return key;
}

static enum sc_status note_call(struct sc_loader *loader, int callee)
{
    if (loader->function < 0) {
        return SC_OK;
    }
    if (loader->n_calls == loader->cap_calls) {
        const int capacity = loader->cap_calls ? 2 * loader->cap_calls : 64;
        struct sc_call_edge *calls = realloc(loader->calls, (size_t)capacity * sizeof *calls);
        if (!calls) {
            return sc_fail(SC_NO_MEMORY, "out of memory: a list of %d calls wanted", capacity);
        }
        loader->calls = calls;
        loader->cap_calls = capacity;
    }
    loader->calls[loader->n_calls++] = (struct sc_call_edge){loader->function, callee};
    return SC_OK;
}

enum sc_status sc_find_function(
    struct sc_loader *loader, const Sc__Onnx__NodeProto *node, const struct sc_function **function)
{
    *function = NULL;
    if (loader->model->n_functions == 0) {
        return SC_OK;
    }
    size_t length;
    const char *const names[3] = {sc_domain_of(node->domain), sc_or_empty(node->op_type), sc_or_empty(node->overload)};
    const char *key = make_key(&loader->scratch, names, &length);
    if (!key) {
        return SC_NO_MEMORY;
    }
    const int64_t index = sc_map_get(&loader->functions, key, length, -1);
    if (index >= 0) {
        *function = &loader->model->functions[index];
        SC_TRY(note_call(loader, (int)index));
    }
    return SC_OK;
}

static enum sc_status name_function(struct sc_loader *loader, const Sc__Onnx__FunctionProto *proto, int index)
{
    struct sc_function *function = &loader->model->functions[index];
    const char *const names[3] = {sc_domain_of(proto->domain), sc_or_empty(proto->name), sc_or_empty(proto->overload)};
    if (!*names[1]) {
        return sc_fail(SC_BAD_MODEL, "function %d has no name", index);
    }
    size_t length;
    char *key = make_key(loader->arena, names, &length);
    if (!key) {
        return SC_NO_MEMORY;
    }
    if (sc_map_get(&loader->functions, key, length, -1) >= 0) {
        return sc_fail(SC_BAD_MODEL, "function '%s' is defined twice", names[1]);
    }
    function->domain = key;
    function->name = key + strlen(names[0]) + 1;
    function->overload = function->name + strlen(names[1]) + 1;
    return sc_map_put(&loader->functions, key, length, index);
}

static enum sc_status load_formal_attributes(
    struct sc_loader *loader, const Sc__Onnx__FunctionProto *proto, struct sc_function *function)
{
    const char **attributes = sc_arena_array(loader->arena, proto->n_attribute, sizeof *attributes);
    if (!attributes) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < proto->n_attribute; i++) {
        attributes[i] = sc_arena_text(loader->arena, proto->attribute[i], strlen(proto->attribute[i]));
        if (!attributes[i]) {
            return SC_NO_MEMORY;
        }
    }
    function->attributes = attributes;
    function->n_attributes = (int)proto->n_attribute;
    SC_TRY(sc_load_attributes(loader, NULL, proto->n_attribute_proto, proto->attribute_proto, &function->defaults));
    function->n_defaults = (int)proto->n_attribute_proto;
    return SC_OK;
}

static enum sc_status load_body(
    struct sc_loader *loader, const Sc__Onnx__FunctionProto *proto, struct sc_function *function)
{
    struct sc_model *model = loader->model;
    struct sc_graph *graph = sc_model_new_graph(model);
    if (!graph) {
        return SC_NO_MEMORY;
    }
    function->body = graph;
    graph->name = function->name;
    graph->nodes = sc_arena_array(loader->arena, proto->n_node, sizeof *graph->nodes);
    if (!graph->nodes) {
        return SC_NO_MEMORY;
    }
    graph->cap_nodes = (int)proto->n_node;
    struct sc_scope scope = {.graph = graph, .n_nodes = proto->n_node, .nodes = proto->node, .node = -1};
    struct sc_opset *opsets;
    SC_TRY(sc_load_opsets(loader, proto->n_opset_import, proto->opset_import, &scope.n_opsets, &opsets));
    function->n_opsets = scope.n_opsets;
    function->opsets = opsets;
    scope.opsets = scope.n_opsets ? opsets : model->opsets;
    scope.n_opsets = scope.n_opsets ? scope.n_opsets : model->n_opsets;
    SC_TRY(load_formal_attributes(loader, proto, function));
    SC_TRY(sc_load_inputs(loader, graph, proto->n_input, proto->input));
    SC_TRY(sc_load_nodes(loader, &scope));
    SC_TRY(sc_load_outputs(loader, &scope, proto->n_output, proto->output));
    return sc_load_value_info(loader, graph, proto->n_value_info, proto->value_info);
}

/* Depth first over calls, with a stack of its own; a function met again while it is open calls itself. */
static enum sc_status check_cycles(struct sc_loader *loader)
{
    const struct sc_model *model = loader->model;
    const int n = model->n_functions;
    int *first =
        sc_arena_array(&loader->scratch, (size_t)n + 1, sizeof *first); /* edges of f: [first[f], first[f+1]) */
    int *next = sc_arena_array(&loader->scratch, (size_t)n, sizeof *next);
    int *stack = sc_arena_array(&loader->scratch, (size_t)n, sizeof *stack);
    enum { UNSEEN, OPEN, DONE } *state = sc_arena_array(&loader->scratch, (size_t)n, sizeof *state);
    if (!first || !next || !stack || !state) {
        return SC_NO_MEMORY;
    }
    for (int f = 0, e = 0; f <= n; f++) {
        while (e < loader->n_calls && loader->calls[e].caller < f) {
            e++;
        }
        first[f] = e;
    }
    for (int root = 0; root < n; root++) {
        int depth = 0;
        if (state[root] == UNSEEN) {
            stack[depth++] = root;
        }
        while (depth > 0) {
            const int f = stack[depth - 1];
            if (state[f] == UNSEEN) {
                state[f] = OPEN;
                next[f] = first[f];
            }
            if (next[f] == first[f + 1]) {
                state[f] = DONE;
                depth--;
                continue;
            }
            const int callee = loader->calls[next[f]++].callee;
            if (state[callee] == OPEN) {
                return sc_fail(SC_BAD_MODEL, "function '%s' calls itself, through '%s'", model->functions[callee].name,
                    model->functions[f].name);
            }
            if (state[callee] == UNSEEN) {
                stack[depth++] = callee;
            }
        }
    }
    return SC_OK;
}

enum sc_status sc_load_functions(struct sc_loader *loader, const Sc__Onnx__ModelProto *proto)
{
    struct sc_model *model = loader->model;
    if (proto->n_functions == 0) {
        return SC_OK;
    }
    model->functions = sc_arena_array(loader->arena, proto->n_functions, sizeof *model->functions);
    if (!model->functions) {
        return SC_NO_MEMORY;
    }
    for (size_t i = 0; i < proto->n_functions; i++) {
        SC_TRY(name_function(loader, proto->functions[i], (int)i));
    }
    model->n_functions = (int)proto->n_functions;
    enum sc_status status = SC_OK;
    for (size_t i = 0; i < proto->n_functions && status == SC_OK; i++) {
        loader->function = (int)i;
        status = load_body(loader, proto->functions[i], &model->functions[i]);
        if (status != SC_OK) {
            (void)sc_fail_in("function '%s'", model->functions[i].name);
        }
    }
    loader->function = -1;
    return status == SC_OK ? check_cycles(loader) : status;
}
