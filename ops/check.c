/* SPDX-License-Identifier: Apache-2.0
 * Holds nodes against the schema: texts like "X:T A?:T1 rest*:T" are read where they stand, word by word. */
#include "ops/schema.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

/* Bodies in bodies; the loader bounds nesting lower than this. */
#define MAX_DEPTH 128

/* A word of a column: name, marks after it ("?", "*", "*~"), and what follows ':' or '='. */
struct word {
    const char *name, *rest;
    int name_length, rest_length;
    bool optional, variadic, mixed;
};

/* Reads the word at *at, whose name ends at `separator`, and moves *at to the next. False at the end. */
static bool next_word(const char **at, char separator, struct word *word)
{
    if (!**at) {
        return false;
    }
    const char *start = *at, *end = start + strcspn(start, " ");
    const char *split = memchr(start, separator, (size_t)(end - start));
    split = split ? split : end;
    *word = (struct word){.name = start, .name_length = (int)(split - start)};
    word->rest = split < end ? split + 1 : end;
    word->rest_length = (int)(end - word->rest);
    while (word->name_length > 0) {
        const char mark = start[word->name_length - 1];
        if (mark != '?' && mark != '*' && mark != '~') {
            break;
        }
        word->optional |= mark == '?';
        word->variadic |= mark == '*';
        word->mixed |= mark == '~';
        word->name_length--;
    }
    *at = *end ? end + 1 : end;
    return true;
}

static bool same(const char *a, int length, const char *text)
{
    return strlen(text) == (size_t)length && memcmp(a, text, (size_t)length) == 0;
}

static const struct {
    const char *name;
    enum sc_attribute_type type;
} kinds[] = {{"float", SC_ATTRIBUTE_FLOAT}, {"int", SC_ATTRIBUTE_INT}, {"string", SC_ATTRIBUTE_STRING},
    {"tensor", SC_ATTRIBUTE_TENSOR}, {"graph", SC_ATTRIBUTE_GRAPH}, {"floats", SC_ATTRIBUTE_FLOATS},
    {"ints", SC_ATTRIBUTE_INTS}, {"strings", SC_ATTRIBUTE_STRINGS}, {"tensors", SC_ATTRIBUTE_TENSORS},
    {"graphs", SC_ATTRIBUTE_GRAPHS}, {"sparse_tensor", SC_ATTRIBUTE_SPARSE_TENSOR},
    {"type_proto", SC_ATTRIBUTE_TYPE_PROTO}};

static const char *kind_name(enum sc_attribute_type type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].type == type) {
            return kinds[i].name;
        }
    }
    return "unknown";
}

/* The attribute's word in the schema ("axis:int=0"); false when it has none of that name. */
static bool find_attribute(const struct sc_schema *schema, const char *name, struct word *found)
{
    const char *at = schema->attributes;
    while (next_word(&at, ':', found)) {
        if (same(found->name, found->name_length, name)) {
            return true;
        }
    }
    return false;
}

static enum sc_status check_attributes(
    const struct sc_graph *graph, const struct sc_node *node, const struct sc_schema *schema)
{
    struct word word;
    for (int i = 0; i < node->n_attributes; i++) {
        const struct sc_attribute *attribute = &node->attributes[i];
        if (!find_attribute(schema, attribute->name, &word)) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "has an attribute '%s' that version %d does not know",
                attribute->name, schema->since);
        }
        const int length = (int)strcspn(word.rest, "!= ");
        if (!same(word.rest, length, kind_name(attribute->type))) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "attribute '%s' has type %s, want %.*s", attribute->name,
                kind_name(attribute->type), length, word.rest);
        }
    }
    const char *at = schema->attributes;
    while (next_word(&at, ':', &word)) {
        if (word.rest[strcspn(word.rest, "!= ")] != '!') {
            continue;
        }
        bool there = false;
        for (int i = 0; i < node->n_attributes && !there; i++) {
            there = same(word.name, word.name_length, node->attributes[i].name);
        }
        if (!there) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "attribute '%.*s' is missing", word.name_length, word.name);
        }
    }
    return SC_OK;
}

static enum sc_status check_count(
    const struct sc_graph *graph, const struct sc_node *node, const char *what, int n, int min, int max)
{
    if (n >= min && n <= max) {
        return SC_OK;
    }
    if (max == INT_MAX) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d %s, want at least %d", n, what, min);
    }
    if (min == max) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d %s, want %d", n, what, min);
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d %s, want %d to %d", n, what, min, max);
}

