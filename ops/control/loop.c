/* SPDX-License-Identifier: Apache-2.0
 * Loop: the body takes iteration number, condition and carried values; it gives condition, carried values and what is
 * stacked over all iterations. */
#include <string.h>

#include "ops/control/stack.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"

enum { INFER_ROUNDS = 3 };

struct params {
    const struct sc_graph *body;
    int n_carried, n_stacked;
};

static enum sc_status params_loop(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_body(graph, node, "body", &p->body));
    p->n_carried = p->body->n_inputs - 2;
    p->n_stacked = p->body->n_outputs - 1 - p->n_carried;
    const int given = node->n_in > 2 ? node->n_in - 2 : 0;
    if (p->n_carried < 0 || p->n_stacked < 0 || given != p->n_carried || node->n_out > p->n_carried + p->n_stacked) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "the body has %d inputs and %d outputs for %d carried values and %d outputs of the node", p->body->n_inputs,
            p->body->n_outputs, given, node->n_out);
    }
    return SC_OK;
}

/* Facts of carried values that hold before and after every iteration: what an iteration changes is forgotten, until
 * nothing changes. */
static enum sc_status settle_facts(struct sc_infer *infer, struct sc_fact *in, struct sc_fact *out)
{
    const struct params *p = infer->params;
    const struct sc_fact **at = sc_arena_array(infer->arena, (size_t)p->body->n_inputs, sizeof(*at));
    if (!at) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < p->body->n_inputs; i++) {
        at[i] = &in[i];
    }
    for (int round = 0; round <= INFER_ROUNDS; round++) {
        for (int i = 0; i < p->body->n_outputs; i++) {
            sc_fact_init(&out[i]);
        }
        SC_TRY(infer->infer_body(infer, p->body, at, out));
        bool changed = false;
        for (int i = 0; i < p->n_carried; i++) {
            struct sc_fact joined;
            sc_fact_join(&in[2 + i], &out[1 + i], &joined);
            changed |= joined.rank != in[2 + i].rank || memcmp(joined.dims, in[2 + i].dims, sizeof(joined.dims)) != 0;
            if (round + 1 >= INFER_ROUNDS) {
                joined.rank = -1;
            }
            in[2 + i] = joined;
        }
        if (!changed) {
            break;
        }
    }
    return SC_OK;
}

static enum sc_status infer_loop(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    struct sc_fact *in = sc_arena_array(infer->arena, (size_t)p->body->n_inputs, sizeof(*in));
    struct sc_fact *out = sc_arena_array(infer->arena, (size_t)p->body->n_outputs, sizeof(*out));
    if (!in || !out) {
        return SC_NO_MEMORY;
    }
    sc_fact_tensor(&in[0], SC_I64, 0, NULL);
    sc_fact_tensor(&in[1], SC_BOOL, 0, NULL);
    for (int i = 0; i < p->n_carried; i++) {
        const struct sc_fact *given = sc_infer_in(infer, 2 + i);
        if (!given) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "carried value %d is missing", i);
        }
        in[2 + i] = *given;
        in[2 + i].value = NULL;
    }
    SC_TRY(settle_facts(infer, in, out));
    for (int i = 0; i < infer->n_out; i++) {
        struct sc_fact *to = infer->out[i];
        if (!to) {
            continue;
        }
        if (i < p->n_carried) {
            *to = in[2 + i];
            if (to->kind == SC_KIND_NONE) { /* an optional goes in, what it holds comes out */
                *to = out[1 + i];
                to->value = NULL;
                to->rank = -1;
            }
            continue;
        }
        const struct sc_fact *item = &out[1 + i];
        sc_fact_of_type(to, item->type);
        if (item->rank >= 0 && item->rank < SC_MAX_RANK) {
            sc_fact_of_rank(to, item->type, item->rank + 1);
            memcpy(to->dims + 1, item->dims, (size_t)item->rank * sizeof(*to->dims));
        }
    }
    return SC_OK;
}

static enum sc_status read_condition(const struct sc_call *call, const struct sc_value *value, bool *holds)
{
    const struct sc_tensor *t = &value->u.tensor;
    if (value->kind != SC_KIND_TENSOR || t->type != SC_BOOL || sc_tensor_count(t) != 1) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "the condition is not one boolean");
    }
    *holds = *(const unsigned char *)t->data != 0;
    return SC_OK;
}

/* Arrays for the body: inputs, their values, outputs; lists of what is stacked. */
struct state {
    const struct sc_value **in;
    struct sc_value *values, *out;
    struct sc_value_list *stacked;
};

