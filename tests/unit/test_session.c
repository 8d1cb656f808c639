/* SPDX-License-Identifier: Apache-2.0
 * Claims about sessions without states: the same answers on any cut, failures in their turn, inputs that are
 * refused. */
#include "base/clock.h"
#include "runtime/stage.h"
#include "session_case.h"

/* All data sets of a model, as many in flight as the session takes. */
static void expect_answers(struct session_case *c, const char *name)
{
    struct sc_session *session = c->ranks[0].session;
    struct graph_case data[8];
    const struct sc_value *outputs[GRAPH_PORTS];
    struct graph_case first = {.name = name, .model = c->ranks[0].model};
    const int n = graph_n_sets(&first);
    int delivered = 0;
    assert_in_range(n, 1, 8);
    for (int k = 0; k < n || delivered < n;) {
        if (k < n && sc_session_in_flight(session) < sc_session_window(session)) {
            struct sc_microbatch microbatch = {.n_rows = 0};
            data[k] = (struct graph_case){.name = name, .model = c->ranks[0].model};
            graph_read(&data[k], k);
            assert_ok(sc_session_submit(session, &microbatch, data[k].feeds));
            k++;
            continue;
        }
        assert_ok(sc_session_next(session, outputs));
        for (int o = 0; o < c->ranks[0].model->graph->n_outputs; o++) {
            assert_non_null(outputs[o]);
            graph_expect_value(&data[delivered], o, outputs[o]);
        }
        sc_arena_release(&data[delivered++].arena);
    }
}

static void answers_are_the_same_on_every_cut(void **state)
{
    (void)state;
    static const char *const names[] = {"late", "computed_shape", "views", "in_place", "nested_if", "sequences",
        "removable", "large_constant", "failing", "skipping", "question_marks", "defaults", "recipes"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (int way = 0; way < 12; way++) {
            struct session_case c = {.n_ranks = 1 + way % 4};
            char path[512];
            snprintf(path, sizeof path, GRAPHS "%s", names[k]);
            c.path = path;
            c.options.override = strcmp(names[k], "defaults") == 0 ? "w,k,shape" : NULL;
            c.options.n_threads = 1 + way % 2;
            c.options.random_plan = way >= 4;
            c.options.plan_seed = (uint64_t)way;
            c.options.n_stages = way < 4 ? 1 + way / 2 : 2;
            if (session_open(&c) != SC_OK) {
                fail_msg("%s, way %d: %s", names[k], way, sc_error_last()->text);
            }
            expect_answers(&c, names[k]);
            expect_answers(&c, names[k]);
            session_close(&c);
        }
    }
}

static void defaults_that_nobody_gives_are_constants(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 2, .path = GRAPHS "defaults", .options = {.n_stages = 2}};
    const struct sc_value *outputs[GRAPH_PORTS];
    struct graph_case data = {.name = "defaults"};
    struct sc_microbatch microbatch = {.n_rows = 0};
    assert_ok(session_open(&c));
    const struct sc_graph *graph = (data.model = c.ranks[0].model)->graph;
    assert_int_equal(graph->values[sc_graph_find(graph, "kk")].place, SC_PLACE_INITIALIZER); /* folded */
    graph_read(&data, 0);
    assert_ok(sc_session_submit(c.ranks[0].session, &microbatch, data.feeds));
    assert_ok(sc_session_next(c.ranks[0].session, outputs));
    graph_expect_value(&data, 0, outputs[0]);
    data.feeds[1] = &data.inputs[1];
    graph_read(&data, 1);
    assert_fails(SC_BAD_INPUT, "input 'w' has a default, which is a constant here",
        sc_session_submit(c.ranks[0].session, &microbatch, data.feeds));
    sc_arena_release(&data.arena);
    session_close(&c);
}

static void vary_given(int rank, struct sc_session_options *options)
{
    static const bool given[4] = {true, false, true, false};
    options->given_inputs = rank == 0 ? given : NULL; /* only rank 0 knows */
}

