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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(every_part_of_the_key_changes_the_words),
        cmocka_unit_test(uniform_numbers_have_mean_and_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
