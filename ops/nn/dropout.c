/* SPDX-License-Identifier: Apache-2.0
 * Dropout: the input itself, unless a model asks for training; then elements fall out as numpy's legacy generator says,
 * which is what the official tests of training mode expect. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

#define TILE 256 /* numbers drawn at a time */

struct params {
    bool inputs; /* ratio and training_mode are inputs: version 12 and later */
    bool has_seed;
    int64_t seed;
};

static enum sc_status params_dropout(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->inputs = node->version >= 12;
    p->has_seed = sc_node_attribute(node, "seed") != NULL;
    return sc_node_int(node, "seed", 0, &p->seed);
}

static enum sc_status infer_dropout(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *x = infer->in[0];
    sc_infer_shape_of(infer, 0, x, x->type);
    sc_infer_shape_of(infer, 1, x, infer->node->version >= 10 ? SC_BOOL : x->type);
    return SC_OK;
}

static double ratio_of(const struct sc_call *call)
{
    const struct sc_tensor *ratio = sc_call_in(call, 1);
    double value = 0.5;
    if (ratio) {
        sc_convert(ratio->type, ratio->data, SC_F64, &value, 1, 0);
    }
    return value;
}

static enum sc_status resolve_dropout(const struct sc_call *call)
{
    const struct params *p = call->params;
    SC_TRY(sc_resolve_by_infer(call));
    for (int i = 1; p->inputs && i < 3; i++) {
        const struct sc_tensor *t = sc_call_in(call, i);
        if (t && (sc_tensor_count(t) != 1 || (i == 2 && t->type != SC_BOOL))) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "ratio or training_mode is not a scalar");
        }
    }
    const struct sc_tensor *mode = sc_call_in(call, 2);
    const double ratio = ratio_of(call);
    if (p->inputs && mode && *(const unsigned char *)mode->data && !(ratio >= 0.0 && ratio < 1.0)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "ratio is %g, want one in [0, 1)", ratio);
    }
    return SC_OK;
}

/* Matsumoto and Nishimura, "Mersenne Twister" (TOMACS 1998), MT19937; doubles of 53 bits as numpy.random.seed and
 * random_sample make them. */
struct twister {
    uint32_t state[624];
    int at;
};

static void twister_init(struct twister *t, uint32_t seed)
{
    for (uint32_t i = 0; i < 624; i++) {
        t->state[i] = i == 0 ? seed : 1812433253U * (t->state[i - 1] ^ (t->state[i - 1] >> 30)) + i;
    }
    t->at = 624;
}

static uint32_t twisted(uint32_t upper, uint32_t lower, uint32_t far)
{
    const uint32_t y = (upper & 0x80000000U) | (lower & 0x7fffffffU);
    return far ^ (y >> 1) ^ (0x9908b0dfU & (0U - (y & 1)));
}

static uint32_t tempered(uint32_t y)
{
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

static void twister_turn(struct twister *t)
{
    uint32_t *s = t->state;
    for (int i = 0; i < 227; i++) {
        s[i] = twisted(s[i], s[i + 1], s[i + 397]);
    }
    for (int i = 227; i < 623; i++) {
        s[i] = twisted(s[i], s[i + 1], s[i - 227]);
    }
    s[623] = twisted(s[623], s[0], s[396]);
    t->at = 0;
}

/* A number takes two words, and there are 624. */
static void twister_uniforms(struct twister *t, int64_t n, double *u)
{
    for (int64_t i = 0; i < n; i++) {
        if (t->at == 624) {
            twister_turn(t);
        }
        const uint32_t a = tempered(t->state[t->at]) >> 5, b = tempered(t->state[t->at + 1]) >> 6;
        u[i] = ((double)(int32_t)a * 67108864.0 + (double)(int32_t)b) / 9007199254740992.0;
        t->at += 2;
    }
}

static void fill_mask(const struct sc_tensor *mask)
{
    const float kept = 1.0F;
    double element; /* of any type */
    if (mask) {
        sc_convert(SC_F32, &kept, mask->type, &element, 1, 0);
        sc_fill(mask->data, &element, sc_type_bytes(mask->type), sc_tensor_count(mask));
    }
}

/* A tile of numbers u from element `at` on: y is x / (1 - ratio) where u has reached the ratio, else 0. */
static void drop_tile(const struct sc_call *call, int64_t at, int64_t n, double ratio, const double *u)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0), *mask = sc_call_out(call, 1);
    double values[TILE];
    if (mask) {
        float kept[TILE];
        for (int64_t i = 0; i < n; i++) {
            kept[i] = u[i] >= ratio;
        }
        sc_convert(SC_F32, kept, mask->type, sc_at(mask->data, at, sc_type_bytes(mask->type)), n, 0);
    }
    if (y) {
        const size_t bytes = sc_type_bytes(x->type);
        sc_convert(x->type, sc_const_at(x->data, at, bytes), SC_F64, values, n, 0);
        for (int64_t i = 0; i < n; i++) {
            const double scaled = values[i] / (1.0 - ratio);
            values[i] = u[i] >= ratio ? scaled : 0.0;
        }
        sc_convert(SC_F64, values, y->type, sc_at(y->data, at, bytes), n, SC_CONVERT_SATURATE);
    }
}

static void train(const struct sc_call *call, double ratio)
{
    const struct params *p = call->params;
    const int64_t n = sc_tensor_count(sc_call_in(call, 0));
    struct twister twister;
    double u[TILE];
    twister_init(&twister, (uint32_t)p->seed);
    for (int64_t at = 0; at < n; at += TILE) {
        const int64_t m = n - at < TILE ? n - at : TILE;
        if (p->has_seed) {
            twister_uniforms(&twister, m, u);
        } else {
            sc_random_uniforms(&call->random, (uint64_t)at, m, u);
        }
        drop_tile(call, at, m, ratio, u);
    }
}

static void run_dropout(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0), *y = sc_call_out(call, 0), *mode = sc_call_in(call, 2);
    const double ratio = ratio_of(call);
    if (p->inputs && mode && *(const unsigned char *)mode->data && ratio != 0.0) {
        train(call, ratio);
        return;
    }
    fill_mask(sc_call_out(call, 1));
    if (y && y->data != x->data) {
        sc_tensor_copy_dense(x, y->data);
    }
}

#define DROPOUT(version, more)                                                                                         \
    {                                                                                                                  \
        .domain = "", .name = "Dropout", .since = (version), .flags = SC_OP_IN_PLACE | (more),                         \
        .params = params_dropout, .infer = infer_dropout, .resolve = resolve_dropout, .run = run_dropout               \
    }

const struct sc_op sc_ops_nn_dropout[] = {
    DROPOUT(1, SC_OP_PURE),
    DROPOUT(6, SC_OP_PURE),
    DROPOUT(7, SC_OP_PURE),
    DROPOUT(10, SC_OP_PURE),
    DROPOUT(12, SC_OP_RANDOM),
    DROPOUT(13, SC_OP_RANDOM),
    DROPOUT(22, SC_OP_RANDOM),
    {.name = NULL},
};
