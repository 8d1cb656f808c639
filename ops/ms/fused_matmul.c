/* SPDX-License-Identifier: Apache-2.0
 * FusedMatMul of com.microsoft: MatMul of turned operands, times a number. B is turned as it is packed or read, A by a
 * copy. */
#include <string.h>

#include "ops/nn/matmul.h"
#include "ops/nn/norm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

enum { TILE = 4096 }; /* results that are scaled at a time */

struct side {
    int64_t turned; /* the last two axes change places */
    int64_t batch_turned; /* before that, the first axis goes to the last but one */
};

struct params {
    struct side sides[2];
    float alpha;
};

static enum sc_status params_fused(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "transA", 0, &p->sides[0].turned));
    SC_TRY(sc_node_int(node, "transB", 0, &p->sides[1].turned));
    SC_TRY(sc_node_int(node, "transBatchA", 0, &p->sides[0].batch_turned));
    SC_TRY(sc_node_int(node, "transBatchB", 0, &p->sides[1].batch_turned));
    return sc_node_float(node, "alpha", 1.0F, &p->alpha);
}

/* Which axis stands where. A vector stays as it is. */
static void find_axes(const struct side *side, int rank, int axes[SC_MAX_RANK])
{
    const bool batch = side->batch_turned && rank > 2;
    for (int i = 0; i < rank; i++) {
        axes[i] = !batch || i == rank - 1 ? i : i == rank - 2 ? 0 : i + 1;
    }
    if (side->turned && rank > 1) {
        const int last = axes[rank - 1];
        axes[rank - 1] = axes[rank - 2];
        axes[rank - 2] = last;
    }
}

static bool moves(const struct side *side, int rank)
{
    return (side->turned && rank > 1) || (side->batch_turned && rank > 2);
}

static struct sc_fact turn_fact(const struct side *side, const struct sc_fact *fact)
{
    struct sc_fact turned = *fact;
    int axes[SC_MAX_RANK];
    find_axes(side, fact->rank > 0 ? fact->rank : 0, axes);
    for (int d = 0; d < fact->rank; d++) {
        turned.dims[d] = fact->dims[axes[d]];
    }
    return turned;
}

static struct sc_tensor turn_tensor(const struct side *side, const struct sc_tensor *tensor)
{
    struct sc_tensor turned = *tensor;
    int axes[SC_MAX_RANK];
    find_axes(side, tensor->rank, axes);
    for (int d = 0; d < tensor->rank; d++) {
        turned.dims[d] = tensor->dims[axes[d]];
        turned.strides[d] = tensor->strides[axes[d]];
    }
    return turned;
}

static enum sc_status infer_fused(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact a = turn_fact(&p->sides[0], infer->in[0]), b = turn_fact(&p->sides[1], infer->in[1]);
    const struct sc_fact *const in[2] = {&a, &b};
    struct sc_infer turned = *infer;
    turned.in = in;
    return sc_matmul_infer(&turned);
}

static enum sc_status prepare_fused(struct sc_prepare *prepare)
{
    const struct params *p = prepare->params;
    const struct sc_fact b = turn_fact(&p->sides[1], prepare->in[1]);
    return sc_matmul_prepare(prepare, &b);
}

static void pack_fused(const struct sc_pack *pack)
{
    const struct params *p = pack->prepare->params;
    const struct sc_tensor b = turn_tensor(&p->sides[1], pack->weight);
    sc_matmul_pack(pack, &b);
}

/* MatMul's call: A dense, B by strides. */
struct job {
    struct sc_call call;
    struct sc_value a, b;
    const struct sc_value *in[2];
    size_t a_bytes; /* of the scratch */
};

static void open_job(const struct sc_call *call, struct job *job)
{
    const struct params *p = call->params;
    job->call = *call;
    job->a = *call->in[0];
    job->b = *call->in[1];
    job->b.u.tensor = turn_tensor(&p->sides[1], &call->in[1]->u.tensor);
    job->a_bytes = 0;
    if (moves(&p->sides[0], call->in[0]->u.tensor.rank)) {
        const struct sc_tensor from = turn_tensor(&p->sides[0], &call->in[0]->u.tensor);
        sc_tensor_init(&job->a.u.tensor, from.type, from.rank, from.dims);
        job->a.u.tensor.data = call->scratch;
        job->a_bytes = sc_room_round(sc_tensor_bytes(&from));
        job->call.scratch = call->scratch ? (char *)call->scratch + job->a_bytes : NULL;
    }
    job->in[0] = &job->a;
    job->in[1] = &job->b;
    job->call.in = job->in;
}

static size_t scratch_fused(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    return job.a_bytes + sc_matmul_scratch(&job.call);
}

static void copy_a(const struct sc_call *call, const struct job *job)
{
    const struct params *p = call->params;
    const struct sc_tensor from = turn_tensor(&p->sides[0], &call->in[0]->u.tensor);
    struct sc_move move = {.bytes = sc_type_bytes(from.type), .to = job->a.u.tensor.data, .from = from.data};
    for (int d = 0; d < from.rank; d++) {
        sc_move_axis(&move, from.dims[d], job->a.u.tensor.strides[d], from.strides[d]);
    }
    sc_move_run(&move, call->team);
}

static void scale_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct sc_call *call = arg;
    const float alpha = ((const struct params *)call->params)->alpha;
    const struct sc_tensor *y = sc_call_out(call, 0);
    const int64_t left = sc_tensor_count(y) - part * TILE, n = left < TILE ? left : TILE;
    void *at = sc_at(y->data, part * TILE, sc_type_bytes(y->type));
    if (y->type == SC_F64) {
        for (int64_t i = 0; i < n; i++) {
            ((double *)at)[i] *= (double)alpha;
        }
        return;
    }
    float room[TILE];
    const float *x = sc_norm_widen(call->kernels, y->type, at, room, n);
    float *scaled = y->type == SC_F32 ? at : room;
    call->kernels->scale(x, alpha, scaled, n);
    sc_norm_narrow(call->kernels, y->type, scaled, at, n);
}

static void run_fused(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct job job;
    open_job(call, &job);
    if (job.a_bytes > 0) {
        copy_a(call, &job);
    }
    sc_matmul_run(&job.call);
    if (p->alpha != 1.0F && sc_tensor_count(sc_call_out(call, 0)) > 0) {
        struct sc_call scaled = *call;
        sc_team_for(call->team, sc_parts(sc_tensor_count(sc_call_out(call, 0)), TILE), scale_part, &scaled);
    }
}

static void cost_fused(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct params *p = infer->params;
    const struct sc_fact a = turn_fact(&p->sides[0], infer->in[0]), b = turn_fact(&p->sides[1], infer->in[1]);
    const struct sc_fact *const in[2] = {&a, &b};
    struct sc_infer turned = *infer;
    turned.in = in;
    sc_matmul_cost(&turned, cost);
}

const struct sc_op sc_ops_ms_fused_matmul[] = {
    {.domain = "com.microsoft",
        .name = "FusedMatMul",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .strided = 2,
        .params = params_fused,
        .infer = infer_fused,
        .prepare = prepare_fused,
        .pack = pack_fused,
        .scratch = scratch_fused,
        .run = run_fused,
        .cost = cost_fused},
    {.name = NULL},
};
