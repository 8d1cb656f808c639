/* SPDX-License-Identifier: Apache-2.0
 * Claims about states from rank 0: read from their owners and written to others, nothing is lost on the way. */
#include <stdlib.h>

#include "decoder_case.h"

enum { LENGTH = 100, PAIRS = 12 };

static void open_decoder(struct session_case *c, int n_ranks, int n_stages)
{
    *c = (struct session_case){.n_ranks = n_ranks,
        .path = SHAKESPEARE,
        .options = {.n_stages = n_stages, .n_threads = 1, .n_slots = 8, .context = 200}};
    assert_ok(session_open(c));
}

static float got[VOCABULARY], want[VOCABULARY];
static struct sc_tensor shapes[PAIRS];
static char *saved[PAIRS];

/* In pieces of an odd number of elements. */
static void save(struct session_case *c, int slot)
{
    struct sc_session *session = c->ranks[0].session;
    for (int p = 0; p < PAIRS; p++) {
        int64_t length;
        assert_ok(sc_session_state_shape(session, p, slot, &shapes[p], &length));
        assert_int_equal(length, LENGTH);
        assert_int_equal(shapes[p].dims[2], LENGTH);
        const int64_t n = sc_tensor_count(&shapes[p]);
        const size_t bytes = sc_type_bytes(shapes[p].type);
        saved[p] = realloc(saved[p], (size_t)n * bytes);
        for (int64_t at = 0; at < n; at += 7001) {
            const int64_t piece = n - at < 7001 ? n - at : 7001;
            assert_ok(sc_session_state_read(session, p, slot, at, piece, saved[p] + (size_t)at * bytes));
        }
    }
}

static void load(struct session_case *c, int slot)
{
    struct sc_session *session = c->ranks[0].session;
    assert_ok(sc_session_state_drop(session, slot));
    for (int p = 0; p < PAIRS; p++) {
        assert_ok(sc_session_state_expect(session, p, slot, &shapes[p], LENGTH));
        assert_ok(sc_session_state_write(session, p, slot, 0, sc_tensor_count(&shapes[p]), saved[p]));
    }
}

static void a_state_read_here_and_written_there_goes_on(void **state)
{
    (void)state;
    static const int cuts[][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}};
    for (size_t from = 0; from < 4; from++) {
        struct session_case c;
        open_decoder(&c, cuts[from][0], cuts[from][1]);
        run_row(&c, 0, 0, 60, NULL);
        run_row(&c, 0, 60, 40, NULL);
        save(&c, 0);
        run_row(&c, 0, LENGTH, 1, want);
        session_close(&c);
        const size_t to = (from + 2) % 4;
        open_decoder(&c, cuts[to][0], cuts[to][1]);
        run_row(&c, 4, 0, 30, NULL); /* what was there before */
        load(&c, 4);
        run_row(&c, 4, LENGTH, 1, got);
        assert_memory_equal(got, want, sizeof want);
        session_close(&c);
    }
}

static void a_question_that_is_refused_harms_nobody(void **state)
{
    (void)state;
    struct session_case c;
    struct sc_tensor wrong;
    open_decoder(&c, 3, 3);
    struct sc_session *session = c.ranks[0].session;
    run_row(&c, 0, 0, 60, NULL);
    run_row(&c, 0, 60, 40, NULL);
    save(&c, 0);
    for (int p = 0; p < PAIRS; p += PAIRS - 1) {
        const int64_t n = sc_tensor_count(&shapes[p]);
        const int64_t dims[] = {1, 2, 3};
        assert_fails(SC_BAD_INPUT, "elements", sc_session_state_read(session, p, 0, n - 1, 2, saved[p]));
        assert_fails(SC_BAD_INPUT, "elements", sc_session_state_write(session, p, 1, 0, 1, saved[p]));
        assert_fails(SC_BAD_INPUT, "slot 8", sc_session_state_read(session, p, 8, 0, 1, saved[p]));
        sc_tensor_init(&wrong, shapes[p].type, 3, dims);
        assert_fails(SC_BAD_INPUT, "does not fit", sc_session_state_expect(session, p, 2, &wrong, 3));
        assert_fails(SC_LIMIT, "201 positions", sc_session_state_expect(session, p, 2, &shapes[p], 201));
    }
    run_row(&c, 0, LENGTH, 1, got);
    load(&c, 5);
    run_row(&c, 5, LENGTH, 1, NULL); /* another text from here on, of other ids */
    load(&c, 4);
    run_row(&c, 4, LENGTH, 1, want);
    assert_memory_equal(got, want, sizeof want);
    session_close(&c);
}

