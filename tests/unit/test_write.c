/* SPDX-License-Identifier: Apache-2.0
 * What is written opens again as the same graph, value by value and bit by bit; what cannot be written leaves
 * nothing. */
#include <dirent.h>

#include "graph_case.h"
#include "model_case.h"

static void same_text(const char *a, const char *b)
{
    assert_string_equal(a ? a : "", b ? b : "");
}

static void same_tensor(const struct sc_tensor *a, const struct sc_tensor *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
    if (a->type != SC_STRING) {
        assert_memory_equal(a->data, b->data, sc_tensor_bytes(a));
        return;
    }
    const struct sc_string *x = a->data, *y = b->data;
    for (int64_t i = 0; i < sc_tensor_count(a); i++) {
        assert_int_equal(x[i].bytes, y[i].bytes);
        assert_memory_equal(x[i].data, y[i].data, x[i].bytes);
    }
}

static void same_fact(
    const struct sc_model *m, const struct sc_fact *a, const struct sc_model *n, const struct sc_fact *b)
{
    char x[512], y[512];
    assert_int_equal(a->item_kind, b->item_kind);
    assert_string_equal(sc_fact_text(m, a, x, sizeof x), sc_fact_text(n, b, y, sizeof y));
}

static void same_attribute(const struct sc_attribute *a, const struct sc_attribute *b)
{
    same_text(a->name, b->name);
    same_text(a->ref, b->ref);
    assert_int_equal(a->type, b->type);
    if (a->ref) {
        return;
    }
    assert_int_equal(a->n, b->n);
    switch (a->type) {
    case SC_ATTRIBUTE_FLOAT:
        assert_memory_equal(&a->u.f, &b->u.f, sizeof a->u.f);
        break;
    case SC_ATTRIBUTE_INT:
        assert_true(a->u.i == b->u.i);
        break;
    case SC_ATTRIBUTE_STRING:
        assert_int_equal(a->u.s.bytes, b->u.s.bytes);
        assert_memory_equal(a->u.s.data, b->u.s.data, a->u.s.bytes);
        break;
    case SC_ATTRIBUTE_FLOATS:
        assert_memory_equal(a->u.floats, b->u.floats, (size_t)a->n * sizeof(float));
        break;
    case SC_ATTRIBUTE_INTS:
        assert_memory_equal(a->u.ints, b->u.ints, (size_t)a->n * sizeof(int64_t));
        break;
    case SC_ATTRIBUTE_STRINGS:
        for (int i = 0; i < a->n; i++) {
            assert_int_equal(a->u.strings[i].bytes, b->u.strings[i].bytes);
            assert_memory_equal(a->u.strings[i].data, b->u.strings[i].data, a->u.strings[i].bytes);
        }
        break;
    case SC_ATTRIBUTE_TENSOR:
    case SC_ATTRIBUTE_TENSORS:
    case SC_ATTRIBUTE_SPARSE_TENSOR:
        for (int i = 0; i < a->n; i++) {
            same_tensor(&a->u.tensor[i], &b->u.tensor[i]);
        }
        break;
    case SC_ATTRIBUTE_TYPE_PROTO:
        same_fact(NULL, a->u.type, NULL, b->u.type);
        break;
    case SC_ATTRIBUTE_GRAPH:
    case SC_ATTRIBUTE_GRAPHS:
        break; /* bodies are in the list of all graphs */
    }
}

static void same_values(const struct sc_graph *a, const int *x, const struct sc_graph *b, const int *y, int n)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(x[i] < 0, y[i] < 0);
        if (x[i] >= 0) {
            assert_string_equal(a->values[x[i]].name, b->values[y[i]].name);
            assert_int_equal(a->values[x[i]].place, b->values[y[i]].place);
        }
    }
}

