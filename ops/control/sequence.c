/* SPDX-License-Identifier: Apache-2.0
 * Sequences. A sequence's array is its own, its items may be shared with another sequence: nothing changes an item. */
#include <string.h>

#include "ops/control/stack.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"

static void sequence_fact(struct sc_fact *out, enum sc_type type)
{
    if (out) {
        sc_fact_init(out);
        out->kind = SC_KIND_SEQUENCE;
        out->item_kind = SC_KIND_TENSOR;
        out->type = type;
    }
}

static enum sc_status needs_sequence(const struct sc_infer *infer)
{
    const struct sc_fact *in = sc_infer_in(infer, 0);
    if (!in || (in->kind != SC_KIND_SEQUENCE && in->kind != SC_KIND_NONE)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input 0 is not a sequence");
    }
    return SC_OK;
}

static enum sc_status new_sequence(const struct sc_call *call, enum sc_type type, int64_t n, struct sc_value *out)
{
    struct sc_value *items = sc_arena_array(call->arena, (size_t)n, sizeof(*items));
    if (!items) {
        return SC_NO_MEMORY;
    }
    out->kind = SC_KIND_SEQUENCE;
    out->u.sequence.type = type;
    out->u.sequence.n = n;
    out->u.sequence.items = items;
    return SC_OK;
}

/* The sequence in input 0. */
static enum sc_status get_sequence(const struct sc_call *call, const struct sc_value **sequence)
{
    *sequence = call->in[0];
    if ((*sequence)->kind != SC_KIND_SEQUENCE) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "input 0 is not a sequence");
    }
    return SC_OK;
}

/* The position in input `input`, or `otherwise`; in [0, n) after negative ones were counted from the end. */
static enum sc_status get_position(
    const struct sc_call *call, int input, int64_t n, int64_t entries, int64_t otherwise, int64_t *position)
{
    const struct sc_tensor *t = sc_call_in(call, input);
    *position = otherwise;
    if (t) {
        if (sc_tensor_count(t) != 1) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "the position is not one number");
        }
        *position = sc_index_at(t, 0);
    }
    const int64_t given = *position;
    *position = given < 0 ? given + n : given;
    if (*position < 0 || *position >= entries) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "position %lld is outside of a sequence of %lld",
            (long long)given, (long long)n);
    }
    return SC_OK;
}

static enum sc_status infer_construct(struct sc_infer *infer)
{
    if (infer->n_in < 1) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "there are no inputs");
    }
    SC_TRY(sc_infer_needs(infer, infer->n_in));
    sequence_fact(sc_infer_out(infer, 0), infer->in[0]->type);
    return SC_OK;
}

static enum sc_status exec_construct(const struct sc_call *call)
{
    struct sc_value *out = call->out[0];
    SC_TRY(new_sequence(call, sc_call_in(call, 0)->type, call->n_in, out));
    for (int i = 0; i < call->n_in; i++) {
        SC_TRY(sc_value_copy(call->arena, call->in[i], &out->u.sequence.items[i]));
    }
    return SC_OK;
}

static enum sc_status params_empty(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(int64_t), params));
    int64_t *type = *params;
    SC_TRY(sc_node_int(node, "dtype", SC_F32, type));
    return sc_type_valid(*type) ? SC_OK : sc_node_fail(graph, node, SC_BAD_MODEL, "dtype is %lld", (long long)*type);
}

static enum sc_status infer_empty(struct sc_infer *infer)
{
    sequence_fact(sc_infer_out(infer, 0), (enum sc_type) * (const int64_t *)infer->params);
    return SC_OK;
}

static enum sc_status exec_empty(const struct sc_call *call)
{
    return new_sequence(call, (enum sc_type) * (const int64_t *)call->params, 0, call->out[0]);
}

static enum sc_status infer_same_sequence(struct sc_infer *infer)
{
    SC_TRY(needs_sequence(infer));
    sequence_fact(sc_infer_out(infer, 0), infer->in[0]->type);
    return SC_OK;
}

static enum sc_status infer_item(struct sc_infer *infer)
{
    SC_TRY(needs_sequence(infer));
    sc_fact_of_type(sc_infer_out(infer, 0), infer->in[0]->type);
    return SC_OK;
}

static enum sc_status exec_at(const struct sc_call *call)
{
    const struct sc_value *sequence;
    int64_t position;
    SC_TRY(get_sequence(call, &sequence));
    SC_TRY(get_position(call, 1, sequence->u.sequence.n, sequence->u.sequence.n, 0, &position));
    *call->out[0] = sequence->u.sequence.items[position];
    return SC_OK;
}

static enum sc_status exec_insert(const struct sc_call *call)
{
    const struct sc_value *sequence;
    int64_t position;
    SC_TRY(get_sequence(call, &sequence));
    const int64_t n = sequence->u.sequence.n;
    SC_TRY(get_position(call, 2, n, n + 1, n, &position));
    if (sc_call_in(call, 1)->type != sequence->u.sequence.type) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "a tensor of %s for a sequence of %s",
            sc_type_name(sc_call_in(call, 1)->type), sc_type_name(sequence->u.sequence.type));
    }
    struct sc_value *out = call->out[0];
    SC_TRY(new_sequence(call, sequence->u.sequence.type, n + 1, out));
    for (int64_t i = 0; i < n; i++) {
        out->u.sequence.items[i < position ? i : i + 1] = sequence->u.sequence.items[i];
    }
    return sc_value_copy(call->arena, call->in[1], &out->u.sequence.items[position]);
}

