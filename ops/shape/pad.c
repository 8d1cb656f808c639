/* SPDX-License-Identifier: Apache-2.0
 * Pad and CenterCropPad. Each output coordinate maps to one of the input, or to padding; axes are independent, so that
 * one list of coordinates per axis says it all. */
#include <string.h>

#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum mode { CONSTANT, REFLECT, EDGE, WRAP };

struct params {
    enum mode mode;
    struct sc_ints pads, axes;
    float value; /* versions 1 and 2 */
};

static enum sc_status params_pad(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *mode;
    SC_TRY(sc_node_text(node, "mode", "constant", &mode));
    int i = 0;
    while (i < 4 && strcmp(mode, names[i]) != 0) {
        i++;
    }
    if (i == 4) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "mode is '%s'", mode);
    }
    p->mode = (enum mode)i;
    p->axes.n = -1;
    SC_TRY(sc_node_float(node, "value", 0.0F, &p->value));
    return sc_node_ints(node, node->version < 2 ? "paddings" : "pads", &p->pads.n, &p->pads.values);
}

/* begin[i] and end[i] of every axis; known is false when they are not. */
static enum sc_status read_pads(const struct sc_infer *infer, int rank, int64_t *begin, int64_t *end, bool *known)
{
    const struct params *p = infer->params;
    const struct sc_fact *list = sc_infer_in(infer, 1);
    const struct sc_fact *axes_fact = sc_infer_in(infer, 3);
    const struct sc_tensor *pads = p->pads.n >= 0 || !list ? NULL : list->value;
    *known = (p->pads.n >= 0 || pads) && (!axes_fact || axes_fact->value);
    if (!*known) {
        return SC_OK;
    }
    int64_t axis_values[SC_MAX_RANK];
    struct sc_ints axes = {.n = -1};
    if (axes_fact) {
        SC_TRY(sc_input_ints(infer, 3, axis_values, &axes));
    }
    const int64_t n = axes.n >= 0 ? axes.n : rank;
    const int64_t given = pads ? sc_tensor_count(pads) : p->pads.n;
    if (given != 2 * n || (pads && pads->type != SC_I64 && pads->type != SC_I32)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "%lld pads for %lld axes", (long long)given, (long long)n);
    }
    uint32_t seen;
    SC_TRY(sc_axes_mask(infer, axes, rank, &seen));
    for (int i = 0; i < rank; i++) {
        begin[i] = 0;
        end[i] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t axis = axes.n < 0 ? i : axis_values[i] < 0 ? axis_values[i] + rank : axis_values[i];
        begin[axis] = pads ? sc_index_at(pads, i) : p->pads.values[i];
        end[axis] = pads ? sc_index_at(pads, n + i) : p->pads.values[n + i];
    }
    return SC_OK;
}

static enum sc_status padded_dim(const struct sc_infer *infer, int64_t dim, int64_t begin, int64_t end, int64_t *out)
{
    const struct params *p = infer->params;
    const int64_t limit = (int64_t)1 << 46;
    if (begin < -limit || begin > limit || end < -limit || end > limit) {
        return sc_node_fail(
            infer->graph, infer->node, SC_LIMIT, "pads %lld and %lld are too large", (long long)begin, (long long)end);
    }
    *out = begin == 0 && end == 0 ? dim : SC_DIM_UNKNOWN;
    if (dim < 0) {
        return SC_OK;
    }
    const int64_t kept = dim + (begin < 0 ? begin : 0) + (end < 0 ? end : 0);
    *out = dim + begin + end;
    if (kept < 0 || *out < 0 || (kept == 0 && *out > 0 && p->mode != CONSTANT)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a dim of %lld cannot be padded by %lld and %lld",
            (long long)dim, (long long)begin, (long long)end);
    }
    return SC_OK;
}

static enum sc_status infer_pad(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *value = sc_infer_in(infer, 2);
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (in->rank < 0) {
        sc_fact_of_type(out, in->type);
        return SC_OK;
    }
    if (value && value->value && sc_tensor_count(value->value) != 1) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "constant_value is not a scalar");
    }
    int64_t begin[SC_MAX_RANK], end[SC_MAX_RANK], dims[SC_MAX_RANK];
    bool known;
    SC_TRY(read_pads(infer, in->rank, begin, end, &known));
    if (!known) {
        sc_fact_of_rank(out, in->type, in->rank);
        return SC_OK;
    }
    for (int i = 0; i < in->rank; i++) {
        SC_TRY(padded_dim(infer, in->dims[i], begin[i], end[i], &dims[i]));
    }
    if (out) {
        sc_fact_tensor(out, in->type, in->rank, dims);
    }
    return SC_OK;
}

