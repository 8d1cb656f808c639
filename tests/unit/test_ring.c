/* SPDX-License-Identifier: Apache-2.0
 * The ring alone: between two threads, where the thread sanitizer sees both sides, and at its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sched.h>
#include <string.h>

#include "base/lock.h"
#include "comm/ring.h"

#define N_MESSAGES 50000
#define N_BUFFERS 8

/* Buffers go round as those of a link do: full by `sent`, empty by `back`. Only the rings order the accesses. */
struct pair {
    struct sc_ring sent, back;
    int64_t data[N_BUFFERS];
};

static void take(struct sc_ring *ring, struct sc_ring_entry *entry)
{
    while (!sc_ring_take(ring, entry)) {
        (void)sched_yield();
    }
}

static void produce(void *arg)
{
    struct pair *pair = arg;
    for (int64_t i = 0; i < N_MESSAGES; i++) {
        struct sc_ring_entry entry = {.slot = (uint32_t)i};
        if (i >= N_BUFFERS) {
            take(&pair->back, &entry);
        }
        pair->data[entry.slot] = i * 3;
        entry.bytes = (uint64_t)i;
        assert_true(sc_ring_put(&pair->sent, &entry));
    }
}

static void messages_come_in_order_with_what_was_written_before(void **state)
{
    (void)state;
    static struct pair pair;
    struct sc_thread *thread;
    assert_int_equal(sc_thread_start(produce, &pair, &thread), SC_OK);
    for (int64_t i = 0; i < N_MESSAGES; i++) {
        struct sc_ring_entry entry;
        take(&pair.sent, &entry);
        assert_int_equal(entry.bytes, i);
        assert_int_equal(pair.data[entry.slot], i * 3);
        assert_true(sc_ring_put(&pair.back, &entry));
    }
    sc_thread_join(thread);
}

static void a_full_ring_refuses_and_an_empty_one_gives_nothing(void **state)
{
    (void)state;
    static struct sc_ring ring;
    struct sc_ring_entry entry = {0};
    assert_false(sc_ring_take(&ring, &entry));
    for (uint32_t i = 0; i < SC_LINK_BUFFERS; i++) {
        entry.slot = i;
        assert_true(sc_ring_put(&ring, &entry));
    }
    assert_false(sc_ring_put(&ring, &entry));
    assert_true(sc_ring_take(&ring, &entry));
    assert_int_equal(entry.slot, 0);
    entry.slot = 1000;
    assert_true(sc_ring_put(&ring, &entry));
    for (uint32_t i = 1; i < SC_LINK_BUFFERS; i++) {
        assert_true(sc_ring_take(&ring, &entry));
        assert_int_equal(entry.slot, i);
    }
    assert_true(sc_ring_take(&ring, &entry));
    assert_int_equal(entry.slot, 1000);
    assert_false(sc_ring_take(&ring, &entry));
}

static void counters_wrap(void **state)
{
    (void)state;
    static struct sc_ring ring;
    struct sc_ring_entry entry = {0};
    atomic_store(&ring.head, UINT32_MAX - 2);
    atomic_store(&ring.tail, UINT32_MAX - 2);
    for (uint32_t i = 0; i < SC_LINK_BUFFERS; i++) {
        entry.slot = i;
        assert_true(sc_ring_put(&ring, &entry));
    }
    assert_false(sc_ring_put(&ring, &entry));
    for (uint32_t i = 0; i < SC_LINK_BUFFERS; i++) {
        assert_true(sc_ring_take(&ring, &entry));
        assert_int_equal(entry.slot, i);
    }
    assert_false(sc_ring_take(&ring, &entry));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order_with_what_was_written_before),
        cmocka_unit_test(a_full_ring_refuses_and_an_empty_one_gives_nothing),
        cmocka_unit_test(counters_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
