/* SPDX-License-Identifier: Apache-2.0
 * QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: tiles of elements as doubles, each with the scale and zero
 * point of its tensor, axis entry or block. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/quant/saturate.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { TILE = 1024, PLAIN = 1 << 16 };

struct params {
    int64_t axis, block, out_type, precision, saturate;
};

static enum sc_status params_linear(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "axis", 1, &p->axis));
    SC_TRY(sc_node_int(node, "block_size", 0, &p->block));
    SC_TRY(sc_node_int(node, "output_dtype", 0, &p->out_type));
    SC_TRY(sc_node_int(node, "precision", 0, &p->precision));
    SC_TRY(sc_node_int(node, "saturate", 1, &p->saturate));
    if (p->block < 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "block_size is %lld, want 0 or more", (long long)p->block);
    }
    if (p->out_type && !sc_type_valid(p->out_type)) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "output_dtype is %lld, which is no element type", (long long)p->out_type);
    }
    if (p->precision && p->precision != SC_F32 && p->precision != SC_F16 && p->precision != SC_BF16) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "precision is %lld, want the number of float, float16 or bfloat16", (long long)p->precision);
    }
    return SC_OK;
}

/* How scales lie over x. */
enum spread { PER_TENSOR, PER_AXIS, PER_BLOCK };

struct layout {
    enum spread spread;
    int64_t dim, inner, block, blocks; /* of the axis */
};

static enum sc_status find_layout(
    const struct sc_infer *infer, const struct sc_fact *x, const struct sc_fact *scale, struct layout *l)
{
    const struct params *p = infer->params;
    *l = (struct layout){.spread = PER_TENSOR};
    const bool one = scale->rank == 0 || (scale->rank == 1 && scale->dims[0] == 1);
    if (one && p->block == 0) {
        return SC_OK;
    }
    int axis;
    SC_TRY(sc_axis(infer->graph, infer->node, "axis", p->axis, x->rank, &axis));
    l->dim = x->dims[axis];
    l->inner = sc_fact_product(x, axis + 1, x->rank);
    if (p->block == 0) {
        l->spread = PER_AXIS;
        return sc_infer_want(infer, 1, "the scale", 1, &l->dim);
    }
    l->spread = PER_BLOCK;
    l->block = p->block;
    l->blocks = l->dim >= 0 ? (l->dim - 1) / p->block + (l->dim > 0) : SC_DIM_UNKNOWN;
    int64_t want[SC_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        want[i] = i == axis ? l->blocks : x->dims[i];
    }
    return sc_infer_want(infer, 1, "the scale", x->rank, want);
}

static bool is_quantize(const struct sc_node *node)
{
    return node->op[0] == 'Q';
}

static enum sc_type result_type(
    const struct sc_node *node, const struct params *p, const struct sc_fact *scale, const struct sc_fact *zero)
{
    if (is_quantize(node)) {
        return zero ? zero->type : p->out_type ? (enum sc_type)p->out_type : SC_U8;
    }
    return p->out_type ? (enum sc_type)p->out_type : scale->type;
}

/* QuantizeLinear gives integers of at most 16 bits and narrow floats, DequantizeLinear the wider floats. */
static bool may_be_result(const struct sc_node *node, enum sc_type type)
{
    const bool wide = type == SC_F16 || type == SC_BF16 || type == SC_F32;
    return is_quantize(node) ? !wide && type != SC_BOOL && type != SC_STRING && sc_type_bits(type) <= 16 : wide;
}

static enum sc_status check_result(const struct sc_infer *infer, const struct sc_fact *zero)
{
    const struct params *p = infer->params;
    const enum sc_type type = (enum sc_type)p->out_type;
    if (type && !may_be_result(infer->node, type)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "output_dtype is %s, which it cannot give", sc_type_name(type));
    }
    if (type && is_quantize(infer->node) && zero && zero->type && zero->type != type) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "output_dtype is %s, the zero point is of %s",
            sc_type_name(type), sc_type_name(zero->type));
    }
    return SC_OK;
}

static enum sc_status infer_linear(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    SC_TRY(check_result(infer, sc_infer_in(infer, 2)));
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *scale = infer->in[1];
    const struct sc_fact *zero = sc_infer_in(infer, 2);
    sc_infer_shape_of(infer, 0, x, result_type(infer->node, p, scale, zero));
    if (x->rank < 0 || scale->rank < 0) {
        return SC_OK;
    }
    struct layout l;
    SC_TRY(find_layout(infer, x, scale, &l));
    if (zero && zero->rank >= 0) {
        const int64_t have = sc_fact_product(zero, 0, zero->rank);
        const int64_t want = sc_fact_product(scale, 0, scale->rank);
        if (have >= 0 && want >= 0 && have != want) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%lld zero points for %lld scales",
                (long long)have, (long long)want);
        }
    }
    return SC_OK;
}