/* The memory of rank 0 is that of a few messages: a state larger than any of them crosses in pieces. */
static void a_long_piece_crosses_in_messages(void **state)
{
    (void)state;
    struct session_case c;
    enum { LONG = 16384 };
    c = (struct session_case){
        .n_ranks = 2, .path = SHAKESPEARE, .options = {.n_stages = 2, .n_threads = 1, .n_slots = 1, .context = LONG}};
    assert_ok(session_open(&c));
    struct sc_session *session = c.ranks[0].session;
    struct sc_tensor shape;
    int64_t length;
    for (int p = 0; p < PAIRS; p += PAIRS - 1) {
        assert_ok(sc_session_state_shape(session, p, 0, &shape, &length));
        assert_int_equal(length, 0);
        const int64_t dims[] = {1, shape.dims[1], LONG, shape.dims[3]};
        sc_tensor_init(&shape, shape.type, 4, dims);
        const int64_t n = sc_tensor_count(&shape);
        assert_true(n * (int64_t)sizeof(float) > 3 << 20);
        float *given = malloc((size_t)n * sizeof *given), *back = malloc((size_t)n * sizeof *back);
        for (int64_t i = 0; i < n; i++) {
            given[i] = (float)i;
        }
        assert_ok(sc_session_state_expect(session, p, 0, &shape, LONG));
        assert_ok(sc_session_state_write(session, p, 0, 0, n, given));
        assert_ok(sc_session_state_read(session, p, 0, 0, n, back));
        assert_memory_equal(back, given, (size_t)n * sizeof *given);
        assert_fails(SC_BAD_INPUT, "elements", sc_session_state_read(session, p, 0, 1, n, back)); /* the last of many */
        free(given);
        free(back);
    }
    session_close(&c);
}

/* The value's cache alone is on rank 1, and nobody reads what is made there. */
static const char leaf[] =
    "{\"format\": 1, \"stages\": [{\"ranks\": [0], \"nodes\": [\"x\", \"four\", \"heads\", \"step\", "
    "\"present.0.key\", \"sum\", \"logits\"]}, {\"ranks\": [1], \"nodes\": [\"present.0.value\"]}]}";

/* More than an edge holds, as many in flight as the session takes. */
static void a_stage_that_nobody_reads_has_seen_what_is_delivered(void **state)
{
    (void)state;
    enum { STEPS = 300 };
    char plan[64];
    session_write_plan(leaf, plan, sizeof plan);
    struct session_case c = {
        .n_ranks = 2, .path = GRAPHS "pairs_named", .options = {.plan_path = plan, .n_slots = 1, .context = STEPS}};
    assert_ok(session_open(&c));
    struct sc_session *session = c.ranks[0].session;
    const int64_t dims[2] = {1, 1};
    int64_t token = 3;
    struct sc_value id = {.kind = SC_KIND_TENSOR};
    const struct sc_value *inputs[3] = {&id}, *outputs[3];
    sc_tensor_init(&id.u.tensor, SC_I64, 2, dims);
    id.u.tensor.data = &token;
    int64_t sent = 0;
    for (int64_t taken = 0; taken < STEPS; taken++) {
        for (; sent < STEPS && sc_session_in_flight(session) < sc_session_window(session); sent++) {
            struct sc_microbatch microbatch = {.n_rows = 1, .rows = {{.slot = 0, .n_new = 1, .pos = sent}}};
            assert_ok(sc_session_submit(session, &microbatch, inputs));
        }
        assert_ok(sc_session_next(session, outputs));
        struct sc_tensor shape;
        int64_t length;
        assert_ok(sc_session_state_shape(session, 1, 0, &shape, &length));
        assert_true(length > taken && length <= sent);
    }
    session_close(&c);
    assert_int_equal(unlink(plan), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_read_here_and_written_there_goes_on),
        cmocka_unit_test(a_question_that_is_refused_harms_nobody),
        cmocka_unit_test(a_long_piece_crosses_in_messages),
        cmocka_unit_test(a_stage_that_nobody_reads_has_seen_what_is_delivered),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int p = 0; p < PAIRS; p++) {
        free(saved[p]);
    }
    return failed;
}
