/* SPDX-License-Identifier: Apache-2.0
 * Claims about how many groups running texts are cut in. All times are given: a machine is played, no clock is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "decode/groups.h"

enum { US = 1000, ROUNDS = 4096 };

/* Stages that are equal and one behind the other. */
struct machine {
    int n_stages, n_texts;
    int64_t weights_us, row_us; /* of a stage, for one step */
    int n_at_once; /* stages that can read weights at full speed together */
    struct sc_groups groups;
    int64_t n_rounds[64]; /* with so many groups */
};

/* Between two tokens of a text its group goes through all stages, of which as many work as there are groups. */
static int64_t token_ns(const struct machine *m, int n_groups)
{
    const int64_t n_rows = (m->n_texts + n_groups - 1) / n_groups;
    const int64_t weights_us = m->weights_us * (n_groups > m->n_at_once ? n_groups : m->n_at_once) / m->n_at_once;
    return m->n_stages * (weights_us + n_rows * m->row_us) * US;
}

/* Every text gets so many tokens. The first steps of a number of groups were cut by the one before, and take any
 * time. */
static void run(struct machine *m, int n_rounds)
{
    int before = 0;
    for (int round = 0; round < n_rounds; round++) {
        const int n = sc_groups_choose(&m->groups, m->n_texts, m->n_stages);
        assert_in_range(n, 1, m->n_stages < m->n_texts ? m->n_stages : m->n_texts);
        m->n_rounds[n]++;
        for (int step = 0; step < n && sc_groups_choose(&m->groups, m->n_texts, m->n_stages) == n; step++) {
            sc_groups_note(&m->groups, n == before || before == 0 ? token_ns(m, n) : round % 2 * INT32_MAX);
        }
        before = n;
    }
}

static int most_used(const struct machine *m)
{
    int most = 1;
    for (int n = 2; n < 64; n++) {
        most = m->n_rounds[n] > m->n_rounds[most] ? n : most;
    }
    return most;
}

static void stages_that_share_one_memory_get_one_step_for_all(void **state)
{
    (void)state;
    struct machine m = {.n_stages = 2, .n_texts = 2, .weights_us = 20000, .row_us = 2000, .n_at_once = 1};
    run(&m, ROUNDS);
    assert_true(m.n_rounds[1] > ROUNDS * 98 / 100);
    assert_true(m.n_rounds[2] > 0);
}

static void stages_with_memory_of_their_own_all_work(void **state)
{
    (void)state;
    struct machine m = {.n_stages = 4, .n_texts = 32, .weights_us = 20000, .row_us = 2000, .n_at_once = 4};
    run(&m, ROUNDS);
    assert_true(m.n_rounds[4] > ROUNDS * 95 / 100);
}

static void some_stages_at_once_may_be_the_best(void **state)
{
    (void)state;
    struct machine m = {.n_stages = 8, .n_texts = 16, .weights_us = 20000, .row_us = 4000, .n_at_once = 2};
    run(&m, ROUNDS);
    assert_int_equal(most_used(&m), 2);
    struct machine three = {.n_stages = 3, .n_texts = 48, .weights_us = 1000, .row_us = 1000, .n_at_once = 3};
    run(&three, ROUNDS);
    assert_int_equal(most_used(&three), 3); /* not a power of two, and tried */
}

/* Memory that others use too, and then do not. */
static void what_changes_is_found(void **state)
{
    (void)state;
    struct machine m = {.n_stages = 2, .n_texts = 8, .weights_us = 20000, .row_us = 3000, .n_at_once = 1};
    for (int n_at_once = 1; n_at_once <= 2; n_at_once++) {
        m.n_at_once = n_at_once;
        run(&m, 600); /* as long as the longest pause may still last */
        m.n_rounds[1] = m.n_rounds[2] = 0;
        run(&m, ROUNDS);
        assert_int_equal(most_used(&m), n_at_once);
    }
}

static void each_number_of_texts_has_its_own(void **state)
{
    (void)state;
    struct machine m = {.n_stages = 2, .n_texts = 2, .weights_us = 20000, .row_us = 3000, .n_at_once = 1};
    run(&m, 32);
    assert_int_equal(sc_groups_choose(&m.groups, 2, 2), 1);
    m.n_texts = 64;
    run(&m, 32);
    assert_int_equal(sc_groups_choose(&m.groups, 64, 2), 2);
    assert_int_equal(sc_groups_choose(&m.groups, 2, 2), 1);
    assert_int_equal(sc_groups_choose(&m.groups, 1, 2), 1);
    assert_int_equal(sc_groups_choose(&m.groups, 64, 2), 2);
}

/* As after a change of plan: nothing is known of it. */
static void other_stages_are_tried_anew(void **state)
{
    (void)state;
    struct machine m = {.n_stages = 2, .n_texts = 64, .weights_us = 20000, .row_us = 3000, .n_at_once = 2};
    run(&m, 32);
    assert_int_equal(sc_groups_choose(&m.groups, 64, 2), 2);
    assert_int_equal(sc_groups_choose(&m.groups, 64, 3), 1);
    assert_int_equal(sc_groups_choose(&m.groups, 64, 1), 1);
    assert_int_equal(sc_groups_choose(&m.groups, 0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_that_share_one_memory_get_one_step_for_all),
        cmocka_unit_test(stages_with_memory_of_their_own_all_work),
        cmocka_unit_test(some_stages_at_once_may_be_the_best),
        cmocka_unit_test(what_changes_is_found),
        cmocka_unit_test(each_number_of_texts_has_its_own),
        cmocka_unit_test(other_stages_are_tried_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
