/* SPDX-License-Identifier: Apache-2.0
 * Shape and Size: what infer knows is a known value, so that shape arithmetic folds. */
#include <string.h>

#include "ops/shape/shape.h"

struct params {
    int64_t start, end;
};

static enum sc_status params_shape(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "start", 0, &p->start));
    return sc_node_int(node, "end", INT64_MAX, &p->end);
}

static void shape_range(const struct params *p, int rank, int *start, int *end)
{
    const int64_t from = p->start < 0 ? p->start + rank : p->start;
    const int64_t to = p->end < 0 ? p->end + rank : p->end;
    *start = (int)(from < 0 ? 0 : from > rank ? rank : from);
    *end = (int)(to < *start ? *start : to > rank ? rank : to);
}

static enum sc_status set_value(struct sc_infer *infer, struct sc_fact *out, const int64_t *values, int64_t n)
{
    if (!infer->arena) {
        return SC_OK; /* at run time: the dims are all that is asked for */
    }
    struct sc_tensor *tensor = sc_arena_alloc(infer->arena, sizeof(*tensor));
    if (!tensor) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_tensor_new(infer->arena, SC_I64, out->rank, out->dims, tensor));
    if (n > 0) {
        memcpy(tensor->data, values, (size_t)n * sizeof(*values));
    }
    out->value = tensor;
    return SC_OK;
}

static enum sc_status infer_shape(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!out) {
        return SC_OK;
    }
    if (in->rank < 0) {
        sc_fact_of_rank(out, SC_I64, 1);
        return SC_OK;
    }
    int start;
    int end;
    shape_range(infer->params, in->rank, &start, &end);
    const int64_t n = end - start;
    sc_fact_tensor(out, SC_I64, 1, &n);
    for (int i = start; i < end; i++) {
        if (in->dims[i] < 0) {
            return SC_OK;
        }
    }
    return set_value(infer, out, in->dims + start, n);
}

static void run_shape(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    int start;
    int end;
    shape_range(call->params, in->rank, &start, &end);
    if (end > start) {
        memcpy(sc_call_out(call, 0)->data, in->dims + start, (size_t)(end - start) * sizeof(int64_t));
    }
}

static enum sc_status infer_size(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!out) {
        return SC_OK;
    }
    sc_fact_tensor(out, SC_I64, 0, NULL);
    const int64_t n = in->rank >= 0 ? sc_fact_product(in, 0, in->rank) : SC_DIM_UNKNOWN;
    return n >= 0 ? set_value(infer, out, &n, 1) : SC_OK;
}

static void run_size(const struct sc_call *call)
{
    *(int64_t *)sc_call_out(call, 0)->data = sc_tensor_count(sc_call_in(call, 0));
}

#define SHAPE(version)                                                                                                 \
    {                                                                                                                  \
        .domain = "", .name = "Shape", .since = (version), .flags = SC_OP_PURE, .strided = 1, .params = params_shape,  \
        .infer = infer_shape, .resolve = sc_resolve_by_infer, .run = run_shape                                         \
    }
#define SIZE(version)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .name = "Size", .since = (version), .flags = SC_OP_PURE, .strided = 1, .infer = infer_size,      \
        .run = run_size                                                                                                \
    }

const struct sc_op sc_ops_shape_dims[] = {
    SHAPE(1),
    SHAPE(13),
    SHAPE(15),
    SHAPE(19),
    SHAPE(21),
    SHAPE(23),
    SHAPE(24),
    SHAPE(25),
    SIZE(1),
    SIZE(13),
    SIZE(19),
    SIZE(21),
    SIZE(23),
    SIZE(24),
    SIZE(25),
    {.name = NULL},
};
