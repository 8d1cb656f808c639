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

/* A bias that depends on a key's distance from the query, and the head, alone (attention_distance.c). */
struct sc_attention_recipe {
    /* It is one number from so far before the query on; n distances from there to where it is one again. */
    int64_t before, n;
    int table; /* [heads or 1, n], once it is appended; else -1 */
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
    struct sc_attention_recipe *distances; /* of what is added to the scores by distance; NULL: none */
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
    struct sc_attention_recipe **recipes; /* by value, of all matches; NULL: not looked at, or not one */
};

/* Scores plus this or less weigh nothing next to any that are not hidden. */
double sc_attention_hidden(enum sc_type type);

/* The operator that makes the value, or NULL; op NULL: any. */
const struct sc_node *sc_attention_maker(const struct sc_attention_finder *f, int value, const char *op);

/* The number that every element of the value, of floats, is. */
bool sc_attention_number(const struct sc_attention_finder *f, int value, double *number);

/* Over [batch, heads, query, key]: key - position of the query. */
struct sc_form sc_attention_distance(const struct sc_attention_finder *f);

/* Each dim of the mask is 1 or that of the scores, the keys' the same. */
bool sc_attention_spreads(const struct sc_attention_finder *f, int value);

/* The bias is a slope per head along the keys (what it adds to all of a query's scores alike changes nothing), or made
 * of the distance and the head alone. Then match says so. Fail with SC_NO_MEMORY alone (attention_distance.c). */
enum sc_status sc_attention_settle_slopes(struct sc_attention_finder *f, int value, double factor, bool *settled);
enum sc_status sc_attention_settle_table(struct sc_attention_finder *f, int value, double factor, bool *settled);

/* Says of each mask and test what it is, in match: it hides nothing, what is later, or what is far back, or it depends
 * on the distance; else it stays. !*fits: it can be neither. Fails with SC_NO_MEMORY alone (attention_mask.c). */
enum sc_status sc_attention_settle_masks(struct sc_attention_finder *f, bool *fits);

/* Tries node `final` (recipes: by value, NULL at first): the second product, or what makes four dims of its three.
 * *found: *match is one. */
enum sc_status sc_attention_find(const struct sc_symbolics *s, struct sc_attention_recipe **recipes, int final,
    struct sc_attention_match *match, bool *found);

/* Appends the operator, and what makes its mask, in place of the node `final` of the old graph s->graph. */
enum sc_status sc_attention_append(struct sc_edit *edit, const struct sc_symbolics *s, const struct sc_node *final,
    const struct sc_attention_match *match);

/* Appends what makes the table, unless that was done. */
enum sc_status sc_attention_append_table(
    struct sc_edit *edit, const struct sc_node *final, struct sc_attention_recipe *recipe);

/* A node with one output of the type, without attributes, next to `like`; and a Transpose of *value, which it
 * becomes. */
enum sc_status sc_attention_append_node(struct sc_edit *edit, const struct sc_node *like, const char *op, int version,
    int n_in, const int *in, enum sc_type type, int *out);
enum sc_status sc_attention_append_transpose(
    struct sc_edit *edit, const struct sc_node *like, enum sc_type type, int rank, const int64_t *perm, int *value);

/* The node is the Shape of a value whose dims the promised inputs have too; and the nodes that take them from there. */
bool sc_attention_shape_replaced(
    const struct sc_symbolics *s, const struct sc_pass_options *options, const struct sc_node *node);
enum sc_status sc_attention_append_shape(struct sc_edit *edit, const struct sc_symbolics *s,
    const struct sc_pass_options *options, const struct sc_node *shape);

#endif
