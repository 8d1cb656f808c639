/* SPDX-License-Identifier: Apache-2.0
 * Expert after expert: its rows are put together, multiplied, and added to their sums. */
#include <math.h>
#include <string.h>

#include "ops/ms/moe.h"
#include "ops/nn/norm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

enum { TILE = 256 }; /* elements that an activation takes at a time */

struct rooms {
    struct sc_moe_routes routes;
    char *route;
    float *x, *gates, *factors; /* of one expert's rows: input, what FC1 and FC3 give */
    float *middle, *out; /* FC2's input, what it gives */
    float *sums; /* [rows, hidden] */
    char *workers;
    size_t bytes;
};

/* A bias as floats. */
static size_t worker_bytes(const struct sc_moe *moe)
{
    const struct sc_moe_sizes *s = &moe->sizes;
    const int64_t widest = s->N[SC_MOE_FC1] > s->hidden ? s->N[SC_MOE_FC1] : s->hidden;
    return sc_room_round((size_t)widest * sizeof(float));
}

static struct rooms cut_rooms(const struct sc_moe *moe, char *base)
{
    const struct sc_moe_sizes *s = &moe->sizes;
    const size_t choices = (size_t)(s->rows * moe->params->k), rows = (size_t)s->rows * sizeof(float);
    struct rooms r = {0};
    struct sc_room room = {.at = base};
    r.routes.experts = sc_room_bytes(&room, choices * sizeof(int32_t));
    r.routes.weights = sc_room_bytes(&room, choices * sizeof(float));
    r.routes.order = sc_room_bytes(&room, choices * sizeof(int32_t));
    r.routes.first = sc_room_bytes(&room, (size_t)(s->experts + 1) * sizeof(int32_t));
    r.route = sc_room_bytes(&room, sc_moe_route_bytes(moe));
    r.x = sc_room_bytes(&room, rows * (size_t)s->hidden);
    r.gates = sc_room_bytes(&room, rows * (size_t)s->N[SC_MOE_FC1]);
    r.factors = sc_room_bytes(&room, s->has[SC_MOE_FC3] ? rows * (size_t)s->inter : 0);
    r.middle = sc_room_bytes(&room, rows * (size_t)s->inter);
    r.out = sc_room_bytes(&room, rows * (size_t)s->hidden);
    r.sums = moe->type == SC_F32 ? moe->y : sc_room_bytes(&room, rows * (size_t)s->hidden);
    r.workers = sc_room_bytes(&room, worker_bytes(moe) * (size_t)sc_team_size(moe->team));
    r.bytes = room.used;
    return r;
}

size_t sc_moe_scratch_bytes(const struct sc_moe *moe)
{
    return cut_rooms(moe, NULL).bytes;
}

struct job {
    const struct sc_moe *moe;
    const struct rooms *rooms;
    int64_t expert;
    const int32_t *choices; /* of this expert */
};

static float *room_of(const struct job *job, int worker)
{
    return (float *)(void *)(job->rooms->workers + worker_bytes(job->moe) * (size_t)worker);
}

static void gather_part(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_moe *moe = job->moe;
    const int64_t hidden = moe->sizes.hidden, row = job->choices[i] / moe->params->k;
    float *to = job->rooms->x + i * hidden;
    const void *from = sc_const_at(moe->x, row * hidden, sc_type_bytes(moe->type));
    if (moe->type == SC_F32) {
        memcpy(to, from, (size_t)hidden * sizeof(float));
    } else {
        (void)sc_norm_widen(moe->kernels, moe->type, from, to, hidden);
    }
}

static void add_bias(const struct job *job, enum sc_moe_layer layer, float *row, float *room)
{
    const struct sc_moe *moe = job->moe;
    const int64_t N = moe->sizes.N[layer];
    if (moe->bias[layer]) {
        const void *bias = sc_const_at(moe->bias[layer], job->expert * N, sc_type_bytes(moe->type));
        moe->kernels->binary[SC_BINARY_add](row, 1, sc_norm_widen(moe->kernels, moe->type, bias, room, N), 1, row, N);
    }
}

static void clamp(const struct sc_kernels *k, float low, float high, float *x, int64_t n)
{
    if (high < INFINITY) {
        k->binary[SC_BINARY_min](x, 1, &high, 0, x, n);
        k->binary[SC_BINARY_max](x, 1, &low, 0, x, n);
    }
}

/* Of at most TILE gates, in place. */
static void activate(const struct sc_moe *moe, float *gate, int64_t n)
{
    static const enum sc_unary_f32 plain[SC_MOE_ACTIVATIONS] = {[SC_MOE_RELU] = SC_UNARY_relu,
        [SC_MOE_RELU2] = SC_UNARY_relu,
        [SC_MOE_GELU] = SC_UNARY_gelu_tanh,
        [SC_MOE_SILU] = SC_UNARY_silu,
        [SC_MOE_GEGLU] = SC_UNARY_gelu_tanh};
    const struct sc_moe_params *p = moe->params;
    const struct sc_kernels *k = moe->kernels;
    float room[TILE];
    if (p->activation == SC_MOE_SWIGLU) {
        if (!p->limit_after) {
            clamp(k, -INFINITY, p->limit, gate, n);
        }
        k->scale(gate, p->alpha, room, n);
        k->unary[SC_UNARY_sigmoid](room, room, n);
        k->binary[SC_BINARY_mul](gate, 1, room, 1, gate, n);
        if (p->limit_after) {
            clamp(k, -INFINITY, p->limit, gate, n);
        }
    } else if (p->activation != SC_MOE_IDENTITY) {
        k->unary[plain[p->activation]](gate, gate, n);
    }
    if (p->activation == SC_MOE_RELU2) {
        k->binary[SC_BINARY_mul](gate, 1, gate, 1, gate, n);
    }
}