/* What lies at output coordinate x of an axis of `dim` entries: a coordinate of the input, or -1. What negative pads
 * cut off does not take part in reflecting and wrapping. */
static int64_t source(enum mode mode, int64_t x, int64_t dim, int64_t begin, int64_t end)
{
    const int64_t low = begin < 0 ? -begin : 0;
    const int64_t kept = dim - low + (end < 0 ? end : 0);
    int64_t at = x - (begin > 0 ? begin : 0);
    if (at >= 0 && at < kept) {
        return low + at;
    }
    switch (mode) {
    case CONSTANT:
        return -1;
    case EDGE:
        return low + (at < 0 ? 0 : kept - 1);
    case WRAP:
        at %= kept;
        return low + (at < 0 ? at + kept : at);
    case REFLECT:
        break;
    }
    if (kept == 1) {
        return low;
    }
    const int64_t period = 2 * (kept - 1);
    at %= period;
    at = at < 0 ? at + period : at;
    return low + (at < kept ? at : period - at);
}

static size_t scratch_pad(const struct sc_call *call)
{
    const struct sc_tensor *out = sc_call_out(call, 0);
    int64_t n = 0;
    for (int i = 0; i < out->rank; i++) {
        n += out->dims[i];
    }
    return (size_t)n * sizeof(int64_t);
}

struct copy {
    const struct sc_tensor *in, *out;
    const int64_t *source[SC_MAX_RANK];
    size_t bytes;
    unsigned char value[16];
    int64_t kept_from, kept_end; /* entries of a row that are the input's, one after the other */
    int64_t rows, rows_per_part;
};

/* Entries of a row, each from where the list of the last axis says. */
static void copy_entries(const struct copy *c, int64_t from, int64_t first, int64_t end, void *to)
{
    const int last = c->out->rank - 1;
    for (int64_t i = first; i < end; i++) {
        const int64_t at = c->source[last][i];
        const void *element = at >= 0 ? sc_const_at(c->in->data, from + at * c->in->strides[last], c->bytes) : c->value;
        memcpy(sc_at(to, i, c->bytes), element, c->bytes);
    }
}

static void copy_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct copy *c = arg;
    const int last = c->out->rank - 1;
    const int64_t n = last >= 0 ? c->out->dims[last] : 1;
    const int64_t first = part * c->rows_per_part;
    for (int64_t row = first; row < first + c->rows_per_part && row < c->rows; row++) {
        int64_t from = 0;
        int64_t rest = row;
        bool inside = true;
        for (int i = last - 1; i >= 0; i--) {
            const int64_t at = c->source[i][rest % c->out->dims[i]];
            rest /= c->out->dims[i];
            inside = inside && at >= 0;
            from += at * c->in->strides[i];
        }
        void *to = sc_at(c->out->data, row * n, c->bytes);
        if (!inside) {
            sc_fill(to, c->value, c->bytes, n);
            continue;
        }
        if (last < 0) {
            memcpy(to, sc_const_at(c->in->data, from, c->bytes), c->bytes);
            continue;
        }
        copy_entries(c, from, 0, c->kept_from, to);
        copy_entries(c, from, c->kept_end, n, to);
        if (c->in->strides[last] == 1 && c->kept_from < c->kept_end) {
            const int64_t start = from + c->source[last][c->kept_from];
            memcpy(sc_at(to, c->kept_from, c->bytes), sc_const_at(c->in->data, start, c->bytes),
                (size_t)(c->kept_end - c->kept_from) * c->bytes);
        } else {
            copy_entries(c, from, c->kept_from, c->kept_end, to);
        }
    }
}

/* Everything but the lists, which follow from begin and end. */
static void run_lists(
    const struct sc_call *call, struct copy *c, enum mode mode, const int64_t *begin, const int64_t *end)
{
    int64_t *list = call->scratch;
    for (int i = 0; i < c->out->rank; i++) {
        c->source[i] = list;
        for (int64_t x = 0; x < c->out->dims[i]; x++) {
            *list++ = source(mode, x, c->in->dims[i], begin[i], end[i]);
        }
    }
    const int last = c->out->rank - 1;
    if (last >= 0) {
        const int64_t n = c->out->dims[last], before = begin[last] > 0 ? begin[last] : 0;
        const int64_t after = end[last] > 0 ? end[last] : 0;
        c->kept_from = before < n ? before : n; /* negative pads may cut all of the input off */
        c->kept_end = n - after > c->kept_from ? n - after : c->kept_from;
    }
    c->rows = sc_dims_product(c->out->dims, 0, last < 0 ? 0 : last);
    const int64_t n = last >= 0 ? c->out->dims[last] : 1;
    if (n == 0) {
        return;
    }
    c->rows_per_part = sc_parts(1 << 15, n);
    sc_team_for(call->team, sc_parts(c->rows, c->rows_per_part), copy_part, c);
}

