/* SPDX-License-Identifier: Apache-2.0
 * What an operator with experts is told: attributes, and the sizes that its inputs have. */
#include <math.h>
#include <string.h>

#include "ops/ms/moe.h"
#include "ops/shape/shape.h"

static const char *const activations[SC_MOE_ACTIVATIONS] = {
    "relu", "relu2", "gelu", "silu", "identity", "swiglu", "geglu"};

static bool is_gated(const struct sc_moe_params *p)
{
    return p->activation == SC_MOE_SWIGLU || p->activation == SC_MOE_GEGLU;
}

static enum sc_status read_activation(const struct sc_graph *graph, const struct sc_node *node, struct sc_moe_params *p)
{
    const char *name;
    SC_TRY(sc_node_text(node, "activation_type", "relu", &name));
    for (int a = 0; a < SC_MOE_ACTIVATIONS; a++) {
        if (strcmp(name, activations[a]) == 0) {
            p->activation = (enum sc_moe_activation)a;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL,
        "activation_type is '%s', want relu, relu2, gelu, silu, identity, swiglu or geglu", name);
}

enum sc_status sc_moe_params(const struct sc_graph *graph, const struct sc_node *node, struct sc_moe_params *p)
{
    SC_TRY(sc_node_int(node, "k", 1, &p->k));
    SC_TRY(sc_node_int(node, "normalize_routing_weights", 0, &p->normalize));
    SC_TRY(sc_node_int(node, "use_sparse_mixer", 0, &p->sparse_mixer));
    SC_TRY(sc_node_int(node, "swiglu_fusion", 0, &p->fusion));
    SC_TRY(sc_node_int(node, "swiglu_limit_after_activation", 0, &p->limit_after));
    SC_TRY(sc_node_float(node, "activation_alpha", 1.0F, &p->alpha));
    SC_TRY(sc_node_float(node, "activation_beta", 0.0F, &p->beta));
    SC_TRY(sc_node_float(node, "swiglu_limit", INFINITY, &p->limit));
    SC_TRY(read_activation(graph, node, p));
    if (p->fusion < 0 || p->fusion > 2 || (p->fusion > 0) > is_gated(p) ||
        (p->fusion == 0 && p->activation == SC_MOE_GEGLU)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "swiglu_fusion is %lld, which activation_type '%s' does not have", (long long)p->fusion,
            activations[p->activation]);
    }
    if (p->k < 1 || (p->sparse_mixer && p->k != 2)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "k is %lld, want %s", (long long)p->k,
            p->sparse_mixer ? "2 of a sparse mixer" : "at least 1");
    }
    if (!(p->limit >= 0)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "swiglu_limit is %g", (double)p->limit);
    }
    return SC_OK;
}

void sc_moe_set_sizes(const struct sc_moe_params *p, int64_t hidden, int64_t inter, struct sc_moe_sizes *s)
{
    s->hidden = hidden;
    s->inter = inter;
    s->K[SC_MOE_FC1] = s->K[SC_MOE_FC3] = s->N[SC_MOE_FC2] = hidden;
    s->K[SC_MOE_FC2] = s->N[SC_MOE_FC3] = inter;
    s->N[SC_MOE_FC1] = p->fusion > 0 && inter >= 0 ? 2 * inter : inter;
}

static enum sc_status check_routes(
    const struct sc_infer *infer, const struct sc_moe_params *p, const struct sc_moe_sizes *s)
{
    const int64_t router[2] = {s->rows, s->experts};
    SC_TRY(sc_infer_want(infer, 1, "router_probs", 2, router));
    if (s->experts >= 0 && p->k > s->experts) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "k is %lld of %lld experts", (long long)p->k,
            (long long)s->experts);
    }
    if (s->rows > 0 && p->k > INT32_MAX / s->rows) {
        return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "%lld rows with %lld experts each", (long long)s->rows,
            (long long)p->k);
    }
    return SC_OK;
}

