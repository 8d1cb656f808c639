/* SPDX-License-Identifier: Apache-2.0
 * What MoE and QMoE share. A row of router_probs says which k experts its row of the input goes to; an expert is two or
 * three matrices with an activation between:
 *
 *     x ── FC1 ── activation ── FC2 ── * weight ──┐
 *     x ── FC3, or every other column of FC1 ─┘    └─ the sum over the row's experts, in their order
 *
 * Only experts that some row chose are read. A row of the result is made of that row alone. */
#ifndef SC_OPS_MS_MOE_H
#define SC_OPS_MS_MOE_H

#include "ops/op.h"

enum sc_moe_layer { SC_MOE_FC1, SC_MOE_FC2, SC_MOE_FC3, SC_MOE_LAYERS };

enum sc_moe_activation {
    SC_MOE_RELU,
    SC_MOE_RELU2,
    SC_MOE_GELU,
    SC_MOE_SILU,
    SC_MOE_IDENTITY,
    SC_MOE_SWIGLU,
    SC_MOE_GEGLU,
    SC_MOE_ACTIVATIONS
};

/* The attributes. */
struct sc_moe_params {
    int64_t k;
    int64_t normalize, sparse_mixer;
    enum sc_moe_activation activation;
    int64_t fusion; /* 0: a gate's factor is in FC3; else FC1 has both, 1: in turns, 2: one after another */
    int64_t limit_after; /* the limit is on the gate's activation, not on the gate */
    float alpha, beta, limit;
    int64_t bits[SC_MOE_LAYERS]; /* QMoE: of a weight; MoE: 0 */
    int64_t block; /* QMoE: weights with one scale; 0: a column's */
    int64_t accuracy;
    bool zeros[SC_MOE_LAYERS]; /* QMoE: zero points are given */
    bool floats; /* QMoE: weights are float8e4m3fn */
    bool whole; /* QMoE: these or some of 3 bits, which no kernel of codes reads */
};

/* Those that both have. */
enum sc_status sc_moe_params(const struct sc_graph *graph, const struct sc_node *node, struct sc_moe_params *params);

/* Inputs of one layer; -1: the operator has none such. */
struct sc_moe_ports {
    int weights, bias, scales, zeros;
};

/* Unknown ones are SC_DIM_UNKNOWN. N of FC1 is twice `inter` where gates and factors are fused. */
struct sc_moe_sizes {
    int64_t rows, hidden, inter, experts;
    int64_t K[SC_MOE_LAYERS], N[SC_MOE_LAYERS];
    bool has[SC_MOE_LAYERS];
};

/* Where the experts' matrices lie and how many bytes one takes when packed, for the two operators. */
struct sc_moe_kind {
    struct sc_moe_ports ports[SC_MOE_LAYERS];
    size_t (*expert_bytes)(
        const struct sc_moe_params *params, enum sc_type type, const struct sc_moe_sizes *sizes, int layer);
};

/* Sizes by the dims of the input and of FC1, and checks of what both have: input, router_probs, biases, whether there
 * is an FC3. */
enum sc_status sc_moe_find_sizes(const struct sc_infer *infer, const struct sc_moe_params *params,
    const struct sc_moe_kind *kind, struct sc_moe_sizes *sizes);

/* Sets hidden and inter, and K and N by them. */
void sc_moe_set_sizes(const struct sc_moe_params *params, int64_t hidden, int64_t inter, struct sc_moe_sizes *sizes);

/* The same from a call, whose infer has checked it. */
struct sc_moe_sizes sc_moe_call_sizes(
    const struct sc_call *call, const struct sc_moe_params *params, const struct sc_moe_kind *kind);

/* c[M, N] = a[M, K] times the matrix of an expert's layer, dense floats; without bias. */
typedef void sc_moe_multiply_fn(
    void *arg, int64_t expert, enum sc_moe_layer layer, int64_t M, const float *a, float *c);

struct sc_moe {
    const struct sc_moe_params *params;
    struct sc_moe_sizes sizes;
    const struct sc_kernels *kernels;
    struct sc_team *team;
    enum sc_type type; /* of input, router, biases and output */
    const void *x, *router, *weights; /* weights: of the chosen, [rows, experts]; NULL: the router's */
    const void *bias[SC_MOE_LAYERS]; /* [experts, N]; NULL: none */
    void *y;
    sc_moe_multiply_fn *multiply;
    void *arg;
};

/* Of a call, all but `weights`, `multiply` and `arg`. */
struct sc_moe sc_moe_open(const struct sc_call *call, const struct sc_moe_kind *kind);

/* Layers all of whose weights, scales and zero points are of this stage are packed, one after another; bit i of choice
 * is set for layer i. */
enum sc_status sc_moe_prepare(struct sc_prepare *prepare, const struct sc_moe_kind *kind);

/* The layer of a packed input, and by the dims of its weights the sizes. */
int sc_moe_pack_layer(const struct sc_pack *pack, const struct sc_moe_kind *kind, struct sc_moe_sizes *sizes);

/* An expert's matrix in what is packed, and where it begins there. */
struct sc_moe_place {
    const struct sc_moe_params *params;
    const struct sc_moe_sizes *sizes;
    enum sc_type type; /* of the weights */
    int choice;
    int64_t expert;
    int layer;
};

size_t sc_moe_packed_offset(const struct sc_moe_kind *kind, const struct sc_moe_place *place);

size_t sc_moe_scratch_bytes(const struct sc_moe *moe);

/* How many experts have rows. */
int64_t sc_moe_run(const struct sc_moe *moe, void *scratch);

/* Of the experts that were packed so many were read. */
void sc_moe_count_read(const struct sc_call *call, const struct sc_moe_sizes *sizes, int64_t n_experts);

/* Who goes where: row r's choices are experts[r * k ...], in order of score, and their weights. */
struct sc_moe_routes {
    int32_t *experts;
    float *weights;
    int32_t *order; /* choices (r * k + i) by expert, rows in order; those of expert e are [first[e], first[e + 1]) */
    int32_t *first; /* [experts + 1] */
};

/* room: sc_moe_route_bytes. */
size_t sc_moe_route_bytes(const struct sc_moe *moe);
void sc_moe_route(const struct sc_moe *moe, const struct sc_moe_routes *routes, void *room);

/* Multiply-adds of the products, and elements of weights that are read: of as many experts as rows that choose at
 * random are expected to have chosen together. */
void sc_moe_cost(const struct sc_moe_sizes *sizes, int64_t k, double *multiplies, double *weights);

#endif
