/* SPDX-License-Identifier: Apache-2.0
 * Claims about a plan for prompts beside the other one: what it adds to slots is where they go on, bit for bit, and
 * what fails on the way fails alone. */
#include <stdlib.h>

#include "decoder_case.h"

enum { N_PATHS = 3 };

static char paths[N_PATHS][64];

static void write_text(int which, const char *text)
{
    snprintf(paths[which], sizeof paths[which], "/tmp/sc_handover_%d_%d.json", (int)getpid(), which);
    FILE *file = fopen(paths[which], "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_plans(void)
{
    for (int p = 0; p < N_PATHS; p++) {
        assert_true(paths[p][0] == '\0' || unlink(paths[p]) == 0);
        paths[p][0] = '\0';
    }
}

/* The plan of a session with so many stages; its ranks from `first` on. */
static void write_plan(int which, int n_stages, int first, bool random, uint64_t seed)
{
    struct session_case c = {.n_ranks = n_stages,
        .path = SHAKESPEARE,
        .options = {.n_stages = n_stages, .random_plan = random, .plan_seed = seed, .n_slots = 1, .context = 64}};
    char *text;
    assert_ok(session_open(&c));
    const struct sc_plan *plan = sc_session_plan(c.ranks[0].session);
    for (int s = 0; s < plan->n_stages; s++) {
        plan->stages[s].ranks[0] += first;
    }
    assert_ok(sc_plan_write(plan, c.ranks[0].model, &text));
    session_close(&c);
    write_text(which, text);
    free(text);
}

static void open_apart(struct session_case *c, int n_ranks, int64_t n_pages)
{
    *c = (struct session_case){.n_ranks = n_ranks,
        .path = SHAKESPEARE,
        .options = {
            .plan_path = paths[0], .prefill_plan_path = paths[1], .n_slots = 8, .context = 200, .n_pages = n_pages}};
    assert_ok(session_open(c));
    assert_non_null(sc_session_prefill_plan(c->ranks[0].session));
}

static enum sc_status try_prompt(struct session_case *c, struct sc_row row, uint64_t dropped, float *logits)
{
    struct batch *b = calloc(1, sizeof *b);
    make_batch(c->ranks[0].model, b, 1, &row);
    b->microbatch.prefill = true;
    b->microbatch.dropped.words[0] = dropped;
    const enum sc_status status = step(c, b, logits);
    free(b);
    return status;
}

static void run_prompt(struct session_case *c, int slot, int64_t pos, int n_new, float *logits)
{
    assert_ok(try_prompt(c, (struct sc_row){.slot = slot, .n_new = n_new, .pos = pos, .ends = 1}, 0, logits));
}

static float got[4][VOCABULARY], want[4][VOCABULARY];

/* Slot 0 of 100 positions, slot 1 of 3, slot 4 as the first 70 of slot 0. Then a token of each. */
static void make_want(void)
{
    struct session_case c = {.n_ranks = 1, .path = SHAKESPEARE, .options = {.n_slots = 8, .context = 200}};
    assert_ok(session_open(&c));
    run_row(&c, 0, 0, 60, NULL);
    run_row(&c, 0, 60, 40, want[3]);
    run_row(&c, 1, 0, 3, NULL);
    const struct sc_row begun = {.slot = 4, .n_new = 5, .pos = 70, .shares = 1};
    run_rows(&c, 1, &begun, NULL);
    run_row(&c, 0, 100, 1, want[0]);
    run_row(&c, 1, 3, 1, want[1]);
    run_row(&c, 4, 75, 1, want[2]);
    session_close(&c);
}

static void fill(struct session_case *c)
{
    run_prompt(c, 0, 0, 60, NULL);
    run_prompt(c, 0, 60, 40, got[3]);
    run_prompt(c, 1, 0, 3, NULL);
    assert_ok(try_prompt(c, (struct sc_row){.slot = 4, .n_new = 5, .pos = 70, .shares = 1, .ends = 1}, 0, NULL));
}

static void expect_tokens(struct session_case *c)
{
    run_row(c, 0, 100, 1, got[0]);
    run_row(c, 1, 3, 1, got[1]);
    run_row(c, 4, 75, 1, got[2]);
    assert_memory_equal(got, want, sizeof want);
}

static void expect_want(struct session_case *c)
{
    fill(c);
    expect_tokens(c);
}

static void slots_go_on_where_their_prompts_were_handed_to(void **state)
{
    (void)state;
    static const int cuts[][4] = {/* ranks, stages of the plan, of the prefill plan, its first rank */
        {1, 1, 1, 0}, {2, 1, 1, 1}, {3, 1, 2, 1}, {4, 2, 2, 2}, {3, 3, 3, 0}, {3, 2, 3, 0}, {4, 3, 2, 2}};
    make_want();
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct session_case c;
        write_plan(0, cuts[i][1], 0, i > 3, i);
        write_plan(1, cuts[i][2], cuts[i][3], i > 3, 10 + i);
        open_apart(&c, cuts[i][0], 0);
        expect_want(&c);
        session_close(&c);
        remove_plans();
    }
}

/* What prompts left where they were read goes on too: slot 4 begins there as slot 0. */
static void slots_go_on_by_another_plan_beside_that_of_prompts(void **state)
{
    (void)state;
    static const int cuts[][5] = {
        /* ranks, stages of the plan, of the prefill plan, its first rank, stages of the next plan */
        {1, 1, 1, 0, 1}, {2, 1, 1, 1, 2}, {3, 2, 2, 1, 1}, {4, 2, 2, 2, 3}, {3, 3, 3, 0, 2}};
    make_want();
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct session_case c;
        write_plan(0, cuts[i][1], 0, false, 0);
        write_plan(1, cuts[i][2], cuts[i][3], i > 2, 20 + i);
        write_plan(2, cuts[i][4], 0, i > 1, 30 + i);
        open_apart(&c, cuts[i][0], 0);
        fill(&c);
        for (int p = 2; p >= 0; p -= 2) { /* and back */
            assert_ok(sc_session_replan(c.ranks[0].session, paths[p]));
            assert_ok(
                try_prompt(&c, (struct sc_row){.slot = 4, .n_new = 5, .pos = 70, .shares = 1, .ends = 1}, 0, NULL));
            run_row(&c, 4, 75, 1, got[2]);
            assert_memory_equal(got[2], want[2], sizeof want[2]);
        }
        expect_tokens(&c);
        run_prompt(&c, 6, 0, 3, NULL); /* and what is handed over from now on */
        run_row(&c, 6, 3, 1, got[1]);
        run_row(&c, 2, 0, 3, NULL); /* the same text, by the other plan alone */
        run_row(&c, 2, 3, 1, got[2]);
        assert_memory_equal(got[1], got[2], sizeof got[1]);
        session_close(&c);
        remove_plans();
    }
}

