/* SPDX-License-Identifier: Apache-2.0
 * ZipMap, CastMap and DictVectorizer: between tensors and maps. */
#include <string.h>

#include "ops/math/number_text.h"
#include "ops/ml/rows.h"
#include "ops/ml/scores.h"
#include "tensor/convert.h"

/* Labels as a tensor, which is what keys of maps are compared with. */
struct labels {
    struct sc_tensor column;
    int64_t *order; /* ZipMap: which label has entry i of a map */
};

static enum sc_status new_labels(struct sc_arena *arena, const struct sc_labels *from, struct labels *labels)
{
    SC_TRY(sc_tensor_new(arena, sc_labels_type(from), 1, &from->n, &labels->column));
    for (int64_t i = 0; i < from->n; i++) {
        sc_labels_put(from, i, &labels->column, i);
    }
    return SC_OK;
}

/* Sorts the labels, as keys of maps are, and remembers where they were. */
static enum sc_status order_labels(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, struct labels *labels)
{
    struct sc_value map;
    const int64_t n = labels->column.dims[0];
    SC_TRY(sc_value_new_map(arena, labels->column.type, SC_I64, n, &map));
    const struct sc_value *items = map.u.sequence.items;
    memcpy(items[0].u.tensor.data, labels->column.data, (size_t)n * sc_type_bytes(labels->column.type));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)items[1].u.tensor.data)[i] = i;
    }
    if (sc_value_sort_map(arena, &map) != SC_OK) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "a class label is given twice");
    }
    labels->column = map.u.sequence.items[0].u.tensor;
    labels->order = map.u.sequence.items[1].u.tensor.data;
    return SC_OK;
}

static enum sc_status params_zip(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    struct sc_labels given;
    SC_TRY(sc_params_new(arena, sizeof(struct labels), params));
    SC_TRY(sc_labels_read(graph, node, "classlabels_int64s", "classlabels_strings", &given));
    SC_TRY(new_labels(arena, &given, *params));
    return order_labels(graph, node, arena, *params);
}

static enum sc_status infer_zip(struct sc_infer *infer)
{
    const struct labels *labels = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    if (x->rank >= 0 && x->rank != 1 && x->rank != 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d, want 1 or 2", x->rank);
    }
    if (x->rank > 0 && x->dims[x->rank - 1] >= 0 && x->dims[x->rank - 1] != labels->column.dims[0]) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has %lld columns for %lld class labels",
            (long long)x->dims[x->rank - 1], (long long)labels->column.dims[0]);
    }
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (out) {
        sc_fact_init(out);
        out->kind = SC_KIND_SEQUENCE;
        out->item_kind = SC_KIND_MAP;
        out->key_type = labels->column.type;
        out->type = SC_F32;
    }
    return SC_OK;
}

/* A map for each row; all share their keys. */
static enum sc_status exec_zip(const struct sc_call *call)
{
    const struct labels *labels = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    int64_t n_labels;
    const int64_t n = sc_scores_rows(x, &n_labels);
    struct sc_value *maps = sc_arena_array(call->arena, (size_t)n, sizeof *maps);
    const struct sc_value keys = {.kind = SC_KIND_TENSOR, .u.tensor = labels->column};
    struct sc_value *items = sc_arena_array(call->arena, 2 * (size_t)n, sizeof *items);
    if (n_labels != labels->column.dims[0]) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "X has %lld columns for %lld class labels",
            (long long)n_labels, (long long)labels->column.dims[0]);
    }
    if (!maps || !items) {
        return SC_NO_MEMORY;
    }
    for (int64_t r = 0; r < n; r++) {
        struct sc_value *columns = items + 2 * r;
        columns[0] = keys;
        columns[1].kind = SC_KIND_TENSOR;
        SC_TRY(sc_tensor_new(call->arena, SC_F32, 1, &n_labels, &columns[1].u.tensor));
        for (int64_t i = 0; i < n_labels; i++) {
            ((float *)columns[1].u.tensor.data)[i] = ((const float *)x->data)[r * n_labels + labels->order[i]];
        }
        maps[r] = (struct sc_value){.kind = SC_KIND_MAP, .u.sequence = {.type = SC_F32, .n = 2, .items = columns}};
    }
    call->out[0]->kind = SC_KIND_SEQUENCE;
    call->out[0]->u.sequence.type = SC_F32;
    call->out[0]->u.sequence.n = n;
    call->out[0]->u.sequence.items = maps;
    return SC_OK;
}

