/* SPDX-License-Identifier: Apache-2.0
 * Operators that give the same elements, in the same order, other dims: Identity, Reshape, Flatten, Squeeze,
 * Unsqueeze. */
#include <string.h>

#include "ops/shape/shape.h"

struct params {
    int64_t allow_zero, axis;
    struct sc_ints list; /* shape or axes as an attribute */
};

/* Shape or axes: the attribute, or the second input when it is known. */
struct list {
    int64_t values[SC_MAX_RANK];
    struct sc_ints ints;
    bool known;
};

static enum sc_status read_list(struct sc_infer *infer, struct list *list)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    return sc_ints_of(infer, p->list, 1, list->values, &list->ints, &list->known);
}

static void run_view(const struct sc_call *call)
{
    sc_call_out(call, 0)->data = sc_call_in(call, 0)->data;
}

static enum sc_status infer_identity(struct sc_infer *infer)
{
    if (!sc_infer_in(infer, 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input 0 is missing");
    }
    if (sc_infer_out(infer, 0)) {
        *infer->out[0] = *infer->in[0];
    }
    return SC_OK;
}

/* Any kind of value; so the row takes no strided input, which only a tensor can be made dense of. */
static void run_identity(const struct sc_call *call)
{
    *call->out[0] = *call->in[0];
}

static enum sc_status params_reshape(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "allowzero", 0, &p->allow_zero));
    return sc_node_ints(node, "shape", &p->list.n, &p->list.values);
}

/* The dim that stands for -1: what is left of the input's dims when those of the output are taken out. Symbols
 * cancel. */
static enum sc_status infer_rest(
    const struct sc_infer *infer, const struct sc_fact *in, int rank, int64_t *dims, int at)
{
    int64_t left[SC_MAX_RANK];
    memcpy(left, in->dims, sizeof(left));
    int64_t known = 1;
    for (int i = 0; i < rank; i++) {
        if (i == at) {
            continue;
        }
        if (dims[i] >= 0) {
            SC_TRY(sc_dim_multiply(infer, known, dims[i], &known));
            continue;
        }
        int j = 0;
        while (j < in->rank && (left[j] != dims[i] || left[j] == SC_DIM_UNKNOWN)) {
            j++;
        }
        if (j == in->rank) {
            return SC_OK;
        }
        left[j] = 1;
    }
    int64_t numbers = 1;
    int64_t symbol = 0;
    for (int j = 0; j < in->rank; j++) {
        if (left[j] >= 0) {
            SC_TRY(sc_dim_multiply(infer, numbers, left[j], &numbers));
        } else if (symbol) {
            return SC_OK;
        } else {
            symbol = left[j];
        }
    }
    if (symbol) {
        dims[at] = numbers == known ? symbol : SC_DIM_UNKNOWN;
        return SC_OK;
    }
    if (known == 0 && numbers == 0) {
        dims[at] = 0;
        return SC_OK;
    }
    if (known == 0 || numbers % known != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "%lld elements cannot be shared out by %lld to find the dim -1", (long long)numbers, (long long)known);
    }
    dims[at] = numbers / known;
    return SC_OK;
}

static enum sc_status check_count(const struct sc_infer *infer, const struct sc_fact *in, int rank, const int64_t *dims)
{
    const int64_t before = sc_fact_product(in, 0, in->rank);
    struct sc_fact out;
    sc_fact_tensor(&out, in->type, rank, dims);
    const int64_t after = sc_fact_product(&out, 0, rank);
    if (before >= 0 && after >= 0 && before != after) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "the input has %lld elements, the shape asks for %lld", (long long)before, (long long)after);
    }
    return SC_OK;
}