/* All pairs of a slot, from one session to another. */
static void copy_slot(struct session_case *from, int slot, struct session_case *to, int into)
{
    struct sc_session *source = from->ranks[0].session, *target = to->ranks[0].session;
    struct sc_state_pair *pairs;
    int n_pairs;
    assert_ok(sc_pairs_find(from->ranks[0].model, &n_pairs, &pairs));
    assert_ok(sc_session_state_drop(target, into));
    for (int p = 0; p < n_pairs; p++) {
        struct sc_tensor shape;
        int64_t length;
        assert_ok(sc_session_state_shape(source, p, slot, &shape, &length));
        const int64_t n = sc_tensor_count(&shape);
        void *data = malloc(sc_tensor_bytes(&shape) + 1);
        assert_non_null(data);
        assert_ok(sc_session_state_read(source, p, slot, 0, n, data));
        assert_ok(sc_session_state_expect(target, p, into, &shape, length));
        assert_ok(sc_session_state_write(target, p, into, 0, n, data));
        free(data);
    }
}

/* By a chunk of a prompt or by a token; and what is read is where texts go on. */
static void a_state_that_is_written_goes_on_by_either_plan(void **state)
{
    (void)state;
    struct session_case whole = {.n_ranks = 1, .path = SHAKESPEARE, .options = {.n_slots = 8, .context = 200}}, c;
    make_want();
    write_plan(0, 2, 0, false, 0);
    write_plan(1, 2, 1, false, 0);
    assert_ok(session_open(&whole));
    run_row(&whole, 0, 0, 60, NULL);
    run_row(&whole, 1, 0, 3, NULL);
    open_apart(&c, 3, 0);
    copy_slot(&whole, 0, &c, 0);
    copy_slot(&whole, 1, &c, 1);
    run_prompt(&c, 0, 60, 40, NULL);
    assert_ok(try_prompt(&c, (struct sc_row){.slot = 4, .n_new = 5, .pos = 70, .shares = 1, .ends = 1}, 0, NULL));
    expect_tokens(&c);
    copy_slot(&c, 0, &whole, 0);
    run_row(&c, 0, 101, 1, got[0]);
    run_row(&whole, 0, 101, 1, got[1]);
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    session_close(&c);
    session_close(&whole);
    remove_plans();
}

