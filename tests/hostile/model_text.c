/* SPDX-License-Identifier: Apache-2.0
 * Messages under construction are byte buffers; a finished one is appended to its parent with its length. Field numbers
 * are those of the ONNX format. */
#include "tests/hostile/model_text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/varint.h"
#include "tensor/type.h"

enum { MOST_WORDS = 256, MOST_BODIES = 32, MOST_RAW = 1 << 22 };

struct buffer {
    unsigned char *data;
    size_t n, room;
};

struct body {
    char name[64];
    struct buffer graph;
};

struct writer {
    struct buffer model, main;
    struct body bodies[MOST_BODIES];
    int n_bodies;
    struct buffer function;
    enum { IN_MAIN, IN_BODY, IN_FUNCTION } where;
    char *words[MOST_WORDS];
    int n;
};

static void put(struct buffer *buffer, const void *data, size_t n)
{
    if (buffer->n + n > buffer->room) {
        buffer->room = 2 * buffer->room + n;
        buffer->data = realloc(buffer->data, buffer->room);
        if (!buffer->data) {
            abort();
        }
    }
    if (n > 0) {
        memcpy(buffer->data + buffer->n, data, n);
    }
    buffer->n += n;
}

static void put_varint(struct buffer *buffer, uint64_t value)
{
    unsigned char bytes[10];
    put(buffer, bytes, sc_varint_write(bytes, value));
}

static void put_int(struct buffer *buffer, unsigned field, int64_t value)
{
    put_varint(buffer, field << 3 | SC_WIRE_VARINT);
    put_varint(buffer, (uint64_t)value);
}

static void put_float(struct buffer *buffer, unsigned field, float value)
{
    put_varint(buffer, field << 3 | SC_WIRE_32);
    put(buffer, &value, sizeof value);
}

static void put_bytes(struct buffer *buffer, unsigned field, const void *data, size_t n)
{
    put_varint(buffer, field << 3 | SC_WIRE_BYTES);
    put_varint(buffer, n);
    put(buffer, data, n);
}

static void put_text(struct buffer *buffer, unsigned field, const char *text)
{
    put_bytes(buffer, field, text, strlen(text));
}

/* Appends a finished message and empties it. */
static void put_message(struct buffer *buffer, unsigned field, struct buffer *message)
{
    put_bytes(buffer, field, message->data, message->n);
    free(message->data);
    *message = (struct buffer){0};
}

/* "a,b,,c": each item as field; "-" alone is none. */
static void put_names(struct buffer *buffer, unsigned field, char *list)
{
    if (strcmp(list, "-") == 0) {
        return;
    }
    for (char *item = list; item;) {
        char *comma = strchr(item, ',');
        if (comma) {
            *comma = '\0';
        }
        put_text(buffer, field, item);
        item = comma ? comma + 1 : NULL;
    }
}

static int64_t type_code(const char *name)
{
    const enum sc_type type = sc_type_find(name, strlen(name));
    return type == SC_TYPE_NONE ? strtoll(name, NULL, 10) : (int64_t)type; /* others by number */
}

static size_t type_bytes(int64_t type)
{
    return type == SC_STRING ? 0 : sc_type_valid(type) ? sc_type_bytes((enum sc_type)type) : 1;
}

static bool is_number(const char *word)
{
    return (word[0] >= '0' && word[0] <= '9') || (word[0] == '-' && word[1]);
}

static void put_value_info(const struct writer *w, struct buffer *graph, unsigned field)
{
    struct buffer shape = {0}, tensor = {0}, type = {0}, info = {0};
    const char *name = w->n > 2 ? w->words[2] : "0";
    const bool sequence = strncmp(name, "seq:", 4) == 0, optional = strncmp(name, "opt:", 4) == 0;
    for (int i = 3; i < w->n; i++) {
        struct buffer dim = {0};
        if (is_number(w->words[i])) {
            put_int(&dim, 1, strtoll(w->words[i], NULL, 10));
        } else {
            put_text(&dim, 2, w->words[i]);
        }
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, type_code(name + (sequence || optional ? 4 : 0)));
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    if (sequence || optional) {
        struct buffer inner = type, around = {0};
        type = (struct buffer){0};
        put_message(&around, 1, &inner);
        put_message(&type, sequence ? 4 : 9, &around);
    }
    put_text(&info, 1, w->words[1]);
    if (w->n > 2) {
        put_message(&info, 2, &type);
    }
    free(type.data);
    put_message(graph, field, &info);
}

