/* SPDX-License-Identifier: Apache-2.0
 * Queries and keys are normalised and rotated, then everything becomes one call of attention with caches. */
#include <string.h>

#include "ops/ms/cached.h"
#include "ops/ms/group_query.h"
#include "ops/nn/cache.h"
#include "ops/nn/norm.h"
#include "ops/nn/rotary.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

/* Scratch: spans, rotated Q and K, present caches that nobody asked for, rooms of workers, then the attention's. */
struct rooms {
    int64_t *start, *length;
    void *q, *k; /* [batch, n, heads, width]: normalised and rotated */
    void *present_k, *present_v;
    float *scales[2]; /* of keys and values that are quantised: [kv_heads, width] */
    float *sink; /* [q_heads] */
    char *rotate; /* rotate_bytes of each worker */
    void *rest;
    size_t bytes;
};

static bool has_sink(const struct sc_call *call)
{
    const struct sc_gqa_params *p = call->params;
    return sc_call_in(call, SC_GQA_SINK) || p->smooth > 0;
}

static bool has_norms(const struct sc_call *call)
{
    return sc_call_in(call, SC_GQA_Q_NORM) != NULL;
}

/* A worker's: the rotation's, a head, and the norm's. */
static size_t rotate_bytes(const struct sc_call *call, int64_t width)
{
    const size_t norm =
        has_norms(call) ? sc_room_round((size_t)width * sizeof(float)) + sc_norm_scratch_bytes(width, 1) : 0;
    return sc_room_round(sc_rotate_room_bytes(width)) + sc_room_round(norm);
}

static struct rooms cut_rooms(const struct sc_call *call, const struct sc_gqa_sizes *s, char *base)
{
    const struct sc_gqa_params *p = call->params;
    const size_t bytes = sc_type_bytes(sc_call_in(call, SC_GQA_QUERY)->type);
    const size_t row = (size_t)(s->batch * s->n * s->width) * bytes;
    const int64_t positions = s->past > s->total ? s->past : s->total;
    const size_t cache = (size_t)(s->batch * p->kv_heads * positions * s->cache_width) * sc_type_bytes(s->cache);
    struct rooms r = {0};
    struct sc_room room = {.at = base};
    r.start = sc_room_bytes(&room, (size_t)s->batch * sizeof(int64_t));
    r.length = sc_room_bytes(&room, (size_t)s->batch * sizeof(int64_t));
    if (p->rotary || has_norms(call)) {
        r.q = sc_room_bytes(&room, row * (size_t)p->q_heads);
        r.k = sc_room_bytes(&room, row * (size_t)p->kv_heads);
        r.rotate = sc_room_bytes(&room, rotate_bytes(call, s->width) * (size_t)sc_team_size(call->team));
    }
    if (has_sink(call)) {
        r.sink = sc_room_bytes(&room, (size_t)p->q_heads * sizeof(float));
    }
    if (sc_gqa_evicts(call, s)) {
        const size_t held =
            (size_t)(s->batch * p->kv_heads * (s->past + s->n) * s->cache_width) * sc_type_bytes(s->cache);
        r.present_k = sc_room_bytes(&room, held);
        r.present_v = sc_room_bytes(&room, held);
    } else if (!s->resident) {
        r.present_k = sc_call_out(call, 1) ? NULL : sc_room_bytes(&room, cache);
        r.present_v = sc_call_out(call, 2) ? NULL : sc_room_bytes(&room, cache);
    }
    for (int i = 0; i < 2 && p->bits > 0; i++) {
        r.scales[i] = sc_room_bytes(&room, (size_t)(p->kv_heads * s->width) * sizeof(float));
    }
    r.rest = sc_room_bytes(&room, 0);
    r.bytes = room.used;
    return r;
}

/* Element strides of one of Q, K, V: heads side by side in rows of `hidden`. */
static void set_strides(const struct sc_gqa_sizes *s, int64_t hidden, int64_t strides[4])
{
    sc_cached_strides(strides, s->n * hidden, s->width, hidden);
}

