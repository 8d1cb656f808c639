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

/* A view of one batch row of dense memory: element (head, position, column) at strides[1..3] from data. Its pages are
 * sc_pages_for(positions) places that the caller has; nothing is copied. */
void sc_cache_view_dense(
    struct sc_state_view *view, void **pages, int64_t positions, void *data, size_t bytes, const int64_t strides[4]);

/* Input past_key of an operator that appends keys and values: past_value is the next one, present_key and present_value
 * are outputs 1 and 2. -1: it is none. */
int sc_cache_past(const struct sc_node *node);

/* Writes the rows at positions start, start + 1, ... of the view, whose pages have room, as its pages hold numbers. A
 * row becomes what it becomes alone, whatever is written with it. The view's length stays. */
void sc_cache_write(const struct sc_kernels *kernels, const struct sc_state_view *view, int64_t start,
    const struct sc_cache_rows *rows);

/* The output, when somebody reads it, is the state itself. */
static inline void sc_cache_hand_on(const struct sc_call *call, int output, struct sc_state *state)
{
    if (output < call->n_out && call->out[output]) {
        call->out[output]->kind = SC_KIND_STATE;
        call->out[output]->u.state = state;
    }
}

/* Fails with SC_LIMIT when positions start .. start + n - 1 do not fit row `row` of the state. */
enum sc_status sc_cache_check_room(
    const struct sc_call *call, const struct sc_state *state, int row, int64_t start, int64_t n);

#endif
