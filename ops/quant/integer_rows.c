/* SPDX-License-Identifier: Apache-2.0
 * Rows of sums less their zero points, as they are or brought back to 8 bits. */
#include <string.h>

#include "ops/quant/integer.h"
#include "ops/room.h"
#include "tensor/convert.h"

static bool is_single(const struct sc_tensor *t)
{
    return !t || sc_tensor_count(t) == 1;
}

/* Of a row; rows of several matrices may share theirs. */
static int64_t index_of(const struct sc_tensor *t, int64_t i)
{
    return i % sc_tensor_count(t);
}

static int32_t zero_at(const struct sc_integer_side *side, bool is_b, int64_t i)
{
    const struct sc_tensor *zero = side->zero;
    return sc_bytes_zero(side->type, is_b, zero ? zero->data : NULL, zero ? index_of(zero, i) : 0);
}

static double scale_at(const struct sc_integer_side *side, int64_t i)
{
    return sc_number_at(side->scale, index_of(side->scale, i));
}

static size_t zeros_bytes(const struct sc_integer *op)
{
    const struct sc_tensor *zero = op->columns.zero;
    return is_single(zero) ? 0 : sc_room_round((size_t)sc_tensor_count(zero) * sizeof(int32_t));
}

size_t sc_integer_bytes(const struct sc_integer *op)
{
    const struct sc_tensor *scale = op->columns.scale;
    return zeros_bytes(op) + (is_single(scale) ? 0 : sc_room_round((size_t)sc_tensor_count(scale) * sizeof(double)));
}

void sc_integer_spread(struct sc_integer *op, void *room)
{
    const size_t bytes = zeros_bytes(op);
    if (bytes > 0) {
        op->column_zeros = room;
        for (int64_t i = 0; i < sc_tensor_count(op->columns.zero); i++) {
            op->column_zeros[i] = zero_at(&op->columns, true, i);
        }
    }
    if (op->columns.scale && !is_single(op->columns.scale)) {
        op->factors = (double *)(void *)((char *)room + bytes);
        for (int64_t i = 0; i < sc_tensor_count(op->columns.scale); i++) {
            op->factors[i] = scale_at(&op->columns, i);
            if (is_single(op->rows.scale)) {
                op->factors[i] = scale_at(&op->rows, 0) * op->factors[i] / op->y_scale;
            }
        }
    }
}

bool sc_integer_rows_are_centred(const struct sc_integer *op)
{
    const int64_t n = op->rows.zero ? sc_tensor_count(op->rows.zero) : 1;
    for (int64_t i = 0; i < n; i++) {
        if (zero_at(&op->rows, false, i) != 0) {
            return false;
        }
    }
    return true;
}

static void put_bytes(const struct sc_integer *op, const struct sc_integer_row *r)
{
    double own[SC_INTEGER_COLUMNS];
    struct sc_byte_rounding rounding = {.bias = op->bias ? sc_number_at(op->bias, r->row) : 0.0,
        .zero = op->y_zero,
        .factors = own,
        .factor_step = op->factors != NULL,
        .is_signed = op->y->type == SC_I8};
    if (!op->factors) {
        own[0] = scale_at(&op->rows, r->row) * scale_at(&op->columns, 0) / op->y_scale;
    } else if (is_single(op->rows.scale)) {
        rounding.factors = op->factors + r->column;
    } else {
        const double scale = scale_at(&op->rows, r->row);
        for (int64_t i = 0; i < r->n; i++) {
            own[i] = scale * op->factors[r->column + i] / op->y_scale;
        }
    }
    op->kernels->sums_to_bytes(&rounding, r->sums, r->n, r->to);
}

/* (a - za) · (b - zb) = a · b - zb * (sum of a - K * za) - za * sum of b. Everything wraps around. */
void sc_integer_put(const struct sc_integer *op, const struct sc_integer_row *r)
{
    const int32_t a_zero = zero_at(&op->rows, false, r->row);
    const int32_t a_sum = (int32_t)((int64_t)op->row_sums[r->row] - op->K * a_zero);
    struct sc_sum_shift shift = {.factor = {-a_zero, -a_sum}, .x = {r->column_sums}};
    if (op->column_zeros) {
        shift.x[1] = op->column_zeros + r->column;
    } else {
        shift.add = (int32_t)(-(int64_t)a_sum * zero_at(&op->columns, true, 0));
    }
    op->kernels->shift_sums(&shift, r->sums, r->n);
    if (op->y->type == SC_I32) {
        memcpy(r->to, r->sums, (size_t)r->n * sizeof(int32_t));
    } else {
        put_bytes(op, r);
    }
}
