/* SPDX-License-Identifier: Apache-2.0
 * Decomposed attention: what is found (attention_find.c), and what is made of it (attention.c). */
#ifndef SC_PASSES_ATTENTION_PARTS_H
#define SC_PASSES_ATTENTION_PARTS_H

#include "passes/symbolic.h"

/* Keys or values of one attention: [batch, heads, rows, width], or to be transposed to that. */
struct sc_attention_rows {
    int value;
    bool turned; /* [batch, rows, heads, width] */
    int past, present, concat; /* graph input, graph output and the node that joins them with `value`; -1: no past */
};

/* One attention as exporters write it. Indices are values and nodes of the graph. */
struct sc_attention_match {
    int scores, softmax, final; /* nodes: first product, softmax, second product */
    int q;
    struct sc_attention_rows k, v;
    int mask; /* value that is added to the scores; -1: none */
    bool causal;
    double scale;
    bool dropped;
};

/* Tries the product at node `final`. true: *match is one. */
bool sc_attention_find(const struct sc_symbolics *s, int final, struct sc_attention_match *match);

#endif
