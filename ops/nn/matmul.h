/* SPDX-License-Identifier: Apache-2.0
 * Products by numpy's rules for operators that bring other tensors to them. */
#ifndef SC_OPS_NN_MATMUL_H
#define SC_OPS_NN_MATMUL_H

#include "ops/op.h"

/* Facts of MatMul: A and B in, Y out. */
enum sc_status sc_matmul_infer(struct sc_infer *infer);

#endif
