/* SPDX-License-Identifier: Apache-2.0
 * Rows in f32, one part per few rows. The steps are those of the clauses' function bodies, each rounded. */
#include "ops/nn/norm.h"

#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/room.h"
#include "ops/shape/shape.h"

const float *sc_norm_widen(const struct sc_kernels *kernels, enum sc_type type, const void *x, float *room, int64_t n)
{
    switch (type) {
    case SC_F16:
        kernels->f16_to_f32(x, room, n);
        return room;
    case SC_BF16:
        kernels->bf16_to_f32(x, room, n);
        return room;
    case SC_F64:
        for (int64_t i = 0; i < n; i++) {
            room[i] = (float)((const double *)x)[i];
        }
        return room;
    default:
        return x;
    }
}

void sc_norm_narrow(const struct sc_kernels *kernels, enum sc_type type, const float *x, void *y, int64_t n)
{
    switch (type) {
    case SC_F16:
        kernels->f32_to_f16(x, y, n);
        break;
    case SC_BF16:
        kernels->f32_to_bf16(x, y, n);
        break;
    case SC_F64:
        for (int64_t i = 0; i < n; i++) {
            ((double *)y)[i] = (double)x[i];
        }
        break;
    default:
        if (x != y && n > 0) {
            memcpy(y, x, (size_t)n * sizeof(float));
        }
    }
}

/* Per worker: the row, the result, the scale. */
enum { ROOMS = 3 };

static size_t room_floats(int64_t n)
{
    return ((size_t)n + 15) / 16 * 16;
}

size_t sc_norm_scratch_bytes(int64_t n, int n_workers)
{
    return ROOMS * room_floats(n) * sizeof(float) * (size_t)n_workers;
}

static void scale_row(const struct sc_norm *norm, int64_t row, float *y, float *room)
{
    const struct sc_kernels *k = norm->kernels;
    const size_t bytes = sc_type_bytes(norm->out_type);
    const int64_t n = norm->n;
    if (norm->out_type == SC_F64) {
        double *out = (double *)norm->y + row * n;
        const double *scale = norm->scale ? (const double *)norm->scale + row * norm->scale_step : NULL;
        const double *bias = norm->bias ? (const double *)norm->bias + row * norm->bias_step : NULL;
        for (int64_t i = 0; i < n; i++) {
            const double scaled = scale ? (double)y[i] * scale[i] : (double)y[i];
            out[i] = bias ? scaled + bias[i] : scaled;
        }
        return;
    }
    if (norm->scale) {
        const void *scale = sc_const_at(norm->scale, row * norm->scale_step, bytes);
        k->binary[SC_BINARY_mul](y, 1, sc_norm_widen(k, norm->out_type, scale, room, n), 1, y, n);
    }
    if (norm->bias) {
        if (norm->out_type != SC_F32) { /* the product is a value of the type before the sum */
            void *narrow = room;
            sc_norm_narrow(k, norm->out_type, y, narrow, n);
            (void)sc_norm_widen(k, norm->out_type, narrow, y, n);
        }
        const void *bias = sc_const_at(norm->bias, row * norm->bias_step, bytes);
        k->binary[SC_BINARY_add](y, 1, sc_norm_widen(k, norm->out_type, bias, room, n), 1, y, n);
    }
    sc_norm_narrow(k, norm->out_type, y, sc_at(norm->y, row * n, bytes), n);
}

static void norm_row(const struct sc_norm *norm, int64_t row, float *rooms)
{
    const struct sc_kernels *k = norm->kernels;
    const int64_t n = norm->n;
    float *y = rooms + room_floats(n);
    float *room = rooms + 2 * room_floats(n);
    const void *from = sc_const_at(norm->x, row * n, sc_type_bytes(norm->type));
    const float *x = sc_norm_widen(k, norm->type, from, rooms, n);
    const float mean = norm->centre ? k->sum(x, n) / (float)n : 0.0F;
    const float root = sqrtf(k->sum_squares(x, mean, n) / (float)n + norm->epsilon);
    const float inverse = 1.0F / root;
    if (norm->mean) {
        norm->mean[row] = mean;
    }
    if (norm->inverse) {
        norm->inverse[row] = inverse;
    }
    if (norm->centre) {
        k->scale_shift(x, mean, inverse, NULL, NULL, y, n);
    } else {
        k->binary[SC_BINARY_div](x, 1, &root, 0, y, n);
    }
    if (norm->type == SC_F16 || norm->type == SC_BF16) { /* Normalized is cast to the type of X */
        void *narrow = room;
        sc_norm_narrow(k, norm->type, y, narrow, n);
        (void)sc_norm_widen(k, norm->type, narrow, y, n);
    }
    scale_row(norm, row, y, room);
}

