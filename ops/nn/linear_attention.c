/* SPDX-License-Identifier: Apache-2.0
 * Operators whose state is a sum and not a cache: LinearAttention and CausalConvWithState. States advance one token at
 * a time, in order, so that a prompt in pieces gives the bits of the prompt at once. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/nn/norm.h"
#include "ops/shape/shape.h"

enum input { QUERY, KEY, VALUE, PAST, DECAY, BETA };

struct params {
    int64_t q_heads, kv_heads;
    float scale;
    bool gated, delta;
};

static enum sc_status params_linear(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    const char *rule;
    SC_TRY(sc_node_int(node, "q_num_heads", 0, &p->q_heads));
    SC_TRY(sc_node_int(node, "kv_num_heads", 0, &p->kv_heads));
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    SC_TRY(sc_node_text(node, "update_rule", "gated_delta", &rule));
    p->gated = strncmp(rule, "gated", 5) == 0;
    p->delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    if (!p->delta && strcmp(rule, "gated") != 0 && strcmp(rule, "linear") != 0) {
        return sc_node_fail(
            graph, node, SC_BAD_MODEL, "update_rule is '%s', want linear, gated, delta or gated_delta", rule);
    }
    if (p->q_heads < 1 || p->kv_heads < 1 || p->q_heads % p->kv_heads != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "%lld query heads cannot share %lld key heads",
            (long long)p->q_heads, (long long)p->kv_heads);
    }
    return SC_OK;
}

static bool dims_fit(const struct sc_fact *fact, int rank, const int64_t *want)
{
    bool fits = !fact || fact->rank < 0 || fact->rank == rank;
    for (int i = 0; fits && fact && i < fact->rank; i++) {
        fits = fact->dims[i] < 0 || want[i] < 0 || fact->dims[i] == want[i];
    }
    return fits;
}

static int64_t per_head(const struct sc_fact *fact, int64_t heads)
{
    return fact->rank == 3 && fact->dims[2] >= 0 && fact->dims[2] % heads == 0 ? fact->dims[2] / heads : SC_DIM_UNKNOWN;
}

static enum sc_status check_width(const struct sc_infer *infer, int input, const char *name, int64_t heads)
{
    const struct sc_fact *fact = infer->in[input];
    if (fact->rank == 3 && fact->dims[2] >= 0 && fact->dims[2] % heads != 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s of width %lld cannot be cut in %lld heads",
            name, (long long)fact->dims[2], (long long)heads);
    }
    return SC_OK;
}

/* decay and beta are there where the update_rule has them, and nowhere else. */
static enum sc_status check_gate(const struct sc_infer *infer, int input, const char *name, bool wanted)
{
    if ((sc_infer_in(infer, input) != NULL) == wanted) {
        return SC_OK;
    }
    return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "the update_rule %s %s",
        wanted ? "needs an input" : "does not take the input", name);
}

static enum sc_status infer_linear(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *q = infer->in[QUERY];
    const struct sc_fact *decay = sc_infer_in(infer, DECAY);
    const struct sc_fact *beta = sc_infer_in(infer, BETA);
    const int64_t batch = q->rank == 3 ? q->dims[0] : SC_DIM_UNKNOWN;
    const int64_t steps = q->rank == 3 ? q->dims[1] : SC_DIM_UNKNOWN;
    const int64_t k_width = per_head(infer->in[KEY], p->kv_heads);
    const int64_t v_width = per_head(infer->in[VALUE], p->kv_heads);
    const int64_t q_dims[3] = {batch, steps, k_width >= 0 ? k_width * p->q_heads : SC_DIM_UNKNOWN};
    const int64_t k_dims[3] = {batch, steps, k_width >= 0 ? k_width * p->kv_heads : SC_DIM_UNKNOWN};
    const int64_t v_dims[3] = {batch, steps, v_width >= 0 ? v_width * p->kv_heads : SC_DIM_UNKNOWN};
    const int64_t state[4] = {batch, p->kv_heads, k_width, v_width};
    const int64_t heads[3] = {batch, steps, p->kv_heads};
    const int64_t one[3] = {batch, steps, 1};
    SC_TRY(check_gate(infer, DECAY, "decay", p->gated));
    SC_TRY(check_gate(infer, BETA, "beta", p->delta));
    SC_TRY(check_width(infer, KEY, "key", p->kv_heads));
    SC_TRY(check_width(infer, VALUE, "value", p->kv_heads));
    SC_TRY(sc_infer_want(infer, QUERY, "query", 3, q_dims));
    SC_TRY(sc_infer_want(infer, KEY, "key", 3, k_dims));
    SC_TRY(sc_infer_want(infer, VALUE, "value", 3, v_dims));
    SC_TRY(sc_infer_want(infer, PAST, "past_state", 4, state));
    SC_TRY(sc_infer_want(infer, DECAY, "decay", 3, dims_fit(decay, 3, heads) ? heads : k_dims));
    SC_TRY(sc_infer_want(infer, BETA, "beta", 3, dims_fit(beta, 3, one) ? one : heads));
    const int64_t y_dims[3] = {batch, steps, v_width >= 0 ? v_width * p->q_heads : SC_DIM_UNKNOWN};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], q->type, 3, y_dims);
    }
    if (sc_infer_out(infer, 1)) {
        sc_fact_tensor(infer->out[1], sc_infer_in(infer, PAST) ? sc_infer_type(infer, PAST) : q->type, 4, state);
    }
    return SC_OK;
}

