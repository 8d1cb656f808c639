/* SPDX-License-Identifier: Apache-2.0
 * One product for the inputs of all steps, then step by step the product of the hidden state and the gates. Everything is
 * f32 inside. A batch row that has ended keeps its state. */
#include <math.h>
#include <string.h>

#include "ops/kernels/gemm.h"
#include "ops/nn/recurrent.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Scratch. Gates of a row lie side by side, in the clause's order. GRU's last gate has a product of its own. */
struct rooms {
    float *x; /* [steps * batch, input] */
    float *weights; /* W or R of a direction as f32, before it is packed */
    float *bias; /* [2, gates * hidden] */
    float *peep; /* [3 * hidden] */
    void *packed_w, *packed_r, *packed_last;
    float *xw; /* [steps * batch, gates * hidden] */
    float *hr, *last; /* [batch, gates * hidden], [batch, hidden] */
    float *h, *c, *reset; /* [batch, hidden] */
    void *gemm;
    size_t bytes;
};

static struct sc_recurrent_sizes sizes_of(const struct sc_call *call)
{
    const struct sc_recurrent_params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, SC_RNN_X);
    return (struct sc_recurrent_sizes){.steps = x->dims[p->batch_first ? 1 : 0],
        .batch = x->dims[p->batch_first ? 0 : 1],
        .input = x->dims[2],
        .hidden = sc_call_in(call, SC_RNN_R)->dims[2]};
}

static void *take(char *base, size_t *total, size_t bytes)
{
    char *at = base ? base + *total : NULL;
    *total += align64(bytes);
    return at;
}

static struct rooms cut_rooms(const struct sc_call *call, const struct sc_recurrent_sizes *s, char *base)
{
    const struct sc_recurrent_params *p = call->params;
    const int64_t gates = p->gates * s->hidden;
    const int64_t rows = s->steps * s->batch;
    const int64_t wide = s->input > s->hidden ? s->input : s->hidden;
    const size_t f = sizeof(float);
    const size_t state = (size_t)(s->batch * s->hidden) * f;
    struct rooms r = {0};
    r.x = take(base, &r.bytes, (size_t)(rows * s->input) * f);
    r.weights = take(base, &r.bytes, (size_t)(gates * wide) * f);
    r.bias = take(base, &r.bytes, (size_t)(2 * gates) * f);
    r.peep = take(base, &r.bytes, (size_t)(3 * s->hidden) * f);
    r.packed_w = take(base, &r.bytes, sc_gemm_packed_bytes(SC_F32, s->input, gates));
    r.packed_r = take(base, &r.bytes, sc_gemm_packed_bytes(SC_F32, s->hidden, gates));
    r.packed_last = take(base, &r.bytes, sc_gemm_packed_bytes(SC_F32, s->hidden, s->hidden));
    r.xw = take(base, &r.bytes, (size_t)(rows * gates) * f);
    r.hr = take(base, &r.bytes, (size_t)(s->batch * gates) * f);
    r.last = take(base, &r.bytes, state);
    r.h = take(base, &r.bytes, state);
    r.c = take(base, &r.bytes, state);
    r.reset = take(base, &r.bytes, state);
    const int workers = sc_team_size(call->team);
    r.gemm = take(base, &r.bytes,
        sc_gemm_scratch_bytes(SC_F32, rows, gates, s->input, workers) +
            sc_gemm_scratch_bytes(SC_F32, s->batch, gates, s->hidden, workers));
    return r;
}

size_t sc_recurrent_scratch(const struct sc_call *call)
{
    const struct sc_recurrent_sizes s = sizes_of(call);
    return cut_rooms(call, &s, NULL).bytes;
}

