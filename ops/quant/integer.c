/* SPDX-License-Identifier: Apache-2.0
 * Products and convolutions of 8-bit integers: operands become i32 less their zero points, MatMul and Conv do the rest,
 * and the quantised forms bring the i32 sums back to 8 bits. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/conv.h"
#include "ops/nn/matmul.h"
#include "ops/nn/product.h"
#include "ops/quant/saturate.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

/* Where the operands of the four operators stand; -1: they have none. */
struct ports {
    bool conv, linear; /* linear: with scales, the result is quantised */
    int a, a_zero, b, b_zero, a_scale, b_scale, y_scale, y_zero, bias;
};

static const struct ports matmul_integer = {false, false, 0, 2, 1, 3, -1, -1, -1, -1, -1};
static const struct ports conv_integer = {true, false, 0, 2, 1, 3, -1, -1, -1, -1, -1};
static const struct ports matmul_linear = {false, true, 0, 2, 3, 5, 1, 4, 6, 7, -1};
static const struct ports conv_linear = {true, true, 0, 2, 3, 5, 1, 4, 6, 7, 8};

static const struct ports *ports_of(const struct sc_node *node)
{
    const bool linear = node->op[0] == 'Q';
    const bool conv = strstr(node->op, "Conv") != NULL;
    return conv ? (linear ? &conv_linear : &conv_integer) : (linear ? &matmul_linear : &matmul_integer);
}

static bool is_byte(enum sc_type type)
{
    return type == SC_U8 || type == SC_I8 || type == SC_TYPE_NONE;
}

/* Facts of the i32 operands and of their i32 result. */
static enum sc_status infer_sums(struct sc_infer *infer, const struct ports *p, struct sc_fact *sums)
{
    const struct sc_fact *given[2] = {sc_infer_in(infer, p->a), sc_infer_in(infer, p->b)};
    struct sc_fact facts[2];
    const struct sc_fact *in[2];
    struct sc_fact *out[1] = {sums};
    for (int i = 0; i < 2; i++) {
        if (!given[i] || !is_byte(given[i]->type)) {
            return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "an operand is not of 8-bit integers");
        }
        facts[i] = *given[i];
        facts[i].type = SC_I32;
        facts[i].value = NULL;
        in[i] = &facts[i];
    }
    struct sc_infer inner = *infer;
    inner.in = in;
    inner.n_in = 2;
    inner.out = out;
    inner.n_out = 1;
    sc_fact_init(sums);
    return p->conv ? sc_conv_infer(&inner) : sc_matmul_infer(&inner);
}

static enum sc_status infer_integer(struct sc_infer *infer)
{
    const struct ports *p = ports_of(infer->node);
    struct sc_fact sums;
    SC_TRY(infer_sums(infer, p, &sums));
    enum sc_type type = SC_I32;
    if (p->linear) {
        for (int i = 0; i < 8; i++) {
            if (!sc_infer_in(infer, i)) {
                return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "input %d is missing", i);
            }
        }
        type = infer->in[p->y_zero]->type;
        if (!is_byte(type)) {
            return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "a result of %s", sc_type_name(type));
        }
    }
    if (sc_infer_out(infer, 0)) {
        *infer->out[0] = sums;
        infer->out[0]->type = type;
    }
    return SC_OK;
}

/* One number per entry of an axis: `step` elements of the operand lie under each entry. A single number serves all. */
struct per_axis {
    const struct sc_tensor *t; /* NULL: `otherwise` */
    int64_t n, step;
    double otherwise;
};

static int64_t per_axis_index(const struct per_axis *v, int64_t element)
{
    return v->n == 1 ? 0 : element / v->step % v->n;
}

static double per_axis_at(const struct per_axis *v, int64_t element)
{
    double value;
    if (!v->t) {
        return v->otherwise;
    }
    const int64_t at = per_axis_index(v, element);
    sc_convert(v->t->type, sc_const_at(v->t->data, at, sc_type_bytes(v->t->type)), SC_F64, &value, 1, 0);
    return value;
}

/* Scale or zero point of A (its rows), of B or W (its columns or maps), or of the result. */
static struct per_axis spread(
    const struct sc_call *call, int input, const struct sc_tensor *operand, bool maps, bool rows)
{
    struct per_axis v = {.t = input >= 0 ? sc_call_in(call, input) : NULL};
    v.n = v.t ? sc_tensor_count(v.t) : 1;
    v.step = 1;
    if (maps) { /* axis 0 of the weights */
        v.step = sc_dims_product(operand->dims, 1, operand->rank);
    } else if (rows) {
        v.step = operand->rank > 0 ? operand->dims[operand->rank - 1] : 1;
    }
    return v;
}

