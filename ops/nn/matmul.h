/* SPDX-License-Identifier: Apache-2.0
 * Products by numpy's rules for operators that bring other tensors to them. */
#ifndef SC_OPS_NN_MATMUL_H
#define SC_OPS_NN_MATMUL_H

#include "ops/op.h"

/* The row functions of MatMul: A and B in, Y out. A caller may make a call of its own, choice SC_PRODUCT_PLAIN. */
enum sc_status sc_matmul_infer(struct sc_infer *infer);
size_t sc_matmul_scratch(const struct sc_call *call);
void sc_matmul_run(const struct sc_call *call);
void sc_matmul_cost(const struct sc_infer *infer, struct sc_cost *cost);

/* b: B as it is multiplied; its content may have any strides. */
enum sc_status sc_matmul_prepare(struct sc_prepare *prepare, const struct sc_fact *b);
void sc_matmul_pack(const struct sc_pack *pack, const struct sc_tensor *b);

#endif
