/* SPDX-License-Identifier: Apache-2.0
 * Conv by products: a run of output positions becomes rows of their windows, which are multiplied by the weights and
 * turned into channels. A part is such a run of one group of one image, so that rooms stay small. */
#include "ops/nn/conv.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/norm.h"
#include "ops/nn/product.h"
#include "ops/nn/window.h"

enum { RUN_ELEMENTS = 1 << 16 }; /* of the rows of one part */

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
        return sc_node_fail(graph, node, SC_BAD_MODEL, "group is %lld", (long long)p->groups);
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
    const struct sc_fact *b = sc_infer_in(infer, 2);
    if (b && (b->rank > 1 || (b->rank == 1 && b->dims[0] >= 0 && maps >= 0 && b->dims[0] != maps))) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "the bias does not have %lld entries", (long long)maps);
    }
    return SC_OK;
}

enum sc_status sc_conv_infer(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *w = infer->in[1];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, x->type);
    if (x->rank < 0 || w->rank < 0) {
        return SC_OK;
    }
    if (x->rank < 3 || w->rank != x->rank) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d and W rank %d", x->rank, w->rank);
    }
    SC_TRY(check_channels(infer, x, w));
    struct sc_window window;
    SC_TRY(sc_window_find(infer->graph, infer->node, &p->window, x->rank - 2, x->dims + 2, w->dims + 2, &window));
    int64_t dims[SC_MAX_RANK] = {x->dims[0], w->dims[0]};
    memcpy(dims + 2, window.out, (size_t)window.axes * sizeof(*dims));
    if (out) {
        sc_fact_tensor(out, x->type, x->rank, dims);
    }
    return SC_OK;
}

/* The weights of one group as B[K, N]: K runs over channel and kernel, N over maps. */
static struct sc_gemm_b group_weights(const struct sc_tensor *w, int64_t groups, int64_t group)
{
    const int64_t K = sc_dims_product(w->dims, 1, w->rank);
    const int64_t N = w->dims[0] / groups;
    return (struct sc_gemm_b){.type = w->type,
        .K = K,
        .N = N,
        .data = w->data ? sc_const_at(w->data, group * N * K, sc_type_bytes(w->type)) : NULL,
        .row_stride = 1,
        .column_stride = K};
}

static enum sc_status prepare_conv(struct sc_prepare *prepare)
{
    const struct params *p = prepare->params;
    const struct sc_fact *w = prepare->in[1];
    const bool constant = prepare->constant[1] && sc_fact_dims_known(w) && w->rank > 2;
    const int64_t K = constant ? sc_dims_product(w->dims, 1, w->rank) : -1;
    const int64_t N = constant ? w->dims[0] / p->groups : -1;
    prepare->choice = (int)sc_product_choose(w->type, constant, false, K, N);
    prepare->packed_input = -1;
    if (prepare->choice == SC_PRODUCT_PACKED) {
        prepare->packed_input = 1;
        prepare->packed_bytes = (size_t)p->groups * sc_gemm_packed_bytes(w->type, K, N);
    }
    return SC_OK;
}

static void pack_groups(
    const struct sc_kernels *kernels, struct sc_team *team, const struct sc_tensor *w, int64_t groups, void *packed)
{
    for (int64_t g = 0; g < groups; g++) {
        const struct sc_gemm_b b = group_weights(w, groups, g);
        sc_gemm_pack(kernels, team, &b, (char *)packed + (size_t)g * sc_gemm_packed_bytes(b.type, b.K, b.N));
    }
}

static void pack_conv(const struct sc_pack *pack)
{
    const struct params *p = pack->prepare->params;
    pack_groups(pack->prepare->kernels, pack->team, pack->weight, p->groups, pack->packed);
}

