/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "partitioner/plan.h"
#include "partitioner/reads.h"
#include "plan_fixture.h"

static struct sc_plan plan_of(int n_stages, int n_nodes, int *stage_of)
{
    return (struct sc_plan){.n_stages = n_stages, .n_nodes = n_nodes, .stage_of = stage_of};
}

/* "-1>0:x 0>1:a,b" into text. */
static enum sc_status edges_text(
    const struct fixture_model *f, const struct sc_plan *plan, const bool *is_state, char *text, size_t bytes)
{
    struct sc_arena arena = {0};
    struct sc_plan_edge *edges = NULL;
    int n = 0;
    const enum sc_status status = sc_plan_edges(plan, &f->graph, is_state, &arena, &n, &edges);
    text[0] = '\0';
    for (int e = 0; e < n && status == SC_OK; e++) {
        size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%d>%d:", e ? " " : "", edges[e].from, edges[e].to);
        for (int v = 0; v < edges[e].n_values; v++) {
            used = strlen(text);
            snprintf(text + used, bytes - used, "%s%s", v ? "," : "", f->values[edges[e].values[v]].name);
        }
    }
    sc_arena_release(&arena);
    return status;
}

static void values_cross_once_per_pair_of_stages(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a a2 = Split x w1;b = Relu a;c = Add a a2;d = Add c a w1;e = Add d x");
    int stage_of[] = {0, 0, 1, 1, 2};
    const struct sc_plan plan = plan_of(3, 5, stage_of);
    char text[256];
    assert_int_equal(edges_text(&f, &plan, NULL, text, sizeof text), SC_OK);
    assert_string_equal(text, "-1>0:x -1>2:x 0>-1:b 0>1:a,a2 1>2:d 2>-1:e");
}

static void state_values_are_left_out(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu x;present y = Attention a past;z = Relu y");
    int stage_of[] = {0, 1, 2};
    const struct sc_plan plan = plan_of(3, 3, stage_of);
    bool is_state[FIXTURE_VALUES] = {0};
    char text[256];
    is_state[fixture_value(&f, "past")] = is_state[fixture_value(&f, "present")] = true;
    assert_int_equal(edges_text(&f, &plan, is_state, text, sizeof text), SC_OK);
    assert_string_equal(text, "-1>0:x 0>1:a 1>2:y 2>-1:z");
}

static void state_read_away_from_home_is_refused(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "present = Concat past x;y = MatMul present x");
    int stage_of[] = {0, 1};
    const struct sc_plan plan = plan_of(2, 2, stage_of);
    bool is_state[FIXTURE_VALUES] = {0};
    char text[256];
    is_state[fixture_value(&f, "past")] = is_state[fixture_value(&f, "present")] = true;
    assert_int_equal(edges_text(&f, &plan, is_state, text, sizeof text), SC_BAD_INPUT);
    assert_string_equal(
        sc_error_last()->text, "state 'present' is made in stage 0 of the plan and read in stage 1: want one stage");
}

static void stage_without_inputs_is_told_to_run(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu w1;b = Add a x");
    int stage_of[] = {0, 1};
    const struct sc_plan plan = plan_of(2, 2, stage_of);
    char text[256];
    assert_int_equal(edges_text(&f, &plan, NULL, text, sizeof text), SC_OK);
    assert_string_equal(text, "-1>0: -1>1:x 0>1:a 1>-1:b");
}

static void inputs_with_a_default_come_from_the_caller(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu x;b = Add a y");
    f.values[fixture_value(&f, "y")].weight = 0; /* those that nobody gives are initializers by then */
    int stage_of[] = {0, 1};
    const struct sc_plan plan = plan_of(2, 2, stage_of);
    char text[256];
    assert_int_equal(edges_text(&f, &plan, NULL, text, sizeof text), SC_OK);
    assert_string_equal(text, "-1>0:x -1>1:y 0>1:a 1>-1:b");
}

static void outputs_that_no_node_makes_come_from_stage_0(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu x;b = Add a w1");
    f.outputs[f.graph.n_outputs++] = fixture_value(&f, "x");
    f.outputs[f.graph.n_outputs++] = fixture_value(&f, "w1");
    int stage_of[] = {0, 1};
    const struct sc_plan plan = plan_of(2, 2, stage_of);
    char text[256];
    assert_int_equal(edges_text(&f, &plan, NULL, text, sizeof text), SC_OK);
    assert_string_equal(text, "-1>0:x 0>-1:x,w1 0>1:a 1>-1:b");
}

