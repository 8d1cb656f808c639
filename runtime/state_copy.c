/* SPDX-License-Identifier: Apache-2.0
 * A slot's state as one dense tensor, whatever pages it lies in: in pieces, so that nobody needs memory for all of
 * it. */
#include <stdlib.h>
#include <string.h>

#include "ops/infer.h"
#include "runtime/state_store.h"
#include "tensor/page.h"

int64_t sc_state_length(const struct sc_state_store *store, int p, int slot)
{
    return store->lengths[p * store->options.n_slots + slot];
}

/* Columns of a row as it is read and written. */
static int64_t row_elements(const struct sc_state_pair *pair)
{
    return sc_page_row_bytes(pair->format, pair->type, pair->width) / (int64_t)sc_type_bytes(sc_state_type(pair));
}

static void paged_shape(const struct sc_state_pair *pair, int64_t length, struct sc_tensor *shape)
{
    if (pair->joined) {
        const int64_t joined[] = {2, 1, pair->heads / 2, length, row_elements(pair)};
        sc_tensor_init(shape, sc_state_type(pair), 5, joined);
        return;
    }
    const int64_t dims[] = {1, pair->heads, length, row_elements(pair)};
    sc_tensor_init(shape, sc_state_type(pair), 4, dims);
}

enum sc_status sc_state_shape(const struct sc_state_store *store, int p, int slot, struct sc_tensor *shape)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    SC_TRY(sc_state_check_slot(store, slot));
    const int64_t length = sc_state_length(store, p, slot);
    if (sc_state_is_viewed(pair)) {
        paged_shape(pair, length, shape);
        return SC_OK;
    }
    const struct sc_tensor *held = &store->dense[p * store->options.n_slots + slot].value.u.tensor;
    if (length > 0) {
        sc_tensor_init(shape, held->type, held->rank, held->dims);
    } else {
        sc_tensor_init(shape, pair->type, pair->rank, pair->dims);
    }
    return SC_OK;
}

/* Where elements of one row of a state in pages lie: `first` and, every `stride` bytes, the next ones. */
struct place {
    char *first;
    size_t stride;
    int64_t n; /* that lie so; the row may go on elsewhere */
};

static struct place find(const struct sc_state_store *store, int p, int slot, int64_t at)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    const struct sc_state_view *view = &store->views[p * store->options.n_slots + slot];
    const int64_t length = sc_state_length(store, p, slot), elements = row_elements(pair);
    const int64_t row = at / elements, column = at % elements, head = row / length, position = row % length;
    struct sc_state_view values = *view;
    if (pair->joined && head >= pair->heads / 2) {
        values.row_stride = pair->width;
        values.column_stride = 1;
        view = &values;
    }
    const size_t bytes = sc_type_bytes(sc_state_type(pair));
    char *part = (char *)view->pages[position / SC_PAGE_ROWS] + (size_t)(head * view->head_stride) * bytes;
    if (column >= pair->width) { /* a byte of a scale */
        const int64_t scale = (column - pair->width) / (int64_t)sizeof(float),
                      byte = (column - pair->width) % (int64_t)sizeof(float);
        return (struct place){
            .first = part + sc_page_scale_at(view, pair->width, position % SC_PAGE_ROWS, scale * SC_PAGE_CODES) + byte,
            .stride = 1,
            .n = (int64_t)sizeof(float) - byte};
    }
    const int64_t offset = position % SC_PAGE_ROWS * view->row_stride + column * view->column_stride;
    return (struct place){.first = part + (size_t)offset * bytes,
        .stride = (size_t)view->column_stride * bytes,
        .n = pair->width - column};
}

static enum sc_status check_range(const struct sc_state_store *store, int p, int slot, int64_t at, int64_t n)
{
    struct sc_tensor shape;
    SC_TRY(sc_state_shape(store, p, slot, &shape));
    const int64_t count = sc_tensor_count(&shape);
    return at >= 0 && n >= 0 && at <= count - n ? SC_OK
                                                : sc_fail(SC_BAD_INPUT, "elements %lld + %lld of a state that has %lld",
                                                      (long long)at, (long long)n, (long long)count);
}

