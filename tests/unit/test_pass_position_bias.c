/* SPDX-License-Identifier: Apache-2.0
 * Claims about RelativePositionBias: it is T5's rule, and what it cannot be is said. */
#include "graph_case.h"

static void biases_are_as_the_rule_says_both_ways(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "position_biases");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    for (int n = 0; n < c.model->graph->n_nodes; n++) {
        assert_string_equal(c.model->graph->nodes[n].domain, "");
    }
    assert_ok(sc_passes_run(c.model, c.kernels));
    graph_compile(&c, NULL);
    assert_int_equal(graph_n_sets(&c), 2);
    graph_run_and_expect_all(&c);
    graph_close(&c);
}

static void buckets_that_no_distance_reaches_are_refused(void **state)
{
    (void)state;
    struct graph_case c;
    graph_open(&c, "position_biases");
    for (int n = 0; n < c.model->graph->n_nodes; n++) {
        struct sc_node *node = &c.model->graph->nodes[n];
        for (int a = 0; a < node->n_attributes; a++) {
            if (strcmp(node->attributes[a].name, "max_distance") == 0) {
                node->attributes[a].u.i = 6;
            }
        }
    }
    assert_int_equal(sc_passes_rewrite(c.model, NULL), SC_BAD_MODEL);
    assert_non_null(strstr(sc_error_last()->text, "has 12 buckets to a side and max_distance 6, want at least 2"));
    graph_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(biases_are_as_the_rule_says_both_ways),
        cmocka_unit_test(buckets_that_no_distance_reaches_are_refused)};
    return cmocka_run_group_tests_name("pass_position_bias", tests, NULL, NULL);
}
