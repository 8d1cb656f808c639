/* SPDX-License-Identifier: Apache-2.0
 * SwiGLU: a Sigmoid(alpha a) b for two tensors of one shape. With alpha 1, as models have it, by the vector kernel. */
#include <math.h>

#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "ops/math/types.h"

struct params {
    float alpha;
};

#define SPAN(name, T, EXP)                                                                                             \
    static void name(void *arg, const struct sc_span *span)                                                            \
    {                                                                                                                  \
        const T alpha = (T)((const struct params *)((const struct sc_span_arg *)arg)->params)->alpha;                  \
        const T *a = span->in[0], *b = span->in[1];                                                                    \
        T *y = span->out;                                                                                              \
        for (int64_t i = 0; i < span->n; i++) {                                                                        \
            y[i] = a[i] / (1 + EXP(-alpha * a[i])) * b[i];                                                             \
        }                                                                                                              \
    }
SPAN(gate_f32, float, expf)
SPAN(gate_f64, double, exp)
#undef SPAN

static void silu_f32(void *arg, const struct sc_span *span)
{
    const struct sc_kernels *kernels = ((const struct sc_span_arg *)arg)->kernels;
    const float *a = span->in[0], *b = span->in[1];
    float *y = span->out, gate[SC_TILE];
    for (int64_t at = 0; at < span->n; at += SC_TILE) {
        const int64_t n = span->n - at < SC_TILE ? span->n - at : SC_TILE;
        kernels->unary[SC_UNARY_silu](a + at, gate, n);
        for (int64_t i = 0; i < n; i++) {
            y[at + i] = gate[i] * b[at + i];
        }
    }
}

static const struct sc_span_table gates = {{[SC_F32] = gate_f32, [SC_F64] = gate_f64}};
static const struct sc_span_table silus = {{[SC_F32] = silu_f32, [SC_F64] = gate_f64}};

static enum sc_status params_swiglu(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    return sc_node_float(node, "alpha", 1.0F, &((struct params *)*params)->alpha);
}

static enum sc_status infer_swiglu(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *a = infer->in[0];
    if (a->rank >= 0) {
        SC_TRY(sc_infer_want(infer, 1, "B", a->rank, a->dims));
    }
    return sc_infer_same(infer);
}

static void run_swiglu(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in[2] = {sc_call_in(call, 0), sc_call_in(call, 1)};
    sc_elementwise(call, p->alpha == 1.0F ? &silus : &gates, in[0]->type, 2, in, p);
}

const struct sc_op sc_ops_math_swiglu[] = {
    {.domain = "",
        .name = "SwiGLU",
        .since = 28,
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,
        .params = params_swiglu,
        .infer = infer_swiglu,
        .run = run_swiglu,
        .cost = sc_cost_transcendental},
    {.name = NULL},
};
