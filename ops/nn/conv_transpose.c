/* SPDX-License-Identifier: Apache-2.0
 * ConvTranspose: runs of input positions times the weights give what each position adds to the output through every
 * kernel entry; these are added in the order of positions, so that sums are always the same. */
#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/product.h"
#include "ops/nn/window.h"
#include "ops/room.h"
#include "tensor/convert.h"

enum { RUN_ELEMENTS = 1 << 16 };

struct params {
    int64_t groups;
    struct sc_window_params window;
    struct sc_ints output_padding, output_shape;
};

static enum sc_status params_transpose(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "group", 1, &p->groups));
    SC_TRY(sc_node_ints(node, "output_padding", &p->output_padding.n, &p->output_padding.values));
    SC_TRY(sc_node_ints(node, "output_shape", &p->output_shape.n, &p->output_shape.values));
    static const char *const names[2] = {"output_padding", "output_shape"};
    const struct sc_ints *const lists[2] = {&p->output_padding, &p->output_shape};
    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < lists[l]->n; i++) {
            if (lists[l]->values[i] < 0 || lists[l]->values[i] > INT32_MAX) {
                return sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has the entry %lld, want 0 to %d", names[l],
                    (long long)lists[l]->values[i], INT32_MAX);
            }
        }
    }
    if (p->groups < 1) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "group is %lld, want 1 or more", (long long)p->groups);
    }
    return sc_window_read(graph, node, &p->window);
}

static int64_t floor_half(int64_t x)
{
    return x >= 0 ? x / 2 : -((1 - x) / 2);
}

/* The output dim of one axis, and pads that follow from it. */
static void find_axis(const struct params *p, struct sc_window *w, int i)
{
    const bool same = p->window.auto_pad == SC_PAD_SAME_UPPER || p->window.auto_pad == SC_PAD_SAME_LOWER;
    const int64_t extra = p->output_padding.n >= 0 ? p->output_padding.values[i] : 0;
    w->out[i] = SC_DIM_UNKNOWN;
    if (p->output_shape.n >= 0) {
        w->out[i] = p->output_shape.values[i];
    }
    if (w->in[i] < 0 || w->kernel[i] < 0) {
        return;
    }
    const int64_t whole = w->stride[i] * (w->in[i] - 1) + extra + (w->kernel[i] - 1) * w->dilation[i] + 1;
    if (p->output_shape.n < 0 && !same) {
        w->out[i] = whole - w->begin[i] - w->end[i];
        return;
    }
    if (p->output_shape.n < 0) {
        w->out[i] = w->in[i] * w->stride[i];
    }
    const int64_t total = whole - w->out[i];
    w->begin[i] = p->window.auto_pad == SC_PAD_SAME_UPPER ? floor_half(total) : total - floor_half(total);
}

static enum sc_status find_window(const struct sc_graph *graph, const struct sc_node *node, const struct params *p,
    int axes, const int64_t *in, const int64_t *kernel, struct sc_window *w)
{
    if ((p->output_padding.n >= 0 && p->output_padding.n != axes) ||
        (p->output_shape.n >= 0 && p->output_shape.n != axes)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "'output_padding' has %d entries and 'output_shape' %d, want %d",
            p->output_padding.n, p->output_shape.n, axes);
    }
    const int64_t unknown[SC_MAX_AXES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    SC_TRY(sc_window_find(graph, node, &p->window, axes, unknown, kernel, w)); /* lists; dims go the other way here */
    for (int i = 0; i < axes; i++) {
        const int64_t extra = p->output_padding.n >= 0 ? p->output_padding.values[i] : 0;
        if (extra > 0 && extra >= w->stride[i] && extra >= w->dilation[i]) {
            return sc_node_fail(graph, node, SC_BAD_MODEL,
                "'output_padding' has the entry %lld, want less than the stride %lld or the dilation %lld",
                (long long)extra, (long long)w->stride[i], (long long)w->dilation[i]);
        }
        w->in[i] = in[i];
        find_axis(p, w, i);
        if (w->out[i] != SC_DIM_UNKNOWN && w->out[i] < 0) {
            return sc_node_fail(
                graph, node, SC_BAD_INPUT, "axis %d of the result would be %lld long", i + 2, (long long)w->out[i]);
        }
    }
    return SC_OK;
}

