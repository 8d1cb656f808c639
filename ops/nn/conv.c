/* SPDX-License-Identifier: Apache-2.0
 * Conv: its facts, and which way it is run. */
#include "ops/nn/conv.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/conv_ways.h"

struct params {
    int64_t groups;
    struct sc_window_params window;
};

enum sc_status sc_conv_params(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "group", 1, &p->groups));
    if (p->groups < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "group is %lld, want 1 or more", (long long)p->groups);
    }
    return sc_window_read(graph, node, &p->window);
}

static enum sc_status check_channels(const struct sc_infer *infer, const struct sc_fact *x, const struct sc_fact *w)
{
    const struct params *p = infer->params;
    const int64_t channels = x->dims[1];
    const int64_t maps = w->dims[0];
    if ((channels >= 0 && w->dims[1] >= 0 && (channels % p->groups != 0 || channels / p->groups != w->dims[1])) ||
        (maps >= 0 && maps % p->groups != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "%lld channels in %lld groups do not fit weights of [%lld,%lld,...]", (long long)channels,
            (long long)p->groups, (long long)maps, (long long)w->dims[1]);
    }
    return sc_infer_want(infer, 2, "the bias", 1, &maps);
}

enum sc_status sc_conv_window(const struct sc_infer *infer, struct sc_window *window)
{
    const struct params *p = infer->params;
    const struct sc_fact *x = infer->in[0], *w = infer->in[1];
    return sc_window_find(infer->graph, infer->node, &p->window, x->rank - 2, x->dims + 2, w->dims + 2, window);
}

enum sc_status sc_conv_infer(struct sc_infer *infer)
{
    bool known;
    SC_TRY(sc_window_ranks(infer, &known));
    if (!known) {
        return SC_OK;
    }
    const struct sc_fact *x = infer->in[0], *w = infer->in[1];
    SC_TRY(check_channels(infer, x, w));
    struct sc_window window;
    SC_TRY(sc_conv_window(infer, &window));
    sc_window_output(infer, 0, x->type, w->dims[0], &window);
    return SC_OK;
}

/* Sizes of the picture and of the weights are known, the number of pictures may not be. */
static bool picture_known(const struct sc_fact *x, const struct sc_fact *w)
{
    bool known = sc_fact_dims_known(w) && x->rank == w->rank && x->rank > 2;
    for (int d = 2; known && d < x->rank; d++) {
        known = x->dims[d] >= 0;
    }
    return known && sc_dims_product(x->dims, 2, x->rank) <= INT32_MAX;
}

static int choose_f32(const struct sc_fact *w, int64_t groups)
{
    const bool depthwise = sc_fact_dims_known(w) && (w->rank == 3 || w->rank == 4) && w->dims[1] == 1;
    return depthwise && groups > 1 ? SC_CONV_DEPTHWISE : SC_CONV_COLUMNS;
}

static bool is_narrow(enum sc_type type)
{
    return type == SC_F16 || type == SC_BF16;
}

static enum sc_status prepare_f32(struct sc_prepare *prepare)
{
    const struct params *p = prepare->params;
    const struct sc_fact *x = prepare->in[0], *w = prepare->in[1];
    prepare->choice = choose_f32(w, p->groups);
    if (prepare->choice == SC_CONV_DEPTHWISE || !prepare->constant[1] || !picture_known(x, w)) {
        return SC_OK; /* weights are read as they lie */
    }
    struct sc_window window;
    SC_TRY(sc_window_find(prepare->graph, prepare->node, &p->window, x->rank - 2, x->dims + 2, w->dims + 2, &window));
    if (sc_conv_points_pay(w, &window, p->groups)) {
        prepare->choice = SC_CONV_POINTS;
        prepare->packed_inputs = 1U << 1;
        prepare->packed_bytes = sc_conv_points_packed_bytes(w, p->groups);
    }
    return SC_OK;
}

static enum sc_status prepare_conv(struct sc_prepare *prepare)
{
    const struct params *p = prepare->params;
    const struct sc_fact *w = prepare->in[1];
    if (w->type == SC_F32) {
        return prepare_f32(prepare);
    }
    const bool constant = prepare->constant[1] && sc_fact_dims_known(w) && w->rank > 2;
    if (is_narrow(w->type)) {
        prepare->choice = choose_f32(w, p->groups);
        prepare->packed_inputs = constant ? 1U << 1 : 0;
        prepare->packed_bytes = constant ? (size_t)sc_dims_product(w->dims, 0, w->rank) * sizeof(float) : 0;
        return SC_OK;
    }
    const int64_t K = constant ? sc_dims_product(w->dims, 1, w->rank) : -1;
    const int64_t N = constant ? w->dims[0] / p->groups : -1;
    prepare->choice = (int)sc_product_choose(w->type, constant, false, K, N);
    if (prepare->choice == SC_PRODUCT_PACKED) {
        prepare->packed_inputs = 1U << 1;
        prepare->packed_bytes = (size_t)p->groups * sc_gemm_packed_bytes(w->type, K, N);
    }
    return SC_OK;
}