/* A step goes in and out while a prompt is on its way. */
static void each_plan_delivers_in_its_own_order(void **state)
{
    (void)state;
    struct session_case c;
    const struct sc_value *outputs[32];
    make_want();
    write_plan(0, 1, 0, false, 0);
    write_plan(1, 2, 1, false, 0);
    open_apart(&c, 3, 0);
    struct sc_session *session = c.ranks[0].session;
    run_prompt(&c, 1, 0, 3, NULL);
    struct batch *prompt = calloc(2, sizeof *prompt), *token = calloc(1, sizeof *token);
    const struct sc_row rows[] = {{.slot = 0, .n_new = 60}, {.slot = 0, .n_new = 40, .pos = 60, .ends = 1}};
    for (int i = 0; i < 2; i++) {
        make_batch(c.ranks[0].model, &prompt[i], 1, &rows[i]);
        prompt[i].microbatch.prefill = true;
        assert_ok(sc_session_submit(session, &prompt[i].microbatch, prompt[i].inputs));
    }
    const struct sc_row next = {.slot = 1, .n_new = 1, .pos = 3};
    make_batch(c.ranks[0].model, token, 1, &next);
    assert_ok(sc_session_submit(session, &token->microbatch, token->inputs));
    assert_int_equal(prompt[1].microbatch.seq, 2);
    assert_int_equal(token->microbatch.seq, 0);
    assert_int_equal(sc_session_in_flight(session), 3);
    int n_prefill = 0;
    for (int i = 0; i < 3; i++) {
        bool prefill;
        assert_ok(sc_session_next_of(session, &prefill, outputs));
        n_prefill += prefill;
    }
    assert_int_equal(n_prefill, 2);
    run_row(&c, 0, 100, 1, got[0]);
    assert_memory_equal(got[0], want[0], sizeof want[0]);
    free(prompt);
    free(token);
    session_close(&c);
    remove_plans();
}

/* Three pages for everybody: what is dropped on the way of a prompt is free where its caches go. */
static void dropped_slots_give_their_pages_to_the_next_prompt(void **state)
{
    (void)state;
    struct session_case c;
    make_want();
    write_plan(0, 2, 0, false, 0);
    write_plan(1, 2, 1, false, 0);
    open_apart(&c, 3, 3);
    for (int turn = 0; turn < 3; turn++) {
        run_prompt(&c, 2, 0, 60, NULL);
        run_prompt(&c, 2, 60, 60, NULL);
        assert_ok(try_prompt(&c, (struct sc_row){.slot = 0, .n_new = 60}, 1u << 2, NULL));
        run_prompt(&c, 0, 60, 40, NULL);
        run_row(&c, 0, 100, 1, got[0]);
        assert_memory_equal(got[0], want[0], sizeof want[0]);
        assert_ok(try_prompt(&c, (struct sc_row){.slot = 1, .n_new = 3, .ends = 1}, 1u << 0, NULL));
        run_row(&c, 1, 3, 1, got[1]);
        assert_memory_equal(got[1], want[1], sizeof want[1]);
        assert_ok(try_prompt(&c, (struct sc_row){.slot = 3, .n_new = 1}, 1u << 1, NULL));
        assert_ok(try_prompt(&c, (struct sc_row){.slot = 2, .n_new = 1}, 1u << 3, NULL));
    }
    assert_int_equal(try_prompt(&c, (struct sc_row){.slot = 1, .n_new = 64}, 0, NULL), SC_OK);
    assert_int_equal(try_prompt(&c, (struct sc_row){.slot = 0, .n_new = 64}, 0, NULL), SC_OK);
    assert_fails(SC_LIMIT, "more page", try_prompt(&c, (struct sc_row){.slot = 3, .n_new = 1}, 0, NULL));
    session_close(&c);
    remove_plans();
}

