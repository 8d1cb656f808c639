/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/team.c; the thread sanitizer says more about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/team.h"

struct tally {
    int64_t n_parts;
    int n_workers;
    int *runs; /* by part; plain ints: two workers on one part would be a race */
    _Atomic int64_t n_run;
    _Atomic int n_progress;
    _Atomic int bad_worker;
};

static void count_part(void *arg, int64_t part, int worker)
{
    struct tally *const tally = arg;
    if (worker < 0 || worker >= tally->n_workers) {
        tally->bad_worker = 1;
    }
    tally->runs[part]++;
    tally->n_run++;
}

static void count_progress(void *arg)
{
    ((struct tally *)arg)->n_progress++;
}

static void check_loop(struct sc_team *team, int64_t n_parts)
{
    struct tally tally = {.n_parts = n_parts, .n_workers = sc_team_size(team)};
    tally.runs = calloc((size_t)n_parts + 1, sizeof *tally.runs);
    assert_non_null(tally.runs);
    sc_team_for(team, n_parts, count_part, &tally);
    assert_int_equal(tally.n_run, n_parts);
    assert_int_equal(tally.bad_worker, 0);
    for (int64_t i = 0; i < n_parts; i++) {
        assert_int_equal(tally.runs[i], 1);
    }
    free(tally.runs);
}

static void every_part_runs_once(void **state)
{
    (void)state;
    for (int n_workers = 1; n_workers <= 4; n_workers++) {
        struct sc_team *team = NULL;
        assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = n_workers}, &team), SC_OK);
        assert_int_equal(sc_team_size(team), n_workers);
        for (int64_t n_parts = 0; n_parts < 40; n_parts++) {
            check_loop(team, n_parts);
        }
        for (int i = 0; i < 500; i++) {
            check_loop(team, 1 + i % 7);
        }
        check_loop(team, 10000);
        sc_team_free(team);
    }
}

static void sleeping_workers_wake_up(void **state)
{
    (void)state;
    struct sc_team *team = NULL;
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = 3}, &team), SC_OK);
    for (int i = 0; i < 20; i++) {
        sc_clock_sleep_ns(500000);
        check_loop(team, 1 + i);
    }
    sc_team_free(team);
}

static void wait_for_the_other(void *arg, int64_t part, int worker)
{
    (void)part;
    (void)worker;
    _Atomic int *const n_here = arg;
    (*n_here)++;
    const int64_t until = sc_clock_ns() + 10 * (int64_t)1000000000;
    while (*n_here < 2 && sc_clock_ns() < until) {
        sc_clock_sleep_ns(10000);
    }
}

static void two_workers_run_at_the_same_time(void **state)
{
    (void)state;
    struct sc_team *team = NULL;
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = 2}, &team), SC_OK);
    _Atomic int n_here = 0;
    const int64_t start = sc_clock_ns();
    sc_team_for(team, 2, wait_for_the_other, &n_here);
    assert_true(sc_clock_ns() - start < 9 * (int64_t)1000000000);
    sc_team_free(team);
}

static void a_null_team_runs_in_the_caller(void **state)
{
    (void)state;
    assert_int_equal(sc_team_size(NULL), 1);
    check_loop(NULL, 9);
    sc_team_set_progress(NULL, count_progress, NULL);
    sc_team_free(NULL);
}

static void progress_is_made_between_parts(void **state)
{
    (void)state;
    for (int n_workers = 1; n_workers <= 2; n_workers++) {
        struct sc_team *team = NULL;
        assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = n_workers}, &team), SC_OK);
        int runs[100] = {0};
        struct tally tally = {.n_workers = n_workers, .runs = runs};
        sc_team_set_progress(team, count_progress, &tally);
        for (int i = 0; i < 100; i++) {
            sc_team_for(team, 100, count_part, &tally);
        }
        assert_true(tally.n_progress > 0);
        const int before = tally.n_progress;
        sc_team_set_progress(team, NULL, NULL);
        sc_team_for(team, 100, count_part, &tally);
        assert_int_equal(tally.n_progress, before);
        sc_team_free(team);
    }
}

