/* SPDX-License-Identifier: Apache-2.0
 * Printing follows the graph: inputs, initializers, nodes with the bodies they have, outputs; then functions. */
#include "launch/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/convert.h"

enum { SHOWN_ELEMENTS = 16, SHOWN_BYTES = 60, STEP = 2 };

struct dump {
    const struct sc_model *model;
    struct sc_arena arena; /* of the value at hand */
    int depth;
};

static enum sc_status print_graph(struct dump *dump, const struct sc_graph *graph);

static void indent(const struct dump *dump)
{
    printf("%*s", dump->depth * STEP, "");
}

static void print_cut(const char *text, size_t bytes, size_t most)
{
    for (size_t i = 0; i < bytes && i < most; i++) {
        const unsigned char c = (unsigned char)text[i];
        putchar(c < 32 || c == 127 ? '?' : c);
    }
    fputs(bytes > most ? "..." : "", stdout);
}

static void print_name(const char *name)
{
    print_cut(name, strlen(name), SIZE_MAX);
}

static void print_string(const struct sc_string *string)
{
    putchar('"');
    print_cut(string->data, string->bytes, SHOWN_BYTES);
    putchar('"');
}

static void print_fact(const struct dump *dump, const struct sc_fact *fact)
{
    char text[512];
    if (fact->kind != SC_KIND_NONE) {
        putchar(' ');
        print_name(sc_fact_text(dump->model, fact, text, sizeof text));
    }
}

/* As few digits as give the same number back. */
static void print_number(double number)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, number);
        if ((double)strtof(text, NULL) == number) {
            break;
        }
    }
    fputs(text, stdout);
}

static bool is_shown(const struct sc_tensor *tensor)
{
    return sc_tensor_count(tensor) <= SHOWN_ELEMENTS && tensor->type != SC_C64 && tensor->type != SC_C128;
}

static void print_element(const struct sc_tensor *tensor, int64_t i)
{
    const void *at = (const char *)tensor->data + (size_t)i * sc_type_bytes(tensor->type);
    if (tensor->type == SC_STRING) {
        print_string(at);
    } else if (sc_type_is_float(tensor->type)) {
        double number;
        sc_convert(tensor->type, at, SC_F64, &number, 1, 0);
        print_number(number);
    } else if (tensor->type == SC_U64) {
        printf("%" PRIu64, *(const uint64_t *)at);
    } else {
        int64_t number;
        sc_convert(tensor->type, at, SC_I64, &number, 1, 0);
        printf("%" PRId64, number);
    }
}

/* The elements in one list, whatever the rank. `tensor` is dense and plain. */
static void print_elements(const struct sc_tensor *tensor)
{
    const int64_t n = sc_tensor_count(tensor);
    fputs(tensor->rank ? "[" : "", stdout);
    for (int64_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", stdout);
        print_element(tensor, i);
    }
    fputs(tensor->rank ? "]" : "", stdout);
}

static void print_tensor(const struct sc_tensor *tensor)
{
    char text[256];
    printf("%s", sc_tensor_text(tensor, text, sizeof text));
    if (is_shown(tensor)) {
        putchar(' ');
        print_elements(tensor);
    }
}

/* Type, dims and size; then the content if it is short, else where it lies. */
static enum sc_status print_weight(struct dump *dump, const struct sc_weight *weight)
{
    char text[256];
    printf("%s, %zu bytes", sc_tensor_text(&weight->shape, text, sizeof text), sc_weight_bytes(weight));
    if (is_shown(&weight->shape)) {
        struct sc_tensor tensor;
        sc_arena_reset(&dump->arena);
        SC_TRY(sc_weight_tensor(weight, &dump->arena, &tensor));
        fputs(": ", stdout);
        print_elements(&tensor);
    } else if (weight->file >= 0 && (weight->raw || weight->message)) {
        const unsigned char *at = weight->raw ? weight->raw : weight->message;
        printf(" at %zu of ", (size_t)(at - dump->model->files[weight->file].data));
        print_name(dump->model->file_names[weight->file]);
    } else {
        fputs(weight->recipe ? ", made when it is loaded" : ", made by passes or loading", stdout);
    }
    return SC_OK;
}

static void print_list(const struct sc_attribute *a)
{
    fputs("[", stdout);
    for (int i = 0; i < a->n && i < SHOWN_ELEMENTS; i++) {
        fputs(i ? ", " : "", stdout);
        switch (a->type) {
        case SC_ATTRIBUTE_FLOATS:
            print_number((double)a->u.floats[i]);
            break;
        case SC_ATTRIBUTE_INTS:
            printf("%" PRId64, a->u.ints[i]);
            break;
        case SC_ATTRIBUTE_STRINGS:
            print_string(&a->u.strings[i]);
            break;
        default:
            print_tensor(&a->u.tensor[i]);
        }
    }
    if (a->n > SHOWN_ELEMENTS) {
        printf(", ... %d in all", a->n);
    }
    fputs("]", stdout);
}

static void print_attribute(const struct dump *dump, const struct sc_attribute *a)
{
    print_name(a->name);
    fputs(" = ", stdout);
    if (a->ref) {
        fputs("@", stdout); /* the caller's */
        print_name(a->ref);
        return;
    }
    switch (a->type) {
    case SC_ATTRIBUTE_FLOAT:
        print_number((double)a->u.f);
        break;
    case SC_ATTRIBUTE_INT:
        printf("%" PRId64, a->u.i);
        break;
    case SC_ATTRIBUTE_STRING:
        print_string(&a->u.s);
        break;
    case SC_ATTRIBUTE_TENSOR:
    case SC_ATTRIBUTE_SPARSE_TENSOR:
        print_tensor(a->u.tensor);
        break;
    case SC_ATTRIBUTE_GRAPH:
    case SC_ATTRIBUTE_GRAPHS:
        fputs(a->n ? "graph " : "no graph", stdout);
        print_name(a->n ? a->u.graph->name : "");
        break;
    case SC_ATTRIBUTE_TYPE_PROTO:
        fputs("type", stdout);
        print_fact(dump, a->u.type);
        break;
    default:
        print_list(a);
    }
}

