/* SPDX-License-Identifier: Apache-2.0
 * Images: what a process without the file sees of a model, and what becomes of damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/model.h"
#include "onnx_bytes.h"

enum { N_LARGE = 20000, N_FLAGS = 100000 };

static char folder[64];

static void put_weight(struct bytes *graph, struct bytes *tensor)
{
    put_message(graph, 5, tensor);
}

static void put_external(
    struct bytes *graph, const char *name, int type, int rank, const int64_t *dims, const char *offset)
{
    struct bytes tensor = tensor_head(name, type, rank, dims);
    static const char *const keys[] = {"location", "offset"};
    const char *const values[] = {"w.bin", offset};
    for (int i = 0; i < 2; i++) {
        struct bytes entry = {.n = 0};
        put_text(&entry, 1, keys[i]);
        put_text(&entry, 2, values[i]);
        put_message(&tensor, 13, &entry);
    }
    put_int(&tensor, 14, 1);
    put_weight(graph, &tensor);
}

/* A weight of every way in which values lie in files: small and large, raw, typed, text, in another file. */
static void write_model(void)
{
    static unsigned char data[N_FLAGS + 4 * N_LARGE];
    char path[256];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 7 % 251);
    }
    (void)snprintf(path, sizeof path, "%s/w.bin", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, sizeof data, file), sizeof data);
    assert_int_equal(fclose(file), 0);

    static struct bytes graph;
    static int64_t numbers[N_LARGE];
    graph.n = 0;
    struct bytes small = tensor_head("small", SC_F32, 1, &(const int64_t){2});
    put_bytes(&small, 9, (const float[2]){3, 4}, 8);
    put_weight(&graph, &small);
    struct bytes typed = tensor_head("typed", SC_I64, 1, &(const int64_t){N_LARGE});
    for (int i = 0; i < N_LARGE; i++) {
        numbers[i] = i % 100;
    }
    put_packed(&typed, 7, N_LARGE, numbers);
    put_weight(&graph, &typed);
    struct bytes texts = tensor_head("texts", SC_STRING, 1, &(const int64_t){2});
    put_text(&texts, 6, "one");
    put_text(&texts, 6, "two");
    put_weight(&graph, &texts);
    put_external(&graph, "flags", SC_BOOL, 1, &(const int64_t){N_FLAGS}, "0");
    put_external(&graph, "large", SC_F32, 1, &(const int64_t){N_LARGE}, "100000");
    put_external(&graph, "seen", SC_BOOL, 2, (const int64_t[]){300, 300}, "0");
    const struct bytes n = node("Identity", "small", "y");
    put_message(&graph, 1, &n);
    close_graph(&graph);
    const struct bytes model = model_of(&graph, 8, 17);
    write_file(path, sizeof path, folder, "model.onnx", &model);
}

static int make(void **state)
{
    (void)state;
    make_folder(folder, sizeof folder);
    write_model();
    return 0;
}

