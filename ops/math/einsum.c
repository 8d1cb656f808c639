/* SPDX-License-Identifier: Apache-2.0
 * Einsum: for each element of the output, the sum of products over the letters that it has not. Run two operands at a
 * time (einsum_pairs.c), or all at once where that would need too much memory: floats in double and rounded once,
 * integers wrapping in 64 bits. */
#include <ctype.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/math/einsum.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/convert.h"

enum { MAX_TERMS = SC_EINSUM_TERMS, LETTERS = SC_EINSUM_LETTERS, LABELS = SC_EINSUM_LABELS, PART_PRODUCTS = 65536 };

struct params {
    int n_terms;
    bool given; /* the output is in the equation */
    struct sc_einsum_term terms[MAX_TERMS], out;
};

struct job {
    const struct sc_tensor *out;
    bool floats;
    int n_operands, n_outer, n_summed;
    int64_t outer[LABELS], summed[LABELS]; /* dims */
    int64_t outer_steps[MAX_TERMS][LABELS], summed_steps[MAX_TERMS][LABELS];
    const void *operands[MAX_TERMS]; /* double or uint64_t */
    int64_t products, per_part;
};

static int letter_number(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Reads a term at *at up to ',' or '-' or the end. */
static enum sc_status read_term(
    const struct sc_graph *graph, const struct sc_node *node, const char **at, struct sc_einsum_term *term)
{
    *term = (struct sc_einsum_term){.ellipsis = -1};
    for (; **at && **at != ',' && **at != '-'; (*at)++) {
        const int letter = letter_number(**at);
        if (**at == ' ') {
            continue;
        }
        if (strncmp(*at, "...", 3) == 0 && term->ellipsis < 0) {
            term->ellipsis = term->n;
            *at += 2;
        } else if (letter >= 0 && term->n < SC_MAX_RANK) {
            term->letters[term->n++] = (unsigned char)letter;
        } else {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "equation has a term that cannot be read at '%s'", *at);
        }
    }
    return SC_OK;
}

/* Letters that occur once, in order, after the ellipsis. */
static void implicit_output(struct params *p)
{
    int counts[LETTERS] = {0};
    p->out = (struct sc_einsum_term){.ellipsis = -1};
    for (int t = 0; t < p->n_terms; t++) {
        p->out.ellipsis = p->terms[t].ellipsis >= 0 ? 0 : p->out.ellipsis;
        for (int i = 0; i < p->terms[t].n; i++) {
            counts[p->terms[t].letters[i]]++;
        }
    }
    for (int letter = 0; letter < LETTERS; letter++) {
        if (counts[letter] == 1 && p->out.n < SC_MAX_RANK) {
            p->out.letters[p->out.n++] = (unsigned char)letter;
        }
    }
}

static enum sc_status check_output(const struct sc_graph *graph, const struct sc_node *node, const struct params *p)
{
    bool known[LETTERS] = {false}, ellipsis = false;
    for (int t = 0; t < p->n_terms; t++) {
        ellipsis |= p->terms[t].ellipsis >= 0;
        for (int i = 0; i < p->terms[t].n; i++) {
            known[p->terms[t].letters[i]] = true;
        }
    }
    if (p->out.ellipsis >= 0 && !ellipsis) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "equation has an ellipsis in its output alone");
    }
    for (int i = 0; i < p->out.n; i++) {
        const int letter = p->out.letters[i];
        if (!known[letter]) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "equation has '%c' in its output twice, or there alone",
                letter < 26 ? 'A' + letter : 'a' + letter - 26);
        }
        known[letter] = false;
    }
    return SC_OK;
}

static enum sc_status params_einsum(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    const char *at;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    SC_TRY(sc_node_text(node, "equation", "", &at));
    for (bool more = true; more;) {
        if (p->n_terms == MAX_TERMS) {
            return sc_node_fail(graph, node, SC_LIMIT, "equation has more than %d terms", MAX_TERMS);
        }
        SC_TRY(read_term(graph, node, &at, &p->terms[p->n_terms++]));
        more = *at == ',';
        at += more;
    }
    if (p->n_terms != node->n_in) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "equation has %d terms for %d inputs", p->n_terms, node->n_in);
    }
    if (!*at) {
        implicit_output(p);
        return SC_OK;
    }
    if (strncmp(at, "->", 2) != 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "equation has a term that cannot be read at '%s'", at);
    }
    at += 2;
    SC_TRY(read_term(graph, node, &at, &p->out));
    if (*at) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "equation has a second output at '%s'", at);
    }
    return check_output(graph, node, p);
}

/* Letters of all axes, the ellipsis being `width` of them. */
static void spread(const struct sc_einsum_term *term, int width, struct sc_einsum_term *full)
{
    *full = (struct sc_einsum_term){.ellipsis = -1};
    for (int i = 0; i <= term->n; i++) {
        for (int e = 0; i == term->ellipsis && e < width && full->n < SC_MAX_RANK; e++) {
            full->letters[full->n++] = (unsigned char)(LETTERS + e);
        }
        if (i < term->n && full->n < SC_MAX_RANK) {
            full->letters[full->n++] = term->letters[i];
        }
    }
}

