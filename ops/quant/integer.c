/* SPDX-License-Identifier: Apache-2.0
 * The operators of products and convolutions of 8-bit integers: what they are given, and their facts. */
#include "ops/quant/integer.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/nn/conv.h"
#include "ops/nn/matmul.h"
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

/* QLinearMatMul has float8 from version 21 on, in any mix with bytes. */
static bool is_allowed(const struct sc_node *node, enum sc_type type)
{
    return is_byte(type) || (sc_is_float8(type) && ports_of(node) == &matmul_linear && node->version >= 21);
}

static bool has_float8(const struct sc_call *call, const struct ports *p)
{
    return sc_is_float8(sc_call_in(call, p->a)->type) || sc_is_float8(sc_call_in(call, p->b)->type) ||
        sc_is_float8(sc_call_out(call, 0)->type);
}

/* Facts of the operands as i32, and of their i32 result. */
static enum sc_status infer_sums(struct sc_infer *infer, const struct ports *p, struct sc_fact *sums)
{
    const struct sc_fact *given[2] = {sc_infer_in(infer, p->a), sc_infer_in(infer, p->b)};
    struct sc_fact facts[2];
    const struct sc_fact *in[2];
    struct sc_fact *out[1] = {sums};
    for (int i = 0; i < 2; i++) {
        if (!given[i] || !is_allowed(infer->node, given[i]->type)) {
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
    if (!p->conv) {
        return sc_matmul_infer(&inner);
    }
    SC_TRY(sc_conv_infer(&inner));
    return sc_integer_conv_check(&inner);
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
        if (!is_allowed(infer->node, type)) {
            return sc_node_fail(infer->graph, infer->node, SC_UNSUPPORTED, "a result of %s", sc_type_name(type));
        }
    }
    if (sc_infer_out(infer, 0)) {
        *infer->out[0] = sums;
        infer->out[0]->type = type;
    }
    return SC_OK;
}

/* Input `input`, if it is there, has one entry for all or n of them. */
static enum sc_status want(const struct sc_call *call, int input, const char *what, int64_t n)
{
    const struct sc_tensor *t = sc_call_in(call, input);
    const int64_t count = t ? sc_tensor_count(t) : 1;
    if (count == 1 || count == n) {
        return SC_OK;
    }
    return sc_node_fail(call->graph, call->node, SC_BAD_INPUT,
        n == 1 ? "%s has %lld entries, want 1" : "%s has %lld entries, want 1 or %lld", what, (long long)count,
        (long long)n);
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
    SC_TRY(want(call, p->a_zero, "the zero point of the first operand", rows));
    SC_TRY(want(call, p->b_zero, "the zero point of the second operand", columns));
    if (!p->linear) {
        return SC_OK;
    }
    SC_TRY(want(call, p->a_scale, "the scale of the first operand", rows));
    SC_TRY(want(call, p->b_scale, "the scale of the second operand", columns));
    SC_TRY(want(call, p->y_scale, "the scale of the output", 1));
    SC_TRY(want(call, p->y_zero, "the zero point of the output", 1));
    const struct sc_tensor *bias = p->bias >= 0 ? sc_call_in(call, p->bias) : NULL;
    if (bias && sc_tensor_count(bias) != columns) {
        return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "the bias has %lld entries, want %lld",
            (long long)sc_tensor_count(bias), (long long)columns);
    }
    return SC_OK;
}

static enum sc_status prepare_integer(struct sc_prepare *prepare)
{
    const struct ports *p = ports_of(prepare->node);
    const struct sc_fact *b = prepare->in[p->b];
    const enum sc_type y = p->linear ? prepare->in[p->y_zero]->type : SC_I32;
    if (sc_is_float8(prepare->in[p->a]->type) || sc_is_float8(b->type) || sc_is_float8(y)) {
        return SC_OK;
    }
    if (prepare->constant[p->b] && sc_fact_dims_known(b) && b->rank > 0) {
        prepare->packed_inputs = 1U << p->b;
        prepare->packed_bytes = p->conv ? sc_integer_conv_packed_bytes(b) : sc_integer_product_packed_bytes(b);
    }
    return SC_OK;
}

static void pack_integer(const struct sc_pack *pack)
{
    (ports_of(pack->prepare->node)->conv ? sc_integer_conv_pack : sc_integer_product_pack)(pack);
}

static const struct sc_tensor *input(const struct sc_call *call, int port)
{
    return port >= 0 ? sc_call_in(call, port) : NULL;
}

/* A convolution's weights are its rows, against windows as columns. */
static struct sc_integer open_integer(const struct sc_call *call, const struct ports *p)
{
    const struct sc_integer_side a = {sc_call_in(call, p->a)->type, input(call, p->a_zero), input(call, p->a_scale)};
    const struct sc_integer_side b = {sc_call_in(call, p->b)->type, input(call, p->b_zero), input(call, p->b_scale)};
    return (struct sc_integer){.kernels = call->kernels,
        .rows = p->conv ? b : a,
        .columns = p->conv ? a : b,
        .bias = input(call, p->bias),
        .y = sc_call_out(call, 0)};
}

static size_t scratch_integer(const struct sc_call *call)
{
    const struct ports *p = ports_of(call->node);
    if (has_float8(call, p)) {
        return sc_float8_scratch();
    }
    struct sc_integer integer = open_integer(call, p);
    return (p->conv ? sc_integer_conv_scratch : sc_integer_product_scratch)(
        call, &integer, sc_call_in(call, p->a), sc_call_in(call, p->b));
}

static void run_integer(const struct sc_call *call)
{
    const struct ports *p = ports_of(call->node);
    if (has_float8(call, p)) {
        sc_float8_run(call);
        return;
    }
    struct sc_integer integer = open_integer(call, p);
    if (p->linear) {
        integer.y_scale = sc_number_at(sc_call_in(call, p->y_scale), 0);
        integer.y_zero = sc_number_at(sc_call_in(call, p->y_zero), 0);
    }
    (p->conv ? sc_integer_conv_run : sc_integer_product_run)(
        call, &integer, sc_call_in(call, p->a), sc_call_in(call, p->b));
}

static void cost_integer(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct ports *p = ports_of(infer->node);
    const struct sc_fact *a = infer->in[p->a], *b = infer->in[p->b], *y = infer->out[0];
    const double results = (double)sc_dims_product(y->dims, 0, y->rank);
    const int64_t depth = p->conv ? sc_dims_product(b->dims, 1, b->rank) : a->dims[a->rank - 1];
    cost->operations = 2 * results * (double)depth / 4; /* four products are an instruction */
    cost->read_bytes = (double)sc_dims_product(a->dims, 0, a->rank) + (double)sc_dims_product(b->dims, 0, b->rank);
    cost->written_bytes = results * (double)sc_type_bytes(y->type);
}

#define ROW(op, version, params_fn)                                                                                    \
    {                                                                                                                  \
        .domain = "", .name = #op, .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = params_fn,         \
        .infer = infer_integer, .prepare = prepare_integer, .pack = pack_integer, .scratch = scratch_integer,          \
        .resolve = resolve_integer, .run = run_integer, .cost = cost_integer                                           \
    }

const struct sc_op sc_ops_quant_integer[] = {
    ROW(MatMulInteger, 10, NULL),
    ROW(QLinearMatMul, 10, NULL),
    ROW(QLinearMatMul, 21, NULL),
    ROW(ConvInteger, 10, sc_conv_params),
    ROW(QLinearConv, 10, sc_conv_params),
    {.name = NULL},
};
