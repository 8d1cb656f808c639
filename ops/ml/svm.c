/* SPDX-License-Identifier: Apache-2.0
 * SVMRegressor and SVMClassifier: kernels of a row with each support vector, weighed; of classifiers for each pair of
 * classes. Pairs become probabilities after Wu, Lin and Weng, "Probability estimates for multi-class classification by
 * pairwise coupling" (2004). In double. */
#include <math.h>
#include <string.h>

#include "ops/ml/rows.h"
#include "ops/ml/scores.h"
#include "tensor/convert.h"

enum kernel { LINEAR, POLY, RBF, SIGMOID };
enum { MAX_CLASSES = 1024 };

struct params {
    bool classifies, one_class, probable, all_positive;
    enum kernel kernel;
    double gamma, coef0, degree;
    enum sc_post post;
    struct sc_labels labels;
    int64_t n_vectors, n_features, n_classes, n_scores; /* n_vectors 0: coefficients are the vectors */
    const float *coefficients, *vectors, *rho, *prob_a, *prob_b;
    const int64_t *per_class;
};

struct job {
    const struct params *p;
    const struct sc_tensor *x, *top, *scores;
    double *memory; /* of each worker */
    int64_t worker_doubles;
};

static enum sc_status read_kernel(const struct sc_graph *graph, const struct sc_node *node, struct params *p)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const char *text;
    int n;
    const float *values;
    SC_TRY(sc_node_text(node, "kernel_type", "LINEAR", &text));
    SC_TRY(sc_node_floats(node, "kernel_params", &n, &values));
    if (n > 0 && n != 3) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "kernel_params has %d entries, want gamma, coef0 and degree", n);
    }
    if (n == 3) {
        p->gamma = (double)values[0];
        p->coef0 = (double)values[1];
        p->degree = (double)values[2];
    }
    for (int i = LINEAR; i <= SIGMOID; i++) {
        if (strcmp(text, names[i]) == 0) {
            p->kernel = (enum kernel)i;
            return SC_OK;
        }
    }
    return sc_node_fail(graph, node, SC_BAD_MODEL, "kernel_type is '%s', want LINEAR, POLY, RBF or SIGMOID", text);
}

static int64_t n_pairs(int64_t n)
{
    return n * (n - 1) / 2;
}

/* Counts of a classifier's lists. */
static enum sc_status check_classifier(const struct sc_graph *graph, const struct sc_node *node, struct params *p,
    int n_coefficients, int n_rho, int n_prob)
{
    const int64_t pairs = n_pairs(p->n_classes);
    bool fits = p->n_classes >= 1 && p->n_classes <= MAX_CLASSES;
    if (p->n_vectors > 0) {
        fits = fits && p->n_classes >= 2 && n_rho >= pairs && n_coefficients == (p->n_classes - 1) * p->n_vectors;
        fits = fits && (n_prob == 0 || n_prob >= pairs);
        p->n_scores = p->probable ? p->n_classes : pairs == 1 ? 2 : pairs;
    } else {
        fits = fits && n_rho >= 1 && n_coefficients % p->n_classes == 0 && n_coefficients > 0;
        p->n_features = n_coefficients / (p->n_classes > 0 ? p->n_classes : 1);
        p->n_scores = p->n_classes;
        p->kernel = LINEAR;
        p->probable = false;
    }
    return fits
        ? SC_OK
        : sc_node_fail(graph, node, SC_BAD_MODEL,
              "has %d coefficients, %d rho and %d probabilities, which %lld classes and %lld vectors do not fit",
              n_coefficients, n_rho, n_prob, (long long)p->n_classes, (long long)p->n_vectors);
}

