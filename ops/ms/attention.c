/* SPDX-License-Identifier: Apache-2.0
 * Attention of com.microsoft: one product makes Q, K and V of a row; the cache of both is one tensor
 * [2, batch, heads, positions, width], keys first. One that is kept in pages is a state of twice as many heads. */
#include "ops/ms/attention.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/cache.h"
#include "ops/nn/product.h"
#include "ops/shape/shape.h"

static enum sc_status read_sizes(const struct sc_graph *graph, const struct sc_node *node, struct sc_joint_params *p)
{
    int n;
    const int64_t *sizes;
    SC_TRY(sc_node_ints(node, "qkv_hidden_sizes", &n, &sizes));
    if (n < 1) {
        return SC_OK;
    }
    if (n != 3 || sizes[0] < 1 || sizes[0] != sizes[1] || sizes[2] < 1 || sizes[0] % p->heads != 0 ||
        sizes[2] % p->heads != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "qkv_hidden_sizes has %d entries that are not sizes of %lld heads each of Q, K and V, the first two equal",
            n, (long long)p->heads);
    }
    memcpy(p->hidden, sizes, sizeof p->hidden);
    return SC_OK;
}

static enum sc_status params_attention(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_joint_params), params));
    struct sc_joint_params *p = *params;
    int64_t rotary;
    SC_TRY(sc_node_int(node, "num_heads", 0, &p->heads));
    SC_TRY(sc_node_int(node, "unidirectional", 0, &p->causal));
    SC_TRY(sc_node_int(node, "past_present_share_buffer", 0, &p->shared));
    SC_TRY(sc_node_int(node, "do_rotary", 0, &rotary));
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    SC_TRY(sc_node_float(node, "mask_filter_value", -10000.0F, &p->filter));
    if (p->heads < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "num_heads is %lld, want 1 or more", (long long)p->heads);
    }
    if (rotary) {
        return sc_node_fail(graph, node, SC_UNSUPPORTED, "do_rotary is not supported");
    }
    return read_sizes(graph, node, p);
}

/* Of weights with so many columns. */
static enum sc_status split_columns(const struct sc_infer *infer, int64_t columns, struct sc_joint_sizes *s)
{
    const struct sc_joint_params *p = infer->params;
    const bool told = p->hidden[0] > 0;
    s->hidden = told ? p->hidden[0] : columns >= 0 ? columns / 3 : SC_DIM_UNKNOWN;
    s->v_hidden = told ? p->hidden[2] : s->hidden;
    if (columns >= 0 && (columns != 2 * s->hidden + s->v_hidden || s->hidden % p->heads != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "weights of width %lld for %lld heads",
            (long long)columns, (long long)p->heads);
    }
    s->width = s->hidden >= 0 ? s->hidden / p->heads : SC_DIM_UNKNOWN;
    s->v_width = s->v_hidden >= 0 ? s->v_hidden / p->heads : SC_DIM_UNKNOWN;
    return SC_OK;
}

/* Positions: past and total are found later where caches are kept in pages, or share a buffer whose length is data. */
static void find_positions(const struct sc_infer *infer, struct sc_joint_sizes *s)
{
    const struct sc_joint_params *p = infer->params;
    const struct sc_fact *past = sc_infer_in(infer, SC_JOINT_PAST), *told = sc_infer_in(infer, SC_JOINT_PAST_LENGTH);
    s->resident = past && past->kind == SC_KIND_STATE;
    s->room = past && past->rank == 5 ? past->dims[3] : past ? SC_DIM_UNKNOWN : 0;
    s->past = s->resident || p->shared ? SC_DIM_UNKNOWN : s->room;
    if (p->shared && told && told->value && sc_tensor_count(told->value) == 1) {
        s->past = sc_index_at(told->value, 0);
    }
    s->total = s->past >= 0 && s->n >= 0 ? s->past + s->n : SC_DIM_UNKNOWN;
    s->room = p->shared ? s->room : s->total;
}

