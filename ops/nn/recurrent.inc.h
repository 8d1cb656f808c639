/* SPDX-License-Identifier: Apache-2.0
 * RNN, GRU and LSTM in one type. Parameters: T, its TYPE, OF(name), EXPM1 and FABS of it; and, named by OF, what the
 * products need: packed_bytes, product_bytes, pack_rows, multiply_rows; and smooth, which says whether it has applied
 * an activation. */

/* Scratch. Gates of a row lie side by side, in the clause's order. GRU's last gate has a product of its own. */
struct OF(rooms) {
    T *x; /* [steps * batch, input] */
    T *weights; /* W or R of a direction as T, before it is packed */
    T *bias; /* [2, gates * hidden] */
    T *peep; /* [3 * hidden] */
    void *packed_w, *packed_r, *packed_last; /* none where they were packed at load */
    T *xw; /* [steps * batch, gates * hidden] */
    T *hr, *last; /* [batch, gates * hidden], [batch, hidden] */
    T *h, *c, *reset; /* [batch, hidden] */
    void *gemm;
    size_t bytes;
};

static struct OF(rooms) OF(cut_rooms)(const struct sc_call *call, const struct sc_recurrent_sizes *s, char *base)
{
    const struct sc_recurrent_params *p = call->params;
    const int64_t gates = p->gates * s->hidden;
    const int64_t rows = s->steps * s->batch;
    const int64_t wide = s->input > s->hidden ? s->input : s->hidden;
    const size_t f = sizeof(T);
    const size_t state = (size_t)(s->batch * s->hidden) * f;
    struct OF(rooms) r = {0};
    struct sc_room room = {.at = base};
    r.x = sc_room_bytes(&room, (size_t)(rows * s->input) * f);
    r.weights = sc_room_bytes(&room, call->choice ? 0 : (size_t)(gates * wide) * f);
    r.bias = sc_room_bytes(&room, (size_t)(2 * gates) * f);
    r.peep = sc_room_bytes(&room, (size_t)(3 * s->hidden) * f);
    if (!call->choice) {
        r.packed_w = sc_room_bytes(&room, OF(packed_bytes)(s->input, gates));
        r.packed_r = sc_room_bytes(&room, OF(packed_bytes)(s->hidden, gates));
        r.packed_last = sc_room_bytes(&room, OF(packed_bytes)(s->hidden, s->hidden));
    }
    r.xw = sc_room_bytes(&room, (size_t)(rows * gates) * f);
    r.hr = sc_room_bytes(&room, (size_t)(s->batch * gates) * f);
    r.last = sc_room_bytes(&room, state);
    r.h = sc_room_bytes(&room, state);
    r.c = sc_room_bytes(&room, state);
    r.reset = sc_room_bytes(&room, state);
    const int workers = sc_team_size(call->team);
    r.gemm = sc_room_bytes(&room,
        OF(product_bytes)(rows, gates, s->input, workers) + OF(product_bytes)(s->batch, gates, s->hidden, workers));
    r.bytes = room.used;
    return r;
}

static void OF(activate)(const struct sc_kernels *k, const struct sc_activation *f, T *x, int64_t n)
{
    if (OF(smooth)(k, f, x, n)) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const T v = x[i];
        T hard;
        switch (f->kind) {
        case SC_ACTIVATION_Affine:
            x[i] = f->alpha * v + f->beta;
            break;
        case SC_ACTIVATION_LeakyRelu:
            x[i] = v >= (T)0.0 ? v : f->alpha * v;
            break;
        case SC_ACTIVATION_ThresholdedRelu:
            x[i] = v > f->alpha ? v : (T)0.0;
            break;
        case SC_ACTIVATION_HardSigmoid:
            hard = f->alpha * v + f->beta;
            x[i] = hard < (T)0.0 ? (T)0.0 : hard > (T)1.0 ? (T)1.0 : hard;
            break;
        case SC_ACTIVATION_Elu:
            x[i] = v >= (T)0.0 ? v : f->alpha * EXPM1(v);
            break;
        default: /* Softsign */
            x[i] = v / ((T)1.0 + FABS(v));
            break;
        }
    }
}

