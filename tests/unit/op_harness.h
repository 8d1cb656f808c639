/* SPDX-License-Identifier: Apache-2.0
 * Runs one operator by hand, as exec/ would: attributes and inputs in, check, params, infer, prepare, resolve, run.
 *
 *     struct op_test t;
 *     op_open(&t, "", "Add", 14);
 *     op_in(&t, SC_F32, OP_DIMS(2, 1), OP_VALUES(1, 2));        numbers of any type are written as doubles
 *     op_in(&t, SC_F32, OP_DIMS(2), OP_VALUES(10, 20));
 *     op_passes(&t, 1);                                         one output
 *     op_gives(&t, 0, SC_F32, OP_DIMS(2, 2), OP_VALUES(11, 21, 12, 22), 0);
 *     op_close(&t);
 */
#ifndef SC_TESTS_OP_HARNESS_H
#define SC_TESTS_OP_HARNESS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"
#include "ops/schema.h"
#include "tensor/convert.h"

#define OP_PORTS 16
#define OP_DIMS(...)                                                                                                   \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                                 \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define OP_SCALAR 0, NULL
#define OP_VALUES(...)                                                                                                 \
    (const double[])                                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

struct op_test {
    struct sc_arena arena;
    struct sc_graph graph;
    struct sc_graph_value values[2 * OP_PORTS];
    struct sc_node node;
    int in_index[OP_PORTS], out_index[OP_PORTS];
    struct sc_attribute attributes[OP_PORTS];
    struct sc_value in[OP_PORTS], out[OP_PORTS];
    struct sc_fact in_facts[OP_PORTS], out_facts[OP_PORTS];
    bool known; /* infer sees the content of inputs; else only their shapes */
    struct sc_team *team; /* NULL: one thread */
    const struct sc_op *op;
};

static inline void op_open(struct op_test *t, const char *domain, const char *name, int version)
{
    static const char *const names[2 * OP_PORTS] = {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7", "in8",
        "in9", "in10", "in11", "in12", "in13", "in14", "in15", "out0", "out1", "out2", "out3", "out4", "out5", "out6",
        "out7", "out8", "out9", "out10", "out11", "out12", "out13", "out14", "out15"};
    memset(t, 0, sizeof *t);
    t->graph.n_values = 2 * OP_PORTS;
    t->graph.values = t->values;
    t->graph.n_nodes = 1;
    t->graph.nodes = &t->node;
    t->graph.arena = &t->arena;
    for (int i = 0; i < 2 * OP_PORTS; i++) {
        t->values[i].name = names[i];
    }
    t->node = (struct sc_node){.name = "n",
        .domain = domain,
        .op = name,
        .version = version,
        .in = t->in_index,
        .out = t->out_index,
        .attributes = t->attributes};
}

static inline void op_close(struct op_test *t)
{
    sc_arena_release(&t->arena);
}

static inline struct sc_attribute *op_attribute(struct op_test *t, const char *name, enum sc_attribute_type type, int n)
{
    assert_true(t->node.n_attributes < OP_PORTS);
    struct sc_attribute *attribute = &t->attributes[t->node.n_attributes++];
    *attribute = (struct sc_attribute){.name = name, .type = type, .n = n};
    return attribute;
}

static inline void op_int(struct op_test *t, const char *name, int64_t value)
{
    op_attribute(t, name, SC_ATTRIBUTE_INT, 1)->u.i = value;
}

static inline void op_float(struct op_test *t, const char *name, float value)
{
    op_attribute(t, name, SC_ATTRIBUTE_FLOAT, 1)->u.f = value;
}

static inline void op_text(struct op_test *t, const char *name, const char *value)
{
    op_attribute(t, name, SC_ATTRIBUTE_STRING, 1)->u.s = (struct sc_string){value, strlen(value)};
}

/* op_ints(&t, "axes", OP_DIMS(0, 2)) */
static inline void op_ints(struct op_test *t, const char *name, int n, const int64_t *values)
{
    int64_t *copy = sc_arena_array(&t->arena, (size_t)n, sizeof *copy);
    assert_non_null(copy);
    for (int i = 0; i < n; i++) {
        copy[i] = values[i];
    }
    op_attribute(t, name, SC_ATTRIBUTE_INTS, n)->u.ints = copy;
}

