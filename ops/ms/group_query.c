/* SPDX-License-Identifier: Apache-2.0
 * GroupQueryAttention: rotary embedding, caches at their own positions, causal attention with fewer key heads. Each
 * batch row has seqlens_k + 1 valid keys after this call. Without seqlens_k and total_sequence_length, which passes
 * leave out, the whole past is valid. */
#include "ops/ms/group_query.h"

#include <math.h>

#include "ops/infer.h"
#include "ops/nn/cache.h"
#include "ops/shape/shape.h"

static enum sc_status read_epsilons(const struct sc_graph *graph, const struct sc_node *node, struct sc_gqa_params *p)
{
    float both;
    SC_TRY(sc_node_float(node, "qk_norm_epsilon", 1e-6F, &both));
    SC_TRY(sc_node_float(node, "q_norm_epsilon", both, &p->q_epsilon));
    SC_TRY(sc_node_float(node, "k_norm_epsilon", both, &p->k_epsilon));
    if (!(p->q_epsilon > 0 && p->k_epsilon > 0 && p->q_epsilon < INFINITY && p->k_epsilon < INFINITY)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "the norms of heads have epsilons %g and %g, want positive ones",
            (double)p->q_epsilon, (double)p->k_epsilon);
    }
    return SC_OK;
}

static enum sc_status params_gqa(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct sc_gqa_params), params));
    struct sc_gqa_params *p = *params;
    SC_TRY(sc_node_int(node, "num_heads", 0, &p->q_heads));
    SC_TRY(sc_node_int(node, "kv_num_heads", 0, &p->kv_heads));
    SC_TRY(sc_node_int(node, "local_window_size", -1, &p->window));
    SC_TRY(sc_node_int(node, "do_rotary", 0, &p->rotary));
    SC_TRY(sc_node_int(node, "rotary_interleaved", 0, &p->interleaved));
    SC_TRY(sc_node_int(node, "smooth_softmax", -1, &p->smooth));
    SC_TRY(sc_node_int(node, "qk_output", 0, &p->qk_output));
    SC_TRY(sc_node_int(node, "causal", 1, &p->causal));
    SC_TRY(sc_node_int(node, "sliding_window_cache", 0, &p->evicts));
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    SC_TRY(sc_node_float(node, "softcap", 0.0F, &p->softcap));
    SC_TRY(read_epsilons(graph, node, p));
    SC_TRY(sc_gqa_read_codes(graph, node, p));
    if (p->q_heads < 1 || p->kv_heads < 1 || p->q_heads % p->kv_heads != 0 || p->softcap < 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "%lld query heads cannot share %lld key heads",
            (long long)p->q_heads, (long long)p->kv_heads);
    }
    if (p->qk_output < 0 || p->qk_output > 2 || (p->causal != 0 && p->causal != 1) || (!p->causal && p->window > 0) ||
        (p->evicts && p->window < 1)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "qk_output %lld, causal %lld, local_window_size %lld, sliding_window_cache %lld", (long long)p->qk_output,
            (long long)p->causal, (long long)p->window, (long long)p->evicts);
    }
    return SC_OK;
}

static enum sc_status find_sizes(const struct sc_infer *infer, struct sc_gqa_sizes *s)
{
    const struct sc_gqa_params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *query = infer->in[SC_GQA_QUERY];
    const struct sc_fact *past = sc_infer_in(infer, SC_GQA_PAST_K);
    const struct sc_fact *total = sc_infer_in(infer, SC_GQA_TOTAL);
    *s = (struct sc_gqa_sizes){.total = SC_DIM_UNKNOWN, .packed = !sc_infer_in(infer, SC_GQA_KEY)};
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
    sc_gqa_find_cache(infer, s);
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

/* query_seqlens counts the rows of a chunk, which goes on in a cache. */
static enum sc_status check_chunk(const struct sc_infer *infer, const struct sc_gqa_sizes *s)
{
    const struct sc_gqa_params *p = infer->params;
    if (!sc_infer_in(infer, SC_GQA_QUERY_LENGTHS)) {
        return SC_OK;
    }
    if (s->resident) {
        return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "query_seqlens of a resident cache");
    }
    if (!p->causal || !sc_infer_in(infer, SC_GQA_PAST_K) || !sc_infer_in(infer, SC_GQA_SEQLENS)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "query_seqlens without past_key, seqlens_k or causal attention");
    }
    return sc_infer_want(infer, SC_GQA_QUERY_LENGTHS, "query_seqlens", 1, &s->batch);
}

