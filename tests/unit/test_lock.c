/* SPDX-License-Identifier: Apache-2.0
 * Threads that count under a lock, and one that waits for another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/lock.h"

struct shared {
    struct sc_lock *lock;
    long count;
    long turn;
};

static void count_many(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; i < 10000; i++) {
        sc_lock_enter(shared->lock);
        shared->count++;
        sc_lock_leave(shared->lock);
    }
}

static void answer(void *arg)
{
    struct shared *shared = arg;
    sc_lock_enter(shared->lock);
    while (shared->turn != 1) {
        sc_lock_wait(shared->lock);
    }
    shared->turn = 2;
    sc_lock_wake(shared->lock);
    sc_lock_leave(shared->lock);
    sc_thread_exit();
}

static void increments_under_a_lock_are_not_lost(void **state)
{
    (void)state;
    struct shared shared = {0};
    struct sc_thread *threads[4];
    assert_int_equal(sc_lock_create(&shared.lock), SC_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sc_thread_start(count_many, &shared, &threads[i]), SC_OK);
    }
    for (int i = 0; i < 4; i++) {
        sc_thread_join(threads[i]);
    }
    assert_int_equal(shared.count, 40000);
    sc_lock_free(shared.lock);
}

static void wake_reaches_a_waiting_thread(void **state)
{
    (void)state;
    struct shared shared = {0};
    struct sc_thread *thread;
    assert_int_equal(sc_lock_create(&shared.lock), SC_OK);
    assert_int_equal(sc_thread_start(answer, &shared, &thread), SC_OK);
    sc_lock_enter(shared.lock);
    shared.turn = 1;
    sc_lock_wake(shared.lock);
    while (shared.turn != 2) {
        sc_lock_wait(shared.lock);
    }
    sc_lock_leave(shared.lock);
    sc_thread_join(thread);
    assert_int_equal(shared.turn, 2);
    sc_lock_free(shared.lock);
    sc_lock_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(increments_under_a_lock_are_not_lost),
        cmocka_unit_test(wake_reaches_a_waiting_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
