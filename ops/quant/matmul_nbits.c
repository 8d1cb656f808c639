/* SPDX-License-Identifier: Apache-2.0
 * MatMulNBits: the weights stay quantised in memory; each part widens a few panels of columns and multiplies all rows by
 * them. A sum is one chain over k, as in every other product. Where the file allows rows of 8 bits, see nbits_coded.c. */
#include "ops/quant/nbits.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/kernels/gemm.h"
#include "ops/nn/norm.h"
#include "ops/shape/shape.h"

enum { PANEL = 16, PART_COLUMNS = 64 };
enum input { A, B, SCALES, ZEROS, GROUPS, BIAS };

struct params {
    int64_t K, N, bits, block, accuracy;
};

static enum sc_status params_nbits(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_int(node, "K", 0, &p->K));
    SC_TRY(sc_node_int(node, "N", 0, &p->N));
    SC_TRY(sc_node_int(node, "bits", 4, &p->bits));
    SC_TRY(sc_node_int(node, "block_size", 0, &p->block));
    SC_TRY(sc_node_int(node, "accuracy_level", 0, &p->accuracy));
    int64_t prepacked;
    SC_TRY(sc_node_int(node, "weight_prepacked", 0, &prepacked));
    if (prepacked != 0) {
        return sc_node_fail(graph, node, SC_UNSUPPORTED, "weights in the layout of another device");
    }
    const bool known_bits = p->bits == 2 || p->bits == 4 || p->bits == 8;
    if (p->K < 1 || p->N < 1 || p->K > INT32_MAX || p->N > INT32_MAX || !known_bits || p->block < 16 ||
        (p->block & (p->block - 1)) != 0 || p->block > 1 << 20) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "K %lld, N %lld, %lld bits in blocks of %lld", (long long)p->K,
            (long long)p->N, (long long)p->bits, (long long)p->block);
    }
    return SC_OK;
}

static int64_t blocks_of(const struct params *p)
{
    return (p->K + p->block - 1) / p->block;
}

static enum sc_status want_count(const struct sc_infer *infer, int input, int64_t want)
{
    const struct sc_fact *fact = sc_infer_in(infer, input);
    const int64_t n = fact && fact->rank >= 0 ? sc_fact_product(fact, 0, fact->rank) : SC_DIM_UNKNOWN;
    if (n >= 0 && n != want) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "input %d has %lld entries, want %lld", input,
            (long long)n, (long long)want);
    }
    return SC_OK;
}

static enum sc_status infer_nbits(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *a = infer->in[A];
    const struct sc_fact *zeros = sc_infer_in(infer, ZEROS);
    const int64_t blocks = blocks_of(p);
    SC_TRY(want_count(infer, GROUPS, p->K));
    SC_TRY(want_count(infer, B, p->N * blocks * (p->block * p->bits / 8)));
    SC_TRY(want_count(infer, SCALES, p->N * blocks));
    if (zeros) {
        const bool packed = zeros->type == SC_U8;
        SC_TRY(want_count(infer, ZEROS, packed ? p->N * ((blocks * p->bits + 7) / 8) : p->N * blocks));
    }
    SC_TRY(want_count(infer, BIAS, p->N));
    sc_infer_shape_of(infer, 0, a, a->type);
    if (a->rank < 0) {
        return SC_OK;
    }
    if (a->rank < 1 || (a->dims[a->rank - 1] >= 0 && a->dims[a->rank - 1] != p->K)) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_INPUT, "the rows of A do not have %lld entries", (long long)p->K);
    }
    if (sc_infer_out(infer, 0)) {
        infer->out[0]->dims[a->rank - 1] = p->N;
    }
    return SC_OK;
}

static enum sc_status resolve_nbits(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *groups = sc_call_in(call, GROUPS);
    SC_TRY(sc_resolve_by_infer(call));
    for (int64_t k = 0; groups && k < p->K; k++) {
        const int64_t group = sc_index_at(groups, k);
        if (group < 0 || group >= blocks_of(p)) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "g_idx is %lld at %lld, there are %lld blocks",
                (long long)group, (long long)k, (long long)blocks_of(p));
        }
    }
    return SC_OK;
}

struct job {
    const struct sc_call *call;
    const struct params *p;
    struct sc_blocks blocks;
    enum sc_type type;
    int64_t M;
    const float *a;
    size_t a_bytes, panels_bytes, c_bytes, gemm_bytes; /* parts of the scratch; a_bytes once, the others per worker */
};

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The page lets rows be rounded to 8 bits at level 4. That is exact but for the rounding where zero points are whole. */
static bool is_coded(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *zeros = sc_call_in(call, ZEROS);
    return p->accuracy == 4 && !sc_call_in(call, GROUPS) && (!zeros || zeros->type == SC_U8) &&
        p->block <= SC_CODED_BLOCK;
}