struct conv {
    const struct sc_call *call;
    const struct sc_tensor *x, *w, *bias, *y;
    struct sc_window window;
    enum sc_product_way way;
    int64_t groups, channels, maps, K; /* channels and maps of one group */
    int64_t positions, run, runs; /* output positions of an image; of one part; parts of an image */
    int64_t in_count, strides[SC_MAX_AXES];
    const char *packed;
    size_t packed_step, rows_bytes, result_bytes, product_bytes, weights_bytes; /* rooms */
};

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static void open_conv(const struct sc_call *call, struct conv *c)
{
    const struct params *p = call->params;
    memset(c, 0, sizeof(*c));
    c->call = call;
    c->x = sc_call_in(call, 0);
    c->w = sc_call_in(call, 1);
    c->bias = sc_call_in(call, 2);
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
    c->run = c->K > 0 && c->K < RUN_ELEMENTS / 16 ? RUN_ELEMENTS / c->K : 16;
    c->run = c->run < c->positions ? c->run : c->positions;
    c->runs = c->run > 0 ? sc_parts(c->positions, c->run) : 0;
    c->way = (enum sc_product_way)call->choice;
    if (c->way == SC_PRODUCT_PLAIN) { /* the type may have been unknown when it was chosen */
        c->way = sc_product_choose(c->x->type, false, false, -1, -1);
    }
    const size_t bytes = sc_type_bytes(c->x->type);
    c->packed = call->packed;
    c->packed_step = sc_gemm_packed_bytes(c->x->type, c->K, c->maps);
    if (c->way == SC_PRODUCT_PACK) { /* packed once for all parts */
        c->way = SC_PRODUCT_PACKED;
        c->weights_bytes = align64((size_t)c->groups * c->packed_step);
        c->packed = call->scratch;
    }
    c->rows_bytes = align64((size_t)(c->run * c->K) * bytes);
    c->result_bytes = align64((size_t)(c->run * c->maps) * bytes);
    c->product_bytes = align64(sc_product_scratch_bytes(c->way, c->x->type, c->run, c->maps, c->K, 1));
}

static size_t room_bytes(const struct conv *c)
{
    return c->rows_bytes + c->result_bytes + c->product_bytes + align64(2 * (size_t)c->run * sizeof(float));
}

size_t sc_conv_scratch(const struct sc_call *call)
{
    struct conv c;
    open_conv(call, &c);
    return c.weights_bytes + room_bytes(&c) * (size_t)sc_team_size(call->team);
}

/* The window at one position of one channel, zeros where it leaves the input: kernel entries in row-major order. */
static void copy_window(const struct conv *c, const char *plane, const int64_t *at, char *to, size_t bytes)
{
    const struct sc_window *w = &c->window;
    const int last = w->axes - 1;
    const int64_t start = at[last] * w->stride[last] - w->begin[last];
    int64_t first, end;
    sc_window_clip(w, last, start, &first, &end);
    int64_t k[SC_MAX_AXES] = {0};
    const int64_t row = w->kernel[last];
    const int64_t rows = sc_dims_product(w->kernel, 0, last);
    for (int64_t r = 0; r < rows; r++, to += (size_t)row * bytes) {
        int64_t offset = start + first * w->dilation[last];
        bool inside = first < end;
        for (int i = 0; i < last; i++) {
            const int64_t x = at[i] * w->stride[i] - w->begin[i] + k[i] * w->dilation[i];
            inside = inside && x >= 0 && x < w->in[i];
            offset += x * c->strides[i];
        }
        if (!inside) {
            memset(to, 0, (size_t)row * bytes);
        } else {
            memset(to, 0, (size_t)first * bytes);
            memset(to + (size_t)end * bytes, 0, (size_t)(row - end) * bytes);
            if (w->dilation[last] == 1) {
                memcpy(to + (size_t)first * bytes, plane + offset * (int64_t)bytes, (size_t)(end - first) * bytes);
            } else {
                for (int64_t i = first; i < end; i++, offset += w->dilation[last]) {
                    memcpy(to + (size_t)i * bytes, plane + offset * (int64_t)bytes, bytes);
                }
            }
        }
        for (int i = last - 1; i >= 0 && ++k[i] == w->kernel[i]; i--) {
            k[i] = 0;
        }
    }
}