static enum sc_status infer_transpose(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    bool known;
    SC_TRY(sc_window_ranks(infer, &known));
    if (!known) {
        return SC_OK;
    }
    const struct sc_fact *x = infer->in[0], *w = infer->in[1];
    int64_t maps;
    SC_TRY(sc_dim_multiply(infer, w->dims[1], p->groups, &maps));
    if (x->dims[1] >= 0 && w->dims[0] >= 0 && (x->dims[1] != w->dims[0] || x->dims[1] % p->groups != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "%lld channels in %lld groups do not fit weights of [%lld,...]", (long long)x->dims[1],
            (long long)p->groups, (long long)w->dims[0]);
    }
    SC_TRY(sc_infer_want(infer, 2, "the bias", 1, &maps));
    struct sc_window window;
    SC_TRY(find_window(infer->graph, infer->node, p, x->rank - 2, x->dims + 2, w->dims + 2, &window));
    sc_window_output(infer, 0, x->type, maps, &window);
    return SC_OK;
}

/* The weights of a group as B[K, N]: K channels, N maps times kernel entries. */
static struct sc_gemm_b group_weights(const struct sc_tensor *w, int64_t groups, int64_t group)
{
    const int64_t K = w->dims[0] / groups;
    const int64_t N = sc_dims_product(w->dims, 1, w->rank);
    return (struct sc_gemm_b){.type = w->type,
        .K = K,
        .N = N,
        .data = w->data ? sc_const_at(w->data, group * K * N, sc_type_bytes(w->type)) : NULL,
        .row_stride = N,
        .column_stride = 1};
}

static enum sc_status prepare_transpose(struct sc_prepare *prepare)
{
    const struct params *p = prepare->params;
    const struct sc_fact *w = prepare->in[1];
    const bool constant = prepare->constant[1] && sc_fact_dims_known(w) && w->rank > 2;
    const int64_t K = constant ? w->dims[0] / p->groups : -1;
    const int64_t N = constant ? sc_dims_product(w->dims, 1, w->rank) : -1;
    prepare->choice = (int)sc_product_choose(w->type, constant, false, K, N);
    if (prepare->choice == SC_PRODUCT_PACKED) {
        prepare->packed_inputs = 1U << 1;
        prepare->packed_bytes = (size_t)p->groups * sc_gemm_packed_bytes(w->type, K, N);
    }
    return SC_OK;
}

static void pack_transpose(const struct sc_pack *pack)
{
    const struct params *p = pack->prepare->params;
    for (int64_t g = 0; g < p->groups; g++) {
        const struct sc_gemm_b b = group_weights(pack->weight, p->groups, g);
        sc_gemm_pack(pack->prepare->kernels, pack->team, &b,
            (char *)pack->packed + (size_t)g * sc_gemm_packed_bytes(b.type, b.K, b.N));
    }
}

struct job {
    const struct sc_call *call;
    const struct params *p;
    const struct sc_tensor *x, *w, *bias, *y;
    struct sc_window window;
    enum sc_product_way way;
    int64_t maps, K, N, kernel, positions, run, out_count;
    bool narrow; /* 16 bits: sums are f32 in a room of their own */
    size_t sums_bytes, rows_bytes, result_bytes, product_bytes; /* per worker */
};

