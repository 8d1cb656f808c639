/* SPDX-License-Identifier: Apache-2.0
 * ArgMax and ArgMin: the first index of equals, or the last by select_last_index. */
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/types.h"

struct params {
    bool least, last, keep;
    int64_t axis;
};

/* rows of `length` elements `step` apart */
struct arg {
    const struct sc_kernels *kernels;
    bool least, last;
    enum sc_type half; /* F16, BF16 or NONE */
    int64_t length, step, n_rows, rows_a_part;
    const void *in;
    int64_t *out;
};

#define BODY "ops/math/argminmax.inc.h"
#include "ops/math/each_number.inc.h"

static sc_part_fn *const parts[SC_N_TYPES] = {
    SC_ON_NUMBERS(arg_part), [SC_F16] = arg_part_F32, [SC_BF16] = arg_part_F32};

static enum sc_status read_params(const struct sc_node *node, struct sc_arena *arena, bool least, void **params)
{
    struct params *p = sc_arena_alloc(arena, sizeof *p);
    if (!p) {
        return SC_NO_MEMORY;
    }
    int64_t keep, last;
    SC_TRY(sc_node_int(node, "keepdims", 1, &keep));
    SC_TRY(sc_node_int(node, "select_last_index", 0, &last));
    SC_TRY(sc_node_int(node, "axis", 0, &p->axis));
    p->least = least;
    p->keep = keep != 0;
    p->last = last != 0;
    *params = p;
    return SC_OK;
}

static enum sc_status infer_arg(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    const struct sc_fact *in = sc_infer_in(infer, 0);
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!in || !out) {
        return SC_OK;
    }
    out->kind = SC_KIND_TENSOR;
    out->type = SC_I64;
    out->rank = -1;
    if (in->rank < 0) {
        return SC_OK;
    }
    int axis = 0;
    if (in->rank > 0) {
        SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, in->rank, &axis));
        if (in->dims[axis] == 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "axis %d is empty and has no extreme", axis);
        }
    }
    out->rank = 0;
    for (int d = 0; d < in->rank; d++) {
        if (d != axis) {
            out->dims[out->rank++] = in->dims[d];
        } else if (p->keep) {
            out->dims[out->rank++] = 1;
        }
    }
    return SC_OK;
}

static void run_arg(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    const int axis = (int)(p->axis < 0 ? p->axis + in->rank : p->axis);
    struct arg arg = {.kernels = call->kernels, .least = p->least, .last = p->last, .in = in->data};
    arg.half = in->type == SC_F16 || in->type == SC_BF16 ? in->type : SC_TYPE_NONE;
    arg.out = sc_call_out(call, 0)->data;
    arg.length = in->rank ? in->dims[axis] : 1;
    arg.step = in->rank ? sc_dims_product(in->dims, axis + 1, in->rank) : 1;
    arg.n_rows = sc_tensor_count(in) / arg.length;
    arg.rows_a_part = arg.length >= SC_BROADCAST_PART ? 1 : SC_BROADCAST_PART / arg.length;
    sc_team_for(call->team, (arg.n_rows + arg.rows_a_part - 1) / arg.rows_a_part, parts[in->type], &arg);
}

#define KIND(name, least)                                                                                              \
    static enum sc_status params_##name(                                                                               \
        const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)               \
    {                                                                                                                  \
        (void)graph;                                                                                                   \
        return read_params(node, arena, least, params);                                                                \
    }
KIND(arg_max, false)
KIND(arg_min, true)
#undef KIND

#define ROW(op, version, kind)                                                                                         \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE, .params = params_##kind, .infer = infer_arg,  \
        .run = run_arg                                                                                                 \
    }

const struct sc_op sc_ops_math_argminmax[] = {
    ROW("ArgMax", 1, arg_max),
    ROW("ArgMax", 11, arg_max),
    ROW("ArgMax", 12, arg_max),
    ROW("ArgMax", 13, arg_max),
    ROW("ArgMin", 1, arg_min),
    ROW("ArgMin", 11, arg_min),
    ROW("ArgMin", 12, arg_min),
    ROW("ArgMin", 13, arg_min),
    {.name = NULL},
};
