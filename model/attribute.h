/* SPDX-License-Identifier: Apache-2.0
 * Attributes of a node. */
#ifndef SC_MODEL_ATTRIBUTE_H
#define SC_MODEL_ATTRIBUTE_H

#include "tensor/value.h"

struct sc_fact;
struct sc_graph;

/* The numbers of AttributeProto.AttributeType. */
enum sc_attribute_type {
    SC_ATTRIBUTE_FLOAT = 1,
    SC_ATTRIBUTE_INT = 2,
    SC_ATTRIBUTE_STRING = 3,
    SC_ATTRIBUTE_TENSOR = 4,
    SC_ATTRIBUTE_GRAPH = 5,
    SC_ATTRIBUTE_FLOATS = 6,
    SC_ATTRIBUTE_INTS = 7,
    SC_ATTRIBUTE_STRINGS = 8,
    SC_ATTRIBUTE_TENSORS = 9,
    SC_ATTRIBUTE_GRAPHS = 10,
    SC_ATTRIBUTE_SPARSE_TENSOR = 11,
    SC_ATTRIBUTE_TYPE_PROTO = 13
};

/* Everything is in the model's arena. `n` is the count of the list kinds and 1 for the others. */
struct sc_attribute {
    const char *name;
    const char *ref; /* in the body of a function: the caller's attribute whose value this one takes; else NULL */
    enum sc_attribute_type type;
    int n;
    union {
        float f;
        int64_t i;
        struct sc_string s;
        const struct sc_tensor *tensor; /* decoded, plain storage, dense; for TENSORS an array */
        struct sc_graph *graph; /* GRAPH; for GRAPHS an array */
        const float *floats;
        const int64_t *ints;
        const struct sc_string *strings;
        const struct sc_fact *type; /* TYPE_PROTO */
    } u;
};

#endif
