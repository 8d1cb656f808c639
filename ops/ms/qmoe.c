/* SPDX-License-Identifier: Apache-2.0
 * QMoE of com.microsoft: experts of 2, 4 or 8 bits, which stay codes in memory, with a scale for each column or block
 * of it. Everything else is f32, rounded once at the end. */
#include <string.h>

#include "ops/ms/qmoe_whole.h"
#include "ops/quant/nbits.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

enum { ROUTER_WEIGHTS = 14, N_IN = 21, COLUMN_BLOCK = 32 /* a piece of a column that has one scale */ };

static const char *const names[SC_MOE_LAYERS][3] = {{"fc1_experts_weights", "fc1_scales", "fc1_zero_points"},
    {"fc2_experts_weights", "fc2_scales", "fc2_zero_points"}, {"fc3_experts_weights", "fc3_scales", "fc3_zero_points"}};

/* An expert's matrix, without its content. */
static struct sc_blocks blocks_of(const struct sc_moe_params *p, int layer, int64_t N, int64_t K)
{
    const int64_t block = p->block > 0 ? p->block : COLUMN_BLOCK, blocks = (K + block - 1) / block;
    return (struct sc_blocks){.bits = (int)p->bits[layer],
        .rows = N,
        .width = K,
        .block = block,
        .blocks = blocks,
        .by_row = p->block == 0,
        .row_bytes = (size_t)(K * p->bits[layer] / 8),
        .zero = (float)(1 << (p->bits[layer] - 1)),
        .zeros_type = p->zeros[layer] ? SC_U8 : SC_TYPE_NONE,
        .zeros_row_bytes = (size_t)((blocks * p->bits[layer] + 7) / 8)};
}

static size_t expert_bytes(const struct sc_moe_params *p, enum sc_type type, const struct sc_moe_sizes *s, int layer)
{
    (void)type;
    const struct sc_blocks blocks = blocks_of(p, layer, s->N[layer], s->K[layer]);
    return sc_room_round(sc_nbits_packed_bytes(&blocks));
}

static const struct sc_moe_kind kind = {
    {[SC_MOE_FC1] = {2, 4, 3, 11}, [SC_MOE_FC2] = {5, 7, 6, 12}, [SC_MOE_FC3] = {8, 10, 9, 13}}, expert_bytes};

static enum sc_status read_bits(const struct sc_graph *graph, const struct sc_node *node, struct sc_moe_params *p)
{
    static const char *const own[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
    int64_t bits;
    SC_TRY(sc_node_int(node, "expert_weight_bits", 4, &bits));
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        SC_TRY(sc_node_int(node, own[layer], bits, &p->bits[layer]));
        if (p->bits[layer] != 2 && p->bits[layer] != 3 && p->bits[layer] != 4 && p->bits[layer] != 8) {
            return sc_node_fail(
                graph, node, SC_BAD_MODEL, "experts of %lld bits, want 2, 3, 4 or 8", (long long)p->bits[layer]);
        }
    }
    return SC_OK;
}

static enum sc_status params_qmoe(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_moe_params), params));
    struct sc_moe_params *p = *params;
    const char *quantised;
    int64_t prepacked;
    SC_TRY(sc_moe_params(graph, node, p));
    SC_TRY(read_bits(graph, node, p));
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        const int zeros = kind.ports[layer].zeros;
        p->zeros[layer] = zeros < node->n_in && node->in[zeros] >= 0;
    }
    SC_TRY(sc_node_int(node, "block_size", 0, &p->block));
    SC_TRY(sc_node_int(node, "accuracy_level", 0, &p->accuracy));
    SC_TRY(sc_node_int(node, "weights_prepacked", -1, &prepacked));
    SC_TRY(sc_node_text(node, "quant_type", "int", &quantised));
    if (prepacked == 1 && strcmp(quantised, "int") == 0) {
        return sc_node_fail(graph, node, SC_UNSUPPORTED, "weights in the layout of another device");
    }
    p->block = p->block < 0 ? 0 : p->block;
    if (p->block > 0 && (p->block < 16 || (p->block & (p->block - 1)) != 0 || p->block > 1 << 20)) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "block_size is %lld, want a power of two from 16 on", (long long)p->block);
    }
    return sc_qmoe_whole_params(graph, node, quantised, p);
}

