/* SPDX-License-Identifier: Apache-2.0
 * Facts about every operator version, from ops/schema/schema.tsv: what the specification says, not what we can do. */
#ifndef SC_OPS_SCHEMA_H
#define SC_OPS_SCHEMA_H

#include <stdbool.h>

#include "model/graph.h"

/* One (domain, name, since). Texts are the columns of schema.tsv:
 *   inputs, outputs   "X:T A?:T1 rest*:T"   name, then ? optional or * variadic (heterogeneous: ~), then type variable
 *                                           or type
 *   attributes        "axis:int=0 mode:string! shape:ints"   ! required, = default
 *   types             "T=float,double T1=tensor(int64),seq(tensor(float))..."   plain names are tensors */
struct sc_schema {
    const char *domain, *name;
    int since;
    bool function, deprecated;
    int min_in, max_in, min_out, max_out; /* max: INT_MAX when variadic */
    const char *inputs, *outputs, *attributes, *types;
};

/* The newest that is not newer than the version; NULL when there is none. */
const struct sc_schema *sc_schema_find(const char *domain, const char *name, int version);

/* Whether some operator is of this domain, spelt as in the file. */
bool sc_schema_has_domain(const char *domain);

/* All of them, sorted by domain, name and since. */
const struct sc_schema *sc_schema_all(int *n);

/* Checks every node of the graph and its bodies: known operator and version, arity, attribute names and types, required
 * ones there. SC_BAD_MODEL for what the schema forbids, SC_UNSUPPORTED for an operator that has no row here. The
 * message names node and operator. */
enum sc_status sc_check_graph(const struct sc_graph *graph);

/* Checks the element types of one node's inputs against its schema's constraints. */
enum sc_status sc_check_types(
    const struct sc_graph *graph, const struct sc_node *node, int n_in, const struct sc_fact *const *in);

#endif