struct job {
    const struct sc_call *call;
    const struct params *p;
    int64_t batch, steps, k_width, v_width;
    float scale;
    float *rooms; /* per worker: state, then rows */
    size_t room_floats;
};

static void open_job(const struct sc_call *call, struct job *job)
{
    const struct params *p = call->params;
    const struct sc_tensor *k = sc_call_in(call, KEY);
    job->call = call;
    job->p = p;
    job->batch = k->dims[0];
    job->steps = k->dims[1];
    job->k_width = k->dims[2] / p->kv_heads;
    job->v_width = sc_call_in(call, VALUE)->dims[2] / p->kv_heads;
    job->scale = p->scale != 0.0F ? p->scale : (float)(1.0 / sqrt((double)job->k_width));
    job->rooms = call->scratch;
    job->room_floats = (size_t)((job->k_width + 3) * job->v_width + 3 * job->k_width + 64) / 16 * 16;
}

static size_t scratch_linear(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    return job.room_floats * sizeof(float) * (size_t)sc_team_size(call->team);
}

/* `n` elements of an input's row as f32. */
static const float *read_row(const struct job *job, int input, int64_t at, int64_t n, float *room)
{
    const struct sc_tensor *t = sc_call_in(job->call, input);
    return sc_norm_widen(job->call->kernels, t->type, sc_const_at(t->data, at, sc_type_bytes(t->type)), room, n);
}

/* exp(decay) of each key dimension, in `room`. */
static const float *read_decay(const struct job *job, int64_t token, int64_t head, float *room)
{
    const struct sc_tensor *t = sc_call_in(job->call, DECAY);
    const bool each = t->dims[2] != job->p->kv_heads || job->k_width == 1;
    const int64_t n = each ? job->k_width : 1;
    const float *g = read_row(job, DECAY, token * t->dims[2] + head * n, n, room);
    float widened[1];
    if (!each) {
        widened[0] = *g;
        job->call->kernels->unary[SC_UNARY_exp](widened, widened, 1);
        for (int64_t d = 0; d < job->k_width; d++) {
            room[d] = widened[0];
        }
        return room;
    }
    job->call->kernels->unary[SC_UNARY_exp](g, room, n);
    return room;
}

/* state[d] = exp(g)[d] * state[d] + k[d] * v, v corrected by what the state already says of k. */
static void update_state(const struct job *job, int64_t token, int64_t head, float *state, float *rows)
{
    const struct sc_kernels *kernels = job->call->kernels;
    const int64_t nk = job->k_width;
    const int64_t nv = job->v_width;
    float *v = rows + 2 * nk;
    float *seen = v + nv;
    const float *k = read_row(job, KEY, (token * job->p->kv_heads + head) * nk, nk, rows);
    const float *value = read_row(job, VALUE, (token * job->p->kv_heads + head) * nv, nv, v);
    if (job->p->gated) {
        const float *decay = read_decay(job, token, head, rows + nk);
        for (int64_t d = 0; d < nk; d++) {
            kernels->scale(state + d * nv, decay[d], state + d * nv, nv);
        }
    }
    if (job->p->delta) {
        const struct sc_tensor *t = sc_call_in(job->call, BETA);
        float narrow;
        const float *beta = read_row(job, BETA, token * t->dims[2] + (t->dims[2] == 1 ? 0 : head), 1, &narrow);
        memset(seen, 0, (size_t)nv * sizeof(float));
        for (int64_t d = 0; d < nk; d++) {
            kernels->axpy(k[d], state + d * nv, seen, nv);
        }
        kernels->binary[SC_BINARY_sub](value, 1, seen, 1, v, nv);
        kernels->scale(v, *beta, v, nv);
        value = v;
    }
    for (int64_t d = 0; d < nk; d++) {
        kernels->axpy(k[d], value, state + d * nv, nv);
    }
}