static void open_job(const struct sc_call *call, struct job *job)
{
    const struct params *p = call->params;
    const struct sc_tensor *a = sc_call_in(call, A);
    const struct sc_tensor *zeros = sc_call_in(call, ZEROS);
    memset(job, 0, sizeof(*job));
    job->call = call;
    job->p = p;
    job->type = a->type;
    job->M = sc_dims_product(a->dims, 0, a->rank - 1);
    job->blocks = (struct sc_blocks){.bits = (int)p->bits,
        .rows = p->N,
        .width = p->K,
        .block = p->block,
        .blocks = blocks_of(p),
        .data = sc_call_in(call, B)->data,
        .row_bytes = (size_t)(blocks_of(p) * (p->block * p->bits / 8)),
        .scale_type = sc_call_in(call, SCALES)->type,
        .scales = sc_call_in(call, SCALES)->data,
        .zeros_type = zeros ? zeros->type : SC_TYPE_NONE,
        .zeros = zeros ? zeros->data : NULL,
        .zero = (float)(1 << (p->bits - 1)),
        .groups = sc_call_in(call, GROUPS) ? sc_call_in(call, GROUPS)->data : NULL,
        .zeros_row_bytes = (size_t)((blocks_of(p) * p->bits + 7) / 8)};
    const bool narrow = job->type != SC_F32;
    job->a_bytes = narrow ? align64((size_t)(job->M * p->K) * sizeof(float)) : 0;
    job->panels_bytes = align64((size_t)p->K * PART_COLUMNS * sizeof(float));
    job->c_bytes = align64((size_t)job->M * PART_COLUMNS * sizeof(float));
    job->gemm_bytes = align64(sc_gemm_scratch_bytes(SC_F32, job->M, PART_COLUMNS, p->K, 1));
}

static size_t worker_bytes(const struct job *job)
{
    return job->panels_bytes + job->c_bytes + job->gemm_bytes;
}

static size_t scratch_nbits(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    if (is_coded(call)) {
        const struct sc_nbits nbits = {.M = job.M, .blocks = job.blocks};
        return job.a_bytes + sc_nbits_scratch_bytes(&nbits, sc_team_size(call->team));
    }
    return job.a_bytes + worker_bytes(&job) * (size_t)sc_team_size(call->team);
}

/* Columns [first, first + n), at most PART_COLUMNS, of row m of the result, from floats. */
static void put_row(const struct job *job, int64_t m, int64_t first, int64_t n, float *row)
{
    const struct sc_kernels *k = job->call->kernels;
    const struct sc_tensor *bias = sc_call_in(job->call, BIAS);
    const size_t bytes = sc_type_bytes(job->type);
    if (bias) {
        float wide[PART_COLUMNS];
        const float *addend = sc_norm_widen(k, job->type, sc_const_at(bias->data, first, bytes), wide, n);
        k->binary[SC_BINARY_add](row, 1, addend, 1, row, n);
    }
    void *to = sc_at(sc_call_out(job->call, 0)->data, m * job->p->N + first, bytes);
    if (job->type == SC_F32) {
        memcpy(to, row, (size_t)n * sizeof(float));
    } else {
        sc_norm_narrow(k, job->type, row, to, n);
    }
}

static void put_coded(void *arg, int64_t m, int64_t first, int64_t n, float *row)
{
    put_row(arg, m, first, n, row);
}

static void nbits_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct params *p = job->p;
    char *room = (char *)job->call->scratch + job->a_bytes + (size_t)worker * worker_bytes(job);
    float *panels = (float *)(void *)room;
    float *c = (float *)(void *)(room + job->panels_bytes);
    const int64_t first = part * PART_COLUMNS;
    const int64_t n = p->N - first < PART_COLUMNS ? p->N - first : PART_COLUMNS;
    if (n < PART_COLUMNS) {
        memset(panels, 0, job->panels_bytes);
    }
    for (int64_t j = 0; j < n; j++) {
        sc_blocks_row(&job->blocks, first + j, panels + j / PANEL * PANEL * p->K + j % PANEL, PANEL);
    }
    const struct sc_gemm gemm = {.type = SC_F32,
        .M = job->M,
        .N = n,
        .K = p->K,
        .a = job->a,
        .a_stride = p->K,
        .packed = panels,
        .c = c,
        .c_stride = n};
    sc_gemm_run(job->call->kernels, NULL, &gemm, room + job->panels_bytes + job->c_bytes);
    for (int64_t m = 0; m < job->M; m++) {
        put_row(job, m, first, n, c + m * n);
    }
}

static void run_nbits(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    if (job.M == 0) {
        return;
    }
    job.a = sc_norm_widen(call->kernels, job.type, sc_call_in(call, A)->data, call->scratch, job.M * job.p->K);
    if (is_coded(call)) {
        const struct sc_nbits nbits = {.kernels = call->kernels,
            .M = job.M,
            .a = job.a,
            .blocks = job.blocks,
            .put = put_coded,
            .arg = &job,
            .scratch = (char *)call->scratch + job.a_bytes};
        sc_nbits_run(&nbits, call->team);
        return;
    }
    sc_team_for(call->team, sc_parts(job.p->N, PART_COLUMNS), nbits_part, &job);
}

static void cost_nbits(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct params *p = infer->params;
    const struct sc_fact *a = infer->in[A];
    const double bytes = (double)sc_type_bytes(a->type);
    const double M = (double)sc_dims_product(a->dims, 0, a->rank - 1);
    const double weights = (double)p->K * (double)p->N;
    cost->operations = 2 * M * weights + 3 * weights;
    cost->read_bytes = bytes * M * (double)p->K + weights * (double)p->bits / 8;
    cost->written_bytes = bytes * M * (double)p->N;
}

const struct sc_op sc_ops_quant_matmul_nbits[] = {
    {.domain = "com.microsoft",
        .name = "MatMulNBits",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_nbits,
        .infer = infer_nbits,
        .resolve = resolve_nbits,
        .scratch = scratch_nbits,
        .run = run_nbits,
        .cost = cost_nbits},
    {.name = NULL},
};