/* Weights [experts, N, K * bits / 8]; scales and zero points by block, or by column. */
static enum sc_status check_layer(const struct sc_infer *infer, const struct sc_moe_sizes *s, int layer)
{
    const struct sc_moe_params *p = infer->params;
    const struct sc_moe_ports *at = &kind.ports[layer];
    const struct sc_fact *scales = sc_infer_in(infer, at->scales);
    const int64_t bits = p->bits[layer], N = s->N[layer], K = s->K[layer];
    if (p->floats) {
        return sc_qmoe_whole_check(infer, &kind, s, layer);
    }
    if (!s->has[layer] || !scales) {
        return s->has[layer] || scales ? sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s without %s",
                                             names[layer][s->has[layer] ? 0 : 1], names[layer][s->has[layer] ? 1 : 0])
                                       : SC_OK;
    }
    if (infer->in[at->weights]->type != SC_U8 || (scales->type != SC_F32 && sc_type_bytes(scales->type) != 2)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_UNSUPPORTED, "%s or %s of 8-bit floats", names[layer][0], names[layer][1]);
    }
    if (K >= 0 && (K * bits % 8 != 0 || (p->block > 0 && K % p->block != 0))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "%s has columns of %lld, which are not whole bytes and blocks", names[layer][0], (long long)K);
    }
    const int64_t blocks = K >= 0 && p->block > 0 ? K / p->block : SC_DIM_UNKNOWN;
    const int64_t weights[3] = {s->experts, N, K >= 0 ? K * bits / 8 : SC_DIM_UNKNOWN};
    const int64_t by_block[3] = {s->experts, N, blocks};
    const int64_t packed[3] = {s->experts, N, blocks >= 0 ? (blocks * bits + 7) / 8 : SC_DIM_UNKNOWN};
    const int64_t by_column[2] = {s->experts, N >= 0 ? (N * bits + 7) / 8 : SC_DIM_UNKNOWN};
    const int rank = p->block > 0 ? 3 : 2;
    SC_TRY(sc_infer_want(infer, at->weights, names[layer][0], 3, weights));
    SC_TRY(sc_infer_want(infer, at->scales, names[layer][1], rank, by_block));
    return sc_infer_want(infer, at->zeros, names[layer][2], rank, p->block > 0 ? packed : by_column);
}

static enum sc_status infer_qmoe(struct sc_infer *infer)
{
    const struct sc_moe_params *p = infer->params;
    static const char *const scales[] = {"fc1_global_scale", "fc2_global_scale", "fc1_act_scale", "fc2_act_scale",
        "fc1_act_block_scale", "fc2_act_block_scale"};
    struct sc_moe_sizes s;
    for (int i = ROUTER_WEIGHTS + (p->floats ? 3 : 1); i < N_IN; i++) {
        if (sc_infer_in(infer, i)) {
            return sc_node_fail(
                infer->graph, infer->node, SC_UNSUPPORTED, "%s is not supported", scales[i - ROUTER_WEIGHTS - 1]);
        }
    }
    SC_TRY(sc_moe_find_sizes(infer, p, &kind, &s));
    const int64_t router[2] = {s.rows, s.experts};
    SC_TRY(sc_infer_want(infer, ROUTER_WEIGHTS, "router_weights", 2, router));
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        SC_TRY(check_layer(infer, &s, layer));
    }
    return sc_infer_same(infer);
}

static enum sc_status prepare_qmoe(struct sc_prepare *prepare)
{
    const struct sc_moe_params *p = prepare->params;
    return p->whole ? SC_OK : sc_moe_prepare(prepare, &kind);
}

/* The matrix of an expert by the inputs of its layer, of which those may be missing that are packed or not given. */
static void put_content(struct sc_blocks *b, int64_t expert, const struct sc_tensor *weights,
    const struct sc_tensor *scales, const struct sc_tensor *zeros)
{
    const int64_t N = b->rows, zero_bytes = b->by_row ? (N * b->bits + 7) / 8 : N * (int64_t)b->zeros_row_bytes;
    if (weights) {
        b->data = sc_const_at(weights->data, expert * N * (int64_t)b->row_bytes, 1);
    }
    if (scales) {
        b->scale_type = scales->type;
        b->scales = sc_const_at(scales->data, expert * N * (b->by_row ? 1 : b->blocks), sc_type_bytes(scales->type));
    }
    if (zeros) {
        b->zeros = sc_const_at(zeros->data, expert * zero_bytes, 1);
    }
}

static void pack_qmoe(const struct sc_pack *pack)
{
    const struct sc_moe_params *p = pack->prepare->params;
    struct sc_moe_sizes s;
    const int layer = sc_moe_pack_layer(pack, &kind, &s);
    const struct sc_moe_ports *ports = &kind.ports[layer];
    struct sc_moe_place at = {p, &s, SC_U8, pack->prepare->choice, 0, layer};
    for (; at.expert < s.experts; at.expert++) {
        struct sc_blocks blocks = blocks_of(p, layer, s.N[layer], s.K[layer]);
        put_content(&blocks, at.expert, pack->input == ports->weights ? pack->weight : NULL,
            pack->input == ports->scales ? pack->weight : NULL, pack->input == ports->zeros ? pack->weight : NULL);
        sc_nbits_pack(&blocks, pack->team, (uint8_t *)pack->packed + sc_moe_packed_offset(&kind, &at));
    }
}

struct job {
    const struct sc_call *call;
    struct sc_moe moe;
    size_t product_bytes; /* of the scratch */
};

