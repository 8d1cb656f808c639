/* SPDX-License-Identifier: Apache-2.0
 * Costs that operators share. The default, every byte in and out and one operation an element, needs none of them. */
#ifndef SC_OPS_COST_H
#define SC_OPS_COST_H

#include "ops/infer.h"

/* Elementwise, with more operations an element. */
void sc_cost_elementwise(const struct sc_infer *infer, double operations_each, struct sc_cost *cost);
void sc_cost_transcendental(const struct sc_infer *infer, struct sc_cost *cost);

/* What is written is picked of the first input, which is not read whole: a row of an embedding. */
void sc_cost_picked(const struct sc_infer *infer, struct sc_cost *cost);

#endif