static void open_job(const struct sc_call *call, struct job *job)
{
    const struct params *p = call->params;
    memset(job, 0, sizeof(*job));
    job->call = call;
    job->p = p;
    job->x = sc_call_in(call, 0);
    job->w = sc_call_in(call, 1);
    job->bias = sc_call_in(call, 2);
    job->y = sc_call_out(call, 0);
    const struct sc_tensor *w = job->w;
    (void)find_window(call->graph, call->node, p, job->x->rank - 2, job->x->dims + 2, w->dims + 2,
        &job->window); /* infer has checked it */
    job->K = w->dims[0] / p->groups;
    job->N = sc_dims_product(w->dims, 1, w->rank);
    job->maps = w->dims[1];
    job->kernel = sc_dims_product(w->dims, 2, w->rank);
    job->positions = sc_dims_product(job->window.in, 0, job->window.axes);
    job->out_count = sc_dims_product(job->window.out, 0, job->window.axes);
    const int64_t wide = job->N > job->K ? job->N : job->K;
    job->run = wide > 0 && wide < RUN_ELEMENTS / 16 ? RUN_ELEMENTS / wide : 16;
    job->run = job->run < job->positions ? job->run : job->positions;
    job->way = (enum sc_product_way)call->choice;
    if (job->way == SC_PRODUCT_PLAIN) { /* the type may have been unknown when it was chosen */
        job->way = sc_product_choose(job->x->type, false, false, -1, -1);
    }
    const size_t bytes = sc_type_bytes(job->x->type);
    job->narrow = bytes == 2;
    job->sums_bytes = job->narrow ? sc_room_round((size_t)(job->maps * job->out_count) * sizeof(float)) : 0;
    job->rows_bytes = sc_room_round((size_t)(job->run * job->K) * bytes);
    job->result_bytes = sc_room_round((size_t)(job->run * job->N) * (bytes + (job->narrow ? sizeof(float) : 0)));
    job->product_bytes = sc_room_round(sc_product_scratch_bytes(job->way, job->x->type, job->run, job->N, job->K, 1));
}

static size_t worker_bytes(const struct job *job)
{
    return job->sums_bytes + job->rows_bytes + job->result_bytes + job->product_bytes;
}

static size_t scratch_transpose(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    return worker_bytes(&job) * (size_t)sc_team_size(call->team);
}

/* Adds one position's results [maps, kernel] to the sums [maps, out_count]; both f32, or both f64. */
static void add_position(const struct job *job, int64_t position, const void *from, void *sums)
{
    const struct sc_window *w = &job->window;
    int64_t start[SC_MAX_AXES];
    int64_t k[SC_MAX_AXES] = {0};
    for (int i = w->axes - 1; i >= 0; i--) {
        start[i] = position % w->in[i] * w->stride[i] - w->begin[i];
        position /= w->in[i];
    }
    for (int64_t entry = 0; entry < job->kernel; entry++) {
        int64_t to = 0;
        bool inside = true;
        for (int i = 0; i < w->axes; i++) {
            const int64_t at = start[i] + k[i] * w->dilation[i];
            inside = inside && at >= 0 && at < w->out[i];
            to = to * w->out[i] + at;
        }
        for (int64_t m = 0; inside && m < job->maps; m++) {
            if (job->x->type == SC_F64) {
                ((double *)sums)[m * job->out_count + to] += ((const double *)from)[m * job->kernel + entry];
            } else {
                ((float *)sums)[m * job->out_count + to] += ((const float *)from)[m * job->kernel + entry];
            }
        }
        for (int i = w->axes - 1; i >= 0 && ++k[i] == w->kernel[i]; i--) {
            k[i] = 0;
        }
    }
}

static void add_bias(const struct job *job, int64_t group, void *sums)
{
    for (int64_t m = 0; job->bias && m < job->maps; m++) {
        double bias;
        sc_convert(job->bias->type, sc_const_at(job->bias->data, group * job->maps + m, sc_type_bytes(job->bias->type)),
            SC_F64, &bias, 1, 0);
        for (int64_t i = m * job->out_count; i < (m + 1) * job->out_count; i++) {
            if (job->x->type == SC_F64) {
                ((double *)sums)[i] += bias;
            } else {
                ((float *)sums)[i] += (float)bias;
            }
        }
    }
}