static int clean(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

/* Gives what the opened files hold, and counts. */
struct origin {
    const struct sc_model *model;
    size_t n_bytes;
};

static enum sc_status fetch(void *arg, int file, size_t offset, void *to, size_t bytes)
{
    struct origin *origin = arg;
    assert_in_range(file, 0, origin->model->n_files - 1);
    assert_true(offset + bytes <= origin->model->files[file].bytes);
    memcpy(to, origin->model->files[file].data + offset, bytes);
    origin->n_bytes += bytes;
    return SC_OK;
}

static void expect_same_weight(const struct sc_weight *want, const struct sc_model *remote, int w)
{
    struct sc_arena arena = {0};
    struct sc_tensor a, b;
    assert_int_equal(sc_weight_tensor(want, &arena, &a), SC_OK);
    assert_int_equal(sc_weight_fetch(remote, &remote->graph->weights[w], &arena, &b), SC_OK);
    assert_int_equal(a.type, b.type);
    assert_int_equal(sc_tensor_count(&a), sc_tensor_count(&b));
    if (a.type == SC_STRING) {
        const struct sc_string *x = a.data, *y = b.data;
        assert_int_equal(x[1].bytes, y[1].bytes);
        assert_memory_equal(x[1].data, y[1].data, x[1].bytes);
    } else {
        assert_memory_equal(a.data, b.data, sc_tensor_bytes(&a));
    }
    sc_arena_release(&arena);
}

static void open_both(const char *path, struct sc_model **model, struct sc_model **remote)
{
    void *image = NULL;
    size_t bytes = 0;
    assert_int_equal(sc_model_open(path, model), SC_OK);
    assert_int_equal(sc_model_image(*model, NULL, &image, &bytes), SC_OK);
    assert_int_equal(sc_model_open_image(image, bytes, remote), SC_OK);
    free(image);
}

static void an_image_opens_as_the_file_does(void **state)
{
    (void)state;
    static const char *const paths[] = {"", SC_SOURCE_DIR "/examples/shakespeare",
        SC_SOURCE_DIR "/tests/data/graphs/nested_if", SC_SOURCE_DIR "/tests/data/graphs/functions"};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
        struct sc_model *model = NULL, *remote = NULL;
        open_both(p ? paths[p] : folder, &model, &remote);
        struct origin origin = {.model = model};
        const struct sc_weight_source source = {.fetch = fetch, .arg = &origin};
        remote->source = &source;
        assert_true(remote->remote && remote->fingerprint == model->fingerprint);
        assert_int_equal(remote->graph->n_nodes, model->graph->n_nodes);
        assert_int_equal(remote->graph->n_weights, model->graph->n_weights);
        for (int w = 0; w < model->graph->n_weights; w++) {
            expect_same_weight(&model->graph->weights[w], remote, w);
        }
        sc_model_close(model);
        sc_model_close(remote);
    }
}

/* A table of which of 300 positions see which comes with the image: passes read it. */
static void only_large_weights_are_fetched(void **state)
{
    (void)state;
    struct sc_model *model = NULL, *remote = NULL;
    open_both(folder, &model, &remote);
    struct origin origin = {.model = model};
    const struct sc_weight_source source = {.fetch = fetch, .arg = &origin};
    remote->source = &source;
    static const char *const names[] = {"small", "typed", "texts", "flags", "large", "seen"};
    static const size_t most[] = {0, N_LARGE + 64, 0, N_FLAGS, 4 * N_LARGE, 0}; /* typed: its message */
    for (int w = 0; w < 6; w++) {
        origin.n_bytes = 0;
        const int index = sc_graph_find(model->graph, names[w]);
        expect_same_weight(
            &model->graph->weights[model->graph->values[index].weight], remote, remote->graph->values[index].weight);
        assert_in_range(origin.n_bytes, most[w] > 64 ? most[w] - 64 : most[w], most[w]);
    }
    sc_model_close(model);
    sc_model_close(remote);
}

static struct sc_weight recipe_for(const struct sc_model *model, struct sc_recipe *recipe, const double *factors)
{
    const int value = sc_graph_find(model->graph, "large");
    *recipe = (struct sc_recipe){
        .source = model->graph->weights[model->graph->values[value].weight], .axis = 0, .factors = factors};
    return (struct sc_weight){.shape = recipe->source.shape, .file = -1, .recipe = recipe};
}

static void recipes_fetch_what_they_are_made_of(void **state)
{
    (void)state;
    static double factors[N_LARGE];
    struct sc_model *model = NULL, *remote = NULL;
    struct sc_recipe here, there;
    struct sc_arena arena = {0};
    struct sc_tensor a, b;
    for (int i = 0; i < N_LARGE; i++) {
        factors[i] = i % 2 ? 0.5 : 2;
    }
    open_both(folder, &model, &remote);
    struct origin origin = {.model = model};
    const struct sc_weight_source source = {.fetch = fetch, .arg = &origin};
    remote->source = &source;
    const struct sc_weight want = recipe_for(model, &here, factors), got = recipe_for(remote, &there, factors);
    assert_int_equal(sc_weight_tensor(&want, &arena, &a), SC_OK);
    assert_int_equal(sc_weight_fetch(remote, &got, &arena, &b), SC_OK);
    assert_memory_equal(a.data, b.data, sc_tensor_bytes(&a));
    sc_arena_release(&arena);
    sc_model_close(model);
    sc_model_close(remote);
}