struct job {
    const struct sc_call *call;
    const struct params *p;
    const struct sc_tensor *x, *y, *scale, *zero;
    struct layout l;
    enum sc_type divide; /* QuantizeLinear: the type whose rounding the quotient takes */
    int64_t count;
};

static int64_t scale_index(const struct layout *l, int64_t i)
{
    switch (l->spread) {
    case PER_AXIS:
        return i / l->inner % l->dim;
    case PER_BLOCK:
        return (i / l->inner / l->dim * l->blocks + i / l->inner % l->dim / l->block) * l->inner + i % l->inner;
    case PER_TENSOR:
        break;
    }
    return 0;
}

static double number_at(const struct sc_tensor *t, int64_t i)
{
    double value;
    if (t->type == SC_F32) {
        return (double)((const float *)t->data)[i];
    }
    sc_convert(t->type, sc_const_at(t->data, i, sc_type_bytes(t->type)), SC_F64, &value, 1, 0);
    return value;
}

static float divide(const struct job *job, double x, double scale)
{
    float quotient = (float)x / (float)scale;
    if (job->divide == SC_F16 || job->divide == SC_BF16) {
        uint16_t narrow;
        sc_convert(SC_F32, &quotient, job->divide, &narrow, 1, 0);
        sc_convert(job->divide, &narrow, SC_F32, &quotient, 1, 0);
    }
    return quotient;
}

static void linear_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t first = part * TILE;
    const int64_t n = job->count - first < TILE ? job->count - first : TILE;
    const bool quantize = is_quantize(job->call->node);
    double tile[TILE];
    sc_convert(job->x->type, sc_const_at(job->x->data, first, sc_type_bytes(job->x->type)), SC_F64, tile, n, 0);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = scale_index(&job->l, first + i);
        const double scale = number_at(job->scale, at);
        const double zero = job->zero ? number_at(job->zero, at) : 0.0;
        if (quantize) {
            tile[i] = (double)divide(job, tile[i], scale);
            tile[i] = sc_is_saturating(job->y->type) ? sc_saturate(job->y->type, rint(tile[i]) + zero) : tile[i] + zero;
        } else {
            tile[i] = (double)((float)(tile[i] - zero) * (float)scale);
        }
    }
    sc_convert(SC_F64, tile, job->y->type, sc_at(job->y->data, first, sc_type_bytes(job->y->type)), n,
        job->p->saturate ? SC_CONVERT_SATURATE : 0);
}

/* f32 on one side and bytes on the other: the kernels do it, in runs of one scale or along the axis of scales. */
static bool is_plain(const struct job *job)
{
    const enum sc_type wide = is_quantize(job->call->node) ? job->x->type : job->y->type;
    const enum sc_type narrow = is_quantize(job->call->node) ? job->y->type : job->x->type;
    return wide == SC_F32 && (narrow == SC_U8 || narrow == SC_I8) && job->scale->type == SC_F32 &&
        job->divide == SC_F32 && job->l.spread != PER_BLOCK && (!job->zero || job->zero->type == narrow);
}

static void plain_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct sc_kernels *k = job->call->kernels;
    const struct layout *l = &job->l;
    const bool quantize = is_quantize(job->call->node), single = l->spread == PER_TENSOR;
    const int64_t end = (part + 1) * PLAIN < job->count ? (part + 1) * PLAIN : job->count;
    const int64_t run = single ? job->count : l->inner > 1 ? l->inner : l->dim;
    struct sc_byte_scale scale = {
        .step = !single && l->inner == 1, .is_signed = (quantize ? job->y : job->x)->type == SC_I8};
    for (int64_t i = part * PLAIN; i < end;) {
        const int64_t left = run - i % run, n = left < end - i ? left : end - i, at = scale_index(l, i);
        scale.scales = (const float *)job->scale->data + at;
        scale.zeros = job->zero ? (const uint8_t *)job->zero->data + at : NULL;
        if (quantize) {
            k->floats_to_bytes((const float *)job->x->data + i, &scale, n, (uint8_t *)job->y->data + i);
        } else {
            k->bytes_to_floats((const uint8_t *)job->x->data + i, &scale, n, (float *)job->y->data + i);
        }
        i += n;
    }
}