static enum sc_status check_inputs(const struct sc_infer *infer, const struct sc_gqa_sizes *s)
{
    const struct sc_gqa_params *p = infer->params;
    const int64_t hidden = s->width >= 0 ? p->kv_heads * s->width : SC_DIM_UNKNOWN;
    const int64_t rows[3] = {s->batch, s->n, hidden};
    const int64_t cache[4] = {s->batch, p->kv_heads, SC_DIM_UNKNOWN, s->cache_width};
    SC_TRY(sc_gqa_check_codes(infer, s));
    SC_TRY(sc_infer_want(infer, SC_GQA_KEY, "key", 3, rows));
    SC_TRY(sc_infer_want(infer, SC_GQA_VALUE, "value", 3, rows));
    SC_TRY(sc_infer_want(infer, SC_GQA_PAST_K, "past_key", 4, cache));
    SC_TRY(sc_infer_want(infer, SC_GQA_PAST_V, "past_value", 4, cache));
    SC_TRY(sc_infer_want(infer, SC_GQA_SINK, "head_sink", 1, &p->q_heads));
    SC_TRY(sc_infer_want(infer, SC_GQA_Q_NORM, "q_norm_weight", 1, &s->width));
    SC_TRY(sc_infer_want(infer, SC_GQA_K_NORM, "k_norm_weight", 1, &s->width));
    SC_TRY(check_chunk(infer, s));
    if (!sc_infer_in(infer, SC_GQA_Q_NORM) != !sc_infer_in(infer, SC_GQA_K_NORM)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "q_norm_weight and k_norm_weight come together");
    }
    for (int i = 0; i < 2; i++) {
        const struct sc_fact *angles = sc_infer_in(infer, SC_GQA_COS + i);
        if (p->rotary && !angles) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "do_rotary without cos_cache and sin_cache");
        }
        if (angles && angles->rank >= 0 &&
            (angles->rank != 2 || (s->width >= 0 && angles->dims[1] >= 0 && 2 * angles->dims[1] > s->width))) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input %d does not fit heads of %lld",
                SC_GQA_COS + i, (long long)s->width);
        }
    }
    const struct sc_fact *past[2] = {sc_infer_in(infer, SC_GQA_PAST_K), sc_infer_in(infer, SC_GQA_PAST_V)};
    if (!past[0] != !past[1] || (past[0] && past[0]->kind != past[1]->kind) ||
        s->packed != !sc_infer_in(infer, SC_GQA_VALUE)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "key and value, or their pasts, do not come in pairs");
    }
    return SC_OK;
}

static enum sc_status infer_gqa(struct sc_infer *infer)
{
    const struct sc_gqa_params *p = infer->params;
    struct sc_gqa_sizes s;
    SC_TRY(find_sizes(infer, &s));
    SC_TRY(check_inputs(infer, &s));
    const enum sc_type type = infer->in[SC_GQA_QUERY]->type;
    const int64_t dims[3] = {s.batch, s.n, s.width >= 0 ? s.width * p->q_heads : SC_DIM_UNKNOWN};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], type, 3, dims);
    }
    for (int i = 1; i < 3; i++) {
        if (!sc_infer_out(infer, i)) {
            continue;
        }
        if (s.resident) {
            *infer->out[i] = *infer->in[SC_GQA_PAST_K + i - 1];
            continue;
        }
        /* A past with room for everything is a shared buffer: the present has its size. */
        const int64_t grown = s.past >= 0 && s.total >= 0 ? (s.past > s.total ? s.past : s.total) : SC_DIM_UNKNOWN;
        const int64_t room = p->evicts && sc_infer_in(infer, SC_GQA_PAST_K) ? s.past : grown;
        const int64_t present[4] = {s.batch, p->kv_heads, room, s.cache_width};
        sc_fact_tensor(infer->out[i], s.cache, 4, present);
    }
    if (sc_infer_out(infer, 3)) {
        const int64_t total = s.resident && !sc_infer_in(infer, SC_GQA_TOTAL) ? SC_DIM_UNKNOWN : s.total;
        const int64_t scores[4] = {s.batch, p->q_heads, s.n, total};
        sc_fact_tensor(infer->out[3], type, 4, scores);
        if (p->qk_output == 0 || s.resident) {
            return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED,
                s.resident ? "output_qk of a resident cache" : "output_qk is asked for, but qk_output is 0");
        }
    }
    return SC_OK;
}

struct sc_gqa_sizes sc_gqa_call_sizes(const struct sc_call *call, bool with_data)
{
    struct sc_call_facts facts;
    struct sc_gqa_sizes s = {0};
    sc_call_facts_init(&facts, call);
    if (!with_data) {
        facts.facts[SC_GQA_TOTAL].value = NULL;
    }
    (void)find_sizes(&facts.infer, &s); /* resolve fails where this would */
    return s;
}

void sc_gqa_span(const struct sc_call *call, const struct sc_gqa_sizes *s, int64_t b, int64_t *start, int64_t *length)
{
    if (s->resident) {
        *start = call->in[SC_GQA_PAST_K]->u.state->rows[b].length;
        *length = *start + s->n;
        return;
    }
    if (!sc_call_in(call, SC_GQA_SEQLENS)) {
        *start = s->past;
        *length = s->total;
        return;
    }
    const struct sc_tensor *counts = sc_call_in(call, SC_GQA_QUERY_LENGTHS);
    *length = sc_index_at(sc_call_in(call, SC_GQA_SEQLENS), b) + 1;
    *start = counts ? *length - sc_index_at(counts, b) : s->total == s->n ? 0 : *length - s->n;
}

