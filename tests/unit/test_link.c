/* SPDX-License-Identifier: Apache-2.0
 * The cases of links over the in-process world and over a rank's link to itself; peers that fail or leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/lock.h"
#include "tests/mpi/link_cases.h"

struct rank_run {
    struct sc_world *world;
    void (*fn)(struct sc_world *world);
};

static void run_rank(void *arg)
{
    struct rank_run *run = arg;
    run->fn(run->world);
    sc_world_free(run->world);
}

/* Each rank runs fns[rank]. */
static void run_ranks(int n, void (*const *fns)(struct sc_world *world))
{
    struct sc_world *worlds[4];
    struct rank_run runs[4];
    struct sc_thread *threads[4];
    assert_int_equal(sc_world_open_local(n, worlds), SC_OK);
    for (int i = 0; i < n; i++) {
        runs[i] = (struct rank_run){.world = worlds[i], .fn = fns[i]};
        assert_int_equal(sc_thread_start(run_rank, &runs[i], &threads[i]), SC_OK);
    }
    for (int i = 0; i < n; i++) {
        sc_thread_join(threads[i]);
    }
}

static void run_local(int n, void (*fn)(struct sc_world *world))
{
    void (*fns[4])(struct sc_world * world) = {fn, fn, fn, fn};
    run_ranks(n, fns);
}

static void run_self(void (*fn)(struct sc_world *world))
{
    struct sc_world *world = NULL;
    assert_int_equal(sc_world_open_single(&world), SC_OK);
    fn(world);
    sc_world_free(world);
}

#define X(name)                                                                                                        \
    static void link_local_##name(void **state)                                                                        \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        run_local(2, name);                                                                                            \
        run_local(3, name);                                                                                            \
    }                                                                                                                  \
    static void link_self_##name(void **state)                                                                         \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        run_self(name);                                                                                                \
    }
LINK_CASES(X)
#undef X

static void waits_for_peer_1(struct sc_world *world)
{
    struct sc_link *link;
    struct sc_received received = {0};
    enum sc_status status = SC_OK;
    CHECK(sc_world_link(world, 1, &link) == SC_OK);
    for (int64_t idle = 0; status == SC_OK; idle++) {
        status = sc_link_poll(link, &received);
        sc_world_pause(world, idle);
    }
    CHECK(status == SC_PEER && strstr(sc_error_last()->text, "rank 1"));
    void *buffer = NULL;
    CHECK(sc_link_reserve(link, 10, &buffer) == SC_PEER && !buffer);
    CHECK(sc_world_agree(world, SC_OK) == SC_PEER);
}

static void aborts(struct sc_world *world)
{
    sc_world_abort(world, 3);
}

static void leaves(struct sc_world *world)
{
    (void)world;
}

static void meets(struct sc_world *world)
{
    CHECK(sc_world_agree(world, SC_OK) == SC_PEER);
}

static void sends_and_leaves(struct sc_world *world)
{
    struct sc_link *link;
    CHECK(sc_world_link(world, 1, &link) == SC_OK);
    CHECK(try_send(link, 1, 100) && try_send(link, 2, 100));
}

static void receives_and_notices(struct sc_world *world)
{
    struct sc_link *link;
    struct sc_received received = {0};
    enum sc_status status = SC_OK;
    int64_t n = 0;
    CHECK(sc_world_link(world, 0, &link) == SC_OK);
    for (int64_t idle = 0; status == SC_OK; idle++) {
        status = sc_link_poll(link, &received);
        if (status == SC_OK && received.data) {
            check_message(&received, ++n, 100);
            sc_link_give_back(link, &received);
        }
        sc_world_pause(world, idle);
    }
    CHECK(status == SC_PEER && n == 2);
}

static void link_local_poll_fails_when_the_peer_aborts(void **state)
{
    (void)state;
    void (*const fns[])(struct sc_world * world) = {waits_for_peer_1, aborts, waits_for_peer_1};
    run_ranks(3, fns);
}

static void link_local_poll_fails_when_the_peer_leaves(void **state)
{
    (void)state;
    void (*const fns[])(struct sc_world * world) = {waits_for_peer_1, leaves};
    run_ranks(2, fns);
}

static void link_local_collective_fails_when_a_rank_is_gone(void **state)
{
    (void)state;
    void (*const gone[])(struct sc_world * world) = {meets, leaves, meets};
    void (*const aborted[])(struct sc_world * world) = {meets, meets, aborts};
    run_ranks(3, gone);
    run_ranks(3, aborted);
}

static void link_local_messages_outlive_their_sender(void **state)
{
    (void)state;
    void (*const fns[])(struct sc_world * world) = {sends_and_leaves, receives_and_notices};
    run_ranks(2, fns);
}

static void local_world_of_no_ranks_is_refused(void **state)
{
    (void)state;
    struct sc_world *world = NULL;
    assert_int_equal(sc_world_open_local(0, &world), SC_BAD_USAGE);
    assert_null(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name) cmocka_unit_test(link_local_##name), cmocka_unit_test(link_self_##name),
        LINK_CASES(X)
#undef X
            cmocka_unit_test(link_local_poll_fails_when_the_peer_aborts),
        cmocka_unit_test(link_local_poll_fails_when_the_peer_leaves),
        cmocka_unit_test(link_local_collective_fails_when_a_rank_is_gone),
        cmocka_unit_test(link_local_messages_outlive_their_sender),
        cmocka_unit_test(local_world_of_no_ranks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
