/* SPDX-License-Identifier: Apache-2.0
 * RotaryEmbedding: each head's vector is rotated, pair by pair, by the angle of its position. */
#include "ops/nn/rotary.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/shape/shape.h"

struct params {
    int64_t heads, width; /* width: rotary_embedding_dim, 0 for the whole head */
    int64_t interleaved;
    int cos, sin, ids; /* which inputs they are: com.microsoft has positions first */
    bool microsoft;
};

static enum sc_status params_rotary(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "num_heads", 0, &p->heads));
    SC_TRY(sc_node_int(node, "rotary_embedding_dim", 0, &p->width));
    SC_TRY(sc_node_int(node, "interleaved", 0, &p->interleaved));
    p->microsoft = node->domain[0] != '\0';
    p->cos = p->microsoft ? 2 : 1;
    p->sin = p->cos + 1;
    p->ids = p->microsoft ? 1 : 3;
    /* com.microsoft's scale changes nothing in any kernel, and of a packed batch each token has its position as ever */
    if (p->heads < 0 || p->width < 0 || p->width % 2 != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "num_heads is %lld and rotary_embedding_dim %lld, want none below 0, and an even dim", (long long)p->heads,
            (long long)p->width);
    }
    return SC_OK;
}

/* Where the axes of X lie; dims may be unknown. */
struct layout {
    int64_t batch, heads, length, head_width, width;
};

static enum sc_status find_layout(const struct sc_infer *infer, const struct sc_fact *x, struct layout *l)
{
    const struct params *p = infer->params;
    if (x->rank != 3 && x->rank != 4) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d, want 3 or 4", x->rank);
    }
    l->batch = x->dims[0];
    if (x->rank == 4) {
        l->heads = x->dims[1];
        l->length = x->dims[2];
        l->head_width = x->dims[3];
    } else {
        const struct sc_fact *cache = sc_infer_in(infer, p->cos);
        const bool by_cache = p->microsoft && p->heads == 0 && cache && cache->rank == 2; /* heads are that wide */
        if (by_cache && cache->dims[1] > 0 && x->dims[2] >= 0 && x->dims[2] % (2 * cache->dims[1]) == 0) {
            l->heads = x->dims[2] / (2 * cache->dims[1]);
            l->length = x->dims[1];
            l->head_width = l->width = 2 * cache->dims[1];
            return SC_OK;
        }
        if (by_cache && (cache->dims[1] < 0 || x->dims[2] < 0)) {
            l->heads = l->head_width = l->width = SC_DIM_UNKNOWN;
            l->length = x->dims[1];
            return SC_OK;
        }
        if (p->heads == 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "X has rank 3, which needs num_heads");
        }
        if (x->dims[2] >= 0 && x->dims[2] % p->heads != 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "num_heads is %lld for an X of width %lld",
                (long long)p->heads, (long long)x->dims[2]);
        }
        l->heads = p->heads;
        l->length = x->dims[1];
        l->head_width = x->dims[2] >= 0 ? x->dims[2] / p->heads : SC_DIM_UNKNOWN;
    }
    l->width = p->width ? p->width : l->head_width;
    if (l->head_width >= 0 && (l->width > l->head_width || l->width % 2 != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL,
            "%lld of %lld elements of a head cannot be rotated", (long long)l->width, (long long)l->head_width);
    }
    return SC_OK;
}

static enum sc_status want_dim(
    const struct sc_infer *infer, const char *what, const struct sc_fact *fact, int axis, int64_t want)
{
    if (fact->dims[axis] >= 0 && want >= 0 && fact->dims[axis] != want) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s has the dim %lld at axis %d, want %lld", what,
            (long long)fact->dims[axis], axis, (long long)want);
    }
    return SC_OK;
}

