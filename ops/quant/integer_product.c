/* SPDX-License-Identifier: Apache-2.0
 * Products of 8-bit integers by numpy's rules: all rows of A are packed, then parts of some rows and some panels of
 * columns are multiplied and brought to the result. */
#include "ops/quant/integer.h"
#include "ops/shape/shape.h"

enum { PANEL = 16, PART_ROWS = 64, PART_PANELS = SC_INTEGER_COLUMNS / 2 / PANEL };

/* An operand as matrices: all but the last two axes count them. */
struct matrices {
    int64_t rows, columns, n;
};

static struct matrices matrices_of(int rank, const int64_t *dims, bool is_b)
{
    if (rank == 1) { /* a row, or as B a column */
        return (struct matrices){is_b ? dims[0] : 1, is_b ? 1 : dims[0], 1};
    }
    return (struct matrices){dims[rank - 2], dims[rank - 1], sc_dims_product(dims, 0, rank - 2)};
}

size_t sc_integer_product_packed_bytes(const struct sc_fact *b)
{
    const struct matrices m = matrices_of(b->rank, b->dims, true);
    return (size_t)m.n * sc_bytes_panels_size(m.rows, m.columns);
}

static void pack_all(const struct sc_kernels *kernels, struct sc_team *team, const struct sc_tensor *b, void *packed)
{
    const struct matrices m = matrices_of(b->rank, b->dims, true);
    const size_t bytes = sc_bytes_panels_size(m.rows, m.columns);
    for (int64_t i = 0; i < m.n; i++) {
        sc_bytes_pack_panels(kernels, team, b->type, sc_const_at(b->data, i * m.rows * m.columns, 1), m.rows, m.columns,
            (char *)packed + (size_t)i * bytes);
    }
}

void sc_integer_product_pack(const struct sc_pack *pack)
{
    pack_all(pack->prepare->kernels, pack->team, pack->weight, pack->packed);
}

struct job {
    struct sc_integer *op;
    const struct sc_tensor *a, *b;
    int64_t M, N, K; /* of one product */
    int64_t n, a_matrices, b_matrices; /* products; each operand's matrices */
    int64_t down, across; /* parts of a product */
    const char *rows, *panels; /* both operands packed */
    char *blocks; /* a worker's sums */
    size_t panels_bytes, rows_bytes, total;
};

static struct job open_job(
    const struct sc_call *call, struct sc_integer *op, const struct sc_tensor *a, const struct sc_tensor *b)
{
    struct job job = {.op = op, .a = a, .b = b};
    const struct matrices am = matrices_of(a->rank, a->dims, false), bm = matrices_of(b->rank, b->dims, true);
    job.M = am.rows;
    job.N = bm.columns;
    job.K = op->K = am.columns;
    job.a_matrices = am.n;
    job.b_matrices = bm.n;
    if (bm.n == 1) { /* one product of all rows */
        job.M *= am.n;
        job.a_matrices = 1;
    }
    const int64_t results = sc_tensor_count(op->y);
    job.n = job.M > 0 && job.N > 0 ? results / (job.M * job.N) : 0;
    job.down = sc_parts(job.M, PART_ROWS);
    job.across = sc_parts(sc_parts(job.N, PANEL), PART_PANELS);
    job.panels_bytes = sc_bytes_panels_size(job.K, job.N);
    job.rows_bytes = sc_bytes_rows_size(job.a_matrices * job.M, job.K);
    const size_t packed = call->packed ? 0 : (size_t)job.b_matrices * job.panels_bytes;
    char *at = call->scratch;
    job.total = job.rows_bytes + packed;
    if (at) {
        job.rows = at;
        job.panels = call->packed ? call->packed : at + job.rows_bytes;
        job.blocks = at + job.total;
    }
    job.total += (size_t)sc_team_size(call->team) * PART_ROWS * PART_PANELS * PANEL * sizeof(int32_t);
    return job;
}

size_t sc_integer_product_scratch(
    const struct sc_call *call, struct sc_integer *op, const struct sc_tensor *a, const struct sc_tensor *b)
{
    return open_job(call, op, a, b).total + sc_integer_bytes(op);
}

/* Which matrix of an operand product i has. */
static int64_t matrix_of(const struct job *job, const struct sc_tensor *operand, int64_t i)
{
    const struct sc_tensor *y = job->op->y;
    const int y_rank = y->rank - (job->a->rank > 1) - (job->b->rank > 1);
    const int rank = operand->rank > 2 ? operand->rank - 2 : 0;
    int64_t matrix = 0, step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        const int64_t dim = y->dims[y_rank - rank + d];
        matrix += operand->dims[d] == 1 ? 0 : i % dim * step;
        step *= operand->dims[d];
        i /= dim;
    }
    return matrix;
}

static void product_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_integer *op = job->op;
    const int64_t product = part / (job->down * job->across), depth = sc_bytes_depth(job->K);
    const int64_t first = part % job->down * PART_ROWS, panel = part / job->down % job->across * PART_PANELS;
    const int64_t a = job->n > 1 ? matrix_of(job, job->a, product) : 0;
    const int64_t b = job->n > 1 ? matrix_of(job, job->b, product) : 0;
    const char *panels = job->panels + (size_t)b * job->panels_bytes;
    const int64_t left = job->N - panel * PANEL;
    const int64_t n = left < PART_PANELS * PANEL ? left : PART_PANELS * PANEL;
    int32_t *block = (int32_t *)(void *)job->blocks + worker * PART_ROWS * PART_PANELS * PANEL;
    const struct sc_byte_tile tile = {.m = job->M - first < PART_ROWS ? job->M - first : PART_ROWS,
        .quads = depth / 4,
        .panels = sc_parts(n, PANEL),
        .a = (const int8_t *)job->rows + (a * job->M + first) * depth,
        .a_stride = depth,
        .b = (const uint8_t *)panels + panel * PANEL * depth,
        .panel_stride = PANEL * depth,
        .c = block,
        .c_stride = PART_PANELS * PANEL};
    sc_bytes_tile(op->kernels, &tile);
    for (int64_t m = 0; m < tile.m; m++) {
        const int64_t at = (product * job->M + first + m) * job->N + panel * PANEL;
        const struct sc_integer_row row = {.row = a * job->M + first + m,
            .column = panel * PANEL,
            .n = n,
            .sums = block + m * tile.c_stride,
            .column_sums = sc_bytes_column_sums(panels, job->K, job->N) + panel * PANEL,
            .to = sc_at(op->y->data, at, sc_type_bytes(op->y->type))};
        sc_integer_put(op, &row);
    }
}

void sc_integer_product_run(
    const struct sc_call *call, struct sc_integer *op, const struct sc_tensor *a, const struct sc_tensor *b)
{
    struct job job = open_job(call, op, a, b);
    char *scratch = call->scratch;
    if (job.n == 0) {
        return;
    }
    const int64_t rows = job.a_matrices * job.M;
    sc_bytes_pack_rows(op->kernels, call->team, a->type, a->data, rows, job.K, scratch);
    op->row_sums = sc_bytes_row_sums(scratch, rows, job.K);
    if (!call->packed) {
        pack_all(op->kernels, call->team, b, scratch + job.rows_bytes);
    }
    sc_integer_spread(op, scratch + job.total);
    sc_team_for(call->team, job.n * job.down * job.across, product_part, &job);
}
