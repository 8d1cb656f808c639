/* SPDX-License-Identifier: Apache-2.0
 * Requests with caches over three stages, many microbatches in flight: one that fails at any stage fails alone, what
 * follows it in its slot cannot go on from where it failed, and the slot can from where it was before. */
#include "session_case.h"

/* The value y0 skips the middle stage. */
static const char stages[] = "{\"format\": 1, \"stages\": ["
                             "{\"ranks\": [0], \"nodes\": [\"x\", \"g0\", \"y0\"]},"
                             "{\"ranks\": [1], \"nodes\": [\"g1\", \"y1\"]},"
                             "{\"ranks\": [2], \"nodes\": [\"g2\", \"y2\", \"sum\", \"logits\"]}]}";

enum { SLOTS = 3, STEPS = 8, PROMPT = 5, WIDTH = 4, CLASSES = 8, MOST = SLOTS * STEPS };

/* One microbatch: tokens of one slot, and what came of it. */
struct turn {
    int slot, n_new;
    int64_t pos;
    int bad_stage; /* -1: none */
    enum sc_status status;
    struct sc_error error;
    float logits[CLASSES]; /* of the last token */
};

static void submit(struct session_case *c, struct turn *turn)
{
    static const char *const names[] = {"input_ids", "first", "second", "third"};
    int64_t tokens[PROMPT], orders[3][WIDTH];
    struct sc_value values[4] = {0};
    const struct sc_value *inputs[16] = {0};
    const struct sc_graph *graph = c->ranks[0].model->graph;
    for (int i = 0; i < turn->n_new; i++) {
        tokens[i] = (turn->slot * 3 + turn->pos + i) % 8;
    }
    for (int v = 0; v < 4; v++) {
        const int64_t dims[2] = {v ? WIDTH : 1, turn->n_new};
        for (int i = 0; v && i < WIDTH; i++) {
            orders[v - 1][i] = turn->bad_stage == v - 1 && i == 2 ? 9 : (i + turn->slot + v) % WIDTH;
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
        .n_rows = 1, .rows = {{.slot = turn->slot, .n_new = turn->n_new, .pos = turn->pos}}};
    assert_ok(sc_session_submit(c->ranks[0].session, &microbatch, inputs));
}

static void take(struct session_case *c, struct turn *turn)
{
    const struct sc_value *outputs[16];
    turn->status = sc_session_next(c->ranks[0].session, outputs);
    if (turn->status == SC_OK) {
        const float *logits = outputs[0]->u.tensor.data;
        memcpy(turn->logits, logits + (turn->n_new - 1) * CLASSES, sizeof turn->logits);
    } else {
        turn->error = *sc_error_last();
    }
}

/* As many in flight as the session takes. */
static void run_turns(struct session_case *c, struct turn *turns, int n)
{
    struct sc_session *session = c->ranks[0].session;
    assert_true(sc_session_window(session) > SLOTS + 1); /* what follows a failure is on its way before it is known */
    for (int sent = 0, taken = 0; taken < n;) {
        if (sent < n && sc_session_in_flight(session) < sc_session_window(session)) {
            submit(c, &turns[sent++]);
        } else {
            take(c, &turns[taken++]);
        }
    }
}

/* A prompt and then tokens, of all slots in turns. */
static void make_turns(struct turn *turns)
{
    for (int step = 0; step < STEPS; step++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            turns[step * SLOTS + slot] = (struct turn){
                .slot = slot, .n_new = step ? 1 : PROMPT, .pos = step ? PROMPT + step - 1 : 0, .bad_stage = -1};
        }
    }
}

static void expect_good(const struct turn *turn, const struct turn *want)
{
    if (turn->status != SC_OK) {
        fail_msg("slot %d at %d: %s", turn->slot, (int)turn->pos, turn->error.text);
    }
    assert_memory_equal(turn->logits, want->logits, sizeof want->logits);
}

/* Slot 1 fails at step `bad`, which is the prompt or a token. */
static void fail_and_resume(struct session_case *c, const struct turn *want, int stage, int bad)
{
    static struct turn turns[MOST], again[STEPS];
    int n_again = 0;
    make_turns(turns);
    turns[bad * SLOTS + 1].bad_stage = stage;
    run_turns(c, turns, MOST);
    for (int t = 0; t < MOST; t++) {
        const int step = t / SLOTS;
        if (turns[t].slot != 1 || step < bad) {
            expect_good(&turns[t], &want[t]);
            continue;
        }
        assert_int_equal(turns[t].status, SC_BAD_INPUT);
        assert_int_equal(turns[t].error.stage, stage);
        assert_int_equal(turns[t].error.rank, stage);
        assert_non_null(strstr(turns[t].error.text, step == bad ? "Gather" : "continues at position"));
        again[n_again] = want[t];
        memset(again[n_again++].logits, 0, sizeof again->logits);
    }
    run_turns(c, again, n_again);
    for (int i = 0; i < n_again; i++) {
        expect_good(&again[i], &want[(bad + i) * SLOTS + 1]);
    }
}

static void a_failing_request_fails_alone_at_every_stage(void **state)
{
    (void)state;
    char plan[64];
    static struct turn want[MOST];
    session_write_plan(stages, plan, sizeof plan);
    struct session_case c = {
        .n_ranks = 3, .path = GRAPHS "failing_states", .options = {.plan_path = plan, .n_slots = SLOTS, .context = 64}};
    assert_ok(session_open(&c));
    assert_int_equal(sc_session_plan(c.ranks[0].session)->n_stages, 3);
    make_turns(want);
    run_turns(&c, want, MOST);
    for (int t = 0; t < MOST; t++) {
        expect_good(&want[t], &want[t]);
    }
    assert_memory_not_equal(want[MOST - 1].logits, want[MOST - 2].logits, sizeof want->logits);
    for (int stage = 0; stage < 3; stage++) {
        fail_and_resume(&c, want, stage, 0);
        fail_and_resume(&c, want, stage, 3);
        fail_and_resume(&c, want, stage, STEPS - 1);
    }
    session_close(&c);
    assert_int_equal(unlink(plan), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_request_fails_alone_at_every_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
