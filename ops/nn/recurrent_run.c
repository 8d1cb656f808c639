/* SPDX-License-Identifier: Apache-2.0
 * One product for the inputs of all steps, then step by step the product of the hidden state and the gates. Inside, all
 * is f64 where X is, else f32. A batch row that has ended keeps its state. */
#include <math.h>
#include <string.h>

#include "ops/kernels/gemm.h"
#include "ops/nn/recurrent.h"
#include "ops/room.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

static struct sc_recurrent_sizes sizes_of(const struct sc_call *call)
{
    const struct sc_recurrent_params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, SC_RNN_X);
    return (struct sc_recurrent_sizes){.steps = x->dims[p->batch_first ? 1 : 0],
        .batch = x->dims[p->batch_first ? 0 : 1],
        .input = x->dims[2],
        .hidden = sc_call_in(call, SC_RNN_R)->dims[2]};
}

static size_t packed_bytes_f32(int64_t K, int64_t N)
{
    return sc_gemm_packed_bytes(SC_F32, K, N);
}

static size_t product_bytes_f32(int64_t M, int64_t N, int64_t K, int workers)
{
    return sc_gemm_scratch_bytes(SC_F32, M, N, K, workers);
}

/* The matrices of one direction as products read them; last: of GRU's last gate alone. */
struct packed {
    void *w, *r, *last;
};

static bool has_last(const struct sc_recurrent_params *p)
{
    return p->cell == SC_CELL_GRU && !p->reset_last;
}

/* Packed at load they lie one behind the other, direction by direction. */
static size_t packed_direction_bytes(const struct sc_recurrent_params *p, int64_t input, int64_t hidden)
{
    const int64_t gates = p->gates * hidden;
    return sc_room_round(packed_bytes_f32(input, gates)) + sc_room_round(packed_bytes_f32(hidden, gates)) +
        (has_last(p) ? sc_room_round(packed_bytes_f32(hidden, hidden)) : 0);
}

static struct packed packed_at(
    const struct sc_recurrent_params *p, int64_t input, int64_t hidden, const void *base, int direction)
{
    const int64_t gates = p->gates * hidden;
    char *w = (char *)(uintptr_t)base + (size_t)direction * packed_direction_bytes(p, input, hidden);
    char *r = w + sc_room_round(packed_bytes_f32(input, gates));
    return (struct packed){w, r, r + sc_room_round(packed_bytes_f32(hidden, gates))};
}

static void pack_rows_f32(
    const struct sc_kernels *kernels, struct sc_team *team, const float *weights, int64_t N, int64_t K, void *packed)
{
    const struct sc_gemm_b b = {.type = SC_F32, .K = K, .N = N, .data = weights, .row_stride = 1, .column_stride = K};
    sc_gemm_pack(kernels, team, &b, packed);
}

static void multiply_rows_f32(const struct sc_call *call, const float *a, int64_t M, int64_t K, const void *packed,
    float *c, int64_t N, void *room)
{
    const struct sc_gemm gemm = {
        .type = SC_F32, .M = M, .N = N, .K = K, .a = a, .a_stride = K, .packed = packed, .c = c, .c_stride = N};
    sc_gemm_run(call->kernels, call->team, &gemm, room);
}

static bool smooth_f32(const struct sc_kernels *k, const struct sc_activation *f, float *x, int64_t n)
{
    switch (f->kind) {
    case SC_ACTIVATION_Sigmoid:
        k->unary[SC_UNARY_sigmoid](x, x, n);
        return true;
    case SC_ACTIVATION_ScaledTanh:
        k->scale(x, f->beta, x, n);
        k->unary[SC_UNARY_tanh](x, x, n);
        k->scale(x, f->alpha, x, n);
        return true;
    case SC_ACTIVATION_Tanh:
        k->unary[SC_UNARY_tanh](x, x, n);
        return true;
    case SC_ACTIVATION_Relu:
        k->unary[SC_UNARY_relu](x, x, n);
        return true;
    case SC_ACTIVATION_Softplus:
        k->unary[SC_UNARY_softplus](x, x, n);
        return true;
    default:
        return false;
    }
}

#define T float
#define TYPE SC_F32
#define OF(name) name##_f32
#define EXPM1 expm1f
#define FABS fabsf
#include "ops/nn/recurrent.inc.h"

static size_t packed_bytes_f64(int64_t K, int64_t N)
{
    return (size_t)(K * N) * sizeof(double);
}

static size_t product_bytes_f64(int64_t M, int64_t N, int64_t K, int workers)
{
    (void)M, (void)N, (void)K, (void)workers;
    return 0;
}

static void pack_rows_f64(
    const struct sc_kernels *kernels, struct sc_team *team, const double *weights, int64_t N, int64_t K, void *packed)
{
    (void)kernels, (void)team;
    memcpy(packed, weights, (size_t)(N * K) * sizeof(double));
}

