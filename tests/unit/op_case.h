/* SPDX-License-Identifier: Apache-2.0
 * One operator run alone, through every function of its row, as exec would. */
#ifndef SC_TESTS_OP_CASE_H
#define SC_TESTS_OP_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"

enum { CASE_MAX = 24 };

/* op_open ──► attributes and inputs in order ──► op_run ──► outputs are looked at ──► op_close */
struct op_case {
    struct sc_arena arena;
    struct sc_graph graph;
    struct sc_node node;
    struct sc_attribute attributes[CASE_MAX];
    int outs[CASE_MAX];
    struct sc_value in[CASE_MAX], out[CASE_MAX];
    bool absent[CASE_MAX], constant[CASE_MAX], unknown[CASE_MAX]; /* unknown: infer does not see the content */
    bool unwanted[CASE_MAX]; /* outputs that nobody reads */
    struct sc_fact facts[CASE_MAX]; /* of outputs, after infer */
    const struct sc_op *op;
    const struct sc_kernels *kernels;
    struct sc_team *team;
    bool blas;
    size_t packed_bytes, read_packed_bytes; /* after op_run */
};

static inline void op_open(struct op_case *c, const char *domain, const char *name, int version, int n_out)
{
    memset(c, 0, sizeof(*c));
    c->op = sc_op_find(domain, name, version);
    assert_non_null(c->op);
    assert_int_equal(sc_kernels_best(&c->kernels), SC_OK);
    c->graph.arena = &c->arena;
    c->node = (struct sc_node){.name = "n", .domain = domain, .op = name, .version = version, .n_out = n_out};
    c->node.attributes = c->attributes;
    c->node.out = c->outs;
}

static inline void op_close(struct op_case *c)
{
    sc_arena_release(&c->arena);
}

static inline struct sc_attribute *op_attribute(struct op_case *c, const char *name, enum sc_attribute_type type, int n)
{
    struct sc_attribute *a = &c->attributes[c->node.n_attributes++];
    *a = (struct sc_attribute){.name = name, .type = type, .n = n};
    return a;
}

static inline void op_int(struct op_case *c, const char *name, int64_t value)
{
    op_attribute(c, name, SC_ATTRIBUTE_INT, 1)->u.i = value;
}

static inline void op_float(struct op_case *c, const char *name, float value)
{
    op_attribute(c, name, SC_ATTRIBUTE_FLOAT, 1)->u.f = value;
}

static inline void op_text(struct op_case *c, const char *name, const char *text)
{
    op_attribute(c, name, SC_ATTRIBUTE_STRING, 1)->u.s = (struct sc_string){text, strlen(text)};
}

static inline void op_ints(struct op_case *c, const char *name, int n, const int64_t *values)
{
    op_attribute(c, name, SC_ATTRIBUTE_INTS, n)->u.ints = values;
}

/* The next input; data is borrowed. */
static inline struct sc_tensor *op_in(
    struct op_case *c, enum sc_type type, const void *data, int rank, const int64_t *dims)
{
    struct sc_value *value = &c->in[c->node.n_in++];
    value->kind = SC_KIND_TENSOR;
    sc_tensor_init(&value->u.tensor, type, rank, dims);
    memcpy(&value->u.tensor.data, &data, sizeof(data));
    return &value->u.tensor;
}

#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                                             \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static inline void op_in_absent(struct op_case *c)
{
    c->absent[c->node.n_in++] = true;
}

static inline void op_in_state(struct op_case *c, struct sc_state *state)
{
    struct sc_value *value = &c->in[c->node.n_in++];
    value->kind = SC_KIND_STATE;
    value->u.state = state;
}

static inline enum sc_status op_infer(struct op_case *c, void *params, const struct sc_fact **in, struct sc_fact **out)
{
    struct sc_infer infer = {.graph = &c->graph,
        .node = &c->node,
        .params = params,
        .n_in = c->node.n_in,
        .n_out = c->node.n_out,
        .in = in,
        .out = out,
        .arena = &c->arena};
    return c->op->infer(&infer);
}

