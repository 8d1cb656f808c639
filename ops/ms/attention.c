/* SPDX-License-Identifier: Apache-2.0
 * Attention of com.microsoft: one product makes Q, K and V of a row; the cache of both is one tensor
 * [2, batch, heads, positions, width], keys first. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/ms/cached.h"
#include "ops/nn/norm.h"
#include "ops/nn/product.h"
#include "ops/shape/shape.h"

enum input { X, WEIGHTS, BIAS, MASK, PAST, SCORES_BIAS, PAST_LENGTH, N_IN };

struct params {
    int64_t heads, causal;
    float scale;
};

static enum sc_status params_attention(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    int64_t shared, rotary;
    SC_TRY(sc_node_int(node, "num_heads", 0, &p->heads));
    SC_TRY(sc_node_int(node, "unidirectional", 0, &p->causal));
    SC_TRY(sc_node_int(node, "past_present_share_buffer", 0, &shared));
    SC_TRY(sc_node_int(node, "do_rotary", 0, &rotary));
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    if (p->heads < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "num_heads is %lld", (long long)p->heads);
    }
    if (shared || rotary || sc_node_attribute(node, "qkv_hidden_sizes")) {
        return sc_node_fail(
            graph, node, SC_UNSUPPORTED, "past_present_share_buffer, do_rotary and qkv_hidden_sizes are not supported");
    }
    return SC_OK;
}

struct sizes {
    int64_t batch, n, inner, hidden, width, past; /* inner: of the input; hidden: of Q, K and V each */
};

static enum sc_status find_sizes(const struct sc_infer *infer, struct sizes *s)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[X];
    const struct sc_fact *w = infer->in[WEIGHTS];
    const struct sc_fact *past = sc_infer_in(infer, PAST);
    if ((x->rank >= 0 && x->rank != 3) || (w->rank >= 0 && w->rank != 2)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input has rank %d and weights %d, want 3 and 2",
            x->rank, w->rank);
    }
    if (past && past->kind == SC_KIND_STATE) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "a joined cache cannot be resident");
    }
    const int64_t unknown = SC_DIM_UNKNOWN;
    s->batch = x->rank == 3 ? x->dims[0] : unknown;
    s->n = x->rank == 3 ? x->dims[1] : unknown;
    s->inner = w->rank == 2 ? w->dims[0] : unknown;
    s->hidden = w->rank == 2 && w->dims[1] >= 0 ? w->dims[1] / 3 : unknown;
    s->width = s->hidden >= 0 ? s->hidden / p->heads : unknown;
    s->past = past ? (past->rank == 5 ? past->dims[3] : unknown) : 0;
    if (s->hidden >= 0 && (w->dims[1] % 3 != 0 || s->hidden % p->heads != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "weights of width %lld for %lld heads",
            (long long)w->dims[1], (long long)p->heads);
    }
    if (x->rank == 3 && x->dims[2] >= 0 && s->inner >= 0 && x->dims[2] != s->inner) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input has width %lld, weights %lld rows",
            (long long)x->dims[2], (long long)s->inner);
    }
    return SC_OK;
}

static bool dims_fit(const struct sc_fact *fact, int rank, const int64_t *want)
{
    bool fits = fact->rank < 0 || fact->rank == rank;
    for (int i = 0; fits && i < fact->rank; i++) {
        fits = fact->dims[i] < 0 || want[i] < 0 || fact->dims[i] == want[i];
    }
    return fits;
}

static enum sc_status infer_attention(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    struct sizes s;
    SC_TRY(find_sizes(infer, &s));
    const enum sc_type type = infer->in[X]->type;
    const int64_t total = s.past >= 0 && s.n >= 0 ? s.past + s.n : SC_DIM_UNKNOWN;
    const int64_t past[5] = {2, s.batch, p->heads, s.past, s.width};
    const int64_t bias[1] = {s.hidden >= 0 ? 3 * s.hidden : SC_DIM_UNKNOWN};
    if ((sc_infer_in(infer, PAST) && !dims_fit(infer->in[PAST], 5, past)) ||
        (sc_infer_in(infer, BIAS) && !dims_fit(infer->in[BIAS], 1, bias))) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "past or bias do not fit the input");
    }
    if (sc_infer_in(infer, SCORES_BIAS)) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "attention_bias is not supported");
    }
    const int64_t dims[3] = {s.batch, s.n, s.hidden};
    const int64_t present[5] = {2, s.batch, p->heads, total, s.width};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], type, 3, dims);
    }
    if (sc_infer_out(infer, 1)) {
        sc_fact_tensor(infer->out[1], type, 5, present);
    }
    return SC_OK;
}

