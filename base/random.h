/* SPDX-License-Identifier: Apache-2.0
 * Counter-based random numbers: a value is a function of its key, not of what was drawn before. */
#ifndef SC_BASE_RANDOM_H
#define SC_BASE_RANDOM_H

#include <stdint.h>

/* Key of a draw: (seed, stream) and (sequence number, element). The same key gives the same number on any rank and
 * thread. */
struct sc_random_key {
    uint64_t seed;
    uint64_t stream; /* a node's index in the file, or a request */
    uint64_t seq; /* microbatch or position */
};

/* The block function: ten rounds of Philox4x32. */
void sc_random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/* Four 32-bit words for element `index` of the key. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2,
 * 3" (SC 2011), Philox4x32-10. */
void sc_random_words(const struct sc_random_key *key, uint64_t index, uint32_t words[4]);

/* Uniform in [0, 1), 53 bits. */
double sc_random_uniform(const struct sc_random_key *key, uint64_t index);

/* The numbers of `n` elements from `first` on: sc_random_uniform of each, many at once. */
void sc_random_uniforms(const struct sc_random_key *key, uint64_t first, int64_t n, double *u);

/* Normal, of mean 0 and deviation 1: elements 2 i and 2 i + 1 are made of the words of index i. Source: Box and Muller,
 * "A note on the generation of random normal deviates" (1958), on 53 bits each. `first` is even. */
void sc_random_normals(const struct sc_random_key *key, uint64_t first, int64_t n, double *x);

#endif
