/* SPDX-License-Identifier: Apache-2.0
 * Draws a token from logits. */
#ifndef SC_DECODE_SAMPLE_H
#define SC_DECODE_SAMPLE_H

#include <stdbool.h>

#include "base/error.h"

/* How tokens are chosen. Filters apply in this order, as in llama.cpp: the top_k largest logits; of those, by falling
 * probability, the fewest that reach top_p together; of those, the ones with at least min_p times the largest
 * probability; what is left is divided by the temperature. At least one token always stays. With `tempered` the
 * probabilities of filters are those after the division, as in transformers and onnxruntime-genai. */
struct sc_sample_options {
    double temperature; /* 0: greedy, the largest logit, the lowest index among equals */
    int64_t top_k; /* 0: all */
    double top_p; /* 1: all */
    double min_p; /* 0: all */
    double penalty; /* of tokens in the text, first of all: divides logits, multiplies negative ones; 0, 1: none */
    int64_t no_repeat; /* so many tokens in a row are never twice in a text; 0: they may be */
    int64_t min_length, min_new; /* no text ends with fewer tokens, prompt and all, or made */
    bool tempered;
    uint64_t seed;
};

/* Scratch for one vocabulary; a draw allocates nothing. One thread at a time. */
struct sc_sampler;

/* SC_BAD_USAGE, naming the option, when a number is out of its range. */
enum sc_status sc_sample_check(const struct sc_sample_options *options);

/* n_vocabulary: 1 to 2^31 - 1 */
enum sc_status sc_sampler_create(int64_t n_vocabulary, struct sc_sampler **sampler);
void sc_sampler_free(struct sc_sampler *sampler);

/* Draws a token: a function of (seed, request, position), options and logits alone, the same on any platform.
 *   logits: [n_vocabulary] f32; -inf: never drawn
 * Fails with SC_BAD_INPUT on NaN, on +inf, and when every logit is -inf. */
enum sc_status sc_sample(struct sc_sampler *sampler, const struct sc_sample_options *options, const float *logits,
    uint64_t request, uint64_t position, int64_t *token);

/* row: [n_vocabulary], of which those that `seen` marks are changed. */
void sc_sample_penalise(double penalty, const bool *seen, int64_t n_vocabulary, float *row);

#endif
