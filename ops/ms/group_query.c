/* SPDX-License-Identifier: Apache-2.0
 * GroupQueryAttention: rotary embedding, caches at their own positions, causal attention with fewer key heads. Each batch
 * row has seqlens_k + 1 valid keys after this call. Without seqlens_k and total_sequence_length, which passes leave out,
 * the whole past is valid. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/ms/cached.h"
#include "ops/nn/cache.h"
#include "ops/nn/rotary.h"
#include "ops/shape/shape.h"

enum input { QUERY, KEY, VALUE, PAST_K, PAST_V, SEQLENS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK, N_IN };

struct params {
    int64_t q_heads, kv_heads, window, rotary, interleaved;
    float scale, softcap;
};

static enum sc_status params_gqa(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    int64_t smooth, qk_output;
    const char *quantised;
    SC_TRY(sc_node_int(node, "num_heads", 0, &p->q_heads));
    SC_TRY(sc_node_int(node, "kv_num_heads", 0, &p->kv_heads));
    SC_TRY(sc_node_int(node, "local_window_size", -1, &p->window));
    SC_TRY(sc_node_int(node, "do_rotary", 0, &p->rotary));
    SC_TRY(sc_node_int(node, "rotary_interleaved", 0, &p->interleaved));
    SC_TRY(sc_node_int(node, "smooth_softmax", 0, &smooth));
    SC_TRY(sc_node_int(node, "qk_output", 0, &qk_output));
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    SC_TRY(sc_node_float(node, "softcap", 0.0F, &p->softcap));
    SC_TRY(sc_node_text(node, "k_quant_type", "NONE", &quantised));
    if (p->q_heads < 1 || p->kv_heads < 1 || p->q_heads % p->kv_heads != 0 || p->softcap < 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "%lld query heads cannot share %lld key heads",
            (long long)p->q_heads, (long long)p->kv_heads);
    }
    if (smooth > 0 || qk_output > 0 || strcmp(quantised, "NONE") != 0) {
        return sc_node_fail(
            graph, node, SC_UNSUPPORTED, "smooth_softmax, qk_output and quantised caches are not supported");
    }
    return SC_OK;
}

/* Sizes; unknown ones are SC_DIM_UNKNOWN. */
struct sizes {
    int64_t batch, n, width, past, total; /* past: rows that past_key has room for, 0 without one */
    bool packed; /* query holds Q, K and V */
    bool resident;
};

static enum sc_status find_sizes(const struct sc_infer *infer, struct sizes *s)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *query = infer->in[QUERY];
    const struct sc_fact *past = sc_infer_in(infer, PAST_K);
    const struct sc_fact *total = sc_infer_in(infer, TOTAL);
    *s = (struct sizes){.total = SC_DIM_UNKNOWN, .packed = !sc_infer_in(infer, KEY)};
    if (sc_infer_in(infer, SINK)) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "head_sink is not supported");
    }
    if (query->rank >= 0 && query->rank != 3) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "query has rank %d, want 3", query->rank);
    }
    const int64_t heads = s->packed ? p->q_heads + 2 * p->kv_heads : p->q_heads;
    const int64_t hidden = query->rank == 3 ? query->dims[2] : SC_DIM_UNKNOWN;
    s->batch = query->rank == 3 ? query->dims[0] : SC_DIM_UNKNOWN;
    s->n = query->rank == 3 ? query->dims[1] : SC_DIM_UNKNOWN;
    if (hidden >= 0 && hidden % heads != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "query of width %lld cannot be cut in %lld heads",
            (long long)hidden, (long long)heads);
    }
    s->width = hidden >= 0 ? hidden / heads : SC_DIM_UNKNOWN;
    if (past) {
        s->resident = past->kind == SC_KIND_STATE;
        s->past = past->rank == 4 ? past->dims[2] : SC_DIM_UNKNOWN;
    }
    if (!total && s->past >= 0 && s->n >= 0) {
        s->total = s->past + s->n;
    }
    if (total && total->value && sc_tensor_count(total->value) == 1) {
        s->total = sc_index_at(total->value, 0);
        if (s->total < 0) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "total_sequence_length is %lld", (long long)s->total);
        }
    }
    return SC_OK;
}

