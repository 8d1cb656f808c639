/* SPDX-License-Identifier: Apache-2.0
 * The behaviour of an operator: one row per (domain, name, since version). */
#ifndef SC_OPS_OP_H
#define SC_OPS_OP_H

#include "base/random.h"
#include "base/team.h"
#include "model/graph.h"
#include "ops/kernels/kernels.h"

/* Facts in, facts out. in[i] is NULL for an absent input, out[i] is NULL for an output that nobody named.
 * Out facts start unknown. Types of in[] that are known obey the schema (sc_check_types ran before). infer fills what
 * it can: a dim that it cannot know stays unknown, and is settled by resolve. Before anything runs it is called again
 * with every dim of the inputs known, so checks of dims belong here alone. */
struct sc_infer {
    const struct sc_graph *graph;
    const struct sc_node *node;
    const void *params;
    int n_in, n_out;
    const struct sc_fact *const *in;
    struct sc_fact *const *out;
    struct sc_arena *arena; /* for known values; lives as long as the facts */
    /* Control flow: facts of a body's outputs from facts of its inputs. */
    enum sc_status (*infer_body)(
        struct sc_infer *infer, const struct sc_graph *body, const struct sc_fact *const *in, struct sc_fact *out);
    void *exec;
};

/* Once, at compile time, from static facts only: which kernel, and which constant inputs are kept in packed form. */
struct sc_prepare {
    const struct sc_graph *graph;
    const struct sc_node *node;
    const void *params;
    int n_in;
    const struct sc_fact *const *in;
    const bool *constant; /* per input: its content is a weight of this stage */
    const struct sc_kernels *kernels;
    bool blas; /* --gemm blas */
    /* set by prepare */
    int choice; /* what run should do; meaning is the operator's */
    unsigned packed_inputs; /* bit i: input i reaches run with data == NULL, its content is in call->packed */
    size_t packed_bytes; /* of all of them */
};

/* Called once for each packed input, in order; all share `packed`. */
struct sc_pack {
    const struct sc_prepare *prepare; /* without facts */
    int input;
    const struct sc_tensor *weight; /* its content, dense */
    const struct sc_tensor *const *in; /* types and dims of all packed inputs; NULL where an input is none */
    void *packed; /* packed_bytes, zeroed, aligned to 64 */
    struct sc_team *team;
};

/* One execution of a step. in[i] is NULL for an absent input; out[i] is NULL when nobody reads it and the operator's
 * clause makes it optional. Tensors are plain storage and dense unless the row's `strided` bit for that input is
 * set. */
struct sc_call {
    const struct sc_graph *graph;
    const struct sc_node *node;
    const struct sc_op *op;
    const void *params;
    const void *packed; /* NULL when nothing was packed */
    size_t *read_packed_bytes; /* NULL: nobody counts. All of packed, until a run that reads less says so */
    int choice;
    int n_in, n_out;
    const struct sc_value *const *in;
    struct sc_value *const *out;
    void *scratch; /* as many bytes as op->scratch asked for, aligned to 64, content undefined */
    struct sc_team *team; /* may be NULL: one thread */
    const struct sc_kernels *kernels;
    struct sc_arena *arena; /* exec only: outputs whose size is found on the way; lives until the frame runs again */
    struct sc_random_key random; /* seed, node, microbatch */
    /* Control flow: runs body `body` (a graph attribute's graph) on values; out values live in call->arena. */
    enum sc_status (*call_body)(const struct sc_call *call, const struct sc_graph *body,
        const struct sc_value *const *in, struct sc_value *out);
    void *exec; /* the frame, for call_body */
};

/* What an operator does on given facts; for the cost model. All dims known. */
struct sc_cost {
    double operations; /* arithmetic operations; a multiply-add is two */
    double read_bytes, written_bytes; /* activations and weights */
};

enum sc_op_flag {
    SC_OP_PURE = 1, /* same inputs, same outputs: may be folded */
    SC_OP_VIEW = 2, /* out[0] shows in[0]'s memory: run sets its data and strides, moves nothing */
    SC_OP_IN_PLACE = 4, /* out[0] may have the memory of in[0] when their bytes are equal and in[0] dies here */
    SC_OP_RANDOM = 8, /* draws from call->random */
    SC_OP_STATE = 16, /* takes and gives SC_KIND_STATE in place of its cache tensors */
    SC_OP_ROW_MIXING = 32, /* a row's result depends on other rows of the batch */
    SC_OP_TICKS = 64 /* all that takes long is parts of sc_team_for under half a millisecond, for all but extreme dims,
                        or bodies. Large work of other operators is done while worker 0 looks after messages */
};

struct sc_op {
    const char *domain; /* "" is ai.onnx */
    const char *name;
    int since;
    unsigned flags;
    unsigned strided; /* bit i: input i may have any strides */
    /* Attributes of every version → the newest form; everything below reads only that. NULL: no parameters. */
    enum sc_status (*params)(
        const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params);
    enum sc_status (*infer)(struct sc_infer *infer);
    enum sc_status (*prepare)(struct sc_prepare *prepare); /* NULL: choice 0, nothing packed */
    void (*pack)(const struct sc_pack *pack);
    size_t (*scratch)(const struct sc_call *call); /* dims are known, data is not. NULL: none */
    /* Settles out dims that depend on data (sets type, rank, dims by sc_tensor_init), checks index inputs and
     * everything else that data can get wrong. Every check of run's preconditions that infer could not make is here.
     * NULL: infer settles all. */
    enum sc_status (*resolve)(const struct sc_call *call);
    void (*run)(const struct sc_call *call); /* dense kernels: cannot fail */
    /* Instead of run: control flow, sequences, strings; sets out itself. */
    enum sc_status (*exec)(const struct sc_call *call);
    /* NULL: bytes in and out, one operation an element. */
    void (*cost)(const struct sc_infer *infer, struct sc_cost *cost);
};

/* The row of an operator of ai.onnx that runs by exec alone, written NAME without quotes. */
#define SC_EXEC_ROW(op, version, params_fn, infer_fn, exec_fn)                                                         \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .params = params_fn, .infer = infer_fn, .exec = exec_fn         \
    }

/* The newest row not newer than the opset version; NULL when there is none. */
const struct sc_op *sc_op_find(const char *domain, const char *name, int version);

/* Row `index` of all there are, counted from 0 through the families; NULL past the end. */
const struct sc_op *sc_op_at(int index);

/* Whether the operator calls kernels of ops/kernels, which are compiled for each instruction set level, for some
 * type. */
bool sc_op_has_levels(const char *domain, const char *name);

/* "node 'x' (Add): " + text. */
enum sc_status sc_node_fail(const struct sc_graph *graph, const struct sc_node *node, enum sc_status code,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Short forms for the bodies of operators. */
static inline const struct sc_tensor *sc_call_in(const struct sc_call *call, int i)
{
    return i < call->n_in && call->in[i] ? &call->in[i]->u.tensor : NULL;
}

static inline struct sc_tensor *sc_call_out(const struct sc_call *call, int i)
{
    return i < call->n_out && call->out[i] ? &call->out[i]->u.tensor : NULL;
}

static inline const struct sc_fact *sc_infer_in(const struct sc_infer *infer, int i)
{
    return i < infer->n_in ? infer->in[i] : NULL;
}

static inline struct sc_fact *sc_infer_out(const struct sc_infer *infer, int i)
{
    return i < infer->n_out ? infer->out[i] : NULL;
}

#endif
