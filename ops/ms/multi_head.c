/* SPDX-License-Identifier: Apache-2.0
 * MultiHeadAttention of com.microsoft: what it is. Q, K and V come apart, packed, or K and V as they are kept. Of
 * DecoderMaskedMultiHeadAttention, which has its inputs in another order, a row of the batch has one query; where its
 * caches are kept in pages, some queries are as many calls, and so causal. */
#include "ops/ms/multi_head.h"

#include "ops/infer.h"
#include "ops/nn/cache.h"
#include "ops/shape/shape.h"

static const signed char plain_inputs[SC_MHA_N_IN] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1};
static const signed char masked_inputs[SC_MHA_N_IN] = {0, 1, 2, 10, 3, 4, 5, 6, 7, 9, 8};

static const struct sc_fact *fact_in(const struct sc_infer *infer, enum sc_mha_input input)
{
    const struct sc_mha_params *p = infer->params;
    return p->at[input] < 0 ? NULL : sc_infer_in(infer, p->at[input]);
}

const struct sc_tensor *sc_mha_in(const struct sc_call *call, enum sc_mha_input input)
{
    const struct sc_mha_params *p = call->params;
    return p->at[input] < 0 ? NULL : sc_call_in(call, p->at[input]);
}

struct sc_state *sc_mha_state(const struct sc_call *call, enum sc_mha_input input)
{
    const struct sc_mha_params *p = call->params;
    return call->in[p->at[input]]->u.state;
}

static enum sc_status params_mha(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_mha_params), params));
    struct sc_mha_params *p = *params;
    p->at = plain_inputs;
    p->shared = node->n_in > plain_inputs[SC_MHA_PAST_LENGTH] && node->in[plain_inputs[SC_MHA_PAST_LENGTH]] >= 0;
    SC_TRY(sc_node_int(node, "num_heads", 0, &p->heads));
    SC_TRY(sc_node_int(node, "unidirectional", 0, &p->causal));
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    SC_TRY(sc_node_float(node, "mask_filter_value", -10000.0F, &p->hidden));
    return p->heads >= 1
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "num_heads is %lld, want 1 or more", (long long)p->heads);
}

static enum sc_status params_masked(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    int64_t wants_scores;
    SC_TRY(params_mha(graph, node, arena, params));
    struct sc_mha_params *p = *params;
    p->at = masked_inputs;
    p->single = true;
    SC_TRY(sc_node_int(node, "past_present_share_buffer", 0, &p->shared));
    SC_TRY(sc_node_int(node, "output_qk", 0, &wants_scores));
    return wants_scores || node->n_out < 4 || node->out[3] < 0
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "qk is asked for, but output_qk is 0");
}

static enum sc_status cut_width(const struct sc_infer *infer, const char *name, int64_t hidden, int64_t *width)
{
    const struct sc_mha_params *p = infer->params;
    *width = hidden >= 0 ? hidden / p->heads : SC_DIM_UNKNOWN;
    return hidden < 0 || hidden % p->heads == 0
        ? SC_OK
        : sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s of width %lld cannot be cut in %lld heads", name,
              (long long)hidden, (long long)p->heads);
}

/* Q, K and V are one beside the other in a query. */
static enum sc_status cut_three(const struct sc_infer *infer, int64_t *width)
{
    if (*width % 3 != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "query cannot be cut in Q, K and V");
    }
    *width /= 3;
    return SC_OK;
}