/* op_floats(&t, "scales", 2, OP_VALUES(1, 2)) */
static inline void op_floats(struct op_test *t, const char *name, int n, const double *values)
{
    float *copy = sc_arena_array(&t->arena, (size_t)n, sizeof *copy);
    assert_non_null(copy);
    for (int i = 0; i < n; i++) {
        copy[i] = (float)values[i];
    }
    op_attribute(t, name, SC_ATTRIBUTE_FLOATS, n)->u.floats = copy;
}

/* A tensor of the test's arena; values as doubles, converted to the type. */
static inline struct sc_tensor *op_tensor(
    struct op_test *t, enum sc_type type, int rank, const int64_t *dims, const double *values)
{
    struct sc_tensor *tensor = sc_arena_alloc(&t->arena, sizeof *tensor);
    assert_non_null(tensor);
    assert_int_equal(sc_tensor_new(&t->arena, type, rank, dims, tensor), SC_OK);
    sc_convert(SC_F64, values, type, tensor->data, sc_tensor_count(tensor), 0);
    return tensor;
}

static inline void op_tensor_attribute(struct op_test *t, const char *name, const struct sc_tensor *tensor)
{
    op_attribute(t, name, SC_ATTRIBUTE_TENSOR, 1)->u.tensor = tensor;
}

static inline void op_in_value(struct op_test *t, const struct sc_value *value)
{
    const int i = t->node.n_in++;
    assert_true(i < OP_PORTS);
    t->in[i] = *value;
    t->in_index[i] = i;
}

static inline void op_in(struct op_test *t, enum sc_type type, int rank, const int64_t *dims, const double *values)
{
    const struct sc_value value = {.kind = SC_KIND_TENSOR, .u.tensor = *op_tensor(t, type, rank, dims, values)};
    op_in_value(t, &value);
}

/* Elements as they are in memory: 64-bit integers, bit patterns, ... */
static inline void op_in_raw(struct op_test *t, enum sc_type type, int rank, const int64_t *dims, const void *data)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    assert_int_equal(sc_tensor_new(&t->arena, type, rank, dims, &value.u.tensor), SC_OK);
    memcpy(value.u.tensor.data, data, sc_tensor_bytes(&value.u.tensor));
    op_in_value(t, &value);
}

static inline void op_in_strings(struct op_test *t, int rank, const int64_t *dims, const char *const *texts)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    assert_int_equal(sc_tensor_new(&t->arena, SC_STRING, rank, dims, &value.u.tensor), SC_OK);
    struct sc_string *strings = value.u.tensor.data;
    for (int64_t i = 0; i < sc_tensor_count(&value.u.tensor); i++) {
        strings[i] = (struct sc_string){texts[i], strlen(texts[i])};
    }
    op_in_value(t, &value);
}

static inline void op_in_absent(struct op_test *t)
{
    const int i = t->node.n_in++;
    t->in_index[i] = -1;
}

static inline enum sc_status op_infer(struct op_test *t, const void *params)
{
    const struct sc_fact *in[OP_PORTS];
    struct sc_fact *out[OP_PORTS];
    for (int i = 0; i < t->node.n_in; i++) {
        in[i] = NULL;
        if (t->in_index[i] >= 0) {
            sc_fact_of(&t->in_facts[i], &t->in[i]);
            if (!t->known) {
                t->in_facts[i].value = NULL;
            }
            in[i] = &t->in_facts[i];
        }
    }
    for (int o = 0; o < t->node.n_out; o++) {
        sc_fact_init(&t->out_facts[o]);
        out[o] = &t->out_facts[o];
    }
    SC_TRY(sc_check_types(&t->graph, &t->node, t->node.n_in, in));
    struct sc_infer infer = {.graph = &t->graph,
        .node = &t->node,
        .params = params,
        .n_in = t->node.n_in,
        .n_out = t->node.n_out,
        .in = in,
        .out = out,
        .arena = &t->arena};
    return t->op->infer(&infer);
}