/* Numbers for the channels of a convolution's result, or columns of a product's. */
static struct per_axis spread_result(
    const struct sc_call *call, const struct ports *p, int input, const struct sc_tensor *y)
{
    struct per_axis v = {.t = sc_call_in(call, input), .step = 1};
    v.n = v.t ? sc_tensor_count(v.t) : 1;
    if (p->conv) {
        v.step = sc_dims_product(y->dims, 2, y->rank);
    } else if (input == p->a_scale) {
        v.step = y->rank > 0 ? y->dims[y->rank - 1] : 1;
    }
    return v;
}

static bool fits(const struct sc_tensor *t, int64_t n)
{
    return !t || sc_tensor_count(t) == 1 || sc_tensor_count(t) == n;
}

static enum sc_status resolve_integer(const struct sc_call *call)
{
    const struct ports *p = ports_of(call->node);
    struct sc_call few = *call; /* the bias has no part in the dims */
    few.n_in = call->n_in < 8 ? call->n_in : 8;
    SC_TRY(sc_resolve_by_infer(&few));
    const struct sc_tensor *a = sc_call_in(call, p->a);
    const struct sc_tensor *b = sc_call_in(call, p->b);
    const int64_t rows =
        p->conv || a->rank < 2 ? 1 : sc_tensor_count(a) / (a->dims[a->rank - 1] > 0 ? a->dims[a->rank - 1] : 1);
    const int64_t columns = p->conv ? b->dims[0] : b->rank > 1 ? b->dims[b->rank - 1] : 1;
    bool all = fits(sc_call_in(call, p->a_zero), rows) && fits(sc_call_in(call, p->b_zero), columns);
    if (p->linear) {
        all = all && fits(sc_call_in(call, p->a_scale), rows) && fits(sc_call_in(call, p->b_scale), columns) &&
            sc_tensor_count(sc_call_in(call, p->y_scale)) == 1 && sc_tensor_count(sc_call_in(call, p->y_zero)) == 1;
        const struct sc_tensor *bias = p->bias >= 0 ? sc_call_in(call, p->bias) : NULL;
        all = all && (!bias || sc_tensor_count(bias) == columns);
    }
    return all ? SC_OK
               : sc_node_fail(call->graph, call->node, SC_UNSUPPORTED,
                     "scales, zero points or bias are neither single nor one per row of A and column of B");
}

/* Scratch: both operands as i32, the sums where the result is not i32, then what the inner operator wants. */
struct rooms {
    struct sc_value a, b, y;
    void *rest;
    size_t bytes;
};

static void *take(char *base, size_t *total, size_t bytes)
{
    char *at = base ? base + *total : NULL;
    *total += (bytes + 63) / 64 * 64;
    return at;
}

static void place(struct sc_value *value, const struct sc_tensor *like, char *base, size_t *total)
{
    value->kind = SC_KIND_TENSOR;
    sc_tensor_init(&value->u.tensor, SC_I32, like->rank, like->dims);
    value->u.tensor.data = take(base, total, sc_tensor_bytes(&value->u.tensor));
}

static struct rooms cut_rooms(const struct sc_call *call, const struct ports *p, char *base)
{
    struct rooms r = {.bytes = 0};
    place(&r.a, sc_call_in(call, p->a), base, &r.bytes);
    place(&r.b, sc_call_in(call, p->b), base, &r.bytes);
    if (p->linear) {
        place(&r.y, sc_call_out(call, 0), base, &r.bytes);
    } else {
        r.y = *call->out[0];
    }
    r.rest = take(base, &r.bytes, 0);
    return r;
}

/* The call of MatMul or Conv over the rooms. Ports are the caller's storage. */
static struct sc_call inner_call(
    const struct sc_call *call, struct rooms *r, const struct sc_value **in, struct sc_value **out)
{
    struct sc_call inner = *call;
    in[0] = &r->a;
    in[1] = &r->b;
    out[0] = &r->y;
    inner.in = in;
    inner.n_in = 2;
    inner.out = out;
    inner.n_out = 1;
    inner.packed = NULL;
    inner.choice = SC_PRODUCT_PLAIN;
    inner.scratch = r->rest;
    return inner;
}

static size_t scratch_integer(const struct sc_call *call)
{
    const struct ports *p = ports_of(call->node);
    struct rooms r = cut_rooms(call, p, NULL);
    const struct sc_value *in[2];
    struct sc_value *out[1];
    const struct sc_call inner = inner_call(call, &r, in, out);
    return r.bytes + (p->conv ? sc_conv_scratch(&inner) : sc_matmul_scratch(&inner));
}

enum { RUN = 4096 }; /* elements of a part that changes types */

struct widening {
    const struct sc_tensor *x;
    struct per_axis zero;
    int32_t *to;
    int64_t count;
};

static int32_t byte_at(const struct sc_tensor *t, int64_t at)
{
    return t->type == SC_U8 ? ((const uint8_t *)t->data)[at] : ((const int8_t *)t->data)[at];
}