/* One dim of an operand; those of the ellipsis may be 1. */
static enum sc_status meet(const struct sc_infer *infer, struct sc_einsum_plan *plan, int letter, int64_t dim)
{
    int64_t *known = &plan->dims[letter];
    if (letter >= LETTERS) {
        if (sc_broadcast_dim(*known, dim, known)) {
            return SC_OK;
        }
    } else if (*known < 0 || dim < 0 || *known == dim) {
        *known = *known < 0 ? dim : *known;
        return SC_OK;
    }
    char name[4] = {letter < 26 ? (char)('A' + letter) : (char)('a' + letter - 26), 0};
    return sc_node_fail(infer->graph, infer->node, SC_BAD_INPUT, "'%s' is %lld in one input and %lld in another",
        letter >= LETTERS ? "..." : name, (long long)*known, (long long)dim);
}

static enum sc_status make_plan(const struct sc_infer *infer, struct sc_einsum_plan *plan, bool *known)
{
    const struct params *p = infer->params;
    int width = -1;
    *known = true;
    for (int t = 0; t < p->n_terms; t++) {
        const int rank = infer->in[t]->rank, rest = rank - p->terms[t].n;
        *known &= rank >= 0;
        if (rank >= 0 && (p->terms[t].ellipsis < 0 ? rest != 0 : rest < 0 || (width >= 0 && width != rest))) {
            return sc_node_fail(
                infer->graph, infer->node, SC_BAD_INPUT, "input %d has rank %d, which its term does not fit", t, rank);
        }
        width = rank >= 0 && p->terms[t].ellipsis >= 0 ? rest : width;
    }
    if (!*known) {
        return SC_OK;
    }
    for (int letter = 0; letter < LABELS; letter++) {
        plan->dims[letter] = letter < LETTERS ? SC_DIM_UNKNOWN : 1;
    }
    for (int t = 0; t < p->n_terms; t++) {
        spread(&p->terms[t], width, &plan->operands[t]);
        for (int i = 0; i < plan->operands[t].n; i++) {
            SC_TRY(meet(infer, plan, plan->operands[t].letters[i], infer->in[t]->dims[i]));
        }
    }
    if (p->out.n + (p->out.ellipsis >= 0 && width > 0 ? width : 0) > SC_MAX_RANK) {
        return sc_node_fail(infer->graph, infer->node, SC_LIMIT, "the output has more than %d axes", SC_MAX_RANK);
    }
    spread(&p->out, width, &plan->out);
    return SC_OK;
}

static enum sc_status infer_einsum(struct sc_infer *infer)
{
    struct sc_einsum_plan plan;
    bool known;
    SC_TRY(sc_infer_needs(infer, infer->n_in));
    struct sc_fact *out = sc_infer_out(infer, 0);
    sc_fact_of_type(out, infer->in[0]->type);
    SC_TRY(make_plan(infer, &plan, &known));
    if (!known || !out) {
        return SC_OK;
    }
    int64_t dims[SC_MAX_RANK];
    for (int i = 0; i < plan.out.n; i++) {
        dims[i] = plan.dims[plan.out.letters[i]];
    }
    sc_fact_tensor(out, infer->in[0]->type, plan.out.n, dims);
    return SC_OK;
}

static void job_steps(struct job *job, const struct sc_einsum_plan *plan, const struct sc_call *call)
{
    bool in_out[LABELS] = {false}, used[LABELS] = {false};
    int place[LABELS];
    for (int i = 0; i < plan->out.n; i++) {
        in_out[plan->out.letters[i]] = true;
        place[plan->out.letters[i]] = i;
        job->outer[i] = plan->dims[plan->out.letters[i]];
    }
    job->n_outer = plan->out.n;
    for (int t = 0; t < job->n_operands; t++) {
        const struct sc_tensor *x = sc_call_in(call, t);
        for (int i = 0; i < plan->operands[t].n; i++) {
            const int letter = plan->operands[t].letters[i];
            if (!in_out[letter] && !used[letter]) {
                place[letter] = job->n_summed;
                job->summed[job->n_summed++] = plan->dims[letter];
            }
            used[letter] = true;
            const int64_t step = x->dims[i] == 1 ? 0 : x->strides[i]; /* a letter twice is the diagonal */
            (in_out[letter] ? job->outer_steps : job->summed_steps)[t][place[letter]] += step;
        }
    }
    if (job->n_summed == 0) {
        job->summed[job->n_summed++] = 1;
    }
    job->products = sc_dims_product(job->summed, 0, job->n_summed);
}

