/* SPDX-License-Identifier: Apache-2.0
 * Claims about maps: two columns in the order of the keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "tensor/value.h"

static struct sc_tensor *column(const struct sc_value *map, int which)
{
    return &map->u.sequence.items[which].u.tensor;
}

static void entries_are_sorted_by_their_keys(void **state)
{
    (void)state;
    static const int64_t keys[4] = {7, INT64_MIN, 3, INT64_MAX};
    static const float values[4] = {1, 2, 3, 4};
    struct sc_arena arena = {0};
    struct sc_value map;
    assert_int_equal(sc_value_new_map(&arena, SC_I64, SC_F32, 4, &map), SC_OK);
    memcpy(column(&map, 0)->data, keys, sizeof keys);
    memcpy(column(&map, 1)->data, values, sizeof values);
    assert_false(sc_value_is_map(&map));
    assert_int_equal(sc_value_sort_map(&arena, &map), SC_OK);
    assert_true(sc_value_is_map(&map));
    assert_memory_equal(column(&map, 0)->data, ((const int64_t[]){INT64_MIN, 3, 7, INT64_MAX}), sizeof keys);
    assert_memory_equal(column(&map, 1)->data, ((const float[]){2, 3, 1, 4}), sizeof values);
    int64_t wanted[2] = {7, 8};
    struct sc_tensor looked_for;
    sc_tensor_init(&looked_for, SC_I64, 1, (const int64_t[]){2});
    looked_for.data = wanted;
    assert_int_equal(sc_value_find_key(&map, &looked_for, 0), 2);
    assert_int_equal(sc_value_find_key(&map, &looked_for, 1), -1);
    sc_arena_release(&arena);
}

static void strings_are_ordered_by_their_bytes(void **state)
{
    (void)state;
    struct sc_string keys[3] = {{"b", 1}, {NULL, 0}, {"a\0z", 3}};
    struct sc_arena arena = {0};
    struct sc_value map;
    assert_int_equal(sc_value_new_map(&arena, SC_STRING, SC_F64, 3, &map), SC_OK);
    memcpy(column(&map, 0)->data, keys, sizeof keys);
    memset(column(&map, 1)->data, 0, 3 * sizeof(double));
    assert_int_equal(sc_value_sort_map(&arena, &map), SC_OK);
    const struct sc_string *sorted = column(&map, 0)->data;
    assert_int_equal(sorted[0].bytes, 0);
    assert_int_equal(sorted[1].bytes, 3);
    assert_int_equal(sorted[2].bytes, 1);
    sc_arena_release(&arena);
}

static void a_key_that_is_there_twice_is_refused(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_value map;
    assert_int_equal(sc_value_new_map(&arena, SC_I64, SC_I64, 2, &map), SC_OK);
    memset(column(&map, 0)->data, 0, 2 * sizeof(int64_t));
    memset(column(&map, 1)->data, 0, 2 * sizeof(int64_t));
    assert_int_equal(sc_value_sort_map(&arena, &map), SC_BAD_INPUT);
    assert_string_equal(sc_error_last()->text, "a map has the key 0 twice");
    sc_arena_release(&arena);
}

static void a_map_without_entries_is_one(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    struct sc_value map, copy;
    assert_int_equal(sc_value_new_map(&arena, SC_STRING, SC_F32, 0, &map), SC_OK);
    assert_int_equal(sc_value_sort_map(&arena, &map), SC_OK);
    assert_int_equal(sc_value_copy(&arena, &map, &copy), SC_OK);
    assert_true(sc_value_is_map(&copy));
    sc_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_sorted_by_their_keys),
        cmocka_unit_test(strings_are_ordered_by_their_bytes),
        cmocka_unit_test(a_key_that_is_there_twice_is_refused),
        cmocka_unit_test(a_map_without_entries_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