struct OF(run) {
    const struct sc_call *call;
    const struct sc_recurrent_params *p;
    const struct sc_kernels *k;
    struct sc_recurrent_sizes s;
    struct OF(rooms) r;
    struct packed packed; /* of the direction */
    int direction;
    bool backwards;
    int64_t gates; /* gates * hidden */
};

static void OF(load)(const struct sc_tensor *t, int64_t first, int64_t n, T *to)
{
    if (!t) {
        memset(to, 0, (size_t)n * sizeof(T));
        return;
    }
    sc_convert(t->type, sc_const_at(t->data, first, sc_type_bytes(t->type)), TYPE, to, n, 0);
}

/* Rows [first, first + N) of a direction's matrix [gates * hidden, K] as the B of a product. */
static void OF(pack)(const struct OF(run) * run, int input, int64_t first, int64_t N, int64_t K, void *packed)
{
    OF(load)(sc_call_in(run->call, input), (run->direction * run->gates + first) * K, N * K, run->r.weights);
    OF(pack_rows)(run->k, run->call->team, run->r.weights, N, K, packed);
}

static void OF(multiply)(
    const struct OF(run) * run, const T *a, int64_t M, int64_t K, const void *packed, T *c, int64_t N)
{
    if (K == 0) {
        memset(c, 0, (size_t)(M * N) * sizeof(T));
    } else {
        OF(multiply_rows)(run->call, a, M, K, packed, c, N, run->r.gemm);
    }
}

/* Offset of (direction, batch row) in a state tensor, and of (step, direction, batch row) in Y; in rows of `hidden`. */
static int64_t OF(state_row)(const struct OF(run) * run, int64_t b)
{
    return run->p->batch_first ? b * run->p->directions + run->direction : run->direction * run->s.batch + b;
}

static int64_t OF(result_row)(const struct OF(run) * run, int64_t step, int64_t b)
{
    const int64_t d = run->p->directions;
    return run->p->batch_first ? (b * run->s.steps + step) * d + run->direction
                               : (step * d + run->direction) * run->s.batch + b;
}

static void OF(clip)(const struct OF(run) * run, T *x, int64_t n)
{
    const T limit = run->p->clip;
    for (int64_t i = 0; limit > (T)0.0 && i < n; i++) {
        x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
    }
}

/* gate = OF(clip)(xw + hr + both biases + peephole * c), activated; in place of hr. */
static T *OF(gate)(
    const struct OF(run) * run, int index, const T *xw, T *hr, const T *peep, const T *c, const struct sc_activation *f)
{
    const int64_t n = run->s.hidden;
    const int64_t at = index * n;
    for (int64_t i = 0; i < n; i++) {
        T sum = xw[at + i] + hr[at + i] + run->r.bias[at + i] + run->r.bias[run->gates + at + i];
        sum += peep ? peep[i] * c[i] : (T)0.0;
        hr[at + i] = sum;
    }
    OF(clip)(run, hr + at, n);
    OF(activate)(run->k, f, hr + at, n);
    return hr + at;
}

static void OF(step_lstm)(const struct OF(run) * run, int64_t b, const T *xw)
{
    const int64_t n = run->s.hidden;
    const struct sc_activation *f = run->p->f[run->direction];
    T *hr = run->r.hr + b * run->gates;
    T *h = run->r.h + b * n;
    T *c = run->r.c + b * n;
    const T *peep = sc_call_in(run->call, SC_RNN_P) ? run->r.peep : NULL;
    const T *in = OF(gate)(run, 0, xw, hr, peep, c, &f[0]);
    const T *cell = OF(gate)(run, 3, xw, hr, NULL, NULL, &f[1]);
    const T *forget = run->p->input_forget ? NULL : OF(gate)(run, 2, xw, hr, peep ? peep + 2 * n : NULL, c, &f[0]);
    for (int64_t i = 0; i < n; i++) {
        c[i] = (forget ? forget[i] : (T)1.0 - in[i]) * c[i] + in[i] * cell[i];
    }
    const T *out = OF(gate)(run, 1, xw, hr, peep ? peep + n : NULL, c, &f[0]);
    memcpy(h, c, (size_t)n * sizeof(T));
    OF(activate)(run->k, &f[2], h, n);
    for (int64_t i = 0; i < n; i++) {
        h[i] *= out[i];
    }
}