static enum sc_status check_dims(const struct sc_infer *infer, int input, int rank, const int64_t *want)
{
    const struct sc_fact *fact = sc_infer_in(infer, input);
    if (!fact || fact->rank < 0) {
        return SC_OK;
    }
    bool fits = fact->rank == rank;
    for (int i = 0; fits && i < rank; i++) {
        fits = fact->dims[i] < 0 || want[i] < 0 || fact->dims[i] == want[i];
    }
    if (!fits) {
        char a[128], b[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input %d is %s, want %s", input,
            sc_dims_text(fact->rank, fact->dims, a, sizeof a), sc_dims_text(rank, want, b, sizeof b));
    }
    return SC_OK;
}

static enum sc_status check_inputs(const struct sc_infer *infer, const struct sizes *s)
{
    const struct params *p = infer->params;
    const int64_t hidden = s->width >= 0 ? p->kv_heads * s->width : SC_DIM_UNKNOWN;
    const int64_t rows[3] = {s->batch, s->n, hidden};
    const int64_t cache[4] = {s->batch, p->kv_heads, SC_DIM_UNKNOWN, s->width};
    SC_TRY(check_dims(infer, KEY, 3, rows));
    SC_TRY(check_dims(infer, VALUE, 3, rows));
    SC_TRY(check_dims(infer, PAST_K, 4, cache));
    SC_TRY(check_dims(infer, PAST_V, 4, cache));
    for (int i = 0; i < 2; i++) {
        const struct sc_fact *angles = sc_infer_in(infer, COS + i);
        if (p->rotary && !angles) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "do_rotary without cos_cache and sin_cache");
        }
        if (angles && angles->rank >= 0 &&
            (angles->rank != 2 || (s->width >= 0 && angles->dims[1] >= 0 && 2 * angles->dims[1] > s->width))) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input %d does not fit heads of %lld", COS + i,
                (long long)s->width);
        }
    }
    const struct sc_fact *past[2] = {sc_infer_in(infer, PAST_K), sc_infer_in(infer, PAST_V)};
    if (!past[0] != !past[1] || (past[0] && past[0]->kind != past[1]->kind) ||
        s->packed != !sc_infer_in(infer, VALUE)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "key and value, or their pasts, do not come in pairs");
    }
    return SC_OK;
}

static enum sc_status infer_gqa(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    struct sizes s;
    SC_TRY(find_sizes(infer, &s));
    SC_TRY(check_inputs(infer, &s));
    const enum sc_type type = infer->in[QUERY]->type;
    const int64_t dims[3] = {s.batch, s.n, s.width >= 0 ? s.width * p->q_heads : SC_DIM_UNKNOWN};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], type, 3, dims);
    }
    for (int i = 1; i < 3; i++) {
        if (!sc_infer_out(infer, i)) {
            continue;
        }
        if (s.resident) {
            *infer->out[i] = *infer->in[PAST_K + i - 1];
            continue;
        }
        /* A past with room for everything is a shared buffer: the present has its size. */
        const int64_t room = s.past >= 0 && s.total >= 0 ? (s.past > s.total ? s.past : s.total) : SC_DIM_UNKNOWN;
        const int64_t present[4] = {s.batch, p->kv_heads, room, s.width};
        sc_fact_tensor(infer->out[i], type, 4, present);
    }
    return SC_OK;
}

static void call_facts(const struct sc_call *call, struct sc_fact *facts, const struct sc_fact **at)
{
    for (int i = 0; i < N_IN; i++) {
        at[i] = NULL;
        if (i < call->n_in && call->in[i]) {
            sc_fact_of_input(&facts[i], call->in[i]);
            at[i] = &facts[i];
        }
    }
}

