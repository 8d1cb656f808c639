/* SPDX-License-Identifier: Apache-2.0
 * Q, K and V by one product, then one call of attention with caches: of a joined cache keys are one half, values the
 * other. */
#include <string.h>

#include "ops/ms/attention.h"
#include "ops/ms/cached.h"
#include "ops/nn/cache.h"
#include "ops/nn/norm.h"
#include "ops/nn/product.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/page.h"

struct rooms {
    void *qkv; /* [batch, n]: Q, K and V of all heads */
    void *present; /* when nobody asked for it */
    void *added; /* to scores */
    int64_t *start, *length;
    float *rows; /* two of Q, K and V, for the bias */
    struct sc_state_view *values; /* of a state: a view per batch row */
    void **pages; /* of these views */
    void *product, *rest;
    size_t bytes;
};

static int64_t columns_of(const struct sc_joint_sizes *s)
{
    return 2 * s->hidden + s->v_hidden;
}

static enum sc_product_way way_of(const struct sc_call *call)
{
    const enum sc_product_way way = (enum sc_product_way)call->choice;
    return way == SC_PRODUCT_PLAIN ? sc_product_choose(sc_call_in(call, SC_JOINT_X)->type, false, false, -1, -1) : way;
}

/* Whether K and V go to a cache; else they are read where they lie. */
static bool is_cached(const struct sc_call *call, const struct sc_joint_sizes *s)
{
    return !s->resident && (sc_call_in(call, SC_JOINT_PAST) || sc_call_out(call, 1));
}

static int64_t state_pages(const struct sc_state *state)
{
    return state->capacity / SC_PAGE_ROWS + 1;
}

static struct rooms cut_rooms(const struct sc_call *call, const struct sc_joint_sizes *s, char *base)
{
    const enum sc_type type = sc_call_in(call, SC_JOINT_X)->type;
    const size_t bytes = sc_type_bytes(type), batch = (size_t)s->batch;
    const struct sc_added added = sc_joint_added(call, s);
    const struct sc_state *state = s->resident ? call->in[SC_JOINT_PAST]->u.state : NULL;
    const bool made = is_cached(call, s) && !sc_call_out(call, 1);
    struct rooms r = {0};
    struct sc_room room = {.at = base};
    r.qkv = sc_room_bytes(&room, batch * (size_t)(s->n * columns_of(s)) * bytes);
    r.present = made ? sc_room_bytes(&room, 2 * batch * (size_t)(s->room * s->hidden) * bytes) : NULL;
    r.added = sc_room_bytes(&room, sc_added_bytes(&added));
    r.start = sc_room_bytes(&room, batch * sizeof(int64_t));
    r.length = sc_room_bytes(&room, batch * sizeof(int64_t));
    r.rows = sc_room_bytes(&room, 2 * (size_t)columns_of(s) * sizeof(float));
    if (state) {
        r.values = sc_room_bytes(&room, batch * sizeof *r.values);
        r.pages = sc_room_bytes(&room, batch * (size_t)state_pages(state) * sizeof *r.pages);
    }
    r.product = sc_room_bytes(&room,
        sc_product_scratch_bytes(
            way_of(call), type, s->batch * s->n, columns_of(s), s->inner, sc_team_size(call->team)));
    r.rest = sc_room_bytes(&room, 0);
    r.bytes = room.used;
    return r;
}

static void make_qkv(const struct sc_call *call, const struct sc_joint_sizes *s, const struct rooms *r)
{
    const struct sc_tensor *w = sc_call_in(call, SC_JOINT_WEIGHTS), *bias = sc_call_in(call, SC_JOINT_BIAS);
    const enum sc_type type = sc_call_in(call, SC_JOINT_X)->type;
    const int64_t N = columns_of(s);
    const struct sc_product product = {.way = way_of(call),
        .type = type,
        .M = s->batch * s->n,
        .N = N,
        .K = s->inner,
        .a = sc_call_in(call, SC_JOINT_X)->data,
        .a_stride = s->inner,
        .b = w->data,
        .b_row_stride = N,
        .b_column_stride = 1,
        .packed = call->packed,
        .c = r->qkv};
    sc_product_run(&product, call->kernels, call->team, r->product);
    for (int64_t m = 0; bias && m < product.M; m++) {
        void *row = sc_at(r->qkv, m * N, sc_type_bytes(type));
        const float *addend = sc_norm_widen(call->kernels, type, bias->data, r->rows, N);
        const float *wide = sc_norm_widen(call->kernels, type, row, r->rows + N, N);
        float *sum = type == SC_F32 ? row : r->rows + N;
        call->kernels->binary[SC_BINARY_add](wide, 1, addend, 1, sum, N);
        sc_norm_narrow(call->kernels, type, sum, row, N);
    }
}

/* Heads of so wide side by side, in rows of so many elements. */
static void set_strides(int64_t strides[4], const struct sc_joint_sizes *s, int64_t width, int64_t row)
{
    sc_cached_strides(strides, s->n * row, width, row);
}