static inline void op_pack(struct op_case *c, void *params, const struct sc_fact **in, struct sc_call *call)
{
    struct sc_prepare prepare = {.graph = &c->graph,
        .node = &c->node,
        .params = params,
        .n_in = c->node.n_in,
        .in = in,
        .constant = c->constant,
        .kernels = c->kernels,
        .blas = c->blas};
    assert_int_equal(c->op->prepare(&prepare), SC_OK);
    call->choice = prepare.choice;
    call->read_packed_bytes = &c->read_packed_bytes;
    c->packed_bytes = c->read_packed_bytes = prepare.packed_bytes;
    void *packed = prepare.packed_inputs != 0 ? sc_arena_alloc(&c->arena, prepare.packed_bytes + 64) : NULL;
    call->packed = packed;
    const struct sc_tensor *shapes[32] = {NULL};
    for (int i = 0; i < c->node.n_in; i++) {
        shapes[i] = prepare.packed_inputs >> i & 1 ? &c->in[i].u.tensor : NULL;
    }
    for (int i = 0; i < c->node.n_in; i++) {
        if (prepare.packed_inputs >> i & 1) {
            const struct sc_pack pack = {.prepare = &prepare,
                .input = i,
                .weight = &c->in[i].u.tensor,
                .in = shapes,
                .packed = packed,
                .team = c->team};
            c->op->pack(&pack);
            c->in[i].u.tensor.data = NULL;
        }
    }
}

/* Layouts are made before there is data. */
static inline size_t op_scratch(struct op_case *c, const struct sc_call *call)
{
    void *data[CASE_MAX];
    for (int i = 0; i < c->node.n_in; i++) {
        data[i] = c->in[i].kind == SC_KIND_TENSOR ? c->in[i].u.tensor.data : NULL;
        if (c->in[i].kind == SC_KIND_TENSOR) {
            c->in[i].u.tensor.data = NULL;
        }
    }
    const size_t bytes = c->op->scratch ? c->op->scratch(call) : 0;
    for (int i = 0; i < c->node.n_in; i++) {
        if (c->in[i].kind == SC_KIND_TENSOR) {
            c->in[i].u.tensor.data = data[i];
        }
    }
    return bytes;
}

static inline enum sc_status op_execute(struct op_case *c, struct sc_call *call)
{
    if (c->op->exec) {
        return c->op->exec(call);
    }
    if (c->op->resolve) {
        SC_TRY(c->op->resolve(call));
    }
    for (int i = 0; i < c->node.n_out; i++) {
        struct sc_tensor *t = &c->out[i].u.tensor;
        if (call->out[i] && c->out[i].kind == SC_KIND_TENSOR && !(i == 0 && c->op->flags & SC_OP_VIEW)) {
            t->data = sc_arena_alloc(&c->arena, sc_tensor_bytes(t));
            memset(t->data, 0xa5, sc_tensor_bytes(t));
        }
    }
    const size_t bytes = op_scratch(c, call);
    call->scratch = sc_arena_alloc(&c->arena, bytes + 64);
    memset(call->scratch, 0xa5, bytes);
    c->op->run(call);
    return SC_OK;
}