static void OF(step_rnn)(const struct OF(run) * run, int64_t b, const T *xw)
{
    T *hr = run->r.hr + b * run->gates;
    const T *h = OF(gate)(run, 0, xw, hr, NULL, NULL, &run->p->f[run->direction][0]);
    memcpy(run->r.h + b * run->s.hidden, h, (size_t)run->s.hidden * sizeof(T));
}

/* The first half of a GRU step: update and reset gates; the reset state for the last product. */
static void OF(open_gru)(const struct OF(run) * run, int64_t b, const T *xw)
{
    const int64_t n = run->s.hidden;
    const struct sc_activation *f = run->p->f[run->direction];
    T *hr = run->r.hr + b * run->gates;
    OF(gate)(run, 0, xw, hr, NULL, NULL, &f[0]);
    const T *reset = OF(gate)(run, 1, xw, hr, NULL, NULL, &f[0]);
    for (int64_t i = 0; i < n; i++) {
        run->r.reset[b * n + i] = reset[i] * run->r.h[b * n + i];
    }
}

static void OF(close_gru)(const struct OF(run) * run, int64_t b, const T *xw)
{
    const int64_t n = run->s.hidden;
    const T *update = run->r.hr + b * run->gates;
    const T *reset = update + n;
    const T *own_bias = run->r.bias + 2 * n;
    const T *state_bias = run->r.bias + run->gates + 2 * n;
    T *last = run->r.last + b * n;
    T *h = run->r.h + b * n;
    for (int64_t i = 0; i < n; i++) {
        last[i] = run->p->reset_last
            ? xw[2 * n + i] + reset[i] * (run->r.hr[b * run->gates + 2 * n + i] + state_bias[i]) + own_bias[i]
            : xw[2 * n + i] + last[i] + state_bias[i] + own_bias[i];
    }
    OF(clip)(run, last, n);
    OF(activate)(run->k, &run->p->f[run->direction][1], last, n);
    for (int64_t i = 0; i < n; i++) {
        h[i] = ((T)1.0 - update[i]) * last[i] + update[i] * h[i];
    }
}

static int64_t OF(length_of)(const struct OF(run) * run, int64_t b)
{
    const struct sc_tensor *lengths = sc_call_in(run->call, SC_RNN_LENGTHS);
    return lengths ? sc_index_at(lengths, b) : run->s.steps;
}

/* Time of step number `step` in batch row b; -1 when the row has ended. */
static int64_t OF(time_of)(const struct OF(run) * run, int64_t b, int64_t step)
{
    const int64_t length = OF(length_of)(run, b);
    return step >= length ? -1 : run->backwards ? length - 1 - step : step;
}

static const T *OF(inputs_of)(const struct OF(run) * run, int64_t b, int64_t time)
{
    const int64_t row = run->p->batch_first ? b * run->s.steps + time : time * run->s.batch + b;
    return run->r.xw + row * run->gates;
}

