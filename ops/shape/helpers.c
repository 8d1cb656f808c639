/* SPDX-License-Identifier: Apache-2.0
 * Facts from facts. One infer serves both compile time and run time: resolve hands it facts whose values are known. */
#include "ops/shape/shape.h"

#include <string.h>

enum sc_status sc_params_new(struct sc_arena *arena, size_t bytes, void **params)
{
    *params = sc_arena_alloc(arena, bytes);
    return *params ? SC_OK : SC_NO_MEMORY;
}

enum sc_status sc_axes_mask(const struct sc_infer *infer, struct sc_ints axes, int rank, uint32_t *mask)
{
    *mask = 0;
    for (int i = 0; i < axes.n; i++) {
        int axis;
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", axes.values[i], rank, &axis));
        if (*mask >> axis & 1) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "axis %d is given twice", axis);
        }
        *mask |= 1U << axis;
    }
    return SC_OK;
}

enum sc_status sc_infer_needs(const struct sc_infer *infer, int n)
{
    for (int i = 0; i < n; i++) {
        const struct sc_fact *fact = sc_infer_in(infer, i);
        if (!fact) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input %d is missing", i);
        }
        if (fact->kind != SC_KIND_TENSOR && fact->kind != SC_KIND_NONE) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input %d is not a tensor", i);
        }
    }
    return SC_OK;
}

void sc_fact_of_type(struct sc_fact *out, enum sc_type type)
{
    if (out) {
        sc_fact_init(out);
        out->kind = SC_KIND_TENSOR;
        out->type = type;
        out->rank = -1;
    }
}

void sc_fact_of_rank(struct sc_fact *out, enum sc_type type, int rank)
{
    int64_t dims[SC_MAX_RANK];
    for (int i = 0; i < SC_MAX_RANK; i++) {
        dims[i] = SC_DIM_UNKNOWN;
    }
    if (out) {
        sc_fact_tensor(out, type, rank, dims);
    }
}

enum sc_status sc_input_ints(const struct sc_infer *infer, int input, int64_t values[SC_MAX_RANK], struct sc_ints *ints)
{
    const struct sc_tensor *tensor = sc_infer_in(infer, input)->value;
    if (tensor->rank > 1 || (tensor->type != SC_I64 && tensor->type != SC_I32)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input %d is not a list of integers", input);
    }
    const int64_t n = sc_tensor_count(tensor);
    if (n > SC_MAX_RANK) {
        return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "input %d has %lld entries, more than rank %d", input,
            (long long)n, SC_MAX_RANK);
    }
    for (int64_t i = 0; i < n; i++) {
        values[i] = sc_index_at(tensor, i);
    }
    *ints = (struct sc_ints){.n = (int)n, .values = values};
    return SC_OK;
}

enum sc_status sc_ints_of(const struct sc_infer *infer, struct sc_ints attribute, int input,
    int64_t values[SC_MAX_RANK], struct sc_ints *ints, bool *known)
{
    *known = true;
    *ints = attribute;
    const struct sc_fact *fact = sc_infer_in(infer, input);
    if (attribute.n >= 0 || !fact) {
        return SC_OK;
    }
    if (!fact->value) {
        *known = false;
        return SC_OK;
    }
    return sc_input_ints(infer, input, values, ints);
}

int64_t sc_fact_product(const struct sc_fact *fact, int from, int to)
{
    int64_t product = 1;
    int64_t symbol = 0;
    for (int i = from; i < to; i++) {
        const int64_t dim = fact->dims[i];
        if (dim == 0) {
            return 0;
        }
        if (dim < 0) {
            if (symbol) {
                symbol = SC_DIM_UNKNOWN;
            } else {
                symbol = dim;
            }
        } else if (__builtin_mul_overflow(product, dim, &product)) {
            return SC_DIM_UNKNOWN;
        }
    }
    if (!symbol) {
        return product;
    }
    return product == 1 ? symbol : SC_DIM_UNKNOWN;
}

