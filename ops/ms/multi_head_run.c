/* SPDX-License-Identifier: Apache-2.0
 * MultiHeadAttention as one call of attention with caches: the bias of the projections is added to copies of the rows,
 * masks become what is added to scores. */
#include <string.h>

#include "ops/ms/cached.h"
#include "ops/ms/multi_head.h"
#include "ops/nn/cache.h"
#include "ops/nn/norm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

/* Scratch. Parts that are not needed are NULL. */
struct rooms {
    int64_t *start, *length;
    void *q, *k, *v; /* with their bias: [batch, rows, heads, width] */
    void *added; /* to scores */
    float *rows; /* two of a head */
    void *present_k, *present_v; /* that nobody asked for */
    void *chosen_k, *chosen_v; /* rows of the beams that each row of the batch goes on from */
    void *rest;
    size_t bytes;
};

static struct rooms cut_rooms(const struct sc_call *call, const struct sc_mha_sizes *s, char *base)
{
    const struct sc_mha_params *p = call->params;
    const size_t bytes = sc_type_bytes(sc_mha_in(call, SC_MHA_QUERY)->type);
    const size_t head = (size_t)(s->batch * p->heads), rows = head * (size_t)s->n_kv;
    const bool biased = sc_mha_in(call, SC_MHA_BIAS), kept = s->form == SC_MHA_KEPT;
    const bool joins = sc_mha_in(call, SC_MHA_PAST_K) && !s->resident;
    const struct sc_added added = sc_mha_added(call, s);
    const int64_t widest = s->width > s->v_width ? s->width : s->v_width;
    struct rooms r = {0};
    struct sc_room room = {.at = base};
    r.start = sc_room_bytes(&room, (size_t)s->batch * sizeof(int64_t));
    r.length = sc_room_bytes(&room, (size_t)s->batch * sizeof(int64_t));
    r.q = biased ? sc_room_bytes(&room, head * (size_t)(s->n * s->width) * bytes) : NULL;
    r.k = biased && !kept ? sc_room_bytes(&room, rows * (size_t)s->width * bytes) : NULL;
    r.v = biased && !kept ? sc_room_bytes(&room, rows * (size_t)s->v_width * bytes) : NULL;
    r.added = sc_room_bytes(&room, sc_added_bytes(&added));
    r.rows = sc_room_bytes(&room, 2 * (size_t)widest * sizeof(float));
    if (joins && !sc_call_out(call, 1)) {
        r.present_k = sc_room_bytes(&room, head * (size_t)(s->room * s->width) * bytes);
    }
    if (joins && !sc_call_out(call, 2)) {
        r.present_v = sc_room_bytes(&room, head * (size_t)(s->room * s->v_width) * bytes);
    }
    if (joins && sc_mha_in(call, SC_MHA_BEAMS)) {
        r.chosen_k = sc_room_bytes(&room, head * (size_t)(s->total * s->width) * bytes);
        r.chosen_v = sc_room_bytes(&room, head * (size_t)(s->total * s->v_width) * bytes);
    }
    r.rest = sc_room_bytes(&room, 0);
    r.bytes = room.used;
    return r;
}

/* Where rows of Q, K and V lie. */
static void find_rows(const struct sc_call *call, const struct sc_mha_sizes *s, struct sc_cached_attention *c)
{
    const int64_t heads = ((const struct sc_mha_params *)call->params)->heads, w = s->width, v = s->v_width;
    const struct sc_tensor *q = sc_mha_in(call, SC_MHA_QUERY), *key = sc_mha_in(call, SC_MHA_KEY);
    const struct sc_tensor *value = sc_mha_in(call, SC_MHA_VALUE);
    const size_t bytes = sc_type_bytes(q->type);
    const int64_t of = s->form == SC_MHA_PACKED ? 3 : s->form == SC_MHA_PAIRS ? 2 : 1;
    sc_cached_strides(c->attention.q_strides, s->n * heads * w, w, heads * w);
    c->attention.q = q->data;
    if (s->viewed) {
        return;
    }
    if (s->form == SC_MHA_PACKED) {
        sc_cached_strides(c->attention.q_strides, s->n * heads * 3 * w, 3 * w, heads * 3 * w);
        c->k = sc_const_at(q->data, w, bytes);
        c->v = sc_const_at(q->data, 2 * w, bytes);
    } else if (s->form == SC_MHA_ABREAST) {
        sc_cached_strides(c->attention.q_strides, s->n * heads * 3 * w, w, heads * 3 * w);
        c->k = sc_const_at(q->data, heads * w, bytes);
        c->v = sc_const_at(q->data, 2 * heads * w, bytes);
    } else {
        c->k = key->data;
        c->v = s->form == SC_MHA_PAIRS ? sc_const_at(key->data, w, bytes) : value->data;
    }
    if (s->form == SC_MHA_KEPT) {
        sc_cached_strides(c->k_strides, heads * s->n_kv * w, s->n_kv * w, w);
        sc_cached_strides(c->v_strides, heads * s->n_kv * v, s->n_kv * v, v);
    } else if (s->form == SC_MHA_ABREAST) {
        memcpy(c->k_strides, c->attention.q_strides, sizeof c->k_strides);
        memcpy(c->v_strides, c->attention.q_strides, sizeof c->v_strides);
    } else {
        sc_cached_strides(c->k_strides, s->n_kv * heads * of * w, of * w, heads * of * w);
        sc_cached_strides(c->v_strides, s->n_kv * heads * of * v, of * v, heads * of * v);
    }
}