/* Which of the forms it is, by ranks; and the sizes that they tell. */
static enum sc_status find_form(const struct sc_infer *infer, struct sc_mha_sizes *s)
{
    const struct sc_fact *q = infer->in[0], *k = fact_in(infer, SC_MHA_KEY), *v = fact_in(infer, SC_MHA_VALUE);
    const struct sc_mha_params *p = infer->params;
    const bool packed = !k && !v && (q->rank == (p->single ? 3 : 5) || q->rank < 0);
    const bool pairs = k && !v && (k->rank == 5 || k->rank < 0);
    const bool apart = k && v && (k->rank == 3 || k->rank == 4 || k->rank < 0) && (v->rank == k->rank || v->rank < 0);
    if ((!packed && q->rank >= 0 && q->rank != 3) || (!packed && !pairs && !apart)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "query, key and value of ranks %d, %d and %d are none of the forms", q->rank, k ? k->rank : 0,
            v ? v->rank : 0);
    }
    s->form = packed   ? (p->single ? SC_MHA_ABREAST : SC_MHA_PACKED)
        : pairs        ? SC_MHA_PAIRS
        : k->rank == 4 ? SC_MHA_KEPT
                       : SC_MHA_APART;
    s->batch = q->rank < 0 ? SC_DIM_UNKNOWN : q->dims[0];
    s->n = q->rank < 0 ? SC_DIM_UNKNOWN : q->dims[1];
    s->width = packed && q->rank == 5 ? q->dims[4] : SC_DIM_UNKNOWN;
    if (q->rank == 3) {
        SC_TRY(cut_width(infer, "query", q->dims[2], &s->width));
    }
    if (s->form == SC_MHA_ABREAST && s->width >= 0) {
        SC_TRY(cut_three(infer, &s->width));
    }
    s->n_kv = packed ? s->n : k->rank < 0 ? SC_DIM_UNKNOWN : k->dims[s->form == SC_MHA_KEPT ? 2 : 1];
    s->v_width = packed || pairs ? s->width : v->rank == 4 ? v->dims[3] : SC_DIM_UNKNOWN;
    return apart && v->rank == 3 ? cut_width(infer, "value", v->dims[2], &s->v_width) : SC_OK;
}

/* past and total are found later where caches are kept in pages, or share a buffer whose length is data. */
static void find_positions(const struct sc_infer *infer, struct sc_mha_sizes *s)
{
    const struct sc_mha_params *p = infer->params;
    const struct sc_fact *past = fact_in(infer, SC_MHA_PAST_K), *told = fact_in(infer, SC_MHA_PAST_LENGTH);
    s->room = !past ? 0 : past->rank == 4 && !s->resident ? past->dims[2] : SC_DIM_UNKNOWN;
    s->past = p->shared && past ? SC_DIM_UNKNOWN : s->room;
    if (p->shared && past && told && told->value && sc_tensor_count(told->value) == 1) {
        s->past = sc_index_at(told->value, 0);
    }
    s->total = s->past >= 0 && s->n_kv >= 0 ? s->past + s->n_kv : SC_DIM_UNKNOWN;
    s->room = p->shared && past ? s->room : s->total;
}

static enum sc_status find_sizes(const struct sc_infer *infer, struct sc_mha_sizes *s)
{
    SC_TRY(sc_infer_needs(infer, 1));
    *s = (struct sc_mha_sizes){0};
    SC_TRY(find_form(infer, s));
    const struct sc_fact *past[2] = {fact_in(infer, SC_MHA_PAST_K), fact_in(infer, SC_MHA_PAST_V)};
    if (!past[0] != !past[1] || (past[0] && past[0]->kind != past[1]->kind)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "past_key and past_value do not come in pairs");
    }
    const struct sc_fact *kept[2] = {fact_in(infer, SC_MHA_KEY), fact_in(infer, SC_MHA_VALUE)};
    s->viewed = s->form == SC_MHA_KEPT && kept[0]->kind == SC_KIND_STATE;
    if (s->form == SC_MHA_KEPT && kept[0]->kind != kept[1]->kind) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "key and value do not come in pairs");
    }
    if (past[0] && s->form == SC_MHA_KEPT) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "a past together with a key of rank 4");
    }
    s->resident = past[0] && past[0]->kind == SC_KIND_STATE;
    find_positions(infer, s);
    return SC_OK;
}

static enum sc_status want_dims(
    const struct sc_infer *infer, enum sc_mha_input input, const char *name, int rank, const int64_t *want)
{
    const struct sc_mha_params *p = infer->params;
    return p->at[input] < 0 ? SC_OK : sc_infer_want(infer, p->at[input], name, rank, want);
}

static int64_t times(int64_t a, int64_t b)
{
    return a >= 0 && b >= 0 ? a * b : SC_DIM_UNKNOWN;
}

