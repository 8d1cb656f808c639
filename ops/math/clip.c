/* SPDX-License-Identifier: Apache-2.0
 * Clip: limits are attributes before version 11, then optional scalars of the input's own type. */
#include <string.h>

#include "ops/infer.h"
#include "ops/math/math.h"
#include "ops/math/types.h"
#include "tensor/convert.h"

struct limits {
    bool has_low, has_high;
    _Alignas(8) unsigned char low[8];
    _Alignas(8) unsigned char high[8]; /* of the type that is computed in: f32 for 16-bit floats */
};

#define BODY "ops/math/clip.inc.h"
#include "ops/math/each_number.inc.h"

static const struct sc_span_table table = {{SC_ON_NUMBERS(clip)}};

struct clip {
    bool has_low, has_high;
    float low, high;
};

static enum sc_status params_clip_attributes(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    struct clip *p = sc_arena_alloc(arena, sizeof *p);
    if (!p) {
        return SC_NO_MEMORY;
    }
    p->has_low = sc_node_attribute(node, "min") != NULL;
    p->has_high = sc_node_attribute(node, "max") != NULL;
    SC_TRY(sc_node_float(node, "min", 0, &p->low));
    SC_TRY(sc_node_float(node, "max", 0, &p->high));
    *params = p;
    return SC_OK;
}

static enum sc_status infer_clip(struct sc_infer *infer)
{
    for (int i = 1; i < infer->n_in; i++) {
        const struct sc_fact *limit = infer->in[i];
        if (limit && sc_fact_dims_known(limit) && sc_dims_product(limit->dims, 0, limit->rank) != 1) {
            char text[200];
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s has shape %s, want a scalar",
                i == 1 ? "min" : "max", sc_dims_text(limit->rank, limit->dims, text, sizeof text));
        }
    }
    SC_TRY(sc_elementwise_check(infer, &table, sc_infer_type(infer, 0)));
    return sc_infer_same(infer);
}

static bool read_limit(const struct sc_call *call, int i, enum sc_type as, unsigned char *limit)
{
    const struct sc_tensor *tensor = sc_call_in(call, i);
    if (tensor) {
        sc_convert(tensor->type, tensor->data, as, limit, 1, 0);
    }
    return tensor != NULL;
}

static void run_clip(const struct sc_call *call)
{
    const struct sc_tensor *in[1] = {sc_call_in(call, 0)};
    const enum sc_type type = in[0]->type, as = type == SC_F16 || type == SC_BF16 ? SC_F32 : type;
    struct limits limits = {0};
    const struct clip *p = call->params;
    if (p) {
        limits.has_low = p->has_low;
        limits.has_high = p->has_high;
        sc_convert(SC_F32, &p->low, as, limits.low, 1, 0);
        sc_convert(SC_F32, &p->high, as, limits.high, 1, 0);
    } else {
        limits.has_low = read_limit(call, 1, as, limits.low);
        limits.has_high = read_limit(call, 2, as, limits.high);
    }
    sc_elementwise(call, &table, type, 1, in, &limits);
}

#define ROW(version, how)                                                                                              \
    {                                                                                                                  \
        .domain = "", .name = "Clip", .since = version, .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_IN_PLACE,            \
        .params = how, .infer = infer_clip, .run = run_clip                                                            \
    }

const struct sc_op sc_ops_math_clip[] = {
    ROW(1, params_clip_attributes),
    ROW(6, params_clip_attributes),
    ROW(11, NULL),
    ROW(12, NULL),
    ROW(13, NULL),
    {.name = NULL},
};
