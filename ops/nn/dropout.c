/* SPDX-License-Identifier: Apache-2.0
 * Dropout: the input itself, unless a model asks for training; then elements fall out as numpy's legacy generator says,
 * which is what the official tests of training mode expect. */
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

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

static uint32_t twister_next(struct twister *t)
{
    if (t->at == 624) {
        for (int i = 0; i < 624; i++) {
            const uint32_t y = (t->state[i] & 0x80000000U) | (t->state[(i + 1) % 624] & 0x7fffffffU);
            t->state[i] = t->state[(i + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfU : 0);
        }
        t->at = 0;
    }
    uint32_t y = t->state[t->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

static double twister_uniform(struct twister *t)
{
    const uint32_t a = twister_next(t) >> 5;
    const uint32_t b = twister_next(t) >> 6;
    return ((double)a * 67108864.0 + (double)b) / 9007199254740992.0;
}

static void set_mask(const struct sc_tensor *mask, int64_t i, bool kept)
{
    const float value = kept;
    if (mask) {
        sc_convert(SC_F32, &value, mask->type, sc_at(mask->data, i, sc_type_bytes(mask->type)), 1, 0);
    }
}

static void run_dropout(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, 0);
    const struct sc_tensor *y = sc_call_out(call, 0);
    const struct sc_tensor *mask = sc_call_out(call, 1);
    const struct sc_tensor *mode = sc_call_in(call, 2);
    const double ratio = ratio_of(call);
    const bool training = p->inputs && mode && *(const unsigned char *)mode->data && ratio != 0.0;
    const int64_t n = sc_tensor_count(x);
    const size_t bytes = sc_type_bytes(x->type);
    struct twister twister;
    twister_init(&twister, (uint32_t)p->seed);
    if (!training && y && y->data != x->data) {
        sc_tensor_copy_dense(x, y->data);
    }
    for (int64_t i = 0; (training || mask) && i < n; i++) {
        bool kept = true;
        if (training) {
            kept = (p->has_seed ? twister_uniform(&twister) : sc_random_uniform(&call->random, (uint64_t)i)) >= ratio;
        }
        set_mask(mask, i, kept);
        if (training && y) {
            double value;
            sc_convert(x->type, sc_const_at(x->data, i, bytes), SC_F64, &value, 1, 0);
            value = kept ? value / (1.0 - ratio) : 0.0;
            sc_convert(SC_F64, &value, y->type, sc_at(y->data, i, bytes), 1, SC_CONVERT_SATURATE);
        }
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