static enum sc_status find_sizes(const struct sc_infer *infer, struct sc_joint_sizes *s)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[SC_JOINT_X], *w = infer->in[SC_JOINT_WEIGHTS];
    if ((x->rank >= 0 && x->rank != 3) || (w->rank >= 0 && w->rank != 2)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input has rank %d and weights %d, want 3 and 2",
            x->rank, w->rank);
    }
    const int64_t unknown = SC_DIM_UNKNOWN;
    s->batch = x->rank == 3 ? x->dims[0] : unknown;
    s->n = x->rank == 3 ? x->dims[1] : unknown;
    s->inner = w->rank == 2 ? w->dims[0] : unknown;
    SC_TRY(split_columns(infer, w->rank == 2 ? w->dims[1] : unknown, s));
    if (x->rank == 3 && x->dims[2] >= 0 && s->inner >= 0 && x->dims[2] != s->inner) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input has width %lld, weights %lld rows",
            (long long)x->dims[2], (long long)s->inner);
    }
    find_positions(infer, s);
    return SC_OK;
}

static enum sc_status check_caches(const struct sc_infer *infer, const struct sc_joint_sizes *s)
{
    const struct sc_joint_params *p = infer->params;
    const struct sc_fact *past = sc_infer_in(infer, SC_JOINT_PAST);
    const int64_t dims[5] = {2, s->batch, p->heads, SC_DIM_UNKNOWN, s->width};
    const int64_t kept[4] = {s->batch, 2 * p->heads, SC_DIM_UNKNOWN, s->width};
    if ((past || sc_infer_out(infer, 1)) && s->hidden >= 0 && s->hidden != s->v_hidden) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "past or present where V has another width than K");
    }
    if (p->shared && !past) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "past_present_share_buffer without past");
    }
    return s->resident ? sc_infer_want(infer, SC_JOINT_PAST, "past", 4, kept)
                       : sc_infer_want(infer, SC_JOINT_PAST, "past", 5, dims);
}

static enum sc_status infer_attention(struct sc_infer *infer)
{
    const struct sc_joint_params *p = infer->params;
    struct sc_joint_sizes s;
    SC_TRY(find_sizes(infer, &s));
    SC_TRY(check_caches(infer, &s));
    const enum sc_type type = infer->in[SC_JOINT_X]->type;
    const int64_t bias[1] = {s.hidden >= 0 ? 2 * s.hidden + s.v_hidden : SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_want(infer, SC_JOINT_BIAS, "bias", 1, bias));
    const struct sc_fact *added = sc_infer_in(infer, SC_JOINT_SCORES_BIAS);
    if (added && added->rank == 4 && added->dims[1] >= 0 && added->dims[1] != 1 && added->dims[1] != p->heads) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "attention_bias has %lld heads, want 1 or %lld",
            (long long)added->dims[1], (long long)p->heads);
    }
    const int64_t dims[3] = {s.batch, s.n, s.v_hidden}, present[5] = {2, s.batch, p->heads, s.room, s.width};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], type, 3, dims);
    }
    if (sc_infer_out(infer, 1) && s.resident) {
        *infer->out[1] = *infer->in[SC_JOINT_PAST];
    } else if (sc_infer_out(infer, 1)) {
        sc_fact_tensor(infer->out[1], type, 5, present);
    }
    return SC_OK;
}

struct sc_joint_sizes sc_joint_call_sizes(const struct sc_call *call, bool with_data)
{
    struct sc_call_facts facts;
    struct sc_joint_sizes s = {0};
    sc_call_facts_init(&facts, call);
    if (!with_data) {
        facts.facts[SC_JOINT_PAST_LENGTH].value = NULL;
    }
    (void)find_sizes(&facts.infer, &s); /* infer has checked it */
    if (s.resident) {
        const struct sc_state *state = call->in[SC_JOINT_PAST]->u.state;
        s.past = 0;
        for (int64_t b = 0; b < s.batch && with_data; b++) {
            s.past = state->rows[b].length > s.past ? state->rows[b].length : s.past;
        }
        s.room = 0;
        s.total = with_data ? s.past + s.n : state->capacity;
    } else if (s.past < 0) { /* shared, not yet known */
        s.past = 0;
        s.total = s.room;
    }
    return s;
}

