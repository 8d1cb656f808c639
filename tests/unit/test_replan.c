/* SPDX-License-Identifier: Apache-2.0
 * Claims about another plan for an open session: what slots hold goes with it, and a plan that is none changes
 * nothing. */
#include <stdlib.h>

#include "decoder_case.h"

static void open_decoder(struct session_case *c, int n_ranks)
{
    *c = (struct session_case){.n_ranks = n_ranks,
        .path = SHAKESPEARE,
        .options = {.n_stages = n_ranks, .n_threads = 1, .n_slots = 8, .context = 200}};
    assert_ok(session_open(c));
}

/* A plan of a session drawn with this seed. */
static void write_random_plan(int n_ranks, uint64_t seed, char *path, size_t bytes)
{
    struct session_case c = {.n_ranks = n_ranks,
        .path = SHAKESPEARE,
        .options = {.random_plan = true, .plan_seed = seed, .n_threads = 1, .n_slots = 1, .context = 64}};
    char *text;
    assert_ok(session_open(&c));
    assert_ok(sc_plan_write(sc_session_plan(c.ranks[0].session), c.ranks[0].model, &text));
    session_close(&c);
    session_write_plan(text, path, bytes);
    free(text);
}

static float got[4][VOCABULARY], want[4][VOCABULARY];

/* Slot 0 of 100 positions, slot 2 of 3, slot 4 as the first 70 of slot 0, whose second page both then write. */
static void fill(struct session_case *c)
{
    run_row(c, 0, 0, 60, NULL);
    run_row(c, 0, 60, 40, NULL);
    run_row(c, 2, 0, 3, NULL);
    const struct sc_row begun = {.slot = 4, .n_new = 5, .pos = 70, .shares = 1};
    run_rows(c, 1, &begun, NULL);
}

/* One token of each slot, one after another and then side by side. */
static void go_on(struct session_case *c, float (*logits)[VOCABULARY])
{
    run_row(c, 0, 100, 1, logits[0]);
    run_row(c, 2, 3, 1, logits[1]);
    run_row(c, 4, 75, 1, logits[2]);
    const struct sc_row rows[] = {{.slot = 4, .n_new = 1, .pos = 76}, {.slot = 0, .n_new = 1, .pos = 101}};
    run_rows(c, 2, rows, logits[2]);
}

/* On one rank, whose plan nobody changes. */
static void make_want(void)
{
    struct session_case c;
    open_decoder(&c, 1);
    fill(&c);
    go_on(&c, want);
    session_close(&c);
}

static void assert_goes_on(struct session_case *c)
{
    go_on(c, got);
    assert_memory_equal(got, want, sizeof want);
}

static void every_slot_goes_on_by_the_new_plan(void **state)
{
    (void)state;
    char path[64];
    struct session_case c;
    make_want();
    for (int n_ranks = 1; n_ranks <= 4; n_ranks++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            write_random_plan(n_ranks, seed, path, sizeof path);
            open_decoder(&c, n_ranks);
            fill(&c);
            assert_ok(sc_session_replan(c.ranks[0].session, path));
            assert_goes_on(&c);
            session_close(&c);
            assert_int_equal(unlink(path), 0);
        }
    }
}

/* Also from a plan of more stages than ranks, and twice. */
static void plans_may_follow_one_another(void **state)
{
    (void)state;
    char path[64];
    struct session_case c;
    make_want();
    open_decoder(&c, 3);
    for (uint64_t seed = 5; seed < 8; seed++) {
        write_random_plan(3, seed, path, sizeof path);
        if (seed == 6) {
            fill(&c);
        }
        assert_ok(sc_session_replan(c.ranks[0].session, path));
        assert_int_equal(unlink(path), 0);
    }
    assert_goes_on(&c);
    session_close(&c);
}

static void a_plan_that_is_none_changes_nothing(void **state)
{
    (void)state;
    char path[64];
    struct session_case c;
    make_want();
    open_decoder(&c, 2);
    fill(&c);
    assert_fails(SC_IO, "no_such_plan", sc_session_replan(c.ranks[0].session, "/tmp/no_such_plan.json"));
    write_random_plan(4, 1, path, sizeof path); /* for four ranks */
    assert_fails(SC_BAD_INPUT, "the job has 2", sc_session_replan(c.ranks[0].session, path));
    assert_int_equal(unlink(path), 0);
    session_write_plan("{\"stages\": []}", path, sizeof path);
    assert_fails(SC_BAD_INPUT, path, sc_session_replan(c.ranks[0].session, path));
    assert_int_equal(unlink(path), 0);
    assert_goes_on(&c);
    session_close(&c);
}