static void find_caches(
    const struct sc_call *call, const struct sc_joint_sizes *s, const struct rooms *r, struct sc_cached_attention *c)
{
    const struct sc_tensor *past = s->resident ? NULL : sc_call_in(call, SC_JOINT_PAST);
    const struct sc_tensor *present = sc_call_out(call, 1);
    const size_t bytes = sc_type_bytes(c->attention.type);
    if (!is_cached(call, s)) {
        return;
    }
    c->past_room = past ? past->dims[3] : 0;
    c->present_room = s->room;
    c->present_k = present ? present->data : r->present;
    c->past_k = past ? past->data : NULL;
    if (c->present_k) {
        c->present_v = sc_at(c->present_k, s->batch * c->present_room * s->hidden, bytes);
        c->past_v = past ? sc_const_at(past->data, s->batch * c->past_room * s->hidden, bytes) : NULL;
    }
}

static void describe(
    const struct sc_call *call, const struct sc_joint_sizes *s, const struct rooms *r, struct sc_cached_attention *c)
{
    const struct sc_joint_params *p = call->params;
    const enum sc_type type = sc_call_in(call, SC_JOINT_X)->type;
    const size_t bytes = sc_type_bytes(type);
    memset(c, 0, sizeof(*c));
    c->attention = (struct sc_attention){.type = type,
        .v_type = type,
        .batch = s->batch,
        .q_heads = p->heads,
        .kv_heads = p->heads,
        .n_q = s->n,
        .qk_width = s->width,
        .v_width = s->v_width,
        .q = r->qkv,
        .scale = sc_attention_scale(p->scale, s->width),
        .causal = p->causal != 0,
        .left_window = -1,
        .right_window = -1,
        .y = sc_call_out(call, 0)->data,
        .tap = SC_TAP_NONE};
    set_strides(c->attention.q_strides, s, s->width, columns_of(s));
    set_strides(c->attention.y_strides, s, s->v_width, s->v_hidden);
    set_strides(c->k_strides, s, s->width, columns_of(s));
    set_strides(c->v_strides, s, s->v_width, columns_of(s));
    c->n_new = s->n;
    c->start = r->start;
    c->length = r->length;
    if (r->qkv) {
        c->k = sc_const_at(r->qkv, s->hidden, bytes);
        c->v = sc_const_at(r->qkv, 2 * s->hidden, bytes);
    }
    find_caches(call, s, r, c);
}

size_t sc_joint_scratch(const struct sc_call *call)
{
    const struct sc_joint_sizes s = sc_joint_call_sizes(call, false);
    const struct rooms rooms = cut_rooms(call, &s, NULL);
    const struct sc_state dummy = {0};
    struct sc_cached_attention c;
    describe(call, &s, &rooms, &c);
    c.state_k = s.resident ? &dummy : NULL;
    return rooms.bytes + sc_cached_scratch_bytes(&c, s.total, sc_team_size(call->team));
}

/* The later half of a state's heads, which lie as values do (runtime/state.h). */
static void view_values(const struct sc_state *state, const struct rooms *r, struct sc_state *values)
{
    const int64_t heads = state->heads / 2, pages = state_pages(state);
    *values = *state;
    values->heads = heads;
    values->rows = r->values;
    for (int b = 0; b < state->n_rows; b++) {
        const struct sc_state_view *from = &state->rows[b];
        const size_t bytes = sc_type_bytes(sc_page_type(from->format, state->type));
        void **to = r->pages + b * pages;
        for (int64_t i = 0; i < from->n_pages && i < pages; i++) {
            to[i] = from->pages[i] ? sc_at(from->pages[i], heads * from->head_stride, bytes) : NULL;
        }
        r->values[b] = *from;
        r->values[b].pages = to;
        r->values[b].row_stride = state->width;
        r->values[b].column_stride = 1;
    }
}

/* Of a shared buffer all is kept, also what is past its length. */
static void keep_past(const struct sc_call *call, struct sc_cached_attention *c)
{
    const struct sc_joint_params *p = call->params;
    const struct sc_tensor *past = sc_call_in(call, SC_JOINT_PAST);
    if (p->shared && c->present_k != past->data) {
        memcpy(c->present_k, past->data, sc_tensor_bytes(past));
    }
    if (p->shared) {
        c->past_k = c->present_k;
        c->past_v = c->present_v;
    }
}

void sc_joint_run(const struct sc_call *call)
{
    const struct sc_joint_sizes s = sc_joint_call_sizes(call, true);
    const struct rooms rooms = cut_rooms(call, &s, call->scratch);
    struct sc_cached_attention c;
    struct sc_state keys, values;
    describe(call, &s, &rooms, &c);
    if (s.resident) {
        struct sc_state *state = call->in[SC_JOINT_PAST]->u.state;
        keys = *state;
        keys.heads = state->heads / 2;
        view_values(state, &rooms, &values);
        c.state_k = &keys;
        c.state_v = &values;
        sc_cache_hand_on(call, 1, state);
    }
    if (s.batch == 0 || s.n == 0) {
        return;
    }
    make_qkv(call, &s, &rooms);
    if (!s.resident) {
        keep_past(call, &c);
    }
    for (int64_t b = 0; b < s.batch; b++) {
        rooms.start[b] = s.resident ? c.state_k->rows[b].length : s.past;
        rooms.length[b] = rooms.start[b] + s.n;
    }
    const struct sc_added added = sc_joint_added(call, &s);
    sc_added_set(&added, rooms.added, &c.attention);
    sc_cached_run(&c, call->kernels, call->team, rooms.rest);
}