static enum sc_status infer_rotary(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, p->microsoft ? 4 : 3));
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *ids = sc_infer_in(infer, p->ids);
    sc_infer_shape_of(infer, 0, x, x->type);
    if (x->rank < 0) {
        return SC_OK;
    }
    struct layout l;
    SC_TRY(find_layout(infer, x, &l));
    static const char *const names[2] = {"cos_cache", "sin_cache"};
    for (int i = 0; i < 2; i++) {
        const struct sc_fact *cache = infer->in[p->cos + i];
        const int rank = ids ? 2 : 3;
        if (cache->rank < 0) {
            continue;
        }
        if (cache->rank != rank) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "%s has rank %d, want %d", names[i], cache->rank, rank);
        }
        SC_TRY(want_dim(infer, names[i], cache, rank - 1, l.width >= 0 ? l.width / 2 : -1));
        if (!ids) {
            SC_TRY(want_dim(infer, names[i], cache, 0, l.batch));
            SC_TRY(want_dim(infer, names[i], cache, 1, l.length));
        }
    }
    const bool first_only = p->microsoft && ids && ids->rank == 1; /* of the first token */
    if (first_only) {
        return want_dim(infer, "position_ids", ids, 0, 1);
    }
    if (ids && ids->rank >= 0) {
        if (ids->rank != 2) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "position_ids has rank %d, want 2", ids->rank);
        }
        SC_TRY(want_dim(infer, "position_ids", ids, 0, l.batch));
        SC_TRY(want_dim(infer, "position_ids", ids, 1, l.length));
    }
    return SC_OK;
}

/* The position of token t; a single one is that of the first of each batch row. */
static int64_t position_of(const struct sc_tensor *ids, int64_t t, int64_t length)
{
    return ids->rank == 1 ? sc_index_at(ids, 0) + t % length : sc_index_at(ids, t);
}

/* Dims were checked by infer. */
static struct layout call_layout(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct sc_fact fact, tables;
    const struct sc_fact *in[4] = {NULL};
    sc_fact_of(&fact, call->in[0]);
    sc_fact_of_input(&tables, call->in[p->cos]);
    in[p->cos] = &tables;
    const struct sc_infer infer = {
        .graph = call->graph, .node = call->node, .params = call->params, .n_in = 4, .in = in};
    struct layout l = {0};
    (void)find_layout(&infer, &fact, &l);
    return l;
}

static enum sc_status resolve_rotary(const struct sc_call *call)
{
    const struct params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *ids = sc_call_in(call, p->ids);
    const int64_t cos_rows = sc_call_in(call, p->cos)->dims[0];
    const int64_t sin_rows = sc_call_in(call, p->sin)->dims[0];
    const int64_t rows = cos_rows < sin_rows ? cos_rows : sin_rows;
    const struct layout l = call_layout(call);
    for (int64_t i = 0, n = ids ? l.batch * l.length : 0; i < n; i++) {
        const int64_t id = position_of(ids, i, l.length);
        if (id < 0 || id >= rows) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "position %lld is outside of the cos and sin caches, which have %lld rows", (long long)id,
                (long long)rows);
        }
    }
    return SC_OK;
}

/* x[i0], x[i1] are element pairs; both angles' tables have width / 2 entries. */
static void rotate_f32(const float *x, const float *c, const float *s, float *y, int64_t width, bool interleaved)
{
    const int64_t half = width / 2;
    const int64_t step = interleaved ? 2 : 1;
    const int64_t other = interleaved ? 1 : half;
    for (int64_t i = 0; i < half; i++) {
        const float a = x[i * step];
        const float b = x[i * step + other];
        y[i * step] = c[i] * a - s[i] * b;
        y[i * step + other] = s[i] * a + c[i] * b;
    }
}

static void rotate_f64(const double *x, const double *c, const double *s, double *y, int64_t width, bool interleaved)
{
    const int64_t half = width / 2;
    const int64_t step = interleaved ? 2 : 1;
    const int64_t other = interleaved ? 1 : half;
    for (int64_t i = 0; i < half; i++) {
        const double a = x[i * step];
        const double b = x[i * step + other];
        y[i * step] = c[i] * a - s[i] * b;
        y[i * step + other] = s[i] * a + c[i] * b;
    }
}

struct job {
    const struct sc_call *call;
    struct layout l;
    const struct sc_tensor *x;
    int64_t tokens_per_part;
};

