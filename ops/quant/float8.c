/* SPDX-License-Identifier: Apache-2.0
 * QLinearMatMul where an operand or the result is of float8: as no tile has such numbers, each is looked up as a
 * double, in which products and sums have the bits they need. */
#include <math.h>

#include "ops/quant/integer.h"
#include "ops/quant/saturate.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

/* What the 256 bytes of a type stand for. */
struct numbers {
    double of[256];
};

struct side {
    const struct sc_tensor *t, *zero, *scale;
    const struct numbers *numbers;
};

struct product {
    struct side a, b;
    const struct sc_tensor *y;
    int64_t M, K, N;
    double y_scale, y_zero;
};

bool sc_is_float8(enum sc_type type)
{
    return type == SC_F8E4M3FN || type == SC_F8E4M3FNUZ || type == SC_F8E5M2 || type == SC_F8E5M2FNUZ;
}

/* Scales and zero points are single, or one a row of A, or one a column of B. */
static double entry(const struct sc_tensor *t, int64_t i)
{
    return sc_number_at(t, sc_tensor_count(t) == 1 ? 0 : i);
}

/* Which matrix of an operand makes matrix `batch` of the result: its dims broadcast. */
static int64_t matrix_of(const struct product *p, const struct sc_tensor *t, int64_t batch)
{
    const int last = p->y->rank - (p->a.t->rank > 1) - (p->b.t->rank > 1);
    int64_t matrix = 0, stride = 1;
    for (int axis = t->rank - 3, y_axis = last - 1; axis >= 0; axis--, y_axis--) {
        const int64_t at = batch % p->y->dims[y_axis];
        batch /= p->y->dims[y_axis];
        matrix += t->dims[axis] > 1 ? at * stride : 0;
        stride *= t->dims[axis];
    }
    return matrix;
}

static void put(const struct product *p, int64_t i, double value)
{
    const enum sc_type type = p->y->type;
    if (sc_is_float8(type)) {
        value += p->y_zero;
        sc_convert(SC_F64, &value, type, sc_at(p->y->data, i, 1), 1, SC_CONVERT_SATURATE);
    } else {
        sc_number_put(p->y, i, sc_saturate(type, rint(value) + p->y_zero));
    }
}

static void row_part(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct product *p = arg;
    const int64_t a_row = matrix_of(p, p->a.t, row / p->M) * p->M + row % p->M;
    const int64_t b_first = matrix_of(p, p->b.t, row / p->M) * p->K * p->N;
    const uint8_t *a = (const uint8_t *)p->a.t->data + a_row * p->K;
    const uint8_t *b = (const uint8_t *)p->b.t->data + b_first;
    const double a_zero = entry(p->a.zero, a_row), factor = entry(p->a.scale, a_row) / p->y_scale;
    for (int64_t n = 0; n < p->N; n++) {
        const double b_zero = entry(p->b.zero, n);
        double sum = 0;
        for (int64_t k = 0; k < p->K; k++) {
            sum += (p->a.numbers->of[a[k]] - a_zero) * (p->b.numbers->of[b[k * p->N + n]] - b_zero);
        }
        put(p, row * p->N + n, sum * factor * entry(p->b.scale, n));
    }
}

static const struct numbers *look_up(enum sc_type type, struct numbers *numbers)
{
    uint8_t bytes[256];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
    }
    sc_convert(type, bytes, SC_F64, numbers->of, 256, 0);
    return numbers;
}

size_t sc_float8_scratch(void)
{
    return 2 * sizeof(struct numbers);
}

void sc_float8_run(const struct sc_call *call)
{
    const struct sc_tensor *a = sc_call_in(call, 0), *b = sc_call_in(call, 3);
    struct numbers *numbers = call->scratch;
    struct product p = {.a = {a, sc_call_in(call, 2), sc_call_in(call, 1), look_up(a->type, &numbers[0])},
        .b = {b, sc_call_in(call, 5), sc_call_in(call, 4), look_up(b->type, &numbers[1])},
        .y = sc_call_out(call, 0),
        .M = a->rank > 1 ? a->dims[a->rank - 2] : 1,
        .K = a->dims[a->rank - 1],
        .N = b->rank > 1 ? b->dims[b->rank - 1] : 1,
        .y_scale = sc_number_at(sc_call_in(call, 6), 0),
        .y_zero = sc_number_at(sc_call_in(call, 7), 0)};
    const int64_t count = sc_tensor_count(p.y);
    if (count > 0) {
        sc_team_for(call->team, count / p.N, row_part, &p);
    }
}
