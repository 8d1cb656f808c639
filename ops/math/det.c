/* SPDX-License-Identifier: Apache-2.0
 * Det: the determinant of each matrix of the last two axes, by elimination in double, rounded once. */
#include <math.h>

#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

#define PART_ELEMENTS 4096 /* matrices smaller than this share a part */

struct job {
    const struct sc_tensor *in, *out;
    double *scratch; /* n * n for each worker */
    int64_t n, n_matrices, per_part;
};

static enum sc_status infer_det(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, in->type);
    if (in->rank < 0) {
        return SC_OK;
    }
    if (in->rank < 2) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "X has rank %d, want 2 or more", in->rank);
    }
    const int64_t rows = in->dims[in->rank - 2];
    const int64_t columns = in->dims[in->rank - 1];
    if (rows >= 0 && columns >= 0 && rows != columns) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT,
            "matrices of %lld rows and %lld columns have no determinant", (long long)rows, (long long)columns);
    }
    if (out) {
        sc_fact_tensor(out, in->type, in->rank - 2, in->dims);
    }
    return SC_OK;
}

/* The row from `k` on with the largest element of column k, a NaN first. */
static int64_t find_pivot(const double *a, int64_t n, int64_t k)
{
    int64_t best = k;
    for (int64_t i = k + 1; i < n; i++) {
        const double x = fabs(a[i * n + k]);
        best = x > fabs(a[best * n + k]) || isnan(x) ? i : best;
    }
    return best;
}

/* Destroys the matrix a of n rows. That of no rows has the determinant 1. */
static double eliminate(double *a, int64_t n)
{
    double det = 1.0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t p = find_pivot(a, n, k);
        if (p != k) {
            det = -det;
            for (int64_t j = k; j < n; j++) {
                const double moved = a[k * n + j];
                a[k * n + j] = a[p * n + j];
                a[p * n + j] = moved;
            }
        }
        const double pivot = a[k * n + k];
        if (pivot == 0.0) {
            return 0.0;
        }
        det *= pivot;
        for (int64_t i = k + 1; i < n; i++) {
            const double factor = a[i * n + k] / pivot;
            for (int64_t j = k + 1; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
    return det;
}

static void det_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const enum sc_type type = job->in->type;
    const int64_t elements = job->n * job->n;
    const int64_t first = part * job->per_part;
    const int64_t end = first + job->per_part < job->n_matrices ? first + job->per_part : job->n_matrices;
    double *a = job->scratch + worker * elements;
    for (int64_t m = first; m < end; m++) {
        sc_convert(type, sc_const_at(job->in->data, m * elements, sc_type_bytes(type)), SC_F64, a, elements, 0);
        const double det = eliminate(a, job->n);
        sc_convert(SC_F64, &det, type, sc_at(job->out->data, m, sc_type_bytes(type)), 1, 0);
    }
}

static size_t scratch_det(const struct sc_call *call)
{
    const struct sc_tensor *in = sc_call_in(call, 0);
    if (sc_tensor_count(in) == 0) {
        return 0;
    }
    const size_t n = (size_t)in->dims[in->rank - 1];
    return n * n * sizeof(double) * (size_t)sc_team_size(call->team);
}

static void run_det(const struct sc_call *call)
{
    struct job job = {.in = sc_call_in(call, 0), .out = sc_call_out(call, 0), .scratch = call->scratch};
    job.n_matrices = sc_tensor_count(job.out);
    if (job.n_matrices == 0) {
        return;
    }
    job.n = job.in->dims[job.in->rank - 1];
    job.per_part = job.n * job.n < PART_ELEMENTS ? PART_ELEMENTS / (job.n * job.n + 1) + 1 : 1;
    sc_team_for(call->team, (job.n_matrices + job.per_part - 1) / job.per_part, det_part, &job);
}

static void cost_det(const struct sc_infer *infer, struct sc_cost *cost)
{
    const struct sc_fact *in = infer->in[0];
    const double bytes = (double)sc_type_bytes(in->type);
    const double n = (double)in->dims[in->rank - 1];
    const double matrices = (double)sc_dims_product(in->dims, 0, in->rank - 2);
    cost->operations = matrices * n * n * n * 2.0 / 3.0;
    cost->read_bytes = matrices * n * n * bytes;
    cost->written_bytes = matrices * bytes;
}

#define DET(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "Det", .since = (version), .flags = SC_OP_PURE, .infer = infer_det,                      \
        .scratch = scratch_det, .run = run_det, .cost = cost_det                                                       \
    }

const struct sc_op sc_ops_math_det[] = {DET(11), DET(22), {.name = NULL}};
