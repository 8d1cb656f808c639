/* SPDX-License-Identifier: Apache-2.0
 * Opening models: what comes out of good files, and what bad graphs are told. */
#include "model_case.h"

static void the_example_model_opens_as_described(void **state)
{
    (void)state;
    struct sc_model *model = NULL, *by_folder = NULL;
    assert_int_equal(sc_model_open(SC_SOURCE_DIR "/examples/shakespeare/model.onnx", &model), SC_OK);
    assert_int_equal(sc_model_open(SC_SOURCE_DIR "/examples/shakespeare", &by_folder), SC_OK);
    assert_true(model->fingerprint == by_folder->fingerprint);
    assert_int_equal(sc_model_opset(model, "ai.onnx"), sc_model_opset(model, ""));
    assert_true(sc_model_opset(model, "") >= 1);
    assert_int_equal(sc_model_opset(model, "no.such.domain"), 0);
    const struct sc_graph *graph = model->graph;
    assert_int_equal(model->n_file_nodes, graph->n_nodes);
    for (int i = 0; i < graph->n_nodes; i++) { /* in order, each in a place that its values agree with */
        assert_int_equal(graph->nodes[i].origins[0], i);
        for (int j = 0; j < graph->nodes[i].n_out; j++) {
            assert_int_equal(graph->values[graph->nodes[i].out[j]].producer, i);
        }
    }
    sc_model_close(model);
    sc_model_close(by_folder);
}

static void nodes_values_and_facts_come_from_the_file(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0};
    add_weight(&graph, "w");
    add_node(&graph, "Add", "x w", "t");
    add_node(&graph, "Clip", "t - w", "y");
    const struct bytes x = value_info("x", 1, 2, (const int64_t[]){-1, 2}, "batch");
    const struct bytes y = value_info("y", 1, 2, (const int64_t[]){-1, 2}, "batch");
    const struct bytes t = value_info("t", 1, 2, (const int64_t[]){-1, -1}, "other");
    put_message(&graph, 11, &x);
    put_message(&graph, 12, &y);
    put_message(&graph, 13, &t);
    const struct bytes b = model_of(&graph, 8, 17);
    struct sc_model *model = opened(&b);
    const struct sc_graph *g = model->graph;
    assert_int_equal(g->n_nodes, 2);
    assert_int_equal(g->nodes[1].n_in, 3);
    assert_int_equal(g->nodes[1].in[1], -1);
    assert_string_equal(g->nodes[1].domain, "");
    assert_int_equal(g->nodes[1].version, 17);
    assert_string_equal(model->unit_names[1], "y");
    assert_null(model->file_node_stages);
    const struct sc_fact *fx = &g->values[sc_graph_find(g, "x")].fact;
    const struct sc_fact *fy = &g->values[sc_graph_find(g, "y")].fact;
    const struct sc_fact *ft = &g->values[sc_graph_find(g, "t")].fact;
    assert_true(fx->dims[0] < -1 && fx->dims[0] == fy->dims[0] && fx->dims[0] != ft->dims[0]);
    assert_string_equal(model->symbols[-2 - fx->dims[0]], "batch");
    assert_int_equal(fx->dims[1], 2);
    assert_int_equal(ft->dims[1], SC_DIM_UNKNOWN);
    const struct sc_graph_value *w = &g->values[sc_graph_find(g, "w")];
    assert_int_equal(w->place, SC_PLACE_INITIALIZER);
    assert_memory_equal(w->fact.value->data, ((const float[]){1, 2}), 8);
    sc_model_close(model);
}

static void an_initializer_that_is_an_input_is_a_default(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0};
    add_weight(&graph, "x");
    add_node(&graph, "Neg", "x", "y");
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 8, 17);
    struct sc_model *model = opened(&b);
    const struct sc_graph_value *x = &model->graph->values[sc_graph_find(model->graph, "x")];
    assert_int_equal(x->place, SC_PLACE_INPUT);
    assert_int_equal(x->weight, 0);
    assert_null(x->fact.value); /* a caller may replace it */
    assert_int_equal(model->graph->n_inputs, 1);
    sc_model_close(model);
    const struct bytes old = model_of(&graph, 3, 8); /* where all initializers had to be inputs, it is a constant */
    model = opened(&old);
    assert_int_equal(model->graph->n_inputs, 0);
    assert_int_equal(model->graph->values[sc_graph_find(model->graph, "x")].place, SC_PLACE_INITIALIZER);
    sc_model_close(model);
}

