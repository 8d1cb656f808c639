/* SPDX-License-Identifier: Apache-2.0
 * MatMulNBits: the weights stay quantised in memory. Rows are rounded to 8 bits where the file allows it, else weights
 * are widened on the way. */
#include "ops/quant/nbits.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

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
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "K is %lld, N %lld, with %lld bits in blocks of %lld, want positive sizes, 2, 4 or 8 bits and a power of "
            "two "
            "of 16 or more",
            (long long)p->K, (long long)p->N, (long long)p->bits, (long long)p->block);
    }
    return SC_OK;
}

static int64_t blocks_of(const struct params *p)
{
    return (p->K + p->block - 1) / p->block;
}

/* Weights [N, blocks, bytes of a block] of which a dim is 0 are left out: a product of zeros, and of the other inputs
 * but the bias nothing is read. */
static bool is_left_out(const struct params *p, int rank, const int64_t *dims)
{
    const int64_t whole[3] = {p->N, blocks_of(p), p->block * p->bits / 8};
    bool none = false, fits = rank == 3;
    for (int d = 0; fits && d < rank; d++) {
        none |= dims[d] == 0;
        fits = dims[d] == 0 || dims[d] == whole[d];
    }
    return fits && none;
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
    const bool left_out = is_left_out(p, infer->in[B]->rank, infer->in[B]->dims);
    if (!left_out) {
        SC_TRY(want_count(infer, GROUPS, p->K));
        SC_TRY(want_count(infer, B, p->N * blocks * (p->block * p->bits / 8)));
        SC_TRY(want_count(infer, SCALES, p->N * blocks));
    }
    if (zeros && !left_out) {
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
    const struct sc_tensor *groups = sc_call_in(call, GROUPS), *b = sc_call_in(call, B);
    SC_TRY(sc_resolve_by_infer(call));
    for (int64_t k = 0; groups && !is_left_out(p, b->rank, b->dims) && k < p->K; k++) {
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
    enum sc_type type;
    struct sc_nbits nbits;
    size_t a_bytes; /* of the scratch: rows as f32, where they are not */
};

/* The page lets rows be rounded to 8 bits at level 4. That is exact but for the rounding where zero points are
 * whole. */
static bool is_coded(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *zeros = sc_call_in(call, ZEROS);
    return p->accuracy == 4 && !sc_call_in(call, GROUPS) && (!zeros || zeros->type == SC_U8) &&
        p->block <= SC_CODED_BLOCK;
}

/* The weights as they lie in the file. */
static struct sc_blocks blocks_as_given(const struct params *p, const void *data)
{
    return (struct sc_blocks){.bits = (int)p->bits,
        .rows = p->N,
        .width = p->K,
        .block = p->block,
        .blocks = blocks_of(p),
        .data = data,
        .row_bytes = (size_t)(blocks_of(p) * (p->block * p->bits / 8)),
        .zero = (float)(1 << (p->bits - 1)),
        .zeros_row_bytes = (size_t)((blocks_of(p) * p->bits + 7) / 8)};
}

/* Codes, scales and zero points are packed together, or none of them. */
static enum sc_status prepare_nbits(struct sc_prepare *prepare)
{
    const bool has_zeros = prepare->n_in > ZEROS && prepare->in[ZEROS];
    const bool grouped = prepare->n_in > GROUPS && prepare->in[GROUPS];
    const struct sc_fact *b = prepare->in[B];
    const bool constant = prepare->constant[B] && prepare->constant[SCALES] && (!has_zeros || prepare->constant[ZEROS]);
    if (constant && !grouped && !is_left_out(prepare->params, b->rank, b->dims)) {
        struct sc_blocks blocks = blocks_as_given(prepare->params, NULL);
        blocks.zeros_type = has_zeros ? prepare->in[ZEROS]->type : SC_TYPE_NONE;
        prepare->packed_inputs = 1U << B | 1U << SCALES | (has_zeros ? 1U << ZEROS : 0);
        prepare->packed_bytes = sc_nbits_packed_bytes(&blocks);
    }
    return SC_OK;
}

static void pack_nbits(const struct sc_pack *pack)
{
    const struct sc_tensor *w = pack->weight, *zeros = pack->in[ZEROS];
    struct sc_blocks blocks = blocks_as_given(pack->prepare->params, pack->input == B ? w->data : NULL);
    blocks.scale_type = w->type;
    blocks.scales = pack->input == SCALES ? w->data : NULL;
    blocks.zeros_type = zeros ? zeros->type : SC_TYPE_NONE;
    blocks.zeros = pack->input == ZEROS ? w->data : NULL;
    sc_nbits_pack(&blocks, pack->team, pack->packed);
}

/* Columns [first, first + n) of row m of the result, from floats. */
static void put_row(void *arg, int64_t m, int64_t first, int64_t n, float *row)
{
    const struct job *job = arg;
    const struct params *p = job->call->params;
    const struct sc_kernels *k = job->call->kernels;
    const struct sc_tensor *bias = sc_call_in(job->call, BIAS);
    const size_t bytes = sc_type_bytes(job->type);
    if (bias) {
        float wide[SC_NBITS_COLUMNS];
        const float *addend = sc_norm_widen(k, job->type, sc_const_at(bias->data, first, bytes), wide, n);
        k->binary[SC_BINARY_add](row, 1, addend, 1, row, n);
    }
    void *to = sc_at(sc_call_out(job->call, 0)->data, m * p->N + first, bytes);
    if (job->type == SC_F32) {
        memcpy(to, row, (size_t)n * sizeof(float));
    } else {
        sc_norm_narrow(k, job->type, row, to, n);
    }
}

static void open_job(const struct sc_call *call, struct job *job)
{
    const struct params *p = call->params;
    const struct sc_tensor *a = sc_call_in(call, A), *scales = sc_call_in(call, SCALES);
    const struct sc_tensor *zeros = sc_call_in(call, ZEROS), *groups = sc_call_in(call, GROUPS);
    memset(job, 0, sizeof(*job));
    job->call = call;
    job->type = a->type;
    job->nbits = (struct sc_nbits){.kernels = call->kernels,
        .M = sc_dims_product(a->dims, 0, a->rank - 1),
        .blocks = blocks_as_given(p, sc_call_in(call, B)->data),
        .grouped = groups != NULL,
        .packed = call->packed,
        .put = put_row,
        .arg = job};
    struct sc_blocks *b = &job->nbits.blocks;
    b->scale_type = scales->type;
    b->scales = scales->data;
    b->zeros_type = zeros ? zeros->type : SC_TYPE_NONE;
    b->zeros = zeros ? zeros->data : NULL;
    b->groups = groups ? groups->data : NULL;
    job->a_bytes = job->type != SC_F32 ? sc_room_round((size_t)(job->nbits.M * p->K) * sizeof(float)) : 0;
}

static size_t scratch_nbits(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    return job.a_bytes +
        (is_coded(call) ? sc_nbits_coded_scratch : sc_nbits_wide_scratch)(&job.nbits, sc_team_size(call->team));
}

/* What weights that are left out give. */
static void put_zeros(struct job *job)
{
    const struct params *p = job->call->params;
    for (int64_t m = 0; m < job->nbits.M; m++) {
        for (int64_t first = 0; first < p->N; first += SC_NBITS_COLUMNS) {
            float row[SC_NBITS_COLUMNS] = {0};
            put_row(job, m, first, p->N - first < SC_NBITS_COLUMNS ? p->N - first : SC_NBITS_COLUMNS, row);
        }
    }
}

static void run_nbits(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    if (job.nbits.M == 0) {
        return;
    }
    const struct params *p = call->params;
    const struct sc_tensor *b = sc_call_in(call, B);
    if (is_left_out(p, b->rank, b->dims)) {
        put_zeros(&job);
        return;
    }
    job.nbits.a = sc_norm_widen(call->kernels, job.type, sc_call_in(call, A)->data, call->scratch, job.nbits.M * p->K);
    job.nbits.scratch = (char *)call->scratch + job.a_bytes;
    (is_coded(call) ? sc_nbits_coded_run : sc_nbits_wide_run)(&job.nbits, call->team);
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
        .prepare = prepare_nbits,
        .pack = pack_nbits,
        .resolve = resolve_nbits,
        .scratch = scratch_nbits,
        .run = run_nbits,
        .cost = cost_nbits},
    {.name = NULL},
};
