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
    SC_KIND_STATE /* the paged caches of the rows of a microbatch, standing for a tensor [rows, heads, length, width] */
};

#define SC_PAGE_ROWS 64

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
            enum sc_type type; /* of its elements' elements */
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

/* Deep copy into the arena; states cannot be copied (SC_INTERNAL). */
enum sc_status sc_value_copy(struct sc_arena *arena, const struct sc_value *from, struct sc_value *to);

#endif
