/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "partitioner/report.h"
#include "plan_fixture.h"

static void bytes_are_put_in_the_unit_that_reads_best(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {{0, "-"}, {1, "1 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {1536, "1.5 KiB"}, {1048575, "1.0 MiB"},
        {12897484, "12.3 MiB"}, {1LL << 30, "1.0 GiB"}, {3LL << 39, "1.5 TiB"}};
    char text[24];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(sc_bytes_text(cases[i].bytes, text, sizeof text), cases[i].text);
    }
}

static void seconds_have_three_digits(void **state)
{
    (void)state;
    char text[24];
    assert_string_equal(sc_seconds_text(0, text, sizeof text), "0 us");
    assert_string_equal(sc_seconds_text(1.234e-6, text, sizeof text), "1.23 us");
    assert_string_equal(sc_seconds_text(999.7e-6, text, sizeof text), "1 ms");
    assert_string_equal(sc_seconds_text(0.0456, text, sizeof text), "45.6 ms");
    assert_string_equal(sc_seconds_text(12.3, text, sizeof text), "12.3 s");
}

static void table_shows_stages_edges_and_gap(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x;b = Foo a w1;c = Foo b a;d = Foo c x");
    int ranks[] = {0, 4}, stage_of[] = {0, 0, 1, 1};
    struct sc_plan_stage stages[] = {
        {1, &ranks[0], 0.002, 0, 40, 1024, 80, 0, 2}, {1, &ranks[1], 0.001, 0, 0, 0, 120, 1 << 20, 2}};
    const struct sc_plan plan = {.n_stages = 2,
        .stages = stages,
        .n_nodes = 4,
        .stage_of = stage_of,
        .bound_seconds = 0.0016,
        .note = "2 stages instead of 3"};
    struct sc_fact facts[FIXTURE_VALUES];
    struct sc_arena arena = {0};
    const char *text = NULL;
    for (int v = 0; v < f.graph.n_values; v++) {
        facts[v] = f.values[v].fact;
    }
    assert_int_equal(sc_plan_table(&plan, &f.model, &f.graph, facts, NULL, &arena, &text), SC_OK);
    assert_string_equal(text,
        "model: 4 nodes in 2 stages, for throughput\n"
        "\n"
        "stage  rank  nodes    weights     packed   activat.      state      time\n"
        "    0     0      2       40 B    1.0 KiB       80 B          -      2 ms  ################ 100 %\n"
        "    1     4      2          -          -      120 B    1.0 MiB      1 ms  ########........  50 %\n"
        "total            4       40 B    1.0 KiB      200 B    1.0 MiB      3 ms\n"
        "\n"
        "    from         to  values      bytes  names\n"
        "   input ->       0       1       40 B  x\n"
        "   input ->       1       1       40 B  x\n"
        "       0 ->       1       2       80 B  a, b\n"
        "       1 ->  output       1       40 B  d\n"
        "\n"
        "slowest stage 2 ms, no plan can be under 1.6 ms: gap 25.0 %; 500 microbatches/s\n"
        "note: 2 stages instead of 3\n");
    sc_arena_release(&arena);
}

/* Two stages that take 1 ms and 3 ms for a step, 20 ms and 10 ms for a chunk. */
static void a_decoders_table_tells_steps_from_chunks(void **state)
{
    (void)state;
    static struct fixture_model f;
    static const char *const ends[] = {
        "    0     0      1          -          -          -          -      1 ms     20 ms  ########## 100 %\n"
        "    1     1      1          -          -          -          -      3 ms     10 ms  ######....  62 %\n"
        "total            2          -          -          -          -      4 ms     30 ms\n",
        "\nslowest stage 21 ms for a step and a chunk, no plan can be under 20 ms: gap 5.0 %\n333.3 steps/s, or 50 "
        "chunks/s\n",
        "\nslowest stage 3 ms for a step, no plan can be under 20 ms: gap 0.0 %\n333.3 steps/s, or 50 chunks/s\n",
        "\nslowest stage 20 ms for a chunk, no plan can be under 20 ms: gap 0.0 %\n333.3 steps/s, or 50 chunks/s\n"};
    fixture_model(&f, "a = Foo x;b = Foo a");
    int ranks[] = {0, 1}, stage_of[] = {0, 1};
    struct sc_plan_stage stages[] = {
        {.n_ranks = 1, .ranks = &ranks[0], .seconds = 0.001, .chunk_seconds = 0.02, .n_nodes = 1},
        {.n_ranks = 1, .ranks = &ranks[1], .seconds = 0.003, .chunk_seconds = 0.01, .n_nodes = 1}};
    for (int aim = SC_PLAN_FOR_BOTH; aim <= SC_PLAN_FOR_PROMPTS; aim++) {
        const struct sc_plan plan = {.n_stages = 2,
            .stages = stages,
            .n_nodes = 2,
            .stage_of = stage_of,
            .aim = (enum sc_plan_aim)aim,
            .bound_seconds = 0.02};
        struct sc_arena arena = {0};
        const char *text = NULL;
        assert_int_equal(sc_plan_table(&plan, &f.model, &f.graph, NULL, NULL, &arena, &text), SC_OK);
        assert_non_null(strstr(text, "      state    a step   a chunk\n"));
        if (aim == SC_PLAN_FOR_BOTH) {
            assert_non_null(strstr(text, ends[0]));
        }
        assert_non_null(strstr(text, ends[1 + aim]));
        sc_arena_release(&arena);
    }
    char time[64];
    assert_string_equal(sc_stage_time_text(&stages[0], time, sizeof time), "1 ms a step, 20 ms a chunk");
}

static void plan_without_a_stage_for_a_node_is_refused(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Foo x");
    int rank = 0, stage_of[] = {-1};
    struct sc_plan_stage stage = {.n_ranks = 1, .ranks = &rank};
    const struct sc_plan plan = {.n_stages = 1, .stages = &stage, .n_nodes = 1, .stage_of = stage_of};
    struct sc_arena arena = {0};
    const char *text = NULL;
    assert_int_equal(sc_plan_table(&plan, &f.model, &f.graph, NULL, NULL, &arena, &text), SC_BAD_INPUT);
    sc_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_put_in_the_unit_that_reads_best),
        cmocka_unit_test(seconds_have_three_digits),
        cmocka_unit_test(table_shows_stages_edges_and_gap),
        cmocka_unit_test(a_decoders_table_tells_steps_from_chunks),
        cmocka_unit_test(plan_without_a_stage_for_a_node_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