/* Elements between a state and plain memory; `to` or `from` is NULL. */
static enum sc_status copy(
    const struct sc_state_store *store, int p, int slot, int64_t at, int64_t n, char *to, const char *from)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    const size_t bytes = sc_type_bytes(sc_state_type(pair));
    SC_TRY(check_range(store, p, slot, at, n));
    if (!sc_state_is_viewed(pair)) {
        char *held = store->dense[p * store->options.n_slots + slot].memory;
        if (n > 0) {
            memcpy(to ? to : held + (size_t)at * bytes, to ? held + (size_t)at * bytes : from, (size_t)n * bytes);
        }
        return SC_OK;
    }
    for (const int64_t end = at + n; at < end;) {
        const struct place place = find(store, p, slot, at);
        const int64_t row = place.n < end - at ? place.n : end - at;
        for (int64_t i = 0; i < row; i++) {
            char *held = place.first + (size_t)i * place.stride;
            memcpy(to ? to + (size_t)i * bytes : held, to ? held : from + (size_t)i * bytes, bytes);
        }
        to = to ? to + (size_t)row * bytes : NULL;
        from = from ? from + (size_t)row * bytes : NULL;
        at += row;
    }
    return SC_OK;
}

enum sc_status sc_state_read(const struct sc_state_store *store, int p, int slot, int64_t at, int64_t n, void *to)
{
    return copy(store, p, slot, at, n, to, NULL);
}

enum sc_status sc_state_write(struct sc_state_store *store, int p, int slot, int64_t at, int64_t n, const void *from)
{
    return copy(store, p, slot, at, n, NULL, from);
}

static enum sc_status refuse(const struct sc_tensor *shape, const struct sc_tensor *want)
{
    char have[128], wanted[128];
    return sc_fail(SC_BAD_INPUT, "a state of %s %s does not fit one of %s %s", sc_type_name(shape->type),
        sc_dims_text(shape->rank, shape->dims, have, sizeof have), sc_type_name(want->type),
        sc_dims_text(want->rank, want->dims, wanted, sizeof wanted));
}

/* Memory for a dense state; a dim of the empty one that is 0 grows. */
static enum sc_status expect_dense(struct sc_state_store *store, int p, int slot, const struct sc_tensor *shape)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    struct sc_dense_state *dense = &store->dense[p * store->options.n_slots + slot];
    struct sc_tensor empty;
    sc_tensor_init(&empty, pair->type, pair->rank, pair->dims);
    bool fits = shape->type == pair->type && shape->rank == pair->rank;
    for (int d = 0; fits && d < pair->rank; d++) {
        fits = pair->dims[d] == 0 || shape->dims[d] == pair->dims[d];
    }
    if (!fits) {
        return refuse(shape, &empty);
    }
    SC_TRY(sc_dims_check("a state", shape->type, shape->rank, shape->dims));
    const size_t bytes = sc_tensor_bytes(shape) + SC_PAGE_ROWS;
    void *memory = realloc(dense->memory, bytes);
    if (!memory) {
        return sc_fail(SC_NO_MEMORY, "out of memory for %zu bytes of state", bytes);
    }
    dense->memory = memory;
    dense->bytes = bytes;
    dense->value.kind = SC_KIND_TENSOR;
    sc_tensor_init(&dense->value.u.tensor, shape->type, shape->rank, shape->dims);
    dense->value.u.tensor.data = memory;
    return SC_OK;
}

/* Pages for a state that lies in such. */
static enum sc_status expect_pages(
    struct sc_state_store *store, int p, int slot, int64_t length, const struct sc_tensor *shape)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    struct sc_tensor want;
    paged_shape(pair, length, &want);
    if (shape->type != want.type || shape->rank != want.rank ||
        memcmp(shape->dims, want.dims, (size_t)want.rank * sizeof *want.dims) != 0 ||
        (pair->kind == SC_STATE_CONSTANT && length == 0)) {
        return refuse(shape, &want);
    }
    return pair->kind == SC_STATE_PAGED ? sc_pages_write(store->table, slot, 0, length)
                                        : sc_state_expect_constant(store, p, slot, length);
}