/* A part is one key head of one batch row: all its tokens in order. */
static void linear_part(void *arg, int64_t part, int worker)
{
    const struct job *job = arg;
    const struct params *p = job->p;
    const struct sc_kernels *kernels = job->call->kernels;
    const struct sc_tensor *y = sc_call_out(job->call, 0);
    const struct sc_tensor *present = sc_call_out(job->call, 1);
    const int64_t nk = job->k_width;
    const int64_t nv = job->v_width;
    const int64_t group = p->q_heads / p->kv_heads;
    const int64_t head = part % p->kv_heads;
    float *state = job->rooms + (size_t)worker * job->room_floats;
    float *rows = state + nk * nv;
    float *sum = rows + 2 * nk + 2 * nv;
    memset(state, 0, (size_t)(nk * nv) * sizeof(float));
    if (sc_call_in(job->call, PAST)) {
        const float *past = read_row(job, PAST, part * nk * nv, nk * nv, state);
        memmove(state, past, (size_t)(nk * nv) * sizeof(float));
    }
    for (int64_t t = 0; t < job->steps; t++) {
        const int64_t token = part / p->kv_heads * job->steps + t;
        update_state(job, token, head, state, rows);
        for (int64_t h = head * group; y && h < (head + 1) * group; h++) {
            const float *q = read_row(job, QUERY, (token * p->q_heads + h) * nk, nk, rows);
            memset(sum, 0, (size_t)nv * sizeof(float));
            for (int64_t d = 0; d < nk; d++) {
                kernels->axpy(q[d], state + d * nv, sum, nv);
            }
            kernels->scale(sum, job->scale, sum, nv);
            sc_norm_narrow(
                kernels, y->type, sum, sc_at(y->data, (token * p->q_heads + h) * nv, sc_type_bytes(y->type)), nv);
        }
    }
    if (present) {
        sc_norm_narrow(
            kernels, present->type, state, sc_at(present->data, part * nk * nv, sc_type_bytes(present->type)), nk * nv);
    }
}

static void run_linear(const struct sc_call *call)
{
    struct job job;
    open_job(call, &job);
    sc_team_for(call->team, job.batch * job.p->kv_heads, linear_part, &job);
}

struct conv_params {
    bool silu;
    int64_t dilation; /* com.microsoft: positions between taps */
};

/* What the page of com.microsoft adds and has another layout for. */
static enum sc_status params_wider_conv(const struct sc_graph *graph, const struct sc_node *node, struct conv_params *p)
{
    static const struct {
        const char *name;
        int64_t wanted;
    } fixed[] = {{"ndim", 1}, {"channels_last", 0}, {"state_window", 0}, {"state_update_capacity", 0},
        {"state_channels_last", -1}, {"state_length", 0}, {"input_channel_offset", 0}, {"input_channels", 0}};
    SC_TRY(sc_node_int(node, "dilation", 1, &p->dilation));
    if (p->dilation < 1 || p->dilation > INT32_MAX) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "dilation is %lld, want 1 or more", (long long)p->dilation);
    }
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        int64_t value;
        SC_TRY(sc_node_int(node, fixed[i].name, fixed[i].wanted, &value));
        if (value != fixed[i].wanted) {
            return sc_node_fail(graph, node, SC_UNSUPPORTED, "%s is %lld, want %lld", fixed[i].name, (long long)value,
                (long long)fixed[i].wanted);
        }
    }
    return SC_OK;
}

static enum sc_status params_conv(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct conv_params), params));
    const char *activation;
    SC_TRY(sc_node_text(node, "activation", "none", &activation));
    SC_TRY(params_wider_conv(graph, node, *params));
    const bool silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
    ((struct conv_params *)*params)->silu = silu;
    return silu || strcmp(activation, "none") == 0
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL, "activation is '%s', want none, silu or swish", activation);
}

enum conv_input { INPUT, WEIGHT, BIAS, STATE };

static enum sc_status infer_conv(struct sc_infer *infer)
{
    SC_TRY(sc_infer_needs(infer, 2));
    const struct sc_fact *x = infer->in[INPUT];
    const struct sc_fact *w = infer->in[WEIGHT];
    const int64_t channels = x->rank == 3 ? x->dims[1] : SC_DIM_UNKNOWN;
    const int64_t kernel = w->rank == 3 ? w->dims[2] : SC_DIM_UNKNOWN;
    const int64_t x_dims[3] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    const int64_t w_dims[3] = {channels, 1, SC_DIM_UNKNOWN};
    const struct conv_params *p = infer->params;
    const int64_t span = kernel > 0 ? (kernel - 1) * p->dilation : kernel; /* positions before the current one */
    const int64_t state[3] = {x->rank == 3 ? x->dims[0] : SC_DIM_UNKNOWN, channels, span};
    SC_TRY(sc_infer_want(infer, INPUT, "input", 3, x_dims));
    SC_TRY(sc_infer_want(infer, WEIGHT, "weight", 3, w_dims));
    SC_TRY(sc_infer_want(infer, BIAS, "bias", 1, &channels));
    SC_TRY(sc_infer_want(infer, STATE, "past_state", 3, state));
    if (kernel == 0) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "weight has a kernel of 0, want 1 or more");
    }
    sc_infer_shape_of(infer, 0, x, x->type);
    if (sc_infer_out(infer, 1)) {
        sc_fact_tensor(infer->out[1], x->type, 3, state);
    }
    return SC_OK;
}

