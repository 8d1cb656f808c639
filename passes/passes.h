/* SPDX-License-Identifier: Apache-2.0
 * Rewrites of a graph before the cut. */
#ifndef SC_PASSES_PASSES_H
#define SC_PASSES_PASSES_H

#include "exec/infer.h"
#include "passes/symbolic.h"

/* Passes never look at the plan, so that every number of ranks computes the same. They may remove values, never rename
 * one; a node keeps the file nodes it came from. They read the content of small weights only. Each is one file, with
 * its picture.
 *
 *   sc_model_open ──► sc_passes_rewrite ──► state pairs are found and marked ──► sc_passes_run ──► partitioner
 */

/* Symbols of the sizes that a decoder promises; how many there are. */
enum { SC_PASS_PAST, SC_PASS_NEW, SC_PASS_SOURCE, SC_PASS_SYMBOLS };

enum sc_pass_content {
    SC_PASS_ANYTHING,
    SC_PASS_ONES, /* every element is 1 */
    SC_PASS_POSITIONS /* PAST and on, along the last dim */
};

/* What an input is fed with, each time: there are NEW tokens, at least 1, after PAST others; an encoder had SOURCE
 * positions, at least 1. */
struct sc_pass_input {
    int value; /* graph input */
    int next; /* a state: the graph output that is fed here the next time, PAST being 0 the first time; else -1 */
    int rank; /* at most SC_SYMBOLIC_RANK */
    struct sc_size dims[SC_SYMBOLIC_RANK];
    enum sc_pass_content content;
};

struct sc_pass_options {
    int n_inputs; /* 0: inputs are what the file says */
    const struct sc_pass_input *inputs;
    const bool *given; /* by graph input: callers give it though it has a default; NULL: none of them */
    const int8_t *modes; /* by graph input, of booleans: 1 always true, -1 always false, 0 either; NULL: either */
    int64_t
        *most; /* 0 at first; set to the most tokens that there may be, past and new, where a table of positions has no
                      more, or the rewrite relies on it; NULL: it relies on no such number */
    unsigned without; /* bits of SC_PASS_...: left out, for tests */
};

enum {
    SC_PASS_ATTENTION = 1,
    SC_PASS_BRANCHES = 2,
    SC_PASS_FOLD = 4,
    SC_PASS_IDENTITY = 8,
    SC_PASS_CONV_NORM = 16,
    SC_PASS_DEAD = 32,
    SC_PASS_SHAPES = 64,
    SC_PASS_LENGTHS = 128,
    SC_PASS_RECIPES = 256
};

/* What the model is made of, in order: defaults that nobody replaces become initializers, functions become their nodes,
 * the graph is checked (sc_check_graph), branches that are known to be taken become part of it, Gradients become their
 * nodes, then attention is put together. Afterwards every node is an operator that there is a kernel for. Does nothing
 * the second time. options NULL: zeros. */
enum sc_status sc_passes_rewrite(struct sc_model *model, const struct sc_pass_options *options);

/* What follows from facts, in order: infer and shapes, fold, identity, conv_norm, recipes, dead. The graph's values
 * have their facts afterwards. Fails as infer does: this is also where a model's types and shapes are found to be
 * wrong. */
enum sc_status sc_passes_run(struct sc_model *model, const struct sc_kernels *kernels);

/* The same without some (bits of SC_PASS_...), for tests. */
enum sc_status sc_passes_run_without(struct sc_model *model, const struct sc_kernels *kernels, unsigned without);

void sc_pass_defaults(struct sc_graph *graph, const bool *given);

/* Marks inputs with a default by name, commas between; SC_BAD_USAGE names what is none. */
enum sc_status sc_pass_name_given(const struct sc_graph *graph, const char *names, bool *given);

enum sc_status sc_pass_functions(struct sc_model *model);
enum sc_status sc_pass_branches(struct sc_model *model, const struct sc_pass_options *options);
/* Once functions are nodes: of the modes those stay that some If, at any depth, has for its condition; the others
 * become 0. */
enum sc_status sc_pass_keep_conditions(const struct sc_model *model, int8_t *modes);
enum sc_status sc_pass_gradient(struct sc_model *model);
enum sc_status sc_pass_position_bias(struct sc_model *model);
/* Puts what is promised of an input into the evaluation. */
enum sc_status sc_pass_promise(struct sc_symbolics *s, const struct sc_pass_input *input);
/* What is known of all values then; of states nothing is taken for granted but what their operators append. */
enum sc_status sc_pass_evaluate(const struct sc_graph *graph, const struct sc_pass_options *options,
    struct sc_arena *arena, struct sc_symbolics *s);
/* Once facts are there, which values that are new do not have. */
enum sc_status sc_pass_presents(struct sc_model *model, bool *changed);
enum sc_status sc_pass_lengths(struct sc_model *model, const struct sc_pass_options *options);
enum sc_status sc_pass_positions(struct sc_model *model, const struct sc_pass_options *options);
enum sc_status sc_pass_attention(struct sc_model *model, const struct sc_pass_options *options);
enum sc_status sc_pass_infer(struct sc_graph *graph, const struct sc_kernels *kernels);
enum sc_status sc_pass_infer_watched(
    struct sc_graph *graph, const struct sc_kernels *kernels, const struct sc_infer_watch *watch);
enum sc_status sc_pass_shapes(struct sc_model *model, const struct sc_kernels *kernels);

/* Facts of all values as people think of them: no named dim is 0, which says more than holds for every size. For
 * printing alone. */
enum sc_status sc_pass_describe(
    struct sc_model *model, const struct sc_kernels *kernels, struct sc_arena *arena, struct sc_fact **facts);

/* A decoder of which each row takes one more token, after pasts of its own. */
struct sc_rows_question {
    int n_inputs;
    const struct sc_pass_input *inputs; /* what they are for one row */
    int n_caches;
    const int *caches; /* graph inputs and outputs that are paged states */
    int result; /* the graph output that is asked for, rows first */
};

/* Changes nothing. *apart: each row of the result, and of the caches, is proven to be made of its own row alone. */
enum sc_status sc_pass_rows(const struct sc_graph *graph, const struct sc_rows_question *question, bool *apart);

enum sc_status sc_pass_fold(struct sc_graph *graph);
enum sc_status sc_pass_identity(struct sc_graph *graph);
enum sc_status sc_pass_conv_norm(struct sc_model *model);
enum sc_status sc_pass_recipes(struct sc_model *model);
enum sc_status sc_pass_dead(struct sc_graph *graph);

#endif
