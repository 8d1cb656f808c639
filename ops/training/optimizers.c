/* SPDX-License-Identifier: Apache-2.0
 * One step of Adagrad, Adam and Momentum. Inputs are R, T and then lists of n tensors each: values, gradients, and one
 * or two states; outputs are the lists of new values and new states. In double, rounded once. */
#include <math.h>
#include <string.h>

#include "ops/shape/shape.h"
#include "ops/training/rows.h"
#include "tensor/convert.h"

#define TILE 256 /* elements computed at a time */
#define PART_ELEMENTS 4096
#define MAX_LISTS 4

/* What a step does to TILE elements or fewer: x and its states are rewritten in place. */
struct tile {
    int n;
    double x[TILE], gradient[TILE], state[2][TILE];
};

struct params;
typedef void step_fn(const struct params *p, double rate, struct tile *tile);

struct params {
    step_fn *step;
    int n_lists; /* of inputs; the gradients are no output */
    float norm, norm_post, alpha, beta, epsilon, decay;
    bool nesterov;
};

struct job {
    const struct params *p;
    double rate;
    const struct sc_tensor *in[MAX_LISTS], *out[MAX_LISTS - 1];
};

static void regularize(double norm, struct tile *t)
{
    for (int i = 0; i < t->n; i++) {
        t->gradient[i] += norm * t->x[i];
    }
}

static void step_adagrad(const struct params *p, double rate, struct tile *t)
{
    for (int i = 0; i < t->n; i++) {
        const double g = t->gradient[i];
        t->state[0][i] += g * g;
        t->x[i] -= rate * g / (sqrt(t->state[0][i]) + (double)p->epsilon);
    }
}

static void step_adam(const struct params *p, double rate, struct tile *t)
{
    const double alpha = (double)p->alpha, beta = (double)p->beta;
    for (int i = 0; i < t->n; i++) {
        const double g = t->gradient[i];
        double *v = &t->state[0][i], *h = &t->state[1][i];
        *v = alpha * *v + (1.0 - alpha) * g;
        *h = beta * *h + (1.0 - beta) * g * g;
        t->x[i] = (1.0 - (double)p->norm_post) * (t->x[i] - rate * *v / (sqrt(*h) + (double)p->epsilon));
    }
}

static void step_momentum(const struct params *p, double rate, struct tile *t)
{
    const double alpha = (double)p->alpha;
    for (int i = 0; i < t->n; i++) {
        const double g = t->gradient[i];
        double *v = &t->state[0][i];
        *v = alpha * *v + (double)p->beta * g;
        t->x[i] -= rate * (p->nesterov ? g + alpha * *v : *v);
    }
}

static enum sc_status params_optimizer(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    const bool momentum = strcmp(node->op, "Momentum") == 0;
    p->step = momentum ? step_momentum : strcmp(node->op, "Adam") == 0 ? step_adam : step_adagrad;
    p->n_lists = p->step == step_adam ? 4 : 3;
    SC_TRY(sc_node_float(node, "norm_coefficient", 0.0F, &p->norm));
    SC_TRY(sc_node_float(node, "norm_coefficient_post", 0.0F, &p->norm_post));
    SC_TRY(sc_node_float(node, "alpha", 0.9F, &p->alpha));
    SC_TRY(sc_node_float(node, "beta", 0.999F, &p->beta));
    SC_TRY(sc_node_float(node, "epsilon", 1e-6F, &p->epsilon));
    SC_TRY(sc_node_float(node, "decay_factor", 0.0F, &p->decay));
    if (momentum) {
        const char *mode;
        SC_TRY(sc_node_text(node, "mode", "standard", &mode));
        p->nesterov = strcmp(mode, "nesterov") == 0;
        if (!p->nesterov && strcmp(mode, "standard") != 0) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "mode is '%s', want standard or nesterov", mode);
        }
    }
    if ((node->n_in - 2) % p->n_lists != 0 || node->n_out > (node->n_in - 2) / p->n_lists * (p->n_lists - 1)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "has %d inputs after R and T and %d outputs, want %d and %d for each tensor", node->n_in - 2, node->n_out,
            p->n_lists, p->n_lists - 1);
    }
    return SC_OK;
}

/* The input whose shape and type output o has: values and states, without the gradients between them. */
static int input_of(const struct params *p, int n_in, int o)
{
    const int n = (n_in - 2) / p->n_lists;
    return o < n ? 2 + o : 2 + n + o;
}