static void pack_conv(const struct sc_pack *pack)
{
    const struct params *p = pack->prepare->params;
    if (is_narrow(pack->weight->type)) {
        sc_conv_narrow_pack(pack);
        return;
    }
    sc_conv_rows_pack(pack->prepare->kernels, pack->team, pack->weight, p->groups, pack->packed);
}

void sc_conv_open(const struct sc_call *call, const struct sc_tensor *x, const struct sc_tensor *w, struct sc_conv *c)
{
    const struct params *p = call->params;
    memset(c, 0, sizeof(*c));
    c->call = call;
    c->x = x;
    c->w = w;
    c->y = sc_call_out(call, 0);
    c->groups = p->groups;
    c->channels = c->w->dims[1];
    c->maps = c->w->dims[0] / p->groups;
    c->K = sc_dims_product(c->w->dims, 1, c->w->rank);
    (void)sc_window_find(call->graph, call->node, &p->window, c->x->rank - 2, c->x->dims + 2, c->w->dims + 2,
        &c->window); /* infer has checked it */
    sc_dense_strides(c->window.axes, c->window.in, c->strides);
    c->in_count = sc_dims_product(c->window.in, 0, c->window.axes);
    c->positions = sc_dims_product(c->window.out, 0, c->window.axes);
}

/* Returns the way to run it. */
static int open_conv(const struct sc_call *call, struct sc_conv *c)
{
    sc_conv_open(call, sc_call_in(call, 0), sc_call_in(call, 1), c);
    c->bias = sc_call_in(call, 2);
    if (c->in_count > INT32_MAX) { /* offsets in a plane are 32 bits wide */
        return SC_PRODUCT_PACK;
    }
    return call->choice;
}

static size_t way_scratch(const struct sc_conv *c, int way)
{
    switch (way) {
    case SC_CONV_COLUMNS:
        return sc_conv_columns_scratch(c);
    case SC_CONV_POINTS:
        return sc_conv_points_scratch(c);
    case SC_CONV_DEPTHWISE:
        return sc_conv_depthwise_scratch(c);
    default:
        return sc_conv_rows_scratch(c);
    }
}

static void run_way(const struct sc_conv *c, int way)
{
    switch (way) {
    case SC_CONV_COLUMNS:
        sc_conv_columns_run(c);
        break;
    case SC_CONV_POINTS:
        sc_conv_points_run(c);
        break;
    case SC_CONV_DEPTHWISE:
        sc_conv_depthwise_run(c);
        break;
    default:
        sc_conv_rows_run(c);
        break;
    }
}

/* Those whose types were known when the way was chosen. */
static bool is_widened(const struct sc_call *call)
{
    return is_narrow(sc_call_in(call, 0)->type) && call->choice > SC_PRODUCT_PLAIN;
}

static size_t scratch_conv(const struct sc_call *call)
{
    struct sc_conv c;
    if (is_widened(call)) {
        struct sc_conv_narrow narrow;
        sc_conv_narrow_open(call, &narrow);
        const int way = open_conv(&narrow.call, &c);
        return narrow.bytes + way_scratch(&c, way);
    }
    const int way = open_conv(call, &c);
    return way_scratch(&c, way);
}

static void run_conv(const struct sc_call *call)
{
    struct sc_conv c;
    if (sc_tensor_count(sc_call_out(call, 0)) == 0) {
        return;
    }
    if (is_widened(call)) {
        struct sc_conv_narrow narrow;
        sc_conv_narrow_open(call, &narrow);
        sc_conv_narrow_widen(&narrow);
        const int way = open_conv(&narrow.call, &c);
        run_way(&c, way);
        sc_conv_narrow_put(&narrow);
        return;
    }
    const int way = open_conv(call, &c);
    run_way(&c, way);
}

static void cost_conv(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *w = infer->in[1];
    const struct sc_fact *y = infer->out[0];
    const double bytes = (double)sc_type_bytes(x->type);
    const double out = (double)sc_dims_product(y->dims, 0, y->rank);
    cost->operations = 2 * out * (double)sc_dims_product(w->dims, 1, w->rank);
    cost->read_bytes =
        bytes * ((double)sc_dims_product(x->dims, 0, x->rank) + (double)sc_dims_product(w->dims, 0, w->rank));
    cost->written_bytes = bytes * out;
}

#define CONV(version)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .name = "Conv", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .params = sc_conv_params, \
        .infer = sc_conv_infer, .prepare = prepare_conv, .pack = pack_conv, .scratch = scratch_conv, .run = run_conv,  \
        .cost = cost_conv                                                                                              \
    }

const struct sc_op sc_ops_nn_conv[] = {CONV(1), CONV(11), CONV(22), {.name = NULL}};
