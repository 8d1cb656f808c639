/* SPDX-License-Identifier: Apache-2.0
 * A span of 16-bit floats is cut into tiles that stay in the first cache: widen, compute, round. */
#include "ops/tile.h"

#include <assert.h>

void sc_widen(const struct sc_kernels *kernels, enum sc_type type, const void *x, float *y, int64_t n)
{
    if (type == SC_F16) {
        kernels->f16_to_f32(x, y, n);
    } else {
        kernels->bf16_to_f32(x, y, n);
    }
}

void sc_round_to(const struct sc_kernels *kernels, enum sc_type type, const float *x, void *y, int64_t n)
{
    if (type == SC_F16) {
        kernels->f32_to_f16(x, y, n);
    } else {
        kernels->f32_to_bf16(x, y, n);
    }
}

struct tiling {
    struct sc_span_arg arg;
    sc_span_fn *fn;
    enum sc_type in[SC_BROADCAST_MAX], out;
};

static bool is_half(enum sc_type type)
{
    return type == SC_F16 || type == SC_BF16;
}

static void run_tile(struct tiling *tiling, const struct sc_span *span, int64_t from, int64_t n)
{
    float wide[SC_BROADCAST_MAX][SC_TILE], result[SC_TILE];
    struct sc_span tile = {.n = n, .at = span->at + from, .worker = span->worker};
    for (int i = 0; i < tiling->arg.n; i++) {
        const enum sc_type type = tiling->in[i];
        const char *x = (const char *)span->in[i] + from * span->step[i] * (int64_t)sc_type_bytes(type);
        tile.in[i] = x;
        tile.step[i] = span->step[i];
        if (is_half(type)) {
            assert(span->step[i] == 0 || span->step[i] == 1);
            sc_widen(tiling->arg.kernels, type, x, wide[i], span->step[i] ? n : 1);
            tile.in[i] = wide[i];
        }
    }
    char *out = (char *)span->out + from * (int64_t)sc_type_bytes(tiling->out);
    tile.out = is_half(tiling->out) ? (void *)result : (void *)out;
    tiling->fn(&tiling->arg, &tile);
    if (is_half(tiling->out)) {
        sc_round_to(tiling->arg.kernels, tiling->out, result, out, n);
    }
}

static void run_tiles(void *arg, const struct sc_span *span)
{
    for (int64_t from = 0; from < span->n; from += SC_TILE) {
        run_tile(arg, span, from, span->n - from < SC_TILE ? span->n - from : SC_TILE);
    }
}

enum sc_status sc_elementwise_check(const struct sc_infer *infer, const struct sc_span_table *table, enum sc_type type)
{
    if (type == SC_TYPE_NONE || table->of[type] || (is_half(type) && table->of[SC_F32])) {
        return SC_OK;
    }
    return sc_node_fail(
        infer->graph, infer->node, SC_UNSUPPORTED, "there is no kernel for elements of type %s", sc_type_name(type));
}

void sc_elementwise(const struct sc_call *call, const struct sc_span_table *table, enum sc_type type, int n,
    const struct sc_tensor *const *in, const void *params)
{
    const struct sc_tensor *out = sc_call_out(call, 0);
    struct sc_broadcast loop;
    sc_broadcast_init(&loop, n, in, out);
    struct tiling tiling = {.arg = {call->kernels, params, n}, .fn = table->of[type], .out = out->type};
    if (tiling.fn) {
        sc_broadcast_run(&loop, call->team, tiling.fn, &tiling.arg);
        return;
    }
    assert(is_half(type));
    tiling.fn = table->of[SC_F32];
    for (int i = 0; i < n; i++) {
        tiling.in[i] = in[i]->type;
    }
    sc_broadcast_run(&loop, call->team, run_tiles, &tiling);
}
