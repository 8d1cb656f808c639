/* SPDX-License-Identifier: Apache-2.0
 * What is known of values for every size at once: dims as sums of symbols, and elements as functions of their place. */
#ifndef SC_PASSES_SYMBOLIC_H
#define SC_PASSES_SYMBOLIC_H

#include "model/model.h"

/* Symbols are whole numbers that differ from run to run, and never below a bound: the length of the past, the number of
 * new tokens, a batch. */
enum { SC_SYMBOLS = 8, SC_SYMBOLIC_RANK = 8, SC_SYMBOLIC_MOST = 32, SC_SYMBOLIC_BOUNDS = 4 };

/* constant + sum of symbol[k] times the k-th symbol */
struct sc_size {
    int64_t constant, symbol[SC_SYMBOLS];
};

/* base + sum of index[d] times the index along dim d */
struct sc_form {
    struct sc_size base;
    int64_t index[SC_SYMBOLIC_RANK];
};

enum sc_symbolic_kind {
    SC_SYMBOLIC_ANY, /* nothing is known of the elements */
    SC_SYMBOLIC_LIST, /* a few whole numbers or booleans, rank 0 or 1, each a size */
    SC_SYMBOLIC_FORM, /* whole numbers: element i is form(i) */
    SC_SYMBOLIC_TEST, /* booleans: element i is form(i) >= 0 */
    SC_SYMBOLIC_CHOICE, /* floats: element i is `yes` where form(i) >= 0, else `no` */
    SC_SYMBOLIC_SLOPES, /* floats: element i is scale[i along dim slope] times form(i) */
    SC_SYMBOLIC_FUNCTION /* of any type: equal where form and the index along dim slope are, and not otherwise known */
};

struct sc_symbolic {
    int rank; /* -1: nothing is known */
    struct sc_size *dims;
    enum sc_symbolic_kind kind;
    int n_list;
    struct sc_size *list;
    const struct sc_form *form;
    const struct sc_form *also; /* of tests and choices: it holds where also(i) >= 0 too; NULL: nothing more */
    double yes, no;
    int slope; /* -1: there is one scale, or no such dim */
    const float *scale;
};

/* A dim of the model (below -1) and the size that it is called for. */
struct sc_symbolic_name {
    int64_t dim;
    struct sc_size size;
};

/* A symbol that stands for something made of others. */
struct sc_symbolic_made {
    enum { SC_MADE_OF_NOTHING, SC_MADE_LESSER, SC_MADE_PRODUCT } kind;
    struct sc_size a, b; /* lesser: b is a constant, at least 1 */
};

/* A size that is at most `most` in every run that goes well: positions that are looked up in a table. */
struct sc_symbolic_bound {
    struct sc_size size;
    int64_t most;
};

struct sc_symbolics {
    const struct sc_graph *graph;
    struct sc_fact *facts; /* per value: types, and constants */
    struct sc_arena *arena;
    int64_t least[SC_SYMBOLS]; /* each symbol is at least this */
    struct sc_symbolic *values; /* per value of the graph */
    struct sc_model *model; /* whose named dims are symbols, the first few of them; NULL: symbols are the caller's */
    int n_symbols; /* in use */
    struct sc_symbolic_made made[SC_SYMBOLS];
    int n_names, cap_names;
    struct sc_symbolic_name *names; /* symbols and sums of them */
    bool may_assume; /* that symbols 0 and 1 together do not outgrow what constants have room for */
    int64_t assumed; /* then the least such room, which the caller has to see to; 0: any */
    int n_bounds;
    struct sc_symbolic_bound bounds[SC_SYMBOLIC_BOUNDS];
};

/* Values without anything known. Fails with SC_NO_MEMORY alone, as the others. */
enum sc_status sc_symbolics_open(struct sc_symbolics *s);

/* Walks the nodes. Those of inputs are set before by the caller. Only the main graph; what control flow makes is
 * unknown. */
enum sc_status sc_symbolics_run(struct sc_symbolics *s);

/* The same in parts: what is known of all values before the nodes, then node by node, whose facts are set before. */
enum sc_status sc_symbolics_start(struct sc_symbolics *s);
enum sc_status sc_symbolics_step(struct sc_symbolics *s, const struct sc_node *node);

/* The size of a dim of a fact; false: it has none. */
bool sc_symbolics_size(struct sc_symbolics *s, int64_t dim, struct sc_size *size);
/* The lesser or the product of two sizes that are not negative, as a symbol of its own. false: there are no more, or
 * it would say nothing (the lesser of two that are not known). */
bool sc_symbolics_lesser(
    struct sc_symbolics *s, const struct sc_size *a, const struct sc_size *b, struct sc_size *size);
bool sc_symbolics_product(
    struct sc_symbolics *s, const struct sc_size *a, const struct sc_size *b, struct sc_size *size);
/* The dim of a fact for a size, with a new name where needed ("past + sequence"). Needs the model. */
enum sc_status sc_symbolics_dim(struct sc_symbolics *s, const struct sc_size *size, int64_t *dim);

/* The number that every element is, a boolean 1 or 0. */
bool sc_symbolic_number(const struct sc_symbolics *s, const struct sc_symbolic *value, double *number);

/* The node is a Gather of rows from a table that is the same in every run. */
bool sc_symbolic_looks_up(const struct sc_symbolics *s, const struct sc_node *node);

/* As a list of constants. */
bool sc_symbolic_ints(const struct sc_symbolic *value, int *n, int64_t *ints);

bool sc_size_equal(const struct sc_size *a, const struct sc_size *b);
bool sc_size_is(const struct sc_size *size, int64_t constant);
bool sc_size_constant(const struct sc_size *size); /* no symbol in it */
/* a + b * factor; false when a number would leave the range in which sums are safe. */
bool sc_size_add(const struct sc_size *a, const struct sc_size *b, int64_t factor, struct sc_size *sum);
/* true: size >= 0 whatever the symbols are; false: not known. */
bool sc_size_not_negative(const struct sc_symbolics *s, const struct sc_size *size);

/* The same, or true because no run that goes well gets past the bounds, or because that is assumed. */
bool sc_size_bounded(struct sc_symbolics *s, const struct sc_size *size);

/* Does not depend on the place. */
bool sc_form_constant(const struct sc_form *form);
/* a + b * factor, over the same dims; false as sc_size_add. */
bool sc_form_add(const struct sc_form *a, const struct sc_form *b, int64_t factor, struct sc_form *sum);
/* form is sign (1 or -1) times `of`, and a constant more. */
bool sc_form_along(const struct sc_form *form, const struct sc_form *of, int64_t *sign, int64_t *shift);
/* The form that is >= 0 where the other one is not. */
bool sc_form_invert(const struct sc_form *form, struct sc_form *inverse);
/* 1: form >= 0 everywhere; 0: nowhere; -1: not known. For places within dims. */
int sc_form_holds(const struct sc_symbolics *s, const struct sc_form *form, int rank, const struct sc_size *dims);
/* true: wherever a >= 0, b is; false: not known. */
bool sc_form_implies(const struct sc_symbolics *s, const struct sc_form *a, const struct sc_form *b, int rank,
    const struct sc_size *dims);

#endif
