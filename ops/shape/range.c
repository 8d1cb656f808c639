/* SPDX-License-Identifier: Apache-2.0
 * Range: start, start + delta, ... below (or above) limit. */
#include <math.h>

#include "ops/shape/shape.h"

/* Element counts are bounded far below this by sc_dims_check. */
#define COUNT_MAX ((int64_t)1 << 50)

static double float_at(const struct sc_kernels *kernels, const struct sc_tensor *t)
{
    float narrow;
    switch (t->type) {
    case SC_F64:
        return *(const double *)t->data;
    case SC_F16:
        kernels->f16_to_f32(t->data, &narrow, 1);
        return narrow;
    case SC_BF16:
        kernels->bf16_to_f32(t->data, &narrow, 1);
        return narrow;
    default:
        return *(const float *)t->data;
    }
}

static int64_t int_at(const struct sc_tensor *t)
{
    return t->type == SC_I16 ? *(const int16_t *)t->data : sc_index_at(t, 0);
}

static bool is_integer(enum sc_type type)
{
    return type == SC_I16 || type == SC_I32 || type == SC_I64;
}

static enum sc_status infer_range(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 3));
    sc_fact_of_rank(sc_infer_out(infer, 0), infer->in[0]->type, 1);
    const struct sc_tensor *const t[3] = {infer->in[0]->value, infer->in[1]->value, infer->in[2]->value};
    if (!t[0] || !t[1] || !t[2] || !is_integer(t[0]->type) || !sc_infer_out(infer, 0)) {
        return SC_OK;
    }
    for (int i = 0; i < 3; i++) {
        if (t[i]->type != t[0]->type || sc_tensor_count(t[i]) != 1) {
            return SC_OK; /* resolve says so, where it matters */
        }
    }
    const int64_t start = int_at(t[0]);
    const int64_t limit = int_at(t[1]);
    const int64_t delta = int_at(t[2]);
    if (delta == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "delta is 0");
    }
    const double n = ceil(((double)limit - (double)start) / (double)delta);
    const bool small = n < 4503599627370496.0; /* 2^52: exact in a double */
    const uint64_t gap = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = delta > 0 ? (uint64_t)delta : -(uint64_t)delta;
    const bool empty = delta > 0 ? limit <= start : limit >= start;
    infer->out[0]->dims[0] = empty ? 0 : small ? (int64_t)((gap - 1) / step) + 1 : COUNT_MAX;
    return SC_OK;
}

static enum sc_status resolve_range(const struct sc_call *call)
{
    const struct sc_tensor *const t[3] = {sc_call_in(call, 0), sc_call_in(call, 1), sc_call_in(call, 2)};
    for (int i = 0; i < 3; i++) {
        if (sc_tensor_count(t[i]) != 1 || t[i]->type != t[0]->type) {
            return sc_node_fail(
                call->graph, call->node, SC_BAD_INPUT, "start, limit and delta are not scalars of one type");
        }
    }
    if (is_integer(t[0]->type)) {
        return sc_resolve_by_infer(call);
    }
    const double delta = float_at(call->kernels, t[2]);
    const double n = ceil((float_at(call->kernels, t[1]) - float_at(call->kernels, t[0])) / delta);
    if (delta == 0 || isnan(n)) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "start, limit and delta give no count");
    }
    const int64_t dim = n <= 0 ? 0 : n < (double)COUNT_MAX ? (int64_t)n : COUNT_MAX;
    return sc_resolve_dims(call, 0, t[0]->type, 1, &dim);
}

#define FILL(type)                                                                                                     \
    do {                                                                                                               \
        const type start = *(const type *)t[0]->data;                                                                  \
        const type delta = *(const type *)t[2]->data;                                                                  \
        type *y = out->data;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            y[i] = (type)(start + (type)i * delta);                                                                    \
        }                                                                                                              \
    } while (0)

static void run_range(const struct sc_call *call)
{
    const struct sc_tensor *const t[3] = {sc_call_in(call, 0), sc_call_in(call, 1), sc_call_in(call, 2)};
    struct sc_tensor *out = sc_call_out(call, 0);
    const int64_t n = out->dims[0];
    switch (out->type) {
    case SC_F32:
        FILL(float);
        break;
    case SC_F64:
        FILL(double);
        break;
    case SC_I16:
        FILL(int16_t);
        break;
    case SC_I32:
        FILL(int32_t);
        break;
    case SC_I64:
        FILL(int64_t);
        break;
    default: {
        const float start = (float)float_at(call->kernels, t[0]);
        const float delta = (float)float_at(call->kernels, t[2]);
        for (int64_t i = 0; i < n; i++) {
            const float value = start + (float)i * delta;
            (out->type == SC_F16 ? call->kernels->f32_to_f16 : call->kernels->f32_to_bf16)(
                &value, (uint16_t *)out->data + i, 1);
        }
    }
    }
}

#define RANGE(version)                                                                                                 \
    {                                                                                                                  \
        .domain = "", .name = "Range", .since = (version), .flags = SC_OP_PURE, .infer = infer_range,                  \
        .resolve = resolve_range, .run = run_range                                                                     \
    }

const struct sc_op sc_ops_shape_range[] = {RANGE(11), RANGE(27), {.name = NULL}};
