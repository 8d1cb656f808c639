/* SPDX-License-Identifier: Apache-2.0
 * MatMul with numpy's rules: 1-D operands lose their axis, batches broadcast. A batch of A against one B is one product
 * of all its rows. */
#include "ops/nn/matmul.h"

#include <string.h>

#include "ops/broadcast.h"
#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/product.h"

/* Work of one matrix of a batch, in multiply-adds, from which the team shares that matrix and not the batch. */
#define WHOLE_TEAM ((int64_t)1 << 21)

static enum sc_status check_inner(const struct sc_infer *infer, const struct sc_fact *a, const struct sc_fact *b)
{
    const int64_t k = a->dims[a->rank - 1];
    const int64_t other = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (k >= 0 && other >= 0 && k != other) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "the inner dims are %lld and %lld: cannot multiply", (long long)k, (long long)other);
    }
    return SC_OK;
}

enum sc_status sc_matmul_infer(struct sc_infer *infer)
{
    const struct sc_fact *a = sc_infer_in(infer, 0);
    const struct sc_fact *b = sc_infer_in(infer, 1);
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (!a || !b) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "an input is missing");
    }
    if (!out) {
        return SC_OK;
    }
    out->kind = SC_KIND_TENSOR;
    out->type = a->type != SC_TYPE_NONE ? a->type : b->type;
    if (a->rank < 0 || b->rank < 0) {
        return SC_OK;
    }
    if (a->rank == 0 || b->rank == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "a scalar cannot be multiplied as a matrix");
    }
    SC_TRY(check_inner(infer, a, b));
    const int a_batch = a->rank > 2 ? a->rank - 2 : 0;
    const int b_batch = b->rank > 2 ? b->rank - 2 : 0;
    const int batch = a_batch > b_batch ? a_batch : b_batch;
    int64_t dims[SC_MAX_RANK];
    for (int i = 0; i < batch; i++) {
        const int64_t x = i >= batch - a_batch ? a->dims[i - (batch - a_batch)] : 1;
        const int64_t y = i >= batch - b_batch ? b->dims[i - (batch - b_batch)] : 1;
        if (!sc_broadcast_dim(x, y, &dims[i])) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
                "the batch dims %lld and %lld do not broadcast", (long long)x, (long long)y);
        }
    }
    int rank = batch;
    if (a->rank > 1) {
        dims[rank++] = a->dims[a->rank - 2];
    }
    if (b->rank > 1) {
        dims[rank++] = b->dims[b->rank - 1];
    }
    sc_fact_tensor(out, out->type, rank, dims);
    return SC_OK;
}

/* B as matrices: K, N and how many. */
static void b_dims(int rank, const int64_t *dims, int64_t *K, int64_t *N, int64_t *matrices)
{
    *K = rank > 1 ? dims[rank - 2] : dims[0];
    *N = rank > 1 ? dims[rank - 1] : 1;
    *matrices = rank > 2 ? sc_dims_product(dims, 0, rank - 2) : 1;
}

enum sc_status sc_matmul_prepare(struct sc_prepare *prepare, const struct sc_fact *b)
{
    int64_t K = -1;
    int64_t N = -1;
    int64_t matrices = 1;
    const bool constant = prepare->constant[1] && sc_fact_dims_known(b) && b->rank > 0;
    if (constant) {
        b_dims(b->rank, b->dims, &K, &N, &matrices);
    }
    prepare->choice = (int)sc_product_choose(b->type, constant, prepare->blas, K, N);
    if (prepare->choice == SC_PRODUCT_PACKED) {
        prepare->packed_inputs = 1U << 1;
        prepare->packed_bytes = (size_t)matrices * sc_gemm_packed_bytes(b->type, K, N);
    }
    return SC_OK;
}

static enum sc_status prepare_matmul(struct sc_prepare *prepare)
{
    return sc_matmul_prepare(prepare, prepare->in[1]);
}