/* The map in input 0, with keys of the type. */
static enum sc_status get_map(
    const struct sc_call *call, enum sc_type key_type, const struct sc_tensor **keys, const struct sc_tensor **values)
{
    const struct sc_value *map = call->in[0];
    if (!sc_value_is_map(map) || sc_map_key_type(map) != key_type) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "X is not a map with keys of %s", sc_type_name(key_type));
    }
    *keys = &map->u.sequence.items[0].u.tensor;
    *values = &map->u.sequence.items[1].u.tensor;
    return SC_OK;
}

static enum sc_status needs_map(const struct sc_infer *infer, enum sc_type key_type)
{
    const struct sc_fact *x = sc_infer_in(infer, 0);
    if (!x) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input 0 is missing");
    }
    if (x->kind != SC_KIND_NONE && (x->kind != SC_KIND_MAP || (x->key_type && x->key_type != key_type))) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "X is not a map with keys of %s", sc_type_name(key_type));
    }
    return SC_OK;
}

/* The tensor that an output is to be: what is 0 or empty of its type. */
static enum sc_status new_output(const struct sc_call *call, enum sc_type type, int rank, const int64_t *dims)
{
    struct sc_tensor *y = &call->out[0]->u.tensor;
    SC_TRY(sc_tensor_new(call->arena, type, rank, dims, y));
    call->out[0]->kind = SC_KIND_TENSOR;
    memset(y->data, 0, sc_tensor_bytes(y));
    for (int64_t i = 0; type == SC_STRING && i < sc_tensor_count(y); i++) {
        ((struct sc_string *)y->data)[i].data = "";
    }
    return SC_OK;
}

/* Element `from` of a column becomes element `to` of y, which is of any of the types that a map's values have. */
static enum sc_status put(
    const struct sc_call *call, const struct sc_tensor *column, int64_t from, const struct sc_tensor *y, int64_t to)
{
    const void *element = sc_const_at(column->data, from, sc_type_bytes(column->type));
    void *out = sc_at(y->data, to, sc_type_bytes(y->type));
    const struct sc_string *text = element;
    if (y->type != SC_STRING && column->type == SC_STRING) {
        return sc_text_to_number(text, y->type, out, 0)
            ? SC_OK
            : sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "'%.*s' is not a number",
                  text->bytes > 40 ? 40 : (int)text->bytes, text->data ? text->data : "");
    }
    if (y->type != SC_STRING) {
        sc_convert(column->type, element, y->type, out, 1, 0);
        return SC_OK;
    }
    char digits[SC_NUMBER_TEXT_BYTES];
    struct sc_string made = {digits, 0};
    if (column->type == SC_STRING) {
        made = *text;
    } else {
        made.bytes = (size_t)sc_number_to_text(column->type, element, digits);
    }
    const char *copy = sc_arena_text(call->arena, made.data ? made.data : "", made.bytes);
    *(struct sc_string *)out = (struct sc_string){copy, made.bytes};
    return copy ? SC_OK : SC_NO_MEMORY;
}

struct cast_map {
    enum sc_type to;
    bool sparse;
    int64_t length; /* of a sparse output */
};