/* A rank has room for half of the model: a plan that gives it all is refused before anything moves. */
static void a_plan_that_needs_too_much_memory_changes_nothing(void **state)
{
    (void)state;
    char path[64];
    struct session_case one = {
        .n_ranks = 1, .path = SHAKESPEARE, .options = {.n_threads = 1, .n_slots = 1, .context = 64}};
    struct session_case c = {.n_ranks = 2,
        .path = SHAKESPEARE,
        .options = {.n_stages = 2, .n_threads = 1, .n_slots = 8, .context = 200, .memory_bytes = 14 << 20}};
    char *text;
    make_want();
    assert_ok(session_open(&one));
    assert_ok(sc_plan_write(sc_session_plan(one.ranks[0].session), one.ranks[0].model, &text));
    session_close(&one);
    session_write_plan(text, path, sizeof path);
    free(text);
    assert_ok(session_open(&c));
    fill(&c);
    for (int i = 0; i < 2; i++) {
        assert_fails(SC_LIMIT, "': rank 0 needs ", sc_session_replan(c.ranks[0].session, path));
        assert_fails(SC_LIMIT, " and has 14.0 MiB", sc_session_check_plan(c.ranks[0].session, path));
    }
    assert_goes_on(&c);
    session_close(&c);
    assert_int_equal(unlink(path), 0);
}

/* A slot whose microbatch failed on the way begins anew; the others go on, also those that came after it, which have
 * other pages on ranks before the failure than behind it. */
static void a_slot_that_failed_does_not_hold_the_others_back(void **state)
{
    (void)state;
    char path[64];
    struct session_case c;
    struct batch *b = calloc(1, sizeof *b);
    assert_non_null(b);
    make_want();
    write_random_plan(3, 2, path, sizeof path);
    open_decoder(&c, 3);
    run_row(&c, 6, 0, 30, NULL);
    const struct sc_row failing = {.slot = 6, .n_new = 60, .pos = 30};
    make_batch(c.ranks[0].model, b, 1, &failing);
    b->ids[7] = VOCABULARY;
    assert_fails(SC_BAD_INPUT, "embeds", step(&c, b, NULL));
    fill(&c);
    assert_ok(sc_session_replan(c.ranks[0].session, path));
    assert_goes_on(&c);
    run_row(&c, 6, 0, 60, got[0]);
    run_row(&c, 2, 0, 60, got[1]); /* the same tokens */
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    session_close(&c);
    assert_int_equal(unlink(path), 0);
    free(b);
}

/* Caches are on both sides until they have moved: what has room for the new plan alone has not enough. */
static void caches_that_leave_count_until_they_have_moved(void **state)
{
    (void)state;
    char path[64];
    char *text;
    const struct sc_session_options options = {.n_threads = 1, .n_slots = 8, .context = 200};
    struct session_case one = {.n_ranks = 1, .path = SHAKESPEARE, .options = options};
    struct session_case c = {.n_ranks = 2, .path = SHAKESPEARE, .options = options};
    make_want();
    assert_ok(session_open(&one));
    const struct sc_plan *whole = sc_session_plan(one.ranks[0].session);
    assert_ok(sc_plan_write(whole, one.ranks[0].model, &text));
    const struct sc_plan_stage all = whole->stages[0];
    const int64_t weights = all.packed_bytes > all.weight_bytes ? all.packed_bytes : all.weight_bytes;
    session_close(&one);
    session_write_plan(text, path, sizeof path);
    free(text);
    c.options.n_stages = 2;
    c.options.memory_bytes = weights + all.state_bytes + all.activation_bytes;
    assert_ok(session_open(&c));
    const int64_t leaving = sc_session_plan(c.ranks[0].session)->stages[0].state_bytes;
    assert_true(leaving > 0);
    fill(&c);
    assert_fails(SC_LIMIT, ", caches until they have moved ", sc_session_replan(c.ranks[0].session, path));
    assert_goes_on(&c);
    session_close(&c);
    c.options.memory_bytes += leaving;
    assert_ok(session_open(&c));
    fill(&c);
    assert_ok(sc_session_replan(c.ranks[0].session, path));
    assert_goes_on(&c);
    session_close(&c);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_goes_on_by_the_new_plan),
        cmocka_unit_test(plans_may_follow_one_another),
        cmocka_unit_test(a_plan_that_is_none_changes_nothing),
        cmocka_unit_test(a_plan_that_needs_too_much_memory_changes_nothing),
        cmocka_unit_test(caches_that_leave_count_until_they_have_moved),
        cmocka_unit_test(a_slot_that_failed_does_not_hold_the_others_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
