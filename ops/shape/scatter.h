/* SPDX-License-Identifier: Apache-2.0
 * What the scattering operators share. */
#ifndef SC_OPS_SHAPE_SCATTER_H
#define SC_OPS_SHAPE_SCATTER_H

#include "ops/op.h"
#include "ops/shape/element.h"

/* Reads the attribute 'reduction'. */
enum sc_status sc_reduction_read(
    const struct sc_graph *graph, const struct sc_node *node, enum sc_reduction *reduction);

/* Fails when elements of in[0] cannot be combined so. */
enum sc_status sc_reduction_check(const struct sc_infer *infer, enum sc_reduction reduction);

#endif
