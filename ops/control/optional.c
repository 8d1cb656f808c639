/* SPDX-License-Identifier: Apache-2.0
 * Optionals: a value, or nothing of a known type. SequenceMap stands here too: a body over the items of sequences. */
#include <string.h>

#include "ops/control/stack.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"

struct params {
    enum sc_kind item_kind;
    enum sc_type type;
};

static enum sc_status params_optional(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    const struct sc_attribute *a = sc_node_attribute(node, "type");
    if (a && a->type == SC_ATTRIBUTE_TYPE_PROTO) {
        p->item_kind = a->u.type->kind == SC_KIND_OPTIONAL ? a->u.type->item_kind : a->u.type->kind;
        p->type = a->u.type->type;
    } else if (node->n_in == 0 || node->in[0] < 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "there is neither an input nor a type");
    }
    return SC_OK;
}

static enum sc_status infer_optional(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const struct sc_fact *in = sc_infer_in(infer, 0);
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (out) {
        sc_fact_init(out);
        out->kind = SC_KIND_OPTIONAL;
        out->item_kind = in ? in->kind : p->item_kind;
        out->type = in ? in->type : p->type;
    }
    return SC_OK;
}

static enum sc_status exec_optional(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct sc_value *out = call->out[0];
    const struct sc_value *in = call->n_in > 0 ? call->in[0] : NULL;
    out->kind = SC_KIND_OPTIONAL;
    out->u.optional.item = NULL;
    out->u.optional.item_kind = p->item_kind;
    out->u.optional.type = p->type;
    if (!in) {
        return SC_OK;
    }
    struct sc_value *item = sc_arena_alloc(call->arena, sizeof(*item));
    if (!item) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_value_copy(call->arena, in, item));
    out->u.optional.item = item;
    out->u.optional.item_kind = item->kind;
    out->u.optional.type = item->kind == SC_KIND_SEQUENCE ? item->u.sequence.type : item->u.tensor.type;
    return SC_OK;
}

static enum sc_status infer_get(struct sc_infer *infer)
{
    const struct sc_fact *in = sc_infer_in(infer, 0);
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!in) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input 0 is missing");
    }
    if (!out) {
        return SC_OK;
    }
    if (in->kind != SC_KIND_OPTIONAL) {
        *out = *in;
        return SC_OK;
    }
    sc_fact_of_type(out, in->type);
    out->kind = in->item_kind;
    out->item_kind = in->item_kind == SC_KIND_SEQUENCE ? SC_KIND_TENSOR : SC_KIND_NONE;
    return SC_OK;
}

static enum sc_status exec_get(const struct sc_call *call)
{
    const struct sc_value *in = call->in[0];
    if (in->kind != SC_KIND_OPTIONAL) {
        return sc_value_copy(call->arena, in, call->out[0]);
    }
    if (!in->u.optional.item) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "the optional holds nothing");
    }
    *call->out[0] = *in->u.optional.item;
    return SC_OK;
}

static enum sc_status infer_has(struct sc_infer *infer)
{
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], SC_BOOL, 0, NULL);
    }
    return SC_OK;
}

static enum sc_status exec_has(const struct sc_call *call)
{
    const struct sc_value *in = call->n_in > 0 ? call->in[0] : NULL;
    const bool has = in && in->kind != SC_KIND_NONE && (in->kind != SC_KIND_OPTIONAL || in->u.optional.item);
    return sc_scalar_new(call->arena, SC_BOOL, has, call->out[0]);
}

struct map_params {
    const struct sc_graph *body;
};

static enum sc_status params_map(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct map_params), params));
    struct map_params *p = *params;
    SC_TRY(sc_node_body(graph, node, "body", &p->body));
    if (p->body->n_inputs != node->n_in || p->body->n_outputs < node->n_out || node->n_in < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "the body has %d inputs and %d outputs, the node %d and %d",
            p->body->n_inputs, p->body->n_outputs, node->n_in, node->n_out);
    }
    return SC_OK;
}