static struct sizes call_sizes(const struct sc_call *call)
{
    struct sc_fact facts[N_IN];
    const struct sc_fact *at[N_IN] = {NULL};
    for (int i = 0; i < call->n_in && i < N_IN; i++) {
        if (call->in[i]) {
            sc_fact_of_input(&facts[i], call->in[i]);
            at[i] = &facts[i];
        }
    }
    const struct sc_infer infer = {
        .graph = call->graph, .node = call->node, .params = call->params, .n_in = N_IN, .in = at};
    struct sizes s = {0};
    (void)find_sizes(&infer, &s); /* infer has checked it */
    return s;
}

/* The mask: none, one row of total flags per batch row, or the number of valid keys per batch row. */
static enum sc_status resolve_attention(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sizes s = call_sizes(call);
    const struct sc_tensor *mask = sc_call_in(call, MASK);
    if (!mask) {
        return SC_OK;
    }
    const bool lengths = mask->rank == 1 && mask->dims[0] == s.batch;
    const bool flags = mask->rank == 2 && mask->dims[0] == s.batch && mask->dims[1] == s.past + s.n;
    if (!lengths && !flags) {
        return sc_node_fail(call->graph, call->node, SC_UNSUPPORTED,
            "a mask_index other than [batch] or [batch, total_sequence_length]");
    }
    for (int64_t b = 0; lengths && b < s.batch; b++) {
        const int64_t n = sc_index_at(mask, b);
        if (n < 0 || n > s.past + s.n) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "mask_index is %lld of %lld keys", (long long)n,
                (long long)(s.past + s.n));
        }
    }
    return SC_OK;
}

static enum sc_status prepare_attention(struct sc_prepare *prepare)
{
    const struct sc_fact *w = prepare->in[WEIGHTS];
    const bool constant = prepare->constant[WEIGHTS] && sc_fact_dims_known(w) && w->rank == 2;
    prepare->choice = (int)sc_product_choose(
        w->type, constant, prepare->blas, constant ? w->dims[0] : -1, constant ? w->dims[1] : -1);
    if (prepare->choice == SC_PRODUCT_PACKED) {
        prepare->packed_inputs = 1U << WEIGHTS;
        prepare->packed_bytes = sc_gemm_packed_bytes(w->type, w->dims[0], w->dims[1]);
    }
    return SC_OK;
}

static void pack_attention(const struct sc_pack *pack)
{
    const struct sc_tensor *w = pack->weight;
    const struct sc_gemm_b b = {.type = w->type,
        .K = w->dims[0],
        .N = w->dims[1],
        .data = w->data,
        .row_stride = w->dims[1],
        .column_stride = 1};
    sc_gemm_pack(pack->prepare->kernels, pack->team, &b, pack->packed);
}

struct rooms {
    void *qkv; /* [batch, n, 3, heads, width] */
    void *present; /* when nobody asked for it */
    unsigned char *flags; /* [batch, total] */
    int64_t *start, *length;
    float *rows; /* two of 3 * hidden, for the bias */
    void *product, *rest;
    size_t bytes;
};

static void *take(char *base, size_t *total, size_t bytes)
{
    char *at = base ? base + *total : NULL;
    *total += (bytes + 63) / 64 * 64;
    return at;
}

static enum sc_product_way way_of(const struct sc_call *call)
{
    const enum sc_product_way way = (enum sc_product_way)call->choice;
    return way == SC_PRODUCT_PLAIN ? sc_product_choose(sc_call_in(call, X)->type, false, false, -1, -1) : way;
}

static struct rooms cut_rooms(const struct sc_call *call, const struct sizes *s, char *base)
{
    const enum sc_type type = sc_call_in(call, X)->type;
    const size_t bytes = sc_type_bytes(type);
    const int64_t total = s->past + s->n;
    struct rooms r = {0};
    r.qkv = take(base, &r.bytes, (size_t)(s->batch * s->n * 3 * s->hidden) * bytes);
    r.present = sc_call_out(call, 1) ? NULL : take(base, &r.bytes, (size_t)(2 * s->batch * total * s->hidden) * bytes);
    r.flags = take(base, &r.bytes, (size_t)(s->batch * total));
    r.start = take(base, &r.bytes, (size_t)s->batch * sizeof(int64_t));
    r.length = take(base, &r.bytes, (size_t)s->batch * sizeof(int64_t));
    r.rows = take(base, &r.bytes, (size_t)(6 * s->hidden) * sizeof(float));
    r.product = take(base, &r.bytes,
        sc_product_scratch_bytes(
            way_of(call), type, s->batch * s->n, 3 * s->hidden, s->inner, sc_team_size(call->team)));
    r.rest = take(base, &r.bytes, 0);
    return r;
}