static enum sc_status read_classes(
    const struct sc_graph *graph, const struct sc_node *node, struct params *p, int n_coefficients, int n_rho)
{
    int n_a, n_b, n;
    SC_TRY(sc_labels_read(graph, node, "classlabels_ints", "classlabels_strings", &p->labels));
    SC_TRY(sc_node_floats(node, "prob_a", &n_a, &p->prob_a));
    SC_TRY(sc_node_floats(node, "prob_b", &n_b, &p->prob_b));
    SC_TRY(sc_node_ints(node, "vectors_per_class", &n, &p->per_class));
    p->n_classes = p->labels.n;
    p->probable = n_a > 0;
    for (int i = 0; i < n; i++) {
        if (p->per_class[i] < 0 || p->per_class[i] > INT32_MAX) {
            return sc_node_fail(
                graph, node, SC_BAD_MODEL, "vectors_per_class has the entry %lld", (long long)p->per_class[i]);
        }
        p->n_vectors += p->per_class[i];
    }
    if ((p->n_vectors > 0 && n != p->n_classes) || (n_a > 0 && n_a != n_b)) {
        return sc_node_fail(graph, node, SC_BAD_MODEL,
            "vectors_per_class, prob_a or prob_b have another length than there are classes, or pairs of them");
    }
    p->all_positive = true;
    for (int i = 0; i < n_coefficients; i++) {
        p->all_positive &= p->coefficients[i] >= 0;
    }
    return check_classifier(graph, node, p, n_coefficients, n_rho, n_a > 0 ? n_a : 0);
}

static enum sc_status params_svm(
    const struct sc_graph *graph, const struct sc_node *node, struct sc_arena *arena, void **params)
{
    int n_coefficients, n_rho, n_vectors;
    int64_t one_class, n_supports;
    SC_TRY(sc_params_new(arena, sizeof(struct params), params));
    struct params *p = *params;
    p->classifies = strcmp(node->op, "SVMClassifier") == 0;
    SC_TRY(read_kernel(graph, node, p));
    SC_TRY(sc_post_read(graph, node, &p->post));
    SC_TRY(sc_node_floats(node, "coefficients", &n_coefficients, &p->coefficients));
    SC_TRY(sc_node_floats(node, "support_vectors", &n_vectors, &p->vectors));
    SC_TRY(sc_node_floats(node, "rho", &n_rho, &p->rho));
    SC_TRY(sc_node_int(node, "one_class", 0, &one_class));
    SC_TRY(sc_node_int(node, "n_supports", 0, &n_supports));
    p->one_class = one_class != 0;
    if (n_supports < 0) {
        return sc_node_fail(graph, node, SC_BAD_MODEL, "n_supports is %lld, want 0 or more", (long long)n_supports);
    }
    n_rho = n_rho < 0 ? 0 : n_rho;
    n_coefficients = n_coefficients < 0 ? 0 : n_coefficients;
    if (p->classifies) {
        SC_TRY(read_classes(graph, node, p, n_coefficients, n_rho));
    } else {
        p->n_vectors = n_supports;
        p->n_scores = p->n_classes = 1;
        p->n_features = n_coefficients;
        p->kernel = p->n_vectors > 0 ? p->kernel : LINEAR;
        if (n_rho < 1 || n_coefficients < 1 || (p->n_vectors > 0 && n_coefficients != p->n_vectors)) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "has %d coefficients and %d rho for %lld support vectors",
                n_coefficients, n_rho, (long long)p->n_vectors);
        }
    }
    if (p->n_vectors > 0) {
        p->n_features = n_vectors > 0 ? n_vectors / p->n_vectors : 0;
        if (n_vectors < 1 || n_vectors % p->n_vectors != 0) {
            return sc_node_fail(graph, node, SC_BAD_MODEL, "support_vectors has %d entries for %lld vectors", n_vectors,
                (long long)p->n_vectors);
        }
    }
    return SC_OK;
}

static enum sc_status infer_svm(struct sc_infer *infer)
{
    const struct params *p = infer->params;
    return sc_scores_infer(infer, p->classifies ? &p->labels : NULL, p->n_features, p->n_scores);
}

