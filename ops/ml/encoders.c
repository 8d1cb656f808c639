/* SPDX-License-Identifier: Apache-2.0
 * LabelEncoder, CategoryMapper and OneHotEncoder: elements are looked up among sorted keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ml/rows.h"
#include "ops/ml/scores.h"
#include "tensor/convert.h"

#define DIRECT_MOST (1 << 20) /* entries of a table */

/* A key as it is compared: text, a whole number, or a float. */
struct key {
    int64_t number;
    double real;
    struct sc_string text;
    int index; /* of its value */
};

struct mapping {
    enum sc_type from, to;
    int n;
    struct key *keys; /* sorted; of equal ones the last in the file comes first */
    int n_direct; /* whole numbers that lie close: values from keys[0] on */
    int *direct; /* the index of each, or -1 */
    const void *values;
    const void *otherwise; /* the value of what is no key */
};

struct params {
    int n_maps; /* by the type of the input */
    struct mapping maps[2];
    bool zeros; /* OneHotEncoder: what is no category is all zeros, else refused */
};

static struct key key_at(enum sc_type type, const void *data, int64_t i)
{
    struct key key = {0};
    const void *at = sc_const_at(data, i, sc_type_bytes(type));
    if (type == SC_STRING) {
        key.text = *(const struct sc_string *)at;
    } else if (sc_type_is_float(type)) {
        sc_convert(type, at, SC_F64, &key.real, 1, 0);
    } else {
        sc_convert(type, at, SC_I64, &key.number, 1, 0);
    }
    return key;
}

/* NaN equals NaN and comes last. */
static int compare(const struct key *a, const struct key *b)
{
    if (a->text.data) {
        const size_t least = a->text.bytes < b->text.bytes ? a->text.bytes : b->text.bytes;
        const int order = memcmp(a->text.data, b->text.data, least);
        return order ? order : (a->text.bytes > b->text.bytes) - (a->text.bytes < b->text.bytes);
    }
    if (isnan(a->real) || isnan(b->real)) {
        return isnan(a->real) - isnan(b->real);
    }
    return a->real != b->real ? (a->real > b->real) - (a->real < b->real)
                              : (a->number > b->number) - (a->number < b->number);
}

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    const int order = compare(a, b);
    return order ? order : b->index - a->index;
}

/* The index of the value, or -1. */
static int find(const struct mapping *map, const struct key *key)
{
    if (map->n_direct > 0) {
        const uint64_t at = (uint64_t)key->number - (uint64_t)map->keys[0].number;
        return at < (uint64_t)map->n_direct ? map->direct[at] : -1;
    }
    int low = 0, high = map->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (compare(&map->keys[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < map->n && compare(&map->keys[low], key) == 0 ? map->keys[low].index : -1;
}

/* A table instead of a search, where it is at most a few times as long as the list of keys. */
static enum sc_status make_direct(struct mapping *map, struct sc_arena *arena)
{
    const uint64_t low = (uint64_t)map->keys[0].number, span = (uint64_t)map->keys[map->n - 1].number - low;
    if (span >= DIRECT_MOST || span / 4 > (uint64_t)map->n) {
        return SC_OK;
    }
    map->direct = sc_arena_array(arena, (size_t)span + 1, sizeof *map->direct);
    if (!map->direct) {
        return SC_NO_MEMORY;
    }
    map->n_direct = (int)span + 1;
    for (int i = 0; i < map->n_direct; i++) {
        map->direct[i] = -1;
    }
    for (int i = map->n - 1; i >= 0; i--) { /* of equal keys the first wins */
        map->direct[(uint64_t)map->keys[i].number - low] = map->keys[i].index;
    }
    return SC_OK;
}

static enum sc_status sort_keys(struct mapping *map, enum sc_type type, int n, const void *data, struct sc_arena *arena)
{
    map->from = type;
    map->n = n;
    map->keys = sc_arena_array(arena, (size_t)n, sizeof *map->keys);
    if (!map->keys) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        map->keys[i] = key_at(type, data, i);
        map->keys[i].index = i;
        map->keys[i].text.data = type == SC_STRING && !map->keys[i].text.data ? "" : map->keys[i].text.data;
    }
    qsort(map->keys, (size_t)n, sizeof *map->keys, compare_keys);
    return type == SC_I64 && n > 0 ? make_direct(map, arena) : SC_OK;
}

/* The list "<kind>_floats", "_int64s", "_strings" or "_tensor" that the node has; type NONE when it has none. */
static enum sc_status read_list(const struct sc_graph *graph, const struct sc_node *node, const char *kind,
    enum sc_type *type, int *n, const void **data)
{
    *type = SC_TYPE_NONE;
    for (int i = 0; i < node->n_attributes; i++) {
        const struct sc_attribute *a = &node->attributes[i];
        if (strncmp(a->name, kind, strlen(kind)) != 0 || a->n == 0) {
            continue;
        }
        if (*type != SC_TYPE_NONE) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "has two lists of %.*s", (int)strlen(kind) - 1, kind);
        }
        *n = a->n;
        *data = a->u.ints; /* a pointer, as those of floats and strings */
        *type = a->type == SC_ATTRIBUTE_FLOATS ? SC_F32 : a->type == SC_ATTRIBUTE_INTS ? SC_I64 : SC_STRING;
        if (a->type == SC_ATTRIBUTE_TENSOR) {
            *type = a->u.tensor->type;
            *n = (int)sc_tensor_count(a->u.tensor);
            *data = a->u.tensor->data;
        }
    }
    return *type != SC_TYPE_NONE
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "has no list of %.*s", (int)strlen(kind) - 1, kind);
}