/* If reads a condition; its branch captures b, and a body inside it captures a through it. */
static void captured_values_are_read_at_any_depth(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu x;b = Relu x;c = Relu x;d = If c;e = Add d b");
    struct sc_graph_value inner_values[] = {
        {.name = "a", .place = SC_PLACE_OUTER, .outer = 1}, {.name = "t", .place = SC_PLACE_NODE, .outer = -1}};
    struct sc_graph inner = {.n_values = 2, .values = inner_values};
    struct sc_attribute loop = {.name = "body", .type = SC_ATTRIBUTE_GRAPH, .n = 1, .u.graph = &inner};
    struct sc_node body_node = {.op = "Loop", .n_attributes = 1, .attributes = &loop};
    struct sc_graph_value body_values[] = {{.name = "b", .place = SC_PLACE_OUTER, .outer = fixture_value(&f, "b")},
        {.name = "a", .place = SC_PLACE_OUTER, .outer = fixture_value(&f, "a")}};
    struct sc_graph body = {.n_values = 2, .values = body_values, .n_nodes = 1, .nodes = &body_node, .outer = &f.graph};
    inner.outer = &body;
    struct sc_attribute branch = {.name = "then_branch", .type = SC_ATTRIBUTE_GRAPH, .n = 1, .u.graph = &body};
    f.nodes[3].attributes = &branch;
    f.nodes[3].n_attributes = 1;
    struct sc_arena arena = {0};
    int n = 0, *values = NULL;
    assert_int_equal(sc_node_reads(&f.graph, &f.nodes[3], &arena, &n, &values), SC_OK);
    assert_int_equal(n, 3);
    assert_string_equal(f.values[values[0]].name, "a");
    assert_string_equal(f.values[values[1]].name, "b");
    assert_string_equal(f.values[values[2]].name, "c");
    int stage_of[] = {0, 0, 1, 2, 2};
    const struct sc_plan plan = plan_of(3, 5, stage_of);
    char text[256];
    assert_int_equal(edges_text(&f, &plan, NULL, text, sizeof text), SC_OK);
    assert_string_equal(text, "-1>0:x -1>1:x 0>-1:a 0>2:a,b 1>2:c 2>-1:e");
    sc_arena_release(&arena);
}

static void node_without_a_stage_is_named(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu x;b = Relu a");
    int stage_of[] = {0, -1};
    const struct sc_plan plan = plan_of(1, 2, stage_of);
    char text[256];
    assert_int_equal(edges_text(&f, &plan, NULL, text, sizeof text), SC_BAD_INPUT);
    assert_non_null(strstr(sc_error_last()->text, "'b'"));
}

static void fused_node_is_where_its_last_origin_is(void **state)
{
    (void)state;
    static struct fixture_model f;
    fixture_model(&f, "a = Relu x;b = Relu a;c = Relu b");
    int origins[] = {0, 1}, stage_of[] = {0, 1, 1};
    f.nodes[0].dead = true;
    f.nodes[1].origins = origins;
    f.nodes[1].n_origins = 2;
    f.nodes[1].in[0] = fixture_value(&f, "x");
    const struct sc_plan plan = plan_of(2, 3, stage_of);
    assert_int_equal(sc_plan_stage_of(&plan, &f.nodes[1]), 1);
    f.nodes[1].n_origins = 0;
    assert_int_equal(sc_plan_stage_of(&plan, &f.nodes[1]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_cross_once_per_pair_of_stages),
        cmocka_unit_test(state_values_are_left_out),
        cmocka_unit_test(state_read_away_from_home_is_refused),
        cmocka_unit_test(stage_without_inputs_is_told_to_run),
        cmocka_unit_test(inputs_with_a_default_come_from_the_caller),
        cmocka_unit_test(outputs_that_no_node_makes_come_from_stage_0),
        cmocka_unit_test(captured_values_are_read_at_any_depth),
        cmocka_unit_test(node_without_a_stage_is_named),
        cmocka_unit_test(fused_node_is_where_its_last_origin_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