static double kernel(const struct params *p, const double *x, const float *v)
{
    double sum = 0.0;
    for (int64_t f = 0; f < p->n_features; f++) {
        const double d = x[f] - (double)v[f];
        sum += p->kernel == RBF ? d * d : x[f] * (double)v[f];
    }
    switch (p->kernel) {
    case POLY:
        return pow(p->gamma * sum + p->coef0, p->degree);
    case RBF:
        return exp(-p->gamma * sum);
    case SIGMOID:
        return tanh(p->gamma * sum + p->coef0);
    default:
        return sum;
    }
}

static double regress(const struct params *p, const double *x)
{
    double sum = (double)p->rho[0];
    if (p->n_vectors == 0) {
        sum += kernel(p, x, p->coefficients);
    }
    for (int64_t v = 0; v < p->n_vectors; v++) {
        sum += (double)p->coefficients[v] * kernel(p, x, p->vectors + v * p->n_features);
    }
    return p->one_class ? (sum > 0.0 ? 1.0 : -1.0) : sum;
}

static double weigh(const float *coefficients, const double *kernels, int64_t first, int64_t n)
{
    double sum = 0.0;
    for (int64_t v = first; v < first + n; v++) {
        sum += (double)coefficients[v] * kernels[v];
    }
    return sum;
}

/* A score for each pair of classes, above 0 for the first of them, and votes. */
static void score_pairs(const struct params *p, const double *kernels, double *pairs, double *votes)
{
    int64_t pair = 0, start_i = 0;
    memset(votes, 0, (size_t)p->n_classes * sizeof *votes);
    for (int64_t i = 0; i < p->n_classes; start_i += p->per_class[i++]) {
        int64_t start_j = start_i + p->per_class[i];
        for (int64_t j = i + 1; j < p->n_classes; start_j += p->per_class[j++], pair++) {
            pairs[pair] = (double)p->rho[pair] +
                weigh(p->coefficients + (j - 1) * p->n_vectors, kernels, start_i, p->per_class[i]) +
                weigh(p->coefficients + i * p->n_vectors, kernels, start_j, p->per_class[j]);
            votes[pairs[pair] > 0.0 ? i : j] += 1.0;
        }
    }
}

/* r[i][j]: the probability of i against j. q is n * n and qp n doubles of memory. */
static void couple(int64_t n, const double *r, double *q, double *qp, double *probability)
{
    const double enough = 0.005 / (double)n;
    const int64_t most = n > 100 ? n : 100;
    for (int64_t t = 0; t < n; t++) {
        probability[t] = 1.0 / (double)n;
        q[t * n + t] = 0.0;
        for (int64_t j = 0; j < n; j++) {
            if (j != t) {
                q[t * n + t] += r[j * n + t] * r[j * n + t];
                q[t * n + j] = -r[j * n + t] * r[t * n + j];
            }
        }
    }
    for (int64_t round = 0; round < most; round++) {
        double pqp = 0.0, error = 0.0;
        for (int64_t t = 0; t < n; t++) {
            qp[t] = 0.0;
            for (int64_t j = 0; j < n; j++) {
                qp[t] += q[t * n + j] * probability[j];
            }
            pqp += probability[t] * qp[t];
        }
        for (int64_t t = 0; t < n; t++) {
            error = fmax(error, fabs(qp[t] - pqp));
        }
        if (error < enough) {
            return;
        }
        for (int64_t t = 0; t < n; t++) {
            const double diff = (pqp - qp[t]) / q[t * n + t];
            probability[t] += diff;
            pqp = (pqp + diff * (diff * q[t * n + t] + 2.0 * qp[t])) / (1.0 + diff) / (1.0 + diff);
            for (int64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + diff * q[t * n + j]) / (1.0 + diff);
                probability[j] /= 1.0 + diff;
            }
        }
    }
}

