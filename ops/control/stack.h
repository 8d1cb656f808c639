/* SPDX-License-Identifier: Apache-2.0
 * Taking tensors apart along an axis and putting them together: for sequences and loops. */
#ifndef SC_OPS_CONTROL_STACK_H
#define SC_OPS_CONTROL_STACK_H

#include "ops/op.h"

/* Entries [first, first + n) of an axis of a dense tensor, copied to the arena; without the axis when `drop` (n
 * is 1). */
enum sc_status sc_slice_entries(struct sc_arena *arena, const struct sc_tensor *from, int axis, int64_t first,
    int64_t n, bool drop, struct sc_tensor *to);

/* n dense tensors of equal type one after the other along a new axis (`stack`), where all dims are equal, or along an
 * old one. reverse: the last one first. n is at least 1. Fails naming the node where dims differ. */
enum sc_status sc_join_tensors(const struct sc_call *call, int64_t n, const struct sc_tensor *const *items, int axis,
    bool stack, bool reverse, struct sc_tensor *to);

/* A growing list of values in the arena. */
struct sc_value_list {
    int64_t n, capacity;
    struct sc_value *items;
};

enum sc_status sc_value_list_add(struct sc_arena *arena, struct sc_value_list *list, const struct sc_value *value);

/* The values of a list as one tensor. An empty list gives a tensor whose stacked axis is 0 long and whose other dims
 * are those of `fact`, 0 where unknown. */
enum sc_status sc_value_list_stack(const struct sc_call *call, const struct sc_value_list *list, int64_t axis,
    bool reverse, const struct sc_fact *fact, struct sc_value *out);

/* What is known of the entries that output o of the node stacks along `axis`: what the body declares of them, else what
 * was found of the whole. */
struct sc_fact sc_entry_fact(const struct sc_call *call, int o, const struct sc_fact *declared, int64_t axis);

/* A boolean or i64 scalar in the arena. */
enum sc_status sc_scalar_new(struct sc_arena *arena, enum sc_type type, int64_t content, struct sc_value *value);

/* What is known when either of two facts may hold. */
void sc_fact_join(const struct sc_fact *a, const struct sc_fact *b, struct sc_fact *out);

/* The graph attribute `name` of a node; SC_BAD_MODEL when there is none. */
enum sc_status sc_node_body(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, const struct sc_graph **body);

#endif