/* One run of positions: their channels as rows, the product, the sums. */
static void add_run(const struct job *job, int64_t part, int64_t first, char *room, void *sums)
{
    const size_t bytes = sc_type_bytes(job->x->type);
    const int64_t group = part % job->p->groups;
    const int64_t n = job->positions - first < job->run ? job->positions - first : job->run;
    char *rows = room + job->sums_bytes;
    char *result = rows + job->rows_bytes;
    struct sc_move move = {
        .bytes = bytes, .to = rows, .from = sc_const_at(job->x->data, part * job->K * job->positions + first, bytes)};
    sc_move_axis(&move, n, job->K, 1);
    sc_move_axis(&move, job->K, 1, job->positions);
    sc_move_run(&move, NULL);
    const struct sc_gemm_b b = group_weights(job->w, job->p->groups, group);
    const struct sc_product product = {.way = job->way,
        .type = job->x->type,
        .M = n,
        .N = job->N,
        .K = job->K,
        .a = rows,
        .a_stride = job->K,
        .b = b.data,
        .b_row_stride = b.row_stride,
        .b_column_stride = 1,
        .packed = job->way == SC_PRODUCT_PACKED
            ? (const char *)job->call->packed + (size_t)group * sc_gemm_packed_bytes(b.type, b.K, b.N)
            : NULL,
        .c = result};
    sc_product_run(&product, job->call->kernels, NULL, result + job->result_bytes);
    const void *wide = result;
    if (job->narrow) {
        float *floats = (float *)(void *)(result + (size_t)(job->run * job->N) * bytes);
        sc_convert(job->x->type, result, SC_F32, floats, n * job->N, 0);
        wide = floats;
    }
    for (int64_t i = 0; i < n; i++) {
        add_position(job, first + i, sc_const_at(wide, i * job->N, job->narrow ? sizeof(float) : bytes), sums);
    }
}

/* A part is one group of one image. */
static void transpose_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const size_t bytes = sc_type_bytes(job->x->type);
    char *room = (char *)job->call->scratch + (size_t)worker * worker_bytes(job);
    const int64_t count = job->maps * job->out_count;
    void *y = sc_at(job->y->data, part * count, bytes);
    void *sums = job->narrow ? (void *)room : y;
    memset(sums, 0, (size_t)count * (job->narrow ? sizeof(float) : bytes));
    for (int64_t first = 0; first < job->positions; first += job->run) {
        add_run(job, part, first, room, sums);
    }
    add_bias(job, part % job->p->groups, sums);
    if (job->narrow) {
        sc_convert(SC_F32, sums, job->y->type, y, count, 0);
    }
}

static void run_transpose(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    if (sc_tensor_count(job.y) > 0) {
        sc_team_for(call->team, job.x->dims[0] * job.p->groups, transpose_part, &job);
    }
}

static void cost_transpose(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_fact *x = infer->in[0];
    const struct sc_fact *w = infer->in[1];
    const struct sc_fact *y = infer->out[0];
    const double bytes = (double)sc_type_bytes(x->type);
    const double in = (double)sc_dims_product(x->dims, 0, x->rank);
    cost->operations = 2 * in * (double)sc_dims_product(w->dims, 1, w->rank);
    cost->read_bytes = bytes * (in + (double)sc_dims_product(w->dims, 0, w->rank));
    cost->written_bytes = bytes * (double)sc_dims_product(y->dims, 0, y->rank);
}

#define CONV_TRANSPOSE(version)                                                                                        \
    {                                                                                                                  \
        .domain = "", .name = "ConvTranspose", .since = (version), .flags = SC_OP_PURE, .params = params_transpose,    \
        .infer = infer_transpose, .prepare = prepare_transpose, .pack = pack_transpose, .scratch = scratch_transpose,  \
        .run = run_transpose, .cost = cost_transpose                                                                   \
    }

const struct sc_op sc_ops_nn_conv_transpose[] = {
    CONV_TRANSPOSE(1), CONV_TRANSPOSE(11), CONV_TRANSPOSE(22), {.name = NULL}};
