/* SPDX-License-Identifier: Apache-2.0
 * Graphs and types that the schema forbids, each with its one line. */
#include "op_harness.h"

static void refuses(struct op_test *t, enum sc_status code, const char *text)
{
    assert_int_equal(sc_check_graph(&t->graph), code);
    assert_string_equal(sc_error_last()->text, text);
    op_close(t);
}

static void inputs(struct op_test *t, int n_in, int n_out)
{
    t->node.n_in = n_in;
    t->node.n_out = n_out;
    for (int i = 0; i < n_in; i++) {
        t->in_index[i] = i;
    }
    for (int o = 0; o < n_out; o++) {
        t->out_index[o] = OP_PORTS + o;
    }
}

static void a_good_node_passes(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Clip", 13);
    inputs(&t, 3, 1);
    t.in_index[1] = -1;
    assert_int_equal(sc_check_graph(&t.graph), SC_OK);
    op_close(&t);
}

static void counts_are_held_against_the_arity(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Add", 14);
    inputs(&t, 1, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Add): has 1 inputs, want 2");
    op_open(&t, "", "Clip", 13);
    inputs(&t, 4, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Clip): has 4 inputs, want 1 to 3");
    op_open(&t, "", "Sum", 13);
    inputs(&t, 0, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Sum): has 0 inputs, want at least 1");
    op_open(&t, "", "Add", 14);
    inputs(&t, 2, 2);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Add): has 2 outputs, want 1");
    op_open(&t, "", "Add", 14);
    inputs(&t, 2, 1);
    t.in_index[1] = -1;
    refuses(&t, SC_BAD_MODEL, "node 'n' (Add): input B is missing");
    op_open(&t, "", "Sum", 13);
    inputs(&t, 3, 1);
    t.in_index[2] = -1;
    refuses(&t, SC_BAD_MODEL, "node 'n' (Sum): input data_0 is missing");
}

static void attributes_are_held_against_the_schema(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Add", 14);
    op_int(&t, "axis", 1);
    inputs(&t, 2, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Add): has an attribute 'axis' that version 14 does not know");
    op_open(&t, "", "Softmax", 13);
    op_float(&t, "axis", 1);
    inputs(&t, 1, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Softmax): attribute 'axis' has type float, want int");
    op_open(&t, "", "Cast", 13);
    inputs(&t, 1, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Cast): attribute 'to' is missing");
}

static void operators_that_are_not_there_are_told_apart(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Addd", 14);
    inputs(&t, 2, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Addd): there is no such operator in ai.onnx");
    op_open(&t, "", "Gelu", 13);
    inputs(&t, 1, 1);
    refuses(&t, SC_BAD_MODEL, "node 'n' (Gelu): is not in version 13 of ai.onnx");
    op_open(&t, "org.example", "Add", 1);
    inputs(&t, 2, 1);
    refuses(&t, SC_UNSUPPORTED,
        "node 'n' (Add): no operator of org.example is supported, and the model has no function of this name there");
    op_open(&t, "com.microsoft", "Add", 1);
    inputs(&t, 2, 1);
    refuses(&t, SC_UNSUPPORTED,
        "node 'n' (Add): this operator of com.microsoft is not supported; 'stagecoach ops' lists those that are");
}

static void bodies_are_checked_too(void **state)
{
    (void)state;
    struct op_test outer, inner;
    op_open(&inner, "", "Neg", 13);
    inputs(&inner, 2, 1);
    inner.node.name = "in the body";
    op_open(&outer, "", "If", 13);
    inputs(&outer, 1, 1);
    op_attribute(&outer, "then_branch", SC_ATTRIBUTE_GRAPH, 1)->u.graph = &inner.graph;
    op_attribute(&outer, "else_branch", SC_ATTRIBUTE_GRAPH, 1)->u.graph = &inner.graph;
    assert_int_equal(sc_check_graph(&outer.graph), SC_BAD_MODEL);
    if (sc_op_find("", "If", 13)) {
        assert_string_equal(sc_error_last()->text, "node 'in the body' (Neg): has 2 inputs, want 1");
    }
    op_close(&outer);
    op_close(&inner);
}