/* A body that declares an optional gets one, also from an iteration that gave the value itself. */
static enum sc_status carry(const struct sc_call *call, int input, const struct sc_value *from, struct sc_value *to)
{
    const struct params *p = call->params;
    *to = *from;
    if (p->body->values[p->body->inputs[input]].fact.kind != SC_KIND_OPTIONAL || from->kind == SC_KIND_OPTIONAL) {
        return SC_OK;
    }
    struct sc_value *item = sc_arena_alloc(call->arena, sizeof(*item));
    if (!item) {
        return SC_NO_MEMORY;
    }
    *item = *from;
    to->kind = SC_KIND_OPTIONAL;
    to->u.optional.item = item;
    to->u.optional.item_kind = item->kind;
    to->u.optional.type = item->kind == SC_KIND_SEQUENCE ? item->u.sequence.type : item->u.tensor.type;
    return SC_OK;
}

static enum sc_status open_state(const struct sc_call *call, struct state *s)
{
    const struct params *p = call->params;
    const int n_in = p->body->n_inputs;
    s->in = sc_arena_array(call->arena, (size_t)n_in, sizeof(*s->in));
    s->values = sc_arena_array(call->arena, (size_t)n_in, sizeof(*s->values));
    s->out = sc_arena_array(call->arena, (size_t)p->body->n_outputs, sizeof(*s->out));
    s->stacked = sc_arena_array(call->arena, (size_t)p->n_stacked, sizeof(*s->stacked));
    if (!s->in || !s->values || !s->out || !s->stacked) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n_in; i++) {
        s->in[i] = &s->values[i];
        if (i >= 2) {
            SC_TRY(carry(call, i, call->in[i], &s->values[i]));
        }
    }
    SC_TRY(sc_scalar_new(call->arena, SC_I64, 0, &s->values[0]));
    return sc_scalar_new(call->arena, SC_BOOL, 1, &s->values[1]);
}

static enum sc_status iterate(const struct sc_call *call, struct state *s, int64_t iteration, bool *holds)
{
    const struct params *p = call->params;
    *(int64_t *)s->values[0].u.tensor.data = iteration;
    SC_TRY(call->call_body(call, p->body, s->in, s->out));
    SC_TRY(read_condition(call, &s->out[0], holds));
    *(unsigned char *)s->values[1].u.tensor.data = *holds;
    for (int i = 0; i < p->n_carried; i++) {
        SC_TRY(carry(call, 2 + i, &s->out[1 + i], &s->values[2 + i]));
    }
    for (int i = 0; i < p->n_stacked; i++) {
        SC_TRY(sc_value_list_add(call->arena, &s->stacked[i], &s->out[1 + p->n_carried + i]));
    }
    return SC_OK;
}

static enum sc_status exec_loop(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *limit = sc_call_in(call, 0);
    struct state s;
    bool holds = true;
    int64_t trips = INT64_MAX;
    if (limit) {
        if (sc_tensor_count(limit) != 1) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "the trip count is not one number");
        }
        trips = sc_index_at(limit, 0);
    }
    if (call->n_in > 1 && call->in[1]) {
        SC_TRY(read_condition(call, call->in[1], &holds));
    }
    SC_TRY(open_state(call, &s));
    *(unsigned char *)s.values[1].u.tensor.data = holds;
    int64_t done = 0;
    for (; done < trips && holds; done++) {
        SC_TRY(iterate(call, &s, done, &holds));
    }
    for (int i = 0; i < call->n_out; i++) {
        if (!call->out[i]) {
            continue;
        }
        if (i < p->n_carried) {
            const struct sc_value *last = done > 0 ? &s.out[1 + i] : call->in[2 + i];
            SC_TRY(sc_value_copy(call->arena, last, call->out[i])); /* no iteration: it lies in the caller's frame */
        } else {
            const struct sc_fact fact = sc_entry_fact(call, i, &p->body->values[p->body->outputs[1 + i]].fact, 0);
            SC_TRY(sc_value_list_stack(call, &s.stacked[i - p->n_carried], 0, false, &fact, call->out[i]));
        }
    }
    return SC_OK;
}

#define LOOP(version)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .name = "Loop", .since = (version), .params = params_loop, .infer = infer_loop,                  \
        .exec = exec_loop                                                                                              \
    }

const struct sc_op sc_ops_control_loop[] = {
    LOOP(1), LOOP(11), LOOP(13), LOOP(16), LOOP(19), LOOP(21), LOOP(23), LOOP(24), LOOP(25), {.name = NULL}};