static void run_pad(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *value = sc_call_in(call, 2);
    struct copy c = {.in = sc_call_in(call, 0), .out = sc_call_out(call, 0)};
    c.bytes = sc_type_bytes(c.in->type);
    struct sc_fact facts[4];
    const struct sc_fact *at[4] = {NULL};
    for (int i = 0; i < call->n_in && i < 4; i++) {
        if (call->in[i]) {
            sc_fact_of(&facts[i], call->in[i]);
            at[i] = &facts[i];
        }
    }
    const struct sc_infer infer = {.graph = call->graph, .node = call->node, .params = p, .n_in = call->n_in, .in = at};
    int64_t begin[SC_MAX_RANK], end[SC_MAX_RANK];
    bool known;
    if (read_pads(&infer, c.in->rank, begin, end, &known) != SC_OK || !known || sc_tensor_count(c.out) == 0) {
        return; /* resolve has refused it, or nothing to do */
    }
    if (value) {
        memcpy(c.value, value->data, c.bytes);
    } else if (p->value != 0.0F && sc_convertible(c.in->type)) {
        sc_convert(SC_F32, &p->value, c.in->type, c.value, 1, 0);
    }
    run_lists(call, &c, p->mode, begin, end);
}

static enum sc_status params_crop(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    return sc_node_ints(node, "axes", &p->axes.n, &p->axes.values);
}

static enum sc_status infer_crop(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *in = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (in->rank < 0 || !infer->in[1]->value) {
        sc_fact_of_type(out, in->type);
        if (in->rank >= 0) {
            sc_fact_of_rank(out, in->type, in->rank);
        }
        return SC_OK;
    }
    int64_t shape[SC_MAX_RANK], dims[SC_MAX_RANK];
    struct sc_ints list;
    uint32_t mask;
    SC_TRY(sc_input_ints(infer, 1, shape, &list));
    SC_TRY(sc_axes_mask(infer, p->axes, in->rank, &mask));
    if (list.n != (p->axes.n >= 0 ? p->axes.n : in->rank)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "shape has %d entries", list.n);
    }
    memcpy(dims, in->dims, sizeof(dims));
    for (int i = 0; i < list.n; i++) {
        const int64_t axis = p->axes.n < 0 ? i
            : p->axes.values[i] < 0        ? p->axes.values[i] + in->rank
                                           : p->axes.values[i];
        dims[axis] = shape[i];
        if (shape[i] < 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "shape has the dim %lld", (long long)shape[i]);
        }
    }
    if (out) {
        sc_fact_tensor(out, in->type, in->rank, dims);
    }
    return SC_OK;
}

static void run_crop(const struct sc_call *call)
{
    struct copy c = {.in = sc_call_in(call, 0), .out = sc_call_out(call, 0)};
    static const struct sc_string empty = {"", 0};
    c.bytes = sc_type_bytes(c.in->type);
    if (c.in->type == SC_STRING) {
        memcpy(c.value, &empty, sizeof(empty));
    }
    int64_t begin[SC_MAX_RANK], end[SC_MAX_RANK];
    for (int i = 0; i < c.in->rank; i++) { /* the smaller half is cut off, or added, at the start */
        const int64_t more = c.out->dims[i] - c.in->dims[i];
        begin[i] = more >= 0 ? more / 2 : -(-more / 2);
        end[i] = more - begin[i];
    }
    run_lists(call, &c, CONSTANT, begin, end);
}

#define PAD(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "Pad", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .strided = 1,              \
        .params = params_pad, .infer = infer_pad, .scratch = scratch_pad, .resolve = sc_resolve_by_infer,              \
        .run = run_pad                                                                                                 \
    }

const struct sc_op sc_ops_shape_pad[] = {
    PAD(1),
    PAD(2),
    PAD(11),
    PAD(13),
    PAD(18),
    PAD(19),
    PAD(21),
    PAD(23),
    PAD(24),
    PAD(25),
    {.domain = "",
        .name = "CenterCropPad",
        .since = 18,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .strided = 1,
        .params = params_crop,
        .infer = infer_crop,
        .scratch = scratch_pad,
        .resolve = sc_resolve_by_infer,
        .run = run_crop},
    {.name = NULL},
};
