/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/map.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static void many_keys_are_found_again(void **state)
{
    (void)state;
    enum { N = 50000 };
    struct sc_map map = {0};
    char(*const keys)[16] = calloc(N, sizeof *keys);
    assert_non_null(keys);
    for (int i = 0; i < N; i++) {
        const int length = snprintf(keys[i], sizeof keys[i], "key%d", i);
        assert_int_equal(sc_map_put(&map, keys[i], (size_t)length, i), SC_OK);
    }
    assert_int_equal(map.n_used, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(sc_map_get(&map, keys[i], strlen(keys[i]), -1), i);
    }
    assert_int_equal(sc_map_get(&map, "key50000", 8, -1), -1);
    sc_map_release(&map);
    free(keys);
}

static void put_again_replaces(void **state)
{
    (void)state;
    struct sc_map map = {0};
    assert_int_equal(sc_map_put(&map, "a", 1, 1), SC_OK);
    assert_int_equal(sc_map_put(&map, "a", 1, 2), SC_OK);
    assert_int_equal(map.n_used, 1);
    assert_int_equal(sc_map_get(&map, "a", 1, -1), 2);
    sc_map_release(&map);
}

static void length_and_every_byte_count(void **state)
{
    (void)state;
    struct sc_map map = {0};
    assert_int_equal(sc_map_put(&map, "a\0b", 3, 1), SC_OK);
    assert_int_equal(sc_map_put(&map, "a\0c", 3, 2), SC_OK);
    assert_int_equal(sc_map_put(&map, "a", 1, 3), SC_OK);
    assert_int_equal(sc_map_put(&map, "a\0", 2, 4), SC_OK);
    assert_int_equal(sc_map_get(&map, "a\0b", 3, -1), 1);
    assert_int_equal(sc_map_get(&map, "a\0c", 3, -1), 2);
    assert_int_equal(sc_map_get(&map, "a", 1, -1), 3);
    assert_int_equal(sc_map_get(&map, "a\0", 2, -1), 4);
    sc_map_release(&map);
}

static void the_empty_key_is_a_key(void **state)
{
    (void)state;
    struct sc_map map = {0};
    assert_int_equal(sc_map_get(&map, NULL, 0, -1), -1);
    assert_int_equal(sc_map_put(&map, NULL, 0, 5), SC_OK);
    assert_int_equal(sc_map_get(&map, "", 0, -1), 5);
    assert_int_equal(map.n_used, 1);
    sc_map_release(&map);
    sc_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_keys_are_found_again),
        cmocka_unit_test(put_again_replaces),
        cmocka_unit_test(length_and_every_byte_count),
        cmocka_unit_test(the_empty_key_is_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
