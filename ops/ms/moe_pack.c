/* SPDX-License-Identifier: Apache-2.0
 * The layers of all experts, packed one after another. */
#include "ops/ms/moe.h"

/* By the weights of one layer alone: [experts, N, K], in bytes where they are codes. */
static struct sc_moe_sizes sizes_by(const struct sc_moe_params *p, int layer, const int64_t *dims)
{
    struct sc_moe_sizes s = {.experts = dims[0]};
    const int64_t N = layer == SC_MOE_FC1 && p->fusion > 0 ? dims[1] / 2 : dims[1];
    const int64_t K = p->bits[layer] > 0 ? dims[2] * 8 / p->bits[layer] : dims[2];
    sc_moe_set_sizes(p, layer == SC_MOE_FC2 ? N : K, layer == SC_MOE_FC2 ? K : N, &s);
    return s;
}

static bool is_given(const struct sc_prepare *prepare, int input)
{
    return input >= 0 && input < prepare->n_in && prepare->in[input];
}

/* The inputs of a layer that are packed together; 0: one of them is not of this stage. */
static unsigned packed_inputs(const struct sc_prepare *prepare, const struct sc_moe_ports *ports)
{
    const int inputs[] = {ports->weights, ports->scales, ports->zeros};
    unsigned packed = 0;
    for (int i = 0; i < 3; i++) {
        if (is_given(prepare, inputs[i])) {
            if (!prepare->constant[inputs[i]]) {
                return 0;
            }
            packed |= 1U << inputs[i];
        }
    }
    return packed;
}

enum sc_status sc_moe_prepare(struct sc_prepare *prepare, const struct sc_moe_kind *kind)
{
    for (int layer = 0; layer < SC_MOE_LAYERS; layer++) {
        const struct sc_moe_ports *ports = &kind->ports[layer];
        const struct sc_fact *w = is_given(prepare, ports->weights) ? prepare->in[ports->weights] : NULL;
        const unsigned packed = w && sc_fact_dims_known(w) && w->rank == 3 ? packed_inputs(prepare, ports) : 0;
        if (packed != 0) {
            const struct sc_moe_sizes s = sizes_by(prepare->params, layer, w->dims);
            prepare->choice |= 1 << layer;
            prepare->packed_inputs |= packed;
            prepare->packed_bytes += (size_t)s.experts * kind->expert_bytes(prepare->params, w->type, &s, layer);
        }
    }
    return SC_OK;
}

int sc_moe_pack_layer(const struct sc_pack *pack, const struct sc_moe_kind *kind, struct sc_moe_sizes *sizes)
{
    int layer = 0;
    while (kind->ports[layer].weights != pack->input && kind->ports[layer].scales != pack->input &&
        kind->ports[layer].zeros != pack->input) {
        layer++;
    }
    *sizes = sizes_by(pack->prepare->params, layer, pack->in[kind->ports[layer].weights]->dims);
    return layer;
}

size_t sc_moe_packed_offset(const struct sc_moe_kind *kind, const struct sc_moe_place *at)
{
    size_t bytes = (size_t)at->expert * kind->expert_bytes(at->params, at->type, at->sizes, at->layer);
    for (int before = 0; before < at->layer; before++) {
        const bool packed = at->choice >> before & 1;
        bytes += packed ? (size_t)at->sizes->experts * kind->expert_bytes(at->params, at->type, at->sizes, before) : 0;
    }
    return bytes;
}