/* Everything in order. Fails where infer, params, resolve or exec fail. */
static inline enum sc_status op_run(struct op_case *c)
{
    const struct sc_fact *in[CASE_MAX] = {NULL};
    struct sc_fact *out[CASE_MAX] = {NULL};
    const struct sc_value *ins[CASE_MAX] = {NULL};
    struct sc_value *outs[CASE_MAX] = {NULL};
    struct sc_fact in_facts[CASE_MAX];
    void *params = NULL;
    for (int i = 0; i < c->node.n_in; i++) {
        if (c->absent[i]) {
            continue;
        }
        sc_fact_of(&in_facts[i], &c->in[i]);
        if (c->in[i].kind == SC_KIND_STATE) {
            const struct sc_state *s = c->in[i].u.state;
            const int64_t dims[4] = {s->n_rows, s->heads, s->capacity, s->width};
            in_facts[i].rank = 4;
            memcpy(in_facts[i].dims, dims, sizeof(dims));
        }
        if (c->unknown[i]) {
            in_facts[i].value = NULL;
        }
        in[i] = &in_facts[i];
        ins[i] = &c->in[i];
    }
    for (int i = 0; i < c->node.n_out; i++) {
        sc_fact_init(&c->facts[i]);
        out[i] = c->unwanted[i] ? NULL : &c->facts[i];
        outs[i] = c->unwanted[i] ? NULL : &c->out[i];
    }
    if (c->op->params) {
        SC_TRY(c->op->params(&c->graph, &c->node, &c->arena, &params));
    }
    SC_TRY(op_infer(c, params, in, out));
    struct sc_call call = {.graph = &c->graph,
        .node = &c->node,
        .op = c->op,
        .params = params,
        .n_in = c->node.n_in,
        .n_out = c->node.n_out,
        .in = ins,
        .out = outs,
        .team = c->team,
        .kernels = c->kernels,
        .arena = &c->arena,
        .random = {.seed = 7}};
    if (c->op->prepare) {
        op_pack(c, params, in, &call);
    }
    for (int i = 0; i < c->node.n_out; i++) {
        const struct sc_fact *fact = &c->facts[i];
        c->out[i].kind = fact->kind;
        if (fact->kind == SC_KIND_TENSOR && sc_fact_dims_known(fact)) {
            sc_tensor_init(&c->out[i].u.tensor, fact->type, fact->rank, fact->dims);
        } else if (fact->kind == SC_KIND_TENSOR) {
            assert_true(c->op->resolve != NULL || c->op->exec != NULL);
        }
    }
    return op_execute(c, &call);
}

/* The output's content as dense memory. */
static inline const void *op_out(struct op_case *c, int i)
{
    const struct sc_tensor *t = &c->out[i].u.tensor;
    void *dense = sc_arena_alloc(&c->arena, sc_tensor_bytes(t) + 1);
    sc_tensor_copy_dense(t, dense);
    return dense;
}

static inline void op_expect_dims(struct op_case *c, int i, int rank, const int64_t *dims)
{
    assert_int_equal(c->out[i].kind, SC_KIND_TENSOR);
    assert_int_equal(c->out[i].u.tensor.rank, rank);
    for (int d = 0; d < rank; d++) {
        assert_int_equal(c->out[i].u.tensor.dims[d], dims[d]);
    }
}

/* Exact, and of the given type. */
static inline void op_expect(
    struct op_case *c, int i, enum sc_type type, const void *want, int rank, const int64_t *dims)
{
    op_expect_dims(c, i, rank, dims);
    assert_int_equal(c->out[i].u.tensor.type, type);
    assert_memory_equal(op_out(c, i), want, sc_tensor_bytes(&c->out[i].u.tensor));
}

/* Within tolerance: |a - want| <= 1e-6 + relative * |want|. */
static inline void op_expect_near(
    struct op_case *c, int i, const float *want, double relative, int rank, const int64_t *dims)
{
    op_expect_dims(c, i, rank, dims);
    const float *got = op_out(c, i);
    for (int64_t k = 0, n = sc_tensor_count(&c->out[i].u.tensor); k < n; k++) {
        const double difference =
            (double)got[k] > (double)want[k] ? (double)got[k] - (double)want[k] : (double)want[k] - (double)got[k];
        const double size = want[k] < 0 ? -(double)want[k] : (double)want[k];
        if (!(difference <= 1e-6 + relative * size)) {
            fail_msg("element %lld is %g, want %g", (long long)k, (double)got[k], (double)want[k]);
        }
    }
}

/* Fails with the code, and with a text that holds `words`. */
static inline void op_expect_failure(struct op_case *c, enum sc_status code, const char *words)
{
    assert_int_equal(op_run(c), code);
    if (!strstr(sc_error_last()->text, words)) {
        fail_msg("'%s' is not in '%s'", words, sc_error_last()->text);
    }
    assert_non_null(strstr(sc_error_last()->text, c->node.op));
}

#endif
