/* SPDX-License-Identifier: Apache-2.0
 * Claims about sessions with states: slots side by side in one microbatch, failures that leave caches as they were. */
#include "decoder_case.h"

static void open_decoder(struct session_case *c, int n_ranks, int n_threads)
{
    *c = (struct session_case){.n_ranks = n_ranks,
        .path = SHAKESPEARE,
        .options = {.n_stages = n_ranks, .n_threads = n_threads, .n_slots = 8, .context = 200}};
    assert_ok(session_open(c));
}

static float logits[4][VOCABULARY], want[4][VOCABULARY];

/* Slots s and s + 4 get the same tokens; the first four slots run alone, the others side by side. */
static void rows_of_one_microbatch_have_the_bits_of_each_alone(void **state)
{
    (void)state;
    static const int64_t starts[4] = {70, 3, 64, 127}; /* in, before, at and across pages */
    for (int n_ranks = 1; n_ranks <= 3; n_ranks += 2) {
        struct session_case c;
        open_decoder(&c, n_ranks, 3 - n_ranks > 0 ? 2 : 1);
        struct sc_row rows[4];
        for (int s = 0; s < 4; s++) {
            for (int64_t pos = 0; pos < starts[s]; pos += MOST) {
                const int n = starts[s] - pos < MOST ? (int)(starts[s] - pos) : MOST;
                run_row(&c, s, pos, n, NULL);
                run_row(&c, s + 4, pos, n, NULL);
            }
            rows[s] = (struct sc_row){.slot = s + 4, .n_new = 1, .pos = starts[s]};
        }
        for (int i = 0; i < 3; i++) {
            for (int s = 0; s < 4; s++) {
                run_row(&c, s, rows[s].pos, 1, want[s]);
            }
            const int n_rows = i == 0 ? 2 : 4; /* then all four, of which the last two are one behind */
            run_rows(&c, n_rows, rows, logits[0]);
            for (int s = 0; s < n_rows; s++) {
                assert_memory_equal(logits[s], want[s], sizeof want[s]);
            }
            if (i == 0) {
                run_rows(&c, 2, rows + 2, logits[2]);
                assert_memory_equal(logits[2], want[2], sizeof want[2]);
            }
            for (int s = 0; s < 4; s++) {
                rows[s].pos++;
            }
        }
        assert_memory_not_equal(want[0], want[1], sizeof want[0]);
        session_close(&c);
    }
}

/* Several new tokens per row, too. */
static void chunks_of_two_slots_have_the_bits_of_each_alone(void **state)
{
    (void)state;
    struct session_case c;
    open_decoder(&c, 2, 1);
    run_row(&c, 0, 0, 30, NULL);
    run_row(&c, 4, 0, 30, NULL);
    run_row(&c, 0, 30, 40, want[0]);
    run_row(&c, 1, 0, 40, want[1]);
    const struct sc_row rows[] = {{.slot = 5, .n_new = 40, .pos = 0}, {.slot = 4, .n_new = 40, .pos = 30}};
    run_rows(&c, 2, rows, logits[0]);
    assert_memory_equal(logits[0], want[1], sizeof want[1]);
    assert_memory_equal(logits[1], want[0], sizeof want[0]);
    session_close(&c);
}

/* Slot 4 has the tokens of slot 0, and begins as it; then each writes on from where they part, in any order. */
static void a_slot_that_begins_as_another_has_the_bits_of_one_alone(void **state)
{
    (void)state;
    static const int64_t shared[] = {1, 64, 70, 100};
    for (int i = 0; i < 4; i++) {
        struct session_case c;
        open_decoder(&c, 1 + i % 3, 1);
        run_row(&c, 0, 0, 60, NULL);
        run_row(&c, 0, 60, 50, NULL);
        run_row(&c, 0, 110, 1, want[0]);
        const struct sc_row begun = {.slot = 4, .n_new = 10, .pos = shared[i], .shares = 1};
        run_rows(&c, 1, &begun, NULL);
        run_row(&c, 0, 100, 10, NULL); /* both write into the page that was shared */
        for (int64_t pos = shared[i] + 10; pos < 110; pos += 10) {
            run_row(&c, 4, pos, pos > 100 ? (int)(110 - pos) : 10, NULL);
        }
        const struct sc_row rows[] = {{.slot = 4, .n_new = 1, .pos = 110}, {.slot = 0, .n_new = 1, .pos = 110}};
        run_rows(&c, 2, rows, logits[0]);
        assert_memory_equal(logits[0], want[0], sizeof want[0]);
        assert_memory_equal(logits[1], want[0], sizeof want[0]);
        session_close(&c);
    }
}