struct sc_added sc_joint_added(const struct sc_call *call, const struct sc_joint_sizes *s)
{
    const struct sc_joint_params *p = call->params;
    return (struct sc_added){.mask = sc_call_in(call, SC_JOINT_MASK),
        .bias = sc_call_in(call, SC_JOINT_SCORES_BIAS),
        .hidden = p->filter,
        .type = sc_call_in(call, SC_JOINT_X)->type,
        .batch = s->batch,
        .n = s->n,
        .past = s->past,
        .total = s->total};
}

static enum sc_status check_kept(const struct sc_call *call, const struct sc_joint_sizes *s, bool one_length)
{
    const struct sc_state *state = call->in[SC_JOINT_PAST]->u.state;
    for (int64_t b = 0; b < s->batch; b++) {
        if (one_length && state->rows[b].length != s->past) {
            return sc_node_fail(call->graph, call->node, SC_INTERNAL, "caches of several lengths");
        }
        SC_TRY(sc_cache_check_room(call, state, (int)b, state->rows[b].length, s->n));
    }
    return SC_OK;
}

static enum sc_status resolve_attention(const struct sc_call *call)
{
    const struct sc_joint_params *p = call->params;
    const struct sc_tensor *told = sc_call_in(call, SC_JOINT_PAST_LENGTH);
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_joint_sizes s = sc_joint_call_sizes(call, true);
    if (p->shared && !s.resident && (!told || sc_tensor_count(told) != 1)) {
        return sc_node_fail(call->graph, call->node, told ? SC_BAD_INPUT : SC_BAD_MODEL,
            "past_present_share_buffer without a past_sequence_length of one entry");
    }
    if (p->shared && !s.resident && (s.past < 0 || s.past > s.room - s.n)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "past_sequence_length is %lld, with %lld new rows and room for %lld", (long long)s.past, (long long)s.n,
            (long long)s.room);
    }
    const struct sc_added added = sc_joint_added(call, &s);
    if (s.resident) {
        SC_TRY(check_kept(call, &s, added.mask || added.bias));
    }
    return sc_added_check(call, &added, "mask_index");
}

static enum sc_status prepare_attention(struct sc_prepare *prepare)
{
    const struct sc_fact *w = prepare->in[SC_JOINT_WEIGHTS];
    const bool constant = prepare->constant[SC_JOINT_WEIGHTS] && sc_fact_dims_known(w) && w->rank == 2;
    prepare->choice = (int)sc_product_choose(
        w->type, constant, prepare->blas, constant ? w->dims[0] : -1, constant ? w->dims[1] : -1);
    if (prepare->choice == SC_PRODUCT_PACKED) {
        prepare->packed_inputs = 1U << SC_JOINT_WEIGHTS;
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

static void cost_attention(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_joint_params *p = infer->params;
    struct sc_joint_sizes s;
    if (find_sizes(infer, &s) != SC_OK) {
        return;
    }
    const struct sc_fact *past = sc_infer_in(infer, SC_JOINT_PAST);
    const double bytes = (double)sc_type_bytes(infer->in[SC_JOINT_X]->type);
    const double total = (double)(s.resident ? past->dims[2] : s.total >= 0 ? s.total : s.room);
    const double rows = (double)(s.batch * s.n), columns = (double)(2 * s.hidden + s.v_hidden);
    const double weights = (double)s.inner * columns, widths = (double)(s.hidden + s.v_hidden);
    cost->operations = 2 * rows * weights + 2 * rows * total * widths + 8 * rows * (double)p->heads * total;
    cost->read_bytes = bytes * (weights + rows * (double)s.inner + (double)s.batch * total * widths);
    cost->written_bytes = bytes * rows * (double)s.v_hidden;
}

const struct sc_op sc_ops_ms_attention[] = {
    {.domain = "com.microsoft",
        .name = "Attention",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_STATE,
        .params = params_attention,
        .infer = infer_attention,
        .prepare = prepare_attention,
        .pack = pack_attention,
        .scratch = sc_joint_scratch,
        .resolve = resolve_attention,
        .run = sc_joint_run,
        .cost = cost_attention},
    {.name = NULL},
};
