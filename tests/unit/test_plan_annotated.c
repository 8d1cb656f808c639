/* SPDX-License-Identifier: Apache-2.0
 * Claims about plans that a model file brings along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "partitioner/plan.h"
#include "plan_fixture.h"

static struct fixture_model f;

static enum sc_status read_stages(int *stages, int n_ranks, struct sc_plan **plan)
{
    static char path[] = "m.onnx";
    static int file_nodes[] = {0, 1, 2, 3};
    static const char *names[] = {"a", "b", "c", "d"};
    fixture_model(&f, "a = Foo x;b = Foo a;c = Foo b;d = Foo c");
    f.model.graph = &f.graph;
    f.model.path = path;
    f.model.n_file_nodes = f.model.n_units = 4;
    f.model.file_node_stages = stages;
    f.model.unit_file_nodes = file_nodes;
    f.model.unit_names = names;
    return sc_plan_annotated(&f.model, n_ranks, plan);
}

static void stage_k_runs_on_rank_k(void **state)
{
    (void)state;
    int stages[] = {0, 1, 1, 2};
    struct sc_plan *plan;
    assert_int_equal(read_stages(stages, 3, &plan), SC_OK);
    assert_int_equal(plan->n_stages, 3);
    assert_memory_equal(plan->stage_of, stages, sizeof stages);
    for (int s = 0; s < 3; s++) {
        assert_int_equal(plan->stages[s].ranks[0], s);
        assert_int_equal(plan->stages[s].n_nodes, s == 1 ? 2 : 1);
    }
    sc_plan_free(plan);
}

static void fewer_ranks_take_runs_of_stages(void **state)
{
    (void)state;
    int stages[] = {0, 1, 2, 3};
    struct sc_plan *plan;
    assert_int_equal(read_stages(stages, 2, &plan), SC_OK);
    for (int s = 0; s < 4; s++) {
        assert_int_equal(plan->stages[s].ranks[0], s / 2);
    }
    sc_plan_free(plan);
}

static void refused(int a, int b, int c, int d, const char *words)
{
    int stages[] = {a, b, c, d};
    struct sc_plan *plan = NULL;
    assert_int_equal(read_stages(stages, 4, &plan), SC_BAD_INPUT);
    assert_null(plan);
    assert_non_null(strstr(sc_error_last()->text, words));
    assert_non_null(strstr(sc_error_last()->text, "m.onnx"));
}

static void annotations_that_make_no_plan_are_refused(void **state)
{
    (void)state;
    refused(0, 0, 2, 2, "pipeline_stage 1 of its nodes is none of any node, but larger ones are");
    refused(0, 1, 2, 1 << 30, "pipeline_stage 1073741824 of its nodes is larger than there are nodes");
    refused(0, 1, 0, 1, "'a'"); /* a cycle */
    refused(0, 0, -1, 1, "'c'"); /* in no stage */
}

/* The call is unit 3, which became units 4 and 5. */
static void what_a_node_became_has_its_stage(void **state)
{
    (void)state;
    int stages[] = {0, 1, 1, 2}, file_nodes[] = {0, 1, 2, 3, 3, 3}, want[] = {0, 1, 1, -1, 2, 2}, d[] = {4}, e[] = {5};
    const char *names[] = {"a", "b", "c", NULL, "d", "e"};
    struct sc_plan *plan;
    fixture_model(&f, "a = Foo x;b = Foo a;c = Foo b;d = Foo c;e = Foo d");
    static char path[] = "m.onnx";
    f.model.graph = &f.graph;
    f.model.path = path;
    f.model.n_file_nodes = 4;
    f.model.n_units = 6;
    f.model.file_node_stages = stages;
    f.model.unit_file_nodes = file_nodes;
    f.model.unit_names = names;
    f.graph.nodes[3].origins = d;
    f.graph.nodes[4].origins = e;
    assert_int_equal(sc_plan_annotated(&f.model, 3, &plan), SC_OK);
    assert_memory_equal(plan->stage_of, want, sizeof want);
    assert_int_equal(plan->stages[2].n_nodes, 2);
    sc_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stage_k_runs_on_rank_k),
        cmocka_unit_test(fewer_ranks_take_runs_of_stages),
        cmocka_unit_test(annotations_that_make_no_plan_are_refused),
        cmocka_unit_test(what_a_node_became_has_its_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