/* with_data: total_sequence_length can be read. */
static struct sizes call_sizes(const struct sc_call *call, bool with_data)
{
    struct sc_fact facts[N_IN];
    const struct sc_fact *at[N_IN];
    struct sizes s = {0};
    call_facts(call, facts, at);
    if (!with_data && at[TOTAL]) {
        facts[TOTAL].value = NULL;
    }
    const struct sc_infer infer = {
        .graph = call->graph, .node = call->node, .params = call->params, .n_in = N_IN, .in = at};
    (void)find_sizes(&infer, &s); /* resolve fails where this would */
    return s;
}

/* Where the new rows of a batch row start, and how many keys there are then. A first prompt may be padded at its end. */
static void find_span(const struct sc_call *call, const struct sizes *s, int64_t b, int64_t *start, int64_t *length)
{
    if (s->resident) {
        *start = call->in[PAST_K]->u.state->rows[b].length;
        *length = *start + s->n;
        return;
    }
    if (!sc_call_in(call, SEQLENS)) {
        *start = s->past;
        *length = s->total;
        return;
    }
    *length = sc_index_at(sc_call_in(call, SEQLENS), b) + 1;
    *start = s->total == s->n ? 0 : *length - s->n;
}

static enum sc_status check_span(const struct sc_call *call, const struct sizes *s, int64_t b)
{
    const struct params *p = call->params;
    int64_t start, length;
    find_span(call, s, b, &start, &length);
    if (s->resident) {
        SC_TRY(sc_cache_check_room(call, call->in[PAST_K]->u.state, (int)b, start, s->n));
        SC_TRY(sc_cache_check_room(call, call->in[PAST_V]->u.state, (int)b, start, s->n));
        const struct sc_tensor *seqlens = sc_call_in(call, SEQLENS);
        if (seqlens && sc_index_at(seqlens, b) + 1 != length) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "seqlens_k is %lld in batch row %lld, the cache has %lld rows", (long long)sc_index_at(seqlens, b),
                (long long)b, (long long)length);
        }
    } else if (start < 0 || start > s->past || length > s->total) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "seqlens_k is %lld in batch row %lld, with %lld new rows, a past of %lld and a total of %lld",
            (long long)length - 1, (long long)b, (long long)s->n, (long long)s->past, (long long)s->total);
    }
    const struct sc_tensor *cosines = sc_call_in(call, COS);
    const struct sc_tensor *positions = sc_call_in(call, POSITIONS);
    if (!p->rotary) {
        return SC_OK;
    }
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t at = positions ? sc_index_at(positions, b * s->n + i) : start + i;
        const int64_t rows =
            cosines->dims[0] < sc_call_in(call, SIN)->dims[0] ? cosines->dims[0] : sc_call_in(call, SIN)->dims[0];
        if (at < 0 || at >= rows) {
            return sc_node_fail(call->graph, call->node, SC_LIMIT,
                "position %lld is outside of the cos and sin caches, which have %lld rows", (long long)at,
                (long long)rows);
        }
    }
    return SC_OK;
}

static enum sc_status check_bias(const struct sc_call *call, const struct sizes *s)
{
    const struct params *p = call->params;
    const struct sc_tensor *bias = sc_call_in(call, BIAS);
    if (!bias) {
        return SC_OK;
    }
    const int64_t want[3] = {s->batch, p->q_heads, s->n};
    bool fits = bias->rank == 4;
    for (int i = 0; fits && i < 3; i++) {
        fits = bias->dims[i] == 1 || bias->dims[i] == want[i];
    }
    return fits
        ? SC_OK
        : sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "attention_bias does not broadcast to the scores");
}

