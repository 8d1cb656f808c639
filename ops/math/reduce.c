/* SPDX-License-Identifier: Apache-2.0
 * The Reduce operators: a step that takes an element into an accumulator, and what is done with it at the end.
 * ReduceLogSumExp takes the largest element out first. */
#include <math.h>
#include <string.h>

#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/reduce.h"
#include "ops/math/types.h"
#include "tensor/convert.h"

enum step { STEP_SUM, STEP_ABS, STEP_SQUARE, STEP_PROD, STEP_MAX, STEP_MIN, STEP_EXP };
enum { LANES = 16 };
enum last { LAST_NOTHING, LAST_MEAN, LAST_SQRT, LAST_LOG, LAST_LOG_SHIFT };

struct params {
    enum step step;
    enum last last;
    bool keep, noop;
    bool by_input; /* axes are input 1 */
    int n_axes; /* attribute; -1: absent */
    int64_t axes[SC_MAX_RANK];
};

struct reduce {
    const struct sc_kernels *kernels;
    struct sc_reduction shape;
    enum step step;
    enum last last;
    enum sc_type half; /* F16 or BF16: what input and output really are; else NONE */
    const void *in;
    void *out;
    int64_t units; /* a part */
};

#define BODY "ops/math/reduce.inc.h"
#include "ops/math/each_number.inc.h"

static sc_part_fn *const parts[SC_N_TYPES] = {
    SC_ON_NUMBERS(reduce_part), [SC_BOOL] = reduce_part_U8, [SC_F16] = reduce_part_F32, [SC_BF16] = reduce_part_F32};

static enum sc_status read_params(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, struct params **params)
{
    struct params *p = sc_arena_alloc(arena, sizeof *p);
    if (!p) {
        return SC_NO_MEMORY;
    }
    int64_t keep, noop;
    const int64_t *axes = NULL;
    SC_TRY(sc_node_int(node, "keepdims", 1, &keep));
    SC_TRY(sc_node_int(node, "noop_with_empty_axes", 0, &noop));
    SC_TRY(sc_node_ints(node, "axes", &p->n_axes, &axes));
    p->keep = keep != 0;
    p->noop = noop != 0;
    p->by_input = node->version >= (strcmp(node->op, "ReduceSum") == 0 ? 13 : 18);
    if (p->n_axes > SC_MAX_RANK) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d axes, want at most %d", p->n_axes, SC_MAX_RANK);
    }
    for (int i = 0; i < p->n_axes; i++) {
        p->axes[i] = axes[i];
    }
    *params = p;
    return SC_OK;
}

/* Which axes are reduced, from their list; n <= 0: none was given. */
static enum sc_status mark_axes(const struct sc_graph *graph, const struct sc_node *node, const struct params *p,
    int rank, int n, const int64_t *axes, bool *reduced)
{
    for (int d = 0; d < rank; d++) {
        reduced[d] = n <= 0 && !p->noop;
    }
    for (int i = 0; i < n; i++) {
        int axis;
        SC_TRY(sc_axis(graph, node, "an axis", axes[i], rank, &axis));
        reduced[axis] = true;
    }
    return SC_OK;
}

static int reduced_dims(const struct params *p, int rank, const int64_t *dims, const bool *reduced, int64_t *out)
{
    int n = 0;
    for (int d = 0; d < rank; d++) {
        if (!reduced[d]) {
            out[n++] = dims[d];
        } else if (p->keep) {
            out[n++] = 1;
        }
    }
    return n;
}

static enum sc_status infer_reduce(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const struct sc_fact *in = sc_infer_in(infer, 0), *axes = p->by_input ? sc_infer_in(infer, 1) : NULL;
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!out || !in) {
        return SC_OK;
    }
    out->kind = SC_KIND_TENSOR;
    out->type = in->type;
    out->rank = -1;
    if (in->rank < 0) {
        return SC_OK;
    }
    int n = p->by_input ? -1 : p->n_axes;
    int64_t list[SC_MAX_RANK];
    memcpy(list, p->axes, sizeof list);
    if (axes && !sc_fact_ints(axes, SC_MAX_RANK, &n, list)) {
        out->rank = p->keep ? in->rank : -1; /* axes are data */
        for (int d = 0; d < out->rank; d++) {
            out->dims[d] = in->dims[d] == 1 ? 1 : SC_DIM_UNKNOWN;
        }
        return SC_OK;
    }
    bool reduced[SC_MAX_RANK];
    SC_TRY(mark_axes(infer->graph, infer->node, p, in->rank, n, list, reduced));
    out->rank = reduced_dims(p, in->rank, in->dims, reduced, out->dims);
    return SC_OK;
}

/* The axes of a call; fails only on axes that are data. */
static enum sc_status call_axes(const struct sc_call *call, bool *reduced)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0), *axes = p->by_input ? sc_call_in(call, 1) : NULL;
    int64_t list[SC_MAX_RANK];
    if (!axes) {
        return mark_axes(call->graph, call->node, p, in->rank, p->by_input ? -1 : p->n_axes, p->axes, reduced);
    }
    const int64_t n = sc_tensor_count(axes);
    if (n > SC_MAX_RANK) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "has %lld axes, want at most %d", (long long)n, SC_MAX_RANK);
    }
    for (int64_t i = 0; i < n; i++) {
        list[i] = sc_index_at(axes, i);
    }
    return mark_axes(call->graph, call->node, p, in->rank, (int)n, list, reduced);
}