static enum sc_status check_rows(const struct sc_infer *infer, const struct sc_mha_sizes *s)
{
    const struct sc_mha_params *p = infer->params;
    const int64_t abreast[3] = {s->batch, s->n, times(3, times(p->heads, s->width))};
    const int64_t packed[5] = {s->batch, s->n, p->heads, 3, s->width},
                  pairs[5] = {s->batch, s->n_kv, p->heads, 2, s->width};
    const int64_t k[4] = {s->batch, p->heads, s->n_kv, s->width}, v[4] = {s->batch, p->heads, s->n_kv, s->v_width};
    const int64_t flat_k[3] = {s->batch, s->n_kv, times(p->heads, s->width)};
    const int64_t flat_v[3] = {s->batch, s->n_kv, times(p->heads, s->v_width)};
    switch (s->form) {
    case SC_MHA_PACKED:
        return want_dims(infer, SC_MHA_QUERY, "query", 5, packed);
    case SC_MHA_ABREAST:
        return want_dims(infer, SC_MHA_QUERY, "query", 3, abreast);
    case SC_MHA_PAIRS:
        return want_dims(infer, SC_MHA_KEY, "key", 5, pairs);
    case SC_MHA_KEPT:
        SC_TRY(want_dims(infer, SC_MHA_KEY, "key", 4, k));
        return want_dims(infer, SC_MHA_VALUE, "value", 4, v);
    default:
        SC_TRY(want_dims(infer, SC_MHA_KEY, "key", 3, flat_k));
        return want_dims(infer, SC_MHA_VALUE, "value", 3, flat_v);
    }
}

/* What belongs to buffers that are shared, and to one query a row. */
static enum sc_status check_buffers(const struct sc_infer *infer, const struct sc_mha_sizes *s)
{
    const struct sc_mha_params *p = infer->params;
    const bool past = fact_in(infer, SC_MHA_PAST_K);
    if (p->single && !s->resident && !s->viewed && s->n >= 0 && s->n != 1) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "query has %lld rows, want 1", (long long)s->n);
    }
    if (fact_in(infer, SC_MHA_BEAMS) && !past) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "cache_indirection without past_key");
    }
    return SC_OK;
}

static enum sc_status check_inputs(const struct sc_infer *infer, const struct sc_mha_sizes *s)
{
    const struct sc_mha_params *p = infer->params;
    const int64_t rows = s->resident ? SC_DIM_UNKNOWN : p->shared ? s->room : s->past;
    const int64_t past_k[4] = {s->batch, p->heads, rows, s->width}, past_v[4] = {s->batch, p->heads, rows, s->v_width};
    const int64_t hidden = times(p->heads, s->width), v_hidden = times(p->heads, s->v_width);
    const int64_t bias[1] = {hidden >= 0 && v_hidden >= 0 ? 2 * hidden + v_hidden : SC_DIM_UNKNOWN};
    SC_TRY(check_rows(infer, s));
    SC_TRY(check_buffers(infer, s));
    SC_TRY(want_dims(infer, SC_MHA_PAST_K, "past_key", 4, past_k));
    SC_TRY(want_dims(infer, SC_MHA_PAST_V, "past_value", 4, past_v));
    SC_TRY(want_dims(infer, SC_MHA_BIAS, "bias", 1, bias));
    const struct sc_fact *added = fact_in(infer, SC_MHA_SCORES_BIAS);
    if (added && added->rank >= 0) {
        const int64_t want[4] = {s->batch, p->heads, s->n, s->total};
        bool fits = added->rank == 4;
        for (int i = 0; fits && i < 4; i++) {
            fits = added->dims[i] < 0 || want[i] < 0 || added->dims[i] == want[i] || (i < 2 && added->dims[i] == 1);
        }
        if (!fits) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "attention_bias does not broadcast to the scores");
        }
    }
    return SC_OK;
}