static void describe(const struct sc_call *call, const struct sc_gqa_sizes *s, struct sc_cached_attention *c)
{
    const struct sc_gqa_params *p = call->params;
    const struct sc_tensor *query = sc_call_in(call, SC_GQA_QUERY);
    const struct sc_tensor *bias = sc_call_in(call, SC_GQA_BIAS);
    const size_t bytes = sc_type_bytes(query->type);
    const int64_t q_hidden = query->dims[2];
    const int64_t kv_hidden = s->packed ? q_hidden : p->kv_heads * s->width;
    memset(c, 0, sizeof(*c));
    struct sc_attention *a = &c->attention;
    *a = (struct sc_attention){.type = query->type,
        .v_type = query->type,
        .batch = s->batch,
        .q_heads = p->q_heads,
        .kv_heads = p->kv_heads,
        .n_q = s->n,
        .qk_width = s->width,
        .v_width = s->width,
        .q = query->data,
        .scale = sc_attention_scale(p->scale, s->width),
        .softcap = (double)p->softcap,
        .causal = p->causal != 0,
        .left_window = p->window > 0 ? p->window - 1 : -1,
        .right_window = -1,
        .y = sc_call_out(call, 0)->data,
        .tap = SC_TAP_NONE};
    const struct sc_tensor *scores = sc_call_out(call, 3);
    if (scores) {
        a->tap = p->qk_output == 1 ? SC_TAP_BIAS : SC_TAP_SOFTMAX;
        a->qk_out = scores->data;
        a->qk_length = scores->dims[3];
    }
    set_strides(s, q_hidden, a->q_strides);
    set_strides(s, p->q_heads * s->width, a->y_strides);
    set_strides(s, kv_hidden, c->k_strides);
    set_strides(s, kv_hidden, c->v_strides);
    c->n_new = s->n;
    c->k = s->packed ? sc_const_at(query->data, p->q_heads * s->width, bytes) : sc_call_in(call, SC_GQA_KEY)->data;
    c->v = s->packed ? sc_const_at(query->data, (p->q_heads + p->kv_heads) * s->width, bytes)
                     : sc_call_in(call, SC_GQA_VALUE)->data;
    if (bias) {
        a->bias = bias->data;
        a->bias_length = bias->dims[3];
        for (int i = 0; i < 4; i++) {
            a->bias_strides[i] = bias->dims[i] == 1 && i < 3 ? 0 : bias->strides[i];
        }
    }
    if (s->resident) {
        c->state_k = call->in[SC_GQA_PAST_K]->u.state;
        c->state_v = call->in[SC_GQA_PAST_V]->u.state;
        return;
    }
    c->past_k = sc_call_in(call, SC_GQA_PAST_K) ? sc_call_in(call, SC_GQA_PAST_K)->data : NULL;
    c->past_v = sc_call_in(call, SC_GQA_PAST_V) ? sc_call_in(call, SC_GQA_PAST_V)->data : NULL;
    c->past_room = s->past;
    c->present_room = sc_gqa_evicts(call, s) ? s->past + s->n : s->past > s->total ? s->past : s->total;
}

/* What quantised caches hold. */
static void set_codes(const struct sc_call *call, const struct sc_gqa_sizes *s, float *const scales[2],
    struct sc_cache_codes codes[2], struct sc_attention *a)
{
    const struct sc_gqa_params *p = call->params;
    for (int i = 0; i < 2 && p->bits > 0; i++) {
        codes[i] = (struct sc_cache_codes){.type = s->cache, .width = s->width, .scales = scales[i]};
        *(i == 0 ? &a->k_codes : &a->v_codes) = &codes[i];
    }
}

size_t sc_gqa_scratch(const struct sc_call *call)
{
    struct sc_cache_codes codes[2];
    struct sc_cached_attention c;
    const struct sc_gqa_sizes s = sc_gqa_call_sizes(call, false);
    struct sc_gqa_sizes bound = s; /* total is data: the present's dims tell it here, or what a cache can hold */
    const struct sc_tensor *present = sc_call_out(call, 1) ? sc_call_out(call, 1) : sc_call_out(call, 2);
    bound.total = s.resident ? s.past : present ? present->dims[2] : s.past + s.n;
    describe(call, &bound, &c);
    const struct rooms rooms = cut_rooms(call, &bound, NULL);
    set_codes(call, &bound, rooms.scales, codes, &c.attention);
    return rooms.bytes + sc_cached_scratch_bytes(&c, c.state_k ? s.past : c.present_room, sc_team_size(call->team));
}

