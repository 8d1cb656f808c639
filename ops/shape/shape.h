/* SPDX-License-Identifier: Apache-2.0
 * What the moving operators share: axes, facts that follow from facts, strided copies. */
#ifndef SC_OPS_SHAPE_SHAPE_H
#define SC_OPS_SHAPE_SHAPE_H

#include <string.h>

#include "ops/infer.h"

/* Zeroed parameters in the model's arena. */
enum sc_status sc_params_new(struct sc_arena *arena, size_t bytes, void **params);

/* A list of integers that is an attribute in old versions and an input in new ones. n is -1 when it is absent. */
struct sc_ints {
    int n;
    const int64_t *values;
};

/* The dim of an axis list into a mask, refusing repeats. */
enum sc_status sc_axes_mask(const struct sc_infer *infer, struct sc_ints axes, int rank, uint32_t *mask);

/* out[0]: entries of in[0] along `axis`, or of its elements when `flat`; only a run tells how many. */
enum sc_status sc_infer_some(struct sc_infer *infer, bool flat, int64_t axis);

/* Fails unless inputs 0..n-1 are there and are tensors (or nothing is known of them). */
enum sc_status sc_infer_needs(const struct sc_infer *infer, int n);

/* A fact whose type is known and nothing else, and one with a rank and unknown dims. Both take out == NULL. */
void sc_fact_of_type(struct sc_fact *out, enum sc_type type);
void sc_fact_of_rank(struct sc_fact *out, enum sc_type type, int rank);

/* sc_fact_of, with the dims [rows, heads, capacity, width] of a state. */
void sc_fact_of_input(struct sc_fact *fact, const struct sc_value *value);

/* Elements of a 0-d or 1-d i32 or i64 input whose content is known: the caller has seen its `value`. More than
 * SC_MAX_RANK elements are SC_LIMIT, content of another shape or type SC_BAD_MODEL. */
enum sc_status sc_input_ints(
    const struct sc_infer *infer, int input, int64_t values[SC_MAX_RANK], struct sc_ints *ints);

/* The list of an attribute when the node has it, else of input `input`. n is -1 when neither is there; *known is false
 * when the input is there and its content is not known. `values` is storage for the result. */
enum sc_status sc_ints_of(const struct sc_infer *infer, struct sc_ints attribute, int input,
    int64_t values[SC_MAX_RANK], struct sc_ints *ints, bool *known);

/* Product of dims [from, to): a number, a symbol (when all others are 1), or SC_DIM_UNKNOWN. */
int64_t sc_fact_product(const struct sc_fact *fact, int from, int to);

/* a * b without overflow; SC_LIMIT naming the node. */
enum sc_status sc_dim_multiply(const struct sc_infer *infer, int64_t a, int64_t b, int64_t *product);

enum { SC_CALL_INPUTS = 24 }; /* the most inputs of an operator whose infer is asked again when it runs */

/* An infer on the values of a call, for sizes that run and scratch find as infer does. Refers to itself: not to be
 * copied. */
struct sc_call_facts {
    struct sc_fact facts[SC_CALL_INPUTS];
    const struct sc_fact *in[SC_CALL_INPUTS];
    struct sc_infer infer; /* without outputs and an arena */
};

void sc_call_facts_init(struct sc_call_facts *facts, const struct sc_call *call);

/* resolve for rows whose infer knows every dim once it sees the content of the inputs (at most SC_CALL_INPUTS): infers
 * on facts of the values and sets the out tensors. */
enum sc_status sc_resolve_by_infer(const struct sc_call *call);

/* Sets type and dims of an out tensor, and refuses sizes that cannot be; keeps its data pointer. */
enum sc_status sc_resolve_dims(
    const struct sc_call *call, int output, enum sc_type type, int rank, const int64_t *dims);

#define SC_MOVE_RANK 32

/* A block copied between two strided places. Strides in elements. */
struct sc_move {
    int rank;
    int64_t dims[SC_MOVE_RANK], to_strides[SC_MOVE_RANK], from_strides[SC_MOVE_RANK];
    size_t bytes; /* of one element */
    void *to;
    const void *from;
};

/* The places do not overlap. Large blocks are shared out to the team. */
void sc_move_run(const struct sc_move *move, struct sc_team *team);

/* Adds one axis at the end. */
static inline void sc_move_axis(struct sc_move *move, int64_t dim, int64_t to_stride, int64_t from_stride)
{
    move->dims[move->rank] = dim;
    move->to_strides[move->rank] = to_stride;
    move->from_strides[move->rank++] = from_stride;
}

/* One element; sizes of numbers are known where this is inlined, and take no call. */
static inline void sc_copy_element(void *to, const void *from, size_t bytes)
{
    switch (bytes) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, bytes);
    }
}

/* Number of parts of about `grain` items out of n; at least 1. */
static inline int64_t sc_parts(int64_t n, int64_t grain)
{
    return n <= grain ? 1 : (n + grain - 1) / grain;
}

/* An address `offset` elements on. */
static inline void *sc_at(void *data, int64_t offset, size_t bytes)
{
    return (char *)data + offset * (int64_t)bytes;
}

static inline const void *sc_const_at(const void *data, int64_t offset, size_t bytes)
{
    return (const char *)data + offset * (int64_t)bytes;
}

#endif
