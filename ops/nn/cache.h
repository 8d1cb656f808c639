/* SPDX-License-Identifier: Apache-2.0
 * Writing keys and values into caches, paged or dense. */
#ifndef SC_OPS_NN_CACHE_H
#define SC_OPS_NN_CACHE_H

#include "ops/kernels/cache_codes.h"
#include "ops/op.h"

/* Rows of one batch row that go into a cache: element (head, row, column) at strides in elements. */
struct sc_cache_rows {
    enum sc_type type;
    int64_t heads, n, width;
    const void *data;
    int64_t head_stride, row_stride, column_stride;
    const struct sc_cache_codes *codes; /* that the cache holds in place of these numbers; NULL: as its pages do */
};

/* Writes the rows at positions start, start + 1, ... of the view, whose pages have room, as its pages hold numbers. A row
 * becomes what it becomes alone, whatever is written with it. The view's length stays. */
void sc_cache_write(const struct sc_kernels *kernels, const struct sc_state_view *view, int64_t start,
    const struct sc_cache_rows *rows);

/* Fails with SC_LIMIT when positions start .. start + n - 1 do not fit row `row` of the state. */
enum sc_status sc_cache_check_room(
    const struct sc_call *call, const struct sc_state *state, int row, int64_t start, int64_t n);

#endif