static enum sc_status check_scalar(const struct sc_infer *infer, int input, const char *name)
{
    const struct sc_fact *fact = infer->in[input];
    const int64_t count = fact->rank < 0 ? SC_DIM_UNKNOWN : sc_fact_product(fact, 0, fact->rank);
    return count < 0 || count == 1
        ? SC_OK
        : sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "%s has %lld elements, want 1", name, (long long)count);
}

static enum sc_status infer_optimizer(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    static const char *const names[MAX_LISTS] = {"a value", "a gradient", "a state", "a second state"};
    SC_TRY(sc_infer_needs(infer, infer->n_in));
    SC_TRY(check_scalar(infer, 0, "R"));
    SC_TRY(check_scalar(infer, 1, "T"));
    const int n = (infer->n_in - 2) / p->n_lists;
    for (int i = 2 + n; i < infer->n_in; i++) {
        const struct sc_fact *x = infer->in[2 + (i - 2) % n];
        if (x->type != SC_TYPE_NONE && infer->in[i]->type != SC_TYPE_NONE && infer->in[i]->type != x->type) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "%s has type %s, want %s as its value",
                names[(i - 2) / n], sc_type_name(infer->in[i]->type), sc_type_name(x->type));
        }
        if (x->rank >= 0) {
            SC_TRY(sc_infer_want(infer, i, names[(i - 2) / n], x->rank, x->dims));
        }
    }
    for (int o = 0; o < infer->n_out; o++) {
        const struct sc_fact *like = infer->in[input_of(p, infer->n_in, o)];
        sc_infer_shape_of(infer, o, like, like->type);
    }
    return SC_OK;
}

static void step_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const enum sc_type type = job->in[0]->type;
    const size_t bytes = sc_type_bytes(type);
    const int64_t count = sc_tensor_count(job->in[0]);
    const int64_t end = (part + 1) * PART_ELEMENTS < count ? (part + 1) * PART_ELEMENTS : count;
    const struct params *p = job->p;
    struct tile tile;
    double *const lists[MAX_LISTS] = {tile.x, tile.gradient, tile.state[0], tile.state[1]};
    double *const results[MAX_LISTS - 1] = {tile.x, tile.state[0], tile.state[1]};
    for (int64_t at = part * PART_ELEMENTS; at < end; at += TILE) {
        tile.n = (int)(end - at < TILE ? end - at : TILE);
        for (int l = 0; l < p->n_lists; l++) {
            sc_convert(type, sc_const_at(job->in[l]->data, at, bytes), SC_F64, lists[l], tile.n, 0);
        }
        regularize((double)p->norm, &tile);
        p->step(p, job->rate, &tile);
        for (int l = 0; l < p->n_lists - 1; l++) {
            if (job->out[l]) {
                sc_convert(SC_F64, results[l], type, sc_at(job->out[l]->data, at, bytes), tile.n, 0);
            }
        }
    }
}

/* The learning rate of this step, from R and T. */
static double rate_of(const struct sc_call *call, const struct params *p, int64_t step)
{
    const struct sc_tensor *r = sc_call_in(call, 0);
    double rate;
    sc_convert(r->type, r->data, SC_F64, &rate, 1, 0);
    if (p->step == step_adagrad) {
        return rate / (1.0 + (double)step * (double)p->decay);
    }
    if (p->step == step_adam && step > 0) {
        return rate * sqrt(1.0 - pow((double)p->beta, (double)step)) / (1.0 - pow((double)p->alpha, (double)step));
    }
    return rate;
}

static void run_optimizer(const struct sc_call *call)
{
    struct params p = *(const struct params *)call->params;
    const int64_t step = sc_index_at(sc_call_in(call, 1), 0);
    const int n = (call->n_in - 2) / p.n_lists;
    struct job job = {.p = &p, .rate = rate_of(call, &p, step)};
    if (p.step == step_momentum && step <= 0) {
        p.beta = 1.0F; /* the first gradient counts whole */
    }
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < p.n_lists; l++) {
            job.in[l] = sc_call_in(call, 2 + l * n + i);
        }
        for (int l = 0; l < p.n_lists - 1; l++) {
            job.out[l] = sc_call_out(call, l * n + i);
        }
        sc_team_for(call->team, sc_parts(sc_tensor_count(job.in[0]), PART_ELEMENTS), step_part, &job);
    }
}

#define ROW(op)                                                                                                        \
    {                                                                                                                  \
        .domain = "ai.onnx.preview.training", .name = (op), .since = 1, .flags = SC_OP_PURE,                           \
        .params = params_optimizer, .infer = infer_optimizer, .run = run_optimizer                                     \
    }

const struct sc_op sc_ops_training_optimizers[] = {ROW("Adagrad"), ROW("Adam"), ROW("Momentum"), {.name = NULL}};
