/* SPDX-License-Identifier: Apache-2.0
 * Claims about decode/sample.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decode/sample.h"

enum { N_DRAWS = 40000 };

static const struct sc_sample_options plain = {.temperature = 1, .top_p = 1, .seed = 7};

static int64_t draw(int64_t n, const float *logits, struct sc_sample_options options, uint64_t position)
{
    struct sc_sampler *sampler = NULL;
    int64_t token = -1;
    assert_int_equal(sc_sampler_create(n, &sampler), SC_OK);
    assert_int_equal(sc_sample_check(&options), SC_OK);
    assert_int_equal(sc_sample(sampler, &options, logits, 0, position, &token), SC_OK);
    sc_sampler_free(sampler);
    return token;
}

/* Draws at many positions and compares how often each token came with its probability; five standard errors. */
static void check_distribution(
    int64_t n, const float *logits, struct sc_sample_options options, const double *probabilities)
{
    struct sc_sampler *sampler = NULL;
    assert_int_equal(sc_sampler_create(n, &sampler), SC_OK);
    int *const counts = calloc((size_t)n, sizeof *counts);
    assert_non_null(counts);
    for (uint64_t position = 0; position < N_DRAWS; position++) {
        int64_t token = -1;
        assert_int_equal(sc_sample(sampler, &options, logits, 3, position, &token), SC_OK);
        assert_true(token >= 0 && token < n);
        counts[token]++;
    }
    for (int64_t i = 0; i < n; i++) {
        const double p = probabilities[i];
        assert_true(fabs((double)counts[i] / N_DRAWS - p) <= 5 * sqrt(p * (1 - p) / N_DRAWS));
    }
    free(counts);
    sc_sampler_free(sampler);
}

/* Logits of the probabilities 0.1, 0.4, 0.05, 0.3, 0.15. */
static void logits_of_five(float logits[5])
{
    static const double p[5] = {0.1, 0.4, 0.05, 0.3, 0.15};
    for (int i = 0; i < 5; i++) {
        logits[i] = (float)(log(p[i]) + 3);
    }
}

static void tokens_come_as_often_as_the_softmax_says(void **state)
{
    (void)state;
    float logits[5];
    logits_of_five(logits);
    check_distribution(5, logits, plain, (const double[]){0.1, 0.4, 0.05, 0.3, 0.15});
}

static void top_k_keeps_the_largest(void **state)
{
    (void)state;
    float logits[5];
    logits_of_five(logits);
    struct sc_sample_options options = plain;
    options.top_k = 2;
    check_distribution(5, logits, options, (const double[]){0, 4.0 / 7, 0, 3.0 / 7, 0});
}

static void top_p_keeps_the_fewest_that_reach_it(void **state)
{
    (void)state;
    float logits[5];
    logits_of_five(logits);
    struct sc_sample_options options = plain;
    options.top_p = 0.75; /* 0.4 + 0.3 < 0.75 <= 0.4 + 0.3 + 0.15 */
    check_distribution(5, logits, options, (const double[]){0, 8.0 / 17, 0, 6.0 / 17, 3.0 / 17});
}

static void top_p_looks_at_what_top_k_left(void **state)
{
    (void)state;
    float logits[5];
    logits_of_five(logits);
    struct sc_sample_options options = plain;
    options.top_k = 3; /* 0.47, 0.35, 0.18 of 0.85 */
    options.top_p = 0.8; /* of all five it would take three */
    check_distribution(5, logits, options, (const double[]){0, 4.0 / 7, 0, 3.0 / 7, 0});
}

static void min_p_is_relative_to_the_largest(void **state)
{
    (void)state;
    float logits[5];
    logits_of_five(logits);
    struct sc_sample_options options = plain;
    options.min_p = 0.3; /* 0.12 */
    check_distribution(5, logits, options, (const double[]){0, 8.0 / 17, 0, 6.0 / 17, 3.0 / 17});
}

/* With the temperature first, top_p would see 0.4 and 0.3 as 0.26 and 0.22 and keep more. */
static void temperature_applies_after_the_filters(void **state)
{
    (void)state;
    float logits[5];
    logits_of_five(logits);
    struct sc_sample_options options = plain;
    options.temperature = 2;
    options.top_p = 0.65;
    const double a = sqrt(0.4);
    const double b = sqrt(0.3);
    check_distribution(5, logits, options, (const double[]){0, a / (a + b), 0, b / (a + b), 0});
}