#define T double
#define SUM sum_floats
#include "ops/math/einsum.inc.h"
#define T uint64_t
#define SUM sum_integers
#include "ops/math/einsum.inc.h"

static void einsum_part(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct job *job = arg;
    const int64_t n = sc_tensor_count(job->out);
    const int64_t end = (part + 1) * job->per_part < n ? (part + 1) * job->per_part : n;
    for (int64_t i = part * job->per_part; i < end; i++) {
        int64_t at[MAX_TERMS] = {0}, rest = i;
        for (int d = job->n_outer - 1; d >= 0; d--) {
            for (int t = 0; t < job->n_operands; t++) {
                at[t] += rest % job->outer[d] * job->outer_steps[t][d];
            }
            rest /= job->outer[d];
        }
        if (job->floats) {
            sc_number_put(job->out, i, sum_floats(job, at));
        } else {
            const uint64_t sum = sum_integers(job, at);
            const enum sc_type type = job->out->type;
            sc_convert(SC_U64, &sum, type, sc_at(job->out->data, i, sc_type_bytes(type)), 1, 0);
        }
    }
}

/* The plan of the values at hand: resolve has seen that there is one. */
static bool plan_of(const struct sc_call *call, struct sc_einsum_plan *plan)
{
    struct sc_fact facts[MAX_TERMS];
    const struct sc_fact *in[MAX_TERMS];
    bool known;
    for (int t = 0; t < call->n_in; t++) {
        sc_fact_of(&facts[t], call->in[t]);
        in[t] = &facts[t];
    }
    const struct sc_infer infer = {
        .graph = call->graph, .node = call->node, .params = call->params, .n_in = call->n_in, .in = in};
    return make_plan(&infer, plan, &known) == SC_OK && known;
}

static bool has_pairs(const struct sc_call *call, const struct sc_einsum_plan *plan, size_t *bytes)
{
    struct sc_call dry = *call;
    dry.scratch = NULL;
    return sc_einsum_pairs(&dry, plan, bytes);
}

static size_t scratch_einsum(const struct sc_call *call)
{
    struct sc_einsum_plan plan = {0};
    size_t elements = 0, bytes;
    if (plan_of(call, &plan) && has_pairs(call, &plan, &bytes)) {
        return bytes;
    }
    for (int t = 0; t < call->n_in; t++) {
        elements += (size_t)sc_tensor_count(sc_call_in(call, t));
    }
    return elements * sizeof(double);
}

static void run_einsum(const struct sc_call *call)
{
    const struct sc_tensor *out = sc_call_out(call, 0);
    struct sc_einsum_plan plan = {0};
    struct job job = {.out = out, .floats = sc_type_is_float(out->type), .n_operands = call->n_in};
    size_t bytes;
    if (!plan_of(call, &plan) || sc_tensor_count(out) == 0) {
        return;
    }
    if (has_pairs(call, &plan, &bytes)) {
        (void)sc_einsum_pairs(call, &plan, &bytes);
        return;
    }
    char *wide = call->scratch;
    for (int t = 0; t < call->n_in; t++) {
        const struct sc_tensor *x = sc_call_in(call, t);
        sc_convert(x->type, x->data, job.floats ? SC_F64 : SC_U64, wide, sc_tensor_count(x), 0);
        job.operands[t] = wide;
        wide += (size_t)sc_tensor_count(x) * sizeof(double);
    }
    job_steps(&job, &plan, call);
    job.per_part = 1 + PART_PRODUCTS / (job.products + 1);
    sc_team_for(call->team, sc_parts(sc_tensor_count(out), job.per_part), einsum_part, &job);
}

static void cost_einsum(const struct sc_infer *infer, struct sc_cost *cost)
{
    struct sc_einsum_plan plan = {0};
    bool known;
    double products = 1.0, bytes = 0.0;
    if (make_plan(infer, &plan, &known) != SC_OK || !known) {
        return;
    }
    for (int letter = 0; letter < LABELS; letter++) {
        products *= plan.dims[letter] >= 0 ? (double)plan.dims[letter] : 1.0;
    }
    for (int t = 0; t < infer->n_in; t++) {
        bytes += (double)sc_dims_product(infer->in[t]->dims, 0, infer->in[t]->rank);
    }
    const struct sc_fact *out = infer->out[0];
    const double size = (double)sc_type_bytes(out->type);
    cost->operations = products * (double)infer->n_in;
    cost->read_bytes = bytes * size;
    cost->written_bytes = (double)sc_dims_product(out->dims, 0, out->rank) * size;
}

#define ROW(version)                                                                                                   \
    {                                                                                                                  \
        .domain = "", .name = "Einsum", .since = (version), .flags = SC_OP_PURE, .params = params_einsum,              \
        .infer = infer_einsum, .scratch = scratch_einsum, .run = run_einsum, .cost = cost_einsum                       \
    }

const struct sc_op sc_ops_math_einsum[] = {ROW(12), ROW(28), {.name = NULL}};
