/* SPDX-License-Identifier: Apache-2.0
 * Gelu and its relatives of com.microsoft: an optional bias, then one function of each element. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/shape/shape.h"

enum kind { TANH, ERF, SIGMOID };
enum { TILE = 4096 };

struct params {
    enum kind kind;
    float alpha; /* SIGMOID: x * sigmoid(alpha * x) */
};

static enum sc_status params_gelu(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->kind = node->op[0] == 'F' ? TANH : node->op[0] == 'Q' ? SIGMOID : ERF;
    return sc_node_float(node, "alpha", 1.702F, &p->alpha);
}

static enum sc_status infer_gelu(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *bias = sc_infer_in(infer, 1);
    sc_infer_shape_of(infer, 0, x, x->type);
    if (!bias || bias->rank < 0 || x->rank < 0) {
        return SC_OK;
    }
    const int64_t row = x->rank > 0 ? x->dims[x->rank - 1] : 1;
    if (bias->rank != 1 || (bias->dims[0] >= 0 && row >= 0 && bias->dims[0] != row)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "the bias does not have %lld entries", (long long)row);
    }
    return SC_OK;
}

struct job {
    const struct sc_call *call;
    const struct params *p;
    const struct sc_tensor *x, *y, *bias;
    int64_t row, tiles; /* elements of a row; tiles in it */
};

static size_t scratch_gelu(const struct sc_call *call)
{
    return 2 * TILE * sizeof(float) * (size_t)sc_team_size(call->team);
}

static void gelu_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_kernels *k = job->call->kernels;
    const enum sc_type type = job->x->type;
    const size_t bytes = sc_type_bytes(type);
    float *room = (float *)job->call->scratch + (size_t)worker * 2 * TILE;
    const int64_t first = part % job->tiles * TILE;
    const int64_t n = job->row - first < TILE ? job->row - first : TILE;
    const int64_t at = part / job->tiles * job->row + first;
    const float *x = sc_norm_widen(k, type, sc_const_at(job->x->data, at, bytes), room, n);
    if (job->bias) {
        const float *bias = sc_norm_widen(k, type, sc_const_at(job->bias->data, first, bytes), room + TILE, n);
        k->binary[SC_BINARY_add](x, 1, bias, 1, room, n);
        x = room;
    }
    float *y = type == SC_F32 ? (float *)job->y->data + at : room + TILE;
    switch (job->p->kind) {
    case TANH:
        k->unary[SC_UNARY_gelu_tanh](x, y, n);
        break;
    case ERF:
        k->unary[SC_UNARY_gelu_erf](x, y, n);
        break;
    case SIGMOID:
        if (x != room) {
            memcpy(room, x, (size_t)n * sizeof(float));
        }
        k->scale(room, job->p->alpha, y, n);
        k->unary[SC_UNARY_sigmoid](y, y, n);
        k->binary[SC_BINARY_mul](y, 1, room, 1, y, n);
        break;
    }
    sc_norm_narrow(k, type, y, sc_at(job->y->data, at, bytes), n);
}

static void run_gelu(const struct sc_call *call)
{
    struct job job = {.call = call,
        .p = call->params,
        .x = sc_call_in(call, 0),
        .y = sc_call_out(call, 0),
        .bias = sc_call_in(call, 1)};
    const int64_t count = sc_tensor_count(job.x);
    if (count == 0) {
        return;
    }
    job.row = job.bias ? job.bias->dims[0] : count;
    job.tiles = sc_parts(job.row, TILE);
    sc_team_for(call->team, count / job.row * job.tiles, gelu_part, &job);
}

#define MS(op)                                                                                                         \
    {                                                                                                                  \
        .domain = "com.microsoft", .name = #op, .since = 1, .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,        \
        .params = params_gelu, .infer = infer_gelu, .scratch = scratch_gelu, .run = run_gelu                           \
    }

const struct sc_op sc_ops_ms_gelu[] = {MS(FastGelu), MS(BiasGelu), MS(Gelu), MS(QuickGelu), {.name = NULL}};
