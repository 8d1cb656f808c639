/* SPDX-License-Identifier: Apache-2.0
 * Which work of operators is done while worker 0 makes progress. The operators are made up: each takes 20 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdatomic.h>

#include "base/clock.h"
#include "exec/perform.h"

#define LARGE 100000 /* f32: more than is done in a moment */

static void take_long(const struct sc_call *call)
{
    (void)call;
    const int64_t until = sc_clock_ns() + 20000000;
    while (sc_clock_ns() < until) { }
}

static enum sc_status fail_at_length(const struct sc_call *call)
{
    take_long(call);
    return sc_fail(SC_BAD_INPUT, "index 7 is outside");
}

static void count(void *arg)
{
    (*(int *)arg)++;
}

/* Calls of progress while `op` works on a tensor of n elements. */
static int progress_of(const struct sc_op *op, enum sc_deed deed, enum sc_type type, int64_t n, enum sc_status want)
{
    struct sc_team *team = NULL;
    int n_calls = 0;
    struct sc_value in = {.kind = SC_KIND_TENSOR}, out = {.kind = SC_KIND_NONE};
    const struct sc_value *ins[1] = {&in};
    struct sc_value *outs[1] = {&out};
    assert_int_equal(sc_team_create(&(struct sc_team_options){.n_workers = 1}, &team), SC_OK);
    sc_team_set_progress(team, count, &n_calls);
    sc_tensor_init(&in.u.tensor, type, 1, &n);
    const struct sc_call call = {.n_in = 1, .n_out = 1, .in = ins, .out = outs, .team = team};
    const struct sc_step step = {.op = op};
    assert_int_equal(sc_step_perform(&step, &call, deed), want);
    sc_team_free(team);
    return n_calls;
}

static void large_work_without_short_parts_lets_messages_go_on(void **state)
{
    (void)state;
    const struct sc_op op = {.run = take_long, .exec = fail_at_length, .resolve = fail_at_length};
    assert_true(progress_of(&op, SC_DEED_RUN, SC_F32, LARGE, SC_OK) > 0);
    assert_true(progress_of(&op, SC_DEED_EXEC, SC_F32, LARGE, SC_BAD_INPUT) > 0);
    assert_true(progress_of(&op, SC_DEED_RESOLVE, SC_F32, LARGE, SC_BAD_INPUT) > 0);
    assert_string_equal(sc_error_last()->text, "index 7 is outside");
}

static void small_work_and_work_in_parts_stay_with_worker_0(void **state)
{
    (void)state;
    const struct sc_op op = {.run = take_long}, parts = {.run = take_long, .flags = SC_OP_TICKS};
    assert_int_equal(progress_of(&op, SC_DEED_RUN, SC_F32, 100, SC_OK), 0);
    assert_int_equal(progress_of(&parts, SC_DEED_RUN, SC_F32, LARGE, SC_OK), 0);
}

static void parts_of_strings_are_long(void **state)
{
    (void)state;
    const struct sc_op parts = {.run = take_long, .flags = SC_OP_TICKS};
    assert_true(progress_of(&parts, SC_DEED_RUN, SC_STRING, LARGE, SC_OK) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_work_without_short_parts_lets_messages_go_on),
        cmocka_unit_test(small_work_and_work_in_parts_stay_with_worker_0),
        cmocka_unit_test(parts_of_strings_are_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
