/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/arena.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"

static bool all_zero(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != 0) {
            return false;
        }
    }
    return true;
}

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
            unsigned char *const data = sc_arena_alloc(&arena, bytes);
            assert_non_null(data);
            assert_int_equal((uintptr_t)data % (bytes >= 64 ? 64 : 16), 0);
            assert_true(all_zero(data, bytes));
            memset(data, 0xff, bytes);
        }
        sc_arena_reset(&arena);
        assert_int_equal(arena.used_bytes, 0);
    }
    sc_arena_release(&arena);
}

static void zero_bytes_are_not_null(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    assert_non_null(sc_arena_alloc(&arena, 0));
    assert_non_null(sc_arena_array(&arena, 0, 8));
    assert_non_null(sc_arena_array(&arena, 8, 0));
    sc_arena_release(&arena);
}

static void an_overflowing_product_is_out_of_memory(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    assert_null(sc_arena_array(&arena, SIZE_MAX / 2, 3));
    assert_int_equal(sc_error_last()->code, SC_NO_MEMORY);
    assert_null(sc_arena_alloc(&arena, SIZE_MAX));
    assert_int_equal(sc_error_last()->code, SC_NO_MEMORY);
    assert_null(sc_arena_text(&arena, "", SIZE_MAX));
    sc_arena_release(&arena);
}

static void the_limit_holds_and_reset_gives_it_back(void **state)
{
    (void)state;
    struct sc_arena arena = {.limit_bytes = 1000};
    assert_non_null(sc_arena_alloc(&arena, 600));
    assert_null(sc_arena_alloc(&arena, 600));
    assert_int_equal(sc_error_last()->code, SC_NO_MEMORY);
    assert_non_null(sc_arena_alloc(&arena, 400));
    assert_null(sc_arena_alloc(&arena, 1));
    sc_arena_reset(&arena);
    assert_non_null(sc_arena_alloc(&arena, 1000));
    sc_arena_release(&arena);
}

static void texts_are_copied_and_ended(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    char *const part = sc_arena_text(&arena, "stage", 3);
    assert_string_equal(part, "sta");
    assert_string_equal(sc_arena_text(&arena, NULL, 0), "");
    assert_string_equal(sc_arena_printf(&arena, "%s-%d", part, 7), "sta-7");
    sc_arena_release(&arena);
}

static void release_is_safe_on_zeros_and_twice(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    sc_arena_release(&arena);
    sc_arena_reset(&arena);
    assert_non_null(sc_arena_alloc(&arena, 10));
    sc_arena_release(&arena);
    sc_arena_release(&arena);
    assert_null(arena.newest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(zero_bytes_are_not_null),
        cmocka_unit_test(an_overflowing_product_is_out_of_memory),
        cmocka_unit_test(the_limit_holds_and_reset_gives_it_back),
        cmocka_unit_test(texts_are_copied_and_ended),
        cmocka_unit_test(release_is_safe_on_zeros_and_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
