/* SPDX-License-Identifier: Apache-2.0
 * AffineGrid: the coordinates of every pixel or voxel, between -1 and 1 along each axis, times an affine matrix. In
 * double, rounded once. */
#include "ops/nn/rows.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { SEGMENT = 512, PART_POINTS = 1 << 14 }; /* points of a row that are found together; of a part, about */

struct params {
    int64_t align_corners;
};

struct job {
    const struct sc_tensor *theta, *grid;
    bool align_corners;
    int n_axes; /* 2 or 3 */
    int64_t n_rows, per_part; /* rows of a picture, of a part */
    int64_t a_row, a_picture; /* parts of a row, and from top to bottom of a picture */
};

static enum sc_status params_grid(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    (void)graph;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    return sc_node_int(node, "align_corners", 0, &((struct params *)*params)->align_corners);
}

/* theta is [N,n,n+1] for a size of n + 2 entries. */
static enum sc_status check_theta(const struct sc_infer *infer, int n_axes, int64_t batch)
{
    const int64_t want[3] = {batch, n_axes, n_axes + 1};
    return sc_infer_want(infer, 0, "theta", 3, want);
}

/* size is [N,C,H,W] or [N,C,D,H,W]; the grid [N,H,W,2] or [N,D,H,W,3]. */
static enum sc_status infer_of_size(const struct sc_infer *infer)
{
    const struct sc_fact *theta = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    int64_t values[SC_MAX_RANK];
    struct sc_ints size;
    SC_TRY(sc_input_ints(infer, 1, values, &size));
    if (size.n != 4 && size.n != 5) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "size has %d entries, want 4 or 5", size.n);
    }
    for (int i = 0; i < size.n; i++) {
        if (values[i] < 0) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "size has the entry %lld, want 0 or more",
                (long long)values[i]);
        }
    }
    SC_TRY(check_theta(infer, size.n - 2, values[0]));
    values[1] = values[0]; /* over C, which says nothing */
    values[size.n] = size.n - 2;
    if (out) {
        sc_fact_tensor(out, theta->type, size.n, values + 1);
    }
    return SC_OK;
}

static enum sc_status infer_grid(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *theta = infer->in[0];
    const struct sc_fact *size = infer->in[1];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, theta->type);
    if (size->value) {
        return infer_of_size(infer);
    }
    if (size->rank != 1 || (size->dims[0] != 4 && size->dims[0] != 5)) {
        return SC_OK; /* not known, or refused when it is */
    }
    const int n_axes = (int)size->dims[0] - 2;
    SC_TRY(check_theta(infer, n_axes, SC_DIM_UNKNOWN));
    sc_fact_of_rank(out, theta->type, n_axes + 2);
    if (out) {
        out->dims[0] = theta->rank == 3 ? theta->dims[0] : SC_DIM_UNKNOWN;
        out->dims[n_axes + 1] = n_axes;
    }
    return SC_OK;
}

/* Where point i of n lies on an axis: corners are centers of points, or outer edges. A single point is the middle. */
static double place(bool align_corners, int64_t i, int64_t n)
{
    if (!align_corners) {
        return (double)(2 * i + 1 - n) / (double)n;
    }
    return n > 1 ? (double)(2 * i + 1 - n) / (double)(n - 1) : 0.0;
}

/* Points of a row: `others` are their coordinates along the other axes. Inlined where n is known. */
static inline void fill_row(
    const double *theta, const double *x, const double *others, int64_t count, const int n, double *points)
{
    for (int64_t p = 0; p < count; p++) {
        for (int row = 0; row < n; row++) {
            const double *t = theta + (int64_t)row * (n + 1);
            double sum = t[0] * x[p];
            for (int a = 1; a < n; a++) {
                sum += t[a] * others[a - 1];
            }
            points[p * n + row] = sum + t[n];
        }
    }
}

static void grid_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int n = job->n_axes;
    const enum sc_type type = job->grid->type;
    const size_t bytes = sc_type_bytes(type);
    const int64_t width = job->grid->dims[n], from = part % job->a_row * SEGMENT;
    const int64_t count = width - from < SEGMENT ? width - from : SEGMENT;
    const int64_t first = part / job->a_row % job->a_picture * job->per_part,
                  picture = part / job->a_row / job->a_picture;
    double theta[3 * 4], x[SEGMENT], points[SEGMENT * 3];
    sc_convert(type, sc_const_at(job->theta->data, picture * n * (n + 1), bytes), SC_F64, theta, n * (n + 1), 0);
    for (int64_t i = 0; i < count; i++) {
        x[i] = place(job->align_corners, from + i, width);
    }
    for (int64_t row = first; row < first + job->per_part && row < job->n_rows; row++) {
        double others[2]; /* y, z: the last axis comes first */
        int64_t rest = row;
        for (int a = 1; a < n; a++) {
            const int64_t dim = job->grid->dims[n - a];
            others[a - 1] = place(job->align_corners, rest % dim, dim);
            rest /= dim;
        }
        if (n == 2) {
            fill_row(theta, x, others, count, 2, points);
        } else {
            fill_row(theta, x, others, count, 3, points);
        }
        const int64_t at = (picture * job->n_rows + row) * width + from;
        sc_convert(SC_F64, points, type, sc_at(job->grid->data, at * n, bytes), count * n, 0);
    }
}

static void run_grid(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct job job = {
        .theta = sc_call_in(call, 0), .grid = sc_call_out(call, 0), .align_corners = p->align_corners != 0};
    if (sc_tensor_count(job.grid) == 0) {
        return;
    }
    job.n_axes = job.grid->rank - 2;
    const int64_t width = job.grid->dims[job.n_axes];
    job.n_rows = sc_dims_product(job.grid->dims, 1, job.n_axes);
    job.per_part = sc_parts(PART_POINTS, width < SEGMENT ? width : SEGMENT);
    job.a_row = sc_parts(width, SEGMENT);
    job.a_picture = sc_parts(job.n_rows, job.per_part);
    sc_team_for(call->team, job.grid->dims[0] * job.a_picture * job.a_row, grid_part, &job);
}

static void cost_grid(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_fact *grid = infer->out[0];
    const double elements = (double)sc_dims_product(grid->dims, 0, grid->rank);
    cost->operations = elements * 10.0; /* a row of the matrix, and its share of the coordinates */
    cost->read_bytes = 0.0;
    cost->written_bytes = elements * (double)sc_type_bytes(grid->type);
}

const struct sc_op sc_ops_nn_affine_grid[] = {
    {.domain = "",
        .name = "AffineGrid",
        .since = 20,
        .flags = SC_OP_PURE,
        .params = params_grid,
        .infer = infer_grid,
        .resolve = sc_resolve_by_infer,
        .run = run_grid,
        .cost = cost_grid},
    {.name = NULL},
};
