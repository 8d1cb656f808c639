/* SPDX-License-Identifier: Apache-2.0
 * Attention as views: whatever memory holds the keys and values, they are handed to the one routine as pages of 64
 * rows. Resident caches are appended to in place; dense ones are concatenated into the present outputs. */
#include <string.h>

#include "ops/nn/attention_op.h"
#include "ops/nn/cache.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

/* Scratch, in this order; all parts are multiples of 64 bytes. */
struct rooms {
    struct sc_state_view *keys, *values; /* one per batch row */
    int64_t *offset; /* one per batch row */
    void **pages; /* of dense keys, then of dense values */
    int64_t pages_per_row;
    void *bias; /* a mask that is neither bool nor of Q's type, dense and of Q's type; NULL: none such */
    void *raw_bias; /* the same before it is cast */
    void *present_k, *present_v; /* where the concatenation goes when nobody asked for it; NULL: nowhere */
    void *kernel;
};

static int64_t present_bytes(const struct sc_attention_sizes *s, int64_t width, enum sc_type type)
{
    return s->batch * s->kv_heads * s->total * width * (int64_t)sc_type_bytes(type);
}

static enum sc_type value_type(const struct sc_call *call)
{
    const struct sc_value *v = call->in[SC_ATTENTION_V];
    return v->kind == SC_KIND_STATE ? v->u.state->type : v->u.tensor.type;
}

/* Cuts the scratch into rooms; returns how much they take. base may be NULL when only the size is asked for. */
static size_t cut_rooms(const struct sc_call *call, const struct sc_attention_sizes *s, char *base, struct rooms *r)
{
    const enum sc_type type = sc_call_in(call, SC_ATTENTION_Q)->type;
    const enum sc_type v_type = value_type(call);
    const struct sc_tensor *mask = sc_call_in(call, SC_ATTENTION_MASK);
    const size_t batch = (size_t)s->batch;
    const bool dense = !s->past_resident && !s->kv_resident;
    const bool joins = dense && SC_ATTENTION_PAST_K < call->n_in && call->in[SC_ATTENTION_PAST_K];
    struct sc_room room = {.at = base};
    memset(r, 0, sizeof(*r));
    r->keys = sc_room_bytes(&room, batch * sizeof(*r->keys));
    r->values = sc_room_bytes(&room, batch * sizeof(*r->values));
    r->offset = sc_room_bytes(&room, batch * sizeof(*r->offset));
    if (dense) {
        r->pages_per_row = sc_pages_for(s->total);
        r->pages = sc_room_bytes(&room, 2 * batch * (size_t)r->pages_per_row * sizeof(*r->pages));
    }
    if (joins && !sc_call_out(call, SC_ATTENTION_PRESENT_K)) {
        r->present_k = sc_room_bytes(&room, (size_t)present_bytes(s, s->qk_width, type));
    }
    if (joins && !sc_call_out(call, SC_ATTENTION_PRESENT_V)) {
        r->present_v = sc_room_bytes(&room, (size_t)present_bytes(s, s->v_width, v_type));
    }
    if (mask && mask->type != SC_BOOL && mask->type != type) {
        r->bias = sc_room_bytes(&room, (size_t)sc_tensor_count(mask) * sc_type_bytes(type));
        r->raw_bias = sc_room_bytes(&room, (size_t)sc_tensor_count(mask) * sc_type_bytes(mask->type));
    }
    r->kernel = sc_room_bytes(&room, 0);
    return room.used;
}

/* Strides over (batch, head, row, column) of a 3-D or 4-D tensor. */
static void head_strides(const struct sc_tensor *t, int64_t width, int64_t strides[4])
{
    if (t->rank == 4) {
        memcpy(strides, t->strides, 4 * sizeof(*strides));
        return;
    }
    strides[0] = t->strides[0];
    strides[1] = width * t->strides[2];
    strides[2] = t->strides[1];
    strides[3] = t->strides[2];
}

