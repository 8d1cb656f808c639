/* SPDX-License-Identifier: Apache-2.0
 * DepthToSpace and SpaceToDepth as one strided copy over six axes, and ReverseSequence as one per batch row. */
#include <string.h>

#include "ops/shape/shape.h"

struct params {
    int64_t block;
    bool columns_first; /* mode CRD */
    int64_t batch_axis, time_axis;
};

static enum sc_status params_depth(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    const char *mode;
    SC_TRY(sc_node_int(node, "blocksize", 0, &p->block));
    SC_TRY(sc_node_text(node, "mode", "DCR", &mode));
    p->columns_first = strcmp(mode, "CRD") == 0;
    if (p->block < 1 || p->block > INT32_MAX || (!p->columns_first && strcmp(mode, "DCR") != 0)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "blocksize is %lld and mode '%s'", (long long)p->block, mode);
    }
    return SC_OK;
}

static enum sc_status divide(const struct sc_infer *infer, int64_t dim, int64_t by, int64_t *quotient)
{
    if (dim >= 0 && dim % by != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a dim of %lld is no multiple of %lld",
            (long long)dim, (long long)by);
    }
    *quotient = dim >= 0 ? dim / by : by == 1 ? dim : SC_DIM_UNKNOWN;
    return SC_OK;
}

static enum sc_status infer_depth(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (in->rank < 0) {
        sc_fact_of_rank(out, in->type, 4);
        return SC_OK;
    }
    if (in->rank != 4) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input has rank %d, want 4", in->rank);
    }
    int64_t dims[4] = {in->dims[0], 0, 0, 0};
    if (strcmp(infer->node->op, "DepthToSpace") == 0) {
        SC_TRY(divide(infer, in->dims[1], p->block * p->block, &dims[1]));
        SC_TRY(sc_dim_multiply(infer, in->dims[2], p->block, &dims[2]));
        SC_TRY(sc_dim_multiply(infer, in->dims[3], p->block, &dims[3]));
    } else {
        SC_TRY(sc_dim_multiply(infer, in->dims[1], p->block * p->block, &dims[1]));
        SC_TRY(divide(infer, in->dims[2], p->block, &dims[2]));
        SC_TRY(divide(infer, in->dims[3], p->block, &dims[3]));
    }
    if (out) {
        sc_fact_tensor(out, in->type, 4, dims);
    }
    return SC_OK;
}

/* deep: [N, C * b * b, H, W], wide: [N, C, H * b, W * b]. Axes of the copy: N, C, H, row in block, W, column in
 * block. */
static void run_depth(const struct sc_call *call)
{
    const struct params *p = call->params;
    const bool to_space = strcmp(call->node->op, "DepthToSpace") == 0;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const struct sc_tensor *deep = to_space ? in : out;
    const struct sc_tensor *wide = to_space ? out : in;
    const int64_t b = p->block;
    const int64_t channels = wide->dims[1];
    const int64_t depth = p->columns_first ? b * b : 1; /* channels from one value of C to the next */
    const int64_t row = p->columns_first ? b : b * channels;
    const int64_t column = p->columns_first ? 1 : channels;
    const int64_t dims[6] = {wide->dims[0], channels, deep->dims[2], b, deep->dims[3], b};
    const int64_t *d = deep->strides;
    const int64_t *w = wide->strides;
    const int64_t deep_strides[6] = {d[0], depth * d[1], d[2], row * d[1], d[3], column * d[1]};
    const int64_t wide_strides[6] = {w[0], w[1], b * w[2], w[2], b * w[3], w[3]};
    struct sc_move move = {.bytes = sc_type_bytes(in->type), .to = out->data, .from = in->data};
    for (int i = 0; i < 6; i++) {
        sc_move_axis(
            &move, dims[i], to_space ? wide_strides[i] : deep_strides[i], to_space ? deep_strides[i] : wide_strides[i]);
    }
    sc_move_run(&move, call->team);
}

static enum sc_status params_reverse(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "batch_axis", 1, &p->batch_axis));
    SC_TRY(sc_node_int(node, "time_axis", 0, &p->time_axis));
    if (p->batch_axis + p->time_axis != 1 || p->batch_axis * p->time_axis != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "batch_axis is %lld and time_axis %lld, want 0 and 1 or 1 and 0",
            (long long)p->batch_axis, (long long)p->time_axis);
    }
    return SC_OK;
}

static enum sc_status infer_reverse(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *in = infer->in[0];
    if (in->rank >= 0 && in->rank < 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the input has rank %d, want 2 or more", in->rank);
    }
    sc_infer_shape_of(infer, 0, in, in->type);
    return SC_OK;
}

static enum sc_status resolve_reverse(const struct sc_call *call)
{
    const struct params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *lengths = sc_call_in(call, 1);
    if (lengths->rank != 1 || lengths->dims[0] != in->dims[p->batch_axis]) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "sequence_lens does not have one entry per batch row");
    }
    for (int64_t b = 0; b < lengths->dims[0]; b++) {
        const int64_t n = sc_index_at(lengths, b);
        if (n < 0 || n > in->dims[p->time_axis]) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "sequence_lens has %lld, the time axis %lld",
                (long long)n, (long long)in->dims[p->time_axis]);
        }
    }
    return SC_OK;
}

static void run_reverse(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *lengths = sc_call_in(call, 1);
    const struct sc_tensor *out = sc_call_out(call, 0);
    const int64_t batch = p->batch_axis;
    const int64_t time = p->time_axis;
    const size_t bytes = sc_type_bytes(in->type);
    const int64_t inner = sc_dims_product(in->dims, 2, in->rank);
    for (int64_t b = 0; b < in->dims[batch]; b++) {
        const int64_t n = sc_index_at(lengths, b);
        for (int part = 0; part < 2; part++) { /* what is reversed, then the rest */
            const int64_t first = part == 0 ? (n > 0 ? n - 1 : 0) : n;
            struct sc_move move = {.bytes = bytes,
                .to = sc_at(out->data, b * out->strides[batch] + (part == 0 ? 0 : n) * out->strides[time], bytes),
                .from = sc_const_at(in->data, b * in->strides[batch] + first * in->strides[time], bytes)};
            sc_move_axis(&move, part == 0 ? n : in->dims[time] - n, out->strides[time],
                part == 0 ? -in->strides[time] : in->strides[time]);
            sc_move_axis(&move, inner, 1, 1);
            sc_move_run(&move, call->team);
        }
    }
}

#define DEPTH(op, version)                                                                                             \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .strided = 1,                \
        .params = params_depth, .infer = infer_depth, .run = run_depth                                                 \
    }
#define REVERSE(version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = "ReverseSequence", .since = (version), .flags = SC_OP_PURE, .params = params_reverse,    \
        .infer = infer_reverse, .resolve = resolve_reverse, .run = run_reverse                                         \
    }

const struct sc_op sc_ops_shape_depth[] = {
    DEPTH(DepthToSpace, 1),
    DEPTH(DepthToSpace, 11),
    DEPTH(DepthToSpace, 13),
    DEPTH(DepthToSpace, 28),
    DEPTH(SpaceToDepth, 1),
    DEPTH(SpaceToDepth, 13),
    DEPTH(SpaceToDepth, 28),
    REVERSE(10),
    REVERSE(28),
    {.name = NULL},
};