static enum sc_status resolve_gqa(const struct sc_call *call)
{
    struct sc_fact facts[N_IN], out_facts[3];
    const struct sc_fact *at[N_IN];
    struct sc_fact *out[3] = {NULL};
    call_facts(call, facts, at);
    for (int i = 0; i < 3 && i < call->n_out; i++) {
        sc_fact_init(&out_facts[i]);
        out[i] = call->out[i] ? &out_facts[i] : NULL;
    }
    struct sc_infer infer = {.graph = call->graph,
        .node = call->node,
        .params = call->params,
        .n_in = N_IN,
        .n_out = 3,
        .in = at,
        .out = out};
    SC_TRY(infer_gqa(&infer));
    const struct sizes s = call_sizes(call, true);
    const struct sc_tensor *seqlens = sc_call_in(call, SEQLENS);
    const struct sc_tensor *positions = sc_call_in(call, POSITIONS);
    if (!seqlens != !sc_call_in(call, TOTAL) || (seqlens && (sc_tensor_count(seqlens) != s.batch || s.total < 0)) ||
        (positions && sc_tensor_count(positions) != s.batch * s.n)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "seqlens_k, total_sequence_length or position_ids do not fit a batch of %lld", (long long)s.batch);
    }
    for (int i = 0; i < 3; i++) {
        if (out[i] && out[i]->kind == SC_KIND_TENSOR) {
            SC_TRY(sc_resolve_dims(call, i, out[i]->type, out[i]->rank, out[i]->dims));
        }
    }
    SC_TRY(check_bias(call, &s));
    for (int64_t b = 0; b < s.batch; b++) {
        SC_TRY(check_span(call, &s, b));
    }
    return SC_OK;
}

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Scratch: spans, rotated Q and K, present caches that nobody asked for, rooms of workers, then the attention's. */
struct rooms {
    int64_t *start, *length;
    void *q, *k; /* [batch, n, heads, width] */
    void *present_k, *present_v;
    char *rotate;
    void *rest;
    size_t bytes;
};

static void *take(char *base, size_t *total, size_t bytes)
{
    char *at = base ? base + *total : NULL;
    *total += align64(bytes);
    return at;
}

static struct rooms cut_rooms(const struct sc_call *call, const struct sizes *s, char *base)
{
    const struct params *p = call->params;
    const size_t bytes = sc_type_bytes(sc_call_in(call, QUERY)->type);
    const size_t row = (size_t)(s->batch * s->n * s->width) * bytes;
    const int64_t room = s->past > s->total ? s->past : s->total;
    const size_t cache = (size_t)(s->batch * p->kv_heads * room * s->width) * bytes;
    struct rooms r = {0};
    r.start = take(base, &r.bytes, (size_t)s->batch * sizeof(int64_t));
    r.length = take(base, &r.bytes, (size_t)s->batch * sizeof(int64_t));
    if (p->rotary) {
        r.q = take(base, &r.bytes, row * (size_t)p->q_heads);
        r.k = take(base, &r.bytes, row * (size_t)p->kv_heads);
        r.rotate = take(base, &r.bytes, sc_rotate_room_bytes(s->width) * (size_t)sc_team_size(call->team));
    }
    if (!s->resident) {
        r.present_k = sc_call_out(call, 1) ? NULL : take(base, &r.bytes, cache);
        r.present_v = sc_call_out(call, 2) ? NULL : take(base, &r.bytes, cache);
    }
    r.rest = take(base, &r.bytes, 0);
    return r;
}

/* Element strides of one of Q, K, V: heads side by side in rows of `hidden`. */
static void set_strides(const struct sizes *s, int64_t hidden, int64_t strides[4])
{
    strides[0] = s->n * hidden;
    strides[1] = s->width;
    strides[2] = hidden;
    strides[3] = 1;
}

