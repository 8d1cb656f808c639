/* SPDX-License-Identifier: Apache-2.0
 * Caches of GroupQueryAttention that hold a window: of T positions those with the highest numbers, in order from row 0
 * on. When a cache is full, as many go at once as it has room for beside the window. A call reads what the cache holds
 * and the new rows, as positions from the first that is held. */
#include <string.h>

#include "ops/infer.h"
#include "ops/ms/group_query.h"
#include "ops/shape/shape.h"

bool sc_gqa_evicts(const struct sc_call *call, const struct sc_gqa_sizes *s)
{
    const struct sc_gqa_params *p = call->params;
    return p->evicts && !s->resident && sc_call_in(call, SC_GQA_PAST_K);
}

/* Positions that a cache gave up, of so many. */
static int64_t given_up(const struct sc_call *call, const struct sc_gqa_sizes *s, int64_t positions)
{
    const struct sc_gqa_params *p = call->params;
    const int64_t at_once = s->past - p->window + 1;
    return positions <= s->past ? 0 : sc_parts(positions - s->past, at_once) * at_once;
}

enum sc_status sc_gqa_check_window(const struct sc_call *call, const struct sc_gqa_sizes *s, int64_t b)
{
    const struct sc_gqa_params *p = call->params;
    int64_t start, length, first, unused;
    sc_gqa_span(call, s, b, &start, &length);
    sc_gqa_span(call, s, 0, &first, &unused);
    if (s->past < p->window || start < 0 || length < 0 || length > s->total) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
            "seqlens_k is %lld in batch row %lld, with %lld new rows, a total of %lld, and a cache of %lld rows for a "
            "window of %lld",
            (long long)length - 1, (long long)b, (long long)s->n, (long long)s->total, (long long)s->past,
            (long long)p->window);
    }
    const bool apart = given_up(call, s, start) != given_up(call, s, first);
    if ((sc_call_in(call, SC_GQA_BIAS) && apart) || (length > s->past && sc_call_out(call, 3))) {
        return sc_node_fail(call->graph, call->node, SC_UNSUPPORTED, "sliding_window_cache with %s",
            apart ? "attention_bias where batch rows gave up different positions"
                  : "output_qk where positions were given up");
    }
    return SC_OK;
}

void sc_gqa_open_window(const struct sc_call *call, const struct sc_gqa_sizes *s, struct sc_cached_attention *c,
    int64_t *start, int64_t *length)
{
    struct sc_attention *a = &c->attention;
    const int64_t first = s->batch > 0 ? given_up(call, s, start[0]) : 0;
    if (a->bias) {
        a->bias = sc_const_at(a->bias, first * a->bias_strides[3], sc_type_bytes(a->type));
        a->bias_length -= first;
    }
    for (int64_t b = 0; b < s->batch; b++) {
        const int64_t gone = given_up(call, s, start[b]);
        start[b] -= gone;
        length[b] -= gone;
    }
}

void sc_gqa_close_window(const struct sc_call *call, const struct sc_gqa_sizes *s, const struct sc_cached_attention *c)
{
    const struct sc_gqa_params *p = call->params;
    const size_t row = (size_t)s->cache_width * sc_type_bytes(s->cache);
    for (int i = 0; i < 2; i++) {
        const struct sc_tensor *present = sc_call_out(call, 1 + i);
        const char *held = i == 0 ? c->present_k : c->present_v;
        for (int64_t part = 0; present && part < s->batch * p->kv_heads; part++) {
            int64_t from, total;
            sc_gqa_span(call, s, part / p->kv_heads, &from, &total);
            const int64_t kept = total - given_up(call, s, total), of = c->length[part / p->kv_heads];
            memcpy((char *)present->data + (size_t)(part * s->past) * row,
                held + (size_t)(part * c->present_room + of - kept) * row, (size_t)kept * row);
        }
    }
}