static enum sc_status resolve_reduce(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    bool reduced[SC_MAX_RANK];
    int64_t dims[SC_MAX_RANK];
    SC_TRY(call_axes(call, reduced));
    const int rank = reduced_dims(call->params, in->rank, in->dims, reduced, dims);
    sc_tensor_init(sc_call_out(call, 0), in->type, rank, dims);
    return SC_OK;
}

/* exp of an integer has no place in integers: these go by way of f64. */
static bool goes_by_real(const struct params *p, enum sc_type type)
{
    return p->last == LAST_LOG_SHIFT && sc_type_is_int(type);
}

static size_t scratch_reduce(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0), *out = sc_call_out(call, 0);
    return goes_by_real(call->params, in->type) ? (size_t)(sc_tensor_count(in) + sc_tensor_count(out)) * 8 : 0;
}

static void run_reduce(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0), *out = sc_call_out(call, 0);
    bool reduced[SC_MAX_RANK];
    if (call_axes(call, reduced) != SC_OK) {
        return; /* cannot be: infer or resolve have read them */
    }
    struct reduce r = {.kernels = call->kernels, .step = p->step, .last = p->last, .in = in->data, .out = out->data};
    sc_reduction_init(&r.shape, in->rank, in->dims, reduced);
    enum sc_type type = in->type;
    r.half = type == SC_F16 || type == SC_BF16 ? type : SC_TYPE_NONE;
    if (goes_by_real(p, type)) {
        double *wide = call->scratch;
        sc_convert(type, in->data, SC_F64, wide, sc_tensor_count(in), 0);
        r.in = wide;
        r.out = wide + sc_tensor_count(in);
        type = SC_F64;
    }
    int64_t n_parts;
    r.units = sc_reduction_part(&r.shape, &n_parts);
    sc_team_for(call->team, n_parts, parts[type], &r);
    if (type != in->type) {
        sc_convert(SC_F64, r.out, in->type, out->data, sc_tensor_count(out), 0);
    }
}

static void cost_reduce(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct params *p = infer->params;
    const struct sc_fact *in = sc_infer_in(infer, 0);
    sc_cost_elementwise(infer, 1, cost);
    if (in && in->rank >= 0) {
        cost->operations = (double)sc_dims_product(in->dims, 0, in->rank) *
            (p->step == STEP_EXP          ? 22
                    : p->step == STEP_SUM ? 1
                                          : 2);
    }
}

#define KIND(name, how, at_end)                                                                                        \
    static enum sc_status params_##name(                                                                               \
        const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)               \
    {                                                                                                                  \
        struct params *p;                                                                                              \
        SC_TRY(read_params(graph, node, arena, &p));                                                                   \
        p->step = how;                                                                                                 \
        p->last = at_end;                                                                                              \
        *params = p;                                                                                                   \
        return SC_OK;                                                                                                  \
    }
KIND(l1, STEP_ABS, LAST_NOTHING)
KIND(l2, STEP_SQUARE, LAST_SQRT)
KIND(log_sum, STEP_SUM, LAST_LOG)
KIND(log_sum_exp, STEP_EXP, LAST_LOG_SHIFT)
KIND(max, STEP_MAX, LAST_NOTHING)
KIND(mean, STEP_SUM, LAST_MEAN)
KIND(min, STEP_MIN, LAST_NOTHING)
KIND(prod, STEP_PROD, LAST_NOTHING)
KIND(sum, STEP_SUM, LAST_NOTHING)
KIND(sum_square, STEP_SQUARE, LAST_NOTHING)
#undef KIND

#define ROW(op, version, kind)                                                                                         \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_##kind,        \
        .infer = infer_reduce, .scratch = scratch_reduce, .resolve = resolve_reduce, .run = run_reduce,                \
        .cost = cost_reduce                                                                                            \
    }
#define FOUR(op, kind) ROW(op, 1, kind), ROW(op, 11, kind), ROW(op, 13, kind), ROW(op, 18, kind)

const struct sc_op sc_ops_math_reduce[] = {
    FOUR("ReduceL1", l1),
    FOUR("ReduceL2", l2),
    FOUR("ReduceLogSum", log_sum),
    ROW("ReduceLogSum", 28, log_sum),
    FOUR("ReduceLogSumExp", log_sum_exp),
    ROW("ReduceLogSumExp", 28, log_sum_exp),
    FOUR("ReduceMax", max),
    ROW("ReduceMax", 12, max),
    ROW("ReduceMax", 20, max),
    FOUR("ReduceMean", mean),
    FOUR("ReduceMin", min),
    ROW("ReduceMin", 12, min),
    ROW("ReduceMin", 20, min),
    FOUR("ReduceProd", prod),
    ROW("ReduceSum", 1, sum),
    ROW("ReduceSum", 11, sum),
    ROW("ReduceSum", 13, sum),
    FOUR("ReduceSumSquare", sum_square),
    {.name = NULL},
};