/* Results [run, maps] become channels [maps, run], and take their bias. */
static void put_channels(
    const struct conv *c, int64_t image, int64_t group, int64_t first, int64_t n, const void *result, float *room)
{
    const struct sc_kernels *k = c->call->kernels;
    const enum sc_type type = c->x->type;
    const size_t bytes = sc_type_bytes(type);
    struct sc_move move = {.bytes = bytes,
        .to = sc_at(c->y->data, ((image * c->groups + group) * c->maps) * c->positions + first, bytes),
        .from = result};
    sc_move_axis(&move, c->maps, c->positions, 1);
    sc_move_axis(&move, n, 1, c->maps);
    sc_move_run(&move, NULL);
    for (int64_t m = 0; c->bias && m < c->maps; m++) {
        const void *b = sc_const_at(c->bias->data, group * c->maps + m, bytes);
        void *y = sc_at(move.to, m * c->positions, bytes);
        if (type == SC_F64) {
            for (int64_t i = 0; i < n; i++) {
                ((double *)y)[i] += *(const double *)b;
            }
            continue;
        }
        float narrow;
        const float *bias = sc_norm_widen(k, type, b, &narrow, 1);
        const float *wide = sc_norm_widen(k, type, y, room, n);
        float *sum = type == SC_F32 ? y : room;
        k->binary[SC_BINARY_add](wide, 1, bias, 0, sum, n);
        sc_norm_narrow(k, type, sum, y, n);
    }
}

static void conv_part(void *arg, int64_t part, int worker)
{
    const struct conv *c = arg;
    const size_t bytes = sc_type_bytes(c->x->type);
    char *rows = (char *)c->call->scratch + c->weights_bytes + (size_t)worker * room_bytes(c);
    char *result = rows + c->rows_bytes;
    char *product_room = result + c->result_bytes;
    float *room = (float *)(void *)(product_room + c->product_bytes);
    const int64_t first = part % c->runs * c->run;
    const int64_t n = c->positions - first < c->run ? c->positions - first : c->run;
    const int64_t group = part / c->runs % c->groups;
    const int64_t image = part / c->runs / c->groups;
    const int64_t window = c->K / (c->channels > 0 ? c->channels : 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t at[SC_MAX_AXES];
        int64_t rest = first + i;
        for (int d = c->window.axes - 1; d >= 0; d--) {
            at[d] = rest % c->window.out[d];
            rest /= c->window.out[d];
        }
        for (int64_t ch = 0; ch < c->channels; ch++) {
            const int64_t plane = (image * c->groups + group) * c->channels + ch;
            copy_window(c, sc_const_at(c->x->data, plane * c->in_count, bytes), at,
                rows + (size_t)(i * c->K + ch * window) * bytes, bytes);
        }
    }
    const struct sc_gemm_b b = group_weights(c->w, c->groups, group);
    const struct sc_product product = {.way = c->way,
        .type = c->x->type,
        .M = n,
        .N = c->maps,
        .K = c->K,
        .a = rows,
        .a_stride = c->K,
        .b = b.data,
        .b_row_stride = b.row_stride,
        .b_column_stride = b.column_stride,
        .packed = c->packed ? c->packed + (size_t)group * c->packed_step : NULL,
        .c = result};
    sc_product_run(&product, c->call->kernels, NULL, product_room);
    put_channels(c, image, group, first, n, result, room);
}

void sc_conv_run(const struct sc_call *call)
{
    struct conv c;
    open_conv(call, &c);
    if (sc_tensor_count(c.y) == 0) {
        return;
    }
    if (c.weights_bytes > 0) {
        pack_groups(call->kernels, call->team, c.w, c.groups, call->scratch);
    }
    sc_team_for(call->team, c.x->dims[0] * c.groups * c.runs, conv_part, &c);
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
        .domain = "", .name = "Conv", .since = (version), .flags = SC_OP_PURE, .params = sc_conv_params,               \
        .infer = sc_conv_infer, .prepare = prepare_conv, .pack = pack_conv, .scratch = sc_conv_scratch,                \
        .run = sc_conv_run, .cost = cost_conv                                                                          \
    }

const struct sc_op sc_ops_nn_conv[] = {CONV(1), CONV(11), CONV(22), {.name = NULL}};