/* Elements from the first matrix to another. */
static int64_t matrix_offset(const struct sc_tensor *w, int64_t index)
{
    int64_t offset = 0;
    for (int d = w->rank - 3; d >= 0; d--) {
        offset += index % w->dims[d] * w->strides[d];
        index /= w->dims[d];
    }
    return offset;
}

void sc_matmul_pack(const struct sc_pack *pack, const struct sc_tensor *w)
{
    int64_t K, N, matrices;
    b_dims(w->rank, w->dims, &K, &N, &matrices);
    for (int64_t i = 0; i < matrices; i++) {
        const struct sc_gemm_b b = {.type = w->type,
            .K = K,
            .N = N,
            .data = (const char *)w->data + matrix_offset(w, i) * (int64_t)sc_type_bytes(w->type),
            .row_stride = w->strides[w->rank > 1 ? w->rank - 2 : 0],
            .column_stride = w->rank > 1 ? w->strides[w->rank - 1] : 1};
        sc_gemm_pack(pack->prepare->kernels, pack->team, &b,
            (char *)pack->packed + (size_t)i * sc_gemm_packed_bytes(w->type, K, N));
    }
}

static void pack_matmul(const struct sc_pack *pack)
{
    sc_matmul_pack(pack, pack->weight);
}

/* The call as a list of products. Strides of batch axes are in matrices for A and packed B, in elements for B. */
struct batch {
    struct sc_product product; /* of the first matrices */
    int rank;
    int64_t n, dims[SC_MAX_RANK];
    int64_t a_steps[SC_MAX_RANK], b_steps[SC_MAX_RANK];
    size_t packed_step, worker_scratch;
    const struct sc_call *call;
};

static void batch_axes(struct batch *batch, const struct sc_tensor *a, const struct sc_tensor *b)
{
    const bool packed = batch->product.way == SC_PRODUCT_PACKED;
    const int a_batch = a->rank > 2 ? a->rank - 2 : 0;
    const int b_batch = b->rank > 2 ? b->rank - 2 : 0;
    batch->rank = a_batch > b_batch ? a_batch : b_batch;
    batch->n = 1;
    int64_t a_step = 1;
    int64_t b_step = 1;
    for (int i = batch->rank - 1; i >= 0; i--) {
        const int ai = i - (batch->rank - a_batch);
        const int bi = i - (batch->rank - b_batch);
        const int64_t a_dim = ai >= 0 ? a->dims[ai] : 1;
        const int64_t b_dim = bi >= 0 ? b->dims[bi] : 1;
        batch->dims[i] = a_dim != 1 ? a_dim : b_dim;
        batch->a_steps[i] = a_dim == 1 ? 0 : a_step;
        batch->b_steps[i] = b_dim == 1 ? 0 : packed ? b_step : b->strides[bi];
        a_step *= a_dim;
        b_step *= b_dim;
        batch->n *= batch->dims[i];
    }
}

static void batch_init(struct batch *batch, const struct sc_call *call)
{
    const struct sc_tensor *a = sc_call_in(call, 0);
    const struct sc_tensor *b = sc_call_in(call, 1);
    const struct sc_tensor *out = sc_call_out(call, 0);
    struct sc_product *p = &batch->product;
    int64_t matrices;
    batch->call = call;
    *p = (struct sc_product){.way = (enum sc_product_way)call->choice, .type = a->type, .a = a->data, .b = b->data};
    if (p->way == SC_PRODUCT_PLAIN) { /* the type may have been unknown when it was chosen */
        p->way = sc_product_choose(a->type, false, false, -1, -1);
    }
    b_dims(b->rank, b->dims, &p->K, &p->N, &matrices);
    p->M = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    p->a_stride = p->K;
    p->b_row_stride = b->rank > 1 ? b->strides[b->rank - 2] : b->strides[0];
    p->b_column_stride = b->rank > 1 ? b->strides[b->rank - 1] : 1;
    p->packed = call->packed;
    p->c = out->data;
    batch->packed_step = p->way == SC_PRODUCT_PACKED ? sc_gemm_packed_bytes(p->type, p->K, p->N) : 0;
    batch_axes(batch, a, b);
    if (matrices == 1) { /* one B: the rows of the whole batch */
        p->M *= batch->n;
        batch->n = p->M > 0 ? 1 : 0;
        batch->rank = 0;
    }
}