static void activate(const struct sc_kernels *k, const struct sc_activation *f, float *x, int64_t n)
{
    switch (f->kind) {
    case SC_ACTIVATION_Sigmoid:
        k->unary[SC_UNARY_sigmoid](x, x, n);
        return;
    case SC_ACTIVATION_ScaledTanh:
        k->scale(x, f->beta, x, n);
        k->unary[SC_UNARY_tanh](x, x, n);
        k->scale(x, f->alpha, x, n);
        return;
    case SC_ACTIVATION_Tanh:
        k->unary[SC_UNARY_tanh](x, x, n);
        return;
    case SC_ACTIVATION_Relu:
        k->unary[SC_UNARY_relu](x, x, n);
        return;
    case SC_ACTIVATION_Softplus:
        k->unary[SC_UNARY_softplus](x, x, n);
        return;
    default:
        break;
    }
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i];
        float hard;
        switch (f->kind) {
        case SC_ACTIVATION_Affine:
            x[i] = f->alpha * v + f->beta;
            break;
        case SC_ACTIVATION_LeakyRelu:
            x[i] = v >= 0.0F ? v : f->alpha * v;
            break;
        case SC_ACTIVATION_ThresholdedRelu:
            x[i] = v > f->alpha ? v : 0.0F;
            break;
        case SC_ACTIVATION_HardSigmoid:
            hard = f->alpha * v + f->beta;
            x[i] = hard < 0.0F ? 0.0F : hard > 1.0F ? 1.0F : hard;
            break;
        case SC_ACTIVATION_Elu:
            x[i] = v >= 0.0F ? v : f->alpha * expm1f(v);
            break;
        default: /* Softsign */
            x[i] = v / (1.0F + fabsf(v));
            break;
        }
    }
}

struct run {
    const struct sc_call *call;
    const struct sc_recurrent_params *p;
    const struct sc_kernels *k;
    struct sc_recurrent_sizes s;
    struct rooms r;
    int direction;
    bool backwards;
    int64_t gates; /* gates * hidden */
};

static void load_f32(const struct sc_tensor *t, int64_t first, int64_t n, float *to)
{
    if (!t) {
        memset(to, 0, (size_t)n * sizeof(float));
        return;
    }
    sc_convert(t->type, sc_const_at(t->data, first, sc_type_bytes(t->type)), SC_F32, to, n, 0);
}

/* Rows [first, first + N) of a direction's matrix [gates * hidden, K] as the B of a product. */
static void pack(const struct run *run, int input, int64_t first, int64_t N, int64_t K, void *packed)
{
    const struct sc_tensor *w = sc_call_in(run->call, input);
    load_f32(w, (run->direction * run->gates + first) * K, N * K, run->r.weights);
    const struct sc_gemm_b b = {
        .type = SC_F32, .K = K, .N = N, .data = run->r.weights, .row_stride = 1, .column_stride = K};
    sc_gemm_pack(run->k, run->call->team, &b, packed);
}

static void multiply(
    const struct run *run, const float *a, int64_t M, int64_t K, const void *packed, float *c, int64_t N)
{
    const struct sc_gemm gemm = {
        .type = SC_F32, .M = M, .N = N, .K = K, .a = a, .a_stride = K, .packed = packed, .c = c, .c_stride = N};
    if (K == 0) {
        memset(c, 0, (size_t)(M * N) * sizeof(float));
    } else {
        sc_gemm_run(run->k, run->call->team, &gemm, run->r.gemm);
    }
}

/* Offset of (direction, batch row) in a state tensor, and of (step, direction, batch row) in Y; in rows of `hidden`. */
static int64_t state_row(const struct run *run, int64_t b)
{
    return run->p->batch_first ? b * run->p->directions + run->direction : run->direction * run->s.batch + b;
}

static int64_t result_row(const struct run *run, int64_t step, int64_t b)
{
    const int64_t d = run->p->directions;
    return run->p->batch_first ? (b * run->s.steps + step) * d + run->direction
                               : (step * d + run->direction) * run->s.batch + b;
}

static void clip(const struct run *run, float *x, int64_t n)
{
    const float limit = run->p->clip;
    for (int64_t i = 0; limit > 0.0F && i < n; i++) {
        x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
    }
}

/* gate = clip(xw + hr + both biases + peephole * c), activated; in place of hr. */
static float *gate(const struct run *run, int index, const float *xw, float *hr, const float *peep, const float *c,
    const struct sc_activation *f)
{
    const int64_t n = run->s.hidden;
    const int64_t at = index * n;
    for (int64_t i = 0; i < n; i++) {
        float sum = xw[at + i] + hr[at + i] + run->r.bias[at + i] + run->r.bias[run->gates + at + i];
        sum += peep ? peep[i] * c[i] : 0.0F;
        hr[at + i] = sum;
    }
    clip(run, hr + at, n);
    activate(run->k, f, hr + at, n);
    return hr + at;
}

