/* SPDX-License-Identifier: Apache-2.0
 * One strided block per page; where pages hold other numbers than the rows, some columns of a row after another. */
#include "ops/nn/cache.h"

#include <string.h>

#include "ops/shape/shape.h"
#include "tensor/page.h"

int sc_cache_past(const struct sc_node *node)
{
    static const struct {
        const char *domain, *op;
        int past_key;
    } caching[] = {{"", "Attention", 4}, {"sc", "Attention", 4}, {"com.microsoft", "GroupQueryAttention", 3},
        {"com.microsoft", "MultiHeadAttention", 6}, {"com.microsoft", "DecoderMaskedMultiHeadAttention", 5}};
    for (size_t c = 0; c < sizeof caching / sizeof caching[0]; c++) {
        if (strcmp(node->domain, caching[c].domain) == 0 && strcmp(node->op, caching[c].op) == 0) {
            return caching[c].past_key;
        }
    }
    return -1;
}

/* As they are: positions start .. start + n - 1, all in one page. */
static void copy_rows(
    const struct sc_state_view *view, int64_t start, int64_t done, int64_t n, const struct sc_cache_rows *rows)
{
    const size_t bytes = sc_type_bytes(rows->type);
    struct sc_move move = {.bytes = bytes,
        .to = sc_at(view->pages[start / SC_PAGE_ROWS], start % SC_PAGE_ROWS * view->row_stride, bytes),
        .from = sc_const_at(rows->data, done * rows->row_stride, bytes)};
    sc_move_axis(&move, rows->heads, view->head_stride, rows->head_stride);
    sc_move_axis(&move, n, view->row_stride, rows->row_stride);
    sc_move_axis(&move, rows->width, view->column_stride, rows->column_stride);
    sc_move_run(&move, NULL);
}

static void scatter(const void *from, void *to, size_t bytes, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy((char *)to + i * stride * (int64_t)bytes, (const char *)from + i * (int64_t)bytes, bytes);
    }
}

/* n <= SC_PAGE_CODES numbers as f32, from element `at` of the rows on. */
static void gather(const struct sc_kernels *kernels, const struct sc_cache_rows *rows, int64_t at, int64_t n, float *to)
{
    const size_t bytes = sc_type_bytes(rows->type);
    uint16_t words[SC_PAGE_CODES];
    for (int64_t i = 0; i < n; i++) {
        const void *from = sc_const_at(rows->data, at + i * rows->column_stride, bytes);
        memcpy(rows->type == SC_F32 ? (void *)&to[i] : &words[i], from, bytes);
    }
    if (rows->type != SC_F32) {
        (rows->type == SC_F16 ? kernels->f16_to_f32 : kernels->bf16_to_f32)(words, to, n);
    }
}

/* Where some columns of one position go. */
struct target {
    const struct sc_state_view *view;
    void *head; /* the head's part of the page */
    int64_t row, column, n, width;
    const struct sc_cache_codes *codes;
    const float *scales; /* of the head */
};

static void put_codes(const struct target *t, const float *x)
{
    const enum sc_type type = t->codes->type;
    const int64_t stride = t->view->column_stride;
    uint8_t codes[SC_PAGE_CODES];
    sc_codes_narrow(type, t->scales + t->column, t->n, x, codes);
    scatter(codes, (char *)t->head + t->row * t->view->row_stride + sc_codes_bytes(type, t->column) * stride, 1, stride,
        sc_codes_bytes(type, t->n));
}

static void put(const struct sc_kernels *kernels, const struct target *t, const float *x)
{
    const struct sc_state_view *view = t->view;
    if (t->codes) {
        put_codes(t, x);
        return;
    }
    const int64_t at = t->row * view->row_stride + t->column * view->column_stride;
    uint16_t words[SC_PAGE_CODES];
    int8_t codes[SC_PAGE_CODES];
    if (view->format == SC_PAGE_Q8_0) {
        struct sc_coded coded = {.codes = codes};
        kernels->code_block(x, t->n, &coded);
        scatter(codes, (char *)t->head + at, 1, view->column_stride, t->n);
        memcpy((char *)t->head + sc_page_scale_at(view, t->width, t->row, t->column), &coded.scale, sizeof coded.scale);
    } else if (view->format == SC_PAGE_F32) {
        scatter(x, (float *)t->head + at, sizeof *x, view->column_stride, t->n);
    } else {
        (view->format == SC_PAGE_F16 ? kernels->f32_to_f16 : kernels->f32_to_bf16)(x, words, t->n);
        scatter(words, (uint16_t *)t->head + at, sizeof *words, view->column_stride, t->n);
    }
}

/* Row `i` of `rows` at a position. */
static void convert_row(const struct sc_kernels *kernels, const struct sc_state_view *view, int64_t position, int64_t i,
    const struct sc_cache_rows *rows)
{
    const size_t bytes = rows->codes ? 1 : sc_type_bytes(sc_page_type(view->format, rows->type));
    for (int64_t h = 0; h < rows->heads; h++) {
        struct target target = {.view = view,
            .head = sc_at(view->pages[position / SC_PAGE_ROWS], h * view->head_stride, bytes),
            .row = position % SC_PAGE_ROWS,
            .width = rows->width,
            .codes = rows->codes,
            .scales = rows->codes ? rows->codes->scales + h * rows->width : NULL};
        for (; target.column < rows->width; target.column += SC_PAGE_CODES) {
            float x[SC_PAGE_CODES];
            const int64_t left = rows->width - target.column;
            target.n = left < SC_PAGE_CODES ? left : SC_PAGE_CODES;
            gather(kernels, rows, h * rows->head_stride + i * rows->row_stride + target.column * rows->column_stride,
                target.n, x);
            put(kernels, &target, x);
        }
    }
}

void sc_cache_view_dense(
    struct sc_state_view *view, void **pages, int64_t positions, void *data, size_t bytes, const int64_t strides[4])
{
    *view = (struct sc_state_view){.pages = pages,
        .n_pages = sc_pages_for(positions),
        .length = positions,
        .head_stride = strides[1],
        .row_stride = strides[2],
        .column_stride = strides[3]};
    for (int64_t i = 0; i < view->n_pages; i++) {
        pages[i] = sc_at(data, i * SC_PAGE_ROWS * strides[2], bytes);
    }
}

void sc_cache_write(
    const struct sc_kernels *kernels, const struct sc_state_view *view, int64_t start, const struct sc_cache_rows *rows)
{
    for (int64_t done = 0; done < rows->n;) {
        const int64_t at = start + done, room = SC_PAGE_ROWS - at % SC_PAGE_ROWS;
        const int64_t n = rows->n - done < room ? rows->n - done : room;
        if (!rows->codes && sc_page_type(view->format, rows->type) == rows->type) {
            copy_rows(view, at, done, n, rows);
        } else {
            for (int64_t i = done; i < done + n; i++) {
                convert_row(kernels, view, start + i, i, rows);
            }
        }
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