static void run_linear(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct job job = {.call = call,
        .p = p,
        .x = sc_call_in(call, 0),
        .scale = sc_call_in(call, 1),
        .zero = sc_call_in(call, 2),
        .y = sc_call_out(call, 0)};
    struct sc_fact x, scale;
    sc_fact_of(&x, call->in[0]);
    sc_fact_of(&scale, call->in[1]);
    const struct sc_infer infer = {.graph = call->graph, .node = call->node, .params = p};
    job.count = sc_tensor_count(job.x);
    if (job.count == 0 || find_layout(&infer, &x, &scale, &job.l) != SC_OK) {
        return; /* infer has refused it, or nothing to do */
    }
    job.divide = p->precision ? (enum sc_type)p->precision : job.scale->type;
    if (is_plain(&job)) {
        sc_team_for(call->team, sc_parts(job.count, PLAIN), plain_part, &job);
    } else {
        sc_team_for(call->team, sc_parts(job.count, TILE), linear_part, &job);
    }
}

static enum sc_status infer_dynamic(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    sc_infer_shape_of(infer, 0, infer->in[0], SC_U8);
    for (int i = 1; i < 3; i++) {
        if (sc_infer_out(infer, i)) {
            sc_fact_tensor(infer->out[i], i == 1 ? SC_F32 : SC_U8, 0, NULL);
        }
    }
    return SC_OK;
}

struct dynamic {
    const struct sc_call *call;
    int64_t count;
    float (*ranges)[2]; /* of the parts */
    struct sc_byte_scale scale;
};

static size_t scratch_dynamic(const struct sc_call *call)
{
    return (size_t)sc_parts(sc_tensor_count(sc_call_in(call, 0)), PLAIN) * 2 * sizeof(float);
}

static void range_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct dynamic *d = arg;
    const int64_t first = part * PLAIN, n = d->count - first < PLAIN ? d->count - first : PLAIN;
    float *range = d->ranges[part];
    range[0] = range[1] = 0.0F; /* which it always has */
    d->call->kernels->widen_range((const float *)sc_call_in(d->call, 0)->data + first, n, &range[0], &range[1]);
}

static void bytes_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct dynamic *d = arg;
    const int64_t first = part * PLAIN, n = d->count - first < PLAIN ? d->count - first : PLAIN;
    d->call->kernels->floats_to_bytes((const float *)sc_call_in(d->call, 0)->data + first, &d->scale, n,
        (uint8_t *)sc_call_out(d->call, 0)->data + first);
}

static void run_dynamic(const struct sc_call *call)
{
    struct dynamic d = {.call = call, .count = sc_tensor_count(sc_call_in(call, 0)), .ranges = call->scratch};
    const int64_t parts = sc_parts(d.count, PLAIN);
    float low = 0.0F;
    float high = 0.0F;
    sc_team_for(call->team, parts, range_part, &d);
    for (int64_t i = 0; i < parts; i++) {
        low = d.ranges[i][0] < low ? d.ranges[i][0] : low;
        high = d.ranges[i][1] > high ? d.ranges[i][1] : high;
    }
    const float scale = (high - low) / 255.0F,
                divisor = scale > 0.0F ? scale : INFINITY; /* none: all are zero points */
    const uint8_t zero = scale > 0.0F ? (uint8_t)sc_saturate(SC_U8, rint((double)(-low / scale))) : 0;
    if (sc_call_out(call, 1)) {
        *(float *)sc_call_out(call, 1)->data = scale;
    }
    if (sc_call_out(call, 2)) {
        *(uint8_t *)sc_call_out(call, 2)->data = zero;
    }
    if (sc_call_out(call, 0)) {
        d.scale = (struct sc_byte_scale){.scales = &divisor, .zeros = &zero};
        sc_team_for(call->team, parts, bytes_part, &d);
    }
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_linear,     \
        .infer = infer_linear, .resolve = sc_resolve_by_infer, .run = run_linear                                       \
    }

const struct sc_op sc_ops_quant_linear[] = {
    ROW(QuantizeLinear, 10),
    ROW(QuantizeLinear, 13),
    ROW(QuantizeLinear, 19),
    ROW(QuantizeLinear, 21),
    ROW(QuantizeLinear, 23),
    ROW(QuantizeLinear, 24),
    ROW(QuantizeLinear, 25),
    ROW(QuantizeLinear, 28),
    ROW(DequantizeLinear, 10),
    ROW(DequantizeLinear, 13),
    ROW(DequantizeLinear, 19),
    ROW(DequantizeLinear, 21),
    ROW(DequantizeLinear, 23),
    ROW(DequantizeLinear, 24),
    ROW(DequantizeLinear, 25),
    ROW(DequantizeLinear, 28),
    {.domain = "",
        .name = "DynamicQuantizeLinear",
        .since = 11,
        .flags = SC_OP_PURE | SC_OP_TICKS | SC_OP_ROW_MIXING,
        .infer = infer_dynamic,
        .scratch = scratch_dynamic,
        .run = run_dynamic},
    {.name = NULL},
};
