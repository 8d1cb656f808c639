/* SPDX-License-Identifier: Apache-2.0
 * Decomposed attention: what is found (attention_find.c), and what is made of it (attention.c). */
#ifndef SC_PASSES_ATTENTION_PARTS_H
#define SC_PASSES_ATTENTION_PARTS_H

#include "passes/edit.h"
#include "passes/passes.h"

/* Keys or values of one attention: [batch, heads, rows, width], or to be transposed to that. */
struct sc_attention_rows {
    int value;
    bool turned; /* [batch, rows, heads, width] */
    int past, present, concat; /* graph input, graph output and the node that joins them with `value`; -1: no past */
    int renamed; /* the node that only copies what concat makes to `present`; -1: none */
};

enum { SC_ATTENTION_MASKS = 4 };

/* One attention as exporters write it. Indices are values and nodes of the graph. */
struct sc_attention_match {
    int scores, softmax, product, final; /* nodes: first product, softmax, second product, and what makes the result */
    int q;
    struct sc_attention_rows k, v;
    int n_masks, masks[SC_ATTENTION_MASKS]; /* values that are added to the scores */
    int n_tests, tests[SC_ATTENTION_MASKS]; /* Where nodes that hide scores */
    int hiding[SC_ATTENTION_MASKS]; /* which input of theirs is the number that hides */
    bool causal;
    int64_t left_window; /* -1: none */
    double scale, softcap; /* 0: no cap */
    float *slopes; /* per query head; NULL: none */
    int n_slopes;
    bool dropped;
};

/* The search for one. */
struct sc_attention_finder {
    const struct sc_symbolics *s;
    const struct sc_graph *graph;
    struct sc_attention_match *match;
    int n_masks, masks[SC_ATTENTION_MASKS]; /* added to the scores */
    double factors[SC_ATTENTION_MASKS]; /* by which the sum is then multiplied */
    int n_tests, tests[SC_ATTENTION_MASKS]; /* Where nodes on the scores */
    struct sc_size dims[4]; /* of the scores: batch, heads, queries, keys */
    int guard; /* value whose rows of -inf alone are guarded against; -1: none */
};

/* Scores plus this or less weigh nothing next to any that are not hidden. */
double sc_attention_hidden(enum sc_type type);

/* The number that every element of the value is. */
bool sc_attention_number(const struct sc_attention_finder *f, int value, double *number);

/* Says of each mask and test what it is, in match: it hides nothing, what is later, or what is far back, or it is a slope;
 * else it stays. !*fits: it can be neither. Fails with SC_NO_MEMORY alone (attention_mask.c). */
enum sc_status sc_attention_settle_masks(struct sc_attention_finder *f, bool *fits);

/* Tries node `final`: the second product, or what makes four dims of its three. *found: *match is one. */
enum sc_status sc_attention_find(
    const struct sc_symbolics *s, int final, struct sc_attention_match *match, bool *found);

/* Appends the operator, and what makes its mask, in place of the node `final` of the old graph s->graph. */
enum sc_status sc_attention_append(struct sc_edit *edit, const struct sc_symbolics *s, const struct sc_node *final,
    const struct sc_attention_match *match);

/* The node is the Shape of a value whose dims the promised inputs have too; and the nodes that take them from there. */
bool sc_attention_shape_replaced(
    const struct sc_symbolics *s, const struct sc_pass_options *options, const struct sc_node *node);
enum sc_status sc_attention_append_shape(struct sc_edit *edit, const struct sc_symbolics *s,
    const struct sc_pass_options *options, const struct sc_node *shape);

#endif