/* Where a row of the product goes. */
struct target {
    float *c;
    int64_t N;
};

static void put_row(void *arg, int64_t m, int64_t first, int64_t n, float *row)
{
    const struct target *target = arg;
    memcpy(target->c + m * target->N + first, row, (size_t)n * sizeof(float));
}

/* accuracy_level 4 lets rows be rounded to 8 bits, in the blocks of the weights. */
static bool is_coded(const struct sc_moe_params *p)
{
    return p->accuracy == 4 && p->block > 0 && p->block <= SC_CODED_BLOCK;
}

static struct sc_nbits describe(const struct job *job, int64_t expert, int layer)
{
    const struct sc_call *call = job->call;
    const struct sc_moe_params *p = job->moe.params;
    const struct sc_moe_sizes *s = &job->moe.sizes;
    const struct sc_moe_ports *ports = &kind.ports[layer];
    struct sc_nbits nbits = {.kernels = call->kernels,
        .M = s->rows,
        .blocks = blocks_of(p, layer, s->N[layer], s->K[layer]),
        .put = put_row};
    if (call->choice >> layer & 1) {
        const struct sc_moe_place at = {p, s, SC_U8, call->choice, expert, layer};
        nbits.packed = (const uint8_t *)call->packed + sc_moe_packed_offset(&kind, &at);
    } else {
        put_content(&nbits.blocks, expert, sc_call_in(call, ports->weights), sc_call_in(call, ports->scales),
            sc_call_in(call, ports->zeros));
    }
    return nbits;
}

static void multiply(void *arg, int64_t expert, enum sc_moe_layer layer, int64_t M, const float *a, float *c)
{
    const struct job *job = arg;
    struct sc_nbits nbits = describe(job, expert, layer);
    struct target target = {c, nbits.blocks.rows};
    nbits.M = M;
    nbits.a = a;
    nbits.arg = &target;
    nbits.scratch = job->call->scratch;
    (is_coded(job->moe.params) ? sc_nbits_coded_run : sc_nbits_wide_run)(&nbits, job->call->team);
}

static struct job open_job(const struct sc_call *call)
{
    const struct sc_moe_params *p = call->params;
    const struct sc_tensor *weights = sc_call_in(call, ROUTER_WEIGHTS);
    struct job job = {.call = call, .moe = sc_moe_open(call, &kind)};
    job.moe.weights = weights ? weights->data : NULL;
    job.moe.multiply = multiply;
    if (p->whole) {
        job.moe.multiply = sc_qmoe_whole_multiply;
        job.product_bytes = sc_qmoe_whole_scratch(&job.moe, sc_team_size(call->team));
    }
    for (int layer = 0; layer < SC_MOE_LAYERS && !p->whole; layer++) {
        if (job.moe.sizes.has[layer]) {
            const struct sc_nbits nbits = describe(&job, 0, layer);
            const size_t bytes =
                (is_coded(p) ? sc_nbits_coded_scratch : sc_nbits_wide_scratch)(&nbits, sc_team_size(call->team));
            job.product_bytes = bytes > job.product_bytes ? bytes : job.product_bytes;
        }
    }
    job.product_bytes = sc_room_round(job.product_bytes);
    return job;
}

static size_t scratch_qmoe(const struct sc_call *call)
{
    const struct job job = open_job(call);
    return job.product_bytes + sc_moe_scratch_bytes(&job.moe);
}

static void run_qmoe(const struct sc_call *call)
{
    struct job job = open_job(call);
    struct sc_qmoe_whole whole = {call, &kind, &job.moe};
    job.moe.arg = job.moe.multiply == multiply ? (void *)&job : (void *)&whole;
    sc_moe_count_read(call, &job.moe.sizes, sc_moe_run(&job.moe, (char *)call->scratch + job.product_bytes));
}

static void cost_qmoe(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_moe_params *p = infer->params;
    struct sc_moe_sizes s;
    double multiplies, weights;
    if (sc_moe_find_sizes(infer, p, &kind, &s) != SC_OK) {
        return;
    }
    const double bytes = (double)sc_type_bytes(infer->in[0]->type) * (double)s.rows;
    sc_moe_cost(&s, p->k, &multiplies, &weights);
    cost->operations = 2 * multiplies + 3 * weights;
    cost->read_bytes = weights * (double)p->bits[0] / 8 + bytes * (double)(s.hidden + s.experts);
    cost->written_bytes = bytes * (double)s.hidden;
}

const struct sc_op sc_ops_ms_qmoe[] = {
    {.domain = "com.microsoft",
        .name = "QMoE",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_qmoe,
        .infer = infer_qmoe,
        .prepare = prepare_qmoe,
        .pack = pack_qmoe,
        .scratch = scratch_qmoe,
        .resolve = sc_resolve_by_infer,
        .run = run_qmoe,
        .cost = cost_qmoe},
    {.name = NULL},
};
