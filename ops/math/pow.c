/* SPDX-License-Identifier: Apache-2.0
 * Pow: base and exponent may differ in type. Tiles of both are converted: to f32 or f64 when the result is a float,
 * else to 64-bit integers, or to f64 for a real exponent. */
#include <math.h>

#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/one_way.h"
#include "ops/math/types.h"
#include "tensor/convert.h"

struct pow {
    enum sc_type base, exponent;
    const struct sc_kernels *kernels;
};

/* Squares are common and are one product, so that the same element is the same number however it was asked for. */
static float power_f32(float x, float e)
{
    return e == 2 ? x * x : powf(x, e);
}

static double power_f64(double x, double e)
{
    return e == 2 ? x * x : pow(x, e);
}

/* Modulo 2^64. A negative exponent gives the reciprocal, cut to an integer; of 0 it is 0. */
static uint64_t power_int(uint64_t x, int64_t e, bool minus_one)
{
    if (e < 0) {
        return x == 1 ? 1 : minus_one ? (e & 1 ? (uint64_t)-1 : 1) : 0;
    }
    uint64_t result = 1;
    for (; e; e >>= 1, x *= x) {
        if (e & 1) {
            result *= x;
        }
    }
    return result;
}

#define TILED(name, T, TYPE, expression)                                                                               \
    static void name(const struct pow *p, const struct sc_span *tile)                                                  \
    {                                                                                                                  \
        T x[SC_TILE], e[SC_TILE];                                                                                      \
        const int64_t n_x = tile->step[0] ? tile->n : 1, n_e = tile->step[1] ? tile->n : 1;                            \
        sc_convert(p->base, tile->in[0], TYPE, x, n_x, 0);                                                             \
        sc_convert(p->exponent, tile->in[1], TYPE, e, n_e, 0);                                                         \
        for (int64_t i = tile->n - 1; i >= 0; i--) { /* backwards, since x[0] may be every x */                        \
            const T b = x[i * tile->step[0]], k = e[i * tile->step[1]];                                                \
            x[i] = expression;                                                                                         \
        }                                                                                                              \
        sc_convert(TYPE, x, p->base, tile->out, tile->n, 0);                                                           \
    }
TILED(tile_f32, float, SC_F32, power_f32(b, k))
TILED(tile_f64, double, SC_F64, power_f64(b, k))
TILED(tile_int, int64_t, SC_I64,
    (int64_t)power_int((uint64_t)b, p->exponent == SC_U64 && k < 0 ? INT64_MAX : k, b == -1 && p->base != SC_U64))
#undef TILED

static void span_pow(void *arg, const struct sc_span *span)
{
    const struct pow *p = arg;
    if (p->base == SC_F32 && p->exponent == SC_F32 && span->step[1] == 0 && *(const float *)span->in[1] == 2) {
        p->kernels->binary[SC_BINARY_mul](
            span->in[0], (int)span->step[0], span->in[0], (int)span->step[0], span->out, span->n);
        return;
    }
    void (*fn)(const struct pow *, const struct sc_span *) = tile_int;
    if (p->base == SC_F64) {
        fn = tile_f64;
    } else if (sc_type_is_float(p->base)) {
        fn = tile_f32;
    } else if (sc_type_is_float(p->exponent)) {
        fn = tile_f64;
    }
    const int64_t base_bytes = (int64_t)sc_type_bytes(p->base), exponent_bytes = (int64_t)sc_type_bytes(p->exponent);
    for (int64_t from = 0; from < span->n; from += SC_TILE) {
        struct sc_span tile = *span;
        tile.n = span->n - from < SC_TILE ? span->n - from : SC_TILE;
        tile.in[0] = (const char *)span->in[0] + from * span->step[0] * base_bytes;
        tile.in[1] = (const char *)span->in[1] + from * span->step[1] * exponent_bytes;
        tile.out = (char *)span->out + from * base_bytes;
        fn(p, &tile);
    }
}

static enum sc_status params_pow_1(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    struct sc_one_way *p = sc_arena_alloc(arena, sizeof *p);
    if (!p) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_one_way_read(node, p));
    *params = p;
    return SC_OK;
}

static const struct sc_one_way both_ways = {.on = false};

static enum sc_status infer_pow(struct sc_infer *infer)
{
    return sc_one_way_infer(infer, infer->params ? infer->params : &both_ways, sc_infer_type(infer, 0));
}

static void run_pow(const struct sc_call *call)
{
    const struct sc_tensor exponent = sc_one_way_view(call, call->params ? call->params : &both_ways);
    const struct sc_tensor *in[2] = {sc_call_in(call, 0), &exponent};
    struct pow p = {in[0]->type, in[1]->type, call->kernels};
    struct sc_broadcast loop;
    sc_broadcast_init(&loop, 2, in, sc_call_out(call, 0));
    sc_broadcast_run(&loop, call->team, span_pow, &p);
}

#define ROW(version, how)                                                                                              \
    {                                                                                                                  \
        .domain = "", .name = "Pow", .since = version, .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,             \
        .params = how, .infer = infer_pow, .run = run_pow, .cost = sc_cost_transcendental                              \
    }

const struct sc_op sc_ops_math_pow[] = {
    ROW(1, params_pow_1), ROW(7, NULL), ROW(12, NULL), ROW(13, NULL), ROW(15, NULL), {.name = NULL}};
