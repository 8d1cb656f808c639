/* SPDX-License-Identifier: Apache-2.0
 * Gemm: Y = alpha * A' * B' + beta * C. The product is rounded to the type, then scaled, then the scaled C is added,
 * always in this order. */
#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/norm.h"
#include "ops/nn/product.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

struct params {
    float alpha, beta;
    int64_t trans_a, trans_b;
    int64_t broadcast; /* 0, before version 7 alone: C has the shape of Y */
};

static enum sc_status params_gemm(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_float(node, "alpha", 1.0F, &p->alpha));
    SC_TRY(sc_node_float(node, "beta", 1.0F, &p->beta));
    SC_TRY(sc_node_int(node, "broadcast", node->version < 7 ? 0 : 1, &p->broadcast));
    SC_TRY(sc_node_int(node, "transA", 0, &p->trans_a));
    return sc_node_int(node, "transB", 0, &p->trans_b);
}

static enum sc_status check_c(const struct sc_infer *infer, const struct sc_fact *c, const int64_t dims[2])
{
    bool fits = c->rank <= 2;
    for (int i = 0; fits && i < c->rank; i++) {
        const int64_t want = dims[2 - c->rank + i];
        fits = c->dims[i] < 0 || c->dims[i] == 1 || want < 0 || c->dims[i] == want;
    }
    if (!fits) {
        char text[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "C %s does not broadcast to [%lld,%lld]",
            sc_dims_text(c->rank, c->dims, text, sizeof text), (long long)dims[0], (long long)dims[1]);
    }
    return SC_OK;
}

static enum sc_status infer_gemm(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *a = infer->in[0];
    const struct sc_fact *b = infer->in[1];
    const struct sc_fact *c = sc_infer_in(infer, 2);
    if ((a->rank >= 0 && a->rank != 2) || (b->rank >= 0 && b->rank != 2)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "A has rank %d and B rank %d, want 2", a->rank, b->rank);
    }
    int64_t dims[2] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    int64_t k[2] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    if (a->rank == 2) {
        dims[0] = a->dims[p->trans_a ? 1 : 0];
        k[0] = a->dims[p->trans_a ? 0 : 1];
    }
    if (b->rank == 2) {
        dims[1] = b->dims[p->trans_b ? 0 : 1];
        k[1] = b->dims[p->trans_b ? 1 : 0];
    }
    if (k[0] >= 0 && k[1] >= 0 && k[0] != k[1]) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "the inner dims are %lld and %lld: cannot multiply", (long long)k[0], (long long)k[1]);
    }
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], a->type, 2, dims);
    }
    if (!p->broadcast) {
        return sc_infer_want(infer, 2, "C", 2, dims);
    }
    return c && c->rank >= 0 ? check_c(infer, c, dims) : SC_OK;
}

static struct sc_gemm_b describe_b(const struct params *p, const struct sc_tensor *b)
{
    return (struct sc_gemm_b){.type = b->type,
        .K = b->dims[p->trans_b ? 1 : 0],
        .N = b->dims[p->trans_b ? 0 : 1],
        .data = b->data,
        .row_stride = b->strides[p->trans_b ? 1 : 0],
        .column_stride = b->strides[p->trans_b ? 0 : 1]};
}

static enum sc_status prepare_gemm(struct sc_prepare *prepare)
{
    const struct params *p = prepare->params;
    const struct sc_fact *b = prepare->in[1];
    int64_t K = -1;
    int64_t N = -1;
    const bool constant = prepare->constant[1] && sc_fact_dims_known(b) && b->rank == 2;
    if (constant) {
        K = b->dims[p->trans_b ? 1 : 0];
        N = b->dims[p->trans_b ? 0 : 1];
    }
    prepare->choice = (int)sc_product_choose(b->type, constant, prepare->blas, K, N);
    if (prepare->choice == SC_PRODUCT_PACKED) {
        prepare->packed_inputs = 1U << 1;
        prepare->packed_bytes = sc_gemm_packed_bytes(b->type, K, N);
    }
    return SC_OK;
}