/* A rank with stages of both plans has each weight once. */
static void weights_of_both_plans_are_there_once(void **state)
{
    (void)state;
    struct sc_rank_report one, both;
    struct session_case c = {.n_ranks = 1, .path = SHAKESPEARE, .options = {.n_slots = 8, .context = 200}};
    assert_ok(session_open(&c));
    assert_ok(sc_session_finish(c.ranks[0].session));
    assert_ok(sc_session_report(c.ranks[0].session, &one));
    session_abandon(&c);
    write_plan(0, 1, 0, false, 0);
    write_plan(1, 1, 0, false, 0);
    open_apart(&c, 1, 0);
    assert_int_equal(sc_session_n_stages(c.ranks[0].session), 2);
    assert_ok(sc_session_finish(c.ranks[0].session));
    assert_ok(sc_session_report(c.ranks[0].session, &both));
    session_abandon(&c);
    assert_true(one.own_weight_bytes + one.mapped_weight_bytes > 8 << 20);
    assert_int_equal(both.own_weight_bytes, one.own_weight_bytes);
    assert_int_equal(both.mapped_weight_bytes, one.mapped_weight_bytes);
    assert_int_equal(both.state_bytes, 2 * one.state_bytes);
    remove_plans();
}

static const char three[] = "{\"format\": 1, \"stages\": ["
                            "{\"ranks\": [0], \"nodes\": [\"x\", \"g0\", \"y0\"]},"
                            "{\"ranks\": [1], \"nodes\": [\"g1\", \"y1\"]},"
                            "{\"ranks\": [2], \"nodes\": [\"g2\", \"y2\", \"sum\", \"logits\"]}]}";
static const char two[] = "{\"format\": 1, \"stages\": ["
                          "{\"ranks\": [2], \"nodes\": [\"x\", \"g0\", \"y0\", \"g1\", \"y1\"]},"
                          "{\"ranks\": [0], \"nodes\": [\"g2\", \"y2\", \"sum\", \"logits\"]}]}";

/* Five tokens of a slot, or one, of which a stage fails. */
static enum sc_status try_tokens(struct session_case *c, bool prefill, int slot, int64_t pos, int n, int bad)
{
    static const char *const names[] = {"input_ids", "first", "second", "third"};
    int64_t tokens[5], orders[3][4];
    struct sc_value values[4] = {0};
    const struct sc_value *inputs[16] = {0}, *outputs[16];
    const struct sc_graph *graph = c->ranks[0].model->graph;
    for (int v = 0; v < 4; v++) {
        const int64_t dims[2] = {v ? 4 : 1, n};
        for (int i = 0; i < (v ? 4 : n); i++) {
            *(v ? &orders[v - 1][i] : &tokens[i]) =
                v ? (bad == v - 1 && i == 2 ? 9 : (i + v) % 4) : (slot + pos + i) % 8;
        }
        values[v].kind = SC_KIND_TENSOR;
        sc_tensor_init(&values[v].u.tensor, SC_I64, v ? 1 : 2, dims);
        values[v].u.tensor.data = v ? orders[v - 1] : tokens;
        for (int i = 0; i < graph->n_inputs; i++) {
            if (strcmp(graph->values[graph->inputs[i]].name, names[v]) == 0) {
                inputs[i] = &values[v];
            }
        }
    }
    struct sc_microbatch microbatch = {
        .n_rows = 1, .prefill = prefill, .rows = {{.slot = slot, .n_new = n, .pos = pos, .ends = 1}}};
    assert_ok(sc_session_submit(c->ranks[0].session, &microbatch, inputs));
    return sc_session_next(c->ranks[0].session, outputs);
}