static enum sc_status reshape_dims(
    const struct sc_infer *infer, const struct sc_fact *in, struct sc_ints shape, int64_t *dims)
{
    const struct params *p = infer->params;
    int rest = -1;
    for (int i = 0; i < shape.n; i++) {
        dims[i] = shape.values[i];
        if (dims[i] == -1) {
            if (rest >= 0) {
                return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "the shape has more than one dim -1");
            }
            rest = i;
        } else if (dims[i] < -1) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "the shape has the dim %lld", (long long)dims[i]);
        } else if (dims[i] == 0 && !p->allow_zero) {
            if (in->rank >= 0 && i >= in->rank) {
                return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
                    "dim %d of the shape is 0, but the input has rank %d", i, in->rank);
            }
            dims[i] = in->rank >= 0 ? in->dims[i] : SC_DIM_UNKNOWN;
        }
    }
    for (int i = 0; p->allow_zero && rest >= 0 && i < shape.n; i++) {
        if (dims[i] == 0) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "the shape has both 0 and -1 where allowzero is set");
        }
    }
    if (in->rank < 0) {
        return SC_OK;
    }
    return rest >= 0 ? infer_rest(infer, in, shape.n, dims, rest) : check_count(infer, in, shape.n, dims);
}

static enum sc_status infer_reshape(struct sc_infer *infer)
{
    struct list list;
    SC_TRY(read_list(infer, &list));
    const struct sc_fact *in = infer->in[0];
    const struct sc_ints shape = list.ints;
    if (!list.known) {
        const struct sc_fact *given = infer->in[1];
        if (given->rank == 1 && given->dims[0] >= 0 && given->dims[0] <= SC_MAX_RANK) {
            sc_fact_of_rank(sc_infer_out(infer, 0), in->type, (int)given->dims[0]);
        } else {
            sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        }
        return SC_OK;
    }
    if (shape.n < 0 || shape.n > SC_MAX_RANK) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "there is no shape of at most %d dims", SC_MAX_RANK);
    }
    int64_t dims[SC_MAX_RANK];
    SC_TRY(reshape_dims(infer, in, shape, dims));
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, shape.n, dims);
    }
    return SC_OK;
}

static enum sc_status params_flatten(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    return sc_node_int(node, "axis", 1, &((struct params *)*params)->axis);
}

static enum sc_status infer_flatten(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    if (in->rank < 0) {
        sc_fact_of_rank(sc_infer_out(infer, 0), in->type, 2);
        return SC_OK;
    }
    if (p->axis < -in->rank || p->axis > in->rank) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "axis %lld is outside of rank %d", (long long)p->axis, in->rank);
    }
    const int axis = (int)(p->axis < 0 ? p->axis + in->rank : p->axis);
    const int64_t dims[2] = {sc_fact_product(in, 0, axis), sc_fact_product(in, axis, in->rank)};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, 2, dims);
    }
    return SC_OK;
}

static enum sc_status params_axes(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    return sc_node_ints(node, "axes", &p->list.n, &p->list.values);
}

/* Rank when only the number of axes is known: `sign` of them are added. */
static void infer_rank_change(struct sc_infer *infer, int sign)
{
    const struct sc_fact *in = infer->in[0];
    const struct sc_fact *axes = infer->in[1];
    const int64_t n = axes->rank == 1 ? axes->dims[0] : axes->rank == 0 ? 1 : -1;
    const int64_t rank = in->rank + sign * n;
    if (in->rank >= 0 && n >= 0 && n <= SC_MAX_RANK && rank >= 0 && rank <= SC_MAX_RANK) {
        sc_fact_of_rank(sc_infer_out(infer, 0), in->type, (int)rank);
    } else {
        sc_fact_of_type(sc_infer_out(infer, 0), in->type);
    }
}

static enum sc_status infer_squeeze(struct sc_infer *infer)
{
    struct list list;
    SC_TRY(read_list(infer, &list));
    const struct sc_fact *in = infer->in[0];
    const struct sc_ints axes = list.ints;
    if (!list.known) {
        infer_rank_change(infer, -1);
        return SC_OK;
    }
    if (in->rank < 0 || (axes.n < 0 && !sc_fact_dims_known(in))) {
        sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        return SC_OK;
    }
    uint32_t mask = 0;
    SC_TRY(sc_axes_mask(infer, axes, in->rank, &mask));
    int64_t dims[SC_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < in->rank; i++) {
        const bool drop = axes.n < 0 ? in->dims[i] == 1 : (mask >> i & 1) != 0;
        if (drop && in->dims[i] >= 0 && in->dims[i] != 1) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "axis %d has the dim %lld, want 1", i, (long long)in->dims[i]);
        }
        if (!drop) {
            dims[rank++] = in->dims[i];
        }
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, rank, dims);
    }
    return SC_OK;
}