/* As much for four rows as for one: every weight is multiplied with all of them at once. */
static void weights_that_are_read_do_not_depend_on_the_rows(void **state)
{
    (void)state;
    struct session_case c;
    open_decoder(&c, 1, 1);
    const struct sc_session *session = c.ranks[0].session;
    int64_t read_bytes[5] = {0};
    const struct sc_row rows[] = {{.slot = 0, .n_new = 1, .pos = 5}, {.slot = 1, .n_new = 1, .pos = 70},
        {.slot = 2, .n_new = 1, .pos = 3}, {.slot = 3, .n_new = 1, .pos = 64}};
    for (int s = 0; s < 4; s++) {
        for (int64_t pos = 0; pos < rows[s].pos; pos += 35) {
            run_row(&c, s, pos, rows[s].pos - pos < 35 ? (int)(rows[s].pos - pos) : 35, NULL);
        }
    }
    for (int n = 1; n <= 4; n++) {
        const int64_t before = sc_session_read_weight_bytes(session);
        run_rows(&c, n, rows, NULL);
        read_bytes[n] = sc_session_read_weight_bytes(session) - before;
        assert_int_equal(read_bytes[n], read_bytes[1]);
    }
    assert_true(read_bytes[1] > 8 << 20); /* most of the model's 12.4 MiB are in products */
    session_close(&c);
}

static void going_back_to_an_earlier_position_needs_no_call(void **state)
{
    (void)state;
    struct session_case c;
    open_decoder(&c, 2, 1);
    run_row(&c, 0, 0, 20, want[0]);
    run_row(&c, 0, 20, 1, want[1]);
    run_row(&c, 0, 21, 30, NULL);
    run_row(&c, 0, 20, 1, logits[1]);
    assert_memory_equal(logits[1], want[1], sizeof want[1]);
    run_row(&c, 0, 0, 20, logits[0]);
    assert_memory_equal(logits[0], want[0], sizeof want[0]);
    session_close(&c);
}

static void expect_failure(struct session_case *c, struct batch *b, enum sc_status code, const char *words)
{
    assert_fails(code, words, step(c, b, NULL));
}

static void a_bad_token_fails_its_microbatch_alone(void **state)
{
    (void)state;
    struct session_case c;
    struct batch *b = calloc(1, sizeof *b);
    open_decoder(&c, 3, 1);
    run_row(&c, 1, 0, 20, NULL);
    run_row(&c, 1, 20, 1, want[0]);
    run_row(&c, 0, 0, 20, NULL);
    for (int i = 0; i < 2; i++) {
        const struct sc_row rows[] = {{.slot = 0, .n_new = 1, .pos = 20}, {.slot = 2, .n_new = 1, .pos = 0}};
        make_batch(c.ranks[0].model, b, 1 + i, rows);
        b->ids[i] = i ? -VOCABULARY - 1 : VOCABULARY;
        expect_failure(&c, b, SC_BAD_INPUT, "embeds");
    }
    run_row(&c, 1, 20, 1, logits[0]);
    assert_memory_equal(logits[0], want[0], sizeof want[0]);
    run_row(&c, 0, 20, 1, logits[0]);
    run_row(&c, 4, 0, 20, NULL);
    run_row(&c, 4, 20, 1, want[0]);
    assert_memory_equal(logits[0], want[0], sizeof want[0]);
    free(b);
    session_close(&c);
}

