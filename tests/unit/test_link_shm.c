/* SPDX-License-Identifier: Apache-2.0
 * Links over shared memory between two boxes of this one process. What every link must do is in tests/mpi/; here are
 * peers that write nonsense into the rings, the bell, and what memory is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "comm/link_shm.h"

struct two {
    struct sc_shared *nodes[2];
    struct sc_link *links[2];
};

static void set_up(struct two *two)
{
    struct sc_shared_ticket tickets[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sc_shared_create(i, 2, &two->nodes[i], &tickets[i]), SC_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sc_shared_join(two->nodes[i], tickets), SC_OK);
        assert_int_equal(sc_link_shm_create(two->nodes[i], 1 - i, 1 - i, &two->links[i]), SC_OK);
    }
}

static void tear_down(struct two *two)
{
    for (int i = 0; i < 2; i++) {
        sc_link_shm_free(two->links[i]);
        sc_shared_free(two->nodes[i]);
    }
}

static void send_text(struct sc_link *link, const char *text, size_t reserved)
{
    void *buffer = NULL;
    assert_int_equal(sc_link_reserve(link, reserved, &buffer), SC_OK);
    assert_non_null(buffer);
    memcpy(buffer, text, strlen(text) + 1);
    assert_int_equal(sc_link_send(link, buffer, strlen(text) + 1), SC_OK);
}

static void receive_text(struct sc_link *link, const char *text)
{
    struct sc_received received;
    assert_int_equal(sc_link_poll(link, &received), SC_OK);
    assert_non_null(received.data);
    assert_int_equal(received.bytes, strlen(text) + 1);
    assert_string_equal(received.data, text);
    sc_link_give_back(link, &received);
}

static void message_is_read_where_it_was_written(void **state)
{
    (void)state;
    struct two two;
    set_up(&two);
    struct sc_received received;
    void *buffer = NULL;
    assert_int_equal(sc_link_reserve(two.links[0], 100, &buffer), SC_OK);
    memcpy(buffer, "before", 7);
    assert_int_equal(sc_link_send(two.links[0], buffer, 7), SC_OK);
    assert_int_equal(sc_link_poll(two.links[1], &received), SC_OK);
    memcpy(buffer, "after", 6); /* a sender must not, but it shows that there is one copy */
    assert_string_equal(received.data, "after");
    sc_link_give_back(two.links[1], &received);
    tear_down(&two);
}

/* At the bound of buffers a small one makes room for a large one; the receiver maps the new one. */
static void buffers_grow_when_all_are_small(void **state)
{
    (void)state;
    struct two two;
    struct sc_received held[SC_LINK_BUFFERS];
    set_up(&two);
    for (int i = 0; i < SC_LINK_BUFFERS; i++) {
        send_text(two.links[0], "small", 10);
        assert_int_equal(sc_link_poll(two.links[1], &held[i]), SC_OK);
    }
    void *none = NULL;
    assert_int_equal(sc_link_reserve(two.links[0], 1, &none), SC_OK);
    assert_null(none);
    for (int i = 0; i < SC_LINK_BUFFERS; i++) {
        sc_link_give_back(two.links[1], &held[i]);
    }
    send_text(two.links[0], "large", (size_t)3 << 20);
    receive_text(two.links[1], "large");
    send_text(two.links[0], "small", 10);
    receive_text(two.links[1], "small");
    tear_down(&two);
}

static void message_larger_than_memory_is_refused(void **state)
{
    (void)state;
    struct two two;
    void *buffer = NULL;
    set_up(&two);
    assert_int_equal(sc_link_reserve(two.links[0], SIZE_MAX - 10, &buffer), SC_NO_MEMORY);
    assert_int_equal(sc_link_reserve(two.links[0], SIZE_MAX / 2, &buffer), SC_NO_MEMORY);
    assert_null(buffer);
    send_text(two.links[0], "still works", 12);
    receive_text(two.links[1], "still works");
    tear_down(&two);
}

