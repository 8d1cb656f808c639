/* SPDX-License-Identifier: Apache-2.0
 * Slice: a view that starts elsewhere and steps. Version 1 has its bounds in attributes, 10 and later in inputs. */
#include <string.h>

#include "ops/shape/shape.h"

struct params {
    struct sc_ints starts, ends, axes;
};

static enum sc_status params_slice(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_ints(node, "starts", &p->starts.n, &p->starts.values));
    SC_TRY(sc_node_ints(node, "ends", &p->ends.n, &p->ends.values));
    SC_TRY(sc_node_ints(node, "axes", &p->axes.n, &p->axes.values));
    if (p->starts.n > SC_MAX_RANK || p->ends.n > SC_MAX_RANK || p->axes.n > SC_MAX_RANK) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "more than %d axes", SC_MAX_RANK);
    }
    return SC_OK;
}

/* One axis of the slice, as the clause clamps it. */
struct range {
    int64_t start, step, count;
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct range clamp_range(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    start = start < 0 ? start + dim : start;
    end = end < 0 ? end + dim : end;
    struct range range = {.step = step};
    if (step > 0) {
        range.start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        range.count = end > range.start ? (end - range.start - 1) / step + 1 : 0;
    } else {
        range.start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, dim - 1);
        range.count =
            range.start > end && dim > 0 ? (int64_t)(((uint64_t)(range.start - end) - 1) / -(uint64_t)step) + 1 : 0;
    }
    return range;
}

struct bounds {
    int64_t storage[4][SC_MAX_RANK];
    struct sc_ints starts, ends, axes, steps;
    bool axes_known, all_known;
};

static enum sc_status read_bounds(const struct sc_infer *infer, struct bounds *b)
{
    const struct params *p = infer->params;
    bool starts, ends, steps;
    const struct sc_ints none = {.n = -1};
    SC_TRY(sc_ints_of(infer, p->starts, 1, b->storage[0], &b->starts, &starts));
    SC_TRY(sc_ints_of(infer, p->ends, 2, b->storage[1], &b->ends, &ends));
    SC_TRY(sc_ints_of(infer, p->axes, 3, b->storage[2], &b->axes, &b->axes_known));
    SC_TRY(sc_ints_of(infer, none, 4, b->storage[3], &b->steps, &steps));
    b->all_known = starts && ends && steps && b->axes_known;
    const struct sc_ints *const lists[] = {&b->starts, &b->ends, &b->axes, &b->steps};
    int n = -1;
    for (int i = 0; i < 4; i++) {
        if (lists[i]->n >= 0 && n >= 0 && lists[i]->n != n) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
                "starts, ends, axes and steps have %d and %d entries", n, lists[i]->n);
        }
        n = lists[i]->n >= 0 ? lists[i]->n : n;
    }
    if ((starts && b->starts.n < 0) || (ends && b->ends.n < 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "starts or ends are missing");
    }
    return SC_OK;
}

/* Ranges of all axes. Where a dim or a bound is not known, count is SC_DIM_UNKNOWN or the dim's symbol. */
static enum sc_status find_ranges(
    const struct sc_infer *infer, const struct sc_fact *in, const struct bounds *b, struct range *ranges)
{
    for (int i = 0; i < in->rank; i++) {
        const bool touched = !b->axes_known || (b->axes.n < 0 && !b->all_known);
        ranges[i] = (struct range){0, 1, touched ? SC_DIM_UNKNOWN : in->dims[i]};
    }
    if (!b->axes_known) {
        return SC_OK;
    }
    const int n = b->axes.n >= 0 ? b->axes.n : b->starts.n;
    uint32_t seen = 0;
    for (int i = 0; i < n; i++) {
        int axis;
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", b->axes.n >= 0 ? b->axes.values[i] : i, in->rank, &axis));
        if (seen >> axis & 1) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "axis %d is given twice", axis);
        }
        seen |= 1U << axis;
        ranges[axis].count = SC_DIM_UNKNOWN;
        if (!b->all_known) {
            continue;
        }
        const int64_t step = b->steps.n >= 0 ? b->steps.values[i] : 1;
        if (step == 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "axis %d has the step 0", axis);
        }
        if (in->dims[axis] >= 0) {
            ranges[axis] = clamp_range(in->dims[axis], b->starts.values[i], b->ends.values[i], step);
        } else if (b->starts.values[i] == 0 && b->ends.values[i] >= INT32_MAX && step == 1) {
            ranges[axis].count = in->dims[axis];
        }
    }
    return SC_OK;
}

static enum sc_status slice_ranges(const struct sc_infer *infer, struct range ranges[SC_MAX_RANK])
{
    struct bounds bounds;
    SC_TRY(read_bounds(infer, &bounds));
    return find_ranges(infer, infer->in[0], &bounds, ranges);
}

static enum sc_status infer_slice(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    if (in->rank < 0) {
        sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        return SC_OK;
    }
    struct range ranges[SC_MAX_RANK];
    SC_TRY(slice_ranges(infer, ranges));
    int64_t dims[SC_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        dims[i] = ranges[i].count;
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, in->rank, dims);
    }
    return SC_OK;
}

static void run_slice(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    struct sc_tensor *out = sc_call_out(call, 0);
    struct sc_fact facts[5];
    const struct sc_fact *at[5] = {NULL};
    for (int i = 0; i < call->n_in && i < 5; i++) {
        if (call->in[i]) {
            sc_fact_of(&facts[i], call->in[i]);
            at[i] = &facts[i];
        }
    }
    const struct sc_infer infer = {
        .graph = call->graph, .node = call->node, .params = call->params, .n_in = call->n_in, .in = at};
    struct range ranges[SC_MAX_RANK];
    if (slice_ranges(&infer, ranges) != SC_OK) {
        return; /* resolve has refused it */
    }
    int64_t offset = 0;
    for (int i = 0; i < in->rank; i++) {
        offset += ranges[i].count > 0 ? ranges[i].start * in->strides[i] : 0;
        out->strides[i] = ranges[i].count > 1 ? in->strides[i] * ranges[i].step : in->strides[i];
    }
    out->data = sc_tensor_count(out) > 0 ? sc_at(in->data, offset, sc_type_bytes(in->type)) : in->data;
}

#define SLICE(version)                                                                                                 \
    {                                                                                                                  \
        .domain = "", .name = "Slice", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW, .strided = 1,             \
        .params = params_slice, .infer = infer_slice, .resolve = sc_resolve_by_infer, .run = run_slice                 \
    }

const struct sc_op sc_ops_shape_slice[] = {SLICE(1), SLICE(10), SLICE(11), SLICE(13), {.name = NULL}};