static void a_large_weight_without_a_source_is_an_error(void **state)
{
    (void)state;
    struct sc_model *model = NULL, *remote = NULL;
    struct sc_arena arena = {0};
    struct sc_tensor tensor;
    open_both(folder, &model, &remote);
    const int value = sc_graph_find(remote->graph, "large");
    const struct sc_weight *weight = &remote->graph->weights[remote->graph->values[value].weight];
    assert_int_equal(sc_weight_fetch(remote, weight, &arena, &tensor), SC_INTERNAL);
    sc_arena_release(&arena);
    sc_model_close(model);
    sc_model_close(remote);
}

/* Cut anywhere, or with any byte changed, an image is refused or opens: it never leads out of memory. */
static void a_damaged_image_does_no_harm(void **state)
{
    (void)state;
    struct sc_model *model = NULL, *remote = NULL;
    void *image = NULL;
    size_t bytes = 0;
    assert_int_equal(sc_model_open(SC_SOURCE_DIR "/tests/data/graphs/nested_if", &model), SC_OK);
    assert_int_equal(sc_model_image(model, NULL, &image, &bytes), SC_OK);
    for (size_t n = 0; n < bytes; n++) {
        unsigned char *cut = malloc(n + 1);
        assert_non_null(cut);
        memcpy(cut, image, n);
        assert_int_not_equal(sc_model_open_image(cut, n, &remote), SC_OK);
        free(cut);
    }
    for (size_t n = 0; n < 6 * sizeof(uint64_t); n++) { /* the head: counts and sizes */
        ((unsigned char *)image)[n] ^= 0x55;
        if (sc_model_open_image(image, bytes, &remote) == SC_OK) {
            assert_in_range(n, 8, 15); /* the fingerprint is anything */
            sc_model_close(remote);
        }
        ((unsigned char *)image)[n] ^= 0x55;
    }
    assert_int_equal(sc_model_open_image(image, bytes, &remote), SC_OK);
    sc_model_close(remote);
    sc_model_close(model);
    free(image);
}

static void a_file_that_has_changed_gives_no_image(void **state)
{
    (void)state;
    struct sc_model *model = NULL;
    void *image = NULL;
    size_t bytes = 0;
    assert_int_equal(sc_model_open(folder, &model), SC_OK);
    char path[256], moved[256];
    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    (void)snprintf(moved, sizeof moved, "%s/old.onnx", folder);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(sc_model_image(model, NULL, &image, &bytes), SC_IO);
    struct bytes graph = {.n = 0};
    const struct bytes n = node("Identity", "x", "y");
    put_message(&graph, 1, &n);
    close_graph(&graph);
    const struct bytes other = model_of(&graph, 8, 17);
    write_file(path, sizeof path, folder, "model.onnx", &other);
    assert_int_equal(sc_model_image(model, NULL, &image, &bytes), SC_IO);
    assert_non_null(strstr(sc_error_last()->text, "another model"));
    assert_int_equal(rename(moved, path), 0);
    sc_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_opens_as_the_file_does),
        cmocka_unit_test(only_large_weights_are_fetched),
        cmocka_unit_test(recipes_fetch_what_they_are_made_of),
        cmocka_unit_test(a_large_weight_without_a_source_is_an_error),
        cmocka_unit_test(a_damaged_image_does_no_harm),
        cmocka_unit_test(a_file_that_has_changed_gives_no_image),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