static void a_prompt_that_fails_at_any_stage_fails_alone(void **state)
{
    (void)state;
    write_text(0, two);
    write_text(1, three);
    struct session_case c = {.n_ranks = 3,
        .path = GRAPHS "failing_states",
        .options = {.plan_path = paths[0], .prefill_plan_path = paths[1], .n_slots = 2, .context = 64}};
    assert_ok(session_open(&c));
    for (int bad = 0; bad < 3; bad++) {
        assert_ok(try_tokens(&c, true, 0, 0, 5, -1));
        assert_ok(try_tokens(&c, true, 1, 0, 5, -1));
        assert_fails(SC_BAD_INPUT, "Gather", try_tokens(&c, true, 1, 5, 5, bad));
        assert_int_equal(sc_error_last()->stage, 2 + bad); /* numbers of both plans, one after the other */
        assert_ok(try_tokens(&c, false, 0, 5, 1, -1));
        assert_fails(SC_BAD_INPUT, "continues at position 10", try_tokens(&c, false, 1, 10, 1, -1));
        assert_ok(try_tokens(&c, false, 1, 5, 1, -1)); /* from where it was */
        assert_fails(SC_BAD_INPUT, "Gather", try_tokens(&c, false, 1, 6, 1, bad));
        assert_ok(try_tokens(&c, true, 1, 5, 5, -1));
        assert_ok(try_tokens(&c, false, 1, 10, 1, -1));
    }
    session_close(&c);
    remove_plans();
}

static void what_has_no_sense_with_two_plans_is_refused(void **state)
{
    (void)state;
    struct session_case c;
    write_plan(0, 1, 0, false, 0);
    write_plan(1, 1, 1, false, 0);
    open_apart(&c, 2, 0);
    struct batch *b = calloc(1, sizeof *b);
    const struct sc_row rows[] = {{.slot = 0, .n_new = 1}, {.slot = 1, .n_new = 1}};
    make_batch(c.ranks[0].model, b, 2, rows);
    b->microbatch.prefill = true;
    assert_fails(SC_BAD_INPUT, "2 rows", sc_session_submit(c.ranks[0].session, &b->microbatch, b->inputs));
    free(b);
    session_close(&c);

    c = (struct session_case){
        .n_ranks = 1, .path = SHAKESPEARE, .options = {.plan_path = paths[0], .n_slots = 1, .context = 64}};
    c.options.prefill_plan_path = paths[1]; /* on rank 1 */
    assert_fails(SC_BAD_INPUT, "puts stage 0 on rank 1, the job has 1", session_open(&c));
    session_abandon(&c);
    c = (struct session_case){.n_ranks = 1, .path = GRAPHS "skipping", .options = {.prefill_plan_path = paths[1]}};
    assert_fails(SC_BAD_USAGE, "keeps no states", session_open(&c));
    session_abandon(&c);
    remove_plans();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_go_on_where_their_prompts_were_handed_to),
        cmocka_unit_test(slots_go_on_by_another_plan_beside_that_of_prompts),
        cmocka_unit_test(a_state_that_is_written_goes_on_by_either_plan),
        cmocka_unit_test(each_plan_delivers_in_its_own_order),
        cmocka_unit_test(dropped_slots_give_their_pages_to_the_next_prompt),
        cmocka_unit_test(weights_of_both_plans_are_there_once),
        cmocka_unit_test(a_prompt_that_fails_at_any_stage_fails_alone),
        cmocka_unit_test(what_has_no_sense_with_two_plans_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
