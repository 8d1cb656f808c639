/* SPDX-License-Identifier: Apache-2.0
 * CumSum and CumProd along an axis that is an input: one accumulator per row, rows side by side where they are
 * neighbours in memory. */
#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/types.h"

struct params {
    bool product, exclusive, reverse;
};

struct cumulate {
    const struct sc_kernels *kernels;
    bool product, exclusive, reverse;
    enum sc_type half; /* F16, BF16 or NONE */
    int64_t length, step; /* elements of a row, and how far they are apart */
    const void *in;
    void *out;
};

#define BODY "ops/math/cumulate.inc.h"
#include "ops/math/each_number.inc.h"

static sc_part_fn *const parts[SC_N_TYPES] = {
    SC_ON_NUMBERS(cumulate_part), [SC_F16] = cumulate_part_F32, [SC_BF16] = cumulate_part_F32};

static enum sc_status read_params(const struct sc_node *node, struct sc_arena *arena, bool product, void **params)
{
    struct params *p = sc_arena_alloc(arena, sizeof *p);
    if (!p) {
        return SC_NO_MEMORY;
    }
    int64_t exclusive, reverse;
    SC_TRY(sc_node_int(node, "exclusive", 0, &exclusive));
    SC_TRY(sc_node_int(node, "reverse", 0, &reverse));
    *p = (struct params){product, exclusive != 0, reverse != 0};
    *params = p;
    return SC_OK;
}

static enum sc_status read_axis(const struct sc_call *call, int *axis)
{
    const struct sc_tensor *in = sc_call_in(call, 0), *given = sc_call_in(call, 1);
    if (sc_tensor_count(given) != 1) {
        return sc_node_fail(
            call->graph, call->node, SC_BAD_INPUT, "axis has %lld elements, want 1", (long long)sc_tensor_count(given));
    }
    *axis = 0;
    return in->rank == 0 ? SC_OK : sc_axis(call->graph, call->node, "axis", sc_index_at(given, 0), in->rank, axis);
}

static enum sc_status resolve_cumulate(const struct sc_call *call)
{
    int axis;
    return read_axis(call, &axis);
}

static void run_cumulate(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *in = sc_call_in(call, 0);
    int axis;
    if (read_axis(call, &axis) != SC_OK || sc_tensor_count(in) == 0) {
        return; /* a bad axis cannot be: resolve has read it */
    }
    struct cumulate c = {.kernels = call->kernels,
        .product = p->product,
        .exclusive = p->exclusive,
        .reverse = p->reverse,
        .in = in->data,
        .out = sc_call_out(call, 0)->data};
    c.half = in->type == SC_F16 || in->type == SC_BF16 ? in->type : SC_TYPE_NONE;
    c.length = in->rank ? in->dims[axis] : 1;
    c.step = in->rank ? sc_dims_product(in->dims, axis + 1, in->rank) : 1;
    const int64_t outer = sc_tensor_count(in) / (c.length * c.step);
    sc_team_for(call->team, outer * ((c.step + SC_TILE - 1) / SC_TILE), parts[in->type], &c);
}

#define KIND(name, product)                                                                                            \
    static enum sc_status params_##name(                                                                               \
        const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)               \
    {                                                                                                                  \
        (void)graph;                                                                                                   \
        return read_params(node, arena, product, params);                                                              \
    }
KIND(sum, false)
KIND(prod, true)
#undef KIND

#define ROW(op, version, kind)                                                                                         \
    {                                                                                                                  \
        .domain = "", .name = op, .since = version, .flags = SC_OP_PURE | SC_OP_IN_PLACE, .params = params_##kind,     \
        .infer = sc_infer_same, .resolve = resolve_cumulate, .run = run_cumulate                                       \
    }

const struct sc_op sc_ops_math_cumulate[] = {
    ROW("CumProd", 26, prod),
    ROW("CumSum", 11, sum),
    ROW("CumSum", 14, sum),
    {.name = NULL},
};