static void put_element(struct buffer *raw, int64_t type, double value)
{
    const float single = (float)value;
    const int64_t whole = fabs(value) < 9e18 ? (int64_t)value : INT64_MAX;
    if (type == 1) {
        put(raw, &single, sizeof single);
    } else if (type == 11) {
        put(raw, &value, sizeof value);
    } else {
        put(raw, &whole, type_bytes(type) < 8 ? type_bytes(type) : 8); /* little-endian, as the format is */
    }
}

static void put_external(struct buffer *tensor, const char *file)
{
    struct buffer entry = {0};
    put_text(&entry, 1, "location");
    put_text(&entry, 2, file);
    put_message(tensor, 13, &entry);
    put_int(tensor, 14, 1); /* data_location: EXTERNAL */
}

static void put_weight(const struct writer *w, struct buffer *graph)
{
    struct buffer tensor = {0}, raw = {0};
    const int64_t type = type_code(w->words[2]);
    int64_t count = 1;
    int i = 3;
    for (; i < w->n && strcmp(w->words[i], "=") != 0; i++) {
        const int64_t dim = strtoll(w->words[i], NULL, 10);
        put_int(&tensor, 1, dim);
        count = dim >= 0 && dim < MOST_RAW && count < MOST_RAW ? count * dim : MOST_RAW;
    }
    const int values = i + 1, n_values = w->n - values;
    const bool external = n_values == 1 && w->words[values][0] == '@', texts = type == SC_STRING;
    count = external ? 0 : count * 8 < MOST_RAW ? count : 1;
    for (int64_t e = 0; e < count && texts; e++) {
        put_text(&tensor, 6, n_values > 0 ? w->words[values + e % n_values] : "text");
    }
    for (int64_t e = 0; e < count && !texts; e++) {
        put_element(&raw, type, n_values > 0 ? strtod(w->words[values + e % n_values], NULL) : (double)(e % 7 - 3) / 4);
    }
    put_int(&tensor, 2, type);
    put_text(&tensor, 8, w->words[1]);
    if (external) {
        put_external(&tensor, w->words[values] + 1);
    } else if (!texts) {
        put_message(&tensor, 9, &raw);
    }
    put_message(graph, 5, &tensor);
}

static void put_list(struct buffer *attribute, char kind, const char *text)
{
    for (const char *at = text; *at;) {
        char *end;
        if (kind == 'I') {
            put_int(attribute, 8, strtoll(at, &end, 10));
        } else {
            put_float(attribute, 7, strtof(at, &end));
        }
        at = *end == ',' ? end + 1 : "";
    }
}

/* TYPE:V,V: a tensor of one axis. */
static void put_tensor(struct buffer *attribute, char *text)
{
    struct buffer tensor = {0}, raw = {0};
    char *values = strchr(text, ':');
    if (values) {
        *values++ = '\0';
    }
    const int64_t type = type_code(text);
    int64_t n = 0;
    for (char *end; values && *values; n++) {
        put_element(&raw, type, strtod(values, &end));
        values = *end == ',' ? end + 1 : NULL;
    }
    put_int(&tensor, 1, n);
    put_int(&tensor, 2, type);
    put_message(&tensor, 9, &raw);
    put_message(attribute, 5, &tensor);
}

/* NAME=K:VALUE */
static bool put_attribute(const struct writer *w, struct buffer *node, char *word)
{
    struct buffer attribute = {0};
    char *equals = strchr(word, '=');
    if (!equals || !equals[1] || equals[2] != ':') {
        return false;
    }
    *equals = '\0';
    const char kind = equals[1];
    char *value = equals + 3;
    put_text(&attribute, 1, word);
    if (kind == 'i') {
        put_int(&attribute, 3, strtoll(value, NULL, 10));
        put_int(&attribute, 20, 2);
    } else if (kind == 'f') {
        put_float(&attribute, 2, strtof(value, NULL));
        put_int(&attribute, 20, 1);
    } else if (kind == 's') {
        put_text(&attribute, 4, value);
        put_int(&attribute, 20, 3);
    } else if (kind == 'I' || kind == 'F') {
        put_list(&attribute, kind, value);
        put_int(&attribute, 20, kind == 'I' ? 7 : 6);
    } else if (kind == 'S') {
        put_names(&attribute, 9, value);
        put_int(&attribute, 20, 8);
    } else if (kind == 't') {
        put_tensor(&attribute, value);
        put_int(&attribute, 20, 4);
    } else if (kind == 'g') {
        for (int b = 0; b < w->n_bodies; b++) {
            if (strcmp(w->bodies[b].name, value) == 0) {
                put_bytes(&attribute, 6, w->bodies[b].graph.data, w->bodies[b].graph.n);
            }
        }
        put_int(&attribute, 20, 5);
    }
    put_message(node, 5, &attribute);
    return true;
}

