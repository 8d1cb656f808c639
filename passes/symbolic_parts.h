/* SPDX-License-Identifier: Apache-2.0
 * Between the files of symbolic evaluation. */
#ifndef SC_PASSES_SYMBOLIC_PARTS_H
#define SC_PASSES_SYMBOLIC_PARTS_H

#include "passes/symbolic.h"

/* What an operator does with two elements. */
enum sc_arithmetic {
    SC_NOTHING,
    SC_ADD,
    SC_SUBTRACT,
    SC_MULTIPLY,
    SC_DIVIDE,
    SC_POWER,
    SC_LESS,
    SC_LESS_OR_EQUAL,
    SC_GREATER,
    SC_GREATER_OR_EQUAL,
    SC_EQUAL,
    SC_AND,
    SC_OR,
    SC_LESSER
};

/* What a node makes of what is known of its inputs. Sets out values that stay unknown otherwise; fails with
 * SC_NO_MEMORY alone. */
typedef enum sc_status (*sc_symbolic_op)(struct sc_symbolics *s, const struct sc_node *node);

sc_symbolic_op sc_symbolic_element_op(const char *name); /* symbolic_element.c; NULL: none */
sc_symbolic_op sc_symbolic_microsoft_op(const char *name); /* likewise, of com.microsoft */
/* Elements of a constant, whose dims are set in out (symbolic_constant.c). */
enum sc_status sc_symbolic_of_constant(struct sc_symbolics *s, const struct sc_tensor *known, struct sc_symbolic *out);

/* A constant in the range in which sums are safe. */
bool sc_size_safe(const struct sc_size *size);

/* Elements of an operator on booleans, or on floats; out's dims are set (symbolic_mask.c). */
enum sc_status sc_symbolic_on_tests(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out);
enum sc_status sc_symbolic_on_floats(struct sc_symbolics *s, enum sc_arithmetic does, const struct sc_symbolic *a,
    const struct sc_symbolic *b, struct sc_symbolic *out);
enum sc_status sc_symbolic_where(struct sc_symbolics *s, const struct sc_node *node);
/* A boolean value over dims of `rank`, lists of equal booleans too: true where form[0] and *also, when there is one,
 * are not negative. false: it is not known. */
bool sc_symbolic_test(const struct sc_symbolic *value, int rank, struct sc_form form[2], const struct sc_form **also);
/* Floats that are the whole numbers of the form. */
enum sc_status sc_symbolic_set_whole(struct sc_symbolics *s, struct sc_symbolic *out, const struct sc_form *form);

/* Elements are equal where the form is, and the index along the dim of a function; they are not the same everywhere. */
bool sc_symbolic_is_function(const struct sc_symbolic *value);

/* What is left to say of elements of which nothing is known: that they are a function of places
 * (symbolic_function.c). */
enum sc_status sc_symbolic_function(struct sc_symbolics *s, const struct sc_node *node, struct sc_symbolic *out);

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
/* The same of a test or choice that holds where both forms do; also NULL: there is one. */
enum sc_status sc_symbolic_set_both(struct sc_symbolics *s, struct sc_symbolic *out, enum sc_symbolic_kind kind,
    const struct sc_form *form, const struct sc_form *also);
/* Elements like those of `like`, which speaks of out's dims: a kind with a form. */
enum sc_status sc_symbolic_set_like(struct sc_symbolics *s, struct sc_symbolic *out, const struct sc_symbolic *like);
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

/* Elements of a kind with a form as they are over dims of rank `to`, of which the forms are kept in `form`. */
struct sc_symbolic sc_symbolic_lifted(const struct sc_symbolic *value, int to, struct sc_form form[2]);

/* axis of a node's attribute, normalised; -1 when it is out of range. */
int sc_symbolic_axis(const struct sc_node *node, const char *name, int64_t otherwise, int rank);

#endif
