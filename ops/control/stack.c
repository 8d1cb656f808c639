/* SPDX-License-Identifier: Apache-2.0
 * Blocks moved between tensors and their entries along one axis. */
#include "ops/control/stack.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/shape/shape.h"

enum sc_status sc_slice_entries(struct sc_arena *arena, const struct sc_tensor *from, int axis, int64_t first,
    int64_t n, bool drop, struct sc_tensor *to)
{
    int64_t dims[SC_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < from->rank; i++) {
        if (i != axis || !drop) {
            dims[rank++] = i == axis ? n : from->dims[i];
        }
    }
    SC_TRY(sc_tensor_new(arena, from->type, rank, dims, to));
    const size_t bytes = sc_type_bytes(from->type);
    const int64_t inner = sc_dims_product(from->dims, axis + 1, from->rank);
    struct sc_move move = {.bytes = bytes, .to = to->data, .from = sc_const_at(from->data, first * inner, bytes)};
    sc_move_axis(&move, sc_dims_product(from->dims, 0, axis), n * inner, from->dims[axis] * inner);
    sc_move_axis(&move, n * inner, 1, 1);
    sc_move_run(&move, NULL);
    return SC_OK;
}

static enum sc_status check_like(
    const struct sc_call *call, const struct sc_tensor *a, const struct sc_tensor *b, int free_axis)
{
    bool alike = a->type == b->type && a->rank == b->rank;
    for (int i = 0; alike && i < a->rank; i++) {
        alike = i == free_axis || a->dims[i] == b->dims[i];
    }
    if (!alike) {
        char x[128], y[128];
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "%s and %s cannot be joined",
            sc_tensor_text(a, x, sizeof x), sc_tensor_text(b, y, sizeof y));
    }
    return SC_OK;
}

enum sc_status sc_join_tensors(const struct sc_call *call, int64_t n, const struct sc_tensor *const *items, int axis,
    bool stack, bool reverse, struct sc_tensor *to)
{
    const struct sc_tensor *first = items[0];
    int64_t dims[SC_MAX_RANK];
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        SC_TRY(check_like(call, first, items[i], stack ? -1 : axis));
        total += stack ? 1 : items[i]->dims[axis];
    }
    const int rank = first->rank + (stack ? 1 : 0);
    if (rank > SC_MAX_RANK) {
        return sc_node_fail(call->graph, call->node, SC_LIMIT, "the result's rank is over %d", SC_MAX_RANK);
    }
    for (int i = 0, from = 0; i < rank; i++) {
        dims[i] = i == axis ? total : first->dims[from];
        from += !(stack && i == axis);
    }
    SC_TRY(sc_tensor_new(call->arena, first->type, rank, dims, to));
    const size_t bytes = sc_type_bytes(first->type);
    const int64_t outer = sc_dims_product(dims, 0, axis);
    const int64_t inner = sc_dims_product(dims, axis + 1, rank);
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct sc_tensor *item = items[reverse ? n - 1 - i : i];
        const int64_t entries = stack ? 1 : item->dims[axis];
        struct sc_move move = {.bytes = bytes, .to = sc_at(to->data, at * inner, bytes), .from = item->data};
        sc_move_axis(&move, outer, total * inner, entries * inner);
        sc_move_axis(&move, entries * inner, 1, 1);
        sc_move_run(&move, call->team);
        at += entries;
    }
    return SC_OK;
}

enum sc_status sc_value_list_add(struct sc_arena *arena, struct sc_value_list *list, const struct sc_value *value)
{
    if (list->n == list->capacity) {
        const int64_t capacity = list->capacity ? 2 * list->capacity : 16;
        struct sc_value *items = sc_arena_array(arena, (size_t)capacity, sizeof(*items));
        if (!items) {
            return SC_NO_MEMORY;
        }
        if (list->n > 0) {
            memcpy(items, list->items, (size_t)list->n * sizeof(*items));
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *value;
    return SC_OK;
}

struct sc_fact sc_entry_fact(const struct sc_call *call, int o, const struct sc_fact *declared, int64_t axis)
{
    const int value = o < call->node->n_out ? call->node->out[o] : -1;
    if (declared->type != SC_TYPE_NONE || value < 0) {
        return *declared;
    }
    const struct sc_fact *whole = &call->graph->values[value].fact;
    struct sc_fact entry;
    sc_fact_of_rank(&entry, whole->type, whole->rank > 0 ? whole->rank - 1 : -1);
    const int64_t at = axis < 0 ? axis + whole->rank : axis;
    for (int d = 0, from = 0; d < entry.rank; d++, from++) {
        from += from == at;
        entry.dims[d] = whole->dims[from];
    }
    return entry;
}

enum sc_status sc_value_list_stack(const struct sc_call *call, const struct sc_value_list *list, int64_t axis,
    bool reverse, const struct sc_fact *fact, struct sc_value *out)
{
    out->kind = SC_KIND_TENSOR;
    const int item_rank = list->n > 0 ? list->items[0].u.tensor.rank : fact->rank < 0 ? 0 : fact->rank;
    if (item_rank >= SC_MAX_RANK) {
        return sc_node_fail(call->graph, call->node, SC_LIMIT, "the result's rank is over %d", SC_MAX_RANK);
    }
    int at;
    SC_TRY(sc_axis(call->graph, call->node, "axis", axis, item_rank + 1, &at));
    if (list->n == 0) {
        int64_t dims[SC_MAX_RANK];
        for (int i = 0, from = 0; i <= item_rank; i++) {
            dims[i] = i == at || fact->dims[from] < 0 ? 0 : fact->dims[from];
            from += i != at;
        }
        const enum sc_type type = fact->type == SC_TYPE_NONE ? SC_F32 : fact->type;
        return sc_tensor_new(call->arena, type, item_rank + 1, dims, &out->u.tensor);
    }
    const struct sc_tensor **items = sc_arena_array(call->arena, (size_t)list->n, sizeof(*items));
    if (!items) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < list->n; i++) {
        if (list->items[i].kind != SC_KIND_TENSOR) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "a scan output is not a tensor");
        }
        items[i] = &list->items[i].u.tensor;
    }
    return sc_join_tensors(call, list->n, items, at, true, reverse, &out->u.tensor);
}

enum sc_status sc_scalar_new(struct sc_arena *arena, enum sc_type type, int64_t content, struct sc_value *value)
{
    value->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(arena, type, 0, NULL, &value->u.tensor));
    if (type == SC_BOOL) {
        *(unsigned char *)value->u.tensor.data = content != 0;
    } else {
        *(int64_t *)value->u.tensor.data = content;
    }
    return SC_OK;
}

void sc_fact_join(const struct sc_fact *a, const struct sc_fact *b, struct sc_fact *out)
{
    struct sc_fact joined;
    sc_fact_init(&joined);
    if (a->kind == b->kind) {
        joined = *a;
        joined.value = NULL;
        joined.type = a->type == b->type ? a->type : SC_TYPE_NONE;
        joined.rank = a->rank == b->rank ? a->rank : -1;
        for (int i = 0; i < joined.rank; i++) {
            joined.dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : SC_DIM_UNKNOWN;
        }
    }
    *out = joined;
}

enum sc_status sc_node_body(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, const struct sc_graph **body)
{
    const struct sc_attribute *a = sc_node_attribute(node, name);
    if (!a || a->type != SC_ATTRIBUTE_GRAPH) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "there is no graph '%s'", name);
    }
    *body = a->u.graph;
    return SC_OK;
}