static enum sc_status infer_map(struct sc_infer *infer)
{
    const struct map_params *p = infer->params;
    for (int o = 0; o < infer->n_out; o++) {
        if (infer->out[o]) {
            sc_fact_init(infer->out[o]);
            infer->out[o]->kind = SC_KIND_SEQUENCE;
            infer->out[o]->item_kind = SC_KIND_TENSOR;
            infer->out[o]->type = p->body->values[p->body->outputs[o]].fact.type;
        }
    }
    return SC_OK;
}

/* Room for the results: one sequence of n items per output. */
static enum sc_status open_map(const struct sc_call *call, int64_t n)
{
    const struct map_params *p = call->params;
    for (int o = 0; o < call->n_out; o++) {
        struct sc_value *out = call->out[o];
        if (!out) {
            continue;
        }
        out->kind = SC_KIND_SEQUENCE;
        out->u.sequence.type = p->body->values[p->body->outputs[o]].fact.type;
        out->u.sequence.n = n;
        out->u.sequence.items = sc_arena_array(call->arena, (size_t)n, sizeof(*out->u.sequence.items));
        if (!out->u.sequence.items) {
            return SC_NO_MEMORY;
        }
    }
    return SC_OK;
}

static enum sc_status map_item(
    const struct sc_call *call, int64_t index, const struct sc_value **in, struct sc_value *results)
{
    const struct map_params *p = call->params;
    for (int i = 0; i < call->n_in; i++) {
        in[i] = call->in[i]->kind == SC_KIND_SEQUENCE ? &call->in[i]->u.sequence.items[index] : call->in[i];
    }
    SC_TRY(call->call_body(call, p->body, in, results));
    for (int o = 0; o < call->n_out; o++) {
        if (call->out[o]) {
            call->out[o]->u.sequence.items[index] = results[o];
            if (results[o].kind == SC_KIND_TENSOR) {
                call->out[o]->u.sequence.type = results[o].u.tensor.type;
            }
        }
    }
    return SC_OK;
}

static enum sc_status exec_map(const struct sc_call *call)
{
    const struct map_params *p = call->params;
    if (call->in[0]->kind != SC_KIND_SEQUENCE) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "input 0 is not a sequence");
    }
    const int64_t n = call->in[0]->u.sequence.n;
    for (int i = 1; i < call->n_in; i++) {
        if (call->in[i]->kind == SC_KIND_SEQUENCE && call->in[i]->u.sequence.n != n) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "sequences of %lld and %lld items", (long long)n,
                (long long)call->in[i]->u.sequence.n);
        }
    }
    SC_TRY(open_map(call, n));
    const struct sc_value **in = sc_arena_array(call->arena, (size_t)call->n_in, sizeof(*in));
    struct sc_value *results = sc_arena_array(call->arena, (size_t)p->body->n_outputs, sizeof(*results));
    if (!in || !results) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        SC_TRY(map_item(call, i, in, results));
    }
    return SC_OK;
}

const struct sc_op sc_ops_control_optional[] = {
    SC_EXEC_ROW(Optional, 15, params_optional, infer_optional, exec_optional),
    SC_EXEC_ROW(Optional, 28, params_optional, infer_optional, exec_optional),
    SC_EXEC_ROW(OptionalGetElement, 15, NULL, infer_get, exec_get),
    SC_EXEC_ROW(OptionalGetElement, 18, NULL, infer_get, exec_get),
    SC_EXEC_ROW(OptionalGetElement, 28, NULL, infer_get, exec_get),
    SC_EXEC_ROW(OptionalHasElement, 15, NULL, infer_has, exec_has),
    SC_EXEC_ROW(OptionalHasElement, 18, NULL, infer_has, exec_has),
    SC_EXEC_ROW(OptionalHasElement, 28, NULL, infer_has, exec_has),
    SC_EXEC_ROW(SequenceMap, 17, params_map, infer_map, exec_map),
    {.name = NULL},
};
