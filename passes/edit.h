/* SPDX-License-Identifier: Apache-2.0
 * Putting nodes and values into a graph, for passes that add some. */
#ifndef SC_PASSES_EDIT_H
#define SC_PASSES_EDIT_H

#include "model/model.h"

/* The nodes of one graph, written anew in topological order: what is not appended is gone.
 *
 *   sc_edit_open ──► sc_edit_append of each old or new node, before its readers ──► the graph has the new list
 *
 * Old nodes stay readable in the model's arena. */
struct sc_edit {
    struct sc_model *model;
    struct sc_graph *graph;
    int next_index; /* of nodes that the file does not have */
    int64_t serial; /* for names that are taken */
};

void sc_edit_open(struct sc_edit *edit, struct sc_model *model);

/* Starts the new list of `graph`; *n old nodes are returned. */
const struct sc_node *sc_edit_graph(struct sc_edit *edit, struct sc_graph *graph, int *n);

/* Appends a copy of the node, whose lists it keeps, and makes it the producer of its outputs. */
enum sc_status sc_edit_append(struct sc_edit *edit, const struct sc_node *node);

/* A value of the edited graph without facts, called "base/name", or that with a number when it is taken. */
enum sc_status sc_edit_value(struct sc_edit *edit, const char *base, const char *name, int *value);

/* A node without attributes that stands for the same file nodes as `like`; index is new. in and out are copied. */
enum sc_status sc_edit_node(struct sc_edit *edit, const struct sc_node *like, const char *op, int version, int n_in,
    const int *in, int n_out, const int *out, struct sc_node *node);

/* A weight of one number, of rank 0 or 1, called as sc_edit_value does. */
enum sc_status sc_edit_number(
    struct sc_edit *edit, const char *base, const char *name, enum sc_type type, int rank, double number, int *value);

/* Gives a node that takes part in replacing another one a unit of its own, called by its first output. The other one's
 * units then stand for nothing (sc_edit_replaced). */
enum sc_status sc_edit_unit(struct sc_edit *edit, struct sc_node *node);
void sc_edit_replaced(struct sc_edit *edit, const struct sc_node *node);

/* What messages and new names call the node: its name, or its first output's. */
const char *sc_edit_label(const struct sc_graph *graph, const struct sc_node *node);

/* read: per value of the graph. Unless the node is dead or none of its outputs is read, marks what it and its bodies
 * read, and returns true. */
bool sc_node_mark_reads(const struct sc_node *node, bool *read);

/* Marks what the node's bodies read. */
void sc_node_mark_captures(const struct sc_node *node, bool *read);

#endif