static void rows_that_do_not_fit_fail_their_microbatch_alone(void **state)
{
    (void)state;
    struct session_case c;
    struct batch *b = calloc(1, sizeof *b);
    open_decoder(&c, 2, 1);
    run_row(&c, 0, 0, 20, NULL);
    run_row(&c, 0, 20, 1, want[0]);
    const struct sc_row good = {.slot = 0, .n_new = 1, .pos = 20};
    const struct sc_row bad[] = {{.slot = 8, .n_new = 1, .pos = 0}, {.slot = 0, .n_new = 1, .pos = 200}};
    make_batch(c.ranks[0].model, b, 1, &good);
    b->microbatch.rows[0] = bad[0];
    expect_failure(&c, b, SC_BAD_INPUT, "slot 8");
    make_batch(c.ranks[0].model, b, 1, &good);
    b->microbatch.rows[0] = bad[1];
    expect_failure(&c, b, SC_LIMIT, "capacity");
    make_batch(c.ranks[0].model, b, 1, &good); /* fewer rows than the batch has */
    b->microbatch.n_rows = 0;
    expect_failure(&c, b, SC_BAD_INPUT, "");
    make_batch(c.ranks[0].model, b, 1, &good); /* more rows than the batch has */
    b->microbatch.n_rows = 2;
    b->microbatch.rows[1] = (struct sc_row){.slot = 1, .n_new = 1, .pos = 0};
    expect_failure(&c, b, SC_BAD_INPUT, "");
    run_row(&c, 0, 20, 1, logits[0]);
    assert_memory_equal(logits[0], want[0], sizeof want[0]);
    free(b);
    session_close(&c);
}

/* A row says how many tokens it adds; a batch that brings more must not write past the cache. */
static void more_tokens_than_a_row_says_are_held_against_the_capacity(void **state)
{
    (void)state;
    struct session_case c;
    struct batch *b = calloc(1, sizeof *b);
    open_decoder(&c, 1, 1);
    const struct sc_row row = {.slot = 0, .n_new = 60, .pos = 150};
    for (int64_t pos = 0; pos < row.pos; pos += 50) {
        run_row(&c, 0, pos, 50, NULL);
    }
    make_batch(c.ranks[0].model, b, 1, &row);
    b->microbatch.rows[0].n_new = 1;
    expect_failure(&c, b, SC_LIMIT, "capacity");
    free(b);
    session_close(&c);
}

static void a_slot_is_in_a_microbatch_once(void **state)
{
    (void)state;
    struct session_case c;
    struct batch *b = calloc(1, sizeof *b);
    open_decoder(&c, 1, 1);
    const struct sc_row rows[] = {
        {.slot = 3, .n_new = 1, .pos = 0}, {.slot = 1, .n_new = 1, .pos = 0}, {.slot = 3, .n_new = 1, .pos = 1}};
    make_batch(c.ranks[0].model, b, 3, rows);
    assert_fails(SC_BAD_INPUT, "slot 3", sc_session_submit(c.ranks[0].session, &b->microbatch, b->inputs));
    free(b);
    session_close(&c);
}

/* What the plan put on each rank, it keeps there. */
static void nothing_writes_a_tensor_as_long_as_the_past(void **state)
{
    (void)state;
    struct session_case c;
    open_decoder(&c, 1, 1);
    run_row(&c, 0, 0, 64, NULL);
    run_row(&c, 0, 64, 12, NULL);
    run_row(&c, 0, 76, 1, NULL);
    assert_int_equal(sc_session_steps_writing_dim(c.ranks[0].session, 76), 0);
    assert_int_equal(sc_session_steps_writing_dim(c.ranks[0].session, 77), 0);
    assert_true(sc_session_steps_writing_dim(c.ranks[0].session, 192) > 0);
    session_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_one_microbatch_have_the_bits_of_each_alone),
        cmocka_unit_test(chunks_of_two_slots_have_the_bits_of_each_alone),
        cmocka_unit_test(a_slot_that_begins_as_another_has_the_bits_of_one_alone),
        cmocka_unit_test(weights_that_are_read_do_not_depend_on_the_rows),
        cmocka_unit_test(going_back_to_an_earlier_position_needs_no_call),
        cmocka_unit_test(a_bad_token_fails_its_microbatch_alone),
        cmocka_unit_test(rows_that_do_not_fit_fail_their_microbatch_alone),
        cmocka_unit_test(more_tokens_than_a_row_says_are_held_against_the_capacity),
        cmocka_unit_test(a_slot_is_in_a_microbatch_once),
        cmocka_unit_test(nothing_writes_a_tensor_as_long_as_the_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
