/* SPDX-License-Identifier: Apache-2.0
 * Claims about sequences, optionals and loops. A body is played by a function in place of a graph. */
#include "op_case.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

static void split_to_sequence_and_back(void **state)
{
    (void)state;
    struct op_case split, concat;
    op_open(&split, "", "SplitToSequence", 11, 1);
    op_in(&split, SC_F32, six, DIMS(5));
    op_in(&split, SC_I64, (int64_t[]){2}, 0, NULL);
    assert_int_equal(op_run(&split), SC_OK);
    assert_int_equal(split.out[0].kind, SC_KIND_SEQUENCE);
    assert_int_equal(split.out[0].u.sequence.n, 3);
    assert_int_equal(split.out[0].u.sequence.items[2].u.tensor.dims[0], 1);
    op_open(&concat, "", "ConcatFromSequence", 11, 1);
    op_int(&concat, "axis", 0);
    concat.in[concat.node.n_in++] = split.out[0];
    assert_int_equal(op_run(&concat), SC_OK);
    op_expect(&concat, 0, SC_F32, six, DIMS(5));
    op_close(&concat);
    op_close(&split);
}

static void stacking_tensors_of_other_dims_is_refused(void **state)
{
    (void)state;
    struct op_case made, c;
    op_open(&made, "", "SequenceConstruct", 11, 1);
    op_in(&made, SC_F32, six, DIMS(2));
    op_in(&made, SC_F32, six, DIMS(3));
    assert_int_equal(op_run(&made), SC_OK);
    op_open(&c, "", "ConcatFromSequence", 11, 1);
    op_int(&c, "axis", 0);
    op_int(&c, "new_axis", 1);
    c.in[c.node.n_in++] = made.out[0];
    op_expect_failure(&c, SC_BAD_INPUT, "cannot be joined");
    op_close(&c);
    op_close(&made);
}

static void positions_count_from_both_ends(void **state)
{
    (void)state;
    struct op_case made, c;
    op_open(&made, "", "SequenceConstruct", 11, 1);
    op_in(&made, SC_F32, six, DIMS(1));
    op_in(&made, SC_F32, six + 1, DIMS(1));
    assert_int_equal(op_run(&made), SC_OK);
    const struct sc_value sequence = made.out[0];
    op_open(&c, "", "SequenceAt", 11, 1);
    c.in[c.node.n_in++] = sequence;
    op_in(&c, SC_I64, (int64_t[]){-1}, 0, NULL);
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, six + 1, DIMS(1));
    op_close(&c);
    op_open(&c, "", "SequenceInsert", 11, 1);
    c.in[c.node.n_in++] = sequence;
    op_in(&c, SC_F32, six + 5, DIMS(1));
    op_in(&c, SC_I64, (int64_t[]){-2}, 0, NULL);
    assert_int_equal(op_run(&c), SC_OK);
    assert_int_equal(c.out[0].u.sequence.n, 3);
    assert_true(*(float *)c.out[0].u.sequence.items[0].u.tensor.data == 6.0F);
    op_close(&c);
    op_open(&c, "", "SequenceErase", 11, 1); /* the last one */
    c.in[c.node.n_in++] = sequence;
    assert_int_equal(op_run(&c), SC_OK);
    assert_int_equal(c.out[0].u.sequence.n, 1);
    op_close(&c);
    static const int64_t bad[] = {2, -3, INT64_MIN};
    for (int i = 0; i < 3; i++) {
        op_open(&c, "", "SequenceAt", 11, 1);
        c.in[c.node.n_in++] = sequence;
        op_in(&c, SC_I64, &bad[i], 0, NULL);
        op_expect_failure(&c, SC_BAD_INPUT, "outside of a sequence of 2");
        op_close(&c);
    }
    op_close(&made);
}

static void an_empty_sequence_has_length_zero_and_no_last_item(void **state)
{
    (void)state;
    struct op_case made, c;
    op_open(&made, "", "SequenceEmpty", 11, 1);
    op_int(&made, "dtype", SC_I64);
    assert_int_equal(op_run(&made), SC_OK);
    assert_int_equal(made.out[0].u.sequence.type, SC_I64);
    op_open(&c, "", "SequenceLength", 11, 1);
    c.in[c.node.n_in++] = made.out[0];
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I64, (int64_t[]){0}, 0, NULL);
    op_close(&c);
    op_open(&c, "", "SequenceErase", 11, 1);
    c.in[c.node.n_in++] = made.out[0];
    op_expect_failure(&c, SC_BAD_INPUT, "outside of a sequence of 0");
    op_close(&c);
    op_close(&made);
}

static void an_optional_knows_whether_it_holds_something(void **state)
{
    (void)state;
    struct op_case made, c;
    op_open(&made, "", "Optional", 15, 1);
    made.node.in = (int[]){0};
    op_in(&made, SC_F32, six, DIMS(2));
    assert_int_equal(op_run(&made), SC_OK);
    assert_int_equal(made.out[0].kind, SC_KIND_OPTIONAL);
    op_open(&c, "", "OptionalGetElement", 15, 1);
    c.in[c.node.n_in++] = made.out[0];
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, six, DIMS(2));
    op_close(&c);
    struct sc_value empty = made.out[0];
    empty.u.optional.item = NULL;
    op_open(&c, "", "OptionalHasElement", 15, 1);
    c.in[c.node.n_in++] = empty;
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_BOOL, (unsigned char[]){0}, 0, NULL);
    op_close(&c);
    op_open(&c, "", "OptionalGetElement", 15, 1);
    c.in[c.node.n_in++] = empty;
    op_expect_failure(&c, SC_BAD_INPUT, "holds nothing");
    op_close(&c);
    op_close(&made);
}