static void make_qkv(const struct sc_call *call, const struct sizes *s, const struct rooms *r)
{
    const struct sc_tensor *w = sc_call_in(call, WEIGHTS);
    const struct sc_tensor *bias = sc_call_in(call, BIAS);
    const enum sc_type type = sc_call_in(call, X)->type;
    const int64_t N = 3 * s->hidden;
    const struct sc_product product = {.way = way_of(call),
        .type = type,
        .M = s->batch * s->n,
        .N = N,
        .K = s->inner,
        .a = sc_call_in(call, X)->data,
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

static void describe(
    const struct sc_call *call, const struct sizes *s, const struct rooms *r, struct sc_cached_attention *c)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, X);
    const struct sc_tensor *past = sc_call_in(call, PAST);
    const struct sc_tensor *present = sc_call_out(call, 1);
    const size_t bytes = sc_type_bytes(x->type);
    const int64_t strides[4] = {3 * s->hidden * s->n, s->width, 3 * s->hidden, 1};
    const int64_t y_strides[4] = {s->hidden * s->n, s->width, s->hidden, 1};
    memset(c, 0, sizeof(*c));
    c->attention = (struct sc_attention){.type = x->type,
        .v_type = x->type,
        .batch = s->batch,
        .q_heads = p->heads,
        .kv_heads = p->heads,
        .n_q = s->n,
        .qk_width = s->width,
        .v_width = s->width,
        .q = r->qkv,
        .scale = p->scale != 0.0F ? (double)p->scale : 1.0 / sqrt((double)s->width),
        .causal = p->causal != 0,
        .left_window = -1,
        .right_window = -1,
        .y = sc_call_out(call, 0)->data,
        .tap = SC_TAP_NONE};
    memcpy(c->attention.q_strides, strides, sizeof(strides));
    memcpy(c->attention.y_strides, y_strides, sizeof(y_strides));
    memcpy(c->k_strides, strides, sizeof(strides));
    memcpy(c->v_strides, strides, sizeof(strides));
    c->n_new = s->n;
    c->past_room = s->past;
    c->present_room = s->past + s->n;
    c->start = r->start;
    c->length = r->length;
    const struct sc_tensor *mask = sc_call_in(call, MASK);
    if (mask && mask->rank == 2) {
        c->attention.bias = r->flags;
        c->attention.bias_is_mask = true;
        c->attention.bias_strides[0] = s->past + s->n;
        c->attention.bias_strides[3] = 1;
        c->attention.bias_length = s->past + s->n;
    }
    if (r->qkv) {
        c->k = sc_const_at(r->qkv, s->hidden, bytes);
        c->v = sc_const_at(r->qkv, 2 * s->hidden, bytes);
        c->present_k = present ? present->data : r->present;
        c->present_v = sc_at(c->present_k, s->batch * c->present_room * s->hidden, bytes);
        c->past_k = past ? past->data : NULL;
        c->past_v = past ? sc_const_at(past->data, s->batch * s->past * s->hidden, bytes) : NULL;
    }
}

static size_t scratch_attention(const struct sc_call *call)
{
    const struct sizes s = call_sizes(call);
    const struct rooms rooms = cut_rooms(call, &s, NULL);
    struct sc_cached_attention c;
    describe(call, &s, &rooms, &c);
    return rooms.bytes + sc_cached_scratch_bytes(&c, c.present_room, sc_team_size(call->team));
}

static void run_attention(const struct sc_call *call)
{
    const struct sizes s = call_sizes(call);
    const struct rooms rooms = cut_rooms(call, &s, call->scratch);
    const struct sc_tensor *mask = sc_call_in(call, MASK);
    const int64_t total = s.past + s.n;
    struct sc_cached_attention c;
    if (s.batch == 0 || s.n == 0) {
        return;
    }
    make_qkv(call, &s, &rooms);
    describe(call, &s, &rooms, &c);
    for (int64_t b = 0; b < s.batch; b++) {
        rooms.start[b] = s.past;
        rooms.length[b] = total;
        for (int64_t i = 0; mask && mask->rank == 2 && i < total; i++) {
            rooms.flags[b * total + i] = sc_index_at(mask, b * total + i) != 0;
        }
    }
    if (mask && mask->rank == 1) { /* valid keys of each batch row, as flags */
        for (int64_t i = 0; i < s.batch * total; i++) {
            rooms.flags[i] = i % total < sc_index_at(mask, i / total);
        }
        c.attention.bias = rooms.flags;
        c.attention.bias_is_mask = true;
        c.attention.bias_strides[0] = total;
        c.attention.bias_strides[3] = 1;
        c.attention.bias_length = total;
    }
    sc_cached_run(&c, call->kernels, call->team, rooms.rest);
}

const struct sc_op sc_ops_ms_attention[] = {
    {.domain = "com.microsoft",
        .name = "Attention",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_attention,
        .infer = infer_attention,
        .prepare = prepare_attention,
        .pack = pack_attention,
        .scratch = scratch_attention,
        .resolve = resolve_attention,
        .run = run_attention},
    {.name = NULL},
};
