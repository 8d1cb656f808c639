/* SPDX-License-Identifier: Apache-2.0
 * Claims about what a text says of its next token. */
#include "decode/rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 6 };

static const int64_t eos[2] = {4, 5};

/* Which of six tokens are out behind a text, as digits. */
static int left_out(const struct sc_request *request, const int64_t *text, int64_t n_text)
{
    float row[N] = {0};
    int out = 0;
    sc_rules_apply(request, text, n_text, NULL, N, row);
    for (int v = 0; v < N; v++) {
        out = row[v] == -INFINITY ? 10 * out + v + 1 : out;
    }
    return out;
}

static void runs_do_not_come_twice(void **state)
{
    (void)state;
    const int64_t text[] = {1, 2, 3, 1, 2, 4, 1, 2};
    struct sc_request request = {.sample = {.no_repeat = 3}};
    assert_true(sc_rules_ask(&request, 8));
    assert_int_equal(left_out(&request, text, 8), 45); /* 3 and 4 followed 1 2 */
    assert_int_equal(left_out(&request, text, 7), 0); /* nothing followed 4 1 */
    assert_int_equal(left_out(&request, text, 1), 0);
    request.sample.no_repeat = 2;
    assert_int_equal(left_out(&request, text, 8), 45);
    request.sample.no_repeat = 1;
    assert_int_equal(left_out(&request, text, 8), 2345);
    request.sample.no_repeat = 9;
    assert_int_equal(left_out(&request, text, 8), 0);
}

static void short_texts_do_not_end(void **state)
{
    (void)state;
    const int64_t text[3] = {0};
    struct sc_request request = {.sample = {.min_length = 3}, .eos = eos, .n_eos = 2};
    assert_int_equal(left_out(&request, text, 2), 56);
    assert_true(sc_rules_ask(&request, 2));
    assert_int_equal(left_out(&request, text, 3), 0);
    assert_false(sc_rules_ask(&request, 3));
    request.sample = (struct sc_sample_options){.min_new = 2};
    request.n_made = 1;
    assert_int_equal(left_out(&request, text, 3), 56);
    request.n_made = 2;
    assert_int_equal(left_out(&request, text, 3), 0);
    request.n_made = 0;
    request.n_eos = 0; /* nothing ends it */
    assert_false(sc_rules_ask(&request, 3));
}

static void ids_that_the_model_does_not_have_are_passed_over(void **state)
{
    (void)state;
    const int64_t far[] = {-1, 1 << 20}, text[] = {7, 1 << 20, 7};
    const struct sc_request request = {.sample = {.min_length = 9, .no_repeat = 2}, .eos = far, .n_eos = 2};
    assert_int_equal(left_out(&request, text, 3), 0);
}

static void only_those_asked_for_may_come(void **state)
{
    (void)state;
    const int64_t among[] = {3, 1, 70}, text[] = {0};
    const struct sc_request request = {.among = among, .n_among = 3};
    assert_true(sc_rules_ask(&request, 1));
    assert_int_equal(left_out(&request, text, 1), 1356);
}

static void the_penalty_comes_first(void **state)
{
    (void)state;
    const int64_t text[] = {0, 1, 0};
    const bool seen[N] = {true, true};
    const struct sc_request request = {.sample = {.penalty = 2, .no_repeat = 2}};
    float row[N] = {3, 5, -1, 0, 0, 0};
    sc_rules_apply(&request, text, 3, seen, N, row);
    assert_true(row[0] == 1.5F && row[1] == -INFINITY && row[2] == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_do_not_come_twice),
        cmocka_unit_test(short_texts_do_not_end),
        cmocka_unit_test(ids_that_the_model_does_not_have_are_passed_over),
        cmocka_unit_test(only_those_asked_for_may_come),
        cmocka_unit_test(the_penalty_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