static enum sc_status exec_erase(const struct sc_call *call)
{
    const struct sc_value *sequence;
    int64_t position;
    SC_TRY(get_sequence(call, &sequence));
    const int64_t n = sequence->u.sequence.n;
    SC_TRY(get_position(call, 1, n, n, -1, &position));
    struct sc_value *out = call->out[0];
    SC_TRY(new_sequence(call, sequence->u.sequence.type, n - 1, out));
    for (int64_t i = 0; i < n - 1; i++) {
        out->u.sequence.items[i] = sequence->u.sequence.items[i < position ? i : i + 1];
    }
    return SC_OK;
}

static enum sc_status infer_length(struct sc_infer *infer)
{
    SC_TRY(needs_sequence(infer));
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], SC_I64, 0, NULL);
    }
    return SC_OK;
}

static enum sc_status exec_length(const struct sc_call *call)
{
    const struct sc_value *sequence;
    SC_TRY(get_sequence(call, &sequence));
    return sc_scalar_new(call->arena, SC_I64, sequence->u.sequence.n, call->out[0]);
}

struct params {
    int64_t axis, flag; /* flag: new_axis or keepdims */
};

static enum sc_status params_concat(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "axis", 0, &p->axis));
    return sc_node_int(node, "new_axis", 0, &p->flag);
}

static enum sc_status exec_concat(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_value *sequence;
    SC_TRY(get_sequence(call, &sequence));
    const int64_t n = sequence->u.sequence.n;
    if (n == 0) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "the sequence is empty");
    }
    const struct sc_tensor **items = sc_arena_array(call->arena, (size_t)n, sizeof(*items));
    if (!items) {
        return SC_NO_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        items[i] = &sequence->u.sequence.items[i].u.tensor;
    }
    int axis;
    SC_TRY(sc_axis(call->graph, call->node, "axis", p->axis, items[0]->rank + (p->flag ? 1 : 0), &axis));
    call->out[0]->kind = SC_KIND_TENSOR;
    return sc_join_tensors(call, n, items, axis, p->flag != 0, false, &call->out[0]->u.tensor);
}

static enum sc_status params_split(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "axis", 0, &p->axis));
    return sc_node_int(node, "keepdims", 1, &p->flag);
}

static enum sc_status infer_split(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    sequence_fact(sc_infer_out(infer, 0), infer->in[0]->type);
    return SC_OK;
}

/* Number of parts; part i has chunk entries, or as many as the list says. */
static enum sc_status count_parts(
    const struct sc_call *call, int64_t dim, const struct sc_tensor *split, int64_t *chunk, int64_t *n)
{
    *chunk = split && split->rank == 0 ? sc_index_at(split, 0) : 1;
    if (!split || split->rank == 0) {
        if (*chunk < 1) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "split is %lld", (long long)*chunk);
        }
        *n = (dim - 1) / *chunk + (dim > 0);
        return SC_OK;
    }
    *n = sc_tensor_count(split);
    int64_t left = dim;
    for (int64_t i = 0; i < *n; i++) {
        const int64_t entries = sc_index_at(split, i);
        if (entries < 0 || entries > left) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "split entry %lld is %lld, %lld are left",
                (long long)i, (long long)entries, (long long)left);
        }
        left -= entries;
    }
    if (left != 0 || split->rank != 1) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "split leaves %lld of %lld entries", (long long)left,
            (long long)dim);
    }
    return SC_OK;
}

static enum sc_status exec_split(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const struct sc_tensor *split = sc_call_in(call, 1);
    int axis;
    SC_TRY(sc_axis(call->graph, call->node, "axis", p->axis, in->rank, &axis));
    const int64_t dim = in->dims[axis];
    int64_t chunk = 1, n = 0;
    SC_TRY(count_parts(call, dim, split, &chunk, &n));
    struct sc_value *out = call->out[0];
    SC_TRY(new_sequence(call, in->type, n, out));
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        struct sc_value *item = &out->u.sequence.items[i];
        int64_t entries = chunk < dim - at ? chunk : dim - at;
        if (split && split->rank == 1) {
            entries = sc_index_at(split, i);
        }
        item->kind = SC_KIND_TENSOR;
        SC_TRY(sc_slice_entries(call->arena, in, axis, at, entries, !split && !p->flag, &item->u.tensor));
        at += entries;
    }
    return SC_OK;
}

const struct sc_op sc_ops_control_sequence[] = {
    SC_EXEC_ROW(SequenceConstruct, 11, NULL, infer_construct, exec_construct),
    SC_EXEC_ROW(SequenceEmpty, 11, params_empty, infer_empty, exec_empty),
    SC_EXEC_ROW(SequenceAt, 11, NULL, infer_item, exec_at),
    SC_EXEC_ROW(SequenceInsert, 11, NULL, infer_same_sequence, exec_insert),
    SC_EXEC_ROW(SequenceErase, 11, NULL, infer_same_sequence, exec_erase),
    SC_EXEC_ROW(SequenceLength, 11, NULL, infer_length, exec_length),
    SC_EXEC_ROW(ConcatFromSequence, 11, params_concat, infer_item, exec_concat),
    SC_EXEC_ROW(SplitToSequence, 11, params_split, infer_split, exec_split),
    SC_EXEC_ROW(SplitToSequence, 24, params_split, infer_split, exec_split),
    {.name = NULL},
};
