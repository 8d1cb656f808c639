/* SPDX-License-Identifier: Apache-2.0
 * Candidates are popped from a heap by falling logit, so only as many are sorted as the filters look at. Sums run in
 * one fixed order and exp is our own, so that a draw does not depend on the C library. */
#include "decode/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

struct candidate {
    float logit;
    int32_t token;
};

struct sc_sampler {
    int64_t n_vocabulary;
    struct candidate *heap; /* [n_vocabulary] */
    struct candidate *kept; /* [n_vocabulary], by falling logit or, when no filter sorts, by token */
    double *weights; /* [n_vocabulary], of kept */
};

/* exp(x) for x <= 0: x = k ln 2 + r, |r| <= ln(2) / 2, then the Taylor series of exp(r); its next term is under 2^-57.
 */
static double exp_negative(double x)
{
    if (!(x > -700.0)) {
        return 0.0;
    }
    const double k = floor(x * 1.4426950408889634 + 0.5);
    const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double sum = 1.0;
    for (int n = 14; n >= 1; n--) {
        sum = 1.0 + sum * r / n;
    }
    return ldexp(sum, (int)k);
}

/* Larger logit first, lower token among equals: a total order, so that sorted order is unique. */
static bool comes_before(struct candidate a, struct candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

static void sift_down(struct candidate *heap, int64_t n, int64_t at)
{
    const struct candidate moved = heap[at];
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && comes_before(heap[child + 1], heap[child])) {
            child++;
        }
        if (!comes_before(heap[child], moved)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static struct candidate pop_largest(struct candidate *heap, int64_t *n)
{
    const struct candidate largest = heap[0];
    heap[0] = heap[--*n];
    if (*n > 0) {
        sift_down(heap, *n, 0);
    }
    return largest;
}

enum sc_status sc_sample_check(const struct sc_sample_options *options)
{
    if (!(options->temperature >= 0) || !isfinite(options->temperature)) {
        return sc_fail(SC_BAD_USAGE, "temperature is %g, want 0 or more", options->temperature);
    }
    if (options->top_k < 0) {
        return sc_fail(SC_BAD_USAGE, "top-k is %lld, want 0 or more", (long long)options->top_k);
    }
    if (!(options->top_p >= 0 && options->top_p <= 1)) {
        return sc_fail(SC_BAD_USAGE, "top-p is %g, want 0 to 1", options->top_p);
    }
    if (!(options->min_p >= 0 && options->min_p <= 1)) {
        return sc_fail(SC_BAD_USAGE, "min-p is %g, want 0 to 1", options->min_p);
    }
    if (options->no_repeat < 0) {
        return sc_fail(SC_BAD_USAGE, "no-repeat-ngram-size is %lld, want 0 or more", (long long)options->no_repeat);
    }
    if (options->min_length < 0 || options->min_new < 0) {
        return sc_fail(SC_BAD_USAGE, "a text's least length is %lld, want 0 or more",
            (long long)(options->min_length < 0 ? options->min_length : options->min_new));
    }
    if (!(options->penalty >= 0) || !isfinite(options->penalty)) {
        return sc_fail(SC_BAD_USAGE, "repeat-penalty is %g, want 0 or more", options->penalty);
    }
    return SC_OK;
}

void sc_sample_penalise(double penalty, const bool *seen, int64_t n_vocabulary, float *row)
{
    for (int64_t v = 0; v < n_vocabulary; v++) {
        if (seen[v]) {
            row[v] = (float)(row[v] < 0 ? (double)row[v] * penalty : (double)row[v] / penalty);
        }
    }
}

enum sc_status sc_sampler_create(int64_t n_vocabulary, struct sc_sampler **sampler)
{
    if (n_vocabulary < 1 || n_vocabulary > INT32_MAX) {
        return sc_fail(
            SC_BAD_MODEL, "vocabulary of %lld tokens, want 1 to %lld", (long long)n_vocabulary, (long long)INT32_MAX);
    }
    struct sc_sampler *const made = calloc(1, sizeof *made);
    if (made == NULL) {
        return sc_fail(SC_NO_MEMORY, "out of memory: a sampler");
    }
    const size_t n = (size_t)n_vocabulary;
    made->n_vocabulary = n_vocabulary;
    made->heap = calloc(n, sizeof *made->heap);
    made->kept = calloc(n, sizeof *made->kept);
    made->weights = calloc(n, sizeof *made->weights);
    if (made->heap == NULL || made->kept == NULL || made->weights == NULL) {
        sc_sampler_free(made);
        return sc_fail(SC_NO_MEMORY, "out of memory: a sampler of %lld tokens", (long long)n_vocabulary);
    }
    *sampler = made;
    return SC_OK;
}

void sc_sampler_free(struct sc_sampler *sampler)
{
    if (sampler != NULL) {
        free(sampler->heap);
        free(sampler->kept);
        free(sampler->weights);
        free(sampler);
    }
}

/* The largest logit, after all were looked at. */
static enum sc_status find_largest(const float *logits, int64_t n, int64_t *largest)
{
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(logits[i]) || logits[i] == INFINITY) {
            return sc_fail(SC_BAD_INPUT, "the logit of token %lld is %f, want a number", (long long)i, logits[i]);
        }
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    if (logits[best] == -INFINITY) {
        return sc_fail(SC_BAD_INPUT, "every logit is -inf: no token can follow");
    }
    *largest = best;
    return SC_OK;
}

/* What a filter sees of a candidate: its probability, but for a factor. */
struct view {
    double largest; /* logit */
    double heat; /* temperature that filters see */
};

static double weigh(const struct view *view, struct candidate candidate)
{
    return exp_negative(((double)candidate.logit - view->largest) / view->heat);
}

static double sum_weights(const struct candidate *candidates, int64_t n, const struct view *view)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += weigh(view, candidates[i]);
    }
    return sum;
}