static void what_rank_0_gives_is_an_input_on_every_rank(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 3, .path = GRAPHS "defaults", .options = {.n_stages = 3}, .vary = vary_given};
    const struct sc_value *outputs[GRAPH_PORTS];
    struct graph_case data = {.name = "defaults"};
    struct sc_microbatch microbatch = {.n_rows = 0};
    assert_ok(session_open(&c));
    const struct sc_graph *graph = (data.model = c.ranks[0].model)->graph;
    assert_int_equal(graph->values[sc_graph_find(graph, "w")].place, SC_PLACE_INITIALIZER);
    assert_int_equal(graph->values[sc_graph_find(graph, "kk")].place, SC_PLACE_NODE);
    for (int set = 0; set < 3; set += 2) { /* without k, then with it */
        graph_read(&data, set);
        assert_ok(sc_session_submit(c.ranks[0].session, &microbatch, data.feeds));
        assert_ok(sc_session_next(c.ranks[0].session, outputs));
        graph_expect_value(&data, 0, outputs[0]);
    }
    sc_arena_release(&data.arena);
    session_close(&c);
}

static void vary_modes(int rank, struct sc_session_options *options)
{
    static const int8_t modes[3] = {-1, -1, -1}; /* x is none */
    options->modes = rank == 0 ? modes : NULL;
}

static void a_mode_of_rank_0_cuts_the_branch_that_it_takes(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 3, .path = GRAPHS "branches", .options = {.n_stages = 3}, .vary = vary_modes};
    const struct sc_value *outputs[GRAPH_PORTS];
    struct graph_case data = {.name = "branches"};
    struct sc_microbatch microbatch = {.n_rows = 0};
    assert_ok(session_open(&c));
    const struct sc_graph *graph = (data.model = c.ranks[0].model)->graph;
    assert_int_equal(sc_session_plan(c.ranks[0].session)->n_stages, 3);
    for (int n = 0; n < graph->n_nodes; n++) {
        assert_true(graph->nodes[n].dead || strcmp(graph->nodes[n].op, "If") != 0);
    }
    graph_read(&data, 3);
    assert_ok(sc_session_submit(c.ranks[0].session, &microbatch, data.feeds));
    assert_ok(sc_session_next(c.ranks[0].session, outputs));
    graph_expect_value(&data, 0, outputs[0]);
    graph_read(&data, 1);
    assert_fails(SC_BAD_INPUT, "input 'use_cache_branch' is not false, which the session was opened for",
        sc_session_submit(c.ranks[0].session, &microbatch, data.feeds));
    sc_arena_release(&data.arena);
    session_close(&c);
}

/* Three stages on three ranks, one Gather each. */
static const char three_stages[] = "{\"format\": 1, \"stages\": ["
                                   "{\"ranks\": [0], \"nodes\": [\"a\", \"a2\"]},"
                                   "{\"ranks\": [1], \"nodes\": [\"b\", \"b2\"]},"
                                   "{\"ranks\": [2], \"nodes\": [\"c\", \"y\"]}]}";

