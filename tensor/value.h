/* SPDX-License-Identifier: Apache-2.0
 * Values: what flows along an edge of a graph. */
#ifndef SC_TENSOR_VALUE_H
#define SC_TENSOR_VALUE_H

#include "tensor/tensor.h"

enum sc_kind {
    SC_KIND_NONE, /* an absent optional input or output, and an optional that holds nothing when wrapped in
                     SC_KIND_OPTIONAL */
    SC_KIND_TENSOR,
    SC_KIND_SEQUENCE,
    SC_KIND_OPTIONAL,
    SC_KIND_MAP, /* u.sequence has two items, the keys and the values: 1-D tensors of equal length */
    SC_KIND_STATE /* the paged caches of the rows of a microbatch, standing for a tensor [rows, heads, length, width] */
};

#define SC_PAGE_ROWS 64

/* Pages for so many positions. */
static inline int64_t sc_pages_for(int64_t n_positions)
{
    return (n_positions + SC_PAGE_ROWS - 1) / SC_PAGE_ROWS;
}

/* How pages hold numbers: tensor/page.h. */
enum sc_page_format { SC_PAGE_AS_TYPE, SC_PAGE_F32, SC_PAGE_F16, SC_PAGE_BF16, SC_PAGE_Q8_0 };

/* One row's cache as attention reads it: `length` positions in pages of 64, whatever memory holds them.
 * The address of element d of position s in head h:
 *     pages[s / 64] + h * head_stride + (s % 64) * row_stride + d * column_stride          (strides in elements)
 * A paged cache, a slice of a dense [batch, heads, positions, width] tensor and a transposed one are all such views.
 * Pages of a cache are whole: rows past `length` up to the page's end can be read (and hold finite numbers). */
struct sc_state_view {
    void **pages;
    int64_t n_pages; /* capacity in pages */
    int64_t length; /* positions that hold data */
    int64_t head_stride, row_stride, column_stride;
    enum sc_page_format format; /* other than SC_PAGE_AS_TYPE: keys lie [head][width][64], values [head][64][width] */
};

/* A state value: one view per row of the microbatch (SC_KIND_STATE). The pages belong to the rank's state pool. */
struct sc_state {
    enum sc_type type;
    int64_t heads, width;
    int64_t capacity; /* positions that a row may reach */
    int n_rows;
    struct sc_state_view *rows;
};

struct sc_value {
    enum sc_kind kind;
    union {
        struct sc_tensor tensor;
        struct {
            enum sc_type type; /* of its elements' elements; of a map: of the values */
            int64_t n;
            struct sc_value *items;
        } sequence;
        struct {
            const struct sc_value *item; /* NULL: holds nothing */
            enum sc_kind item_kind;
            enum sc_type type;
        } optional;
        struct sc_state *state;
    } u;
};

/* Whether a value is a map: keys are int64 or strings, ascending (strings by their bytes), none twice. */
bool sc_value_is_map(const struct sc_value *value);

static inline enum sc_type sc_map_key_type(const struct sc_value *map)
{
    return map->u.sequence.items[0].u.tensor.type;
}

/* A map of n entries in the arena. The caller fills keys and values in and, unless they are in order, sorts them. */
enum sc_status sc_value_new_map(
    struct sc_arena *arena, enum sc_type key_type, enum sc_type type, int64_t n, struct sc_value *map);

/* Brings entries into the order of their keys. Fails with SC_BAD_INPUT where a key is there twice. */
enum sc_status sc_value_sort_map(struct sc_arena *arena, struct sc_value *map);

/* The entry with the key that element i of `keys` is, or -1; `keys` has the type of the map's. */
int64_t sc_value_find_key(const struct sc_value *map, const struct sc_tensor *keys, int64_t i);

/* Deep copy into the arena; states cannot be copied (SC_INTERNAL). */
enum sc_status sc_value_copy(struct sc_arena *arena, const struct sc_value *from, struct sc_value *to);

#endif