static void describe(const struct sc_call *call, const struct sizes *s, struct sc_cached_attention *c)
{
    const struct params *p = call->params;
    const struct sc_tensor *query = sc_call_in(call, QUERY);
    const struct sc_tensor *bias = sc_call_in(call, BIAS);
    const size_t bytes = sc_type_bytes(query->type);
    const int64_t q_hidden = query->dims[2];
    const int64_t kv_hidden = s->packed ? q_hidden : p->kv_heads * s->width;
    memset(c, 0, sizeof(*c));
    struct sc_attention *a = &c->attention;
    *a = (struct sc_attention){.type = query->type,
        .batch = s->batch,
        .q_heads = p->q_heads,
        .kv_heads = p->kv_heads,
        .n_q = s->n,
        .qk_width = s->width,
        .v_width = s->width,
        .q = query->data,
        .scale = p->scale != 0.0F ? (double)p->scale : 1.0 / sqrt((double)s->width),
        .softcap = (double)p->softcap,
        .causal = true,
        .left_window = p->window > 0 ? p->window - 1 : -1,
        .right_window = -1,
        .y = sc_call_out(call, 0)->data,
        .tap = SC_TAP_NONE};
    set_strides(s, q_hidden, a->q_strides);
    set_strides(s, p->q_heads * s->width, a->y_strides);
    set_strides(s, kv_hidden, c->k_strides);
    set_strides(s, kv_hidden, c->v_strides);
    c->n_new = s->n;
    c->k = s->packed ? sc_const_at(query->data, p->q_heads * s->width, bytes) : sc_call_in(call, KEY)->data;
    c->v = s->packed ? sc_const_at(query->data, (p->q_heads + p->kv_heads) * s->width, bytes)
                     : sc_call_in(call, VALUE)->data;
    if (bias) {
        a->bias = bias->data;
        a->bias_length = bias->dims[3];
        for (int i = 0; i < 4; i++) {
            a->bias_strides[i] = bias->dims[i] == 1 && i < 3 ? 0 : bias->strides[i];
        }
    }
    if (s->resident) {
        c->state_k = call->in[PAST_K]->u.state;
        c->state_v = call->in[PAST_V]->u.state;
        return;
    }
    c->past_k = sc_call_in(call, PAST_K) ? sc_call_in(call, PAST_K)->data : NULL;
    c->past_v = sc_call_in(call, PAST_V) ? sc_call_in(call, PAST_V)->data : NULL;
    c->past_room = s->past;
    c->present_room = s->past > s->total ? s->past : s->total;
}

static size_t scratch_gqa(const struct sc_call *call)
{
    struct sc_cached_attention c;
    const struct sizes s = call_sizes(call, false);
    struct sizes bound = s; /* total is data: the present's dims tell it here, or what a cache can hold */
    const struct sc_tensor *present = sc_call_out(call, 1) ? sc_call_out(call, 1) : sc_call_out(call, 2);
    bound.total = s.resident ? s.past : present ? present->dims[2] : s.past + s.n;
    describe(call, &bound, &c);
    return cut_rooms(call, &bound, NULL).bytes +
        sc_cached_scratch_bytes(&c, c.state_k ? s.past : c.present_room, sc_team_size(call->team));
}

struct rotate {
    const struct sc_call *call;
    const struct sizes *s;
    struct sc_cached_attention *c;
    const struct rooms *rooms;
};

static void rotate_part(void *arg, int64_t token, int worker)
{
    const struct rotate *job = arg;
    const struct params *p = job->call->params;
    const struct sizes *s = job->s;
    const struct sc_attention *a = &job->c->attention;
    const struct sc_tensor *cosines = sc_call_in(job->call, COS);
    const struct sc_tensor *sines = sc_call_in(job->call, SIN);
    const struct sc_tensor *positions = sc_call_in(job->call, POSITIONS);
    const size_t bytes = sc_type_bytes(a->type);
    float *room = (float *)(void *)(job->rooms->rotate + (size_t)worker * sc_rotate_room_bytes(s->width));
    const struct sc_rotation r = {.kernels = job->call->kernels,
        .type = a->type,
        .width = 2 * cosines->dims[1],
        .head_width = s->width,
        .interleaved = p->interleaved != 0};
    const int64_t b = token / s->n;
    const int64_t i = token % s->n;
    const int64_t position = positions ? sc_index_at(positions, token) : job->rooms->start[b] + i;
    const void *cosine = sc_const_at(cosines->data, position * cosines->dims[1], bytes);
    const void *sine = sc_const_at(sines->data, position * cosines->dims[1], bytes);
    for (int64_t h = 0; h < p->q_heads; h++) {
        const int64_t from = b * a->q_strides[0] + h * a->q_strides[1] + i * a->q_strides[2];
        sc_rotate_head(&r, sc_const_at(a->q, from, bytes), cosine, sine,
            sc_at(job->rooms->q, (token * p->q_heads + h) * s->width, bytes), room);
    }
    for (int64_t h = 0; h < p->kv_heads; h++) {
        const int64_t from = b * job->c->k_strides[0] + h * job->c->k_strides[1] + i * job->c->k_strides[2];
        sc_rotate_head(&r, sc_const_at(job->c->k, from, bytes), cosine, sine,
            sc_at(job->rooms->k, (token * p->kv_heads + h) * s->width, bytes), room);
    }
}

