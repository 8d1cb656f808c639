/* SPDX-License-Identifier: Apache-2.0
 * Claims about positions that a graph counts: they are an input's where that is promised to be the same. */
#include "decode/rewrite.h"
#include "passes/passes.h"
#include "union_case.h"

static int n_readers(const struct sc_graph *graph, const char *name, const char *op)
{
    const int value = sc_graph_find(graph, name);
    int n = 0;
    assert_true(value >= 0);
    for (int m = 0; m < graph->n_nodes; m++) {
        const struct sc_node *node = &graph->nodes[m];
        for (int i = 0; i < node->n_in && !node->dead; i++) {
            n += node->in[i] == value && (!op || strcmp(node->op, op) == 0);
        }
    }
    return n;
}

/* By way of Range, Unsqueeze, and of Expand and Tile; what is added to them, or looked up with them, stays. */
static void counted_positions_are_the_input(void **state)
{
    static const char *const families[] = {"bart_optimum17", "whisper_optimum14"}, *const readers[] = {"Add", "Gather"};
    (void)state;
    for (int f = 0; f < 2; f++) {
        struct union_case c;
        struct sc_state_pair *pairs;
        int n;
        union_open(&c, families[f]);
        assert_ok(sc_decode_rewrite(c.model, NULL, &n, &pairs));
        assert_int_equal(n_readers(c.model->graph, SC_UNION_POSITIONS, readers[f]), 1);
        assert_int_equal(n_readers(c.model->graph, SC_UNION_POSITIONS, NULL), 1);
        assert_int_equal(n_readers(c.model->graph, SC_UNION_LENGTH, NULL), 0);
        union_close(&c);
    }
}

/* Nothing is promised of inputs: the past may be anything. */
static void without_a_promise_they_are_counted(void **state)
{
    struct union_case c;
    (void)state;
    union_open(&c, "bart_optimum17");
    assert_ok(sc_passes_rewrite(c.model, NULL));
    assert_int_equal(n_readers(c.model->graph, SC_UNION_POSITIONS, NULL), 0);
    union_close(&c);
}

/* An input that is promised to be no positions, and one of another type, take no other value's place. */
static void another_input_does_not_take_their_place(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct union_case c;
        union_open(&c, "bart_optimum17");
        struct sc_graph *graph = c.model->graph;
        struct sc_pass_input inputs[2] = {{.next = -1,
                                              .rank = 2,
                                              .dims = {{.constant = 1}, {.symbol[SC_PASS_NEW] = 1}},
                                              .content = SC_PASS_POSITIONS},
            {.next = -1, .rank = 2, .dims = {{.constant = 0}, {.symbol[SC_PASS_NEW] = 1}}}};
        inputs[0].value = sc_graph_find(graph, SC_UNION_POSITIONS);
        inputs[1].value = sc_graph_find(graph, "input_ids");
        inputs[1].dims[0].constant = 1;
        inputs[0].content = way == 1 ? SC_PASS_ANYTHING : SC_PASS_POSITIONS;
        graph->values[inputs[0].value].fact.type = way == 2 ? SC_I32 : SC_I64;
        const struct sc_pass_options options = {.n_inputs = 2, .inputs = inputs};
        assert_ok(sc_pass_positions(c.model, &options));
        assert_int_equal(n_readers(graph, SC_UNION_POSITIONS, NULL), 0); /* nor that: of the past nothing is said */
        union_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counted_positions_are_the_input),
        cmocka_unit_test(without_a_promise_they_are_counted),
        cmocka_unit_test(another_input_does_not_take_their_place)};
    return cmocka_run_group_tests_name("positions", tests, NULL, NULL);
}