enum sc_status sc_state_expect(
    struct sc_state_store *store, int p, int slot, int64_t length, const struct sc_tensor *shape)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    SC_TRY(sc_state_check_slot(store, slot));
    if (pair->kind == SC_STATE_CONSTANT && length != sc_state_source(pair, shape)) {
        return sc_fail(SC_BAD_INPUT, "a state of a source of %lld positions has %lld of them", (long long)length,
            (long long)sc_state_source(pair, shape));
    }
    const int64_t capacity = sc_state_capacity(pair, store->options.context);
    if (length < 0 || length > capacity) {
        return sc_fail(SC_LIMIT, "a state of %lld positions is more than the cache's capacity of %lld",
            (long long)length, (long long)capacity);
    }
    SC_TRY(
        sc_state_is_viewed(pair) ? expect_pages(store, p, slot, length, shape) : expect_dense(store, p, slot, shape));
    store->lengths[p * store->options.n_slots + slot] = length;
    return SC_OK;
}

/* Numbers of 64 positions within a head's part of a page: runs of positions, `unit` bytes for each, side by side. */
struct runs {
    size_t at, unit;
    int64_t n;
};

/* Positions first .. first + n - 1 of each run. `to` or `from` is NULL. Returns the bytes copied. */
static size_t copy_runs(char *part, const struct runs *runs, int64_t first, int64_t n, char *to, const char *from)
{
    const size_t bytes = (size_t)n * runs->unit;
    for (int64_t r = 0; r < runs->n; r++) {
        char *held = part + runs->at + (size_t)(r * SC_PAGE_ROWS + first) * runs->unit;
        memcpy(to ? to + (size_t)r * bytes : held, to ? held : from + (size_t)r * bytes, bytes);
    }
    return (size_t)runs->n * bytes;
}

/* Of one head: elements, then the scales of q8_0. */
static void head_runs(
    const struct sc_state_pair *pair, const struct sc_state_view *view, int64_t head, struct runs runs[2])
{
    const bool keys = pair->keys && !(pair->joined && head >= pair->heads / 2);
    const int64_t n_scales = (row_elements(pair) - pair->width) / (int64_t)sizeof(float);
    const int64_t columns[] = {pair->width, n_scales};
    const size_t bytes[] = {sc_type_bytes(sc_state_type(pair)), sizeof(float)};
    for (int i = 0; i < 2; i++) {
        runs[i] = (struct runs){.at = i > 0 && n_scales > 0 ? (size_t)sc_page_scale_at(view, pair->width, 0, 0) : 0,
            .unit = bytes[i] * (size_t)(keys ? 1 : columns[i]),
            .n = keys ? columns[i] : columns[i] > 0};
    }
}

/* What a row adds to a pair, page by page, head by head. */
static void copy_new(const struct sc_state_store *store, int p, const struct sc_row *row, char *to, const char *from)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    const struct sc_state_view *view = &store->views[p * store->options.n_slots + row->slot];
    const size_t head_bytes = (size_t)view->head_stride * sc_type_bytes(sc_state_type(pair));
    size_t done = 0;
    for (int64_t at = row->pos, end = row->pos + row->n_new; at < end;) {
        const int64_t first = at % SC_PAGE_ROWS, left = SC_PAGE_ROWS - first, n = left < end - at ? left : end - at;
        for (int64_t head = 0; head < pair->heads; head++) {
            char *part = (char *)view->pages[at / SC_PAGE_ROWS] + (size_t)head * head_bytes;
            struct runs runs[2];
            head_runs(pair, view, head, runs);
            for (int i = 0; i < 2; i++) {
                done += copy_runs(part, &runs[i], first, n, to ? to + done : NULL, to ? NULL : from + done);
            }
        }
        at += n;
    }
}