static void rotate_all(
    const struct sc_call *call, const struct sizes *s, struct sc_cached_attention *c, const struct rooms *rooms)
{
    const struct params *p = call->params;
    struct rotate job = {call, s, c, rooms};
    sc_team_for(call->team, s->batch * s->n, rotate_part, &job);
    c->attention.q = rooms->q;
    c->k = rooms->k;
    set_strides(s, p->q_heads * s->width, c->attention.q_strides);
    set_strides(s, p->kv_heads * s->width, c->k_strides);
}

static void run_gqa(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sizes s = call_sizes(call, true);
    struct sc_cached_attention c;
    const struct rooms rooms = cut_rooms(call, &s, call->scratch);
    describe(call, &s, &c);
    for (int64_t b = 0; b < s.batch; b++) {
        find_span(call, &s, b, &rooms.start[b], &rooms.length[b]);
    }
    if (p->rotary) {
        rotate_all(call, &s, &c, &rooms);
    }
    c.start = rooms.start;
    c.length = rooms.length;
    for (int i = 1; i < 3; i++) {
        if (s.resident && i < call->n_out && call->out[i]) {
            call->out[i]->kind = SC_KIND_STATE;
            call->out[i]->u.state = call->in[PAST_K + i - 1]->u.state;
        }
    }
    if (!s.resident) {
        const struct sc_tensor *present_k = sc_call_out(call, 1);
        const struct sc_tensor *present_v = sc_call_out(call, 2);
        c.present_k = present_k ? present_k->data : rooms.present_k;
        c.present_v = present_v ? present_v->data : rooms.present_v;
        if (present_k && sc_tensor_bytes(present_k) > 0 && present_v) { /* rows past the valid ones are zeros */
            memset(c.present_k, 0, sc_tensor_bytes(present_k));
            memset(c.present_v, 0, sc_tensor_bytes(present_v));
        }
    }
    sc_cached_run(&c, call->kernels, call->team, rooms.rest);
}

static void cost_gqa(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct params *p = infer->params;
    struct sizes s;
    if (find_sizes(infer, &s) != SC_OK) {
        return;
    }
    const double bytes = (double)sc_type_bytes(infer->in[QUERY]->type);
    const double total = (double)(s.total >= 0 ? s.total : s.past + s.n);
    const double queries = (double)(s.batch * p->q_heads * s.n);
    cost->operations = 4 * queries * total * (double)s.width + 8 * queries * total;
    cost->read_bytes = bytes * (2 * (double)(s.batch * p->kv_heads * s.width) * total + queries * (double)s.width);
    cost->written_bytes = bytes * queries * (double)s.width;
}

const struct sc_op sc_ops_ms_group_query[] = {
    {.domain = "com.microsoft",
        .name = "GroupQueryAttention",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_STATE,
        .params = params_gqa,
        .infer = infer_gqa,
        .scratch = scratch_gqa,
        .resolve = resolve_gqa,
        .run = run_gqa,
        .cost = cost_gqa},
    {.name = NULL},
};
