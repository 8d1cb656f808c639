/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators of one input. A list says for each operator its table of functions and its parameters; f32
 * functions that the models lean on come from the table of kernels, the rest from libm. */
#include <math.h>
#include <string.h>

#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/types.h"

enum function {
#define X(name) FN_##name,
    SC_UNARY_F32(X)
#undef X
        FN_tan,
    FN_sinh,
    FN_cosh,
    FN_asinh,
    FN_acosh,
    FN_atanh,
    FN_softsign,
    FN_leaky_relu,
    FN_elu,
    FN_selu,
    FN_celu,
    FN_thresholded_relu,
    FN_hard_sigmoid,
    FN_mish,
    FN_swish,
    FN_is_nan,
    FN_is_inf,
    FN_sign,
    FN_shrink,
    FN_not,
    FN_bitwise_not
};

struct unary {
    enum function function;
    double alpha, beta, gamma;
    bool detect_positive, detect_negative;
};

#define BODY "ops/math/unary.inc.h"
#include "ops/math/each_number.inc.h"

#define X(name)                                                                                                        \
    static void name##_F32(void *arg, const struct sc_span *span)                                                      \
    {                                                                                                                  \
        const struct sc_span_arg *a = arg;                                                                             \
        a->kernels->unary[SC_UNARY_##name](span->in[0], span->out, span->n);                                           \
    }
SC_UNARY_F32(X)
#undef X

/* times * (e^(x / scale) - 1) up to 0, above * x beyond. */
static void run_elu(void *arg, const struct sc_span *span, float scale, float times, float above)
{
    const float *x = span->in[0];
    float *y = span->out, tile[SC_TILE];
    for (int64_t from = 0; from < span->n; from += SC_TILE) {
        const int64_t n = span->n - from < SC_TILE ? span->n - from : SC_TILE;
        for (int64_t i = 0; i < n; i++) {
            tile[i] = x[from + i] / scale;
        }
        expm1_F32(arg, &(struct sc_span){.n = n, .in = {tile}, .out = tile});
        for (int64_t i = 0; i < n; i++) {
            const float high = above * x[from + i], low = times * tile[i];
            y[from + i] = x[from + i] > 0 ? high : low;
        }
    }
}

static void elu_F32(void *arg, const struct sc_span *span)
{
    const struct unary *p = ((const struct sc_span_arg *)arg)->params;
    run_elu(arg, span, 1, (float)p->alpha, 1);
}

static void selu_F32(void *arg, const struct sc_span *span)
{
    const struct unary *p = ((const struct sc_span_arg *)arg)->params;
    run_elu(arg, span, 1, (float)p->gamma * (float)p->alpha, (float)p->gamma);
}

static void celu_F32(void *arg, const struct sc_span *span)
{
    const struct unary *p = ((const struct sc_span_arg *)arg)->params;
    run_elu(arg, span, (float)p->alpha, (float)p->alpha, 1);
}

static void not_BOOL(void *arg, const struct sc_span *span)
{
    (void)arg;
    const uint8_t *x = span->in[0];
    uint8_t *y = span->out;
    const int64_t n = span->n;
    for (int64_t i = 0; i < n; i++) {
        y[i] = !x[i];
    }
}

/* 8-bit floats: the codes that are NaN or infinite, without their sign. Sources: OCP 8-bit floating point 1.0; ONNX
 * float8 notes for the FNUZ kinds, whose only NaN is the code of minus zero and which have no infinity. */
#define NARROW(name, type, expression)                                                                                 \
    static void name##_##type(void *arg, const struct sc_span *span)                                                   \
    {                                                                                                                  \
        const struct unary *p = ((const struct sc_span_arg *)arg)->params;                                             \
        (void)p;                                                                                                       \
        const uint8_t *in = span->in[0];                                                                               \
        uint8_t *out = span->out;                                                                                      \
        for (int64_t i = 0; i < span->n; i++) {                                                                        \
            const uint8_t x = in[i];                                                                                   \
            (void)x;                                                                                                   \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }
NARROW(is_nan, F8E4M3FN, (x & 0x7f) == 0x7f)
NARROW(is_nan, F8E4M3FNUZ, x == 0x80)
NARROW(is_nan, F8E5M2, (x & 0x7f) > 0x7c)
NARROW(is_nan, F8E5M2FNUZ, x == 0x80)
NARROW(is_inf, F8E4M3FN, 0)
NARROW(is_inf, F8E5M2, (p->detect_positive && x == 0x7c) || (p->detect_negative && x == 0xfc))
#undef NARROW

static const struct sc_span_table tables[] = {
#define FLOATS(name) [FN_##name] = {{SC_ON_FLOATS(name)}}
    FLOATS(exp),
    FLOATS(log),
    FLOATS(sqrt),
    FLOATS(tanh),
    FLOATS(sigmoid),
    FLOATS(sin),
    FLOATS(cos),
    FLOATS(reciprocal),
    FLOATS(floor),
    FLOATS(ceil),
    FLOATS(round),
    FLOATS(silu),
    FLOATS(gelu_erf),
    FLOATS(gelu_tanh),
    FLOATS(softplus),
    FLOATS(tan),
    FLOATS(asin),
    FLOATS(acos),
    FLOATS(atan),
    FLOATS(sinh),
    FLOATS(cosh),
    FLOATS(asinh),
    FLOATS(acosh),
    FLOATS(atanh),
    FLOATS(softsign),
    FLOATS(leaky_relu),
    FLOATS(elu),
    FLOATS(selu),
    FLOATS(celu),
    FLOATS(thresholded_relu),
    FLOATS(hard_sigmoid),
    FLOATS(hard_swish),
    FLOATS(mish),
    FLOATS(swish),
#undef FLOATS
    [FN_neg] = {{SC_ON_FLOATS(neg), SC_ON_SIGNED(neg)}},
    [FN_erf] = {{SC_ON_NUMBERS(erf)}},
    [FN_abs] = {{SC_ON_NUMBERS(abs)}},
    [FN_relu] = {{SC_ON_NUMBERS(relu)}},
    [FN_sign] = {{SC_ON_NUMBERS(sign)}},
    [FN_shrink] = {{SC_ON_NUMBERS(shrink)}},
    [FN_not] = {{[SC_BOOL] = not_BOOL}},
    [FN_bitwise_not] = {{SC_ON_INTS(bitwise_not)}},
    [FN_is_nan] = {{SC_ON_FLOATS(is_nan), [SC_F8E4M3FN] = is_nan_F8E4M3FN, [SC_F8E4M3FNUZ] = is_nan_F8E4M3FNUZ,
        [SC_F8E5M2] = is_nan_F8E5M2, [SC_F8E5M2FNUZ] = is_nan_F8E5M2FNUZ}},
    [FN_is_inf] = {{SC_ON_FLOATS(is_inf), [SC_F8E4M3FN] = is_inf_F8E4M3FN, [SC_F8E4M3FNUZ] = is_inf_F8E4M3FN,
        [SC_F8E5M2] = is_inf_F8E5M2, [SC_F8E5M2FNUZ] = is_inf_F8E4M3FN}},
};

static enum sc_status new_params(struct sc_arena *arena, enum function function, struct unary **params)
{
    *params = sc_arena_alloc(arena, sizeof **params);
    if (!*params) {
        return SC_NO_MEMORY;
    }
    (*params)->function = function;
    return SC_OK;
}

static enum sc_status real(const struct sc_node *node, const char *name, float otherwise, double *value)
{
    float f;
    SC_TRY(sc_node_float(node, name, otherwise, &f));
    *value = f;
    return SC_OK;
}

#define SIGNATURE const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params

#define PLAIN(X)                                                                                                       \
    X(exp)                                                                                                             \
    X(log)                                                                                                             \
    X(sqrt)                                                                                                            \
    X(tanh)                                                                                                            \
    X(sigmoid)                                                                                                         \
    X(erf)                                                                                                             \
    X(sin)                                                                                                             \
    X(cos)                                                                                                             \
    X(neg)                                                                                                             \
    X(abs)                                                                                                             \
    X(reciprocal)                                                                                                      \
    X(floor)                                                                                                           \
    X(ceil)                                                                                                            \
    X(round)                                                                                                           \
    X(relu)                                                                                                            \
    X(softplus)                                                                                                        \
    X(tan)                                                                                                             \
    X(asin)                                                                                                            \
    X(acos)                                                                                                            \
    X(atan)                                                                                                            \
    X(sinh)                                                                                                            \
    X(cosh) X(asinh) X(acosh) X(atanh) X(softsign) X(hard_swish) X(mish) X(is_nan) X(sign) X(not ) X(bitwise_not)
#define X(name)                                                                                                        \
    static enum sc_status params_##name(SIGNATURE)                                                                     \
    {                                                                                                                  \
        (void)graph, (void)node;                                                                                       \
        struct unary *p;                                                                                               \
        SC_TRY(new_params(arena, FN_##name, &p));                                                                      \
        *params = p;                                                                                                   \
        return SC_OK;                                                                                                  \
    }
PLAIN(X)
#undef X

/* Functions of one or two real attributes: (name, attribute, default, second attribute, default, field of the
 * second) */
#define WITH_ATTRIBUTES(X)                                                                                             \
    X(leaky_relu, "alpha", 0.01f, "", 0, beta)                                                                         \
    X(elu, "alpha", 1, "", 0, beta)                                                                                    \
    X(celu, "alpha", 1, "", 0, beta)                                                                                   \
    X(thresholded_relu, "alpha", 1, "", 0, beta)                                                                       \
    X(hard_sigmoid, "alpha", 0.2f, "beta", 0.5f, beta)                                                                 \
    X(selu, "alpha", 1.67326319217681884765625f, "gamma", 1.05070102214813232421875f, gamma)                           \
    X(old_selu, "alpha", 1.6732f, "gamma", 1.0507f, gamma)                                                             \
    X(shrink, "lambd", 0.5f, "bias", 0, beta)                                                                          \
    X(swish, "alpha", 1, "", 0, beta)
#define FN_old_selu FN_selu
#define X(name, first, first_default, second, second_default, field)                                                   \
    static enum sc_status params_##name(SIGNATURE)                                                                     \
    {                                                                                                                  \
        (void)graph;                                                                                                   \
        struct unary *p;                                                                                               \
        SC_TRY(new_params(arena, FN_##name, &p));                                                                      \
        SC_TRY(real(node, first, first_default, &p->alpha));                                                           \
        SC_TRY(real(node, second, second_default, &p->field));                                                         \
        *params = p;                                                                                                   \
        return SC_OK;                                                                                                  \
    }
WITH_ATTRIBUTES(X)
#undef X
#undef FN_old_selu

static enum sc_status params_gelu(SIGNATURE)
{
    const char *approximate;
    SC_TRY(sc_node_text(node, "approximate", "none", &approximate));
    const bool by_tanh = strcmp(approximate, "tanh") == 0;
    if (!by_tanh && strcmp(approximate, "none") != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "approximate is '%s', want none or tanh", approximate);
    }
    struct unary *p;
    SC_TRY(new_params(arena, by_tanh ? FN_gelu_tanh : FN_gelu_erf, &p));
    *params = p;
    return SC_OK;
}

static enum sc_status params_is_inf(SIGNATURE)
{
    (void)graph;
    int64_t positive, negative;
    SC_TRY(sc_node_int(node, "detect_positive", 1, &positive));
    SC_TRY(sc_node_int(node, "detect_negative", 1, &negative));
    struct unary *p;
    SC_TRY(new_params(arena, FN_is_inf, &p));
    p->detect_positive = positive != 0;
    p->detect_negative = negative != 0;
    p->beta = positive ? INFINITY : NAN; /* which nothing equals */
    p->gamma = negative ? -INFINITY : NAN;
    *params = p;
    return SC_OK;
}

/* Swish with alpha 1 is what models use; that one is a kernel. */
static enum sc_status params_swish_or_silu(SIGNATURE)
{
    SC_TRY(params_swish(graph, node, arena, params));
    struct unary *p = *params;
    if (p->alpha == 1) {
        p->function = FN_silu;
    }
    return SC_OK;
}

static enum sc_status check_type(const struct sc_infer *infer)
{
    const struct unary *p = infer->params;
    return sc_elementwise_check(infer, &tables[p->function], sc_infer_type(infer, 0));
}

static enum sc_status infer_same(struct sc_infer *infer)
{
    SC_TRY(check_type(infer));
    return sc_infer_same(infer);
}

static enum sc_status infer_bool(struct sc_infer *infer)
{
    SC_TRY(check_type(infer));
    sc_infer_shape_of(infer, 0, sc_infer_in(infer, 0), SC_BOOL);
    return SC_OK;
}

static void run_unary(const struct sc_call *call)
{
    const struct unary *p = call->params;
    const struct sc_tensor *in[1] = {sc_call_in(call, 0)};
    sc_elementwise(call, &tables[p->function], in[0]->type, 1, in, p);
}

#define CHEAP(op, version, function)                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,                \
        .params = params_##function, .infer = infer_same, .run = run_unary                                             \
    }
#define ROW(op, version, function)                                                                                     \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,                \
        .params = params_##function, .infer = infer_same, .run = run_unary, .cost = sc_cost_transcendental             \
    }
#define TEST(op, version, function)                                                                                    \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_##function,    \
        .infer = infer_bool, .run = run_unary                                                                          \
    }

const struct sc_op sc_ops_math_unary[] = {
    CHEAP("Abs", 1, abs),
    CHEAP("Abs", 6, abs),
    CHEAP("Abs", 13, abs),
    ROW("Acos", 7, acos),
    ROW("Acos", 22, acos),
    ROW("Acosh", 9, acosh),
    ROW("Acosh", 22, acosh),
    ROW("Asin", 7, asin),
    ROW("Asin", 22, asin),
    ROW("Asinh", 9, asinh),
    ROW("Asinh", 22, asinh),
    ROW("Atan", 7, atan),
    ROW("Atan", 22, atan),
    ROW("Atanh", 9, atanh),
    ROW("Atanh", 22, atanh),
    CHEAP("BitwiseNot", 18, bitwise_not),
    CHEAP("Ceil", 1, ceil),
    CHEAP("Ceil", 6, ceil),
    CHEAP("Ceil", 13, ceil),
    ROW("Celu", 12, celu),
    ROW("Celu", 28, celu),
    ROW("Cos", 7, cos),
    ROW("Cos", 22, cos),
    ROW("Cosh", 9, cosh),
    ROW("Cosh", 22, cosh),
    ROW("Elu", 1, elu),
    ROW("Elu", 6, elu),
    ROW("Elu", 22, elu),
    ROW("Erf", 9, erf),
    ROW("Erf", 13, erf),
    ROW("Exp", 1, exp),
    ROW("Exp", 6, exp),
    ROW("Exp", 13, exp),
    CHEAP("Floor", 1, floor),
    CHEAP("Floor", 6, floor),
    CHEAP("Floor", 13, floor),
    ROW("Gelu", 20, gelu),
    CHEAP("HardSigmoid", 1, hard_sigmoid),
    CHEAP("HardSigmoid", 6, hard_sigmoid),
    CHEAP("HardSigmoid", 22, hard_sigmoid),
    CHEAP("HardSwish", 14, hard_swish),
    CHEAP("HardSwish", 22, hard_swish),
    TEST("IsInf", 10, is_inf),
    TEST("IsInf", 20, is_inf),
    TEST("IsNaN", 9, is_nan),
    TEST("IsNaN", 13, is_nan),
    TEST("IsNaN", 20, is_nan),
    CHEAP("LeakyRelu", 1, leaky_relu),
    CHEAP("LeakyRelu", 6, leaky_relu),
    CHEAP("LeakyRelu", 16, leaky_relu),
    ROW("Log", 1, log),
    ROW("Log", 6, log),
    ROW("Log", 13, log),
    ROW("Mish", 18, mish),
    ROW("Mish", 22, mish),
    CHEAP("Neg", 1, neg),
    CHEAP("Neg", 6, neg),
    CHEAP("Neg", 13, neg),
    CHEAP("Not", 1, not ),
    CHEAP("Reciprocal", 1, reciprocal),
    CHEAP("Reciprocal", 6, reciprocal),
    CHEAP("Reciprocal", 13, reciprocal),
    CHEAP("Relu", 1, relu),
    CHEAP("Relu", 6, relu),
    CHEAP("Relu", 13, relu),
    CHEAP("Relu", 14, relu),
    CHEAP("Round", 11, round),
    CHEAP("Round", 22, round),
    ROW("Selu", 1, old_selu),
    ROW("Selu", 6, selu),
    ROW("Selu", 22, selu),
    CHEAP("Shrink", 9, shrink),
    ROW("Sigmoid", 1, sigmoid),
    ROW("Sigmoid", 6, sigmoid),
    ROW("Sigmoid", 13, sigmoid),
    CHEAP("Sign", 9, sign),
    CHEAP("Sign", 13, sign),
    ROW("Sin", 7, sin),
    ROW("Sin", 22, sin),
    ROW("Sinh", 9, sinh),
    ROW("Sinh", 22, sinh),
    ROW("Softplus", 1, softplus),
    ROW("Softplus", 22, softplus),
    CHEAP("Softsign", 1, softsign),
    CHEAP("Softsign", 22, softsign),
    CHEAP("Sqrt", 1, sqrt),
    CHEAP("Sqrt", 6, sqrt),
    CHEAP("Sqrt", 13, sqrt),
    ROW("Swish", 24, swish_or_silu),
    ROW("Tan", 7, tan),
    ROW("Tan", 22, tan),
    ROW("Tanh", 1, tanh),
    ROW("Tanh", 6, tanh),
    ROW("Tanh", 13, tanh),
    CHEAP("ThresholdedRelu", 10, thresholded_relu),
    CHEAP("ThresholdedRelu", 22, thresholded_relu),
    {.name = NULL},
};