/* A state that is made as one tensor is given when it is all there. */
static bool goes_now(const struct sc_state_pair *pair, const struct sc_row *row)
{
    return pair->kind == SC_STATE_CONSTANT ? row->n_new == 0 : pair->kind == SC_STATE_PAGED || row->ends;
}

/* All positions of a state in pages that is there at once. */
static struct sc_row whole(int64_t length, const struct sc_row *row)
{
    return (struct sc_row){.slot = row->slot, .n_new = (int32_t)length};
}

enum sc_status sc_state_give(
    struct sc_state_store *store, int p, const struct sc_row *row, struct sc_arena *arena, struct sc_value *value)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    *value = (struct sc_value){.kind = SC_KIND_NONE};
    if (!goes_now(pair, row)) {
        return SC_OK;
    }
    if (!sc_state_is_viewed(pair)) {
        *value = store->dense[p * store->options.n_slots + row->slot].value;
        return SC_OK;
    }
    const struct sc_row new = pair->kind == SC_STATE_PAGED ? *row : whole(sc_state_length(store, p, row->slot), row);
    value->kind = SC_KIND_TENSOR;
    paged_shape(pair, new.n_new, &value->u.tensor);
    value->u.tensor.data = sc_arena_alloc(arena, sc_tensor_bytes(&value->u.tensor));
    if (!value->u.tensor.data) {
        return SC_NO_MEMORY;
    }
    copy_new(store, p, &new, value->u.tensor.data, NULL);
    return SC_OK;
}

static enum sc_status take_tensor(
    struct sc_state_store *store, int p, const struct sc_row *row, const struct sc_value *value)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    if (value->kind != SC_KIND_TENSOR) {
        return sc_fail(SC_PEER, "a state that is no tensor was handed over");
    }
    const struct sc_tensor *tensor = &value->u.tensor;
    const bool constant = pair->kind == SC_STATE_CONSTANT;
    const int64_t length = constant ? sc_state_source(pair, tensor) : row->pos + row->n_new;
    SC_TRY(sc_state_expect(store, p, row->slot, length, tensor));
    if (!sc_state_is_viewed(pair)) {
        return sc_state_write(store, p, row->slot, 0, sc_tensor_count(tensor), tensor->data);
    }
    const struct sc_row new = whole(length, row);
    copy_new(store, p, &new, NULL, tensor->data);
    return SC_OK;
}

enum sc_status sc_state_take(
    struct sc_state_store *store, int p, const struct sc_row *row, const struct sc_value *value)
{
    const struct sc_state_pair *pair = &store->options.pairs[p];
    struct sc_tensor shape;
    SC_TRY(sc_state_check_slot(store, row->slot));
    if (value->kind == SC_KIND_NONE && !goes_now(pair, row)) {
        return SC_OK;
    }
    if (pair->kind != SC_STATE_PAGED) {
        return take_tensor(store, p, row, value);
    }
    const int64_t capacity = sc_state_capacity(pair, store->options.context);
    if (row->pos < 0 || row->n_new < 0 || row->pos > capacity - row->n_new ||
        sc_pages_held(store->table, row->slot) < sc_pages_for(row->pos + row->n_new)) {
        return sc_fail(SC_PEER, "positions %lld + %d of slot %d were handed over, which there is no room for",
            (long long)row->pos, row->n_new, row->slot);
    }
    paged_shape(pair, row->n_new, &shape);
    const struct sc_tensor *tensor = &value->u.tensor;
    if (value->kind != SC_KIND_TENSOR || tensor->type != shape.type || !sc_dims_equal(tensor, &shape)) {
        return sc_fail(SC_PEER, "what slot %d adds at position %lld was handed over in another shape", row->slot,
            (long long)row->pos);
    }
    copy_new(store, p, row, NULL, tensor->data);
    store->lengths[p * store->options.n_slots + row->slot] = row->pos + row->n_new;
    return SC_OK;
}
