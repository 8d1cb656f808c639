/* SPDX-License-Identifier: Apache-2.0
 * Broadcasting of B to the shape of A: the binary operators of versions 1 and 6, and PRelu. */
#ifndef SC_OPS_MATH_ONE_WAY_H
#define SC_OPS_MATH_ONE_WAY_H

#include "ops/op.h"

struct sc_one_way {
    bool on; /* false: both ways */
    bool same; /* B has A's shape: broadcast = 0 */
    bool suffix; /* B's last axis is A's last one; else B's first axis is A's axis `axis` */
    int64_t axis;
};

/* Reads the attributes `broadcast` and `axis` (absent: suffix). */
enum sc_status sc_one_way_read(const struct sc_node *node, struct sc_one_way *one_way);

/* B's shape seen with as many axes as A has, ones before and after. SC_BAD_MODEL when it does not fit A. */
enum sc_status sc_one_way_dims(const struct sc_graph *graph, const struct sc_node *node,
    const struct sc_one_way *one_way, const struct sc_fact *a, const struct sc_fact *b, int64_t *dims);

/* infer for in[0] and in[1]: the output's shape by `one_way`, its type as given. */
enum sc_status sc_one_way_infer(struct sc_infer *infer, const struct sc_one_way *one_way, enum sc_type type);

/* in[1] of a call whose infer succeeded, as a tensor that broadcasts against in[0] by the usual rules. */
struct sc_tensor sc_one_way_view(const struct sc_call *call, const struct sc_one_way *one_way);

#endif
