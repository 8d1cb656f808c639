/* SPDX-License-Identifier: Apache-2.0
 * FlexAttention: attention whose scores and probabilities are given to bodies of the node on the way. Sums are in
 * double; scores and probabilities are rounded to the softmax's type, which is what the bodies see. */
#include <math.h>
#include <string.h>

#include "ops/nn/rows.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum body { SCORE, PROB, N_BODIES };

static const char *const body_names[N_BODIES] = {"score_mod", "prob_mod"};

struct params {
    const struct sc_graph *bodies[N_BODIES]; /* NULL: none */
    enum sc_type precision; /* NONE: as the inputs say */
    bool has_scale;
    float scale;
};

struct job {
    int64_t heads, kv_heads, L, S, width, v_width;
    double scale;
    const double *q, *k, *v;
    struct sc_tensor scores; /* [B, Hq, L, S]; probabilities afterwards */
    const struct sc_tensor *y;
};

static enum sc_status params_flex(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    int64_t precision;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->has_scale = sc_node_attribute(node, "scale") != NULL;
    SC_TRY(sc_node_float(node, "scale", 0.0F, &p->scale));
    SC_TRY(sc_node_int(node, "softmax_precision", SC_TYPE_NONE, &precision));
    p->precision = sc_type_valid(precision) ? (enum sc_type)precision : SC_TYPE_NONE;
    if (precision != SC_TYPE_NONE && !sc_type_is_float(p->precision)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "softmax_precision is %lld, want the number of a float type",
            (long long)precision);
    }
    for (int i = 0; i < N_BODIES; i++) {
        const struct sc_attribute *body = sc_node_attribute(node, body_names[i]);
        p->bodies[i] = body ? body->u.graph : NULL;
        if (body && (body->u.graph->n_inputs != 1 || body->u.graph->n_outputs != 1)) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "'%s' has %d inputs and %d outputs, want 1 and 1",
                body_names[i], body->u.graph->n_inputs, body->u.graph->n_outputs);
        }
    }
    return SC_OK;
}

static enum sc_type precision_of(const struct params *p, enum sc_type type)
{
    return p->precision != SC_TYPE_NONE ? p->precision : type == SC_F64 ? SC_F64 : SC_F32;
}

/* A body has to give what it takes. */
static enum sc_status infer_bodies(struct sc_infer *infer, const struct sc_fact *scores)
{
    const struct params *p = infer->params;
    for (int i = 0; i < N_BODIES; i++) {
        struct sc_fact out;
        if (!p->bodies[i]) {
            continue;
        }
        sc_fact_init(&out);
        SC_TRY(infer->infer_body(infer, p->bodies[i], &scores, &out));
        bool fits = out.type == SC_TYPE_NONE || out.type == scores->type;
        fits &= out.rank < 0 || out.rank == 4;
        for (int d = 0; d < 4 && fits && out.rank == 4; d++) {
            fits = out.dims[d] < 0 || scores->dims[d] < 0 || out.dims[d] == scores->dims[d];
        }
        if (!fits) {
            char have[128], want[128];
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "'%s' gives %s%s, want %s%s as it was given",
                body_names[i], sc_type_name(out.type), sc_dims_text(out.rank, out.dims, have, sizeof have),
                sc_type_name(scores->type), sc_dims_text(4, scores->dims, want, sizeof want));
        }
    }
    return SC_OK;
}

static enum sc_status infer_flex(struct sc_infer *infer)
{
    static const int64_t any[4] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_needs(infer, 3));
    const struct sc_fact *q = infer->in[0], *k = infer->in[1], *v = infer->in[2];
    SC_TRY(sc_infer_want(infer, 0, "Q", 4, any));
    const int64_t *q_dims = q->rank == 4 ? q->dims : any, *k_dims = k->rank == 4 ? k->dims : any;
    const int64_t want_k[4] = {q_dims[0], SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, q_dims[3]};
    SC_TRY(sc_infer_want(infer, 1, "K", 4, want_k));
    const int64_t want_v[4] = {q_dims[0], k_dims[1], k_dims[2], SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_want(infer, 2, "V", 4, want_v));
    if (q_dims[1] >= 0 && k_dims[1] >= 0 && (k_dims[1] == 0 ? q_dims[1] != 0 : q_dims[1] % k_dims[1] != 0)) {
        return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%lld heads of Q do not share %lld heads of K",
            (long long)q_dims[1], (long long)k_dims[1]);
    }
    const int64_t y_dims[4] = {q_dims[0], q_dims[1], q_dims[2], v->rank == 4 ? v->dims[3] : SC_DIM_UNKNOWN};
    const int64_t score_dims[4] = {q_dims[0], q_dims[1], q_dims[2], k_dims[2]};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], q->type, 4, y_dims);
    }
    if (q->type == SC_TYPE_NONE) {
        return SC_OK;
    }
    struct sc_fact scores;
    sc_fact_tensor(&scores, precision_of(infer->params, q->type), 4, score_dims);
    return infer_bodies(infer, &scores);
}

/* Head h of Q uses head h / (heads / kv_heads) of K and V. */
static int64_t kv_row(const struct job *job, int64_t head)
{
    const int64_t batch = head / job->heads, h = head % job->heads / (job->heads / job->kv_heads);
    return (batch * job->kv_heads + h) * job->S;
}