struct job {
    const struct sc_norm *norm;
    int64_t rows_per_part;
};

static void norm_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct sc_norm *norm = job->norm;
    void *rooms = norm->scratch + sc_norm_scratch_bytes(norm->n, 1) * (size_t)worker;
    const int64_t first = part * job->rows_per_part;
    for (int64_t row = first; row < first + job->rows_per_part && row < norm->rows; row++) {
        norm_row(norm, row, rooms);
    }
}

void sc_norm_run(const struct sc_norm *norm, struct sc_team *team)
{
    if (norm->rows == 0 || norm->n == 0) {
        return;
    }
    const struct job job = {norm, norm->n > 16384 ? 1 : 16384 / norm->n};
    struct job arg = job;
    sc_team_for(team, sc_parts(norm->rows, job.rows_per_part), norm_part, &arg);
}

/* Dim of the scale at axis i of x. */
static int64_t scale_dim(const struct sc_tensor *x, const struct sc_tensor *scale, int i)
{
    const int at = i - (x->rank - scale->rank);
    return at >= 0 ? scale->dims[at] : 1;
}

static bool per_row(const struct sc_tensor *x, int axis, const struct sc_tensor *scale)
{
    for (int i = 0; i < axis; i++) {
        if (scale_dim(x, scale, i) != 1) {
            return true;
        }
    }
    return false;
}

size_t sc_norm_expand_bytes(const struct sc_tensor *x, int axis, const struct sc_tensor *scale)
{
    if (!scale) {
        return 0;
    }
    const bool rows = per_row(x, axis, scale);
    const int64_t n = sc_dims_product(x->dims, rows ? 0 : axis, x->rank);
    return sc_tensor_count(scale) == n ? 0 : sc_room_round((size_t)n * sc_type_bytes(scale->type));
}

const void *sc_norm_expand(
    const struct sc_tensor *x, int axis, const struct sc_tensor *scale, void *room, int64_t *row_step)
{
    const bool rows = per_row(x, axis, scale);
    *row_step = rows ? sc_dims_product(x->dims, axis, x->rank) : 0;
    if (sc_norm_expand_bytes(x, axis, scale) == 0) {
        return scale->data;
    }
    struct sc_move move = {.bytes = sc_type_bytes(scale->type), .to = room, .from = scale->data};
    int64_t strides[SC_MAX_RANK];
    const int first = rows ? 0 : axis;
    sc_dense_strides(x->rank - first, x->dims + first, strides);
    for (int i = first; i < x->rank; i++) {
        const int at = i - (x->rank - scale->rank);
        sc_move_axis(&move, x->dims[i], strides[i - first], scale_dim(x, scale, i) == 1 ? 0 : scale->strides[at]);
    }
    sc_move_run(&move, NULL);
    return room;
}

enum sc_status sc_norm_check_scale(const struct sc_infer *infer, const struct sc_fact *x, const struct sc_fact *scale)
{
    if (x->rank < 0 || scale->rank < 0) {
        return SC_OK;
    }
    bool fits = scale->rank <= x->rank;
    for (int i = 0; fits && i < scale->rank; i++) {
        const int64_t dim = x->dims[x->rank - scale->rank + i];
        fits = scale->dims[i] < 0 || dim < 0 || scale->dims[i] == 1 || scale->dims[i] == dim;
    }
    if (!fits) {
        char a[128], b[128];
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "scale or bias %s does not broadcast to %s",
            sc_dims_text(scale->rank, scale->dims, a, sizeof a), sc_dims_text(x->rank, x->dims, b, sizeof b));
    }
    return SC_OK;
}
