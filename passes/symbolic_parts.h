/* SPDX-License-Identifier: Apache-2.0
 * Between the files of symbolic evaluation. */
#ifndef SC_PASSES_SYMBOLIC_PARTS_H
#define SC_PASSES_SYMBOLIC_PARTS_H

#include "passes/symbolic.h"

/* What a node makes of what is known of its inputs. Sets out values that stay unknown otherwise; fails with
 * SC_NO_MEMORY alone. */
typedef enum sc_status (*sc_symbolic_op)(struct sc_symbolics *s, const struct sc_node *node);

sc_symbolic_op sc_symbolic_element_op(const char *name); /* symbolic_element.c; NULL: none */
sc_symbolic_op sc_symbolic_shape_op(const char *name); /* symbolic_shape.c */
sc_symbolic_op sc_symbolic_slice_op(const char *name); /* symbolic_slice.c */
sc_symbolic_op sc_symbolic_make_op(const char *name); /* symbolic_make.c */

/* What is known of input i or output o; NULL when absent. */
struct sc_symbolic *sc_symbolic_in(struct sc_symbolics *s, const struct sc_node *node, int i);
struct sc_symbolic *sc_symbolic_out(struct sc_symbolics *s, const struct sc_node *node, int o);

/* Sets the dims, all elements unknown. dims is copied. Ranks above SC_SYMBOLIC_RANK stay unknown. */
enum sc_status sc_symbolic_set(struct sc_symbolics *s, struct sc_symbolic *out, int rank, const struct sc_size *dims);

/* Sets the elements of a value whose dims are set. */
enum sc_status sc_symbolic_set_form(
    struct sc_symbolics *s, struct sc_symbolic *out, enum sc_symbolic_kind kind, const struct sc_form *form);
enum sc_status sc_symbolic_set_list(struct sc_symbolics *s, struct sc_symbolic *out, int n, const struct sc_size *list);

/* As a form over the value's own dims, also when it is a list of one; false: it is not whole numbers with a form. */
bool sc_symbolic_form(const struct sc_symbolic *value, struct sc_form *form);

/* As a list of at most SC_SYMBOLIC_MOST sizes. */
bool sc_symbolic_list(const struct sc_symbolic *value, int *n, struct sc_size *list);

struct sc_shape {
    int rank;
    const struct sc_size *dims;
};

/* dims of a and b broadcast against each other; false when that is not known for every size. */
bool sc_symbolic_broadcast(
    const struct sc_symbolics *s, const struct sc_shape *a, const struct sc_shape *b, int *rank, struct sc_size *dims);

/* The form over dims that it is broadcast to: from rank `rank`, dims `dims`, to rank `to`. */
void sc_symbolic_lift(struct sc_form *form, int rank, const struct sc_size *dims, int to);

/* axis of a node's attribute, normalised; -1 when it is out of range. */
int sc_symbolic_axis(const struct sc_node *node, const char *name, int64_t otherwise, int rank);

#endif