static void pack_gemm(const struct sc_pack *pack)
{
    const struct sc_gemm_b b = describe_b(pack->prepare->params, pack->weight);
    sc_gemm_pack(pack->prepare->kernels, pack->team, &b, pack->packed);
}

struct job {
    const struct sc_call *call;
    struct sc_product product;
    size_t a_bytes, product_bytes; /* parts of the scratch: A turned, the product's, the rows of workers */
    int64_t rows_per_part;
};

static size_t row_bytes(int64_t N)
{
    return 2 * sc_room_round((size_t)N * sizeof(float));
}

static void open_job(const struct sc_call *call, struct job *job)
{
    const struct params *p = call->params;
    const struct sc_tensor *a = sc_call_in(call, 0);
    const struct sc_gemm_b b = describe_b(p, sc_call_in(call, 1));
    memset(job, 0, sizeof(*job));
    job->call = call;
    job->product = (struct sc_product){.way = (enum sc_product_way)call->choice,
        .type = a->type,
        .M = a->dims[p->trans_a ? 1 : 0],
        .N = b.N,
        .K = b.K,
        .a = a->data,
        .a_stride = b.K,
        .b = b.data,
        .b_row_stride = b.row_stride,
        .b_column_stride = b.column_stride,
        .packed = call->packed,
        .c = sc_call_out(call, 0)->data};
    struct sc_product *product = &job->product;
    if (product->way == SC_PRODUCT_PLAIN) { /* the type may have been unknown when it was chosen */
        product->way = sc_product_choose(a->type, false, false, -1, -1);
    }
    job->a_bytes = p->trans_a ? sc_room_round((size_t)(product->M * product->K) * sc_type_bytes(a->type)) : 0;
    job->product_bytes = sc_room_round(
        sc_product_scratch_bytes(product->way, a->type, product->M, product->N, product->K, sc_team_size(call->team)));
    job->rows_per_part = sc_parts(1 << 14, product->N > 0 ? product->N : 1);
}

static size_t scratch_gemm(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    return job.a_bytes + job.product_bytes + row_bytes(job.product.N) * (size_t)sc_team_size(call->team);
}

/* Row `row` of C: elements step (0 or 1) apart. NULL: there is no C. */
static const void *c_row(const struct sc_call *call, int64_t row, int *step)
{
    const struct sc_tensor *c = sc_call_in(call, 2);
    if (!c) {
        return NULL;
    }
    const int64_t columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
    const bool rows = c->rank == 2 && c->dims[0] > 1;
    *step = columns > 1;
    return sc_const_at(c->data, rows ? row * columns : 0, sc_type_bytes(c->type));
}

static void finish_row(const struct job *job, int64_t row, void *y, float *room)
{
    const struct params *p = job->call->params;
    const struct sc_kernels *k = job->call->kernels;
    const enum sc_type type = job->product.type;
    const int64_t n = job->product.N;
    int step = 0;
    const void *c = c_row(job->call, row, &step);
    float *other = room + row_bytes(n) / 2 / sizeof(float);
    const float *wide = sc_norm_widen(k, type, y, room, n);
    float *sum = type == SC_F32 ? y : room;
    if (p->alpha != 1.0F) {
        k->scale(wide, p->alpha, sum, n);
    }
    if (c && p->beta != 0.0F) {
        const int64_t n_c = step ? n : 1;
        const float *addend = sc_norm_widen(k, type, c, other, n_c);
        if (p->beta != 1.0F) {
            k->scale(addend, p->beta, other, n_c);
            addend = other;
        }
        k->binary[SC_BINARY_add](sum, 1, addend, step, sum, n);
    }
    sc_norm_narrow(k, type, sum, y, n);
}