static enum sc_status infer_mha(struct sc_infer *infer)
{
    const struct sc_mha_params *p = infer->params;
    struct sc_mha_sizes s;
    SC_TRY(find_sizes(infer, &s));
    SC_TRY(check_inputs(infer, &s));
    const enum sc_type type = infer->in[0]->type;
    const int64_t y[3] = {s.batch, s.n, times(p->heads, s.v_width)}, scores[4] = {s.batch, p->heads, s.n, s.total};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], type, 3, y);
    }
    if (s.viewed && (sc_infer_out(infer, 1) || sc_infer_out(infer, 2) || sc_infer_out(infer, 3))) {
        return sc_node_fail(
            infer->graph, infer->node, SC_UNSUPPORTED, "more than the output of caches that are read alone");
    }
    for (int i = 1; i < 3; i++) {
        const int64_t present[4] = {s.batch, p->heads, s.room, i == 1 ? s.width : s.v_width};
        if (sc_infer_out(infer, i) && s.resident) {
            *infer->out[i] = *fact_in(infer, i == 1 ? SC_MHA_PAST_K : SC_MHA_PAST_V);
        } else if (sc_infer_out(infer, i)) {
            sc_fact_tensor(infer->out[i], type, 4, present);
        }
    }
    if (sc_infer_out(infer, 3)) {
        if (s.resident) {
            return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "qk of a resident cache");
        }
        sc_fact_tensor(infer->out[3], type, 4, scores);
    }
    return SC_OK;
}

/* What the caches of a batch hold. */
static int64_t longest(const struct sc_state *state, int64_t batch)
{
    int64_t most = 0;
    for (int64_t b = 0; b < batch; b++) {
        most = state->rows[b].length > most ? state->rows[b].length : most;
    }
    return most;
}

struct sc_mha_sizes sc_mha_call_sizes(const struct sc_call *call, bool with_data)
{
    const struct sc_mha_params *p = call->params;
    struct sc_call_facts facts;
    struct sc_mha_sizes s = {0};
    sc_call_facts_init(&facts, call);
    if (!with_data) {
        facts.facts[p->at[SC_MHA_PAST_LENGTH]].value = NULL;
    }
    (void)find_sizes(&facts.infer, &s); /* resolve fails where this would */
    if (s.resident) {
        s.past = longest(sc_mha_state(call, SC_MHA_PAST_K), s.batch);
        s.total = s.past + s.n_kv;
    } else if (s.viewed) {
        s.total = s.n_kv = s.room = longest(sc_mha_state(call, SC_MHA_KEY), s.batch);
    } else if (s.past < 0) { /* shared, not yet known */
        s.past = 0;
        s.total = s.room;
    }
    return s;
}

struct sc_added sc_mha_added(const struct sc_call *call, const struct sc_mha_sizes *s)
{
    const struct sc_mha_params *p = call->params;
    return (struct sc_added){.mask = sc_mha_in(call, SC_MHA_PADDING),
        .bias = sc_mha_in(call, SC_MHA_SCORES_BIAS),
        .hidden = p->hidden,
        .type = sc_mha_in(call, SC_MHA_QUERY)->type,
        .batch = s->batch,
        .n = s->n,
        .past = s->past,
        .total = s->total};
}

/* cache_indirection [texts, beams, positions]: of each position before, which beam of the text it is of. Pages are of
 * one beam. */
static enum sc_status check_beams(const struct sc_call *call, const struct sc_mha_sizes *s)
{
    const struct sc_tensor *beams = sc_mha_in(call, SC_MHA_BEAMS), *width = sc_mha_in(call, SC_MHA_BEAM_WIDTH);
    if (!beams) {
        return SC_OK;
    }
    const int64_t *d = beams->dims;
    if (beams->rank != 3 || d[1] < 1 || d[0] * d[1] != s->batch || (!s->resident && d[2] < s->past) ||
        (width && (sc_tensor_count(width) != 1 || sc_index_at(width, 0) != d[1]))) {
        char text[128];
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "cache_indirection is %s, which does not fit beam_width or a batch of %lld with %lld positions",
            sc_dims_text(beams->rank, d, text, sizeof text), (long long)s->batch, (long long)s->past);
    }
    if (s->resident && d[1] > 1) {
        return sc_node_fail(call->graph, call->node, SC_UNSUPPORTED, "cache_indirection of beams in a resident cache");
    }
    for (int64_t i = 0; i < d[0] * d[1] * d[2] && !s->resident; i++) {
        const int64_t beam = sc_index_at(beams, i);
        if (i % d[2] < s->past && (beam < 0 || beam >= d[1])) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "cache_indirection has %lld, of %lld beams",
                (long long)beam, (long long)d[1]);
        }
    }
    return SC_OK;
}