static void step_lstm(const struct run *run, int64_t b, const float *xw)
{
    const int64_t n = run->s.hidden;
    const struct sc_activation *f = run->p->f[run->direction];
    float *hr = run->r.hr + b * run->gates;
    float *h = run->r.h + b * n;
    float *c = run->r.c + b * n;
    const float *peep = sc_call_in(run->call, SC_RNN_P) ? run->r.peep : NULL;
    const float *in = gate(run, 0, xw, hr, peep, c, &f[0]);
    const float *cell = gate(run, 3, xw, hr, NULL, NULL, &f[1]);
    const float *forget = run->p->input_forget ? NULL : gate(run, 2, xw, hr, peep ? peep + 2 * n : NULL, c, &f[0]);
    for (int64_t i = 0; i < n; i++) {
        c[i] = (forget ? forget[i] : 1.0F - in[i]) * c[i] + in[i] * cell[i];
    }
    const float *out = gate(run, 1, xw, hr, peep ? peep + n : NULL, c, &f[0]);
    memcpy(h, c, (size_t)n * sizeof(float));
    activate(run->k, &f[2], h, n);
    for (int64_t i = 0; i < n; i++) {
        h[i] *= out[i];
    }
}

static void step_rnn(const struct run *run, int64_t b, const float *xw)
{
    float *hr = run->r.hr + b * run->gates;
    const float *h = gate(run, 0, xw, hr, NULL, NULL, &run->p->f[run->direction][0]);
    memcpy(run->r.h + b * run->s.hidden, h, (size_t)run->s.hidden * sizeof(float));
}

/* The first half of a GRU step: update and reset gates; the reset state for the last product. */
static void open_gru(const struct run *run, int64_t b, const float *xw)
{
    const int64_t n = run->s.hidden;
    const struct sc_activation *f = run->p->f[run->direction];
    float *hr = run->r.hr + b * run->gates;
    gate(run, 0, xw, hr, NULL, NULL, &f[0]);
    const float *reset = gate(run, 1, xw, hr, NULL, NULL, &f[0]);
    for (int64_t i = 0; i < n; i++) {
        run->r.reset[b * n + i] = reset[i] * run->r.h[b * n + i];
    }
}

static void close_gru(const struct run *run, int64_t b, const float *xw)
{
    const int64_t n = run->s.hidden;
    const float *update = run->r.hr + b * run->gates;
    const float *reset = update + n;
    const float *own_bias = run->r.bias + 2 * n;
    const float *state_bias = run->r.bias + run->gates + 2 * n;
    float *last = run->r.last + b * n;
    float *h = run->r.h + b * n;
    for (int64_t i = 0; i < n; i++) {
        last[i] = run->p->reset_last
            ? xw[2 * n + i] + reset[i] * (run->r.hr[b * run->gates + 2 * n + i] + state_bias[i]) + own_bias[i]
            : xw[2 * n + i] + last[i] + state_bias[i] + own_bias[i];
    }
    clip(run, last, n);
    activate(run->k, &run->p->f[run->direction][1], last, n);
    for (int64_t i = 0; i < n; i++) {
        h[i] = (1.0F - update[i]) * last[i] + update[i] * h[i];
    }
}

static int64_t length_of(const struct run *run, int64_t b)
{
    const struct sc_tensor *lengths = sc_call_in(run->call, SC_RNN_LENGTHS);
    return lengths ? sc_index_at(lengths, b) : run->s.steps;
}

/* Time of step number `step` in batch row b; -1 when the row has ended. */
static int64_t time_of(const struct run *run, int64_t b, int64_t step)
{
    const int64_t length = length_of(run, b);
    return step >= length ? -1 : run->backwards ? length - 1 - step : step;
}

static const float *inputs_of(const struct run *run, int64_t b, int64_t time)
{
    const int64_t row = run->p->batch_first ? b * run->s.steps + time : time * run->s.batch + b;
    return run->r.xw + row * run->gates;
}