static inline enum sc_status op_prepare(
    struct op_test *t, const void *params, const struct sc_kernels *kernels, struct sc_call *call)
{
    if (!t->op->prepare) {
        return SC_OK;
    }
    const struct sc_fact *in[OP_PORTS];
    const bool constant[OP_PORTS] = {false};
    for (int i = 0; i < t->node.n_in; i++) {
        in[i] = t->in_index[i] < 0 ? NULL : &t->in_facts[i];
    }
    struct sc_prepare prepare = {.graph = &t->graph,
        .node = &t->node,
        .params = params,
        .n_in = t->node.n_in,
        .in = in,
        .constant = constant,
        .kernels = kernels};
    SC_TRY(t->op->prepare(&prepare));
    call->choice = prepare.choice;
    return SC_OK;
}

/* Memory with old content, as frames have it. */
static inline void *op_memory(struct op_test *t, size_t bytes)
{
    void *memory = sc_arena_alloc(&t->arena, bytes);
    assert_non_null(memory);
    return memset(memory, 0xA5, bytes);
}

static inline enum sc_status op_call(struct op_test *t, struct sc_call *call)
{
    if (t->op->resolve) {
        SC_TRY(t->op->resolve(call));
    }
    for (int o = 0; o < t->node.n_out && !t->op->exec; o++) {
        struct sc_tensor *tensor = &t->out[o].u.tensor;
        if (!(o == 0 && t->op->flags & SC_OP_VIEW) && t->out[o].kind == SC_KIND_TENSOR) {
            SC_TRY(sc_dims_check("an output", tensor->type, tensor->rank, tensor->dims));
            tensor->data = op_memory(t, sc_tensor_bytes(tensor));
        }
    }
    if (t->op->scratch) {
        call->scratch = op_memory(t, t->op->scratch(call) + 64);
    }
    if (t->op->exec) {
        return t->op->exec(call);
    }
    t->op->run(call);
    return SC_OK;
}

/* Runs the operator with n_out outputs. Every failure comes back as it would reach a user. */
static inline enum sc_status op_run(struct op_test *t, int n_out)
{
    const struct sc_kernels *kernels;
    const struct sc_value *ins[OP_PORTS];
    struct sc_value *outs[OP_PORTS];
    void *params = NULL;
    t->node.n_out = n_out;
    for (int o = 0; o < n_out; o++) {
        t->out_index[o] = OP_PORTS + o;
        outs[o] = &t->out[o];
    }
    SC_TRY(sc_kernels_best(&kernels));
    SC_TRY(sc_check_graph(&t->graph));
    t->op = sc_op_find(t->node.domain, t->node.op, t->node.version);
    assert_non_null(t->op);
    if (t->op->params) {
        SC_TRY(t->op->params(&t->graph, &t->node, &t->arena, &params));
    }
    SC_TRY(op_infer(t, params));
    struct sc_call call = {.graph = &t->graph,
        .node = &t->node,
        .op = t->op,
        .params = params,
        .n_in = t->node.n_in,
        .n_out = n_out,
        .in = ins,
        .out = outs,
        .team = t->team,
        .kernels = kernels,
        .arena = &t->arena,
        .random = {.seed = 1}};
    for (int i = 0; i < t->node.n_in; i++) {
        ins[i] = t->in_index[i] < 0 ? NULL : &t->in[i];
    }
    for (int o = 0; o < n_out; o++) {
        const struct sc_fact *fact = &t->out_facts[o];
        memset(&t->out[o], 0, sizeof t->out[o]);
        t->out[o].kind = fact->kind;
        if (fact->kind == SC_KIND_TENSOR) {
            const bool settled = sc_fact_dims_known(fact);
            assert_true(settled || t->op->resolve || t->op->exec);
            sc_tensor_init(&t->out[o].u.tensor, fact->type, settled ? fact->rank : 0, fact->dims);
        }
    }
    SC_TRY(op_prepare(t, params, kernels, &call));
    return op_call(t, &call);
}

static inline void op_same_bits(const struct sc_tensor *a, const struct sc_tensor *b)
{
    assert_true(a->type == b->type && sc_dims_equal(a, b));
    if (a->type != SC_STRING) {
        assert_memory_equal(a->data, b->data, sc_tensor_bytes(a));
    }
    for (int64_t i = 0; a->type == SC_STRING && i < sc_tensor_count(a); i++) {
        const struct sc_string *x = (const struct sc_string *)a->data + i, *y = (const struct sc_string *)b->data + i;
        assert_true(x->bytes == y->bytes && (x->bytes == 0 || memcmp(x->data, y->data, x->bytes) == 0));
    }
}