size_t sc_rotate_room_bytes(int64_t width)
{
    return ((size_t)width * 3 + 15) / 16 * 16 * sizeof(float);
}

void sc_rotate_head(const struct sc_rotation *r, const void *x, const void *c, const void *s, void *y, float *room)
{
    const struct sc_kernels *k = r->kernels;
    const enum sc_type type = r->type;
    const int64_t w = r->width;
    if (type == SC_F64) {
        rotate_f64(x, c, s, y, w, r->interleaved);
    } else if (type == SC_F32) {
        rotate_f32(x, c, s, y, w, r->interleaved);
    } else { /* widened; rounded once */
        const float *angles = sc_norm_widen(k, type, c, room + w, w / 2);
        (void)sc_norm_widen(k, type, s, room + w + w / 2, w / 2);
        const float *wide = sc_norm_widen(k, type, x, room, w);
        rotate_f32(wide, angles, angles + w / 2, room + 2 * w, w, r->interleaved);
        sc_norm_narrow(k, type, room + 2 * w, y, w);
    }
    const size_t bytes = sc_type_bytes(type);
    if (r->head_width > w) {
        memcpy(sc_at(y, w, bytes), sc_const_at(x, w, bytes), (size_t)(r->head_width - w) * bytes);
    }
}

static void rotate_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct layout *l = &job->l;
    const struct params *p = job->call->params;
    const struct sc_tensor *ids = sc_call_in(job->call, p->ids);
    const struct sc_tensor *c = sc_call_in(job->call, p->cos);
    const struct sc_tensor *s = sc_call_in(job->call, p->sin);
    const struct sc_tensor *y = sc_call_out(job->call, 0);
    const size_t bytes = sc_type_bytes(job->x->type);
    float *room = (float *)(void *)((char *)job->call->scratch + (size_t)worker * sc_rotate_room_bytes(l->width));
    const bool heads_first = job->x->rank == 4;
    const int64_t token_step = heads_first ? l->head_width : l->heads * l->head_width;
    const int64_t head_step = heads_first ? l->length * l->head_width : l->head_width;
    const struct sc_rotation r = {.kernels = job->call->kernels,
        .type = job->x->type,
        .width = l->width,
        .head_width = l->head_width,
        .interleaved = p->interleaved != 0};
    const int64_t first = part * job->tokens_per_part;
    for (int64_t t = first; t < first + job->tokens_per_part && t < l->batch * l->length; t++) {
        const int64_t row = (ids ? position_of(ids, t, l->length) : t) * (l->width / 2);
        const int64_t token = t / l->length * l->heads * l->length * l->head_width + t % l->length * token_step;
        for (int64_t h = 0; h < l->heads; h++) {
            const int64_t at = token + h * head_step;
            sc_rotate_head(&r, sc_const_at(job->x->data, at, bytes), sc_const_at(c->data, row, bytes),
                sc_const_at(s->data, row, bytes), sc_at(y->data, at, bytes), room);
        }
    }
}

static size_t scratch_rotary(const struct sc_call *call)
{
    return sc_rotate_room_bytes(call_layout(call).width) * (size_t)sc_team_size(call->team);
}

static void run_rotary(const struct sc_call *call)
{
    struct job job = {.call = call, .l = call_layout(call), .x = sc_call_in(call, 0)};
    if (sc_tensor_count(job.x) == 0) {
        return;
    }
    job.tokens_per_part = sc_parts(1 << 16, job.l.heads * job.l.head_width);
    sc_team_for(call->team, sc_parts(job.l.batch * job.l.length, job.tokens_per_part), rotate_part, &job);
}

const struct sc_op sc_ops_nn_rotary[] = {
    {.domain = "",
        .name = "RotaryEmbedding",
        .since = 23,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_rotary,
        .infer = infer_rotary,
        .resolve = resolve_rotary,
        .scratch = scratch_rotary,
        .run = run_rotary},
    {.domain = "com.microsoft",
        .name = "RotaryEmbedding",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_rotary,
        .infer = infer_rotary,
        .resolve = resolve_rotary,
        .scratch = scratch_rotary,
        .run = run_rotary},
    {.name = NULL},
};