/* Microbatch 3 of 7 fails at the stage; four are in flight at any time. */
static void fail_at(struct session_case *c, int stage)
{
    static const char *const nodes[] = {"'a'", "'b'", "'c'"};
    struct sc_session *session = c->ranks[0].session;
    struct graph_case good = {.name = "failing", .model = c->ranks[0].model}, bad = good;
    const struct sc_value *outputs[GRAPH_PORTS];
    int64_t first = -1;
    graph_read(&good, 0);
    graph_read(&bad, 0);
    ((int64_t *)bad.inputs[1 + stage].u.tensor.data)[3] = -5;
    for (int submitted = 0, delivered = 0; delivered < 7;) {
        if (submitted < 7 && submitted - delivered < 4) {
            struct sc_microbatch microbatch = {.n_rows = 0};
            assert_ok(sc_session_submit(session, &microbatch, submitted == 3 ? bad.feeds : good.feeds));
            first = first < 0 ? microbatch.seq : first;
            assert_int_equal(microbatch.seq, first + submitted);
            submitted++;
            continue;
        }
        const enum sc_status status = sc_session_next(session, outputs);
        if (delivered == 3) {
            const struct sc_error *error = sc_error_last();
            assert_int_equal(status, SC_BAD_INPUT);
            assert_int_equal(error->rank, stage);
            assert_int_equal(error->stage, stage);
            assert_int_equal(error->seq, first + 3);
            assert_non_null(strstr(error->text, nodes[stage]));
        } else {
            assert_int_equal(status, SC_OK);
            graph_expect_value(&good, 0, outputs[0]);
        }
        delivered++;
    }
    assert_int_equal(sc_session_in_flight(session), 0);
    sc_arena_release(&good.arena);
    sc_arena_release(&bad.arena);
}

static void a_failing_microbatch_comes_out_in_its_turn(void **state)
{
    (void)state;
    char plan[64];
    session_write_plan(three_stages, plan, sizeof plan);
    struct session_case c = {.n_ranks = 3, .path = GRAPHS "failing", .options = {.plan_path = plan}};
    assert_ok(session_open(&c));
    assert_int_equal(sc_session_plan(c.ranks[0].session)->n_stages, 3);
    for (int round = 0; round < 2; round++) {
        for (int stage = 0; stage < 3; stage++) {
            fail_at(&c, stage);
        }
    }
    session_close(&c);
    assert_int_equal(unlink(plan), 0);
}

static void two_failures_in_one_microbatch_are_one_error(void **state)
{
    (void)state;
    char plan[64];
    session_write_plan(three_stages, plan, sizeof plan);
    struct session_case c = {.n_ranks = 3, .path = GRAPHS "failing", .options = {.plan_path = plan}};
    assert_ok(session_open(&c));
    struct graph_case bad = {.name = "failing", .model = c.ranks[0].model};
    const struct sc_value *outputs[GRAPH_PORTS];
    struct sc_microbatch microbatch = {.n_rows = 0};
    graph_read(&bad, 0);
    ((int64_t *)bad.inputs[1].u.tensor.data)[0] = 9;
    ((int64_t *)bad.inputs[3].u.tensor.data)[0] = 9;
    assert_ok(sc_session_submit(c.ranks[0].session, &microbatch, bad.feeds));
    assert_fails(SC_BAD_INPUT, "'a'", sc_session_next(c.ranks[0].session, outputs)); /* the earlier stage's */
    assert_fails(SC_INTERNAL, "in flight", sc_session_next(c.ranks[0].session, outputs));
    expect_answers(&c, "failing");
    sc_arena_release(&bad.arena);
    session_close(&c);
    assert_int_equal(unlink(plan), 0);
}

static void inputs_are_checked_before_anything_is_sent(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 2, .path = GRAPHS "skipping", .options = {.n_stages = 2}};
    assert_ok(session_open(&c));
    struct sc_session *session = c.ranks[0].session;
    struct sc_microbatch microbatch = {.n_rows = 0};
    struct graph_case good = {.name = "skipping", .model = c.ranks[0].model}, bad;
    graph_read(&good, 0);
    const struct sc_value *missing[2] = {good.feeds[0], NULL};
    assert_fails(SC_BAD_INPUT, "'z' is missing", sc_session_submit(session, &microbatch, missing));
    bad = good;
    bad.feeds[0] = &bad.inputs[0];
    bad.inputs[0].u.tensor.type = SC_I32;
    assert_fails(SC_BAD_INPUT, "'x' is int32, want float", sc_session_submit(session, &microbatch, bad.feeds));
    bad.inputs[0] = good.inputs[0];
    bad.inputs[0].u.tensor.rank = 0;
    assert_fails(SC_BAD_INPUT, "'x' has rank 0, want 1", sc_session_submit(session, &microbatch, bad.feeds));
    bad.inputs[0] = good.inputs[0];
    bad.inputs[0].u.tensor.dims[0] = 2; /* z has five: one symbol */
    assert_fails(SC_BAD_INPUT, "in dim 0", sc_session_submit(session, &microbatch, bad.feeds));
    bad.inputs[0].kind = SC_KIND_SEQUENCE;
    assert_fails(SC_BAD_INPUT, "'x' is no tensor", sc_session_submit(session, &microbatch, bad.feeds));
    assert_int_equal(sc_session_in_flight(session), 0);
    expect_answers(&c, "skipping");
    sc_arena_release(&good.arena);
    session_close(&c);
}