static void nonsense_in_the_rings_is_refused(void **state)
{
    (void)state;
    static const struct sc_ring_entry bad[] = {
        {.slot = SC_LINK_BUFFERS, .capacity = 4096},
        {.slot = 0, .capacity = 10},
        {.slot = 0, .capacity = 4096, .bytes = 4096},
        {.slot = 0, .capacity = 4096, .bytes = UINT64_MAX},
        {.slot = 0, .capacity = UINT64_MAX, .bytes = 5},
        {.slot = 0, .capacity = 4096, .offset = (uint64_t)1 << 40, .bytes = 5},
        {.slot = 0, .capacity = 4096, .offset = UINT64_MAX - 4095, .bytes = 5},
        {.slot = 0, .capacity = 4096, .offset = 64, .bytes = 5},
    };
    struct two two;
    struct sc_received received;
    void *buffer = NULL;
    set_up(&two);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(sc_ring_put(&sc_shared_out(two.nodes[0], 1)->sent, &bad[i]));
        assert_int_equal(sc_link_poll(two.links[1], &received), SC_PEER);
    }
    const struct sc_ring_entry never_sent = {.slot = 3};
    assert_true(sc_ring_put(&sc_shared_out(two.nodes[0], 1)->back, &never_sent));
    assert_int_equal(sc_link_reserve(two.links[0], 10, &buffer), SC_PEER);
    tear_down(&two);
}

static void box_of_another_process_is_refused(void **state)
{
    (void)state;
    struct sc_shared *nodes[2];
    struct sc_shared_ticket tickets[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sc_shared_create(i, 2, &nodes[i], &tickets[i]), SC_OK);
    }
    tickets[1].nonce++;
    assert_int_equal(sc_shared_join(nodes[0], tickets), SC_IO);
    tickets[1].fd = 1 << 20;
    assert_int_equal(sc_shared_join(nodes[0], tickets), SC_IO);
    for (int i = 0; i < 2; i++) {
        sc_shared_free(nodes[i]);
    }
}

static void ring_after_a_while(void *arg)
{
    struct two *two = arg;
    sc_clock_sleep_ns(50000000);
    sc_shared_ring(two->nodes[1], 0);
}

static void bell_wakes_a_sleeper_and_a_late_one_does_not_sleep(void **state)
{
    (void)state;
    struct two two;
    struct sc_thread *thread;
    const int64_t ten_s = 10000000000;
    set_up(&two);
    const int64_t start_ns = sc_clock_ns();
    const uint32_t seen = sc_shared_bell(two.nodes[0]);
    assert_int_equal(sc_thread_start(ring_after_a_while, &two, &thread), SC_OK);
    while (sc_shared_bell(two.nodes[0]) == seen && sc_clock_ns() - start_ns < ten_s) {
        sc_shared_sleep(two.nodes[0], seen, ten_s);
    }
    sc_shared_sleep(two.nodes[0], seen, ten_s); /* it has rung since */
    assert_true(sc_clock_ns() - start_ns < ten_s);
    sc_shared_sleep(two.nodes[0], sc_shared_bell(two.nodes[0]), 1000000); /* nobody rings */
    sc_thread_join(thread);
    tear_down(&two);
}

static void ranks_fit_when_there_is_a_cpu_for_each(void **state)
{
    (void)state;
    struct sc_shared_ticket tickets[3] = {0};
    tickets[0].cpus[0] = 3;
    tickets[1].cpus[0] = 3;
    tickets[2].cpus[0] = 1;
    assert_true(sc_shared_roomy(tickets, 2));
    assert_false(sc_shared_roomy(tickets, 3));
    tickets[2].cpus[15] = (uint64_t)1 << 63;
    assert_true(sc_shared_roomy(tickets, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_read_where_it_was_written),
        cmocka_unit_test(buffers_grow_when_all_are_small),
        cmocka_unit_test(message_larger_than_memory_is_refused),
        cmocka_unit_test(nonsense_in_the_rings_is_refused),
        cmocka_unit_test(box_of_another_process_is_refused),
        cmocka_unit_test(bell_wakes_a_sleeper_and_a_late_one_does_not_sleep),
        cmocka_unit_test(ranks_fit_when_there_is_a_cpu_for_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