static void widen_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct widening *w = arg;
    const int64_t first = part * RUN, n = w->count - first < RUN ? w->count - first : RUN;
    int32_t *y = w->to + first;
    for (int64_t i = 0; i < n; i++) {
        y[i] = byte_at(w->x, first + i);
    }
    const struct per_axis *zero = &w->zero;
    if (zero->t && zero->n == 1) {
        const int32_t value = byte_at(zero->t, 0);
        for (int64_t i = 0; i < n; i++) {
            y[i] -= value;
        }
    } else if (zero->t) {
        for (int64_t i = 0; i < n; i++) {
            y[i] -= byte_at(zero->t, per_axis_index(zero, first + i));
        }
    }
}

static void subtract_zero(
    const struct sc_call *call, const struct sc_tensor *x, const struct per_axis *zero, struct sc_tensor *to)
{
    struct widening w = {x, *zero, to->data, sc_tensor_count(x)};
    sc_team_for(call->team, sc_parts(w.count, RUN), widen_part, &w);
}

/* Sums to 8 bits: what each element is multiplied by, and what is added before and after. */
struct requantising {
    const int32_t *sums;
    const struct sc_tensor *y;
    struct per_axis a, b, bias;
    double scale, zero;
    int64_t count;
    int64_t run; /* elements with the same numbers, unless those of B differ by column */
};

static void requantise_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct requantising *q = arg;
    const int64_t first = part * RUN, end = q->count - first < RUN ? q->count : first + RUN;
    const enum sc_type type = q->y->type;
    double bias = 0, factor = 0;
    int64_t until = first; /* the numbers at hand are right up to here */
    for (int64_t i = first; i < end; i++) {
        if (i == until) {
            bias = per_axis_at(&q->bias, i);
            factor = per_axis_at(&q->a, i) * per_axis_at(&q->b, i) / q->scale;
            until = (i / q->run + 1) * q->run;
        }
        const double value = sc_saturate(type, rint(((double)q->sums[i] + bias) * factor) + q->zero);
        if (type == SC_U8) {
            ((uint8_t *)q->y->data)[i] = (uint8_t)value;
        } else {
            ((int8_t *)q->y->data)[i] = (int8_t)value;
        }
    }
}

static void requantise(const struct sc_call *call, const struct ports *p, const struct sc_tensor *sums)
{
    struct sc_tensor *y = sc_call_out(call, 0);
    const struct per_axis scale = {.t = sc_call_in(call, p->y_scale), .n = 1};
    const struct per_axis zero = {.t = sc_call_in(call, p->y_zero), .n = 1};
    struct requantising q = {.sums = sums->data,
        .y = y,
        .a = spread_result(call, p, p->a_scale, y),
        .b = spread_result(call, p, p->b_scale, y),
        .scale = per_axis_at(&scale, 0),
        .zero = per_axis_at(&zero, 0),
        .count = sc_tensor_count(y)};
    if (p->bias >= 0) {
        q.bias = spread_result(call, p, p->bias, y);
    }
    q.run = p->conv ? q.b.step : q.b.n == 1 ? q.a.step : 1;
    sc_team_for(call->team, sc_parts(q.count, RUN), requantise_part, &q);
}

static void run_integer(const struct sc_call *call)
{
    const struct ports *p = ports_of(call->node);
    struct rooms r = cut_rooms(call, p, call->scratch);
    const struct sc_value *in[2];
    struct sc_value *out[1];
    const struct sc_call inner = inner_call(call, &r, in, out);
    const struct sc_tensor *a = sc_call_in(call, p->a);
    const struct sc_tensor *b = sc_call_in(call, p->b);
    const struct per_axis a_zero = spread(call, p->a_zero, a, false, true);
    const struct per_axis b_zero = spread(call, p->b_zero, b, p->conv, false);
    subtract_zero(call, a, &a_zero, &r.a.u.tensor);
    subtract_zero(call, b, &b_zero, &r.b.u.tensor);
    if (p->conv) {
        sc_conv_run(&inner);
    } else {
        sc_matmul_run(&inner);
    }
    if (p->linear) {
        requantise(call, p, &r.y.u.tensor);
    }
}

#define ROW(op, version, params_fn)                                                                                    \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_fn,         \
        .infer = infer_integer, .scratch = scratch_integer, .resolve = resolve_integer, .run = run_integer             \
    }

const struct sc_op sc_ops_quant_integer[] = {
    ROW(MatMulInteger, 10, NULL),
    ROW(QLinearMatMul, 10, NULL),
    ROW(QLinearMatMul, 21, NULL),
    ROW(ConvInteger, 10, sc_conv_params),
    ROW(QLinearConv, 10, sc_conv_params),
    {.name = NULL},
};