static void as_many_rows_as_a_header_holds_are_taken(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 1, .path = GRAPHS "skipping"};
    assert_ok(session_open(&c));
    struct graph_case good = {.name = "skipping", .model = c.ranks[0].model};
    graph_read(&good, 0);
    struct sc_microbatch microbatch = {.n_rows = SC_WIRE_ROWS + 1};
    assert_fails(SC_BAD_INPUT, "65 rows", sc_session_submit(c.ranks[0].session, &microbatch, good.feeds));
    microbatch.n_rows = -1;
    assert_fails(SC_BAD_INPUT, "-1 rows", sc_session_submit(c.ranks[0].session, &microbatch, good.feeds));
    sc_arena_release(&good.arena);
    session_close(&c);
}

static void expect_no_session(struct session_case *c, enum sc_status code, const char *words)
{
    assert_fails(code, words, session_open(c));
    session_abandon(c);
    for (int r = 1; r < c->n_ranks; r++) {
        assert_int_equal(c->ranks[r].status, code);
        assert_non_null(strstr(c->ranks[r].error.text, words));
    }
}

static void outputs_may_be_inputs_initializers_and_listed_twice(void **state)
{
    (void)state;
    static const char *const names[] = {"output_is_input", "output_is_weight"};
    for (int way = 0; way < 8; way++) {
        char path[512];
        struct session_case c = {.n_ranks = 1 + way / 2 % 2, .path = path};
        snprintf(path, sizeof path, GRAPHS "%s", names[way % 2]);
        c.options.n_stages = way == 7 ? 2 : 1;
        assert_ok(session_open(&c));
        expect_answers(&c, names[way % 2]);
        session_close(&c);
    }
}

static char changing[64]; /* a copy of a model, which changes between opening and use */

static void vary_file(int rank, struct sc_session_options *options)
{
    (void)options;
    if (rank == 1) {
        FILE *file = fopen(changing, "r+b");
        assert_non_null(file);
        assert_int_equal(ftruncate(fileno(file), 0), 0);
        assert_int_equal(fclose(file), 0);
    }
}

static void a_model_that_changes_before_it_is_used_is_refused(void **state)
{
    (void)state;
    struct sc_file whole;
    struct session_case c = {.n_ranks = 2, .path = changing, .vary = vary_file, .options = {.n_stages = 2}};
    snprintf(changing, sizeof changing, "/tmp/sc_changing_%d.onnx", (int)getpid());
    assert_ok(sc_file_map(GRAPHS "large_constant/model.onnx", &whole));
    assert_ok(sc_file_write(changing, whole.data, whole.bytes));
    sc_file_release(&whole);
    expect_no_session(&c, SC_IO, "has 0 bytes, and had");
    assert_int_equal(unlink(changing), 0);
}

static void overrides_of_what_has_no_default_are_refused(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 2, .path = GRAPHS "defaults", .options = {.override = "k,x"}};
    expect_no_session(&c, SC_BAD_USAGE, "option 'override': the model has no input 'x' with a default");
}

static void ranks_with_different_models_say_so(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 3, .path = GRAPHS "skipping"};
    c.paths[2] = GRAPHS "in_place";
    expect_no_session(&c, SC_BAD_MODEL, "fingerprint");
}