static void score_part(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const double *q = job->q + row * job->width, *k = job->k + kv_row(job, row / job->L) * job->width;
    for (int64_t s = 0; s < job->S; s++) {
        double sum = 0.0;
        for (int64_t d = 0; d < job->width; d++) {
            sum += q[d] * k[s * job->width + d];
        }
        sc_number_put(&job->scores, row * job->S + s, sum * job->scale);
    }
}

/* In place. A row that is masked whole gives NaN, as Softmax does. */
static void softmax_part(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t at = row * job->S;
    double most = -INFINITY, sum = 0.0;
    for (int64_t s = 0; s < job->S; s++) {
        const double x = sc_number_at(&job->scores, at + s);
        most = x > most || isnan(x) ? x : most;
    }
    for (int64_t s = 0; s < job->S; s++) {
        sum += exp(sc_number_at(&job->scores, at + s) - most);
    }
    for (int64_t s = 0; s < job->S; s++) {
        const double p = exp(sc_number_at(&job->scores, at + s) - most) / sum;
        sc_number_put(&job->scores, at + s, p);
    }
}

static void weigh_part(void *arg, int64_t row, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const double *v = job->v + kv_row(job, row / job->L) * job->v_width;
    for (int64_t d = 0; d < job->v_width; d++) {
        double sum = 0.0;
        for (int64_t s = 0; s < job->S; s++) {
            sum += sc_number_at(&job->scores, row * job->S + s) * v[s * job->v_width + d];
        }
        sc_number_put(job->y, row * job->v_width + d, sum);
    }
}

/* Scores become what the body makes of them. */
static enum sc_status modify(const struct sc_call *call, enum body which, struct job *job)
{
    const struct params *p = call->params;
    if (!p->bodies[which]) {
        return SC_OK;
    }
    const struct sc_value in = {.kind = SC_KIND_TENSOR, .u.tensor = job->scores};
    const struct sc_value *ins[1] = {&in};
    struct sc_value out = {0};
    SC_TRY(call->call_body(call, p->bodies[which], ins, &out));
    const struct sc_tensor *made = &out.u.tensor;
    if (out.kind != SC_KIND_TENSOR || made->type != job->scores.type || !sc_dims_equal(made, &job->scores)) {
        char have[160], want[160];
        return sc_node_fail(call->graph, call->node, SC_BAD_MODEL, "'%s' gives %s, want %s as it was given",
            body_names[which], sc_tensor_text(made, have, sizeof have),
            sc_tensor_text(&job->scores, want, sizeof want));
    }
    SC_TRY(sc_tensor_new(call->arena, made->type, 4, made->dims, &job->scores));
    sc_tensor_copy_dense(made, job->scores.data);
    return SC_OK;
}

static const double *widen(const struct sc_call *call, int input)
{
    const struct sc_tensor *x = sc_call_in(call, input);
    double *wide = sc_arena_array(call->arena, (size_t)sc_tensor_count(x), sizeof *wide);
    if (wide) {
        sc_convert(x->type, x->data, SC_F64, wide, sc_tensor_count(x), 0);
    }
    return wide;
}

static enum sc_status exec_flex(const struct sc_call *call)
{
    const struct params *p = call->params;
    const struct sc_tensor *q = sc_call_in(call, 0), *k = sc_call_in(call, 1), *v = sc_call_in(call, 2);
    struct sc_value *out = call->out[0];
    struct job job = {.heads = q->dims[1],
        .kv_heads = k->dims[1],
        .L = q->dims[2],
        .S = k->dims[2],
        .width = q->dims[3],
        .v_width = v->dims[3],
        .q = widen(call, 0),
        .k = widen(call, 1),
        .v = widen(call, 2)};
    job.scale = p->has_scale ? (double)p->scale : 1.0 / sqrt((double)(job.width > 0 ? job.width : 1));
    const int64_t score_dims[4] = {q->dims[0], job.heads, job.L, job.S};
    const int64_t y_dims[4] = {q->dims[0], job.heads, job.L, job.v_width};
    if (!job.q || !job.k || !job.v) {
        return SC_NO_MEMORY;
    }
    SC_TRY(sc_dims_check("the scores", SC_F64, 4, score_dims));
    SC_TRY(sc_tensor_new(call->arena, precision_of(p, q->type), 4, score_dims, &job.scores));
    out->kind = SC_KIND_TENSOR;
    SC_TRY(sc_tensor_new(call->arena, q->type, 4, y_dims, &out->u.tensor));
    job.y = &out->u.tensor;
    const int64_t n_rows = q->dims[0] * job.heads * job.L;
    sc_team_for(call->team, n_rows, score_part, &job);
    SC_TRY(modify(call, SCORE, &job));
    sc_team_for(call->team, n_rows, softmax_part, &job);
    SC_TRY(modify(call, PROB, &job));
    sc_team_for(call->team, n_rows, weigh_part, &job);
    return SC_OK;
}

const struct sc_op sc_ops_nn_flex_attention[] = {
    {.domain = "ai.onnx.preview",
        .name = "FlexAttention",
        .since = 1,
        .params = params_flex,
        .infer = infer_flex,
        .exec = exec_flex},
    {.name = NULL},
};