static void same_node(
    const struct sc_graph *a, const struct sc_node *x, const struct sc_graph *b, const struct sc_node *y)
{
    same_text(x->name, y->name);
    same_text(x->op, y->op);
    same_text(x->domain, y->domain);
    assert_int_equal(x->version, y->version);
    assert_int_equal(x->n_in, y->n_in);
    assert_int_equal(x->n_out, y->n_out);
    assert_int_equal(x->n_attributes, y->n_attributes);
    assert_int_equal(!x->function, !y->function);
    if (x->function) {
        same_text(x->function->overload, y->function->overload);
    }
    same_values(a, x->in, b, y->in, x->n_in);
    same_values(a, x->out, b, y->out, x->n_out);
    for (int i = 0; i < x->n_attributes; i++) {
        same_attribute(&x->attributes[i], &y->attributes[i]);
    }
}

static void same_graph(
    const struct sc_model *m, const struct sc_graph *a, const struct sc_model *n, const struct sc_graph *b)
{
    struct sc_arena arena = {0};
    struct sc_tensor x, y;
    same_text(a->name, b->name);
    int n_live = 0; /* a large Constant is an initializer, and comes back as one */
    assert_int_equal(a->n_inputs, b->n_inputs);
    assert_int_equal(a->n_outputs, b->n_outputs);
    same_values(a, a->inputs, b, b->inputs, a->n_inputs);
    same_values(a, a->outputs, b, b->outputs, a->n_outputs);
    for (int i = 0; i < a->n_nodes; i++) {
        if (!a->nodes[i].dead) {
            assert_in_range(n_live, 0, b->n_nodes - 1);
            same_node(a, &a->nodes[i], b, &b->nodes[n_live++]);
        }
    }
    assert_int_equal(n_live, b->n_nodes);
    for (int v = 0; v < b->n_values; v++) {
        const struct sc_graph_value *now = &b->values[v];
        const int at = sc_graph_find(a, now->name);
        assert_true(at >= 0);
        same_fact(m, &a->values[at].fact, n, &now->fact);
        assert_int_equal(a->values[at].weight < 0, now->weight < 0);
        if (now->weight >= 0) {
            assert_ok(sc_weight_tensor(&a->weights[a->values[at].weight], &arena, &x));
            assert_ok(sc_weight_tensor(&b->weights[now->weight], &arena, &y));
            same_tensor(&x, &y);
        }
    }
    sc_arena_release(&arena);
}

static void same_model(const struct sc_model *a, const struct sc_model *b)
{
    assert_int_equal(a->n_opsets, b->n_opsets);
    assert_int_equal(a->n_functions, b->n_functions);
    same_text(a->producer, b->producer);
    for (int f = 0; f < a->n_functions; f++) {
        same_text(a->functions[f].domain, b->functions[f].domain);
        same_text(a->functions[f].name, b->functions[f].name);
        same_text(a->functions[f].overload, b->functions[f].overload);
        assert_int_equal(a->functions[f].n_attributes, b->functions[f].n_attributes);
        assert_int_equal(a->functions[f].n_defaults, b->functions[f].n_defaults);
        for (int i = 0; i < a->functions[f].n_defaults; i++) {
            same_attribute(&a->functions[f].defaults[i], &b->functions[f].defaults[i]);
        }
    }
    const struct sc_graph *x = a->all_graphs, *y = b->all_graphs;
    for (; x && y; x = x->next, y = y->next) {
        same_graph(a, x, b, y);
    }
    assert_true(!x && !y);
}

static void comes_back(const struct sc_model *model, const char *location)
{
    char path[128];
    struct sc_model *again = NULL;
    const struct sc_write_options options = {.location = location};
    snprintf(path, sizeof path, "%s/again.onnx", case_folder);
    assert_ok(sc_model_write(model, model->graph, path, &options));
    assert_ok(sc_model_open(path, &again));
    same_model(model, again);
    sc_model_close(again);
}

static void models_come_back_as_they_were(void **state)
{
    (void)state;
    DIR *folder = opendir(GRAPHS);
    assert_non_null(folder);
    int n = 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            struct sc_model *model = graph_model(entry->d_name);
            comes_back(model, NULL);
            comes_back(model, "again.data");
            sc_model_close(model);
            n++;
        }
    }
    closedir(folder);
    assert_true(n > 20);
}