static void count_ticks(void *arg, int64_t done_bytes, int64_t all_bytes)
{
    int *n = arg;
    assert_true(done_bytes >= 0 && done_bytes <= all_bytes);
    n[all_bytes > 0]++;
}

static void a_watcher_hears_of_loading_and_of_waiting(void **state)
{
    (void)state;
    int n[2] = {0};
    struct session_case c = {.n_ranks = 1,
        .path = SC_SOURCE_DIR "/examples/embed/model.onnx",
        .options = {.show_tick = count_ticks, .show_arg = n, .n_threads = 1}};
    assert_ok(session_open(&c));
    assert_true(n[1] > 0);
    const int before = n[0];
    for (int64_t end = sc_clock_ns() + 500000000, idle = 0; sc_clock_ns() < end; idle++) {
        sc_session_pause(c.ranks[0].session, idle);
    }
    assert_in_range(n[0] - before, 1, 6); /* ten times a second at most */
    session_close(&c);
}

static void vary_seed(int rank, struct sc_session_options *options)
{
    options->seed = (uint64_t)rank;
}

static void vary_slots(int rank, struct sc_session_options *options)
{
    options->n_slots = 1 + rank / 2;
}

static void ranks_with_different_options_say_so(void **state)
{
    (void)state;
    struct session_case seed = {.n_ranks = 2, .path = GRAPHS "skipping", .vary = vary_seed};
    struct session_case slots = {.n_ranks = 3, .path = GRAPHS "skipping", .vary = vary_slots};
    expect_no_session(&seed, SC_BAD_USAGE, "--seed is 1 on this rank, 0 on rank 0");
    expect_no_session(&slots, SC_BAD_USAGE, "slots is 2 on this rank, 1 on rank 0");
}

static void a_plan_that_is_wrong_fails_on_all(void **state)
{
    (void)state;
    char plan[64];
    session_write_plan("{\"format\": 1, \"stages\": [{\"ranks\": [0], \"nodes\": [\"a\"]}]}", plan, sizeof plan);
    struct session_case c = {.n_ranks = 2, .path = GRAPHS "failing", .options = {.plan_path = plan}};
    expect_no_session(&c, SC_BAD_INPUT, plan);
    assert_int_equal(unlink(plan), 0);
}

static void a_report_counts_steps_messages_and_time(void **state)
{
    (void)state;
    struct session_case c = {.n_ranks = 1, .path = GRAPHS "failing", .options = {.n_stages = 1}};
    struct sc_rank_report report;
    struct sc_stage_report stage;
    assert_ok(session_open(&c));
    expect_answers(&c, "failing");
    assert_ok(sc_session_finish(c.ranks[0].session));
    assert_ok(sc_session_report(c.ranks[0].session, &report));
    assert_int_equal(report.n_steps, 6);
    assert_int_equal(report.n_threads, 1);
    assert_int_equal(report.sent_messages, 2); /* in, out */
    assert_true(report.busy_ns > 0 && report.frame_bytes > 0 && report.host[0]);
    assert_ok(sc_session_report_stages(c.ranks[0].session, &stage));
    assert_int_equal(stage.n_microbatches, report.n_microbatches);
    assert_int_equal(stage.busy_ns, report.busy_ns); /* the rank has no other stage */
    session_abandon(&c);
}

