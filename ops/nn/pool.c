/* SPDX-License-Identifier: Apache-2.0
 * MaxPool, AveragePool, LpPool, and their global forms, whose window is the whole plane. A part is one plane; narrow
 * types are widened to f32 plane by plane. What is pooled most has a faster way: see pool_bands.c. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/pool.h"
#include "ops/tile.h"
#include "tensor/convert.h"

struct params {
    enum sc_pool_kind kind;
    bool global, include_pads, column_major;
    double p;
    struct sc_window_params window;
};

static enum sc_status params_pool(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->kind = strstr(node->op, "Max") ? SC_POOL_MAX : strstr(node->op, "Average") ? SC_POOL_AVERAGE : SC_POOL_LP;
    p->global = strncmp(node->op, "Global", 6) == 0;
    int64_t include, order;
    SC_TRY(sc_node_int(node, "count_include_pad", 0, &include));
    SC_TRY(sc_node_int(node, "storage_order", 0, &order));
    p->include_pads = include != 0;
    if (order != 0 && order != 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "storage_order is %lld, want 0 or 1", (long long)order);
    }
    p->column_major = order == 1;
    const struct sc_attribute *a = sc_node_attribute(node, "p"); /* a float in version 1 */
    p->p = !a ? 2.0 : a->type == SC_ATTRIBUTE_FLOAT ? (double)a->u.f : (double)a->u.i;
    if (!(p->p > 0.0)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "p is %g, want one above 0", p->p);
    }
    return sc_window_read(graph, node, &p->window);
}

static enum sc_status find_window(const struct sc_graph *graph, const struct sc_node *node, const struct params *p,
    int rank, const int64_t *dims, struct sc_window *window)
{
    const int least = p->global ? 2 : 3;
    if (rank < least) {
        return sc_node_fail(graph, node, SC_BAD_INPUT, "X has rank %d, want %d or more", rank, least);
    }
    if (!p->global) {
        return sc_window_find(graph, node, &p->window, rank - 2, dims + 2, NULL, window);
    }
    memset(window, 0, sizeof(*window));
    window->axes = rank - 2;
    for (int i = 0; i < rank - 2; i++) {
        window->in[i] = dims[2 + i];
        window->kernel[i] = dims[2 + i];
        window->stride[i] = 1;
        window->dilation[i] = 1;
        window->out[i] = 1;
    }
    return SC_OK;
}

static enum sc_status infer_pool(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    sc_fact_of_type(sc_infer_out(infer, 0), x->type);
    sc_fact_of_type(sc_infer_out(infer, 1), SC_I64);
    if (x->rank < 0) {
        return SC_OK;
    }
    struct sc_window window;
    SC_TRY(find_window(infer->graph, infer->node, infer->params, x->rank, x->dims, &window));
    sc_window_output(infer, 0, x->type, x->dims[1], &window);
    sc_window_output(infer, 1, SC_I64, x->dims[1], &window);
    return SC_OK;
}

/* The part of a window that lies inside the plane: rows of dims[last] elements, walked by their offsets. */
struct box {
    int64_t first[SC_MAX_AXES], dims[SC_MAX_AXES], at[SC_MAX_AXES], steps[SC_MAX_AXES];
};

/* What of an axis is in the window at position `at` of it. */
static void open_axis(const struct sc_pool *pool, int axis, int64_t at, struct box *box)
{
    const struct sc_window *w = &pool->window;
    const int64_t start = at * w->stride[axis] - w->begin[axis];
    int64_t first, end;
    sc_window_clip(w, axis, start, &first, &end);
    box->dims[axis] = end - first;
    box->at[axis] = 0;
    box->steps[axis] = w->dilation[axis] * pool->strides[axis];
    box->first[axis] = (start + first * w->dilation[axis]) * pool->strides[axis];
}

/* The offset of the first row, and how many there are. */
static int64_t first_row(const struct sc_pool *pool, const struct box *box, int64_t *rows)
{
    const int last = pool->window.axes - 1;
    int64_t offset = 0;
    *rows = 1;
    for (int i = 0; i <= last; i++) {
        offset += box->first[i];
        *rows *= i < last || box->dims[i] == 0 ? box->dims[i] : 1;
    }
    return *rows > 0 ? offset : 0;
}