/* Again on three threads: the same bits. */
static inline void op_shares_out(struct op_test *t, int n_out)
{
    struct sc_value alone[OP_PORTS];
    memcpy(alone, t->out, sizeof alone);
    const struct sc_team_options three_workers = {.n_workers = 3};
    assert_int_equal(sc_team_create(&three_workers, &t->team), SC_OK);
    assert_int_equal(op_run(t, n_out), SC_OK);
    for (int o = 0; o < n_out; o++) {
        const struct sc_tensor *one = &alone[o].u.tensor, *three = &t->out[o].u.tensor;
        assert_int_equal(alone[o].kind, t->out[o].kind);
        if (alone[o].kind == SC_KIND_TENSOR && sc_tensor_is_dense(one) && sc_tensor_is_dense(three)) {
            op_same_bits(one, three);
        }
    }
    sc_team_free(t->team);
    t->team = NULL;
}

static inline void op_passes(struct op_test *t, int n_out)
{
    const enum sc_status status = op_run(t, n_out);
    if (status != SC_OK) {
        fail_msg("%s", sc_error_last()->text);
    }
    if (!t->team) {
        op_shares_out(t, n_out);
    }
}

/* Fails with that code and exactly that line. */
static inline void op_fails(struct op_test *t, int n_out, enum sc_status code, const char *text)
{
    assert_int_equal(op_run(t, n_out), code);
    assert_string_equal(sc_error_last()->text, text);
}

static inline void op_has_shape(struct op_test *t, int o, enum sc_type type, int rank, const int64_t *dims)
{
    const struct sc_tensor *tensor = &t->out[o].u.tensor;
    assert_int_equal(t->out[o].kind, SC_KIND_TENSOR);
    assert_string_equal(sc_type_name(tensor->type), sc_type_name(type));
    assert_int_equal(tensor->rank, rank);
    for (int d = 0; d < rank; d++) {
        assert_int_equal(tensor->dims[d], dims[d]);
    }
}

/* Output o has that type and shape, and each element is within tolerance * (1 + |wanted|) of the wanted one; NaN and
 * infinities only equal themselves. */
static inline void op_gives(
    struct op_test *t, int o, enum sc_type type, int rank, const int64_t *dims, const double *wanted, double tolerance)
{
    op_has_shape(t, o, type, rank, dims);
    const struct sc_tensor *tensor = &t->out[o].u.tensor;
    const int64_t n = sc_tensor_count(tensor);
    void *dense = sc_arena_alloc(&t->arena, sc_tensor_bytes(tensor));
    double *found = sc_arena_array(&t->arena, (size_t)n, sizeof *found);
    assert_non_null(dense);
    assert_non_null(found);
    sc_tensor_copy_dense(tensor, dense);
    sc_convert(type, dense, SC_F64, found, n, 0);
    for (int64_t i = 0; i < n; i++) {
        const bool equal = found[i] == wanted[i] || (isnan(found[i]) && isnan(wanted[i]));
        if (!equal && !(fabs(found[i] - wanted[i]) <= tolerance * (1 + fabs(wanted[i])))) {
            fail_msg("element %lld is %.9g, want %.9g", (long long)i, found[i], wanted[i]);
        }
    }
}

static inline void op_gives_raw(
    struct op_test *t, int o, enum sc_type type, int rank, const int64_t *dims, const void *wanted)
{
    op_has_shape(t, o, type, rank, dims);
    assert_memory_equal(t->out[o].u.tensor.data, wanted, sc_tensor_bytes(&t->out[o].u.tensor));
}

static inline void op_gives_strings(struct op_test *t, int o, int rank, const int64_t *dims, const char *const *wanted)
{
    op_has_shape(t, o, SC_STRING, rank, dims);
    const struct sc_string *found = t->out[o].u.tensor.data;
    for (int64_t i = 0; i < sc_tensor_count(&t->out[o].u.tensor); i++) {
        assert_int_equal(found[i].bytes, strlen(wanted[i]));
        assert_memory_equal(found[i].data, wanted[i], found[i].bytes);
    }
}

#endif