/* A body of Loop: condition stays, the carried number doubles, and is stacked. */
struct loop_case {
    struct sc_graph_value values[6];
    int inputs[3], outputs[3];
    struct sc_graph body;
    int calls, stop_after;
    bool undeclared; /* the body does not say what is stacked */
    struct sc_graph_value found[2]; /* of the outputs, by inference */
};

static enum sc_status doubling_body(
    const struct sc_call *call, const struct sc_graph *body, const struct sc_value *const *in, struct sc_value *out)
{
    struct loop_case *loop = call->exec;
    assert_ptr_equal(body, &loop->body);
    assert_int_equal(sc_index_at(&in[0]->u.tensor, 0), loop->calls);
    loop->calls++;
    for (int i = 0; i < 3; i++) {
        SC_TRY(sc_value_copy(call->arena, in[i == 0 ? 1 : 2], &out[i]));
    }
    *(unsigned char *)out[0].u.tensor.data = loop->calls != loop->stop_after;
    *(float *)out[1].u.tensor.data *= 2;
    return SC_OK;
}

static enum sc_status run_loop(struct loop_case *loop, struct op_case *c, const int64_t *trips)
{
    memset(loop->values, 0, sizeof(loop->values));
    for (int i = 0; i < 6; i++) {
        sc_fact_init(&loop->values[i].fact);
    }
    if (!loop->undeclared) {
        sc_fact_tensor(&loop->values[5].fact, SC_F32, 0, NULL);
    }
    for (int i = 0; i < 3; i++) {
        loop->inputs[i] = i;
        loop->outputs[i] = 3 + i;
    }
    loop->body = (struct sc_graph){.n_values = 6,
        .values = loop->values,
        .n_inputs = 3,
        .inputs = loop->inputs,
        .n_outputs = 3,
        .outputs = loop->outputs};
    loop->calls = 0;
    op_open(c, "", "Loop", 13, 2);
    sc_fact_tensor(&loop->found[1].fact, SC_I32, DIMS(0, 7)); /* of outputs */
    c->graph.values = loop->found;
    c->outs[1] = 1;
    op_attribute(c, "body", SC_ATTRIBUTE_GRAPH, 1)->u.graph = &loop->body;
    if (trips) {
        op_in(c, SC_I64, trips, 0, NULL);
    } else {
        op_in_absent(c);
    }
    op_in_absent(c);
    op_in(c, SC_F32, six, 0, NULL);
    void *params;
    SC_TRY(c->op->params(&c->graph, &c->node, &c->arena, &params));
    const struct sc_value *in[3] = {trips ? &c->in[0] : NULL, NULL, &c->in[2]};
    struct sc_value *out[2] = {&c->out[0], &c->out[1]};
    const struct sc_call call = {.graph = &c->graph,
        .node = &c->node,
        .op = c->op,
        .params = params,
        .n_in = 3,
        .n_out = 2,
        .in = in,
        .out = out,
        .arena = &c->arena,
        .call_body = doubling_body,
        .exec = loop};
    return c->op->exec(&call);
}

static void loop_carries_and_stacks(void **state)
{
    (void)state;
    struct loop_case loop = {.stop_after = -1};
    struct op_case c;
    const int64_t three = 3, zero = 0, negative = -1;
    assert_int_equal(run_loop(&loop, &c, &three), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){8}, 0, NULL);
    op_expect(&c, 1, SC_F32, (float[]){1, 2, 4}, DIMS(3));
    op_close(&c);
    assert_int_equal(run_loop(&loop, &c, &zero), SC_OK); /* what is stacked has no entries, but its rank */
    op_expect(&c, 0, SC_F32, six, 0, NULL);
    op_expect_dims(&c, 1, DIMS(0));
    op_close(&c);
    assert_int_equal(run_loop(&loop, &c, &negative), SC_OK);
    assert_int_equal(loop.calls, 0);
    op_close(&c);
    loop.stop_after = 5; /* no trip count: the condition ends it */
    assert_int_equal(run_loop(&loop, &c, NULL), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){32}, 0, NULL);
    op_close(&c);
}

/* As the function body of Range has it: the type follows from what is carried in. */
static void what_a_loop_stacks_has_its_type_also_without_iterations(void **state)
{
    (void)state;
    struct loop_case loop = {.stop_after = -1, .undeclared = true};
    struct op_case c;
    const int64_t zero = 0;
    assert_int_equal(run_loop(&loop, &c, &zero), SC_OK);
    op_expect(&c, 1, SC_I32, (int32_t[]){0}, DIMS(0, 7));
    op_close(&c);
}

static void a_loop_whose_body_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct op_case c;
    struct sc_graph body = {.n_inputs = 2, .n_outputs = 1};
    void *params;
    op_open(&c, "", "Loop", 13, 1);
    op_attribute(&c, "body", SC_ATTRIBUTE_GRAPH, 1)->u.graph = &body;
    c.node.n_in = 3;
    assert_int_equal(c.op->params(&c.graph, &c.node, &c.arena, &params), SC_BAD_MODEL);
    op_close(&c);
    op_open(&c, "", "If", 13, 1);
    assert_int_equal(c.op->params(&c.graph, &c.node, &c.arena, &params), SC_BAD_MODEL);
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_to_sequence_and_back),
        cmocka_unit_test(stacking_tensors_of_other_dims_is_refused),
        cmocka_unit_test(positions_count_from_both_ends),
        cmocka_unit_test(an_empty_sequence_has_length_zero_and_no_last_item),
        cmocka_unit_test(an_optional_knows_whether_it_holds_something),
        cmocka_unit_test(loop_carries_and_stacks),
        cmocka_unit_test(what_a_loop_stacks_has_its_type_also_without_iterations),
        cmocka_unit_test(a_loop_whose_body_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
