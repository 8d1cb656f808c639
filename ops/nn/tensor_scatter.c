/* SPDX-License-Identifier: Apache-2.0
 * TensorScatter: new rows written into a cache at an index per batch row. A paged cache is written where it lies. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/cache.h"
#include "ops/shape/shape.h"

struct params {
    int64_t axis;
    bool circular;
};

static enum sc_status params_scatter(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    const char *mode;
    SC_TRY(sc_node_int(node, "axis", -2, &p->axis));
    SC_TRY(sc_node_text(node, "mode", "linear", &mode));
    p->circular = strcmp(mode, "circular") == 0;
    if (!p->circular && strcmp(mode, "linear") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "mode is '%s', want 'linear' or 'circular'", mode);
    }
    return SC_OK;
}

static enum sc_status check_update(
    const struct sc_infer *infer, const struct sc_fact *past, const struct sc_fact *update, int axis)
{
    bool fits = update->rank < 0 || update->rank == past->rank;
    for (int i = 0; fits && update->rank >= 0 && i < past->rank; i++) {
        const int64_t have = past->dims[i];
        const int64_t dim = update->dims[i];
        fits = have < 0 || dim < 0 || (i == axis ? dim <= have : dim == have);
    }
    if (!fits) {
        char a[128], b[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "an update %s does not fit a cache %s",
            sc_dims_text(update->rank, update->dims, a, sizeof a), sc_dims_text(past->rank, past->dims, b, sizeof b));
    }
    return SC_OK;
}

static enum sc_status infer_scatter(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const struct sc_fact *past = sc_infer_in(infer, 0);
    const struct sc_fact *update = sc_infer_in(infer, 1);
    if (!past || !update) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "an input is missing");
    }
    if (sc_infer_out(infer, 0)) {
        *infer->out[0] = *past;
        infer->out[0]->value = NULL;
    }
    if (past->rank < 0) {
        return SC_OK;
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, past->rank, &axis));
    if (axis == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "axis is the batch axis");
    }
    if (past->kind == SC_KIND_STATE && (axis != 2 || p->circular)) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED,
            "a resident cache is written along axis 2 in mode 'linear' only");
    }
    return check_update(infer, past, update, axis);
}

static int64_t index_at(const struct sc_tensor *indices, int64_t batch)
{
    return indices ? sc_index_at(indices, batch) : 0;
}

static enum sc_status resolve_scatter(const struct sc_call *call)
{
    const struct params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *update = sc_call_in(call, 1);
    const struct sc_tensor *indices = sc_call_in(call, 2);
    if (indices && (indices->rank != 1 || indices->dims[0] != update->dims[0])) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "write_indices does not have one entry per batch row");
    }
    const bool paged = call->in[0]->kind == SC_KIND_STATE;
    const int axis = (int)(p->axis < 0 ? p->axis + update->rank : p->axis);
    const int64_t n = update->dims[axis];
    for (int64_t b = 0; b < update->dims[0]; b++) {
        const int64_t at = index_at(indices, b);
        if (paged) {
            SC_TRY(sc_cache_check_room(call, call->in[0]->u.state, (int)b, at, n));
            continue;
        }
        const int64_t room = sc_call_in(call, 0)->dims[axis];
        if (at < 0 || (!p->circular && at > room - n)) {
            return sc_node_fail(call->graph, call->node, at < 0 ? SC_BAD_INPUT : SC_LIMIT,
                "cache capacity %lld reached: %lld rows do not fit at position %lld", (long long)room, (long long)n,
                (long long)at);
        }
    }
    return SC_OK;
}

static void write_paged(const struct sc_call *call)
{
    const struct sc_state *state = call->in[0]->u.state;
    const struct sc_tensor *update = sc_call_in(call, 1);
    const struct sc_tensor *indices = sc_call_in(call, 2);
    for (int64_t b = 0; b < update->dims[0]; b++) {
        const struct sc_cache_rows rows = {.type = update->type,
            .heads = update->dims[1],
            .n = update->dims[2],
            .width = update->dims[3],
            .data = sc_const_at(update->data, b * update->strides[0], sc_type_bytes(update->type)),
            .head_stride = update->strides[1],
            .row_stride = update->strides[2],
            .column_stride = update->strides[3]};
        sc_cache_write(call->kernels, &state->rows[b], index_at(indices, b), &rows);
    }
    sc_cache_hand_on(call, 0, call->in[0]->u.state);
}

/* Rows [first, first + n) of the update of one batch row, to position `at` of the cache. */
static void write_dense(const struct sc_call *call, int axis, int64_t batch, int64_t first, int64_t n, int64_t at)
{
    const struct sc_tensor *update = sc_call_in(call, 1);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const size_t bytes = sc_type_bytes(out->type);
    struct sc_move move = {.bytes = bytes,
        .to = sc_at(out->data, batch * out->strides[0] + at * out->strides[axis], bytes),
        .from = sc_const_at(update->data, batch * update->strides[0] + first * update->strides[axis], bytes)};
    for (int i = 1; i < out->rank; i++) {
        sc_move_axis(&move, i == axis ? n : out->dims[i], out->strides[i], update->strides[i]);
    }
    sc_move_run(&move, call->team);
}

static void run_scatter(const struct sc_call *call)
{
    if (call->in[0]->kind == SC_KIND_STATE) {
        write_paged(call);
        return;
    }
    const struct params *p = call->params;
    const struct sc_tensor *past = sc_call_in(call, 0);
    const struct sc_tensor *update = sc_call_in(call, 1);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const int axis = (int)(p->axis < 0 ? p->axis + past->rank : p->axis);
    const int64_t room = past->dims[axis];
    if (sc_tensor_count(past) == 0) {
        return;
    }
    if (out->data != past->data) {
        sc_tensor_copy_dense(past, out->data);
    }
    for (int64_t b = 0; b < update->dims[0]; b++) {
        const int64_t at = index_at(sc_call_in(call, 2), b) % room;
        const int64_t n = update->dims[axis] < room - at ? update->dims[axis] : room - at;
        write_dense(call, axis, b, 0, n, at);
        write_dense(call, axis, b, n, update->dims[axis] - n, 0); /* what wraps around */
    }
}

const struct sc_op sc_ops_nn_tensor_scatter[] = {
    {.domain = "",
        .name = "TensorScatter",
        .since = 24,
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE | SC_OP_STATE,
        .strided = 2,
        .params = params_scatter,
        .infer = infer_scatter,
        .resolve = resolve_scatter,
        .run = run_scatter},
    {.name = NULL},
};