static void print_attributes(const struct dump *dump, int n, const struct sc_attribute *attributes)
{
    fputs(n ? " {" : "", stdout);
    for (int a = 0; a < n; a++) {
        fputs(a ? ", " : "", stdout);
        print_attribute(dump, &attributes[a]);
    }
    fputs(n ? "}" : "", stdout);
}

static void print_values(
    const struct dump *dump, const struct sc_graph *graph, int n, const int *values, bool with_facts)
{
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "", stdout);
        print_name(values[i] < 0 ? "-" : sc_graph_value_name(graph, values[i]));
        if (values[i] >= 0 && with_facts) {
            print_fact(dump, &graph->values[values[i]].fact);
        }
    }
}

static enum sc_status print_node(struct dump *dump, const struct sc_graph *graph, const struct sc_node *node)
{
    indent(dump);
    print_values(dump, graph, node->n_out, node->out, true);
    fputs(" = ", stdout);
    print_name(node->domain);
    fputs(*node->domain ? "." : "", stdout);
    print_name(node->op);
    if (node->function && *node->function->overload) {
        putchar(':');
        print_name(node->function->overload);
    }
    putchar('(');
    print_values(dump, graph, node->n_in, node->in, false);
    putchar(')');
    print_attributes(dump, node->n_attributes, node->attributes);
    if (*node->name) {
        fputs("    '", stdout);
        print_name(node->name);
        putchar('\'');
    }
    putchar('\n');
    for (int a = 0; a < node->n_attributes; a++) {
        const struct sc_attribute *attribute = &node->attributes[a];
        const bool has_body = attribute->type == SC_ATTRIBUTE_GRAPH || attribute->type == SC_ATTRIBUTE_GRAPHS;
        if (has_body && !attribute->ref && attribute->n) {
            dump->depth++;
            SC_TRY(print_graph(dump, attribute->u.graph)); /* as deep as loading lets files be */
            dump->depth--;
        }
    }
    return SC_OK;
}

static enum sc_status print_inputs(struct dump *dump, const struct sc_graph *graph)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        const struct sc_graph_value *value = &graph->values[graph->inputs[i]];
        if (value->place == SC_PLACE_INITIALIZER) { /* a default that passes have made a constant */
            continue;
        }
        indent(dump);
        fputs("input ", stdout);
        print_name(value->name);
        print_fact(dump, &value->fact);
        if (value->weight >= 0) {
            fputs(", default ", stdout);
            SC_TRY(print_weight(dump, &graph->weights[value->weight]));
        }
        putchar('\n');
    }
    return SC_OK;
}

static enum sc_status print_initializers(struct dump *dump, const struct sc_graph *graph)
{
    for (int v = 0; v < graph->n_values; v++) {
        const struct sc_graph_value *value = &graph->values[v];
        if (value->place == SC_PLACE_INITIALIZER) {
            indent(dump);
            fputs("initializer ", stdout);
            print_name(value->name);
            putchar(' ');
            SC_TRY(print_weight(dump, &graph->weights[value->weight]));
            putchar('\n');
        }
    }
    return SC_OK;
}

static enum sc_status print_nodes(struct dump *dump, const struct sc_graph *graph)
{
    for (int n = 0; n < graph->n_nodes; n++) {
        SC_TRY(graph->nodes[n].dead ? SC_OK : print_node(dump, graph, &graph->nodes[n]));
    }
    for (int o = 0; o < graph->n_outputs; o++) {
        const struct sc_graph_value *value = &graph->values[graph->outputs[o]];
        indent(dump);
        fputs("output ", stdout);
        print_name(value->name);
        print_fact(dump, &value->fact);
        putchar('\n');
    }
    return SC_OK;
}

static enum sc_status print_graph(struct dump *dump, const struct sc_graph *graph)
{
    indent(dump);
    fputs("graph ", stdout);
    print_name(graph->name);
    putchar('\n');
    dump->depth++;
    SC_TRY(print_inputs(dump, graph));
    SC_TRY(print_initializers(dump, graph));
    SC_TRY(print_nodes(dump, graph));
    dump->depth--;
    return SC_OK;
}

static enum sc_status print_function(struct dump *dump, const struct sc_function *function)
{
    const struct sc_graph *body = function->body;
    fputs("function ", stdout);
    print_name(function->domain);
    putchar('.');
    print_name(function->name);
    fputs(*function->overload ? ":" : "", stdout);
    print_name(function->overload);
    putchar('(');
    print_values(dump, body, body->n_inputs, body->inputs, false);
    putchar(')');
    for (int a = 0; a < function->n_attributes; a++) {
        fputs(" @", stdout);
        print_name(function->attributes[a]);
    }
    print_attributes(dump, function->n_defaults, function->defaults);
    putchar('\n');
    dump->depth++;
    SC_TRY(print_nodes(dump, body));
    dump->depth--;
    return SC_OK;
}

enum sc_status sc_dump(const struct sc_model *model)
{
    struct dump dump = {.model = model};
    enum sc_status status = print_graph(&dump, model->graph);
    for (int f = 0; f < model->n_functions && status == SC_OK; f++) {
        status = print_function(&dump, &model->functions[f]);
    }
    sc_arena_release(&dump.arena);
    return status;
}