/* A value for what is no key: default_tensor, or the default of the type. */
static enum sc_status read_default(const struct sc_graph *graph, const struct sc_node *node, enum sc_type type,
    struct sc_arena *arena, const void **otherwise)
{
    const struct sc_attribute *tensor = sc_node_attribute(node, "default_tensor");
    if (tensor) {
        *otherwise = tensor->u.tensor->data;
        return tensor->u.tensor->type == type && sc_tensor_count(tensor->u.tensor) == 1
            ? SC_OK
            : sc_node_fail(graph, node, SC_BAD_MODEL, "default_tensor is not one %s", sc_type_name(type));
    }
    const char *text;
    float real;
    int64_t number;
    SC_TRY(sc_node_text(node, "default_string", "_Unused", &text));
    SC_TRY(sc_node_float(node, "default_float", -0.0F, &real));
    SC_TRY(sc_node_int(node, "default_int64", -1, &number));
    void *value = sc_arena_alloc(arena, sizeof(struct sc_string));
    if (!value) {
        return SC_NO_MEMORY;
    }
    if (type == SC_STRING) {
        *(struct sc_string *)value = (struct sc_string){text, strlen(text)};
    } else if (sc_type_is_float(type)) {
        sc_convert(SC_F32, &real, type, value, 1, 0);
    } else {
        sc_convert(SC_I64, &number, type, value, 1, 0);
    }
    *otherwise = value;
    return SC_OK;
}

/* Two lists of one length, both ways. */
static enum sc_status map_both(const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, int n,
    const struct sc_string *strings, const int64_t *ints, struct params *p)
{
    p->n_maps = 2;
    p->maps[0] = (struct mapping){.to = SC_I64, .values = ints};
    p->maps[1] = (struct mapping){.to = SC_STRING, .values = strings};
    SC_TRY(sort_keys(&p->maps[0], SC_STRING, n, strings, arena));
    SC_TRY(sort_keys(&p->maps[1], SC_I64, n, ints, arena));
    SC_TRY(read_default(graph, node, SC_I64, arena, &p->maps[0].otherwise));
    return read_default(graph, node, SC_STRING, arena, &p->maps[1].otherwise);
}

static enum sc_status params_encoder(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    struct mapping *map = &p->maps[0];
    enum sc_type type;
    int n_keys = 0, n_values = 0;
    const void *keys = NULL;
    p->n_maps = 1;
    SC_TRY(read_list(graph, node, "keys_", &type, &n_keys, &keys));
    SC_TRY(read_list(graph, node, "values_", &map->to, &n_values, &map->values));
    if (n_keys != n_values) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d keys and %d values", n_keys, n_values);
    }
    SC_TRY(sort_keys(map, type, n_keys, keys, arena));
    return read_default(graph, node, map->to, arena, &map->otherwise);
}

/* LabelEncoder-1: a class is its place in the list. */
static enum sc_status params_classes(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    const struct sc_attribute *classes = sc_node_attribute(node, "classes_strings");
    if (!classes || classes->n == 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "there are no classes_strings");
    }
    int64_t *numbers = sc_arena_array(arena, (size_t)classes->n, sizeof *numbers);
    if (!numbers) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < classes->n; i++) {
        numbers[i] = i;
    }
    return map_both(graph, node, arena, classes->n, classes->u.strings, numbers, *params);
}

static enum sc_status params_mapper(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    const struct sc_attribute *ints = sc_node_attribute(node, "cats_int64s");
    const struct sc_attribute *strings = sc_node_attribute(node, "cats_strings");
    if (!ints || !strings || ints->n != strings->n) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "cats_int64s and cats_strings are not lists of one length");
    }
    return map_both(graph, node, arena, ints->n, strings->u.strings, ints->u.ints, *params);
}