/* Every input that is not optional must be there, those of a variadic list among them. */
static enum sc_status check_inputs(
    const struct sc_graph *graph, const struct sc_node *node, const struct sc_schema *schema)
{
    SC_TRY(check_count(graph, node, "inputs", node->n_in, schema->min_in, schema->max_in));
    SC_TRY(check_count(graph, node, "outputs", node->n_out, schema->min_out, schema->max_out));
    struct word word = {0};
    const char *at = schema->inputs;
    for (int i = 0; i < node->n_in && (word.variadic || next_word(&at, ':', &word)); i++) {
        if (node->in[i] < 0 && !word.optional) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "input %.*s is missing", word.name_length, word.name);
        }
    }
    return SC_OK;
}

static enum sc_status check_node(const struct sc_graph *graph, const struct sc_node *node)
{
    const struct sc_schema *schema = sc_schema_find(node->domain, node->op, node->version);
    const struct sc_op *op = sc_op_find(node->domain, node->op, node->version);
    const char *domain = node->domain[0] ? node->domain : "ai.onnx";
    if (schema) {
        SC_TRY(check_inputs(graph, node, schema));
        SC_TRY(check_attributes(graph, node, schema));
        return op ? SC_OK
                  : sc_node_fail(graph, node, SC_UNSUPPORTED, "version %d of this operator of %s is not supported",
                        schema->since, domain);
    }
    if (op) {
        return SC_OK; /* ours alone, or one whose facts nobody wrote down */
    }
    const struct sc_schema *newer = sc_schema_find(node->domain, node->op, INT_MAX);
    if (newer) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "is not in version %d of %s", node->version, domain);
    }
    if (!node->domain[0] || strncmp(node->domain, "ai.onnx", 7) == 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "there is no such operator in %s", domain);
    }
    if (sc_schema_has_domain(node->domain)) {
        return sc_node_fail(graph, node, SC_UNSUPPORTED,
            "this operator of %s is not supported; 'stagecoach ops' lists those that are", domain);
    }
    return sc_node_fail(graph, node, SC_UNSUPPORTED,
        "no operator of %s is supported, and the model has no function of this name there", domain);
}

/* Where the walk through nested bodies stands in one graph. */
struct place {
    const struct sc_graph *graph;
    int node, attribute, body;
};

/* The next body of the node at `place`, or NULL when it has no more. */
static const struct sc_graph *next_body(struct place *place)
{
    const struct sc_node *node = &place->graph->nodes[place->node];
    for (; place->attribute < node->n_attributes; place->attribute++, place->body = 0) {
        const struct sc_attribute *attribute = &node->attributes[place->attribute];
        const bool graphs = attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
        if (graphs && place->body < attribute->n) {
            return &attribute->u.graph[place->body++];
        }
    }
    return NULL;
}

enum sc_status sc_check_graph(const struct sc_graph *graph)
{
    struct place stack[MAX_DEPTH];
    int depth = 0;
    stack[0] = (struct place){.graph = graph};
    while (depth >= 0) {
        struct place *place = &stack[depth];
        if (place->node == place->graph->n_nodes) {
            depth--;
            continue;
        }
        const struct sc_node *node = &place->graph->nodes[place->node];
        if (place->attribute == 0 && place->body == 0 && !node->dead) {
            SC_TRY(check_node(place->graph, node));
        }
        const struct sc_graph *body = node->dead ? NULL : next_body(place);
        if (!body) {
            place->node++;
            place->attribute = place->body = 0;
        } else if (depth + 1 == MAX_DEPTH) {
            return sc_node_fail(place->graph, node, SC_BAD_MODEL, "bodies are nested deeper than %d", MAX_DEPTH);
        } else {
            stack[++depth] = (struct place){.graph = body};
        }
    }
    return SC_OK;
}

/* The schema's text of a fact's type: "float", "seq(tensor(float))", "optional(seq(tensor(float)))",
 * "seq(map(int64:float))". */