/* Adds the attribute whose value is in `content`, which is empty afterwards. */
static void attribute(struct bytes *node, const char *name, int type, struct bytes *content)
{
    put_text(content, 1, name);
    put_int(content, 20, type);
    put_message(node, 5, content);
    content->n = 0;
}

static void add_numbers(struct bytes *n)
{
    const float f = -0.0f, floats[] = {1, -2.5f};
    struct bytes a = {.n = 0};
    put_varint(&a, 2 << 3 | 5);
    put(&a, &f, 4);
    attribute(n, "f", 1, &a);
    put_int(&a, 3, INT64_MIN);
    attribute(n, "i", 2, &a);
    put_bytes(&a, 4, "a\0b", 3);
    attribute(n, "s", 3, &a);
    put_bytes(&a, 7, floats, sizeof floats);
    attribute(n, "floats", 6, &a);
    put_packed(&a, 8, 2, (const int64_t[]){-1, INT64_MAX});
    attribute(n, "ints", 7, &a);
    attribute(n, "none", 7, &a);
    put_text(&a, 9, "");
    put_text(&a, 9, "two");
    attribute(n, "strings", 8, &a);
}

static void add_tensors(struct bytes *n)
{
    struct bytes a = {.n = 0}, sparse = {.n = 0}, t = tensor_head("", SC_I4, 1, (const int64_t[]){3});
    put_bytes(&t, 9, "\xf1\x08", 2);
    put_message(&a, 5, &t);
    attribute(n, "t", 4, &a);
    put_message(&a, 10, &t);
    put_message(&a, 10, &t);
    attribute(n, "tensors", 9, &a);
    struct bytes values = tensor_head("", SC_F32, 1, (const int64_t[]){2});
    struct bytes places = tensor_head("", SC_I64, 1, (const int64_t[]){2});
    put_bytes(&values, 9, (const float[]){5, -0.0f}, 8);
    put_packed(&places, 7, 2, (const int64_t[]){1, 4});
    put_message(&sparse, 1, &values);
    put_message(&sparse, 2, &places);
    put_packed(&sparse, 3, 2, (const int64_t[]){2, 3});
    put_message(&a, 22, &sparse);
    attribute(n, "sparse", 11, &a);
}

/* A list of four numbers, of which the first `run` are packed; something that is no value stands in between. */
static void add_list(struct bytes *graph, const char *name, int run)
{
    const int64_t numbers[] = {1, -1, 300, 70000};
    struct bytes w = tensor_head(name, SC_I64, 1, (const int64_t[]){4});
    put_packed(&w, 7, run, numbers);
    put_text(&w, 12, "a description");
    for (int k = run; k < 4; k++) {
        put_int(&w, 7, numbers[k]);
    }
    put_message(graph, 5, &w);
}

/* Initializers in every form that values can have in a file. */
static void add_weights(struct bytes *graph)
{
    struct bytes w = tensor_head("w", SC_F64, 1, (const int64_t[]){2});
    put_bytes(&w, 10, (const double[]){1.5, -0.0}, 16);
    put_message(graph, 5, &w);
    add_list(graph, "run", 4);
    add_list(graph, "single", 0);
    add_list(graph, "both", 2);
    w = tensor_head("packed", SC_I4, 1, (const int64_t[]){3});
    put_packed(&w, 5, 2, (const int64_t[]){0xf1, 8});
    put_message(graph, 5, &w);
    w = tensor_head("text", SC_STRING, 1, (const int64_t[]){2});
    put_text(&w, 6, "");
    put_bytes(&w, 6, "a\0b", 3);
    put_message(graph, 5, &w);
    w = tensor_head("empty", SC_F32, 2, (const int64_t[]){0, 3});
    put_message(graph, 5, &w);
    w = tensor_head("large", SC_U8, 1, (const int64_t[]){5000});
    unsigned char data[5000];
    for (int i = 0; i < 5000; i++) {
        data[i] = (unsigned char)(i * 7);
    }
    put_bytes(&w, 9, data, sizeof data);
    put_message(graph, 5, &w);
}