/* Moves candidates from the heap of n to kept until their weights reach `wanted`; returns how many, at least 1. */
static int64_t keep_top_p(struct sc_sampler *sampler, int64_t n, const struct view *view, double wanted)
{
    int64_t n_kept = 0;
    double reached = 0;
    do {
        sampler->kept[n_kept] = pop_largest(sampler->heap, &n);
        reached += weigh(view, sampler->kept[n_kept]);
        n_kept++;
    } while (n > 0 && reached < wanted);
    return n_kept;
}

/* Fills kept with the tokens that have a weight, sorted as far as top_k and top_p ask for it; returns how many. */
static int64_t keep_largest(
    struct sc_sampler *sampler, const struct sc_sample_options *options, const struct view *view, const float *logits)
{
    const bool wants_k = options->top_k > 0 && options->top_k < sampler->n_vocabulary;
    const bool wants_p = options->top_p < 1;
    const bool sorts = wants_k || wants_p;
    struct candidate *const heap = sorts ? sampler->heap : sampler->kept;
    int64_t n = 0;
    for (int64_t i = 0; i < sampler->n_vocabulary; i++) {
        if (logits[i] != -INFINITY) {
            heap[n++] = (struct candidate){.logit = logits[i], .token = (int32_t)i};
        }
    }
    if (!sorts) {
        return n;
    }
    for (int64_t i = n / 2; i-- > 0;) {
        sift_down(heap, n, i);
    }
    if (!wants_k) {
        const double total = sum_weights(heap, n, view);
        return keep_top_p(sampler, n, view, options->top_p * total);
    }
    int64_t n_kept = 0;
    while (n > 0 && n_kept < options->top_k) {
        sampler->kept[n_kept++] = pop_largest(heap, &n);
    }
    if (wants_p) {
        /* What is kept is sorted, thus a heap. */
        memcpy(heap, sampler->kept, (size_t)n_kept * sizeof *heap);
        const double total = sum_weights(heap, n_kept, view);
        n_kept = keep_top_p(sampler, n_kept, view, options->top_p * total);
    }
    return n_kept;
}

static int64_t keep_min_p(struct candidate *kept, int64_t n, const struct view *view, double min_p)
{
    if (min_p <= 0) {
        return n;
    }
    int64_t n_kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (weigh(view, kept[i]) >= min_p) {
            kept[n_kept++] = kept[i];
        }
    }
    return n_kept;
}

enum sc_status sc_sample(struct sc_sampler *sampler, const struct sc_sample_options *options, const float *logits,
    uint64_t request, uint64_t position, int64_t *token)
{
    int64_t best = 0;
    SC_TRY(find_largest(logits, sampler->n_vocabulary, &best));
    if (options->temperature == 0) {
        *token = best;
        return SC_OK;
    }
    const struct view view = {.largest = logits[best], .heat = options->tempered ? options->temperature : 1};
    const int64_t n_sorted = keep_largest(sampler, options, &view, logits);
    const int64_t n = keep_min_p(sampler->kept, n_sorted, &view, options->min_p);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        sampler->weights[i] = exp_negative(((double)sampler->kept[i].logit - view.largest) / options->temperature);
        total += sampler->weights[i];
    }
    const struct sc_random_key key = {.seed = options->seed, .stream = request, .seq = position};
    const double target = sc_random_uniform(&key, 0) * total;
    double reached = 0;
    *token = best; /* stays only when rounding lets the target reach the total */
    for (int64_t i = 0; i < n; i++) {
        reached += sampler->weights[i];
        if (reached > target) {
            *token = sampler->kept[i].token;
            break;
        }
    }
    return SC_OK;
}