static void type_text(const struct sc_fact *fact, char *buffer, size_t bytes)
{
    const char *type = sc_type_name(fact->type);
    const bool maps = fact->kind == SC_KIND_MAP || fact->item_kind == SC_KIND_MAP;
    if (maps) {
        snprintf(buffer, bytes, fact->kind == SC_KIND_MAP ? "map(%s:%s)" : "seq(map(%s:%s))",
            sc_type_name(fact->key_type), type);
        return;
    }
    switch (fact->kind) {
    case SC_KIND_SEQUENCE:
        snprintf(buffer, bytes, "seq(tensor(%s))", type);
        break;
    case SC_KIND_OPTIONAL:
        snprintf(buffer, bytes,
            fact->item_kind == SC_KIND_SEQUENCE ? "optional(seq(tensor(%s)))" : "optional(tensor(%s))", type);
        break;
    default:
        snprintf(buffer, bytes, "%s", type);
    }
}

/* Whether a comma-separated list holds the text. */
static bool lists(const char *list, int length, const char *text)
{
    for (int at = 0; at < length;) {
        int end = at;
        while (end < length && list[end] != ',') {
            end++;
        }
        if (same(list + at, end - at, text)) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

#define MAX_VARIABLES 8

/* Types that variables ("T1") stand for at this node so far; a variable of a mixed variadic input binds nothing. */
struct binding {
    const char *name;
    int length;
    char text[64];
    struct word input;
};

struct type_check {
    const struct sc_graph *graph;
    const struct sc_node *node;
    const struct sc_schema *schema;
    struct binding bindings[MAX_VARIABLES];
    int n_bindings;
};

static enum sc_status bind(struct type_check *check, const struct word *input, const char *text)
{
    for (int i = 0; i < check->n_bindings; i++) {
        const struct binding *bound = &check->bindings[i];
        if (bound->length == input->rest_length && memcmp(bound->name, input->rest, (size_t)bound->length) == 0) {
            return strcmp(bound->text, text) == 0
                ? SC_OK
                : sc_node_fail(check->graph, check->node, SC_BAD_MODEL, "input %.*s has type %s, but %.*s has type %s",
                      input->name_length, input->name, text, bound->input.name_length, bound->input.name, bound->text);
        }
    }
    if (check->n_bindings < MAX_VARIABLES) {
        struct binding *bound = &check->bindings[check->n_bindings++];
        bound->name = input->rest;
        bound->length = input->rest_length;
        bound->input = *input;
        snprintf(bound->text, sizeof bound->text, "%s", text);
    }
    return SC_OK;
}

static enum sc_status check_type(struct type_check *check, const struct word *input, const struct sc_fact *fact)
{
    char text[64];
    type_text(fact, text, sizeof text);
    struct word variable;
    const char *at = check->schema->types;
    while (next_word(&at, '=', &variable)) {
        if (variable.name_length != input->rest_length ||
            memcmp(variable.name, input->rest, (size_t)input->rest_length) != 0) {
            continue;
        }
        if (!lists(variable.rest, variable.rest_length, text)) {
            return sc_node_fail(check->graph, check->node, SC_BAD_MODEL, "input %.*s has type %s, want one of %.*s",
                input->name_length, input->name, text, variable.rest_length, variable.rest);
        }
        return input->mixed ? SC_OK : bind(check, input, text);
    }
    if (!same(input->rest, input->rest_length, text)) {
        return sc_node_fail(check->graph, check->node, SC_BAD_MODEL, "input %.*s has type %s, want %.*s",
            input->name_length, input->name, text, input->rest_length, input->rest);
    }
    return SC_OK;
}

enum sc_status sc_check_types(
    const struct sc_graph *graph, const struct sc_node *node, int n_in, const struct sc_fact *const *in)
{
    struct type_check check = {
        .graph = graph, .node = node, .schema = sc_schema_find(node->domain, node->op, node->version)};
    if (!check.schema) {
        return SC_OK;
    }
    struct word input = {0};
    const char *at = check.schema->inputs;
    for (int i = 0; i < n_in; i++) {
        if (!input.variadic && !next_word(&at, ':', &input)) {
            break;
        }
        const bool known =
            in[i] && in[i]->kind != SC_KIND_NONE && in[i]->kind != SC_KIND_STATE && in[i]->type != SC_TYPE_NONE;
        if (known) {
            SC_TRY(check_type(&check, &input, in[i]));
        }
    }
    return SC_OK;
}
