/* SPDX-License-Identifier: Apache-2.0
 * MoE of com.microsoft: experts of f32, f16 or bf16. Each expert's matrix is packed on its own, so that those that
 * nobody chose are not touched. */
#include <string.h>

#include "ops/kernels/gemm.h"
#include "ops/ms/moe.h"
#include "ops/nn/norm.h"
#include "ops/nn/product.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

static size_t expert_bytes(const struct sc_moe_params *p, enum sc_type type, const struct sc_moe_sizes *s, int layer)
{
    (void)p;
    return sc_gemm_packed_bytes(type, s->K[layer], s->N[layer]);
}

static const struct sc_moe_kind kind = {
    {[SC_MOE_FC1] = {2, 3, -1, -1}, [SC_MOE_FC2] = {4, 5, -1, -1}, [SC_MOE_FC3] = {6, 7, -1, -1}}, expert_bytes};

static enum sc_status params_moe(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_moe_params), params));
    return sc_moe_params(graph, node, *params);
}

static enum sc_status infer_moe(struct sc_infer *infer)
{
    static const char *const names[] = {"fc1_experts_weights", "fc2_experts_weights", "fc3_experts_weights"};
    struct sc_moe_sizes s;
    SC_TRY(sc_moe_find_sizes(infer, infer->params, &kind, &s));
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        const int64_t weights[3] = {s.experts, s.N[layer], s.K[layer]};
        SC_TRY(sc_infer_want(infer, kind.ports[layer].weights, names[layer], 3, weights));
    }
    return sc_infer_same(infer);
}

static enum sc_status prepare_moe(struct sc_prepare *prepare)
{
    return sc_moe_prepare(prepare, &kind);
}

static void pack_moe(const struct sc_pack *pack)
{
    const struct sc_tensor *w = pack->weight;
    struct sc_moe_sizes s;
    const int layer = sc_moe_pack_layer(pack, &kind, &s);
    struct sc_moe_place at = {pack->prepare->params, &s, w->type, pack->prepare->choice, 0, layer};
    for (; at.expert < s.experts; at.expert++) {
        const struct sc_gemm_b b = {.type = w->type,
            .K = s.K[layer],
            .N = s.N[layer],
            .data = sc_const_at(w->data, at.expert * s.N[layer] * s.K[layer], sc_type_bytes(w->type)),
            .row_stride = 1,
            .column_stride = s.K[layer]};
        sc_gemm_pack(pack->prepare->kernels, pack->team, &b, (char *)pack->packed + sc_moe_packed_offset(&kind, &at));
    }
}

struct job {
    const struct sc_call *call;
    struct sc_moe moe;
    void *narrow_a, *narrow_c; /* of the type, where it is not f32 */
    void *product;
    size_t bytes; /* of scratch, without the experts' own */
};

static enum sc_product_way way_of(const struct sc_call *call, int layer)
{
    return call->choice >> layer & 1 ? SC_PRODUCT_PACKED : SC_PRODUCT_PACK;
}

static void multiply(void *arg, int64_t expert, enum sc_moe_layer layer, int64_t M, const float *a, float *c)
{
    const struct job *job = arg;
    const struct sc_call *call = job->call;
    const struct sc_moe_sizes *s = &job->moe.sizes;
    const enum sc_type type = job->moe.type;
    const struct sc_tensor *w = sc_call_in(call, kind.ports[layer].weights);
    const int64_t K = s->K[layer], N = s->N[layer];
    struct sc_product product = {.way = way_of(call, layer),
        .type = type,
        .M = M,
        .N = N,
        .K = K,
        .a = a,
        .a_stride = K,
        .b_row_stride = 1,
        .b_column_stride = K,
        .c = c};
    if (product.way == SC_PRODUCT_PACKED) {
        const struct sc_moe_place at = {job->moe.params, s, type, call->choice, expert, layer};
        product.packed = (const char *)call->packed + sc_moe_packed_offset(&kind, &at);
    } else {
        product.b = sc_const_at(w->data, expert * N * K, sc_type_bytes(type));
    }
    if (type != SC_F32) {
        sc_norm_narrow(call->kernels, type, a, job->narrow_a, M * K);
        product.a = job->narrow_a;
        product.c = job->narrow_c;
    }
    sc_product_run(&product, call->kernels, call->team, job->product);
    if (type != SC_F32) {
        (void)sc_norm_widen(call->kernels, type, product.c, c, M * N);
    }
}

static struct job open_job(const struct sc_call *call)
{
    struct job job = {.call = call, .moe = sc_moe_open(call, &kind)};
    const enum sc_type type = job.moe.type;
    const struct sc_moe_sizes *s = &job.moe.sizes;
    size_t product = 0;
    int64_t widest = 0;
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        const size_t bytes = s->has[layer] ? sc_product_scratch_bytes(way_of(call, layer), type, s->rows, s->N[layer],
                                                 s->K[layer], sc_team_size(call->team))
                                           : 0;
        product = bytes > product ? bytes : product;
        widest = s->N[layer] > widest ? s->N[layer] : widest;
    }
    struct sc_room room = {.at = call->scratch};
    const int64_t narrow = type == SC_F32 ? 0 : s->rows * widest;
    job.narrow_a = sc_room_take(&room, narrow, sc_type_bytes(type));
    job.narrow_c = sc_room_take(&room, narrow, sc_type_bytes(type));
    job.product = sc_room_take(&room, (int64_t)product, 1);
    job.bytes = room.used;
    job.moe.multiply = multiply;
    return job;
}

static size_t scratch_moe(const struct sc_call *call)
{
    const struct job job = open_job(call);
    return job.bytes + sc_moe_scratch_bytes(&job.moe);
}

static void run_moe(const struct sc_call *call)
{
    struct job job = open_job(call);
    job.moe.arg = &job;
    sc_moe_count_read(call, &job.moe.sizes, sc_moe_run(&job.moe, (char *)call->scratch + job.bytes));
}

static void cost_moe(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_moe_params *p = infer->params;
    struct sc_moe_sizes s;
    double multiplies, weights;
    if (sc_moe_find_sizes(infer, p, &kind, &s) != SC_OK) {
        return;
    }
    const double bytes = (double)sc_type_bytes(infer->in[0]->type);
    sc_moe_cost(&s, p->k, &multiplies, &weights);
    cost->operations = 2 * multiplies;
    cost->read_bytes = bytes * (weights + (double)s.rows * (double)(s.hidden + s.experts));
    cost->written_bytes = bytes * (double)s.rows * (double)s.hidden;
}

const struct sc_op sc_ops_ms_moe[] = {
    {.domain = "com.microsoft",
        .name = "MoE",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_moe,
        .infer = infer_moe,
        .prepare = prepare_moe,
        .pack = pack_moe,
        .scratch = scratch_moe,
        .resolve = sc_resolve_by_infer,
        .run = run_moe,
        .cost = cost_moe},
    {.name = NULL},
};