static void temperature_0_takes_the_lowest_of_equal_tokens(void **state)
{
    (void)state;
    const float logits[] = {-1, 3, 2, 3, 3};
    struct sc_sample_options options = plain;
    options.temperature = 0;
    assert_int_equal(draw(5, logits, options, 0), 1);
}

static void one_token_left_is_always_drawn(void **state)
{
    (void)state;
    const float logits[] = {-1, 3, 2, 3, 3};
    const float alone[] = {-INFINITY, -INFINITY, -1e30f, -INFINITY};
    struct sc_sample_options top_k_1 = plain;
    struct sc_sample_options top_p_0 = plain;
    struct sc_sample_options cold = plain;
    top_k_1.top_k = 1;
    top_p_0.top_p = 0;
    cold.temperature = 1e-300;
    for (uint64_t position = 0; position < 50; position++) {
        assert_int_equal(draw(5, logits, top_k_1, position), 1);
        assert_int_equal(draw(5, logits, top_p_0, position), 1);
        assert_int_equal(draw(3, (const float[]){1, 2, 1.5f}, cold, position), 1);
        assert_int_equal(draw(4, alone, plain, position), 2);
        assert_int_equal(draw(1, logits, plain, position), 0);
    }
}

static void what_is_minus_infinity_is_never_drawn(void **state)
{
    (void)state;
    const float logits[] = {0, -INFINITY, 0, -INFINITY};
    struct sc_sample_options options = plain;
    options.top_k = 3;
    check_distribution(4, logits, plain, (const double[]){0.5, 0, 0.5, 0});
    check_distribution(4, logits, options, (const double[]){0.5, 0, 0.5, 0});
}

static void a_draw_depends_on_its_key_alone(void **state)
{
    (void)state;
    enum { N = 1000, POSITIONS = 64 };
    float logits[N] = {0};
    struct sc_sampler *sampler = NULL;
    assert_int_equal(sc_sampler_create(N, &sampler), SC_OK);
    int64_t forward[POSITIONS];
    int n_same[3] = {0};
    for (uint64_t p = 0; p < POSITIONS; p++) {
        assert_int_equal(sc_sample(sampler, &plain, logits, 1, p, &forward[p]), SC_OK);
    }
    struct sc_sample_options other_seed = plain;
    other_seed.seed++;
    for (uint64_t p = POSITIONS; p-- > 0;) {
        int64_t token;
        assert_int_equal(sc_sample(sampler, &plain, logits, 1, p, &token), SC_OK);
        assert_int_equal(token, forward[p]);
        assert_int_equal(sc_sample(sampler, &plain, logits, 2, p, &token), SC_OK);
        n_same[0] += token == forward[p];
        assert_int_equal(sc_sample(sampler, &other_seed, logits, 1, p, &token), SC_OK);
        n_same[1] += token == forward[p];
        assert_int_equal(sc_sample(sampler, &plain, logits, 1, p + 1, &token), SC_OK);
        n_same[2] += token == forward[p];
    }
    /* One in a thousand is the same by chance; five of 64 are not. */
    assert_true(n_same[0] < 5 && n_same[1] < 5 && n_same[2] < 5);
    sc_sampler_free(sampler);
}

/* The filters sort by a heap: against a plain sort over many tokens with many ties. */
static int falling(const void *a, const void *b)
{
    const float x = *(const float *)a;
    const float y = *(const float *)b;
    return (x < y) - (x > y);
}

