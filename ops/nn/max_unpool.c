/* SPDX-License-Identifier: Apache-2.0
 * MaxUnpool: each element goes back to where MaxPool took it from; the rest is 0. Places count in the tensor that
 * kernel, strides and pads say, which is the corner of a larger one when output_shape is given. */
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/nn/window.h"

static enum sc_status params_unpool(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_window_params), params));
    return sc_window_read(graph, node, *params);
}

static enum sc_status check_lists(const struct sc_infer *infer, int axes)
{
    const struct sc_window_params *p = infer->params;
    const struct sc_ints *lists[] = {&p->kernel, &p->strides, &p->pads};
    static const char *const names[] = {"kernel_shape", "strides", "pads"};
    for (int i = 0; i < 3; i++) {
        const int want = i == 2 ? 2 * axes : axes;
        if (lists[i]->n >= 0 && lists[i]->n != want) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_MODEL, "'%s' has %d entries, want %d", names[i], lists[i]->n, want);
        }
    }
    return SC_OK;
}

/* The dims that were pooled, of those of X. */
static void pooled_dims(const struct sc_window_params *p, bool padded, int rank, const int64_t *x, int64_t *dims)
{
    const int axes = rank - 2;
    memcpy(dims, x, (size_t)rank * sizeof *dims);
    for (int i = 0; i < axes; i++) {
        const int64_t pads = padded && p->pads.n >= 0 ? p->pads.values[i] + p->pads.values[axes + i] : 0;
        const int64_t stride = p->strides.n >= 0 ? p->strides.values[i] : 1;
        dims[2 + i] = x[2 + i] < 0 ? SC_DIM_UNKNOWN : (x[2 + i] - 1) * stride - pads + p->kernel.values[i];
        dims[2 + i] = x[2 + i] >= 0 && dims[2 + i] < 0 ? 0 : dims[2 + i];
    }
}

static enum sc_status infer_unpool(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0], *given = sc_infer_in(infer, 2);
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    if (x->rank < 0 || !out) {
        return SC_OK;
    }
    if (x->rank < 3) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d, want 3 or more", x->rank);
    }
    SC_TRY(check_lists(infer, x->rank - 2));
    SC_TRY(sc_infer_want(infer, 1, "I", x->rank, x->dims));
    sc_fact_of_rank(out, x->type, x->rank);
    int64_t pooled[SC_MAX_RANK], values[SC_MAX_RANK];
    pooled_dims(infer->params, !given, x->rank, x->dims, pooled);
    if (!given) {
        memcpy(out->dims, pooled, (size_t)x->rank * sizeof *pooled);
        return SC_OK;
    }
    if (!given->value) {
        return SC_OK;
    }
    struct sc_ints shape;
    SC_TRY(sc_input_ints(infer, 2, values, &shape));
    for (int d = 0; d < x->rank; d++) {
        if (shape.n != x->rank || values[d] < 0 || (pooled[d] >= 0 && values[d] < pooled[d])) {
            char have[128], want[128];
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "output_shape is %s, want %s or more",
                sc_dims_text(shape.n, values, have, sizeof have), sc_dims_text(x->rank, pooled, want, sizeof want));
        }
        out->dims[d] = values[d];
    }
    return SC_OK;
}

static enum sc_status resolve_unpool(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *x = sc_call_in(call, 0), *places = sc_call_in(call, 1);
    int64_t pooled[SC_MAX_RANK];
    pooled_dims(call->params, !sc_call_in(call, 2), x->rank, x->dims, pooled);
    SC_TRY(sc_dims_check("the pooled tensor", x->type, x->rank, pooled));
    const int64_t room = sc_dims_product(pooled, 0, x->rank);
    const int64_t *at = places->data, n = sc_tensor_count(places); /* no other type is allowed */
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        all &= (uint64_t)at[i] < (uint64_t)room;
    }
    for (int64_t i = 0; i < n && !all; i++) {
        if (at[i] < 0 || at[i] >= room) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "I has the place %lld, want one in [0, %lld)",
                (long long)at[i], (long long)room);
        }
    }
    return SC_OK;
}

/* Inlined where the size of an element is known. */
static inline void put_all(const struct sc_tensor *x, const int64_t *at, void *y, size_t bytes)
{
    for (int64_t i = 0, n = sc_tensor_count(x); i < n; i++) {
        memcpy(sc_at(y, at[i], bytes), sc_const_at(x->data, i, bytes), bytes);
    }
}

/* Places are those of y. */
static void put_in_place(const struct sc_tensor *x, const int64_t *at, const struct sc_tensor *y)
{
    switch (sc_type_bytes(x->type)) {
    case 2:
        put_all(x, at, y->data, 2);
        break;
    case 4:
        put_all(x, at, y->data, 4);
        break;
    default: /* floats alone can be unpooled */
        put_all(x, at, y->data, 8);
        break;
    }
}

/* Places are those of a tensor of dims `pooled`, which is the corner of y. */
static void put_in_corner(
    const struct sc_tensor *x, const int64_t *at, const int64_t *pooled, const struct sc_tensor *y)
{
    const size_t bytes = sc_type_bytes(x->type);
    for (int64_t i = 0, n = sc_tensor_count(x); i < n; i++) {
        int64_t rest = at[i], to = 0;
        for (int d = x->rank - 1; d >= 0; d--) {
            to += rest % pooled[d] * y->strides[d];
            rest /= pooled[d];
        }
        sc_copy_element(sc_at(y->data, to, bytes), sc_const_at(x->data, i, bytes), bytes);
    }
}

static void run_unpool(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *places = sc_call_in(call, 1), *y = sc_call_out(call, 0);
    int64_t pooled[SC_MAX_RANK];
    pooled_dims(call->params, !sc_call_in(call, 2), x->rank, x->dims, pooled);
    memset(y->data, 0, sc_tensor_bytes(y));
    if (memcmp(pooled, y->dims, (size_t)x->rank * sizeof *pooled) == 0) {
        put_in_place(x, places->data, y);
    } else {
        put_in_corner(x, places->data, pooled, y);
    }
}

#define ROW(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "MaxUnpool", .since = (version), .flags = SC_OP_PURE, .params = params_unpool,           \
        .infer = infer_unpool, .resolve = resolve_unpool, .run = run_unpool                                            \
    }

const struct sc_op sc_ops_nn_max_unpool[] = {ROW(9), ROW(11), ROW(22), {.name = NULL}};