/* Everything but pointers to memory that scratch holds. */
static void describe(const struct sc_call *call, const struct sc_attention_sizes *s, struct sc_attention *a)
{
    const struct sc_attention_params *p = call->params;
    const struct sc_tensor *q = sc_call_in(call, SC_ATTENTION_Q);
    const struct sc_tensor *mask = sc_call_in(call, SC_ATTENTION_MASK);
    const struct sc_tensor *distances = sc_call_in(call, SC_ATTENTION_DISTANCES);
    const struct sc_tensor *y = sc_call_out(call, SC_ATTENTION_Y);
    const struct sc_tensor *qk = sc_call_out(call, SC_ATTENTION_QK);
    *a = (struct sc_attention){.type = q->type,
        .v_type = value_type(call),
        .batch = s->batch,
        .q_heads = s->q_heads,
        .kv_heads = s->kv_heads,
        .n_q = s->n_q,
        .qk_width = s->qk_width,
        .v_width = s->v_width,
        .q = q->data,
        .scale = sc_attention_scale(p->scale, s->qk_width),
        .softcap = (double)p->softcap,
        .slopes = p->n_slopes > 0 ? p->slopes : NULL,
        .causal = p->causal,
        .left_window = p->left_window,
        .right_window = p->right_window,
        .y = y->data,
        .tap = qk ? p->tap : SC_TAP_NONE,
        .qk_out = qk ? qk->data : NULL,
        .qk_length = qk ? qk->dims[3] : 0};
    head_strides(q, s->qk_width, a->q_strides);
    head_strides(y, s->v_width, a->y_strides);
    if (distances) {
        a->distances = distances->data;
        a->n_distances = distances->dims[1];
        a->before = p->before;
        a->distance_stride = distances->dims[0] == 1 ? 0 : distances->dims[1];
    }
    if (mask) {
        a->bias = mask->data;
        a->bias_is_mask = mask->type == SC_BOOL;
        a->bias_length = mask->dims[mask->rank - 1];
        for (int i = 0; i < mask->rank; i++) {
            const int axis = 4 - mask->rank + i;
            a->bias_strides[axis] = mask->dims[i] == 1 ? 0 : mask->strides[i];
        }
    }
}

/* The clause casts a mask to Q's type before it is added. */
static void cast_bias(const struct sc_call *call, const struct rooms *r, struct sc_attention *a)
{
    const struct sc_tensor *mask = sc_call_in(call, SC_ATTENTION_MASK);
    const int64_t n = sc_tensor_count(mask);
    struct sc_move move = {.bytes = sc_type_bytes(mask->type), .to = r->raw_bias, .from = mask->data};
    int64_t stride = n;
    for (int i = 0; i < mask->rank && n > 0; i++) {
        stride /= mask->dims[i];
        sc_move_axis(&move, mask->dims[i], stride, mask->strides[i]);
        a->bias_strides[4 - mask->rank + i] = mask->dims[i] == 1 ? 0 : stride;
    }
    sc_move_run(&move, call->team);
    sc_convert(mask->type, r->raw_bias, a->type, r->bias, n, 0);
    a->bias = r->bias;
}

static int64_t longest(const struct sc_call *call, const struct sc_attention_sizes *s)
{
    if (s->past_resident) {
        return call->in[SC_ATTENTION_PAST_K]->u.state->capacity;
    }
    return s->kv_resident ? call->in[SC_ATTENTION_K]->u.state->capacity : s->total;
}

size_t sc_attention_op_scratch(const struct sc_call *call)
{
    const struct sc_attention_sizes s = sc_attention_call_sizes(call);
    struct rooms rooms;
    struct sc_attention a;
    describe(call, &s, &a);
    return cut_rooms(call, &s, NULL, &rooms) +
        sc_attention_scratch_bytes(&a, longest(call, &s), sc_team_size(call->team));
}

/* New rows of batch row b. */
static struct sc_cache_rows new_rows(
    const struct sc_tensor *t, const struct sc_attention_sizes *s, int64_t width, int64_t b)
{
    int64_t strides[4];
    head_strides(t, width, strides);
    return (struct sc_cache_rows){.type = t->type,
        .heads = s->kv_heads,
        .n = s->n_kv,
        .width = width,
        .data = sc_const_at(t->data, b * strides[0], sc_type_bytes(t->type)),
        .head_stride = strides[1],
        .row_stride = strides[2],
        .column_stride = strides[3]};
}

struct append {
    const struct sc_call *call;
    const struct sc_attention_sizes *s;
};

/* Part: batch row and which of keys and values. */
static void append_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct append *job = arg;
    const bool key = part % 2 == 0;
    const struct sc_value *past = job->call->in[key ? SC_ATTENTION_PAST_K : SC_ATTENTION_PAST_V];
    const struct sc_tensor *t = sc_call_in(job->call, key ? SC_ATTENTION_K : SC_ATTENTION_V);
    const struct sc_state_view *view = &past->u.state->rows[part / 2];
    const struct sc_cache_rows rows = new_rows(t, job->s, key ? job->s->qk_width : job->s->v_width, part / 2);
    sc_cache_write(job->call->kernels, view, view->length, &rows);
}

static void use_past_states(const struct sc_call *call, const struct sc_attention_sizes *s, struct rooms *r)
{
    struct append job = {call, s};
    sc_team_for(call->team, 2 * s->batch, append_part, &job);
    for (int64_t b = 0; b < s->batch; b++) {
        r->keys[b] = call->in[SC_ATTENTION_PAST_K]->u.state->rows[b];
        r->values[b] = call->in[SC_ATTENTION_PAST_V]->u.state->rows[b];
        r->offset[b] = r->keys[b].length;
        r->keys[b].length += s->n_kv;
        r->values[b].length += s->n_kv;
    }
    for (int i = 0; i < 2; i++) {
        sc_cache_hand_on(call, SC_ATTENTION_PRESENT_K + i, call->in[SC_ATTENTION_PAST_K + i]->u.state);
    }
}

