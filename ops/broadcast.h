/* SPDX-License-Identifier: Apache-2.0
 * Multidirectional broadcasting: of facts, of shapes, and of loops over elements. */
#ifndef SC_OPS_BROADCAST_H
#define SC_OPS_BROADCAST_H

#include "ops/op.h"

#define SC_BROADCAST_MAX 8 /* operands of one loop, the output not counted */
#define SC_BROADCAST_PART 16384 /* elements of one part of a parallel loop */

/* Sets rank and dims of `out` to the broadcast of the facts (NULL ones are skipped). A dim that depends on an unknown
 * one stays unknown; a symbol survives against itself and against 1. Shapes that cannot broadcast: SC_BAD_MODEL naming
 * the node and both. */
enum sc_status sc_broadcast_facts(const struct sc_graph *graph, const struct sc_node *node, int n,
    const struct sc_fact *const *in, struct sc_fact *out);

/* One dim against another by the same rules; false when they clash. */
bool sc_broadcast_dim(int64_t a, int64_t b, int64_t *dim);

/* A loop over the elements of a dense output of up to SC_BROADCAST_MAX operands, collapsed to as few dims as their
 * strides allow. Operands may be strided; sizes of elements are the operands' own. */
struct sc_broadcast {
    int n, rank; /* rank >= 1 */
    int64_t count; /* elements of the output */
    int64_t dims[SC_MAX_RANK];
    int64_t steps[SC_BROADCAST_MAX][SC_MAX_RANK]; /* bytes; 0 where broadcast */
    const char *in[SC_BROADCAST_MAX];
    size_t in_bytes[SC_BROADCAST_MAX]; /* of one element */
    char *out;
    size_t out_bytes;
};

/* n elements that lie one after the other in the output. Operand i: its elements are step[i] elements apart, which is 0
 * or 1 when the tensors given to sc_broadcast_init were dense. */
struct sc_span {
    int64_t n;
    const void *in[SC_BROADCAST_MAX];
    int64_t step[SC_BROADCAST_MAX];
    void *out;
    int64_t at; /* index of the first element in the output */
    int worker;
};

typedef void sc_span_fn(void *arg, const struct sc_span *span);

/* Every operand must broadcast to the shape of `out`, which is dense; NULL operands are not allowed. */
void sc_broadcast_init(
    struct sc_broadcast *loop, int n, const struct sc_tensor *const *in, const struct sc_tensor *out);

/* Calls fn for all spans, SC_BROADCAST_PART elements or less a part, on all workers. */
void sc_broadcast_run(const struct sc_broadcast *loop, struct sc_team *team, sc_span_fn *fn, void *arg);

#endif
