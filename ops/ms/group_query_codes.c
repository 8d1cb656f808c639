/* SPDX-License-Identifier: Apache-2.0
 * Quantised caches of GroupQueryAttention: their type is the bits', their rows are packed, and a scale stands for all
 * of a cache or for each column of each head. */
#include <string.h>

#include "ops/infer.h"
#include "ops/ms/group_query.h"
#include "ops/shape/shape.h"

static const char *const names[2] = {"k", "v"};

enum sc_status sc_gqa_read_codes(const struct sc_graph *graph, const struct sc_node *node, struct sc_gqa_params *p)
{
    const char *kind[2];
    bool coded[2];
    for (int i = 0; i < 2; i++) {
        SC_TRY(sc_node_text(node, i == 0 ? "k_quant_type" : "v_quant_type", "NONE", &kind[i]));
        p->channels[i] = strcmp(kind[i], "PER_CHANNEL") == 0;
        coded[i] = p->channels[i] || strcmp(kind[i], "PER_TENSOR") == 0;
        if (!coded[i] && strcmp(kind[i], "NONE") != 0) {
            return sc_node_fail(graph, node, SC_BAD_MODEL,
                "%s_quant_type is '%s', want 'NONE', 'PER_TENSOR' or 'PER_CHANNEL'", names[i], kind[i]);
        }
    }
    SC_TRY(sc_node_int(node, "kv_cache_bit_width", 0, &p->bits));
    if (coded[0] != coded[1] || (coded[0] ? p->bits != 4 && p->bits != 8 : p->bits != 0)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "k_quant_type is '%s', v_quant_type '%s' and kv_cache_bit_width %lld, want both quantised with 4 or 8 "
            "bits, or "
            "neither with 0",
            kind[0], kind[1], (long long)p->bits);
    }
    return SC_OK;
}

void sc_gqa_find_cache(const struct sc_infer *infer, struct sc_gqa_sizes *s)
{
    const struct sc_gqa_params *p = infer->params;
    const struct sc_fact *past = sc_infer_in(infer, SC_GQA_PAST_K);
    s->cache = infer->in[SC_GQA_QUERY]->type;
    s->cache_width = s->width;
    if (p->bits == 8) {
        s->cache = past && past->type == SC_F8E4M3FN ? SC_F8E4M3FN : SC_I8;
    } else if (p->bits == 4) {
        s->cache = SC_U8;
        s->cache_width = s->width >= 0 ? sc_codes_bytes(SC_U8, s->width) : SC_DIM_UNKNOWN;
    }
}

/* Which scale a column of a head has: strides in a scale that is broadcast to [batch, heads, positions, width]; -1, -1
 * where it is not of these dims. One of all columns of all heads may be flat. */
static void find_strides(
    const struct sc_gqa_params *p, int i, int rank, const int64_t *dims, int64_t width, int64_t strides[2])
{
    const int64_t count = sc_dims_product(dims, 0, rank), head = rank > 2 ? dims[rank - 3] : 1;
    const int64_t column = rank > 0 ? dims[rank - 1] : 1;
    strides[0] = strides[1] = 0;
    if (p->channels[i] && count == p->kv_heads * width) {
        strides[0] = width;
        strides[1] = 1;
    } else if (p->channels[i] && rank <= 4 && count == head * column && (head == 1 || head == p->kv_heads) &&
        (column == 1 || column == width)) {
        strides[0] = head == 1 ? 0 : column;
        strides[1] = column == 1 ? 0 : 1;
    } else if (count != 1) {
        strides[0] = strides[1] = -1;
    }
}

/* The scale of keys (0) or values (1). */
static enum sc_status check_scale(const struct sc_infer *infer, int i, int64_t width)
{
    const struct sc_gqa_params *p = infer->params;
    const struct sc_fact *scale = sc_infer_in(infer, SC_GQA_K_SCALE + i);
    if (!scale != (p->bits == 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s_scale %s", names[i],
            scale ? "of caches that are not quantised" : "is missing");
    }
    if (!scale || width < 0 || !sc_fact_dims_known(scale)) {
        return SC_OK;
    }
    int64_t strides[2];
    char dims[128];
    find_strides(p, i, scale->rank, scale->dims, width, strides);
    if (strides[0] < 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s_scale is %s, want %s of %lld heads of %lld",
            names[i], sc_dims_text(scale->rank, scale->dims, dims, sizeof dims),
            p->channels[i] ? "one for each column" : "one for all", (long long)p->kv_heads, (long long)width);
    }
    return SC_OK;
}

enum sc_status sc_gqa_check_codes(const struct sc_infer *infer, const struct sc_gqa_sizes *s)
{
    for (int i = 0; i < 2; i++) {
        const struct sc_fact *past = sc_infer_in(infer, SC_GQA_PAST_K + i);
        if (past && past->type != SC_TYPE_NONE && past->type != s->cache) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "past_%s is of %s, want %s",
                i == 0 ? "key" : "value", sc_type_name(past->type), sc_type_name(s->cache));
        }
        SC_TRY(check_scale(infer, i, s->width));
    }
    return SC_OK;
}

void sc_gqa_spread_scales(const struct sc_call *call, int i, int64_t width, float *to)
{
    const struct sc_gqa_params *p = call->params;
    const struct sc_tensor *scale = sc_call_in(call, SC_GQA_K_SCALE + i);
    int64_t strides[2];
    find_strides(p, i, scale->rank, scale->dims, width, strides);
    for (int64_t h = 0; h < p->kv_heads; h++) {
        for (int64_t d = 0; d < width; d++) {
            to[h * width + d] = ((const float *)scale->data)[h * strides[0] + d * strides[1]];
        }
    }
}