static enum sc_status params_one_hot(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    int64_t zeros;
    struct sc_labels cats;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "zeros", 1, &zeros));
    SC_TRY(sc_labels_read(graph, node, "cats_int64s", "cats_strings", &cats));
    p->zeros = zeros != 0;
    p->n_maps = 1;
    const void *data = cats.strings ? (const void *)cats.strings : cats.ints;
    return sort_keys(&p->maps[0], cats.strings ? SC_STRING : SC_I64, (int)cats.n, data, arena);
}

/* The mapping whose keys have the input's type; *map NULL when the type is not known. */
static enum sc_status choose(const struct sc_infer *infer, const struct mapping **map)
{
    const struct params *p = infer->params;
    const enum sc_type type = infer->in[0]->type;
    *map = NULL;
    for (int m = 0; m < p->n_maps && type != SC_TYPE_NONE; m++) {
        *map = p->maps[m].from == type ? &p->maps[m] : *map;
    }
    return *map || type == SC_TYPE_NONE
        ? SC_OK
        : sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "X has type %s, but keys have type %s",
              sc_type_name(type), sc_type_name(p->maps[0].from));
}

static enum sc_status infer_encoder(struct sc_infer *infer)
{
    const struct mapping *map;
    SC_TRY(sc_infer_needs(infer, 1));
    SC_TRY(choose(infer, &map));
    sc_infer_shape_of(infer, 0, infer->in[0], map ? map->to : SC_TYPE_NONE);
    return SC_OK;
}

static void run_encoder(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    const struct mapping *map = &p->maps[p->n_maps == 2 && p->maps[1].from == x->type];
    const size_t bytes = sc_type_bytes(map->to);
    for (int64_t i = 0; i < sc_tensor_count(x); i++) {
        struct key key = key_at(x->type, x->data, i);
        key.text.data = x->type == SC_STRING && !key.text.data ? "" : key.text.data;
        const int found = find(map, &key);
        sc_copy_element(
            sc_at(y->data, i, bytes), found < 0 ? map->otherwise : sc_const_at(map->values, found, bytes), bytes);
    }
}

static enum sc_status infer_one_hot(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, SC_F32);
    if (x->type != SC_TYPE_NONE && (x->type == SC_STRING) != (p->maps[0].from == SC_STRING)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "X has type %s, but categories have type %s",
            sc_type_name(x->type), sc_type_name(p->maps[0].from));
    }
    if (x->rank < 0 || !out) {
        return SC_OK;
    }
    if (x->rank == SC_MAX_RANK) {
        return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "X has rank %d, so that Y has no room", x->rank);
    }
    int64_t dims[SC_MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = p->maps[0].n;
    sc_fact_tensor(out, SC_F32, x->rank + 1, dims);
    return SC_OK;
}

/* The category of an element; numbers are cut to whole ones. */
static int category(const struct sc_tensor *x, int64_t i, const struct mapping *map)
{
    struct key key = {0};
    if (x->type == SC_STRING) {
        key = key_at(SC_STRING, x->data, i);
        key.text.data = key.text.data ? key.text.data : "";
    } else {
        sc_convert(x->type, sc_const_at(x->data, i, sc_type_bytes(x->type)), SC_I64, &key.number, 1, 0);
    }
    return find(map, &key);
}

static enum sc_status resolve_one_hot(const struct sc_call *call)
{
    const struct params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *x = sc_call_in(call, 0);
    for (int64_t i = 0; i < sc_tensor_count(x) && !p->zeros; i++) {
        if (category(x, i, &p->maps[0]) < 0) {
            return sc_node_fail(
                call->graph, call->node, SC_BAD_INPUT, "element %lld of X is in no category", (long long)i);
        }
    }
    return SC_OK;
}

static void run_one_hot(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0);
    memset(y->data, 0, sc_tensor_bytes(y));
    for (int64_t i = 0; i < sc_tensor_count(x); i++) {
        const int hot = category(x, i, &p->maps[0]);
        if (hot >= 0) {
            ((float *)y->data)[i * p->maps[0].n + hot] = 1.0F;
        }
    }
}

#define ROW(op, version, kind)                                                                                         \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .name = (op), .since = (version), .flags = SC_OP_PURE, .params = params_##kind,        \
        .infer = infer_encoder, .run = run_encoder                                                                     \
    }

const struct sc_op sc_ops_ml_encoders[] = {
    ROW("CategoryMapper", 1, mapper),
    ROW("LabelEncoder", 1, classes),
    ROW("LabelEncoder", 2, encoder),
    ROW("LabelEncoder", 4, encoder),
    {.domain = "ai.onnx.ml",
        .name = "OneHotEncoder",
        .since = 1,
        .flags = SC_OP_PURE,
        .params = params_one_hot,
        .infer = infer_one_hot,
        .resolve = resolve_one_hot,
        .run = run_one_hot},
    {.name = NULL},
};
