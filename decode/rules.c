/* SPDX-License-Identifier: Apache-2.0
 * Each rule takes logits away; none brings them back, so their order matters to the penalty alone, which is first. */
#include "decode/rules.h"

#include <math.h>
#include <string.h>

static bool penalises(const struct sc_sample_options *sample)
{
    return sample->penalty != 0 && sample->penalty != 1;
}

/* The whole text counts for min_length, what was made for min_new. */
static bool is_short(const struct sc_request *request, int64_t n_text)
{
    const struct sc_sample_options *sample = &request->sample;
    return request->n_eos > 0 && (n_text < sample->min_length || request->n_made < sample->min_new);
}

bool sc_rules_ask(const struct sc_request *request, int64_t n_text)
{
    return request->n_among > 0 || penalises(&request->sample) || request->sample.no_repeat > 0 ||
        is_short(request, n_text);
}

static void keep_among(const struct sc_request *request, int64_t n_vocabulary, float *row)
{
    for (int64_t v = 0; v < n_vocabulary; v++) {
        bool may = false;
        for (int a = 0; a < request->n_among; a++) {
            may |= request->among[a] == v;
        }
        row[v] = may ? row[v] : -INFINITY;
    }
}

static void forbid(int64_t token, int64_t n_vocabulary, float *row)
{
    if (token >= 0 && token < n_vocabulary) {
        row[token] = -INFINITY;
    }
}

/* Whatever followed the last n - 1 tokens where they stood before. */
static void forbid_repeats(const int64_t *text, int64_t n_text, int64_t n, int64_t n_vocabulary, float *row)
{
    const int64_t *last = text + n_text - (n - 1);
    for (int64_t i = 0; i + n <= n_text; i++) {
        if (memcmp(text + i, last, (size_t)(n - 1) * sizeof *text) == 0) {
            forbid(text[i + n - 1], n_vocabulary, row);
        }
    }
}

void sc_rules_apply(const struct sc_request *request, const int64_t *text, int64_t n_text, const bool *seen,
    int64_t n_vocabulary, float *row)
{
    const struct sc_sample_options *sample = &request->sample;
    if (penalises(sample) && seen) {
        sc_sample_penalise(sample->penalty, seen, n_vocabulary, row);
    }
    if (request->n_among > 0) {
        keep_among(request, n_vocabulary, row);
    }
    if (sample->no_repeat > 0) {
        forbid_repeats(text, n_text, sample->no_repeat, n_vocabulary, row);
    }
    for (int e = 0; e < request->n_eos && is_short(request, n_text); e++) {
        forbid(request->eos[e], n_vocabulary, row);
    }
}
