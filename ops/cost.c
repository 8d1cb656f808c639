/* SPDX-License-Identifier: Apache-2.0
 * Of facts whose dims are known. */
#include "ops/cost.h"

static double fact_bytes(const struct sc_fact *fact)
{
    if (!fact || fact->kind != SC_KIND_TENSOR || fact->rank < 0) {
        return 0;
    }
    return (double)sc_dims_product(fact->dims, 0, fact->rank) * (double)sc_type_bytes(fact->type);
}

void sc_cost_elementwise(const struct sc_infer *infer, double operations_each, struct sc_cost *cost)
{
    *cost = (struct sc_cost){0};
    for (int i = 0; i < infer->n_in; i++) {
        cost->read_bytes += fact_bytes(infer->in[i]);
    }
    for (int i = 0; i < infer->n_out; i++) {
        cost->written_bytes += fact_bytes(infer->out[i]);
    }
    const struct sc_fact *out = sc_infer_out(infer, 0);
    if (out && out->rank >= 0) {
        cost->operations = operations_each * (double)sc_dims_product(out->dims, 0, out->rank);
    }
}

void sc_cost_transcendental(const struct sc_infer *infer, struct sc_cost *cost)
{
    sc_cost_elementwise(infer, 20, cost); /* a polynomial of that many steps, as a rule */
}

void sc_cost_picked(const struct sc_infer *infer, struct sc_cost *cost)
{
    sc_cost_elementwise(infer, 1, cost);
    cost->read_bytes += cost->written_bytes - fact_bytes(sc_infer_in(infer, 0));
}
