/* SPDX-License-Identifier: Apache-2.0
 * One strided block per page. */
#include "ops/nn/cache.h"

#include "ops/shape/shape.h"

void sc_cache_write(const struct sc_state_view *view, int64_t start, const struct sc_cache_rows *rows)
{
    const size_t bytes = sc_type_bytes(rows->type);
    for (int64_t done = 0; done < rows->n;) {
        const int64_t at = start + done;
        const int64_t in_page = at % SC_PAGE_ROWS;
        const int64_t n = rows->n - done < SC_PAGE_ROWS - in_page ? rows->n - done : SC_PAGE_ROWS - in_page;
        struct sc_move move = {.bytes = bytes,
            .to = sc_at(view->pages[at / SC_PAGE_ROWS], in_page * view->row_stride, bytes),
            .from = sc_const_at(rows->data, done * rows->row_stride, bytes)};
        sc_move_axis(&move, rows->heads, view->head_stride, rows->head_stride);
        sc_move_axis(&move, n, view->row_stride, rows->row_stride);
        sc_move_axis(&move, rows->width, view->column_stride, rows->column_stride);
        sc_move_run(&move, NULL);
        done += n;
    }
}

enum sc_status sc_cache_check_room(
    const struct sc_call *call, const struct sc_state *state, int row, int64_t start, int64_t n)
{
    const int64_t pages = state->rows[row].n_pages * SC_PAGE_ROWS;
    const int64_t room = state->capacity < pages ? state->capacity : pages;
    if (start < 0 || n > room || start > room - n) {
        return sc_node_fail(call->graph, call->node, SC_LIMIT,
            "cache capacity %lld reached: %lld rows do not fit at position %lld", (long long)room, (long long)n,
            (long long)start);
    }
    return SC_OK;
}