static void describe(
    const struct sc_call *call, const struct sc_mha_sizes *s, const struct rooms *r, struct sc_cached_attention *c)
{
    const struct sc_mha_params *p = call->params;
    const struct sc_tensor *scores = sc_call_out(call, 3);
    const struct sc_tensor *past_k = s->resident ? NULL : sc_mha_in(call, SC_MHA_PAST_K);
    const struct sc_tensor *present_k = sc_call_out(call, 1), *present_v = sc_call_out(call, 2);
    const enum sc_type type = sc_mha_in(call, SC_MHA_QUERY)->type;
    memset(c, 0, sizeof *c);
    c->attention = (struct sc_attention){.type = type,
        .v_type = type,
        .batch = s->batch,
        .q_heads = p->heads,
        .kv_heads = p->heads,
        .n_q = s->n,
        .qk_width = s->width,
        .v_width = s->v_width,
        .scale = sc_attention_scale(p->scale, s->width),
        .causal = p->causal != 0 || (p->single && s->resident),
        .left_window = -1,
        .right_window = -1,
        .y = sc_call_out(call, 0)->data,
        .tap = scores ? SC_TAP_BIAS : SC_TAP_NONE,
        .qk_out = scores ? scores->data : NULL,
        .qk_length = s->total};
    sc_cached_strides(c->attention.y_strides, s->n * p->heads * s->v_width, s->v_width, p->heads * s->v_width);
    find_rows(call, s, c);
    c->n_new = s->viewed ? 0 : s->n_kv;
    c->start = r->start;
    c->length = r->length;
    if (s->viewed) {
        c->state_k = sc_mha_state(call, SC_MHA_KEY);
        c->state_v = sc_mha_state(call, SC_MHA_VALUE);
    } else if (s->resident) {
        c->state_k = sc_mha_state(call, SC_MHA_PAST_K);
        c->state_v = sc_mha_state(call, SC_MHA_PAST_V);
    } else if (past_k || present_k || present_v) {
        c->past_k = past_k ? past_k->data : NULL;
        c->past_v = past_k ? sc_mha_in(call, SC_MHA_PAST_V)->data : NULL;
        c->past_room = past_k ? past_k->dims[2] : 0;
        c->present_room = s->room;
        c->present_k = present_k ? present_k->data : r->present_k;
        c->present_v = present_v ? present_v->data : r->present_v;
    }
}

size_t sc_mha_scratch(const struct sc_call *call)
{
    struct sc_mha_sizes s = sc_mha_call_sizes(call, false);
    const struct sc_state *keys = s.resident ? sc_mha_state(call, SC_MHA_PAST_K)
        : s.viewed                           ? sc_mha_state(call, SC_MHA_KEY)
                                             : NULL;
    s.total = keys && keys->capacity > s.total ? keys->capacity : s.total;
    const struct rooms rooms = cut_rooms(call, &s, NULL);
    struct sc_cached_attention c;
    describe(call, &s, &rooms, &c);
    return rooms.bytes + sc_cached_scratch_bytes(&c, s.total, sc_team_size(call->team));
}

/* A copy of rows, [batch, n, heads, width], with the bias of each head. */
struct biased {
    const void *from;
    void *to;
    int64_t *strides; /* of `from`; then of the copy */
    int64_t n, width, bias; /* bias: where it begins */
};

static void add_bias(
    const struct sc_call *call, const struct sc_mha_sizes *s, const struct rooms *r, const struct biased *b)
{
    const int64_t heads = ((const struct sc_mha_params *)call->params)->heads;
    const struct sc_tensor *bias = sc_mha_in(call, SC_MHA_BIAS);
    const enum sc_type type = bias->type;
    const size_t bytes = sc_type_bytes(type);
    for (int64_t i = 0; i < s->batch * b->n * heads; i++) {
        const int64_t h = i % heads, row = i / heads % b->n, at = i / heads / b->n;
        const void *from = sc_const_at(b->from, at * b->strides[0] + h * b->strides[1] + row * b->strides[2], bytes);
        void *to = sc_at(b->to, i * b->width, bytes);
        const float *x = sc_norm_widen(call->kernels, type, from, r->rows, b->width);
        const float *y = sc_norm_widen(
            call->kernels, type, sc_const_at(bias->data, b->bias + h * b->width, bytes), r->rows + b->width, b->width);
        float *sum = type == SC_F32 ? to : r->rows;
        call->kernels->binary[SC_BINARY_add](x, 1, y, 1, sum, b->width);
        sc_norm_narrow(call->kernels, type, sum, to, b->width);
    }
    sc_cached_strides(b->strides, b->n * heads * b->width, b->width, heads * b->width);
}