struct product_f64 {
    const double *a, *b;
    double *c;
    int64_t K, N;
};

/* A row of the product: down k in order, for every column. */
static void multiply_row_f64(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct product_f64 *p = arg;
    const double *a = p->a + row * p->K;
    for (int64_t n = 0; n < p->N; n++) {
        double sum = 0.0;
        for (int64_t k = 0; k < p->K; k++) {
            sum = fma(a[k], p->b[n * p->K + k], sum);
        }
        p->c[row * p->N + n] = sum;
    }
}

static void multiply_rows_f64(const struct sc_call *call, const double *a, int64_t M, int64_t K, const void *packed,
    double *c, int64_t N, void *room)
{
    (void)room;
    struct product_f64 product = {.a = a, .b = packed, .c = c, .K = K, .N = N};
    sc_team_for(call->team, M, multiply_row_f64, &product);
}

static bool smooth_f64(const struct sc_kernels *k, const struct sc_activation *f, double *x, int64_t n)
{
    (void)k;
    for (int64_t i = 0; i < n; i++) {
        switch (f->kind) {
        case SC_ACTIVATION_Sigmoid:
            x[i] = x[i] >= 0.0 ? 1.0 / (1.0 + exp(-x[i])) : exp(x[i]) / (1.0 + exp(x[i]));
            break;
        case SC_ACTIVATION_ScaledTanh:
            x[i] = (double)f->alpha * tanh((double)f->beta * x[i]);
            break;
        case SC_ACTIVATION_Tanh:
            x[i] = tanh(x[i]);
            break;
        case SC_ACTIVATION_Relu:
            x[i] = x[i] > 0.0 ? x[i] : 0.0;
            break;
        case SC_ACTIVATION_Softplus:
            x[i] = log1p(exp(-fabs(x[i]))) + (x[i] > 0.0 ? x[i] : 0.0);
            break;
        default:
            return false;
        }
    }
    return true;
}

#define T double
#define TYPE SC_F64
#define OF(name) name##_f64
#define EXPM1 expm1
#define FABS fabs
#include "ops/nn/recurrent.inc.h"

enum sc_status sc_recurrent_prepare(struct sc_prepare *prepare)
{
    const struct sc_recurrent_params *p = prepare->params;
    const struct sc_fact *w = prepare->in[SC_RNN_W];
    const struct sc_fact *r = prepare->in[SC_RNN_R];
    if (!prepare->constant[SC_RNN_W] || !prepare->constant[SC_RNN_R] || w->type != SC_F32 || r->type != SC_F32 ||
        w->rank != 3 || r->rank != 3 || !sc_fact_dims_known(w) || !sc_fact_dims_known(r)) {
        return SC_OK;
    }
    prepare->choice = 1;
    prepare->packed_inputs = 1U << SC_RNN_W | 1U << SC_RNN_R;
    prepare->packed_bytes = (size_t)p->directions * packed_direction_bytes(p, w->dims[2], r->dims[2]);
    return SC_OK;
}

void sc_recurrent_pack(const struct sc_pack *pack)
{
    const struct sc_recurrent_params *p = pack->prepare->params;
    const struct sc_kernels *kernels = pack->prepare->kernels;
    const int64_t input = pack->in[SC_RNN_W]->dims[2];
    const int64_t hidden = pack->in[SC_RNN_R]->dims[2];
    const int64_t gates = p->gates * hidden;
    for (int d = 0; d < p->directions; d++) {
        const struct packed packed = packed_at(p, input, hidden, pack->packed, d);
        const int64_t K = pack->input == SC_RNN_W ? input : hidden;
        const float *weights = (const float *)pack->weight->data + d * gates * K;
        pack_rows_f32(kernels, pack->team, weights, gates, K, pack->input == SC_RNN_W ? packed.w : packed.r);
        if (pack->input == SC_RNN_R && has_last(p)) {
            pack_rows_f32(kernels, pack->team, weights + 2 * hidden * hidden, hidden, hidden, packed.last);
        }
    }
}

size_t sc_recurrent_scratch(const struct sc_call *call)
{
    const struct sc_recurrent_sizes s = sizes_of(call);
    return sc_call_in(call, SC_RNN_X)->type == SC_F64 ? cut_rooms_f64(call, &s, NULL).bytes
                                                      : cut_rooms_f32(call, &s, NULL).bytes;
}

void sc_recurrent_run(const struct sc_call *call)
{
    const struct sc_recurrent_sizes s = sizes_of(call);
    const struct sc_tensor *y = sc_call_out(call, 0);
    if (y && sc_tensor_count(y) > 0) {
        memset(y->data, 0, sc_tensor_bytes(y)); /* steps past the end of a row stay zero */
    }
    if (sc_call_in(call, SC_RNN_X)->type == SC_F64) {
        recurrent_f64(call, &s);
    } else {
        recurrent_f32(call, &s);
    }
}