static void endless_nesting_is_refused(void **state)
{
    (void)state;
    struct op_test t; /* a graph that is its own body cannot come from a file; one nested as deep can */
    if (!sc_op_find("", "If", 13)) {
        skip();
    }
    op_open(&t, "", "If", 13);
    inputs(&t, 1, 1);
    op_attribute(&t, "then_branch", SC_ATTRIBUTE_GRAPH, 1)->u.graph = &t.graph;
    op_attribute(&t, "else_branch", SC_ATTRIBUTE_GRAPH, 1)->u.graph = &t.graph;
    refuses(&t, SC_BAD_MODEL, "node 'n' (If): bodies are nested deeper than 128");
}

static enum sc_status check_types(struct op_test *t, int n, struct sc_fact *facts)
{
    const struct sc_fact *in[4];
    for (int i = 0; i < n; i++) {
        in[i] = facts[i].kind == SC_KIND_NONE ? NULL : &facts[i];
    }
    return sc_check_types(&t->graph, &t->node, n, in);
}

static void types_outside_the_constraint_are_refused(void **state)
{
    (void)state;
    struct op_test t;
    struct sc_fact facts[4] = {{.kind = SC_KIND_TENSOR, .type = SC_STRING}};
    op_open(&t, "", "Celu", 12);
    assert_int_equal(check_types(&t, 1, facts), SC_BAD_MODEL);
    assert_string_equal(sc_error_last()->text, "node 'n' (Celu): input X has type string, want one of float");
    op_close(&t);
    op_open(&t, "", "Relu", 13);
    facts[0] = (struct sc_fact){.kind = SC_KIND_SEQUENCE, .type = SC_F32};
    assert_int_equal(check_types(&t, 1, facts), SC_BAD_MODEL);
    assert_string_equal(sc_error_last()->text,
        "node 'n' (Relu): input X has type seq(tensor(float)), want one of float16,float,double,bfloat16");
    op_close(&t);
    op_open(&t, "", "Where", 16); /* the condition's type is no variable of its own */
    facts[0] = facts[1] = facts[2] = (struct sc_fact){.kind = SC_KIND_TENSOR, .type = SC_F32};
    assert_int_equal(check_types(&t, 3, facts), SC_BAD_MODEL);
    assert_string_equal(sc_error_last()->text, "node 'n' (Where): input condition has type float, want one of bool");
    op_close(&t);
}

static void inputs_of_one_variable_agree_and_unknown_ones_pass(void **state)
{
    (void)state;
    struct op_test t;
    struct sc_fact facts[4] = {
        {.kind = SC_KIND_TENSOR, .type = SC_F32}, {.kind = SC_KIND_TENSOR}, {.kind = SC_KIND_TENSOR, .type = SC_F64}};
    op_open(&t, "", "Sum", 13);
    assert_int_equal(check_types(&t, 3, facts), SC_BAD_MODEL);
    assert_string_equal(
        sc_error_last()->text, "node 'n' (Sum): input data_0 has type double, but data_0 has type float");
    facts[2].type = SC_F32;
    assert_int_equal(check_types(&t, 3, facts), SC_OK);
    op_close(&t);
    op_open(&t, "", "Pow", 15); /* two variables */
    facts[1].type = SC_I64;
    assert_int_equal(check_types(&t, 2, facts), SC_OK);
    op_close(&t);
    op_open(&t, "", "Loop", 13); /* a mixed variadic input */
    facts[0] = (struct sc_fact){.kind = SC_KIND_NONE};
    facts[1] = (struct sc_fact){.kind = SC_KIND_TENSOR, .type = SC_BOOL};
    facts[2] = (struct sc_fact){.kind = SC_KIND_TENSOR, .type = SC_F32};
    facts[3] = (struct sc_fact){.kind = SC_KIND_SEQUENCE, .type = SC_I64};
    assert_int_equal(check_types(&t, 4, facts), SC_OK);
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_node_passes),
        cmocka_unit_test(counts_are_held_against_the_arity),
        cmocka_unit_test(attributes_are_held_against_the_schema),
        cmocka_unit_test(operators_that_are_not_there_are_told_apart),
        cmocka_unit_test(bodies_are_checked_too),
        cmocka_unit_test(endless_nesting_is_refused),
        cmocka_unit_test(types_outside_the_constraint_are_refused),
        cmocka_unit_test(inputs_of_one_variable_agree_and_unknown_ones_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
