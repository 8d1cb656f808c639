/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/random.c. Known answers: kat_vectors of Random123 1.14 (philox4x32, 10 rounds). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/random.h"

static void philox_gives_the_published_words(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint32_t key[2];
        uint32_t words[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
            {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
            {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t words[4];
        sc_random_philox(cases[i].counter, cases[i].key, words);
        assert_memory_equal(words, cases[i].words, sizeof words);
    }
}

static void every_part_of_the_key_changes_the_words(void **state)
{
    (void)state;
    const struct sc_random_key base = {.seed = 1, .stream = 2, .seq = 3};
    struct sc_random_key others[6] = {base, base, base, base, base, base};
    others[0].seed ^= 1;
    others[1].seed ^= (uint64_t)1 << 63;
    others[2].stream ^= 1;
    others[3].stream ^= (uint64_t)1 << 63;
    others[4].seq ^= 1;
    others[5].seq ^= (uint64_t)1 << 63;
    uint32_t first[4];
    uint32_t other[4];
    sc_random_words(&base, 7, first);
    for (int i = 0; i < 6; i++) {
        sc_random_words(&others[i], 7, other);
        assert_memory_not_equal(first, other, sizeof first);
    }
    sc_random_words(&base, 7 + ((uint64_t)1 << 40), other);
    assert_memory_not_equal(first, other, sizeof first);
    sc_random_words(&base, 7, other);
    assert_memory_equal(first, other, sizeof first);
}

/* Mean and variance of n uniform numbers; five standard errors, so that a right generator never fails. */
static void uniform_numbers_have_mean_and_variance(void **state)
{
    (void)state;
    enum { N = 100000 };
    const struct sc_random_key key = {.seed = 42, .stream = 0, .seq = 0};
    double sum = 0;
    double squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double u = sc_random_uniform(&key, i);
        assert_true(u >= 0 && u < 1);
        sum += u;
        squares += (u - 0.5) * (u - 0.5);
    }
    assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(squares / N - 1.0 / 12) < 5 * sqrt(1.0 / 180 / N));
}

static void many_at_once_are_the_numbers_of_each(void **state)
{
    (void)state;
    enum { N = 301 };
    const struct sc_random_key key = {.seed = 42, .stream = 5, .seq = 9};
    const uint64_t first = ((uint64_t)1 << 32) - 100;
    double all[N], part[N];
    sc_random_uniforms(&key, first, N, all);
    for (uint64_t i = 0; i < N; i++) {
        assert_true(all[i] == sc_random_uniform(&key, first + i));
    }
    sc_random_normals(&key, first, N, all);
    for (uint64_t at = 0; at < N; at += 2) { /* an odd count too ends with the number of its place */
        sc_random_normals(&key, first + at, 1 + at % 7 / 2, part);
        assert_memory_equal(part, all + at, sizeof *part);
    }
}

/* Moments up to the fourth, the share within one deviation, and that the two numbers of an index, and those of one and
 * the next, have nothing to do with each other, nor have their squares. Five standard errors. */
static void normal_numbers_are_normal_and_apart(void **state)
{
    (void)state;
    enum { N = 200000 };
    static double x[N];
    const struct sc_random_key key = {.seed = 7, .stream = 1, .seq = 2};
    double powers[5] = {0}, within = 0, pairs[2] = {0}, squares[2] = {0};
    sc_random_normals(&key, 0, N, x);
    for (int i = 0; i + 1 < N; i++) {
        double power = 1;
        for (int k = 0; k < 5; k++) {
            powers[k] += power / N;
            power *= x[i];
        }
        within += fabs(x[i]) < 1;
        pairs[i % 2] += 2 * x[i] * x[i + 1] / N;
        squares[i % 2] += 2 * (x[i] * x[i] - 1) * (x[i + 1] * x[i + 1] - 1) / N;
    }
    assert_true(fabs(powers[1]) < 5 * sqrt(1.0 / N));
    assert_true(fabs(powers[2] - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(powers[3]) < 5 * sqrt(15.0 / N));
    assert_true(fabs(powers[4] - 3) < 5 * sqrt(96.0 / N));
    assert_true(fabs(within / N - 0.682689492) < 5 * sqrt(0.682689492 * 0.317310508 / N));
    for (int k = 0; k < 2; k++) {
        assert_true(fabs(pairs[k]) < 5 * sqrt(2.0 / N));
        assert_true(fabs(squares[k]) < 5 * sqrt(2.0 * 4 / N));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(every_part_of_the_key_changes_the_words),
        cmocka_unit_test(uniform_numbers_have_mean_and_variance),
        cmocka_unit_test(many_at_once_are_the_numbers_of_each),
        cmocka_unit_test(normal_numbers_are_normal_and_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