/* Work without parts, 50 ms of it by the clock; then a loop of the team, and work within work. */
static enum sc_status be_long(void *arg)
{
    (void)arg;
    const int64_t until = sc_clock_ns() + 50000000;
    while (sc_clock_ns() < until) { }
    return SC_OK;
}

struct within {
    struct sc_team *team;
    struct tally tally;
};

static enum sc_status use_the_team(void *arg)
{
    struct within *within = arg;
    sc_team_for(within->team, 100, count_part, &within->tally);
    return sc_fail(SC_LIMIT, "said by another thread");
}

static enum sc_status go_within(void *arg)
{
    return sc_team_relieve(((struct within *)arg)->team, use_the_team, arg);
}

static enum sc_status be_stuck(void *arg)
{
    (void)arg;
    sc_clock_sleep_ns(50000000);
    return SC_OK;
}

static void progress_is_made_while_work_without_parts_goes_on(void **state)
{
    (void)state;
    for (int n_workers = 1; n_workers <= 2; n_workers++) {
        struct within within = {.tally = {.n_workers = n_workers}};
        int runs[100] = {0};
        within.tally.runs = runs;
        assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = n_workers}, &within.team), SC_OK);
        sc_team_set_progress(within.team, count_progress, &within.tally);
        assert_int_equal(sc_team_relieve(within.team, be_long, &within.tally), SC_OK);
        assert_true(within.tally.n_progress > 0);
        assert_int_equal(sc_team_relieve(within.team, go_within, &within), SC_LIMIT);
        assert_string_equal(sc_error_last()->text, "said by another thread");
        for (int i = 0; i < 100; i++) {
            assert_int_equal(runs[i], 1);
        }
        sc_team_free(within.team);
    }
}

static void stuck_work_does_not_look_alive(void **state)
{
    (void)state;
    struct tally tally = {.n_workers = 1};
    struct sc_team *team = NULL;
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = 1}, &team), SC_OK);
    sc_team_set_progress(team, count_progress, &tally);
    assert_int_equal(sc_team_relieve(team, be_stuck, NULL), SC_OK);
    /* of 100 looks: only where it went to sleep, in pieces on a machine with more to do */
    assert_true(tally.n_progress < 20);
    assert_int_equal(sc_team_relieve(NULL, be_stuck, NULL), SC_OK);
    sc_team_free(team);
}

static void mark_worker(void *arg, int worker)
{
    ((_Atomic int *)arg)[worker]++;
}

static void on_start_has_run_once_on_each_worker(void **state)
{
    (void)state;
    _Atomic int marks[4] = {0};
    const struct sc_team_options options = {.n_workers = 4, .on_start = mark_worker, .on_start_arg = marks};
    struct sc_team *team = NULL;
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(marks[i], 1);
    }
    sc_team_free(team);
}

static void a_size_out_of_range_is_refused(void **state)
{
    (void)state;
    struct sc_team *team = NULL;
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = 0}, &team), SC_BAD_USAGE);
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = -1}, &team), SC_BAD_USAGE);
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = 1 << 30}, &team), SC_BAD_USAGE);
    assert_null(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_runs_once),
        cmocka_unit_test(sleeping_workers_wake_up),
        cmocka_unit_test(two_workers_run_at_the_same_time),
        cmocka_unit_test(a_null_team_runs_in_the_caller),
        cmocka_unit_test(progress_is_made_between_parts),
        cmocka_unit_test(progress_is_made_while_work_without_parts_goes_on),
        cmocka_unit_test(stuck_work_does_not_look_alive),
        cmocka_unit_test(on_start_has_run_once_on_each_worker),
        cmocka_unit_test(a_size_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
