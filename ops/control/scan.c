/* SPDX-License-Identifier: Apache-2.0
 * Scan: the body runs once per entry of the scanned axes. Version 8 scans each batch row by itself; it is the newer
 * form run once per row, with results stacked over rows. */
#include <string.h>

#include "ops/control/stack.h"
#include "ops/infer.h"
#include "ops/shape/shape.h"

struct params {
    const struct sc_graph *body;
    int n_scanned, n_carried, n_stacked;
    int first; /* 1 in version 8: input 0 is sequence_lens */
    struct sc_ints in_axes, in_directions, out_axes, out_directions; /* n is -1: zeros */
};

static enum sc_status read_list(
    const struct sc_graph *graph, const struct sc_node *node, const char *name, int want, struct sc_ints *list)
{
    SC_TRY(sc_node_ints(node, name, &list->n, &list->values));
    if (list->n >= 0 && list->n != want) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has %d entries, want %d", name, list->n, want);
    }
    return SC_OK;
}

static int64_t list_at(const struct sc_ints *list, int i)
{
    return list->n >= 0 ? list->values[i] : 0;
}

static enum sc_status params_scan(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    int64_t n_scanned;
    SC_TRY(sc_node_body(graph, node, "body", &p->body));
    SC_TRY(sc_node_int(node, "num_scan_inputs", 0, &n_scanned));
    p->first = node->version < 9;
    const int n_in = node->n_in - p->first;
    if (n_scanned < 1 || n_scanned > n_in || p->body->n_inputs != n_in) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "%lld of %d inputs are scanned by a body with %d inputs",
            (long long)n_scanned, n_in, p->body->n_inputs);
    }
    p->n_scanned = (int)n_scanned;
    p->n_carried = n_in - p->n_scanned;
    p->n_stacked = p->body->n_outputs - p->n_carried;
    if (p->n_stacked < 0 || node->n_out > p->body->n_outputs) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "the body has %d outputs for %d carried values and %d outputs",
            p->body->n_outputs, p->n_carried, node->n_out);
    }
    SC_TRY(read_list(graph, node, "scan_input_axes", p->n_scanned, &p->in_axes));
    SC_TRY(read_list(graph, node, "scan_output_axes", p->n_stacked, &p->out_axes));
    SC_TRY(read_list(graph, node, "scan_output_directions", p->n_stacked, &p->out_directions));
    return read_list(graph, node, p->first ? "directions" : "scan_input_directions", p->n_scanned, &p->in_directions);
}

/* The fact without (remove) one axis. */
static enum sc_status drop_axis(
    const struct sc_infer *infer, const struct sc_fact *from, int64_t axis, struct sc_fact *to)
{
    *to = *from;
    to->value = NULL;
    if (from->rank < 0) {
        return SC_OK;
    }
    int at;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", axis, from->rank, &at));
    to->rank--;
    for (int i = at; i < to->rank; i++) {
        to->dims[i] = from->dims[i + 1];
    }
    return SC_OK;
}

static enum sc_status add_axis(
    const struct sc_infer *infer, const struct sc_fact *from, int64_t axis, int64_t dim, struct sc_fact *to)
{
    sc_fact_of_type(to, from->type);
    if (from->rank < 0 || from->rank >= SC_MAX_RANK) {
        return SC_OK;
    }
    int at;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", axis, from->rank + 1, &at));
    int64_t dims[SC_MAX_RANK];
    for (int i = 0, source = 0; i <= from->rank; i++) {
        dims[i] = i == at ? dim : from->dims[source++];
    }
    sc_fact_tensor(to, from->type, from->rank + 1, dims);
    return SC_OK;
}