static enum sc_status check_layers(const struct sc_infer *infer, const struct sc_moe_params *p,
    const struct sc_moe_kind *kind, const struct sc_moe_sizes *s)
{
    static const char *const biases[] = {"fc1_experts_bias", "fc2_experts_bias", "fc3_experts_bias"};
    if (p->activation == SC_MOE_SWIGLU && (p->fusion == 0) != s->has[SC_MOE_FC3]) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "swiglu_fusion is %lld %s fc3_experts_weights",
            (long long)p->fusion, s->has[SC_MOE_FC3] ? "with" : "without");
    }
    if (p->activation == SC_MOE_GEGLU && s->has[SC_MOE_FC3]) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "geglu with fc3_experts_weights");
    }
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        const int64_t bias[2] = {s->experts, s->N[layer]};
        SC_TRY(sc_infer_want(infer, kind->ports[layer].bias, biases[layer], 2, bias));
        if (!s->has[layer] && sc_infer_in(infer, kind->ports[layer].bias)) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s without weights", biases[layer]);
        }
    }
    return SC_OK;
}

enum sc_status sc_moe_find_sizes(
    const struct sc_infer *infer, const struct sc_moe_params *p, const struct sc_moe_kind *kind, struct sc_moe_sizes *s)
{
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *x = infer->in[0], *fc1 = infer->in[kind->ports[SC_MOE_FC1].weights];
    const int64_t unknown = SC_DIM_UNKNOWN;
    memset(s, 0, sizeof *s);
    if ((x->rank >= 0 && x->rank != 2 && x->rank != 3) || (fc1->rank >= 0 && fc1->rank != 3)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "input has rank %d and fc1_experts_weights %d, want 2 or 3, and 3", x->rank, fc1->rank);
    }
    const int64_t N = fc1->rank == 3 ? fc1->dims[1] : unknown;
    if (N >= 0 && p->fusion > 0 && N % 2 != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "fc1_experts_weights has %lld rows, want gates and as many factors", (long long)N);
    }
    s->rows = x->rank >= 0 ? sc_fact_product(x, 0, x->rank - 1) : unknown;
    s->experts = fc1->rank == 3 ? fc1->dims[0] : unknown;
    sc_moe_set_sizes(p, x->rank >= 0 ? x->dims[x->rank - 1] : unknown, p->fusion > 0 && N >= 0 ? N / 2 : N, s);
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        s->has[layer] = sc_infer_in(infer, kind->ports[layer].weights) != NULL;
    }
    if (!s->has[SC_MOE_FC2]) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "fc2_experts_weights is missing");
    }
    SC_TRY(check_routes(infer, p, s));
    return check_layers(infer, p, kind, s);
}

struct sc_moe_sizes sc_moe_call_sizes(
    const struct sc_call *call, const struct sc_moe_params *p, const struct sc_moe_kind *kind)
{
    const struct sc_tensor *x = sc_call_in(call, 0), *fc1 = sc_call_in(call, kind->ports[SC_MOE_FC1].weights);
    struct sc_moe_sizes s = {.rows = sc_dims_product(x->dims, 0, x->rank - 1), .experts = fc1->dims[0]};
    sc_moe_set_sizes(p, x->dims[x->rank - 1], p->fusion > 0 ? fc1->dims[1] / 2 : fc1->dims[1], &s);
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        s.has[layer] = sc_call_in(call, kind->ports[layer].weights) != NULL;
    }
    return s;
}

void sc_moe_cost(const struct sc_moe_sizes *sizes, int64_t k, double *multiplies, double *weights)
{
    double expert = 0;
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        expert += sizes->has[layer] ? (double)sizes->K[layer] * (double)sizes->N[layer] : 0;
    }
    const double rows = (double)sizes->rows, experts = (double)sizes->experts;
    *multiplies = expert * rows * (double)k;
    *weights = experts > 0 ? expert * experts * (1 - pow(1 - (double)k / experts, rows)) : 0;
}
