/* SPDX-License-Identifier: Apache-2.0
 * Which file holds the rows of which operator. */
#ifndef SC_OPS_FAMILIES_H
#define SC_OPS_FAMILIES_H

#include "ops/op.h"

/* A file of kernels exports its rows as one array that ends with a row whose name is NULL:
 *     const struct sc_op sc_ops_math_where[] = {{"", "Where", 9, ...}, {"", "Where", 16, ...}, {.name = NULL}};
 * A family (folder) has one file that lists where each operator is, sorted by name so that it can be searched:
 *     static const struct sc_family_entry entries[] = {{"Add", sc_ops_math_binary}, {"Where", sc_ops_math_where}};
 *     const struct sc_family sc_family_math = {"math", SC_LENGTH(entries), entries};
 * and ops/families.c lists the families. A test checks that entries are sorted and that no row is forgotten. */
struct sc_family_entry {
    const char *name; /* operators of several domains may share it: the rows say which */
    const struct sc_op *rows;
};

struct sc_family {
    const char *name;
    int n;
    const struct sc_family_entry *entries;
};

#define SC_LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* X(name of a family's variable): one line per family. */
#define SC_FAMILIES(X)                                                                                                 \
    X(sc_family_math)                                                                                                  \
    X(sc_family_shape)                                                                                                 \
    X(sc_family_control)                                                                                               \
    X(sc_family_nn) X(sc_family_ms) X(sc_family_quant) X(sc_family_text) X(sc_family_training) X(sc_family_ml)

#define X(family) extern const struct sc_family family;
SC_FAMILIES(X)
#undef X

/* The families in order; n is their count. */
const struct sc_family *const *sc_family_all(int *n);

#endif