static void a_default_is_what_its_input_declares(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0}, wrong = tensor_head("x", 1, 1, (const int64_t[]){3});
    put_bytes(&wrong, 9, (const float[]){1, 2, 3}, 12);
    put_message(&graph, 5, &wrong);
    add_node(&graph, "Neg", "x", "y");
    refused_graph(&graph, "input 'x' has the default float[3], but is declared float[2]");
    struct bytes typed = {.n = 0};
    wrong = tensor_head("x", 6, 1, (const int64_t[]){2});
    put_bytes(&wrong, 9, (const float[]){1, 2}, 8);
    put_message(&typed, 5, &wrong);
    add_node(&typed, "Neg", "x", "y");
    refused_graph(&typed, "input 'x' has the default int32[2], but is declared float[2]");
}

static void versions_outside_are_named(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0};
    add_node(&graph, "Neg", "x", "y");
    close_graph(&graph);
    struct bytes b = model_of(&graph, 2, 17);
    refused(&b, SC_UNSUPPORTED, "IR version 2");
    b = model_of(&graph, 15, 17);
    refused(&b, SC_UNSUPPORTED, "IR version 15");
    b = model_of(&graph, 8, 29);
    refused(&b, SC_UNSUPPORTED, "opset 29");
    b = model_of(&graph, 8, 0);
    refused(&b, SC_BAD_MODEL, "version 0");
    b = model_of(&graph, 14, 28);
    sc_model_close(opened(&b));
    b = model_of(&graph, 3, 1);
    sc_model_close(opened(&b));
}

static void files_of_other_kinds_are_refused(void **state)
{
    (void)state;
    struct bytes b = {.n = 0};
    refused(&b, SC_BAD_MODEL, "not an ONNX model");
    put(&b, "version https://git-lfs.github.com/spec/v1\noid", 46);
    refused(&b, SC_BAD_MODEL, "git lfs pull");
    struct bytes text = {.n = 0};
    put(&text, "hello, world, this is no model", 30);
    refused(&text, SC_BAD_MODEL, "m.onnx");
    struct sc_model *model;
    assert_int_equal(sc_model_open("/nonexistent/m.onnx", &model), SC_IO);
}

static void imports_are_asked_for(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0}, n = node("Foo", "x", "y");
    put_text(&n, 7, "my.domain");
    put_message(&graph, 1, &n);
    refused_graph(&graph, "does not import the domain 'my.domain'");
}

static void attributes_have_their_types(void **state)
{
    (void)state;
    struct bytes n = node("Foo", "x", "y"), i = {.n = 0}, s = {.n = 0}, ints = {.n = 0}, nul = {.n = 0};
    put_text(&i, 1, "i"), put_int(&i, 3, -7), put_int(&i, 20, 2);
    put_text(&s, 1, "s"), put_text(&s, 4, "text"), put_int(&s, 20, 3);
    put_text(&ints, 1, "ints"), put_packed(&ints, 8, 3, (const int64_t[]){1, -2, INT64_MAX}), put_int(&ints, 20, 7);
    put_text(&nul, 1, "nul"), put_bytes(&nul, 4, "a\0b", 3), put_int(&nul, 20, 3);
    put_message(&n, 5, &i), put_message(&n, 5, &s), put_message(&n, 5, &ints), put_message(&n, 5, &nul);
    struct bytes graph = {.n = 0};
    put_message(&graph, 1, &n);
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 8, 17);
    struct sc_model *model = opened(&b);
    const struct sc_node *node_ = &model->graph->nodes[0];
    int64_t value;
    const char *text;
    const int64_t *list;
    int count;
    assert_int_equal(sc_node_int(node_, "i", 0, &value), SC_OK);
    assert_int_equal(value, -7);
    assert_int_equal(sc_node_int(node_, "absent", 5, &value), SC_OK);
    assert_int_equal(value, 5);
    assert_int_equal(sc_node_int(node_, "s", 5, &value), SC_BAD_MODEL);
    assert_non_null(strstr(sc_error_last()->text, "'s'"));
    assert_int_equal(sc_node_text(node_, "s", NULL, &text), SC_OK);
    assert_string_equal(text, "text");
    assert_int_equal(sc_node_text(node_, "nul", NULL, &text), SC_BAD_MODEL);
    assert_int_equal(sc_node_ints(node_, "ints", &count, &list), SC_OK);
    assert_true(count == 3 && list[1] == -2 && list[2] == INT64_MAX);
    assert_int_equal(sc_node_ints(node_, "absent", &count, &list), SC_OK);
    assert_int_equal(count, -1);
    char name[64];
    assert_string_equal(sc_node_text_name(model->graph, node_, name, sizeof name), "node 'y' (Foo)");
    sc_model_close(model);
}

