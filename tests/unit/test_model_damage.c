/* SPDX-License-Identifier: Apache-2.0
 * Damaged files: each fails with one line or opens; none crashes. Worth most under the sanitizers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/file.h"
#include "model/model.h"
#include "onnx_bytes.h"

/* Writes without a sync: thousands of files. */
static const char *store(const unsigned char *data, size_t bytes)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/damaged.onnx", case_folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void every_truncation_fails_with_one_line(void **state)
{
    (void)state;
    struct sc_file file;
    assert_int_equal(sc_file_map(SC_SOURCE_DIR "/examples/shakespeare/model.onnx", &file), SC_OK);
    const size_t step = file.bytes / 150 + 1;
    for (size_t i = 0; i < 550; i++) { /* the first and the last 200 bytes one by one, and places all over */
        const size_t n = i < 200 ? i : i < 400 ? file.bytes - 400 + i : (i - 400) * step;
        struct sc_model *model = NULL;
        const enum sc_status status = n < file.bytes ? sc_model_open(store(file.data, n), &model) : SC_BAD_MODEL;
        if (status == SC_OK) {
            fail_msg("opened with %zu of %zu bytes", n, file.bytes);
        }
        assert_null(model);
        assert_true(strlen(sc_error_last()->text) > 10);
        assert_null(strchr(sc_error_last()->text, '\n'));
    }
    sc_file_release(&file);
}

/* Something of everything: a weight, strings, sparse values, bodies, a function, external keys, odd types. */
static struct bytes rich_model(void)
{
    struct bytes graph = {.n = 0}, body = {.n = 0}, n, attribute, sparse = {.n = 0};
    struct bytes w = tensor_head("w", SC_F32, 2, (const int64_t[]){2, 2});
    put_bytes(&w, 9, (const float[]){1, 2, 3, 4}, 16);
    put_message(&graph, 5, &w);
    w = tensor_head("i", SC_I64, 1, (const int64_t[]){3});
    put_packed(&w, 7, 3, (const int64_t[]){1, -1, 300});
    put_message(&graph, 5, &w);
    w = tensor_head("q", SC_I4, 1, (const int64_t[]){3});
    put_packed(&w, 5, 2, (const int64_t[]){0xf1, 8});
    put_message(&graph, 5, &w);
    w = tensor_head("s", SC_STRING, 1, (const int64_t[]){2});
    put_text(&w, 6, "one");
    put_text(&w, 6, "two");
    put_message(&graph, 5, &w);
    w = tensor_head("z", SC_F32, 1, (const int64_t[]){1});
    put_bytes(&w, 9, (const float[]){7}, 4);
    put_message(&sparse, 1, &w);
    w = tensor_head("", SC_I64, 1, (const int64_t[]){1});
    put_packed(&w, 7, 1, (const int64_t[]){4});
    put_message(&sparse, 2, &w);
    put_packed(&sparse, 3, 2, (const int64_t[]){2, 3});
    put_message(&graph, 15, &sparse);
    const struct bytes inner = node("Neg", "x", "o"), o = value_info("o", 1, 1, (const int64_t[]){2}, "len");
    put_message(&body, 1, &inner);
    put_message(&body, 12, &o);
    n = node("If", "w", "t");
    attribute = (struct bytes){.n = 0};
    put_text(&attribute, 1, "then_branch");
    put_int(&attribute, 20, 5);
    put_message(&attribute, 6, &body);
    put_message(&n, 5, &attribute);
    attribute = (struct bytes){.n = 0};
    put_text(&attribute, 1, "ints");
    put_packed(&attribute, 8, 3, (const int64_t[]){1, 2, 3});
    put_int(&attribute, 20, 7);
    put_message(&n, 5, &attribute);
    put_message(&graph, 1, &n);
    n = node("Fun", "t s", "y");
    put_text(&n, 7, "f");
    put_message(&graph, 1, &n);
    close_graph(&graph);
    struct bytes model = model_of(&graph, 11, 21), function = {.n = 0};
    n = node("Neg", "a", "b");
    put_text(&function, 1, "Fun");
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_text(&function, 6, "k");
    put_message(&function, 7, &n);
    put_text(&function, 10, "f");
    put_message(&model, 25, &function);
    return model;
}

/* Opens what is left of a model and reads all its weights, as a run would. */
static int try_damaged(const unsigned char *data, size_t bytes)
{
    struct sc_model *model = NULL;
    if (sc_model_open(store(data, bytes), &model) != SC_OK) {
        assert_null(model);
        assert_true(strlen(sc_error_last()->text) > 5);
        return 0;
    }
    struct sc_arena arena = {.limit_bytes = 64 << 20};
    for (int i = 0; i < model->graph->n_weights; i++) {
        struct sc_tensor tensor;
        assert_int_equal(sc_weight_tensor(&model->graph->weights[i], &arena, &tensor), SC_OK);
        volatile unsigned char sum = 0;
        for (size_t k = 0; k < sc_tensor_bytes(&tensor); k++) {
            sum = (unsigned char)(sum + ((const unsigned char *)tensor.data)[k]);
        }
    }
    sc_arena_release(&arena);
    sc_model_close(model);
    return 1;
}

static void the_model_to_damage_is_whole(void **state)
{
    (void)state;
    const struct bytes b = rich_model();
    if (!try_damaged(b.data, b.n)) {
        fail_msg("'%s'", sc_error_last()->text);
    }
}

static void changed_bytes_never_crash(void **state)
{
    (void)state;
    const struct bytes b = rich_model();
    struct bytes damaged = b;
    for (size_t i = 0; i < b.n; i++) { /* every bit, and some telling values, at every place */
        static const unsigned char values[] = {0x00, 0x7f, 0x80, 0xff};
        for (int k = 0; k < 12; k++) {
            damaged.data[i] = k < 8 ? (unsigned char)(b.data[i] ^ 1 << k) : values[k - 8];
            (void)try_damaged(damaged.data, b.n);
        }
        damaged.data[i] = b.data[i];
    }
}

static void several_changes_never_crash(void **state)
{
    (void)state;
    const struct bytes b = rich_model();
    srand(7);
    int opened = 0;
    for (int round = 0; round < 6000; round++) {
        struct bytes damaged = b;
        for (int k = rand() % 4; k >= 0; k--) {
            const size_t at = (size_t)rand() % damaged.n;
            const size_t length = 1 + (size_t)rand() % 12;
            if (rand() % 3 == 0 && at + length < damaged.n) { /* cut out */
                memmove(damaged.data + at, damaged.data + at + length, damaged.n - at - length);
                damaged.n -= length;
            } else {
                damaged.data[at] = (unsigned char)rand();
            }
        }
        opened += try_damaged(damaged.data, damaged.n);
    }
    assert_true(opened > 0); /* names and numbers may change: some get through to the weights */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_fails_with_one_line),
        cmocka_unit_test(the_model_to_damage_is_whole),
        cmocka_unit_test(changed_bytes_never_crash),
        cmocka_unit_test(several_changes_never_crash),
    };
    return cmocka_run_group_tests(tests, make_case_folder, remove_case_folder);
}
