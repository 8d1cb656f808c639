/* SPDX-License-Identifier: Apache-2.0
 * What infer functions share. */
#ifndef SC_OPS_INFER_H
#define SC_OPS_INFER_H

#include "ops/op.h"

/* out[0] has the type and shape of in[0]. Usable as a row's infer. */
enum sc_status sc_infer_same(struct sc_infer *infer);

/* out[i] has the shape of `like` (which may be NULL or unknown) and the given type. Nothing when nobody named
 * out[i]. */
void sc_infer_shape_of(struct sc_infer *infer, int i, const struct sc_fact *like, enum sc_type type);

/* out[0]: all inputs broadcast against each other, of type in[0] (usable as a row's infer), or of `type`. */
enum sc_status sc_infer_broadcast(struct sc_infer *infer);
enum sc_status sc_infer_broadcast_typed(struct sc_infer *infer, enum sc_type type);

/* The type of input i, or SC_TYPE_NONE. */
enum sc_type sc_infer_type(const struct sc_infer *infer, int i);

/* SC_BAD_INPUT unless input i, called `name` in the message, is absent or may have exactly these dims; those below 0
 * are anything. */
enum sc_status sc_infer_want(const struct sc_infer *infer, int i, const char *name, int rank, const int64_t *want);

/* axis in [-rank, rank) → [0, rank). `what` is "axis" in the message. SC_BAD_MODEL else. */
enum sc_status sc_axis(
    const struct sc_graph *graph, const struct sc_node *node, const char *what, int64_t axis, int rank, int *normal);

/* Content of a fact that is a known i32 or i64 tensor with at most `room` elements: sets n and values, returns true.
 * False when the fact is NULL or its content is not known. */
bool sc_fact_ints(const struct sc_fact *fact, int room, int *n, int64_t *values);

/* "[2,?,3]" for messages: unknown dims are "?". */
char *sc_dims_text(int rank, const int64_t *dims, char *buffer, size_t bytes);

#endif