struct turn {
    const struct sc_call *call;
    const struct sc_gqa_sizes *s;
    struct sc_cached_attention *c;
    const struct rooms *rooms;
};

/* Heads of one token, side by side. */
struct heads {
    int64_t n;
    const void *from;
    void *to;
    const struct sc_tensor *norm; /* its scale; NULL: none */
    float epsilon;
};

static void turn_heads(const struct turn *job, const struct heads *h, int64_t position, char *room)
{
    const struct sc_call *call = job->call;
    const struct sc_gqa_params *p = call->params;
    const struct sc_tensor *cosines = sc_call_in(call, SC_GQA_COS), *sines = sc_call_in(call, SC_GQA_SIN);
    const enum sc_type type = job->c->attention.type;
    const size_t bytes = sc_type_bytes(type), head_bytes = (size_t)job->s->width * bytes;
    float *rotation = (float *)(void *)room;
    char *head = room + sc_room_round(sc_rotate_room_bytes(job->s->width));
    if (h->norm) {
        const struct sc_norm norm = {.kernels = call->kernels,
            .type = type,
            .out_type = type,
            .rows = h->n,
            .n = job->s->width,
            .x = h->from,
            .y = h->to,
            .epsilon = h->epsilon,
            .scale = h->norm->data,
            .scratch = head + sc_room_round((size_t)job->s->width * sizeof(float))};
        sc_norm_run(&norm, NULL);
    }
    if (!p->rotary) {
        return;
    }
    const struct sc_rotation r = {.kernels = call->kernels,
        .type = type,
        .width = 2 * cosines->dims[1],
        .head_width = job->s->width,
        .interleaved = p->interleaved != 0};
    for (int64_t i = 0; i < h->n; i++) {
        char *to = (char *)h->to + (size_t)i * head_bytes;
        const void *from = (const char *)h->from + (size_t)i * head_bytes;
        if (h->norm) {
            from = memcpy(head, to, head_bytes);
        }
        sc_rotate_head(&r, from, sc_const_at(cosines->data, position * cosines->dims[1], bytes),
            sc_const_at(sines->data, position * cosines->dims[1], bytes), to, rotation);
    }
}

/* Of padding the position may be any that there is. */
static int64_t position_of(const struct turn *job, int64_t token)
{
    const struct sc_tensor *cosines = sc_call_in(job->call, SC_GQA_COS), *sines = sc_call_in(job->call, SC_GQA_SIN);
    const struct sc_tensor *positions = sc_call_in(job->call, SC_GQA_POSITIONS);
    const int64_t b = token / job->s->n, i = token % job->s->n;
    if (!cosines || !sines) {
        return 0;
    }
    const int64_t position = positions ? sc_index_at(positions, token) : job->rooms->start[b] + i;
    const int64_t rows = cosines->dims[0] < sines->dims[0] ? cosines->dims[0] : sines->dims[0];
    return position < 0 ? 0 : position < rows ? position : rows - 1;
}

static void turn_part(void *arg, int64_t token, int worker)
{
    const struct turn *job = arg;
    const struct sc_call *call = job->call;
    const struct sc_gqa_params *p = call->params;
    const struct sc_gqa_sizes *s = job->s;
    const struct sc_attention *a = &job->c->attention;
    const size_t bytes = sc_type_bytes(a->type);
    char *room = job->rooms->rotate + (size_t)worker * rotate_bytes(call, s->width);
    const int64_t b = token / s->n, i = token % s->n, position = position_of(job, token);
    const struct heads q = {p->q_heads, sc_const_at(a->q, b * a->q_strides[0] + i * a->q_strides[2], bytes),
        sc_at(job->rooms->q, token * p->q_heads * s->width, bytes), sc_call_in(call, SC_GQA_Q_NORM), p->q_epsilon};
    const struct heads k = {p->kv_heads,
        sc_const_at(job->c->k, b * job->c->k_strides[0] + i * job->c->k_strides[2], bytes),
        sc_at(job->rooms->k, token * p->kv_heads * s->width, bytes), sc_call_in(call, SC_GQA_K_NORM), p->k_epsilon};
    turn_heads(job, &q, position, room);
    turn_heads(job, &k, position, room);
}