static void OF(run_step)(const struct OF(run) * run, int64_t step)
{
    const struct sc_tensor *y = sc_call_out(run->call, 0);
    const int64_t n = run->s.hidden;
    OF(multiply)(run, run->r.h, run->s.batch, n, run->packed.r, run->r.hr, run->gates);
    for (int64_t b = 0; run->p->cell == SC_CELL_GRU && b < run->s.batch; b++) {
        const int64_t time = OF(time_of)(run, b, step);
        if (time >= 0) {
            OF(open_gru)(run, b, OF(inputs_of)(run, b, time));
        }
    }
    if (has_last(run->p)) {
        OF(multiply)(run, run->r.reset, run->s.batch, n, run->packed.last, run->r.last, n);
    }
    for (int64_t b = 0; b < run->s.batch; b++) {
        const int64_t time = OF(time_of)(run, b, step);
        if (time < 0) {
            continue;
        }
        const T *xw = OF(inputs_of)(run, b, time);
        if (run->p->cell == SC_CELL_LSTM) {
            OF(step_lstm)(run, b, xw);
        } else if (run->p->cell == SC_CELL_GRU) {
            OF(close_gru)(run, b, xw);
        } else {
            OF(step_rnn)(run, b, xw);
        }
        if (y) {
            sc_convert(TYPE, run->r.h + b * n, y->type,
                sc_at(y->data, OF(result_row)(run, time, b) * n, sc_type_bytes(y->type)), n, 0);
        }
    }
}

static void OF(find_packed)(struct OF(run) * run)
{
    const int64_t n = run->s.hidden;
    if (run->call->choice) {
        run->packed = packed_at(run->p, run->s.input, n, run->call->packed, run->direction);
        return;
    }
    run->packed = (struct packed){run->r.packed_w, run->r.packed_r, run->r.packed_last};
    OF(pack)(run, SC_RNN_W, 0, run->gates, run->s.input, run->packed.w);
    OF(pack)(run, SC_RNN_R, 0, run->gates, n, run->packed.r);
    if (has_last(run->p)) {
        OF(pack)(run, SC_RNN_R, 2 * n, n, n, run->packed.last);
    }
}

static void OF(run_direction)(struct OF(run) * run)
{
    const struct sc_call *call = run->call;
    const int64_t n = run->s.hidden;
    const size_t state = (size_t)(run->s.batch * n) * sizeof(T);
    run->backwards = run->p->reverse || run->direction == 1;
    OF(find_packed)(run);
    OF(multiply)(run, run->r.x, run->s.steps * run->s.batch, run->s.input, run->packed.w, run->r.xw, run->gates);
    OF(load)(sc_call_in(call, SC_RNN_B), run->direction * 2 * run->gates, 2 * run->gates, run->r.bias);
    OF(load)
    (run->p->cell == SC_CELL_LSTM ? sc_call_in(call, SC_RNN_P) : NULL, run->direction * 3 * n, 3 * n, run->r.peep);
    memset(run->r.reset, 0, state);
    for (int64_t b = 0; b < run->s.batch; b++) {
        OF(load)(sc_call_in(call, SC_RNN_H), OF(state_row)(run, b) * n, n, run->r.h + b * n);
        OF(load)
        (run->p->cell == SC_CELL_LSTM ? sc_call_in(call, SC_RNN_C) : NULL, OF(state_row)(run, b) * n, n,
            run->r.c + b * n);
    }
    for (int64_t step = 0; step < run->s.steps; step++) {
        OF(run_step)(run, step);
    }
    for (int o = 1; o < 3; o++) {
        const struct sc_tensor *out = sc_call_out(call, o);
        for (int64_t b = 0; out && b < run->s.batch; b++) {
            sc_convert(TYPE, (o == 1 ? run->r.h : run->r.c) + b * n, out->type,
                sc_at(out->data, OF(state_row)(run, b) * n, sc_type_bytes(out->type)), n, 0);
        }
    }
}

static void OF(recurrent)(const struct sc_call *call, const struct sc_recurrent_sizes *sizes)
{
    const struct sc_recurrent_params *p = call->params;
    const struct sc_tensor *x = sc_call_in(call, SC_RNN_X);
    struct OF(run) run = {.call = call, .p = p, .k = call->kernels, .s = *sizes, .gates = p->gates * sizes->hidden};
    run.r = OF(cut_rooms)(call, &run.s, call->scratch);
    OF(load)(x, 0, sc_tensor_count(x), run.r.x);
    for (run.direction = 0; run.direction < p->directions; run.direction++) {
        OF(run_direction)(&run);
    }
}

#undef T
#undef TYPE
#undef OF
#undef EXPM1
#undef FABS
