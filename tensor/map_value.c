/* SPDX-License-Identifier: Apache-2.0
 * Maps as two columns, in the order of the keys, so that equal maps are equal columns. */
#include <stdlib.h>
#include <string.h>

#include "tensor/value.h"

static int compare_texts(const struct sc_string *a, const struct sc_string *b)
{
    const size_t shared = a->bytes < b->bytes ? a->bytes : b->bytes;
    const int order = shared ? memcmp(a->data, b->data, shared) : 0;
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int compare_keys(const struct sc_tensor *a, int64_t i, const struct sc_tensor *b, int64_t j)
{
    if (a->type == SC_STRING) {
        return compare_texts((const struct sc_string *)a->data + i, (const struct sc_string *)b->data + j);
    }
    const int64_t x = ((const int64_t *)a->data)[i], y = ((const int64_t *)b->data)[j];
    return (x > y) - (x < y);
}

static bool is_column(const struct sc_value *value)
{
    const struct sc_tensor *tensor = &value->u.tensor;
    return value->kind == SC_KIND_TENSOR && tensor->rank == 1 && tensor->storage == SC_STORAGE_PLAIN &&
        sc_tensor_is_dense(tensor);
}

bool sc_value_is_map(const struct sc_value *value)
{
    if (value->kind != SC_KIND_MAP || value->u.sequence.n != 2) {
        return false;
    }
    const struct sc_value *items = value->u.sequence.items;
    const struct sc_tensor *keys = &items[0].u.tensor, *values = &items[1].u.tensor;
    if (!is_column(&items[0]) || !is_column(&items[1]) || keys->dims[0] != values->dims[0] ||
        (keys->type != SC_I64 && keys->type != SC_STRING) || values->type != value->u.sequence.type) {
        return false;
    }
    bool ascending = true;
    for (int64_t i = 1; ascending && i < keys->dims[0]; i++) {
        ascending = compare_keys(keys, i - 1, keys, i) < 0;
    }
    return ascending;
}

enum sc_status sc_value_new_map(
    struct sc_arena *arena, enum sc_type key_type, enum sc_type type, int64_t n, struct sc_value *map)
{
    struct sc_value *items = sc_arena_array(arena, 2, sizeof *items);
    if (!items) {
        return SC_NO_MEMORY;
    }
    items[0].kind = items[1].kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(arena, key_type, 1, &n, &items[0].u.tensor));
    SC_TRY(sc_tensor_new(arena, type, 1, &n, &items[1].u.tensor));
    *map = (struct sc_value){.kind = SC_KIND_MAP, .u.sequence = {.type = type, .n = 2, .items = items}};
    return SC_OK;
}

struct entry {
    const struct sc_tensor *keys;
    int64_t at;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return compare_keys(x->keys, x->at, y->keys, y->at);
}

static enum sc_status fail_twice(const struct sc_tensor *keys, int64_t at)
{
    if (keys->type == SC_STRING) {
        const struct sc_string *text = (const struct sc_string *)keys->data + at;
        return sc_fail(SC_BAD_INPUT, "a map has the key '%.*s' twice", text->bytes > 40 ? 40 : (int)text->bytes,
            text->data ? text->data : "");
    }
    return sc_fail(SC_BAD_INPUT, "a map has the key %lld twice", (long long)((const int64_t *)keys->data)[at]);
}

enum sc_status sc_value_sort_map(struct sc_arena *arena, struct sc_value *map)
{
    const struct sc_tensor *columns[2] = {&map->u.sequence.items[0].u.tensor, &map->u.sequence.items[1].u.tensor};
    const int64_t n = columns[0]->dims[0];
    struct entry *entries = sc_arena_array(arena, (size_t)n, sizeof *entries);
    struct sc_value sorted;
    if (!entries) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_value_new_map(arena, columns[0]->type, columns[1]->type, n, &sorted));
    for (int64_t i = 0; i < n; i++) {
        entries[i] = (struct entry){columns[0], i};
    }
    qsort(entries, (size_t)n, sizeof *entries, compare_entries);
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && compare_entries(&entries[i - 1], &entries[i]) == 0) {
            return fail_twice(columns[0], entries[i].at);
        }
        for (int c = 0; c < 2; c++) {
            const size_t bytes = sc_type_bytes(columns[c]->type);
            memcpy((char *)sorted.u.sequence.items[c].u.tensor.data + (size_t)i * bytes,
                (const char *)columns[c]->data + (size_t)entries[i].at * bytes, bytes);
        }
    }
    *map = sorted;
    return SC_OK;
}

int64_t sc_value_find_key(const struct sc_value *map, const struct sc_tensor *keys, int64_t i)
{
    const struct sc_tensor *own = &map->u.sequence.items[0].u.tensor;
    int64_t low = 0, high = own->dims[0];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (compare_keys(own, middle, keys, i) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < own->dims[0] && compare_keys(own, low, keys, i) == 0 ? low : -1;
}