static void turn_all(
    const struct sc_call *call, const struct sc_gqa_sizes *s, struct sc_cached_attention *c, const struct rooms *rooms)
{
    const struct sc_gqa_params *p = call->params;
    struct turn job = {call, s, c, rooms};
    sc_team_for(call->team, s->batch * s->n, turn_part, &job);
    c->attention.q = rooms->q;
    c->k = rooms->k;
    set_strides(s, p->q_heads * s->width, c->attention.q_strides);
    set_strides(s, p->kv_heads * s->width, c->k_strides);
}

/* Scores of keys that a query does not see are 0 in output_qk, as ONNX Runtime has them. */
static void clear_hidden(const struct sc_cached_attention *c, const int64_t *start, const int64_t *length)
{
    const struct sc_attention *a = &c->attention;
    const size_t bytes = sc_type_bytes(a->type);
    const int64_t rows = a->q_heads * a->n_q;
    for (int64_t r = 0; r < a->batch * rows; r++) {
        const int64_t position = start[r / rows] + r % a->n_q;
        const int64_t to = a->causal && position + 1 < length[r / rows] ? position + 1 : length[r / rows];
        const int64_t from = a->left_window >= 0 && position > a->left_window ? position - a->left_window : 0;
        memset(sc_at(a->qk_out, r * a->qk_length, bytes), 0, (size_t)from * bytes);
        memset(sc_at(a->qk_out, r * a->qk_length + to, bytes), 0, (size_t)(a->qk_length - to) * bytes);
    }
}

/* Where the cache goes: to the output, whose rows past the valid ones are zeros, or to a room where there is one. */
static void *open_present(const struct sc_call *call, int output, void *room)
{
    const struct sc_tensor *present = sc_call_out(call, output);
    if (present && sc_tensor_bytes(present) > 0) {
        memset(present->data, 0, sc_tensor_bytes(present));
    }
    return room || !present ? room : present->data;
}

void sc_gqa_run(const struct sc_call *call)
{
    const struct sc_gqa_params *p = call->params;
    const struct sc_gqa_sizes s = sc_gqa_call_sizes(call, true);
    struct sc_cached_attention c;
    struct sc_cache_codes codes[2];
    const struct rooms rooms = cut_rooms(call, &s, call->scratch);
    describe(call, &s, &c);
    set_codes(call, &s, rooms.scales, codes, &c.attention);
    for (int i = 0; i < 2 && p->bits > 0; i++) {
        sc_gqa_spread_scales(call, i, s.width, rooms.scales[i]);
    }
    for (int64_t b = 0; b < s.batch; b++) {
        sc_gqa_span(call, &s, b, &rooms.start[b], &rooms.length[b]);
    }
    if (p->rotary || has_norms(call)) {
        turn_all(call, &s, &c, &rooms);
    }
    c.start = rooms.start;
    c.length = rooms.length;
    if (has_sink(call)) {
        const struct sc_tensor *sink = sc_call_in(call, SC_GQA_SINK);
        memset(rooms.sink, 0, (size_t)p->q_heads * sizeof(float)); /* smooth_softmax: a score of 0 */
        if (sink) {
            sc_convert(sink->type, sink->data, SC_F32, rooms.sink, p->q_heads, 0);
        }
        c.attention.sink = rooms.sink;
    }
    if (s.resident) {
        sc_cache_hand_on(call, 1, call->in[SC_GQA_PAST_K]->u.state);
        sc_cache_hand_on(call, 2, call->in[SC_GQA_PAST_V]->u.state);
    } else {
        c.present_k = open_present(call, 1, rooms.present_k);
        c.present_v = open_present(call, 2, rooms.present_v);
    }
    const bool evicts = sc_gqa_evicts(call, &s);
    if (evicts) {
        sc_gqa_open_window(call, &s, &c, rooms.start, rooms.length);
    }
    sc_cached_run(&c, call->kernels, call->team, rooms.rest);
    if (evicts) {
        sc_gqa_close_window(call, &s, &c);
    }
    if (c.attention.tap == SC_TAP_BIAS) {
        clear_hidden(&c, rooms.start, rooms.length);
    }
}