/* Of the rows of one batch: as many keys as values, and a mask or bias as long as each. */
static enum sc_status check_viewed(const struct sc_call *call, const struct sc_mha_sizes *s, bool added)
{
    for (int64_t b = 0; s->viewed && b < s->batch; b++) {
        const int64_t length = sc_mha_state(call, SC_MHA_KEY)->rows[b].length;
        if (length != sc_mha_state(call, SC_MHA_VALUE)->rows[b].length || (length != s->total && added)) {
            return sc_node_fail(call->graph, call->node, SC_INTERNAL, "caches of several lengths");
        }
    }
    return SC_OK;
}

static enum sc_status resolve_mha(const struct sc_call *call)
{
    const struct sc_mha_params *p = call->params;
    const struct sc_tensor *told = sc_mha_in(call, SC_MHA_PAST_LENGTH);
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_mha_sizes s = sc_mha_call_sizes(call, true);
    if (p->shared && !s.resident && sc_mha_in(call, SC_MHA_PAST_K) && (!told || sc_tensor_count(told) != 1)) {
        return sc_node_fail(call->graph, call->node, told ? SC_BAD_INPUT : SC_BAD_MODEL,
            "past_present_share_buffer without a past_sequence_length of one entry");
    }
    if (p->shared && !s.resident && s.room > 0 && (s.past < 0 || s.past > s.room - s.n_kv)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "past_sequence_length is %lld, with %lld new rows and room for %lld", (long long)s.past, (long long)s.n_kv,
            (long long)s.room);
    }
    SC_TRY(check_beams(call, &s));
    const struct sc_added added = sc_mha_added(call, &s);
    SC_TRY(check_viewed(call, &s, added.bias || added.mask));
    for (int64_t b = 0; s.resident && b < s.batch; b++) {
        const struct sc_state *keys = sc_mha_state(call, SC_MHA_PAST_K), *values = sc_mha_state(call, SC_MHA_PAST_V);
        const int64_t length = keys->rows[b].length;
        if (length != values->rows[b].length || (length != s.past && (added.bias || added.mask))) {
            return sc_node_fail(call->graph, call->node, SC_INTERNAL, "caches of several lengths");
        }
        SC_TRY(sc_cache_check_room(call, keys, (int)b, length, s.n_kv));
        SC_TRY(sc_cache_check_room(call, values, (int)b, length, s.n_kv));
    }
    return sc_added_check(call, &added, "key_padding_mask");
}

static void cost_mha(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_mha_params *p = infer->params;
    struct sc_mha_sizes s;
    if (find_sizes(infer, &s) != SC_OK) {
        return;
    }
    const struct sc_fact *past = fact_in(infer, SC_MHA_PAST_K);
    const double bytes = (double)sc_type_bytes(infer->in[0]->type);
    const double total = (double)(s.resident ? past->dims[2]
                         : s.total >= 0      ? s.total
                                             : s.room),
                 widths = (double)(s.width + s.v_width);
    const double queries = (double)(s.batch * p->heads * s.n);
    cost->operations = 2 * queries * total * widths + 8 * queries * total;
    cost->read_bytes = bytes * ((double)(s.batch * p->heads) * total * widths + queries * (double)s.width);
    cost->written_bytes = bytes * queries * (double)s.v_width;
}

const struct sc_op sc_ops_ms_multi_head[] = {
    {.domain = "com.microsoft",
        .name = "MultiHeadAttention",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_STATE,
        .params = params_mha,
        .infer = infer_mha,
        .scratch = sc_mha_scratch,
        .resolve = resolve_mha,
        .run = sc_mha_run,
        .cost = cost_mha},
    {.domain = "com.microsoft",
        .name = "DecoderMaskedMultiHeadAttention",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_STATE,
        .params = params_masked,
        .infer = infer_mha,
        .scratch = sc_mha_scratch,
        .resolve = resolve_mha,
        .run = sc_mha_run,
        .cost = cost_mha},
    {.name = NULL},
};
