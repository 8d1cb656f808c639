/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10. The key of a draw has 256 bits with its index, Philox takes 192: (seed, stream) are first made into a
 * key of 64 bits by Philox itself. */
#include "base/random.h"

#include <math.h>

void sc_random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

static void derive(const struct sc_random_key *key, uint32_t derived[4])
{
    const uint32_t seed[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};
    const uint32_t stream[4] = {(uint32_t)key->stream, (uint32_t)(key->stream >> 32), 0, 0};
    sc_random_philox(stream, seed, derived);
}

static void words_of(const struct sc_random_key *key, const uint32_t derived[4], uint64_t index, uint32_t words[4])
{
    const uint32_t counter[4] = {
        (uint32_t)index, (uint32_t)(index >> 32), (uint32_t)key->seq, (uint32_t)(key->seq >> 32)};
    sc_random_philox(counter, derived, words);
}

void sc_random_words(const struct sc_random_key *key, uint64_t index, uint32_t words[4])
{
    uint32_t derived[4];
    derive(key, derived);
    words_of(key, derived, index, words);
}

static double uniform_of(const uint32_t words[4])
{
    const uint64_t bits = ((uint64_t)words[1] << 32 | words[0]) >> 11;
    return (double)(int64_t)bits * 0x1p-53;
}

double sc_random_uniform(const struct sc_random_key *key, uint64_t index)
{
    uint32_t words[4];
    sc_random_words(key, index, words);
    return uniform_of(words);
}

void sc_random_uniforms(const struct sc_random_key *key, uint64_t first, int64_t n, double *u)
{
    uint32_t derived[4];
    derive(key, derived);
    for (int64_t i = 0; i < n; i++) {
        uint32_t words[4];
        words_of(key, derived, first + (uint64_t)i, words);
        u[i] = uniform_of(words);
    }
}

void sc_random_normals(const struct sc_random_key *key, uint64_t first, int64_t n, double *x)
{
    uint32_t derived[4];
    derive(key, derived);
    for (int64_t i = 0; i < n; i += 2) {
        uint32_t words[4];
        double u[2];
        words_of(key, derived, (first + (uint64_t)i) / 2, words);
        for (int k = 0; k < 2; k++) {
            const uint64_t bits = (uint64_t)words[2 * k] << 21 ^ words[2 * k + 1] >> 11;
            u[k] = ((double)(int64_t)bits + 0.5) * 0x1p-53; /* not 0 */
        }
        const double radius = sqrt(-2.0 * log(u[0])), angle = 2.0 * 3.14159265358979323846 * u[1];
        x[i] = radius * cos(angle);
        if (i + 1 < n) {
            x[i + 1] = radius * sin(angle);
        }
    }
}