/* What a delivered microbatch took on its slowest stage lies between what any stage did for it and what all did. */
static void a_result_says_how_long_its_slowest_stage_took(void **state)
{
    (void)state;
    for (int n_stages = 1; n_stages <= 3; n_stages++) {
        struct session_case c = {.n_ranks = 1, .path = GRAPHS "failing", .options = {.n_stages = n_stages}};
        struct graph_case good = {.name = "failing"};
        const struct sc_value *outputs[GRAPH_PORTS];
        struct sc_stage_report stages[3];
        struct sc_microbatch microbatch = {.n_rows = 0};
        int64_t sum_ns = 0, all_ns = 0, most_ns = 0;
        assert_ok(session_open(&c));
        struct sc_session *session = c.ranks[0].session;
        good.model = c.ranks[0].model;
        graph_read(&good, 0);
        for (int i = 0; i < 5; i++) {
            assert_ok(sc_session_submit(session, &microbatch, good.feeds));
            assert_ok(sc_session_next(session, outputs));
            sum_ns += sc_session_slowest_ns(session);
        }
        sc_arena_release(&good.arena);
        assert_ok(sc_session_finish(session));
        assert_ok(sc_session_report_stages(session, stages));
        for (int s = 0; s < n_stages; s++) {
            all_ns += stages[s].busy_ns;
            most_ns = stages[s].busy_ns > most_ns ? stages[s].busy_ns : most_ns;
        }
        assert_in_range(sum_ns, most_ns, n_stages == 1 ? most_ns : all_ns - 1);
        session_abandon(&c);
    }
}

static void a_result_is_seen_before_the_next_microbatch_runs(void **state)
{
    (void)state;
    struct session_case c = {
        .n_ranks = 1, .path = SC_SOURCE_DIR "/examples/embed/model.onnx", .options = {.n_stages = 1, .n_threads = 1}};
    const struct sc_value *outputs[GRAPH_PORTS];
    int64_t read_bytes[2];
    assert_ok(session_open(&c));
    struct sc_session *session = c.ranks[0].session;
    float x[3] = {1, 2, 3};
    int64_t pick[1] = {0};
    struct sc_value values[2] = {{.kind = SC_KIND_TENSOR}, {.kind = SC_KIND_TENSOR}};
    const struct sc_value *const inputs[2] = {&values[0], &values[1]};
    sc_tensor_init(&values[0].u.tensor, SC_F32, 2, (const int64_t[]){1, 3});
    sc_tensor_init(&values[1].u.tensor, SC_I64, 1, (const int64_t[]){1});
    values[0].u.tensor.data = x;
    values[1].u.tensor.data = pick;
    for (int i = 0; i < 2; i++) {
        struct sc_microbatch microbatch = {.n_rows = 0};
        assert_ok(sc_session_submit(session, &microbatch, inputs));
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(sc_session_next(session, outputs));
        read_bytes[i] = sc_session_read_weight_bytes(session);
    }
    assert_true(read_bytes[0] > 0);
    assert_int_equal(read_bytes[1], 2 * read_bytes[0]);
    session_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_the_same_on_every_cut),
        cmocka_unit_test(defaults_that_nobody_gives_are_constants),
        cmocka_unit_test(what_rank_0_gives_is_an_input_on_every_rank),
        cmocka_unit_test(a_mode_of_rank_0_cuts_the_branch_that_it_takes),
        cmocka_unit_test(overrides_of_what_has_no_default_are_refused),
        cmocka_unit_test(a_model_that_changes_before_it_is_used_is_refused),
        cmocka_unit_test(a_failing_microbatch_comes_out_in_its_turn),
        cmocka_unit_test(two_failures_in_one_microbatch_are_one_error),
        cmocka_unit_test(inputs_are_checked_before_anything_is_sent),
        cmocka_unit_test(as_many_rows_as_a_header_holds_are_taken),
        cmocka_unit_test(outputs_may_be_inputs_initializers_and_listed_twice),
        cmocka_unit_test(a_watcher_hears_of_loading_and_of_waiting),
        cmocka_unit_test(ranks_with_different_models_say_so),
        cmocka_unit_test(ranks_with_different_options_say_so),
        cmocka_unit_test(a_plan_that_is_wrong_fails_on_all),
        cmocka_unit_test(a_report_counts_steps_messages_and_time),
        cmocka_unit_test(a_result_says_how_long_its_slowest_stage_took),
        cmocka_unit_test(a_result_is_seen_before_the_next_microbatch_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