/* How far it is to the next row; after the last one the box is at its first again. */
static int64_t next_row(int last, struct box *box)
{
    int64_t step = 0;
    for (int i = last - 1; i >= 0; i--) {
        step += box->steps[i];
        if (++box->at[i] < box->dims[i]) {
            break;
        }
        box->at[i] = 0;
        step -= box->dims[i] * box->steps[i];
    }
    return step;
}

int64_t sc_pool_count(const struct sc_pool *pool, int axis, int64_t at)
{
    const struct sc_window *w = &pool->window;
    const int64_t start = at * w->stride[axis] - w->begin[axis];
    if (pool->include_pads) { /* cells inside the input and its pads */
        const int64_t left = w->in[axis] + w->end[axis] - start;
        const int64_t cells = (left + w->dilation[axis] - 1) / w->dilation[axis];
        return cells < w->kernel[axis] ? cells : w->kernel[axis];
    }
    int64_t first, end;
    sc_window_clip(w, axis, start, &first, &end);
    return end - first;
}

static double finish(const struct sc_pool *pool, const int64_t *at, double sum)
{
    if (pool->kind == SC_POOL_LP) {
        return pool->p == 1.0 ? sum : pool->p == 2.0 ? sqrt(sum) : pow(sum, 1.0 / pool->p);
    }
    int64_t count = 1;
    for (int i = 0; i < pool->window.axes; i++) {
        count *= sc_pool_count(pool, i, at[i]);
    }
    return sum / (double)count;
}

/* The index of an element within its plane, in the order that is asked for. */
static int64_t order_index(const struct sc_pool *pool, int64_t offset)
{
    if (!pool->column_major) {
        return offset;
    }
    int64_t index = 0;
    int64_t step = 1;
    for (int i = 0; i < pool->window.axes; i++) {
        index += offset / pool->strides[i] % pool->window.in[i] * step;
        step *= pool->window.in[i];
    }
    return index;
}

#define TYPE float
#define NAME pool_f32
#include "ops/nn/pool_plane.inc.h"
#define TYPE double
#define NAME pool_f64
#include "ops/nn/pool_plane.inc.h"
#include "ops/room.h"

/* A window that is the whole plane is a row. */
static void plane_f32(const struct sc_pool *pool, const float *x, float *y, int64_t *indices, int64_t plane)
{
    if (pool->global && pool->kind == SC_POOL_AVERAGE) {
        *y = pool->kernels->sum(x, pool->in_count) / (float)pool->in_count;
    } else if (pool->global && pool->kind == SC_POOL_MAX) {
        *y = pool->kernels->max(x, pool->in_count);
    } else {
        pool_f32(pool, x, y, indices, plane);
    }
}

void sc_pool_widen(const struct sc_pool *pool, const void *x, float *y, int64_t n)
{
    const enum sc_type type = pool->x->type;
    if (type == SC_F16 || type == SC_BF16) {
        sc_widen(pool->kernels, type, x, y, n);
    } else {
        sc_convert(type, x, SC_F32, y, n, 0);
    }
}

void sc_pool_narrow(const struct sc_pool *pool, const float *x, void *y, int64_t n)
{
    const enum sc_type type = pool->x->type;
    if (type == SC_F16 || type == SC_BF16) {
        sc_round_to(pool->kernels, type, x, y, n);
    } else {
        sc_convert(SC_F32, x, type, y, n, 0);
    }
}

static void pool_part(void *arg, int64_t plane, int worker)
{
    const struct sc_pool *pool = arg;
    const enum sc_type type = pool->x->type;
    const size_t bytes = sc_type_bytes(type);
    const void *x = sc_const_at(pool->x->data, plane * pool->in_count, bytes);
    void *y = pool->y ? sc_at(pool->y->data, plane * pool->out_count, bytes) : NULL;
    int64_t *indices = pool->indices ? (int64_t *)pool->indices->data + plane * pool->out_count : NULL;
    if (type == SC_F64) {
        pool_f64(pool, x, y, indices, plane);
        return;
    }
    if (type == SC_F32) {
        plane_f32(pool, x, y, indices, plane);
        return;
    }
    float *wide = (float *)(void *)(pool->rooms + (size_t)worker * pool->room_bytes);
    float *result = wide + pool->in_count;
    sc_pool_widen(pool, x, wide, pool->in_count);
    plane_f32(pool, wide, result, indices, plane);
    sc_pool_narrow(pool, result, y, pool->out_count);
}