static void probabilities(const struct params *p, const double *pairs, double *memory, double *scores)
{
    const int64_t n = p->n_classes;
    double *r = memory, *q = memory + n * n, *qp = q + n * n;
    int64_t pair = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++, pair++) {
            const double x = 1.0 - sc_logistic(pairs[pair] * (double)p->prob_a[pair] + (double)p->prob_b[pair]);
            r[i * n + j] = fmin(fmax(x, 1e-7), 1.0 - 1e-7);
            r[j * n + i] = 1.0 - r[i * n + j];
        }
    }
    couple(n, r, q, qp, scores);
}

/* memory: kernels, pairs (at least two), votes, and what probabilities need. Returns the class. */
static int64_t classify(const struct params *p, const double *x, double *memory, double **scores)
{
    double *pairs = memory + p->n_vectors, *votes = pairs + n_pairs(p->n_classes) + p->n_scores + 2;
    *scores = pairs;
    if (p->n_vectors == 0) {
        for (int64_t c = 0; c < p->n_classes; c++) {
            pairs[c] = (double)p->rho[0] + kernel(p, x, p->coefficients + c * p->n_features);
        }
        const int64_t top = sc_scores_top(pairs, p->n_classes);
        sc_post_apply(p->post, pairs, p->n_classes);
        return top;
    }
    for (int64_t v = 0; v < p->n_vectors; v++) {
        memory[v] = kernel(p, x, p->vectors + v * p->n_features);
    }
    score_pairs(p, memory, pairs, votes);
    const int64_t top = sc_scores_top(votes, p->n_classes);
    if (p->probable) {
        *scores = votes + p->n_classes;
        probabilities(p, pairs, *scores + p->n_classes, *scores);
    } else if (p->n_classes == 2) { /* one score is that of the second class */
        pairs[1] = pairs[0];
        pairs[0] = -pairs[1];
    }
    sc_post_apply(p->post, *scores, p->n_scores);
    return p->n_classes == 2 && !p->probable && p->all_positive ? 1 : top;
}

static int64_t worker_doubles(const struct params *p)
{
    const int64_t n = p->n_classes;
    return p->n_features + p->n_vectors + n_pairs(n) + p->n_scores + 2 + n + (p->probable ? n + 2 * n * n + n : 0);
}

static void svm_part(void *arg, int64_t row, int worker)
{
    const struct job *job = arg;
    const struct params *p = job->p;
    double *x = job->memory + worker * job->worker_doubles, *scores, one;
    const size_t bytes = sc_type_bytes(job->x->type);
    sc_convert(job->x->type, sc_const_at(job->x->data, row * p->n_features, bytes), SC_F64, x, p->n_features, 0);
    if (p->classifies) {
        sc_labels_put(&p->labels, classify(p, x, x + p->n_features, &scores), job->top, row);
    } else {
        one = regress(p, x);
        scores = &one;
        sc_post_apply(p->post, scores, 1);
    }
    for (int64_t s = 0; s < p->n_scores && job->scores; s++) {
        sc_number_put(job->scores, row * p->n_scores + s, scores[s]);
    }
}

static size_t scratch_svm(const struct sc_call *call)
{
    return (size_t)worker_doubles(call->params) * sizeof(double) * (size_t)sc_team_size(call->team);
}

static void run_svm(const struct sc_call *call)
{
    const struct params *p = call->params;
    int64_t n_features;
    struct job job = {.p = p, .x = sc_call_in(call, 0), .memory = call->scratch, .worker_doubles = worker_doubles(p)};
    job.top = p->classifies ? sc_call_out(call, 0) : NULL;
    job.scores = sc_call_out(call, p->classifies ? 1 : 0);
    sc_team_for(call->team, sc_scores_rows(job.x, &n_features), svm_part, &job);
}

#define ROW(op)                                                                                                        \
    {                                                                                                                  \
        .domain = "ai.onnx.ml", .name = (op), .since = 1, .flags = SC_OP_PURE, .params = params_svm,                   \
        .infer = infer_svm, .scratch = scratch_svm, .run = run_svm                                                     \
    }

const struct sc_op sc_ops_ml_svm[] = {ROW("SVMClassifier"), ROW("SVMRegressor"), {.name = NULL}};