/* K and V are caches: as many keys as nonpad_kv_seqlen says, else as many as there are. */
static void use_cache_states(const struct sc_call *call, const struct sc_attention_sizes *s, struct rooms *r)
{
    const struct sc_tensor *nonpad = sc_call_in(call, SC_ATTENTION_NONPAD);
    for (int64_t b = 0; b < s->batch; b++) {
        r->keys[b] = call->in[SC_ATTENTION_K]->u.state->rows[b];
        r->values[b] = call->in[SC_ATTENTION_V]->u.state->rows[b];
        r->offset[b] = 0;
        if (nonpad) {
            r->keys[b].length = sc_index_at(nonpad, b);
            r->values[b].length = r->keys[b].length;
            r->offset[b] = r->keys[b].length - s->n_q;
        }
    }
}

/* Past and new rows one after the other: dense [batch, heads, total, width] at `to`. */
static void join(const struct sc_call *call, const struct sc_attention_sizes *s, bool key, void *to)
{
    const struct sc_tensor *past = sc_call_in(call, key ? SC_ATTENTION_PAST_K : SC_ATTENTION_PAST_V);
    const struct sc_tensor *t = sc_call_in(call, key ? SC_ATTENTION_K : SC_ATTENTION_V);
    const int64_t width = key ? s->qk_width : s->v_width;
    const size_t bytes = sc_type_bytes(t->type);
    for (int i = past ? 0 : 1; i < 2; i++) {
        const struct sc_tensor *from = i == 0 ? past : t;
        int64_t strides[4];
        head_strides(from, width, strides);
        struct sc_move move = {
            .bytes = bytes, .to = sc_at(to, i == 0 ? 0 : s->past * width, bytes), .from = from->data};
        sc_move_axis(&move, s->batch, s->kv_heads * s->total * width, strides[0]);
        sc_move_axis(&move, s->kv_heads, s->total * width, strides[1]);
        sc_move_axis(&move, i == 0 ? s->past : s->n_kv, width, strides[2]);
        sc_move_axis(&move, width, 1, strides[3]);
        sc_move_run(&move, call->team);
    }
}

static void use_dense(const struct sc_call *call, const struct sc_attention_sizes *s, bool key, struct rooms *r)
{
    const struct sc_tensor *nonpad = sc_call_in(call, SC_ATTENTION_NONPAD);
    const struct sc_tensor *t = sc_call_in(call, key ? SC_ATTENTION_K : SC_ATTENTION_V);
    const struct sc_tensor *present = sc_call_out(call, key ? SC_ATTENTION_PRESENT_K : SC_ATTENTION_PRESENT_V);
    void *joined = present ? present->data : key ? r->present_k : r->present_v;
    const int64_t width = key ? s->qk_width : s->v_width;
    const size_t bytes = sc_type_bytes(t->type);
    int64_t strides[4] = {s->kv_heads * s->total * width, s->total * width, width, 1};
    void *data = joined;
    if (joined) {
        join(call, s, key, joined);
    } else {
        head_strides(t, width, strides);
        data = t->data;
    }
    void **pages = r->pages + (key ? 0 : s->batch * r->pages_per_row);
    for (int64_t b = 0; b < s->batch; b++) {
        struct sc_state_view *view = key ? &r->keys[b] : &r->values[b];
        sc_cache_view_dense(
            view, pages + b * r->pages_per_row, s->total, sc_at(data, b * strides[0], bytes), bytes, strides);
        view->length = nonpad ? sc_index_at(nonpad, b) : s->total;
        r->offset[b] = nonpad ? view->length - s->n_q : s->past;
    }
}

void sc_attention_op_run(const struct sc_call *call)
{
    const struct sc_attention_sizes s = sc_attention_call_sizes(call);
    struct rooms rooms;
    struct sc_attention a;
    cut_rooms(call, &s, call->scratch, &rooms);
    describe(call, &s, &a);
    if (s.past_resident) {
        use_past_states(call, &s, &rooms);
    } else if (s.kv_resident) {
        use_cache_states(call, &s, &rooms);
    } else {
        use_dense(call, &s, true, &rooms);
        use_dense(call, &s, false, &rooms);
    }
    a.keys = rooms.keys;
    a.values = rooms.values;
    a.offset = rooms.offset;
    if (rooms.bias) {
        cast_bias(call, &rooms, &a);
    }
    if (s.batch > 0 && s.n_q > 0 && s.q_heads > 0) {
        sc_attention_run(call->kernels, call->team, &a, rooms.kernel);
    }
}
