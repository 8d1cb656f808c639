/* SPDX-License-Identifier: Apache-2.0
 * What the watchdog ends and what it lets live. Each case is a child process with a timeout of 0.4 s; ranks that watch
 * each other are in tests/mpi/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/watchdog.h"

#define MS 1000000
#define TIMEOUT_NS (400 * MS)

struct ended {
    int status; /* of waitpid */
    char text[1024]; /* its stderr */
};

static const char *name_node(const void *arg, int stage, int node)
{
    (void)arg;
    return stage == 2 && node == 7 ? "/layers.3/MatMul" : "another";
}

static struct sc_watchdog *watch(struct sc_activity *activity)
{
    struct sc_world *world = NULL;
    struct sc_watchdog *watchdog = NULL;
    if (sc_world_open_single(&world) != SC_OK || sc_watchdog_start(TIMEOUT_NS, "test", &watchdog) != SC_OK ||
        sc_watchdog_world(watchdog, world) != SC_OK) {
        _exit(99);
    }
    sc_watchdog_attach(watchdog, activity, name_node, NULL);
    return watchdog;
}

/* Each child ends by itself with 3 when nobody ends it before. */
static void child_stalls(struct sc_activity *activity)
{
    sc_activity_enter(activity, SC_PHASE_COMPUTE, 2, 11);
    atomic_store(&activity->node, 7);
    struct sc_watchdog *watchdog = watch(activity);
    sc_clock_sleep_ns(5 * (int64_t)TIMEOUT_NS);
    sc_watchdog_stop(watchdog);
}

static void child_stalls_in_loading(struct sc_activity *activity)
{
    sc_activity_enter(activity, SC_PHASE_LOAD, 1, -1);
    struct sc_watchdog *watchdog = watch(activity);
    sc_clock_sleep_ns(5 * (int64_t)TIMEOUT_NS);
    sc_watchdog_stop(watchdog);
}

static void child_ticks(struct sc_activity *activity)
{
    sc_activity_enter(activity, SC_PHASE_COMPUTE, 2, 11);
    struct sc_watchdog *watchdog = watch(activity);
    for (int i = 0; i < 30; i++) {
        sc_clock_sleep_ns(50 * MS);
        (void)atomic_fetch_add(&activity->tick, 1);
    }
    sc_watchdog_stop(watchdog);
}

static void child_goes_from_node_to_node(struct sc_activity *activity)
{
    sc_activity_enter(activity, SC_PHASE_COMPUTE, 2, 11);
    struct sc_watchdog *watchdog = watch(activity);
    for (int i = 0; i < 30; i++) {
        sc_clock_sleep_ns(50 * MS);
        atomic_store(&activity->node, i);
    }
    sc_watchdog_stop(watchdog);
}

static void child_waits_for_others(struct sc_activity *activity)
{
    sc_activity_enter(activity, SC_PHASE_WAIT, -1, -1);
    struct sc_watchdog *watchdog = watch(activity);
    sc_clock_sleep_ns(4 * (int64_t)TIMEOUT_NS);
    sc_watchdog_stop(watchdog);
}

static pid_t start(void (*child)(struct sc_activity *activity), int *err)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static struct sc_activity activity;
        (void)dup2(ends[1], STDERR_FILENO);
        child(&activity);
        _exit(3);
    }
    (void)close(ends[1]);
    *err = ends[0];
    return pid;
}

static struct ended finish(pid_t pid, int err)
{
    struct ended ended = {0};
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n<sizeof ended.text - 1; n += got> 0 ? (size_t)got : 0) {
        got = read(err, ended.text + n, sizeof ended.text - 1 - n);
    }
    (void)close(err);
    assert_int_equal(waitpid(pid, &ended.status, 0), pid);
    assert_true(WIFEXITED(ended.status));
    return ended;
}

static struct ended run(void (*child)(struct sc_activity *activity))
{
    int err;
    const pid_t pid = start(child, &err);
    return finish(pid, err);
}

static void stalled_worker_is_named_in_one_line(void **state)
{
    (void)state;
    char host[64] = "", start_of_line[128];
    const struct ended ended = run(child_stalls);
    assert_int_equal(WEXITSTATUS(ended.status), 1);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    snprintf(start_of_line, sizeof start_of_line, "test: rank 0 on %s: stalled: ", host);
    assert_memory_equal(ended.text, start_of_line, strlen(start_of_line));
    assert_non_null(
        strstr(ended.text, "in stage 2, node '/layers.3/MatMul', microbatch 11, phase compute (--timeout)\n"));
    assert_ptr_equal(strchr(ended.text, '\n') + 1, ended.text + strlen(ended.text));
}

static void stalled_loading_is_named(void **state)
{
    (void)state;
    const struct ended ended = run(child_stalls_in_loading);
    assert_int_equal(WEXITSTATUS(ended.status), 1);
    assert_non_null(strstr(ended.text, "in stage 1, phase load (--timeout)\n"));
}

static void slow_work_lives(void **state)
{
    (void)state;
    void (*const children[])(struct sc_activity * activity) = {
        child_ticks, child_goes_from_node_to_node, child_waits_for_others};
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        const struct ended ended = run(children[i]);
        assert_string_equal(ended.text, "");
        assert_int_equal(WEXITSTATUS(ended.status), 3);
    }
}

static void suspended_process_begins_anew(void **state)
{
    (void)state;
    int err;
    const pid_t pid = start(child_ticks, &err);
    sc_clock_sleep_ns(300 * MS);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    sc_clock_sleep_ns(3 * (int64_t)TIMEOUT_NS);
    assert_int_equal(kill(pid, SIGCONT), 0);
    const struct ended ended = finish(pid, err);
    assert_string_equal(ended.text, "");
    assert_int_equal(WEXITSTATUS(ended.status), 3);
}

static void stopping_does_not_wait_for_the_period(void **state)
{
    (void)state;
    struct sc_watchdog *watchdog = NULL;
    const int64_t hour_ns = (int64_t)3600 * 1000 * MS, start_ns = sc_clock_ns();
    for (int i = 0; i < 100; i++) { /* a period is 0.1 s */
        assert_int_equal(sc_watchdog_start(hour_ns, "test", &watchdog), SC_OK);
        sc_watchdog_stop(watchdog);
    }
    assert_true(sc_clock_ns() - start_ns < (int64_t)5000 * MS);
    sc_watchdog_stop(NULL);
    sc_watchdog_attach(NULL, NULL, NULL, NULL);
    sc_watchdog_detach(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stalled_worker_is_named_in_one_line),
        cmocka_unit_test(stalled_loading_is_named),
        cmocka_unit_test(slow_work_lives),
        cmocka_unit_test(suspended_process_begins_anew),
        cmocka_unit_test(stopping_does_not_wait_for_the_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