static void run_step(const struct run *run, int64_t step)
{
    const struct sc_tensor *y = sc_call_out(run->call, 0);
    const int64_t n = run->s.hidden;
    multiply(run, run->r.h, run->s.batch, n, run->r.packed_r, run->r.hr, run->gates);
    for (int64_t b = 0; run->p->cell == SC_CELL_GRU && b < run->s.batch; b++) {
        const int64_t time = time_of(run, b, step);
        if (time >= 0) {
            open_gru(run, b, inputs_of(run, b, time));
        }
    }
    if (run->p->cell == SC_CELL_GRU && !run->p->reset_last) {
        multiply(run, run->r.reset, run->s.batch, n, run->r.packed_last, run->r.last, n);
    }
    for (int64_t b = 0; b < run->s.batch; b++) {
        const int64_t time = time_of(run, b, step);
        if (time < 0) {
            continue;
        }
        const float *xw = inputs_of(run, b, time);
        if (run->p->cell == SC_CELL_LSTM) {
            step_lstm(run, b, xw);
        } else if (run->p->cell == SC_CELL_GRU) {
            close_gru(run, b, xw);
        } else {
            step_rnn(run, b, xw);
        }
        if (y) {
            sc_convert(SC_F32, run->r.h + b * n, y->type,
                sc_at(y->data, result_row(run, time, b) * n, sc_type_bytes(y->type)), n, 0);
        }
    }
}

static void run_direction(struct run *run)
{
    const struct sc_call *call = run->call;
    const int64_t n = run->s.hidden;
    const size_t state = (size_t)(run->s.batch * n) * sizeof(float);
    run->backwards = run->p->reverse || run->direction == 1;
    pack(run, SC_RNN_W, 0, run->gates, run->s.input, run->r.packed_w);
    multiply(run, run->r.x, run->s.steps * run->s.batch, run->s.input, run->r.packed_w, run->r.xw, run->gates);
    pack(run, SC_RNN_R, 0, run->gates, n, run->r.packed_r);
    if (run->p->cell == SC_CELL_GRU) {
        pack(run, SC_RNN_R, 2 * n, n, n, run->r.packed_last);
    }
    load_f32(sc_call_in(call, SC_RNN_B), run->direction * 2 * run->gates, 2 * run->gates, run->r.bias);
    load_f32(
        run->p->cell == SC_CELL_LSTM ? sc_call_in(call, SC_RNN_P) : NULL, run->direction * 3 * n, 3 * n, run->r.peep);
    memset(run->r.reset, 0, state);
    for (int64_t b = 0; b < run->s.batch; b++) {
        load_f32(sc_call_in(call, SC_RNN_H), state_row(run, b) * n, n, run->r.h + b * n);
        load_f32(run->p->cell == SC_CELL_LSTM ? sc_call_in(call, SC_RNN_C) : NULL, state_row(run, b) * n, n,
            run->r.c + b * n);
    }
    for (int64_t step = 0; step < run->s.steps; step++) {
        run_step(run, step);
    }
    for (int o = 1; o < 3; o++) {
        const struct sc_tensor *out = sc_call_out(call, o);
        for (int64_t b = 0; out && b < run->s.batch; b++) {
            sc_convert(SC_F32, (o == 1 ? run->r.h : run->r.c) + b * n, out->type,
                sc_at(out->data, state_row(run, b) * n, sc_type_bytes(out->type)), n, 0);
        }
    }
}

void sc_recurrent_run(const struct sc_call *call)
{
    const struct sc_recurrent_params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, SC_RNN_X);
    const struct sc_tensor *y = sc_call_out(call, 0);
    struct run run = {.call = call, .p = p, .k = call->kernels, .s = sizes_of(call)};
    run.r = cut_rooms(call, &run.s, call->scratch);
    run.gates = p->gates * run.s.hidden;
    if (y && sc_tensor_count(y) > 0) {
        memset(y->data, 0, sc_tensor_bytes(y)); /* steps past the end of a row stay zero */
    }
    load_f32(x, 0, sc_tensor_count(x), run.r.x);
    for (run.direction = 0; run.direction < p->directions; run.direction++) {
        run_direction(&run);
    }
}