static struct sc_pool open_pool(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct sc_pool pool = {.kind = p->kind,
        .global = p->global,
        .kernels = call->kernels,
        .include_pads = p->include_pads,
        .column_major = p->column_major,
        .p = p->p,
        .x = sc_call_in(call, 0),
        .y = sc_call_out(call, 0),
        .indices = sc_call_out(call, 1),
        .rooms = call->scratch};
    (void)find_window(call->graph, call->node, p, pool.x->rank, pool.x->dims, &pool.window); /* infer has checked it */
    if (pool.window.axes == 0) { /* a plane is one element: a row of one */
        const struct sc_window one = {.axes = 1, .in = {1}, .out = {1}, .kernel = {1}, .stride = {1}, .dilation = {1}};
        pool.window = one;
    }
    sc_dense_strides(pool.window.axes, pool.window.in, pool.strides);
    pool.in_count = sc_dims_product(pool.window.in, 0, pool.window.axes);
    pool.out_count = sc_dims_product(pool.window.out, 0, pool.window.axes);
    pool.planes = sc_dims_product(pool.x->dims, 0, 2);
    sc_pool_open_bands(&pool);
    if (pool.band.taps == 0 && pool.x->type != SC_F32 && pool.x->type != SC_F64) {
        pool.room_bytes = sc_room_round((size_t)(pool.in_count + pool.out_count) * sizeof(float));
    }
    return pool;
}

static size_t scratch_pool(const struct sc_call *call)
{
    return open_pool(call).room_bytes * (size_t)sc_team_size(call->team);
}

static void run_pool(const struct sc_call *call)
{
    struct sc_pool pool = open_pool(call);
    if (pool.out_count > 0 && pool.band.taps > 0) {
        sc_team_for(call->team, sc_pool_band_parts(&pool), sc_pool_band_part, &pool);
    } else if (pool.out_count > 0) {
        sc_team_for(call->team, pool.planes, pool_part, &pool);
    }
}

static void cost_pool(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_fact *x = infer->in[0];
    struct sc_window window;
    if (find_window(infer->graph, infer->node, infer->params, x->rank, x->dims, &window) != SC_OK) {
        return;
    }
    const double planes = (double)sc_dims_product(x->dims, 0, 2);
    const double bytes = (double)sc_type_bytes(x->type);
    const double out = (double)sc_dims_product(window.out, 0, window.axes);
    cost->operations = planes * out * (double)sc_dims_product(window.kernel, 0, window.axes);
    cost->read_bytes = bytes * planes * (double)sc_dims_product(window.in, 0, window.axes);
    cost->written_bytes = bytes * planes * out;
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE, .params = params_pool,                     \
        .infer = infer_pool, .scratch = scratch_pool, .run = run_pool, .cost = cost_pool                               \
    }

const struct sc_op sc_ops_nn_pool[] = {
    ROW(MaxPool, 1),
    ROW(MaxPool, 8),
    ROW(MaxPool, 10),
    ROW(MaxPool, 11),
    ROW(MaxPool, 12),
    ROW(MaxPool, 22),
    ROW(AveragePool, 1),
    ROW(AveragePool, 7),
    ROW(AveragePool, 10),
    ROW(AveragePool, 11),
    ROW(AveragePool, 19),
    ROW(AveragePool, 22),
    ROW(LpPool, 1),
    ROW(LpPool, 2),
    ROW(LpPool, 11),
    ROW(LpPool, 18),
    ROW(LpPool, 22),
    ROW(GlobalMaxPool, 1),
    ROW(GlobalMaxPool, 22),
    ROW(GlobalAveragePool, 1),
    ROW(GlobalAveragePool, 22),
    ROW(GlobalLpPool, 1),
    ROW(GlobalLpPool, 2),
    ROW(GlobalLpPool, 22),
    {.name = NULL},
};