static void bad_attributes_are_refused(void **state)
{
    (void)state;
    static const struct {
        int type;
        const char *name, *ref, *why;
        enum sc_status code;
    } rows[] = {
        {4, "t", "", "no value of its type", SC_BAD_MODEL},
        {5, "g", "", "no value of its type", SC_BAD_MODEL},
        {99, "odd", "", "type 99", SC_UNSUPPORTED},
        {2, "", "", "no name", SC_BAD_MODEL},
        {2, "r", "outside", "is in none", SC_BAD_MODEL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bytes n = node("Foo", "x", "y"), attribute = {.n = 0}, graph = {.n = 0};
        put_text(&attribute, 1, rows[i].name);
        put_int(&attribute, 20, rows[i].type);
        put_text(&attribute, 21, rows[i].ref);
        put_message(&n, 5, &attribute);
        put_message(&graph, 1, &n);
        close_graph(&graph);
        const struct bytes b = model_of(&graph, 8, 17);
        refused(&b, rows[i].code, rows[i].why);
    }
    struct bytes n = node("Foo", "x", "y"), attribute = {.n = 0}, graph = {.n = 0};
    put_text(&attribute, 1, "twice");
    put_int(&attribute, 3, 1);
    put_message(&n, 5, &attribute);
    put_message(&n, 5, &attribute);
    put_message(&graph, 1, &n);
    refused_graph(&graph, "given twice");
}

/* A function `name` of domain "f" with body y = op(x), op being another function of that domain or Neg. */
static void add_function(struct bytes *model, const char *name, const char *calls)
{
    struct bytes f = {.n = 0}, n = node(calls ? calls : "Neg", "x", "y"), import = {.n = 0};
    put_text(&f, 1, name);
    put_text(&f, 4, "x");
    put_text(&f, 5, "y");
    put_text(&f, 10, "f");
    if (calls) {
        put_text(&n, 7, "f");
    }
    put_message(&f, 7, &n);
    put_text(&import, 1, "");
    put_int(&import, 2, 17);
    put_message(&f, 9, &import);
    put_message(model, 25, &f);
}

static struct bytes calling_model(const char *name)
{
    struct bytes graph = {.n = 0}, n = node(name, "x", "y");
    put_text(&n, 7, "f");
    put_message(&graph, 1, &n);
    close_graph(&graph);
    return model_of(&graph, 8, 17);
}

static void functions_are_found_by_the_nodes_that_call_them(void **state)
{
    (void)state;
    struct bytes b = calling_model("one");
    add_function(&b, "one", "two");
    add_function(&b, "two", NULL);
    struct sc_model *model = opened(&b);
    const struct sc_function *one = model->graph->nodes[0].function;
    assert_non_null(one);
    assert_string_equal(one->name, "one");
    assert_string_equal(one->domain, "f");
    assert_ptr_equal(one->body->nodes[0].function, &model->functions[1]);
    assert_null(model->functions[1].body->nodes[0].function);
    assert_int_equal(model->functions[1].body->n_inputs, 1);
    sc_model_close(model);
}

static void functions_that_call_themselves_are_refused(void **state)
{
    (void)state;
    struct bytes direct = calling_model("one"), ring = calling_model("one"), twice = calling_model("one");
    add_function(&direct, "one", "one");
    refused(&direct, SC_BAD_MODEL, "calls itself");
    add_function(&ring, "one", "two");
    add_function(&ring, "two", "three");
    add_function(&ring, "three", "one");
    refused(&ring, SC_BAD_MODEL, "calls itself");
    add_function(&twice, "one", NULL);
    add_function(&twice, "one", NULL);
    refused(&twice, SC_BAD_MODEL, "'one' is defined twice");
}

static void stages_that_the_file_asks_for_are_kept(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0}, n = node("Neg", "x", "t"), configuration = {.n = 0};
    put_text(&configuration, 1, "c");
    put_int(&configuration, 3, 1);
    put_message(&n, 10, &configuration);
    put_message(&graph, 1, &n);
    add_node(&graph, "Neg", "t", "y");
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 11, 17);
    struct sc_model *model = opened(&b);
    assert_int_equal(model->file_node_stages[0], 1);
    assert_int_equal(model->file_node_stages[1], -1);
    sc_model_close(model);
}