/* The rows of a chunk that count, and room for all of it. */
static enum sc_status check_count(const struct sc_call *call, const struct sc_gqa_sizes *s, int64_t b)
{
    const struct sc_tensor *counts = sc_call_in(call, SC_GQA_QUERY_LENGTHS);
    if (!counts) {
        return SC_OK;
    }
    int64_t start, length;
    sc_gqa_span(call, s, b, &start, &length);
    const int64_t count = length - start, room = s->past > s->total ? s->past : s->total;
    if (count < 0 || count > s->n || count > length || length < 1 || (start + s->n > room && !sc_gqa_evicts(call, s))) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "query_seqlens is %lld in batch row %lld, of %lld rows, with seqlens_k %lld and room for %lld",
            (long long)count, (long long)b, (long long)s->n, (long long)length - 1, (long long)room);
    }
    return SC_OK;
}

static enum sc_status check_span(const struct sc_call *call, const struct sc_gqa_sizes *s, int64_t b)
{
    const struct sc_gqa_params *p = call->params;
    int64_t start, length;
    SC_TRY(check_count(call, s, b));
    sc_gqa_span(call, s, b, &start, &length);
    if (s->resident) {
        SC_TRY(sc_cache_check_room(call, call->in[SC_GQA_PAST_K]->u.state, (int)b, start, s->n));
        SC_TRY(sc_cache_check_room(call, call->in[SC_GQA_PAST_V]->u.state, (int)b, start, s->n));
        const struct sc_tensor *seqlens = sc_call_in(call, SC_GQA_SEQLENS);
        if (seqlens && sc_index_at(seqlens, b) + 1 != length) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
                "seqlens_k is %lld in batch row %lld, the cache has %lld rows", (long long)sc_index_at(seqlens, b),
                (long long)b, (long long)length);
        }
    } else if (sc_gqa_evicts(call, s)) {
        SC_TRY(sc_gqa_check_window(call, s, b));
    } else if (start < 0 || start > s->past || length < 0 || length > s->total) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "seqlens_k is %lld in batch row %lld, with %lld new rows, a past of %lld and a total of %lld",
            (long long)length - 1, (long long)b, (long long)s->n, (long long)s->past, (long long)s->total);
    }
    const struct sc_tensor *cosines = sc_call_in(call, SC_GQA_COS);
    const struct sc_tensor *positions = sc_call_in(call, SC_GQA_POSITIONS);
    if (!p->rotary) {
        return SC_OK;
    }
    const int64_t n = sc_call_in(call, SC_GQA_QUERY_LENGTHS) ? length - start : s->n; /* others are padding */
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = positions ? sc_index_at(positions, b * s->n + i) : start + i;
        const int64_t rows = cosines->dims[0] < sc_call_in(call, SC_GQA_SIN)->dims[0]
            ? cosines->dims[0]
            : sc_call_in(call, SC_GQA_SIN)->dims[0];
        if (at < 0 || at >= rows) {
            return sc_node_fail(call->graph, call->node, SC_LIMIT,
                "position %lld is outside of the cos and sin caches, which have %lld rows", (long long)at,
                (long long)rows);
        }
    }
    return SC_OK;
}

static enum sc_status check_bias(const struct sc_call *call, const struct sc_gqa_sizes *s)
{
    const struct sc_gqa_params *p = call->params;
    const struct sc_tensor *bias = sc_call_in(call, SC_GQA_BIAS);
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
    const struct sc_tensor *seqlens = sc_call_in(call, SC_GQA_SEQLENS);
    const struct sc_tensor *positions = sc_call_in(call, SC_GQA_POSITIONS);
    struct sc_call_facts facts;
    struct sc_gqa_sizes s;
    sc_call_facts_init(&facts, call);
    SC_TRY(find_sizes(&facts.infer, &s));
    if (!seqlens != !sc_call_in(call, SC_GQA_TOTAL) ||
        (seqlens && (sc_tensor_count(seqlens) != s.batch || s.total < 0)) ||
        (positions && sc_tensor_count(positions) != s.batch * s.n)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "seqlens_k, total_sequence_length or position_ids do not fit a batch of %lld", (long long)s.batch);
    }
    SC_TRY(sc_resolve_by_infer(call));
    SC_TRY(check_bias(call, &s));
    for (int64_t b = 0; b < s.batch; b++) {
        SC_TRY(check_span(call, &s, b));
    }
    return SC_OK;
}

static void cost_gqa(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_gqa_params *p = infer->params;
    struct sc_gqa_sizes s;
    if (find_sizes(infer, &s) != SC_OK) {
        return;
    }
    const double bytes = (double)sc_type_bytes(infer->in[SC_GQA_QUERY]->type);
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
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_STATE,
        .params = params_gqa,
        .infer = infer_gqa,
        .scratch = sc_gqa_scratch,
        .resolve = resolve_gqa,
        .run = sc_gqa_run,
        .cost = cost_gqa},
    {.name = NULL},
};