static enum sc_status infer_scan(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const int n = p->n_carried + p->n_scanned;
    struct sc_fact *in = sc_arena_array(infer->arena, (size_t)n, sizeof(*in));
    const struct sc_fact **at = sc_arena_array(infer->arena, (size_t)n, sizeof(*at));
    struct sc_fact *out = sc_arena_array(infer->arena, (size_t)p->body->n_outputs, sizeof(*out));
    if (!in || !at || !out) {
        return SC_NO_MEMORY;
    }
    int64_t trips = SC_DIM_UNKNOWN;
    for (int i = 0; i < n; i++) {
        const struct sc_fact *given = sc_infer_in(infer, p->first + i);
        if (!given) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input %d is missing", p->first + i);
        }
        in[i] = *given;
        in[i].value = NULL;
        at[i] = &in[i];
        if (p->first) {
            SC_TRY(drop_axis(infer, given, 0, &in[i]));
        }
        if (i >= p->n_carried) {
            const struct sc_fact whole = in[i];
            const int64_t axis = list_at(&p->in_axes, i - p->n_carried);
            SC_TRY(drop_axis(infer, &whole, axis, &in[i]));
            trips = whole.rank > 0 ? whole.dims[axis < 0 ? axis + whole.rank : axis] : trips;
        }
    }
    for (int i = 0; i < p->body->n_outputs; i++) {
        sc_fact_init(&out[i]);
    }
    SC_TRY(infer->infer_body(infer, p->body, at, out));
    for (int o = 0; o < infer->n_out; o++) {
        if (!infer->out[o]) {
            continue;
        }
        struct sc_fact fact = out[o];
        fact.value = NULL;
        if (o < p->n_carried) {
            sc_fact_join(&in[o], &out[o], &fact);
        } else {
            SC_TRY(add_axis(infer, &out[o], list_at(&p->out_axes, o - p->n_carried), trips, &fact));
        }
        if (p->first) {
            const struct sc_fact row = fact;
            SC_TRY(add_axis(infer, &row, 0, SC_DIM_UNKNOWN, &fact));
        }
        *infer->out[o] = fact;
    }
    return SC_OK;
}

/* One scan: `in` are carried values, then whole scanned tensors; `out` as the body's outputs, stacked ones whole. */
static enum sc_status scan(const struct sc_call *call, const struct sc_value *in, int64_t trips, struct sc_value *out)
{
    const struct params *p = call->params;
    const int n = p->n_carried + p->n_scanned;
    struct sc_arena *arena = call->arena;
    struct sc_value *values = sc_arena_array(arena, (size_t)n, sizeof(*values));
    const struct sc_value **at = sc_arena_array(arena, (size_t)n, sizeof(*at));
    struct sc_value_list *stacked = sc_arena_array(arena, (size_t)p->n_stacked, sizeof(*stacked));
    if (!values || !at || !stacked) {
        return SC_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        values[i] = in[i];
        at[i] = &values[i];
    }
    for (int64_t t = 0; t < trips; t++) {
        for (int i = 0; i < p->n_scanned; i++) {
            const struct sc_tensor *whole = &in[p->n_carried + i].u.tensor;
            const int64_t axis = list_at(&p->in_axes, i);
            const int64_t entry = list_at(&p->in_directions, i) ? trips - 1 - t : t;
            SC_TRY(sc_slice_entries(arena, whole, (int)(axis < 0 ? axis + whole->rank : axis), entry, 1, true,
                &values[p->n_carried + i].u.tensor));
        }
        SC_TRY(call->call_body(call, p->body, at, out));
        for (int i = 0; i < p->n_carried; i++) {
            values[i] = out[i];
        }
        for (int i = 0; i < p->n_stacked; i++) {
            SC_TRY(sc_value_list_add(arena, &stacked[i], &out[p->n_carried + i]));
        }
    }
    for (int i = 0; i < p->n_carried; i++) {
        SC_TRY(sc_value_copy(arena, &values[i], &out[i]));
    }
    for (int i = 0; i < p->n_stacked; i++) {
        const int o = p->n_carried + i;
        const int64_t axis = list_at(&p->out_axes, i);
        const struct sc_fact fact = sc_entry_fact(call, o, &p->body->values[p->body->outputs[o]].fact, axis);
        SC_TRY(sc_value_list_stack(call, &stacked[i], axis, list_at(&p->out_directions, i) != 0, &fact, &out[o]));
    }
    return SC_OK;
}

/* Length of the scanned axes, which must agree. */
static enum sc_status count_trips(const struct sc_call *call, const struct sc_value *in, int64_t *trips)
{
    const struct params *p = call->params;
    for (int i = 0; i < p->n_scanned; i++) {
        const struct sc_value *value = &in[p->n_carried + i];
        int axis;
        if (value->kind != SC_KIND_TENSOR) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "a scanned input is not a tensor");
        }
        SC_TRY(sc_axis(call->graph, call->node, "axis", list_at(&p->in_axes, i), value->u.tensor.rank, &axis));
        const int64_t dim = value->u.tensor.dims[axis];
        if (i > 0 && dim != *trips) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "scanned axes have %lld and %lld entries",
                (long long)*trips, (long long)dim);
        }
        *trips = dim;
    }
    return SC_OK;
}