/* gate *= factor, as the activation has it. */
static void apply_factor(const struct sc_moe *moe, float *gate, float *factor, int64_t n)
{
    const struct sc_moe_params *p = moe->params;
    const struct sc_kernels *k = moe->kernels;
    if (p->activation == SC_MOE_SWIGLU) {
        clamp(k, -p->limit, p->limit, factor, n);
        k->binary[SC_BINARY_add](factor, 1, &p->beta, 0, factor, n);
    }
    k->binary[SC_BINARY_mul](gate, 1, factor, 1, gate, n);
}

/* A row of FC1's results, and of FC3's, becomes one of FC2's input. */
static void middle_part(void *arg, int64_t i, int worker)
{
    const struct job *job = arg;
    const struct sc_moe *moe = job->moe;
    const struct sc_moe_sizes *s = &moe->sizes;
    const int64_t fusion = moe->params->fusion;
    float *gates = job->rooms->gates + i * s->N[SC_MOE_FC1], *to = job->rooms->middle + i * s->inter;
    float *factors = s->has[SC_MOE_FC3] ? job->rooms->factors + i * s->inter : fusion == 2 ? gates + s->inter : NULL;
    float *room = room_of(job, worker);
    add_bias(job, SC_MOE_FC1, gates, room);
    if (s->has[SC_MOE_FC3]) {
        add_bias(job, SC_MOE_FC3, factors, room);
    }
    for (int64_t first = 0; first < s->inter; first += TILE) {
        const int64_t n = s->inter - first < TILE ? s->inter - first : TILE;
        float turns[TILE], *factor = fusion == 1 ? turns : factors ? factors + first : NULL;
        for (int64_t j = 0; fusion == 1 && j < n; j++) {
            to[first + j] = gates[2 * (first + j)];
            turns[j] = gates[2 * (first + j) + 1];
        }
        if (fusion != 1) {
            memcpy(to + first, gates + first, (size_t)n * sizeof(float));
        }
        activate(moe, to + first, n);
        if (factor) {
            apply_factor(moe, to + first, factor, n);
        }
    }
}

static void add_part(void *arg, int64_t i, int worker)
{
    const struct job *job = arg;
    const struct sc_moe *moe = job->moe;
    const int64_t hidden = moe->sizes.hidden, row = job->choices[i] / moe->params->k;
    float *out = job->rooms->out + i * hidden;
    add_bias(job, SC_MOE_FC2, out, room_of(job, worker));
    moe->kernels->axpy(job->rooms->routes.weights[job->choices[i]], out, job->rooms->sums + row * hidden, hidden);
}

static void round_part(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_moe *moe = job->moe;
    const int64_t hidden = moe->sizes.hidden;
    sc_norm_narrow(moe->kernels, moe->type, job->rooms->sums + row * hidden,
        sc_at(moe->y, row * hidden, sc_type_bytes(moe->type)), hidden);
}

static void run_expert(struct job *job, int64_t M)
{
    const struct sc_moe *moe = job->moe;
    const struct rooms *r = job->rooms;
    sc_team_for(moe->team, M, gather_part, job);
    moe->multiply(moe->arg, job->expert, SC_MOE_FC1, M, r->x, r->gates);
    if (moe->sizes.has[SC_MOE_FC3]) {
        moe->multiply(moe->arg, job->expert, SC_MOE_FC3, M, r->x, r->factors);
    }
    sc_team_for(moe->team, M, middle_part, job);
    moe->multiply(moe->arg, job->expert, SC_MOE_FC2, M, r->middle, r->out);
    sc_team_for(moe->team, M, add_part, job);
}

int64_t sc_moe_run(const struct sc_moe *moe, void *scratch)
{
    const struct sc_moe_sizes *s = &moe->sizes;
    const struct rooms rooms = cut_rooms(moe, scratch);
    const int64_t count = s->rows * s->hidden;
    int64_t n = 0;
    if (count == 0) {
        return n;
    }
    sc_moe_route(moe, &rooms.routes, rooms.route);
    memset(rooms.sums, 0, (size_t)count * sizeof(float));
    for (int64_t e = 0; e < s->experts; e++) {
        const int32_t *first = rooms.routes.first + e;
        struct job job = {moe, &rooms, e, rooms.routes.order + first[0]};
        if (first[1] > first[0]) {
            run_expert(&job, first[1] - first[0]);
            n++;
        }
    }
    if (moe->type != SC_F32) {
        struct job job = {moe, &rooms, 0, NULL};
        sc_team_for(moe->team, s->rows, round_part, &job);
    }
    return n;
}

void sc_moe_count_read(const struct sc_call *call, const struct sc_moe_sizes *sizes, int64_t n_experts)
{
    if (call->read_packed_bytes && sizes->experts > 0) {
        *call->read_packed_bytes = *call->read_packed_bytes / (size_t)sizes->experts * (size_t)n_experts;
    }
}

struct sc_moe sc_moe_open(const struct sc_call *call, const struct sc_moe_kind *kind)
{
    const struct sc_tensor *x = sc_call_in(call, 0);
    struct sc_moe moe = {.params = call->params,
        .sizes = sc_moe_call_sizes(call, call->params, kind),
        .kernels = call->kernels,
        .team = call->team,
        .type = x->type,
        .x = x->data,
        .router = sc_call_in(call, 1)->data,
        .y = sc_call_out(call, 0)->data};
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        const struct sc_tensor *bias = sc_call_in(call, kind->ports[layer].bias);
        moe.bias[layer] = bias ? bias->data : NULL;
    }
    return moe;
}
