/* SPDX-License-Identifier: Apache-2.0
 * Random numbers by counters: an element is a function of the seed, the node's index in the file, the sequence number
 * and its own index, and so the same on any ranks and threads. */
#include <math.h>
#include <string.h>

#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

#define PART_ELEMENTS 4096
#define TILE 256

enum draw { UNIFORM, NORMAL, BERNOULLI };

struct params {
    enum draw draw;
    enum sc_type type; /* NONE: that of the input */
    bool has_seed;
    float seed;
    double start, scale; /* low and high - low, or mean and scale */
    struct sc_ints shape;
    int64_t sample_size;
};

struct job {
    const struct params *p;
    const struct sc_tensor *in, *out;
    struct sc_random_key key;
    double *sums; /* of one row for each worker */
};

static enum sc_status check_type(const struct sc_graph *graph, const struct sc_node *node, const struct params *p)
{
    const enum sc_type type = p->type;
    const bool number = sc_type_is_float(type) && (type != SC_BF16 || node->version >= 22 || p->draw == BERNOULLI);
    const bool fits = strcmp(node->op, "Multinomial") == 0 ? type == SC_I32 || type == SC_I64
        : p->draw == BERNOULLI                             ? number || sc_type_is_int(type) || type == SC_BOOL
                                                           : number;
    return fits ? SC_OK
                : sc_node_fail(graph, node, SC_BAD_MODEL, "numbers of type %s cannot be drawn", sc_type_name(type));
}

static enum sc_status params_random(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    int64_t type;
    float start, end;
    const bool multinomial = strcmp(node->op, "Multinomial") == 0;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->draw = strncmp(node->op, "RandomNormal", 12) == 0 ? NORMAL
        : strcmp(node->op, "Bernoulli") == 0             ? BERNOULLI
                                                         : UNIFORM;
    p->has_seed = sc_node_attribute(node, "seed") != NULL;
    SC_TRY(sc_node_float(node, "seed", 0.0F, &p->seed));
    SC_TRY(sc_node_ints(node, "shape", &p->shape.n, &p->shape.values));
    SC_TRY(sc_node_int(node, "sample_size", 1, &p->sample_size));
    SC_TRY(sc_node_float(node, p->draw == NORMAL ? "mean" : "low", 0.0F, &start));
    SC_TRY(sc_node_float(node, p->draw == NORMAL ? "scale" : "high", 1.0F, &end));
    p->start = (double)start;
    p->scale = p->draw == NORMAL ? (double)end : (double)end - (double)start;
    const bool like = node->n_in == 1 && !multinomial && !sc_node_attribute(node, "dtype");
    SC_TRY(sc_node_int(node, "dtype", like ? SC_TYPE_NONE : multinomial ? SC_I32 : SC_F32, &type));
    if (like) {
        return SC_OK;
    }
    p->type = sc_type_valid(type) ? (enum sc_type)type : SC_TYPE_NONE;
    return check_type(graph, node, p);
}

static enum sc_status infer_random(struct sc_infer *infer)
{
    struct params p = *(const struct params *)infer->params;
    struct sc_fact *out = sc_infer_out(infer, 0);
    if (infer->n_in == 0) {
        if (p.shape.n > SC_MAX_RANK || sc_dims_check("the result", p.type, p.shape.n, p.shape.values) != SC_OK) {
            return sc_node_fail(infer->graph, infer->node, SC_BAD_MODEL, "shape is no shape, or too large");
        }
        if (out) {
            sc_fact_tensor(out, p.type, p.shape.n, p.shape.values);
        }
        return SC_OK;
    }
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    p.type = p.type == SC_TYPE_NONE ? in->type : p.type;
    if (p.type != SC_TYPE_NONE) {
        SC_TRY(check_type(infer->graph, infer->node, &p));
    }
    sc_infer_shape_of(infer, 0, in, p.type);
    return SC_OK;
}

static struct sc_random_key key_of(const struct sc_call *call)
{
    const struct params *p = call->params;
    struct sc_random_key key = call->random;
    if (p->has_seed) {
        uint32_t bits;
        memcpy(&bits, &p->seed, sizeof bits);
        key.seed = bits;
    }
    return key;
}

static void draw_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const struct params *p = job->p;
    const int64_t n = sc_tensor_count(job->out);
    const int64_t end = (part + 1) * PART_ELEMENTS < n ? (part + 1) * PART_ELEMENTS : n;
    const size_t bytes = sc_type_bytes(job->out->type);
    double x[TILE], p_of_one[TILE];
    for (int64_t at = part * PART_ELEMENTS; at < end; at += TILE) {
        const int64_t m = end - at < TILE ? end - at : TILE;
        if (p->draw == NORMAL) {
            sc_random_normals(&job->key, (uint64_t)at, m, x);
        } else {
            sc_random_uniforms(&job->key, (uint64_t)at, m, x);
        }
        if (p->draw == BERNOULLI) {
            const enum sc_type type = job->in->type;
            sc_convert(type, sc_const_at(job->in->data, at, sc_type_bytes(type)), SC_F64, p_of_one, m, 0);
        }
        for (int64_t i = 0; i < m; i++) {
            x[i] = p->draw == BERNOULLI ? x[i] < p_of_one[i] : p->start + p->scale * x[i];
        }
        sc_convert(SC_F64, x, job->out->type, sc_at(job->out->data, at, bytes), m, 0);
    }
}