static void rank_bombs_and_overflowing_dims_are_refused(void **state)
{
    (void)state;
    int64_t dims[20] = {0};
    const int64_t wide[] = {INT64_MAX, INT64_MAX};
    struct bytes rank = {.n = 0}, product = {.n = 0};
    const struct bytes deep = value_info("d", 1, 20, dims, NULL), huge = value_info("h", 1, 2, wide, NULL);
    add_node(&rank, "Neg", "x", "y");
    product = rank;
    put_message(&rank, 11, &deep);
    close_graph(&rank);
    struct bytes b = model_of(&rank, 8, 17);
    refused(&b, SC_UNSUPPORTED, "rank 20");
    put_message(&product, 11, &huge);
    close_graph(&product);
    b = model_of(&product, 8, 17);
    refused(&b, SC_LIMIT, "2^46");
}

static void a_folder_means_its_model(void **state)
{
    (void)state;
    char where[64], path[128];
    make_folder(where, sizeof where);
    struct sc_model *model = NULL;
    assert_int_equal(sc_model_open(where, &model), SC_IO); /* nothing there: as a file that is missing */
    struct bytes graph = {.n = 0};
    add_node(&graph, "Neg", "x", "y");
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 8, 17);
    write_file(path, sizeof path, where, "a.onnx", &b);
    assert_int_equal(sc_model_open(where, &model), SC_OK);
    assert_non_null(strstr(model->path, "a.onnx"));
    sc_model_close(model);
    write_file(path, sizeof path, where, "b.onnx", &b);
    assert_int_equal(sc_model_open(where, &model), SC_BAD_MODEL); /* which of the two? */
    struct bytes config = {.n = 0};
    const char *json = "{\"model\": {\"decoder\": {\"filename\": \"b.onnx\"}}}";
    put(&config, json, strlen(json));
    write_file(path, sizeof path, where, "genai_config.json", &config);
    assert_int_equal(sc_model_open(where, &model), SC_OK);
    assert_non_null(strstr(model->path, "b.onnx"));
    sc_model_close(model);
    config.n = 0;
    json = "{\"model\": {\"decoder\": {\"filename\": \"../b.onnx\"}}}";
    put(&config, json, strlen(json));
    write_file(path, sizeof path, where, "genai_config.json", &config);
    assert_int_equal(sc_model_open(where, &model), SC_BAD_MODEL);
    write_file(path, sizeof path, where, "model.onnx", &b);
    assert_int_equal(sc_model_open(where, &model), SC_OK);
    assert_non_null(strstr(model->path, "model.onnx"));
    sc_model_close(model);
    remove_folder(where);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_model_opens_as_described),
        cmocka_unit_test(nodes_values_and_facts_come_from_the_file),
        cmocka_unit_test(an_initializer_that_is_an_input_is_a_default),
        cmocka_unit_test(a_default_is_what_its_input_declares),
        cmocka_unit_test(versions_outside_are_named),
        cmocka_unit_test(files_of_other_kinds_are_refused),
        cmocka_unit_test(imports_are_asked_for),
        cmocka_unit_test(attributes_have_their_types),
        cmocka_unit_test(bad_attributes_are_refused),
        cmocka_unit_test(functions_are_found_by_the_nodes_that_call_them),
        cmocka_unit_test(functions_that_call_themselves_are_refused),
        cmocka_unit_test(stages_that_the_file_asks_for_are_kept),
        cmocka_unit_test(rank_bombs_and_overflowing_dims_are_refused),
        cmocka_unit_test(a_folder_means_its_model),
    };
    return cmocka_run_group_tests(tests, make_case_folder, remove_case_folder);
}