static bool share_batch(const struct batch *batch)
{
    const struct sc_product *p = &batch->product;
    return batch->n > 1 && p->way != SC_PRODUCT_BLAS && (double)p->M * (double)p->N * (double)p->K < (double)WHOLE_TEAM;
}

size_t sc_matmul_scratch(const struct sc_call *call)
{
    struct batch batch;
    batch_init(&batch, call);
    const struct sc_product *p = &batch.product;
    const int workers = sc_team_size(call->team);
    if (share_batch(&batch)) {
        return (size_t)workers * sc_product_scratch_bytes(p->way, p->type, p->M, p->N, p->K, 1);
    }
    return sc_product_scratch_bytes(p->way, p->type, p->M, p->N, p->K, workers);
}

static void run_one(const struct batch *batch, int64_t index, struct sc_team *team, void *scratch)
{
    struct sc_product p = batch->product;
    int64_t a = 0;
    int64_t b = 0;
    int64_t rest = index;
    for (int i = batch->rank - 1; i >= 0; i--) {
        const int64_t at = rest % batch->dims[i];
        rest /= batch->dims[i];
        a += at * batch->a_steps[i];
        b += at * batch->b_steps[i];
    }
    const int64_t bytes = (int64_t)sc_type_bytes(p.type);
    p.a = (const char *)p.a + a * p.M * p.K * bytes;
    if (p.way == SC_PRODUCT_PACKED) {
        p.packed = (const char *)p.packed + (size_t)b * batch->packed_step;
    } else {
        p.b = (const char *)p.b + b * bytes;
    }
    p.c = (char *)p.c + index * p.M * p.N * bytes;
    sc_product_run(&p, batch->call->kernels, team, scratch);
}

static void batch_part(void *arg, int64_t part, int worker)
{
    const struct batch *batch = arg;
    run_one(batch, part, NULL, (char *)batch->call->scratch + (size_t)worker * batch->worker_scratch);
}

void sc_matmul_run(const struct sc_call *call)
{
    struct batch batch;
    batch_init(&batch, call);
    const struct sc_product *p = &batch.product;
    if (share_batch(&batch)) {
        batch.worker_scratch = sc_product_scratch_bytes(p->way, p->type, p->M, p->N, p->K, 1);
        sc_team_for(call->team, batch.n, batch_part, &batch);
        return;
    }
    for (int64_t i = 0; i < batch.n; i++) {
        run_one(&batch, i, call->team, call->scratch);
    }
}

void sc_matmul_cost(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_fact *a = infer->in[0];
    const struct sc_fact *b = infer->in[1];
    const struct sc_fact *out = infer->out[0];
    const double bytes = (double)sc_type_bytes(a->type);
    const double results = (double)sc_dims_product(out->dims, 0, out->rank);
    cost->operations = 2 * results * (double)a->dims[a->rank - 1];
    cost->read_bytes =
        bytes * ((double)sc_dims_product(a->dims, 0, a->rank) + (double)sc_dims_product(b->dims, 0, b->rank));
    cost->written_bytes = bytes * results;
}

#define MATMUL(version)                                                                                                \
    {                                                                                                                  \
        .domain = "", .name = "MatMul", .since = (version), .flags = SC_OP_PURE | SC_OP_TICKS, .strided = 2,           \
        .infer = sc_matmul_infer, .prepare = prepare_matmul, .pack = pack_matmul, .scratch = sc_matmul_scratch,        \
        .run = sc_matmul_run, .cost = sc_matmul_cost                                                                   \
    }

const struct sc_op sc_ops_nn_matmul[] = {MATMUL(1), MATMUL(9), MATMUL(13), {.name = NULL}};