static void add_biases(
    const struct sc_call *call, const struct sc_mha_sizes *s, const struct rooms *r, struct sc_cached_attention *c)
{
    const int64_t hidden = ((const struct sc_mha_params *)call->params)->heads * s->width;
    const struct biased q = {c->attention.q, r->q, c->attention.q_strides, s->n, s->width, 0};
    add_bias(call, s, r, &q);
    c->attention.q = r->q;
    if (r->k) {
        const struct biased k = {c->k, r->k, c->k_strides, s->n_kv, s->width, hidden};
        const struct biased v = {c->v, r->v, c->v_strides, s->n_kv, s->v_width, 2 * hidden};
        add_bias(call, s, r, &k);
        add_bias(call, s, r, &v);
        c->k = r->k;
        c->v = r->v;
    }
}

/* Of a shared buffer all is kept, also what is past its length. */
static void keep_past(const struct sc_call *call, struct sc_cached_attention *c)
{
    const struct sc_mha_params *p = call->params;
    if (!p->shared || !c->past_k) {
        return;
    }
    const struct sc_tensor *pasts[2] = {sc_mha_in(call, SC_MHA_PAST_K), sc_mha_in(call, SC_MHA_PAST_V)};
    void *presents[2] = {c->present_k, c->present_v};
    for (int i = 0; i < 2; i++) {
        if (presents[i] != pasts[i]->data) {
            memcpy(presents[i], pasts[i]->data, sc_tensor_bytes(pasts[i]));
        }
    }
    c->past_k = c->present_k;
    c->past_v = c->present_v;
}

/* Rows of one cache [batch, heads, room, width] that each row of the batch reads: before its last one, those of the
 * beams of its text that they came from. */
static void gather_beams(
    const struct sc_call *call, const struct sc_mha_sizes *s, const char *cache, size_t row_bytes, char *to)
{
    const struct sc_tensor *beams = sc_mha_in(call, SC_MHA_BEAMS);
    const int64_t heads = ((const struct sc_mha_params *)call->params)->heads;
    const int64_t width = beams->dims[1], positions = beams->dims[2];
    for (int64_t i = 0; i < s->batch * heads * s->total; i++) {
        const int64_t at = i % s->total, head = i / s->total % heads, row = i / s->total / heads;
        const int64_t from = at < s->past ? row / width * width + sc_index_at(beams, row * positions + at) : row;
        memcpy(
            to + (size_t)i * row_bytes, cache + (size_t)((from * heads + head) * s->room + at) * row_bytes, row_bytes);
    }
}

/* The new rows go to the present, and attention reads those that are chosen where they are gathered. */
static void choose_beams(
    const struct sc_call *call, const struct sc_mha_sizes *s, const struct rooms *r, struct sc_cached_attention *c)
{
    const int64_t heads = ((const struct sc_mha_params *)call->params)->heads;
    const size_t bytes = sc_type_bytes(c->attention.type);
    struct sc_cached_attention writing = *c;
    writing.attention.n_q = 0;
    sc_cached_run(&writing, call->kernels, call->team, r->rest);
    gather_beams(call, s, c->present_k, (size_t)s->width * bytes, r->chosen_k);
    gather_beams(call, s, c->present_v, (size_t)s->v_width * bytes, r->chosen_v);
    c->k = r->chosen_k;
    c->v = r->chosen_v;
    c->n_new = s->total;
    c->present_k = c->present_v = NULL;
    c->present_room = 0;
    sc_cached_strides(c->k_strides, heads * s->total * s->width, s->total * s->width, s->width);
    sc_cached_strides(c->v_strides, heads * s->total * s->v_width, s->total * s->v_width, s->v_width);
}

void sc_mha_run(const struct sc_call *call)
{
    const struct sc_mha_sizes s = sc_mha_call_sizes(call, true);
    const struct rooms rooms = cut_rooms(call, &s, call->scratch);
    struct sc_cached_attention c;
    describe(call, &s, &rooms, &c);
    for (int64_t b = 0; b < s.batch; b++) {
        rooms.start[b] = s.resident ? c.state_k->rows[b].length : s.past;
        rooms.length[b] = s.viewed ? c.state_k->rows[b].length : rooms.start[b] + s.n_kv;
    }
    if (s.resident) {
        sc_cache_hand_on(call, 1, sc_mha_state(call, SC_MHA_PAST_K));
        sc_cache_hand_on(call, 2, sc_mha_state(call, SC_MHA_PAST_V));
    }
    if (s.batch == 0 || s.n == 0) {
        return;
    }
    if (sc_mha_in(call, SC_MHA_BIAS)) {
        add_biases(call, &s, &rooms, &c);
    }
    const struct sc_added added = sc_mha_added(call, &s);
    sc_added_set(&added, rooms.added, &c.attention);
    keep_past(call, &c);
    if (rooms.chosen_k) {
        choose_beams(call, &s, &rooms, &c);
    }
    sc_cached_run(&c, call->kernels, call->team, rooms.rest);
}