static void run_random(const struct sc_call *call)
{
    struct job job = {.p = call->params, .in = sc_call_in(call, 0), .out = sc_call_out(call, 0), .key = key_of(call)};
    sc_team_for(call->team, sc_parts(sc_tensor_count(job.out), PART_ELEMENTS), draw_part, &job);
}

static enum sc_status resolve_bernoulli(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *in = sc_call_in(call, 0);
    for (int64_t i = 0; i < sc_tensor_count(in); i++) {
        const double p = sc_number_at(in, i);
        if (!(p >= 0.0 && p <= 1.0)) {
            return sc_node_fail(call->graph, call->node, SC_BAD_INPUT, "a probability is %g, want 0 to 1", p);
        }
    }
    return SC_OK;
}

static enum sc_status infer_multinomial(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    SC_TRY(sc_infer_needs(infer, 1));
    const struct sc_fact *in = infer->in[0];
    const int64_t any[2] = {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN};
    SC_TRY(sc_infer_want(infer, 0, "input", 2, any));
    if (p->sample_size < 1) {
        return sc_node_fail(
            infer->graph, infer->node, SC_BAD_MODEL, "sample_size is %lld, want 1 or more", (long long)p->sample_size);
    }
    const int64_t dims[2] = {in->rank == 2 ? in->dims[0] : SC_DIM_UNKNOWN, p->sample_size};
    if (sc_infer_out(infer, 0)) {
        sc_fact_tensor(infer->out[0], p->type, 2, dims);
    }
    return SC_OK;
}

static double largest(const struct sc_tensor *in, int64_t row)
{
    double most = -INFINITY;
    for (int64_t c = 0; c < in->dims[1]; c++) {
        const double x = sc_number_at(in, row * in->dims[1] + c);
        most = x > most || isnan(x) ? x : most;
    }
    return most;
}

static enum sc_status resolve_multinomial(const struct sc_call *call)
{
    SC_TRY(sc_resolve_by_infer(call));
    const struct sc_tensor *in = sc_call_in(call, 0);
    for (int64_t row = 0; row < in->dims[0]; row++) {
        if (!isfinite(largest(in, row))) {
            return sc_node_fail(
                call->graph, call->node, SC_BAD_INPUT, "row %lld has no outcome that can be drawn", (long long)row);
        }
    }
    return SC_OK;
}

static void multinomial_part(void *arg, int64_t row, int worker)
{
    const struct job *job = arg;
    const int64_t n_classes = job->in->dims[1], n_samples = job->out->dims[1];
    double *sums = job->sums + worker * n_classes;
    const double most = largest(job->in, row);
    double total = 0.0;
    for (int64_t c = 0; c < n_classes; c++) {
        total += exp(sc_number_at(job->in, row * n_classes + c) - most);
        sums[c] = total;
    }
    for (int64_t s = 0; s < n_samples; s++) {
        const int64_t i = row * n_samples + s;
        const double x = sc_random_uniform(&job->key, (uint64_t)i) * total;
        int64_t low = 0, high = n_classes - 1; /* the first class whose sum is past x */
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (sums[middle] > x) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        sc_number_put(job->out, i, (double)low);
    }
}

static size_t scratch_multinomial(const struct sc_call *call)
{
    return sizeof(double) * (size_t)sc_call_in(call, 0)->dims[1] * (size_t)sc_team_size(call->team);
}

static void run_multinomial(const struct sc_call *call)
{
    struct job job = {
        .in = sc_call_in(call, 0), .out = sc_call_out(call, 0), .key = key_of(call), .sums = call->scratch};
    sc_team_for(call->team, job.in->dims[0], multinomial_part, &job);
}

#define ROW(op, version)                                                                                               \
    {                                                                                                                  \
        .domain = "", .name = (op), .since = (version), .flags = SC_OP_RANDOM, .params = params_random,                \
        .infer = infer_random, .run = run_random                                                                       \
    }
#define BERNOULLI(version)                                                                                             \
    {                                                                                                                  \
        .domain = "", .name = "Bernoulli", .since = (version), .flags = SC_OP_RANDOM, .params = params_random,         \
        .infer = infer_random, .resolve = resolve_bernoulli, .run = run_random                                         \
    }
#define MULTINOMIAL(version)                                                                                           \
    {                                                                                                                  \
        .domain = "", .name = "Multinomial", .since = (version), .flags = SC_OP_RANDOM, .params = params_random,       \
        .infer = infer_multinomial, .scratch = scratch_multinomial, .resolve = resolve_multinomial,                    \
        .run = run_multinomial                                                                                         \
    }

const struct sc_op sc_ops_math_random[] = {
    BERNOULLI(15),
    BERNOULLI(22),
    MULTINOMIAL(7),
    MULTINOMIAL(22),
    ROW("RandomNormal", 1),
    ROW("RandomNormal", 22),
    ROW("RandomNormalLike", 1),
    ROW("RandomNormalLike", 22),
    ROW("RandomUniform", 1),
    ROW("RandomUniform", 22),
    ROW("RandomUniformLike", 1),
    ROW("RandomUniformLike", 22),
    {.name = NULL},
};