static void finish_f64(const struct job *job, int64_t row, double *y)
{
    const struct params *p = job->call->params;
    int step = 0;
    const double *c = c_row(job->call, row, &step);
    for (int64_t i = 0; i < job->product.N; i++) {
        const double scaled = p->alpha != 1.0F ? (double)p->alpha * y[i] : y[i];
        y[i] = c ? scaled + (double)p->beta * c[i * step] : scaled;
    }
}

#define FINISH_INT(type)                                                                                               \
    do {                                                                                                               \
        type *to = y;                                                                                                  \
        for (int64_t i = 0; i < job->product.N; i++) {                                                                 \
            const type addend = c ? ((const type *)c)[i * step] : 0;                                                   \
            to[i] = plain ? to[i] + addend                                                                             \
                          : (type)(int64_t)((double)p->alpha * (double)to[i] + (double)p->beta * (double)addend);      \
        }                                                                                                              \
    } while (0)

static void finish_int(const struct job *job, int64_t row, void *y)
{
    const struct params *p = job->call->params;
    const bool plain = p->alpha == 1.0F && p->beta == 1.0F;
    int step = 0;
    const void *c = c_row(job->call, row, &step);
    switch (job->product.type) {
    case SC_I32:
        FINISH_INT(int32_t);
        break;
    case SC_U32:
        FINISH_INT(uint32_t);
        break;
    case SC_I64:
        FINISH_INT(int64_t);
        break;
    default:
        FINISH_INT(uint64_t);
        break;
    }
}

static void finish_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_product *product = &job->product;
    void *room =
        (char *)job->call->scratch + job->a_bytes + job->product_bytes + (size_t)worker * row_bytes(product->N);
    const int64_t first = part * job->rows_per_part;
    for (int64_t row = first; row < first + job->rows_per_part && row < product->M; row++) {
        void *y = sc_at(product->c, row * product->N, sc_type_bytes(product->type));
        if (product->type == SC_F64) {
            finish_f64(job, row, y);
        } else if (sc_type_is_float(product->type)) {
            finish_row(job, row, y, room);
        } else {
            finish_int(job, row, y);
        }
    }
}

static void run_gemm(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct job job;
    open_job(call, &job);
    if (p->trans_a) {
        struct sc_move move = {
            .bytes = sc_type_bytes(job.product.type), .to = call->scratch, .from = sc_call_in(call, 0)->data};
        sc_move_axis(&move, job.product.M, job.product.K, 1);
        sc_move_axis(&move, job.product.K, 1, job.product.M);
        sc_move_run(&move, call->team);
        job.product.a = call->scratch;
    }
    sc_product_run(&job.product, call->kernels, call->team, (char *)call->scratch + job.a_bytes);
    const bool has_c = sc_call_in(call, 2) && p->beta != 0.0F;
    if ((has_c || p->alpha != 1.0F) && job.product.N > 0) {
        sc_team_for(call->team, sc_parts(job.product.M, job.rows_per_part), finish_part, &job);
    }
}

static void cost_gemm(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct params *p = infer->params;
    const struct sc_fact *a = infer->in[0];
    const struct sc_fact *b = infer->in[1];
    const double bytes = (double)sc_type_bytes(a->type);
    const double M = (double)a->dims[p->trans_a ? 1 : 0];
    const double K = (double)a->dims[p->trans_a ? 0 : 1];
    const double N = (double)b->dims[p->trans_b ? 0 : 1];
    cost->operations = 2 * M * N * K + 2 * M * N;
    cost->read_bytes = bytes * (M * K + K * N + N);
    cost->written_bytes = bytes * M * N;
}

#define GEMM(version)                                                                                                  \
    {                                                                                                                  \
        .domain = "", .name = "Gemm", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .strided = 2,             \
        .params = params_gemm, .infer = infer_gemm, .prepare = prepare_gemm, .pack = pack_gemm,                        \
        .scratch = scratch_gemm, .run = run_gemm, .cost = cost_gemm                                                    \
    }

const struct sc_op sc_ops_nn_gemm[] = {GEMM(1), GEMM(6), GEMM(7), GEMM(9), GEMM(11), GEMM(13), {.name = NULL}};