static bool put_node(const struct writer *w, struct buffer *graph, unsigned field)
{
    struct buffer node = {0};
    if (w->n < 5 || strcmp(w->words[3], "->") != 0) {
        return false;
    }
    char *domain = strchr(w->words[1], '@');
    if (domain) {
        *domain++ = '\0';
    }
    put_names(&node, 1, w->words[2]);
    put_names(&node, 2, w->words[4]);
    put_text(&node, 4, w->words[1]);
    if (domain) {
        put_text(&node, 7, domain);
    }
    for (int i = 5; i < w->n; i++) {
        if (!put_attribute(w, &node, w->words[i])) {
            free(node.data);
            return false;
        }
    }
    put_message(graph, field, &node);
    return true;
}

static void put_opset(struct buffer *buffer, unsigned field, const char *domain, int64_t version)
{
    struct buffer opset = {0};
    put_text(&opset, 1, strcmp(domain, "ai.onnx") == 0 ? "" : domain);
    put_int(&opset, 2, version);
    put_message(buffer, field, &opset);
}

static bool start_body(struct writer *w)
{
    if (w->where != IN_MAIN || w->n_bodies == MOST_BODIES) {
        return false;
    }
    struct body *body = &w->bodies[w->n_bodies++];
    strncpy(body->name, w->words[1], sizeof body->name - 1);
    put_text(&body->graph, 2, body->name);
    w->where = IN_BODY;
    return true;
}

static bool start_function(struct writer *w)
{
    if (w->where != IN_MAIN || w->n < 6) {
        return false;
    }
    put_text(&w->function, 1, w->words[2]);
    put_text(&w->function, 10, w->words[1]);
    put_names(&w->function, 4, w->words[3]);
    put_names(&w->function, 5, w->words[5]);
    put_opset(&w->function, 9, "ai.onnx", 23);
    put_opset(&w->function, 9, w->words[1], 1);
    w->where = IN_FUNCTION;
    return true;
}

static bool end_inner(struct writer *w)
{
    if (w->where == IN_FUNCTION) {
        put_message(&w->model, 25, &w->function);
    }
    const bool inside = w->where != IN_MAIN;
    w->where = IN_MAIN;
    return inside;
}

static bool statement(struct writer *w)
{
    struct buffer *graph = w->where == IN_BODY ? &w->bodies[w->n_bodies - 1].graph : &w->main;
    const char *word = w->words[0];
    if (strcmp(word, "end") == 0) {
        return end_inner(w);
    }
    if (w->n < 2) {
        return false;
    }
    if (strcmp(word, "node") == 0) {
        return w->where == IN_FUNCTION ? put_node(w, &w->function, 7) : put_node(w, graph, 1);
    }
    if (strcmp(word, "graph") == 0) {
        return start_body(w);
    }
    if (strcmp(word, "function") == 0) {
        return start_function(w);
    }
    if (strcmp(word, "ir") == 0) {
        put_int(&w->model, 1, strtoll(w->words[1], NULL, 10));
        return true;
    }
    if (strcmp(word, "out") == 0) {
        put_value_info(w, graph, 12);
        return true;
    }
    if (w->n < 3) {
        return false;
    }
    if (strcmp(word, "opset") == 0) {
        put_opset(&w->model, 8, w->words[1], strtoll(w->words[2], NULL, 10));
    } else if (strcmp(word, "in") == 0) {
        put_value_info(w, graph, 11);
    } else if (strcmp(word, "weight") == 0) {
        put_weight(w, graph);
    } else {
        return false;
    }
    return true;
}

static void split(struct writer *w, char *line)
{
    char *rest = NULL;
    w->n = 0;
    for (char *word = strtok_r(line, " ", &rest); word && word[0] != '#' && w->n < MOST_WORDS;
         word = strtok_r(NULL, " ", &rest)) {
        w->words[w->n++] = word;
    }
}

unsigned char *sc_test_model(const char *text, size_t *bytes, int *line)
{
    struct writer w = {.where = IN_MAIN};
    char *copy = strdup(text), *next = copy;
    bool good = copy != NULL;
    for (*line = 0; good && next; ++*line) {
        char *now = next;
        next = strchr(now, '\n');
        if (next) {
            *next++ = '\0';
        }
        split(&w, now);
        good = w.n == 0 || statement(&w);
    }
    put_text(&w.main, 2, "g");
    put_message(&w.model, 7, &w.main);
    for (int b = 0; b < w.n_bodies; b++) {
        free(w.bodies[b].graph.data);
    }
    free(w.function.data);
    free(copy);
    if (!good) {
        free(w.model.data);
        return NULL;
    }
    *bytes = w.model.n;
    return w.model.data;
}