enum sc_status sc_dim_multiply(const struct sc_infer *infer, int64_t a, int64_t b, int64_t *product)
{
    if (a < 0 || b < 0) {
        *product = b == 1 ? a : a == 1 ? b : SC_DIM_UNKNOWN;
        return SC_OK;
    }
    if (__builtin_mul_overflow(a, b, product)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_LIMIT, "a dim of %lld * %lld is too large", (long long)a, (long long)b);
    }
    return SC_OK;
}

enum sc_status sc_resolve_dims(const struct sc_call *call, int output, enum sc_type type, int rank, const int64_t *dims)
{
    struct sc_value *value = output < call->n_out ? call->out[output] : NULL;
    if (!value) {
        return SC_OK;
    }
    if (sc_dims_check("the result", type, rank, dims) != SC_OK) {
        return sc_node_fail(call->graph, call->node, sc_error_last()->code, "output %d is too large", output);
    }
    value->kind = SC_KIND_TENSOR;
    struct sc_tensor *tensor = &value->u.tensor;
    void *data = tensor->data;
    const enum sc_owner owner = tensor->owner;
    sc_tensor_init(tensor, type, rank, dims);
    tensor->data = data;
    tensor->owner = owner;
    return SC_OK;
}

void sc_fact_of_input(struct sc_fact *fact, const struct sc_value *value)
{
    sc_fact_of(fact, value);
    if (value->kind == SC_KIND_STATE) {
        const struct sc_state *state = value->u.state;
        const int64_t dims[4] = {state->n_rows, state->heads, state->capacity, state->width};
        fact->rank = 4;
        memcpy(fact->dims, dims, sizeof(dims));
    }
}

void sc_call_facts_init(struct sc_call_facts *facts, const struct sc_call *call)
{
    const int n_in = call->n_in < SC_CALL_INPUTS ? call->n_in : SC_CALL_INPUTS;
    for (int i = 0; i < n_in; i++) {
        facts->in[i] = call->in[i] ? &facts->facts[i] : NULL;
        if (call->in[i]) {
            sc_fact_of_input(&facts->facts[i], call->in[i]);
        }
    }
    facts->infer = (struct sc_infer){
        .graph = call->graph, .node = call->node, .params = call->params, .n_in = n_in, .in = facts->in};
}

enum { MAX_OUTPUTS = 24 };

enum sc_status sc_resolve_by_infer(const struct sc_call *call)
{
    struct sc_call_facts facts;
    struct sc_fact out[MAX_OUTPUTS];
    struct sc_fact *out_at[MAX_OUTPUTS];
    const int n_out = call->n_out < MAX_OUTPUTS ? call->n_out : MAX_OUTPUTS;
    for (int i = 0; i < n_out; i++) {
        sc_fact_init(&out[i]);
        out_at[i] = call->out[i] ? &out[i] : NULL;
    }
    sc_call_facts_init(&facts, call);
    facts.infer.n_out = n_out;
    facts.infer.out = out_at;
    SC_TRY(call->op->infer(&facts.infer));
    for (int i = 0; i < n_out; i++) {
        if (out_at[i] && out[i].kind == SC_KIND_TENSOR) {
            if (!sc_fact_dims_known(&out[i])) {
                return sc_node_fail(call->graph, call->node, SC_INTERNAL, "output %d has unknown dims", i);
            }
            SC_TRY(sc_resolve_dims(call, i, out[i].type, out[i].rank, out[i].dims));
        }
    }
    return SC_OK;
}

enum sc_status sc_infer_some(struct sc_infer *infer, bool flat, int64_t axis)
{
    const struct sc_fact *in = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (flat) {
        sc_fact_of_rank(out, in->type, 1);
        return SC_OK;
    }
    if (in->rank < 0) {
        sc_fact_of_type(out, in->type);
        return SC_OK;
    }
    int at;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", axis, in->rank, &at));
    if (out) {
        sc_fact_tensor(out, in->type, in->rank, in->dims);
        out->dims[at] = SC_DIM_UNKNOWN;
    }
    return SC_OK;
}