static void every_kind_of_attribute_and_value_comes_back(void **state)
{
    (void)state;
    struct bytes graph = {.n = 0};
    struct bytes foo = node("Foo", "x - w", "- y");
    const struct bytes all = node("Bar", "w run single both packed text empty large", "all");
    add_weights(&graph);
    add_numbers(&foo);
    add_tensors(&foo);
    put_message(&graph, 1, &foo);
    put_message(&graph, 1, &all);
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 13, 25);
    struct sc_model *model = opened(&b);
    comes_back(model, NULL);
    comes_back(model, "m.data");
    sc_model_close(model);
}

/* Reads the shakespeare model's weights from another place. */
static void external_data_is_external_again(void **state)
{
    (void)state;
    struct sc_model *model = NULL, *again = NULL;
    char path[128];
    assert_ok(sc_model_open(SC_SOURCE_DIR "/examples/shakespeare", &model));
    comes_back(model, "w.data");
    snprintf(path, sizeof path, "%s/again.onnx", case_folder);
    assert_ok(sc_model_open(path, &again));
    assert_int_equal(again->n_files, 2);
    assert_true(again->files[0].bytes < 100000);
    const struct sc_write_options inside = {0};
    assert_ok(sc_model_write(again, again->graph, path, &inside)); /* over the file that it was read from */
    same_model(model, again);
    sc_model_close(again);
    sc_model_close(model);
}

static int files_in(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        n += entry->d_name[0] != '.';
    }
    closedir(folder);
    return n;
}

static void what_fails_leaves_nothing(void **state)
{
    (void)state;
    char folder[64], path[128];
    struct sc_model *model = graph_model("large_constant");
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/no/such.onnx", folder);
    assert_fails(SC_IO, "no/such.onnx", sc_model_write(model, model->graph, path, NULL));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    static const char *const bad[] = {"", "..", ".", "../w", "a/b", "m.onnx"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct sc_write_options options = {.location = bad[i]};
        assert_fails(SC_BAD_USAGE, bad[i], sc_model_write(model, model->graph, path, &options));
    }
    model->graph->nodes[0].version = 7;
    assert_fails(SC_UNSUPPORTED, "want 21, which the model imports", sc_model_write(model, model->graph, path, NULL));
    assert_int_equal(files_in(folder), 0);
    remove_folder(folder);
    sc_model_close(model);
}

static void passed_graphs_compute_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"late", "computed_shape", "views", "in_place", "nested_if", "sequences",
        "removable", "large_constant", "functions", "branches", "defaults", "output_is_weight", "recipes"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        char path[128];
        struct graph_case c;
        graph_open(&c, names[k]);
        assert_ok(sc_passes_rewrite(c.model, NULL));
        assert_ok(sc_passes_run(c.model, c.kernels));
        snprintf(path, sizeof path, "%s/passed.onnx", case_folder);
        assert_ok(sc_model_write(c.model, c.model->graph, path, NULL));
        sc_model_close(c.model);
        c.model = NULL;
        assert_ok(sc_model_open(path, &c.model));
        assert_int_equal(c.model->n_functions, 0);
        assert_ok(sc_passes_rewrite(c.model, NULL));
        assert_ok(sc_passes_run(c.model, c.kernels));
        graph_compile(&c, NULL);
        if (strcmp(names[k], "defaults") == 0) { /* its constants are no inputs any more */
            assert_int_equal(c.model->graph->n_inputs, 1);
        }
        graph_run_and_expect(&c, 0);
        graph_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_come_back_as_they_were),
        cmocka_unit_test(every_kind_of_attribute_and_value_comes_back),
        cmocka_unit_test(external_data_is_external_again),
        cmocka_unit_test(what_fails_leaves_nothing),
        cmocka_unit_test(passed_graphs_compute_the_same),
    };
    return cmocka_run_group_tests(tests, make_case_folder, remove_case_folder);
}
