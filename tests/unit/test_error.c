/* SPDX-License-Identifier: Apache-2.0
 * Claims about base/error.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/error.h"

static void fail_sets_code_and_text(void **state)
{
    (void)state;
    assert_int_equal(sc_fail(SC_BAD_MODEL, "node '%s' has %d", "a", 3), SC_BAD_MODEL);
    assert_int_equal(sc_error_last()->code, SC_BAD_MODEL);
    assert_string_equal(sc_error_last()->text, "node 'a' has 3");
    assert_int_equal(sc_error_last()->rank, -1);
    assert_int_equal(sc_error_last()->stage, -1);
    assert_int_equal(sc_error_last()->seq, -1);
}

static void fail_forgets_the_place_of_the_error_before(void **state)
{
    (void)state;
    const struct sc_error far = {.code = SC_PEER, .rank = 3, .stage = 2, .seq = 9, .host = "h", .node = "n"};
    assert_int_equal(sc_error_set(&far), SC_PEER);
    assert_int_equal(sc_error_last()->rank, 3);
    (void)sc_fail(SC_IO, "x");
    assert_int_equal(sc_error_last()->rank, -1);
    assert_string_equal(sc_error_last()->host, "");
    assert_string_equal(sc_error_last()->node, "");
}

static void context_goes_before_the_cause(void **state)
{
    (void)state;
    (void)sc_fail(SC_LIMIT, "too long");
    assert_int_equal(sc_fail_in("file '%s'", "m"), SC_LIMIT);
    assert_string_equal(sc_error_last()->text, "file 'm': too long");
}

static void an_error_may_quote_the_one_it_replaces(void **state)
{
    (void)state;
    (void)sc_fail(SC_LIMIT, "inner");
    (void)sc_fail(SC_PEER, "outer (%s)", sc_error_last()->text);
    assert_string_equal(sc_error_last()->text, "outer (inner)");
}

static void long_texts_are_cut_and_end(void **state)
{
    (void)state;
    char big[2 * SC_ERROR_TEXT];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    (void)sc_fail(SC_IO, "%s", big);
    assert_int_equal(strlen(sc_error_last()->text), SC_ERROR_TEXT - 1);
    (void)sc_fail(SC_IO, "cause");
    (void)sc_fail_in("%.*s", SC_ERROR_TEXT - 5, big);
    assert_int_equal(strlen(sc_error_last()->text), SC_ERROR_TEXT - 1);
    (void)sc_fail(SC_IO, "cause");
    (void)sc_fail_in("%s", big);
    assert_int_equal(strlen(sc_error_last()->text), SC_ERROR_TEXT - 1);
}

static void an_error_from_afar_is_made_safe(void **state)
{
    (void)state;
    struct sc_error far;
    memset(&far, 'z', sizeof far);
    assert_int_equal(sc_error_set(&far), SC_INTERNAL);
    assert_int_equal(strlen(sc_error_last()->text), SC_ERROR_TEXT - 1);
    assert_int_equal(strlen(sc_error_last()->host), sizeof far.host - 1);
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    for (int code = SC_OK; code <= SC_INTERNAL; code++) {
        assert_string_not_equal(sc_status_name((enum sc_status)code), "unknown status");
    }
    assert_string_equal(sc_status_name(SC_BAD_MODEL), "bad model");
    assert_string_equal(sc_status_name((enum sc_status)99), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_sets_code_and_text),
        cmocka_unit_test(fail_forgets_the_place_of_the_error_before),
        cmocka_unit_test(context_goes_before_the_cause),
        cmocka_unit_test(an_error_may_quote_the_one_it_replaces),
        cmocka_unit_test(long_texts_are_cut_and_end),
        cmocka_unit_test(an_error_from_afar_is_made_safe),
        cmocka_unit_test(every_status_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