static int64_t conv_span(const struct sc_call *call)
{
    return (sc_call_in(call, WEIGHT)->dims[2] - 1) * ((const struct conv_params *)call->params)->dilation;
}

/* Per worker: past and input of a channel, the results, the kernel. */
static size_t conv_room_floats(const struct sc_call *call)
{
    const int64_t kernel = sc_call_in(call, WEIGHT)->dims[2];
    return (size_t)(2 * sc_call_in(call, INPUT)->dims[2] + conv_span(call) + kernel + 31) / 16 * 16;
}

static size_t scratch_conv(const struct sc_call *call)
{
    return conv_room_floats(call) * sizeof(float) * (size_t)sc_team_size(call->team);
}

/* A part is one channel of one batch row. */
static void conv_part(void *arg, int64_t part, int worker)
{
    const struct sc_call *call = arg;
    const struct sc_kernels *kernels = call->kernels;
    const struct sc_tensor *x = sc_call_in(call, INPUT);
    const struct sc_tensor *past = sc_call_in(call, STATE);
    const struct sc_tensor *bias = sc_call_in(call, BIAS);
    const struct sc_tensor *y = sc_call_out(call, 0);
    const struct sc_tensor *present = sc_call_out(call, 1);
    const size_t bytes = sc_type_bytes(x->type);
    const int64_t n = x->dims[2];
    const int64_t kernel = sc_call_in(call, WEIGHT)->dims[2];
    const int64_t span = conv_span(call);
    const int64_t dilation = ((const struct conv_params *)call->params)->dilation;
    const int64_t channel = part % x->dims[1];
    float *row = (float *)call->scratch + (size_t)worker * conv_room_floats(call);
    float *result = row + n + span;
    float *weights = result + n;
    memset(row, 0, (size_t)span * sizeof(float));
    if (past) {
        const void *from = sc_const_at(past->data, part * span, bytes);
        memmove(row, sc_norm_widen(kernels, x->type, from, row, span), (size_t)span * sizeof(float));
    }
    float *now = row + span;
    memmove(
        now, sc_norm_widen(kernels, x->type, sc_const_at(x->data, part * n, bytes), now, n), (size_t)n * sizeof(float));
    const float *w = sc_norm_widen(
        kernels, x->type, sc_const_at(sc_call_in(call, WEIGHT)->data, channel * kernel, bytes), weights, kernel);
    memset(result, 0, (size_t)n * sizeof(float));
    for (int64_t k = 0; k < kernel; k++) {
        kernels->axpy(w[k], row + k * dilation, result, n);
    }
    if (bias) {
        float narrow;
        const float *b = sc_norm_widen(kernels, x->type, sc_const_at(bias->data, channel, bytes), &narrow, 1);
        kernels->binary[SC_BINARY_add](result, 1, b, 0, result, n);
    }
    if (y && ((const struct conv_params *)call->params)->silu) { /* of the result as a value of the type */
        void *to = sc_at(y->data, part * n, bytes);
        sc_norm_narrow(kernels, x->type, result, to, n);
        memmove(result, sc_norm_widen(kernels, x->type, to, result, n), (size_t)n * sizeof(float));
        kernels->unary[SC_UNARY_silu](result, result, n);
    }
    if (y) {
        sc_norm_narrow(kernels, x->type, result, sc_at(y->data, part * n, bytes), n);
    }
    if (present) {
        sc_norm_narrow(kernels, x->type, row + n, sc_at(present->data, part * span, bytes), span);
    }
}

static void run_conv(const struct sc_call *call)
{
    const struct sc_tensor *x = sc_call_in(call, INPUT);
    struct sc_call copy = *call;
    sc_team_for(call->team, x->dims[0] * x->dims[1], conv_part, &copy);
}

const struct sc_op sc_ops_nn_linear_attention[] = {
    {.domain = "",
        .name = "LinearAttention",
        .since = 27,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_linear,
        .infer = infer_linear,
        .scratch = scratch_linear,
        .run = run_linear},
    {.domain = "",
        .name = "CausalConvWithState",
        .since = 27,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_conv,
        .infer = infer_conv,
        .scratch = scratch_conv,
        .run = run_conv},
    {.domain = "com.microsoft",
        .name = "CausalConvWithState",
        .since = 1,
        .flags = SC_OP_PURE | SC_OP_TICKS,
        .params = params_conv,
        .infer = infer_conv,
        .scratch = scratch_conv,
        .run = run_conv},
    {.name = NULL},
};
