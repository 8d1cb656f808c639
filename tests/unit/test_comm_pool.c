/* SPDX-License-Identifier: Apache-2.0
 * Claims about the buffers of a link's messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comm/pool.h"

static struct sc_buffer *take(struct sc_pool *pool, size_t bytes)
{
    struct sc_buffer *buffer = NULL;
    assert_int_equal(sc_pool_take(pool, bytes, &buffer), SC_OK);
    return buffer;
}

/* Two on the way, and two that come back late: what a step finds does not depend on when the last one's came back. */
static void a_few_buffers_are_made_at_once(void **state)
{
    (void)state;
    struct sc_pool pool = {.n_buffers = 0};
    struct sc_buffer *taken[4];
    taken[0] = take(&pool, 5000);
    const size_t bytes = sc_pool_bytes(&pool);
    for (int i = 1; i < 4; i++) {
        taken[i] = take(&pool, 5000);
    }
    assert_int_equal(sc_pool_bytes(&pool), bytes);
    for (int i = 0; i < 4; i++) {
        sc_pool_give(taken[i]);
    }
    sc_pool_release(&pool);
}

/* So that a peer has seen, and mapped, all of them early. */
static void equal_buffers_take_turns(void **state)
{
    (void)state;
    struct sc_pool pool = {.n_buffers = 0};
    for (int i = 0; i < 8; i++) {
        struct sc_buffer *buffer = take(&pool, 100);
        assert_int_equal(buffer->slot, i % 4);
        sc_pool_give(buffer);
    }
    sc_pool_release(&pool);
}

static void at_the_bound_a_free_buffer_is_replaced_by_a_larger(void **state)
{
    (void)state;
    struct sc_pool pool = {.n_buffers = 0};
    struct sc_buffer *taken[SC_LINK_BUFFERS];
    for (int i = 0; i < SC_LINK_BUFFERS; i++) {
        taken[i] = take(&pool, 1);
        assert_non_null(taken[i]);
    }
    assert_true(sc_pool_full(&pool));
    assert_null(take(&pool, 1));
    sc_pool_give(taken[3]);
    taken[3] = take(&pool, 100000);
    assert_int_equal(taken[3]->slot, 3);
    assert_true(taken[3]->capacity >= 100000);
    for (int i = 0; i < SC_LINK_BUFFERS; i++) {
        sc_pool_give(taken[i]);
    }
    sc_pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_buffers_are_made_at_once),
        cmocka_unit_test(equal_buffers_take_turns),
        cmocka_unit_test(at_the_bound_a_free_buffer_is_replaced_by_a_larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