static enum sc_status infer_unsqueeze(struct sc_infer *infer)
{
    struct list list;
    SC_TRY(read_list(infer, &list));
    const struct sc_fact *in = infer->in[0];
    const struct sc_ints axes = list.ints;
    if (!list.known) {
        infer_rank_change(infer, 1);
        return SC_OK;
    }
    if (axes.n < 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "axes are missing");
    }
    if (in->rank < 0) {
        sc_fact_of_type(sc_infer_out(infer, 0), in->type);
        return SC_OK;
    }
    if (axes.n > SC_MAX_RANK - in->rank) {
        return sc_node_fail(
            infer->graph, infer->node, SC_LIMIT, "rank %d + %d is over %d", in->rank, axes.n, SC_MAX_RANK);
    }
    const int rank = in->rank + axes.n;
    uint32_t mask;
    SC_TRY(sc_axes_mask(infer, axes, rank, &mask));
    int64_t dims[SC_MAX_RANK];
    for (int i = 0, from = 0; i < rank; i++) {
        dims[i] = mask >> i & 1 ? 1 : in->dims[from++];
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], in->type, rank, dims);
    }
    return SC_OK;
}

#define IDENTITY(version)                                                                                              \
    {                                                                                                                  \
        .domain = "", .name = "Identity", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW,                        \
        .infer = infer_identity, .run = run_identity                                                                   \
    }
#define RESHAPE(version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = "Reshape", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW,                         \
        .params = params_reshape, .infer = infer_reshape, .resolve = sc_resolve_by_infer, .run = run_view              \
    }
#define FLATTEN(version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = "Flatten", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW,                         \
        .params = params_flatten, .infer = infer_flatten, .resolve = sc_resolve_by_infer, .run = run_view              \
    }
#define SQUEEZE(version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = "Squeeze", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW, .params = params_axes,  \
        .infer = infer_squeeze, .resolve = sc_resolve_by_infer, .run = run_view                                        \
    }
#define UNSQUEEZE(version)                                                                                             \
    {                                                                                                                  \
        .domain = "", .name = "Unsqueeze", .since = (version), .flags = SC_OP_PURE | SC_OP_VIEW,                       \
        .params = params_axes, .infer = infer_unsqueeze, .resolve = sc_resolve_by_infer, .run = run_view               \
    }

const struct sc_op sc_ops_shape_reshape[] = {
    IDENTITY(1),
    IDENTITY(13),
    IDENTITY(14),
    IDENTITY(16),
    IDENTITY(19),
    IDENTITY(21),
    IDENTITY(23),
    IDENTITY(24),
    IDENTITY(25),
    RESHAPE(1),
    RESHAPE(5),
    RESHAPE(13),
    RESHAPE(14),
    RESHAPE(19),
    RESHAPE(21),
    RESHAPE(23),
    RESHAPE(24),
    RESHAPE(25),
    FLATTEN(1),
    FLATTEN(9),
    FLATTEN(11),
    FLATTEN(13),
    FLATTEN(21),
    FLATTEN(23),
    FLATTEN(24),
    FLATTEN(25),
    SQUEEZE(1),
    SQUEEZE(11),
    SQUEEZE(13),
    SQUEEZE(21),
    SQUEEZE(23),
    SQUEEZE(24),
    SQUEEZE(25),
    UNSQUEEZE(1),
    UNSQUEEZE(11),
    UNSQUEEZE(13),
    UNSQUEEZE(21),
    UNSQUEEZE(23),
    UNSQUEEZE(24),
    UNSQUEEZE(25),
    {.name = NULL},
};