/* Version 8: row b of every input, scanned; results are collected in `rows`. */
static enum sc_status scan_row(
    const struct sc_call *call, int64_t b, struct sc_value *in, struct sc_value *out, struct sc_value_list *rows)
{
    const struct params *p = call->params;
    const struct sc_tensor *lengths = sc_call_in(call, 0);
    const int n = p->n_carried + p->n_scanned;
    int64_t trips = 0;
    for (int i = 0; i < n; i++) {
        in[i].kind = SC_KIND_TENSOR;
        SC_TRY(sc_slice_entries(call->arena, sc_call_in(call, 1 + i), 0, b, 1, true, &in[i].u.tensor));
    }
    SC_TRY(count_trips(call, in, &trips));
    if (lengths) {
        const int64_t length = sc_index_at(lengths, b);
        if (length != trips) {
            return sc_node_fail(call->graph, call->node, SC_UNSUPPORTED,
                "sequence_lens has %lld for a scan of %lld entries", (long long)length, (long long)trips);
        }
    }
    SC_TRY(scan(call, in, trips, out));
    for (int o = 0; o < p->body->n_outputs; o++) {
        SC_TRY(sc_value_list_add(call->arena, &rows[o], &out[o]));
    }
    return SC_OK;
}

static enum sc_status exec_rows(const struct sc_call *call, struct sc_value *in, struct sc_value *out)
{
    const struct params *p = call->params;
    const int n = p->n_carried + p->n_scanned;
    struct sc_value_list *rows = sc_arena_array(call->arena, (size_t)p->body->n_outputs, sizeof(*rows));
    if (!rows) {
        return SC_NO_MEMORY;
    }
    const int64_t batch = sc_call_in(call, 1)->rank > 0 ? sc_call_in(call, 1)->dims[0] : 0;
    for (int i = 0; i < n; i++) {
        const struct sc_tensor *t = sc_call_in(call, 1 + i);
        if (t->rank < 1 || t->dims[0] != batch) {
            return sc_node_fail(
                call->graph, call->node, SC_BAD_INPUT, "input %d has no batch axis of %lld", 1 + i, (long long)batch);
        }
    }
    const struct sc_tensor *lengths = sc_call_in(call, 0);
    if (lengths && sc_tensor_count(lengths) != batch) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "sequence_lens does not have one entry per batch row");
    }
    for (int64_t b = 0; b < batch; b++) {
        SC_TRY(scan_row(call, b, in, out, rows));
    }
    for (int o = 0; o < call->n_out; o++) {
        if (call->out[o]) {
            const struct sc_fact *fact = &p->body->values[p->body->outputs[o]].fact;
            SC_TRY(sc_value_list_stack(call, &rows[o], 0, false, fact, call->out[o]));
        }
    }
    return SC_OK;
}

static enum sc_status exec_scan(const struct sc_call *call)
{
    const struct params *p = call->params;
    const int n = p->n_carried + p->n_scanned;
    struct sc_value *in = sc_arena_array(call->arena, (size_t)n, sizeof(*in));
    struct sc_value *out = sc_arena_array(call->arena, (size_t)p->body->n_outputs, sizeof(*out));
    if (!in || !out) {
        return SC_NO_MEMORY;
    }
    if (p->first) {
        return exec_rows(call, in, out);
    }
    for (int i = 0; i < n; i++) {
        in[i] = *call->in[i];
    }
    int64_t trips = 0;
    SC_TRY(count_trips(call, in, &trips));
    SC_TRY(scan(call, in, trips, out));
    for (int o = 0; o < call->n_out; o++) {
        if (call->out[o]) {
            *call->out[o] = out[o];
        }
    }
    return SC_OK;
}

#define SCAN(version)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .name = "Scan", .since = (version), .params = params_scan, .infer = infer_scan,                  \
        .exec = exec_scan                                                                                              \
    }

const struct sc_op sc_ops_control_scan[] = {
    SCAN(8), SCAN(9), SCAN(11), SCAN(16), SCAN(19), SCAN(21), SCAN(23), SCAN(24), SCAN(25), {.name = NULL}};