static enum sc_status params_cast_map(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    const char *to, *form;
    SC_TRY(sc_params_new(arena, sizeof(struct cast_map), params));
    struct cast_map *p = *params;
    SC_TRY(sc_node_text(node, "cast_to", "TO_FLOAT", &to));
    SC_TRY(sc_node_text(node, "map_form", "DENSE", &form));
    SC_TRY(sc_node_int(node, "max_map", 1, &p->length));
    p->to = strcmp(to, "TO_FLOAT") == 0 ? SC_F32
        : strcmp(to, "TO_INT64") == 0   ? SC_I64
        : strcmp(to, "TO_STRING") == 0  ? SC_STRING
                                        : SC_TYPE_NONE;
    p->sparse = strcmp(form, "SPARSE") == 0;
    if (p->to == SC_TYPE_NONE) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "cast_to is '%s', want TO_FLOAT, TO_INT64 or TO_STRING", to);
    }
    if (!p->sparse && strcmp(form, "DENSE") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "map_form is '%s', want DENSE or SPARSE", form);
    }
    if (p->sparse && (p->length < 1 || p->length > INT32_MAX)) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "max_map is %lld, want 1 to %d", (long long)p->length, INT32_MAX);
    }
    return SC_OK;
}

static enum sc_status infer_cast_map(struct sc_infer *infer)
{
    const struct cast_map *p = infer->params;
    const int64_t dims[2] = {1, p->sparse ? p->length : SC_DIM_UNKNOWN};
    SC_TRY(needs_map(infer, SC_I64));
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], p->to, 2, dims);
    }
    return SC_OK;
}

/* One row, as ONNX Runtime has it: the clause says nothing of dims. Keys are in order already. */
static enum sc_status exec_cast_map(const struct sc_call *call)
{
    const struct cast_map *p = call->params;
    const struct sc_tensor *keys, *values;
    SC_TRY(get_map(call, SC_I64, &keys, &values));
    const int64_t n = keys->dims[0], dims[2] = {1, p->sparse ? p->length : n};
    SC_TRY(new_output(call, p->to, 2, dims));
    for (int64_t i = 0; i < n; i++) {
        const int64_t key = ((const int64_t *)keys->data)[i];
        if (p->sparse && (key < 0 || key >= p->length)) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "key %lld is not in 0 to max_map - 1, %lld",
                (long long)key, (long long)p->length - 1);
        }
        SC_TRY(put(call, values, i, &call->out[0]->u.tensor, p->sparse ? key : i));
    }
    return SC_OK;
}

static enum sc_status params_dict(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    struct sc_labels given;
    SC_TRY(sc_params_new(arena, sizeof(struct labels), params));
    SC_TRY(sc_labels_read(graph, node, "int64_vocabulary", "string_vocabulary", &given));
    return new_labels(arena, &given, *params);
}

static enum sc_status infer_dict(struct sc_infer *infer)
{
    const struct labels *vocabulary = infer->params;
    SC_TRY(needs_map(infer, vocabulary->column.type));
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], infer->in[0]->type, 1, vocabulary->column.dims);
    }
    return SC_OK;
}

static enum sc_status exec_dict(const struct sc_call *call)
{
    const struct labels *vocabulary = call->params;
    const struct sc_tensor *keys, *values;
    SC_TRY(get_map(call, vocabulary->column.type, &keys, &values));
    const int64_t n = vocabulary->column.dims[0];
    int64_t found = 0;
    SC_TRY(new_output(call, values->type, 1, &n));
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = sc_value_find_key(call->in[0], &vocabulary->column, i);
        if (at >= 0) {
            SC_TRY(put(call, values, at, &call->out[0]->u.tensor, i));
            found++;
        }
    }
    return found >= keys->dims[0]
        ? SC_OK
        : sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "%lld of %lld keys of X are not in the vocabulary",
              (long long)(keys->dims[0] - found), (long long)keys->dims[0]);
}

#define ROW(op, kind)                                                                                                  \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .name = (op), .since = 1, .params = params_##kind, .infer = infer_##kind,              \
        .exec = exec_##kind                                                                                            \
    }

const struct sc_op sc_ops_ml_maps[] = {
    ROW("CastMap", cast_map), ROW("DictVectorizer", dict), ROW("ZipMap", zip), {.name = NULL}};
