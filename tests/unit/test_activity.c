/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/clock.c and base/activity.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "base/activity.h"
#include "base/clock.h"

static void the_clock_grows_and_sleep_lasts(void **state)
{
    (void)state;
    const int64_t start = sc_clock_ns();
    sc_clock_sleep_ns(2000000);
    assert_true(sc_clock_ns() - start >= 2000000);
    sc_clock_sleep_ns(0);
    sc_clock_sleep_ns(-1);
}

static void time_is_added_to_the_phase_that_was_left(void **state)
{
    (void)state;
    struct sc_activity activity = {0};
    sc_activity_enter(&activity, SC_PHASE_COMPUTE, 2, 7);
    assert_int_equal(activity.phase_ns[SC_PHASE_IDLE], 0);
    assert_int_equal(activity.stage, 2);
    assert_int_equal(activity.seq, 7);
    assert_int_equal(activity.tick, 1);
    sc_clock_sleep_ns(2000000);
    sc_activity_enter(&activity, SC_PHASE_WAIT, -1, -1);
    assert_true(activity.phase_ns[SC_PHASE_COMPUTE] >= 2000000);
    assert_int_equal(activity.phase_ns[SC_PHASE_WAIT], 0);
    assert_int_equal(activity.phase, SC_PHASE_WAIT);
}

static void phases_have_names(void **state)
{
    (void)state;
    assert_string_equal(sc_phase_name(SC_PHASE_IDLE), "idle");
    assert_string_equal(sc_phase_name(SC_PHASE_SEND), "send");
    assert_string_equal(sc_phase_name((enum sc_phase)77), "unknown phase");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_grows_and_sleep_lasts),
        cmocka_unit_test(time_is_added_to_the_phase_that_was_left),
        cmocka_unit_test(phases_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