static void top_k_agrees_with_a_sort(void **state)
{
    (void)state;
    enum { N = 5000, K = 37 };
    static float logits[N];
    static float sorted[N];
    for (int i = 0; i < N; i++) {
        logits[i] = (float)((i * 7919) % 1009) / 100;
    }
    memcpy(sorted, logits, sizeof logits);
    qsort(sorted, N, sizeof sorted[0], falling);
    struct sc_sample_options options = plain;
    options.top_k = K;
    options.temperature = 100;
    for (uint64_t position = 0; position < 200; position++) {
        assert_true(logits[draw(N, logits, options, position)] >= sorted[K - 1]);
    }
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    struct sc_sampler *sampler = NULL;
    assert_int_equal(sc_sampler_create(3, &sampler), SC_OK);
    const float bad[][3] = {{0, NAN, 1}, {NAN, NAN, NAN}, {0, INFINITY, 1}, {-INFINITY, -INFINITY, -INFINITY}};
    struct sc_sample_options greedy = plain;
    greedy.temperature = 0;
    for (int i = 0; i < 4; i++) {
        int64_t token = -5;
        assert_int_equal(sc_sample(sampler, &plain, bad[i], 0, 0, &token), SC_BAD_INPUT);
        assert_int_equal(sc_sample(sampler, &greedy, bad[i], 0, 0, &token), SC_BAD_INPUT);
        assert_int_equal(token, -5);
    }
    sc_sampler_free(sampler);
    sc_sampler_free(NULL);
}

static void options_out_of_range_are_named(void **state)
{
    (void)state;
    const struct {
        struct sc_sample_options options;
        const char *name;
    } bad[] = {
        {{.temperature = -1, .top_p = 1}, "temperature"},
        {{.temperature = NAN, .top_p = 1}, "temperature"},
        {{.temperature = INFINITY, .top_p = 1}, "temperature"},
        {{.top_k = -1, .top_p = 1}, "top-k"},
        {{.top_p = 1.5}, "top-p"},
        {{.top_p = NAN}, "top-p"},
        {{.top_p = 1, .min_p = -0.1}, "min-p"},
        {{.top_p = 1, .min_p = 2}, "min-p"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(sc_sample_check(&bad[i].options), SC_BAD_USAGE);
        assert_non_null(strstr(sc_error_last()->text, bad[i].name));
    }
    struct sc_sampler *sampler = NULL;
    assert_int_equal(sc_sampler_create(0, &sampler), SC_BAD_MODEL);
    assert_int_equal(sc_sampler_create((int64_t)1 << 40, &sampler), SC_BAD_MODEL);
    assert_null(sampler);
}

/* Squares of the probabilities, over their sum of 0.285: 0.035, 0.561, 0.009, 0.316, 0.079. The fewest that reach 0.6
 * are two of them, of the probabilities themselves too; those that reach 0.55 are one and two. */
static void filters_see_tempered_probabilities_where_asked(void **state)
{
    (void)state;
    float logits[5];
    logits_of_five(logits);
    struct sc_sample_options options = plain;
    options.temperature = 0.5;
    options.top_p = 0.55;
    check_distribution(5, logits, options, (const double[5]){0, 0.16 / 0.25, 0, 0.09 / 0.25, 0});
    options.tempered = true;
    check_distribution(5, logits, options, (const double[5]){0, 1, 0, 0, 0});
    options.top_p = 1;
    options.min_p = 0.5; /* 0.09 / 0.16 passes, 0.0225 / 0.16 does not; untempered 0.15 / 0.4 does not either */
    check_distribution(5, logits, options, (const double[5]){0, 0.16 / 0.25, 0, 0.09 / 0.25, 0});
    options.min_p = 0.6; /* untempered 0.3 / 0.4 passes */
    check_distribution(5, logits, options, (const double[5]){0, 1, 0, 0, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_as_often_as_the_softmax_says),
        cmocka_unit_test(top_k_keeps_the_largest),
        cmocka_unit_test(top_p_keeps_the_fewest_that_reach_it),
        cmocka_unit_test(top_p_looks_at_what_top_k_left),
        cmocka_unit_test(min_p_is_relative_to_the_largest),
        cmocka_unit_test(temperature_applies_after_the_filters),
        cmocka_unit_test(temperature_0_takes_the_lowest_of_equal_tokens),
        cmocka_unit_test(one_token_left_is_always_drawn),
        cmocka_unit_test(what_is_minus_infinity_is_never_drawn),
        cmocka_unit_test(a_draw_depends_on_its_key_alone),
        cmocka_unit_test(top_k_agrees_with_a_sort),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(options_out_of_range_are_named),
        cmocka_unit_test(filters_see_tempered_probabilities_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
