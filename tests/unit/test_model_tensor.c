/* SPDX-License-Identifier: Apache-2.0
 * Values of tensors in every field, and what is said about them when sizes do not agree. Bytes are written by hand
 * after the comments of the format's own TensorProto. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/model.h"
#include "onnx_bytes.h"

static enum sc_status read_tensor(const struct bytes *b, struct sc_arena *arena, struct sc_value *value)
{
    char path[128];
    return sc_value_read_pb(write_file(path, sizeof path, case_folder, "t.pb", b), NULL, arena, value);
}

/* The tensor message has these plain bytes in memory. */
static void holds(const struct bytes *b, const void *plain, size_t bytes)
{
    struct sc_arena arena = {0};
    struct sc_value value;
    if (read_tensor(b, &arena, &value) != SC_OK) {
        fail_msg("'%s'", sc_error_last()->text);
    }
    assert_int_equal(sc_tensor_bytes(&value.u.tensor), bytes);
    assert_memory_equal(value.u.tensor.data, plain, bytes);
    sc_arena_release(&arena);
}

static void refused(const struct bytes *b, enum sc_status code, const char *why)
{
    struct sc_arena arena = {0};
    struct sc_value value;
    const enum sc_status status = read_tensor(b, &arena, &value);
    if (status != code || !strstr(sc_error_last()->text, why)) {
        fail_msg("status %d, '%s'; want %d and '%s'", status, status ? sc_error_last()->text : "", code, why);
    }
    sc_arena_release(&arena);
}

static struct bytes numbers(enum sc_type type, unsigned field, int64_t dim, int n, const int64_t *values)
{
    struct bytes b = tensor_head("t", (int)type, 1, &dim);
    put_packed(&b, field, n, values);
    return b;
}

static void int32_data_holds_all_small_types(void **state)
{
    (void)state;
    struct bytes b = numbers(SC_I32, 5, 2, 2, (const int64_t[]){-1, 70000});
    holds(&b, (const int32_t[]){-1, 70000}, 8);
    b = numbers(SC_I8, 5, 2, 2, (const int64_t[]){-1, 127});
    holds(&b, (const int8_t[]){-1, 127}, 2);
    b = numbers(SC_U8, 5, 2, 2, (const int64_t[]){255, 1});
    holds(&b, (const uint8_t[]){255, 1}, 2);
    b = numbers(SC_I16, 5, 2, 2, (const int64_t[]){-300, 300});
    holds(&b, (const int16_t[]){-300, 300}, 4);
    b = numbers(SC_U16, 5, 1, 1, (const int64_t[]){65535});
    holds(&b, (const uint16_t[]){65535}, 2);
    b = numbers(SC_F16, 5, 2, 2, (const int64_t[]){0x3c00, 0xc000});
    holds(&b, (const uint16_t[]){0x3c00, 0xc000}, 4);
    b = numbers(SC_BF16, 5, 1, 1, (const int64_t[]){0x3f80});
    holds(&b, (const uint16_t[]){0x3f80}, 2);
    b = numbers(SC_BOOL, 5, 3, 3, (const int64_t[]){0, 1, 256});
    holds(&b, (const uint8_t[]){0, 1, 1}, 3);
    b = numbers(SC_F8E4M3FN, 5, 2, 2, (const int64_t[]){0x7e, 0x80});
    holds(&b, (const uint8_t[]){0x7e, 0x80}, 2);
    b = numbers(SC_F8E8M0, 5, 1, 1, (const int64_t[]){255});
    holds(&b, (const uint8_t[]){255}, 1);
    b = numbers(SC_F6E2M3, 5, 2, 2, (const int64_t[]){0x3f, 0x41});
    holds(&b, (const uint8_t[]){0x3f, 0x01}, 2);
}

static void sub_byte_types_in_int32_data_are_packed_bytes(void **state)
{
    (void)state;
    struct bytes b = numbers(SC_I4, 5, 3, 2, (const int64_t[]){0xf1, 0x08});
    holds(&b, (const int8_t[]){1, -1, -8}, 3);
    b = numbers(SC_U4, 5, 2, 1, (const int64_t[]){0xf1});
    holds(&b, (const uint8_t[]){1, 15}, 2);
    b = numbers(SC_F4E2M1, 5, 2, 1, (const int64_t[]){0x7c});
    holds(&b, (const uint8_t[]){0xc, 0x7}, 2);
    b = numbers(SC_I2, 5, 5, 2, (const int64_t[]){0xe4, 0x02});
    holds(&b, (const int8_t[]){0, 1, -2, -1, -2}, 5);
    b = numbers(SC_U2, 5, 4, 1, (const int64_t[]){0xe4});
    holds(&b, (const uint8_t[]){0, 1, 2, 3}, 4);
}

static void wide_types_have_fields_of_their_own(void **state)
{
    (void)state;
    struct bytes b = numbers(SC_I64, 7, 2, 2, (const int64_t[]){INT64_MIN, 5});
    holds(&b, (const int64_t[]){INT64_MIN, 5}, 16);
    b = numbers(SC_U64, 11, 1, 1, (const int64_t[]){-1});
    holds(&b, (const uint64_t[]){UINT64_MAX}, 8);
    b = numbers(SC_U32, 11, 1, 1, (const int64_t[]){0xffffffff});
    holds(&b, (const uint32_t[]){UINT32_MAX}, 4);
    const float floats[] = {1, -2, 3, 4};
    const double doubles[] = {1, -2, 3, 4};
    const int64_t two = 2, four = 4;
    b = tensor_head("t", SC_F32, 1, &four);
    put_bytes(&b, 4, floats, sizeof floats);
    holds(&b, floats, sizeof floats);
    b = tensor_head("t", SC_C64, 1, &two); /* pairs */
    put_bytes(&b, 4, floats, sizeof floats);
    holds(&b, floats, sizeof floats);
    b = tensor_head("t", SC_F64, 1, &four);
    put_bytes(&b, 10, doubles, sizeof doubles);
    holds(&b, doubles, sizeof doubles);
    b = tensor_head("t", SC_C128, 1, &two);
    put_bytes(&b, 10, doubles, sizeof doubles);
    holds(&b, doubles, sizeof doubles);
}

static void numbers_may_come_singly_and_in_several_runs(void **state)
{
    (void)state;
    const int64_t four = 4;
    struct bytes b = tensor_head("t", SC_F32, 1, &four);
    for (int i = 0; i < 4; i++) { /* not packed: a tag each */
        const float value = (float)i;
        put_varint(&b, 4 << 3 | 5);
        put(&b, &value, 4);
    }
    holds(&b, (const float[]){0, 1, 2, 3}, 16);
    b = tensor_head("t", SC_I64, 1, &four);
    put_packed(&b, 7, 2, (const int64_t[]){1, 2});
    put_int(&b, 7, 3);
    put_packed(&b, 7, 1, (const int64_t[]){4});
    holds(&b, (const int64_t[]){1, 2, 3, 4}, 32);
    b = tensor_head("t", SC_F32, 1, &four);
    put_bytes(&b, 4, (const float[]){1, 2}, 8);
    put_bytes(&b, 4, (const float[]){3, 4}, 8);
    holds(&b, (const float[]){1, 2, 3, 4}, 16);
}

static void raw_data_is_taken_as_it_lies(void **state)
{
    (void)state;
    const int64_t three = 3, two = 2;
    for (int pad = 0; pad < 9; pad++) { /* at every alignment */
        char name[16] = "aaaaaaaaaaaaaaa";
        name[pad] = '\0';
        struct bytes b = tensor_head(name, SC_F64, 1, &two);
        put_bytes(&b, 9, (const double[]){1.5, -2.5}, 16);
        holds(&b, (const double[]){1.5, -2.5}, 16);
    }
    struct bytes b = tensor_head("t", SC_I4, 1, &three);
    put_bytes(&b, 9, "\xf1\x08", 2);
    holds(&b, (const int8_t[]){1, -1, -8}, 3);
    b = tensor_head("t", SC_BOOL, 1, &three);
    put_bytes(&b, 9, "\x00\x02\x01", 3);
    holds(&b, (const uint8_t[]){0, 1, 1}, 3);
    b = tensor_head("t", SC_F6E3M2, 1, &(const int64_t){4});
    put_bytes(&b, 9, "\x41\x20\x0c", 3);
    holds(&b, (const uint8_t[]){1, 1, 2, 3}, 4);
}

static void strings_may_hold_anything(void **state)
{
    (void)state;
    struct bytes b = tensor_head("t", SC_STRING, 1, &(const int64_t){3});
    put_bytes(&b, 6, "ab", 2);
    put_bytes(&b, 6, "", 0);
    put_bytes(&b, 6, "c\0d", 3);
    struct sc_arena arena = {0};
    struct sc_value value;
    assert_int_equal(read_tensor(&b, &arena, &value), SC_OK);
    const struct sc_string *strings = value.u.tensor.data;
    assert_int_equal(strings[0].bytes, 2);
    assert_int_equal(strings[1].bytes, 0);
    assert_memory_equal(strings[2].data, "c\0d", 3);
    sc_arena_release(&arena);
}

static void empty_and_scalar_tensors_are_tensors(void **state)
{
    (void)state;
    struct bytes b = tensor_head("t", SC_F32, 2, (const int64_t[]){0, 3});
    holds(&b, "", 0);
    put_bytes(&b, 9, "", 0);
    holds(&b, "", 0);
    b = tensor_head("t", SC_STRING, 1, (const int64_t[]){0});
    holds(&b, "", 0);
    b = tensor_head("t", SC_I32, 0, NULL);
    put_packed(&b, 5, 1, (const int64_t[]){7});
    holds(&b, (const int32_t[]){7}, 4);
}

static void sizes_that_do_not_agree_are_refused(void **state)
{
    (void)state;
    const int64_t two = 2, three = 3;
    struct bytes b = tensor_head("t", SC_F32, 1, &two);
    refused(&b, SC_BAD_MODEL, "has 0 values, want 2");
    put_bytes(&b, 9, "1234567", 7);
    refused(&b, SC_BAD_MODEL, "7 bytes of raw_data, want 8");
    b = tensor_head("t", SC_F32, 1, &two);
    put_bytes(&b, 9, "123456789", 9);
    refused(&b, SC_BAD_MODEL, "9 bytes of raw_data, want 8");
    b = tensor_head("t", SC_I4, 1, &three); /* one element a byte instead of two */
    put_bytes(&b, 9, "123", 3);
    refused(&b, SC_BAD_MODEL, "3 bytes of raw_data, want 2");
    b = numbers(SC_I64, 7, 2, 3, (const int64_t[]){1, 2, 3});
    refused(&b, SC_BAD_MODEL, "has 3 values, want 2");
    b = numbers(SC_I64, 5, 2, 2, (const int64_t[]){1, 2});
    refused(&b, SC_BAD_MODEL, "another type's field");
    b = numbers(SC_I64, 7, 2, 2, (const int64_t[]){1, 2});
    put_bytes(&b, 9, "0123456789abcdef", 16);
    refused(&b, SC_BAD_MODEL, "several fields");
    b = tensor_head("t", SC_STRING, 1, &two);
    put_bytes(&b, 9, "ab", 2);
    refused(&b, SC_BAD_MODEL, "raw_data");
}

static void bad_dims_and_types_are_refused(void **state)
{
    (void)state;
    struct bytes b = tensor_head("t", SC_F32, 2, (const int64_t[]){(int64_t)1 << 40, (int64_t)1 << 40});
    refused(&b, SC_LIMIT, "2^46");
    b = tensor_head("t", SC_F32, 3, (const int64_t[]){0, INT64_MAX, INT64_MAX});
    refused(&b, SC_LIMIT, "2^46");
    b = tensor_head("t", SC_F32, 1, (const int64_t[]){-4});
    refused(&b, SC_BAD_MODEL, "negative");
    b = tensor_head("t", SC_F32, 1, (const int64_t[]){(int64_t)1 << 40}); /* a terabyte, of which nothing is there */
    refused(&b, SC_BAD_MODEL, "values");
    int64_t ones[17];
    for (int i = 0; i < 17; i++) {
        ones[i] = 1;
    }
    b = tensor_head("t", SC_F32, 17, ones);
    refused(&b, SC_UNSUPPORTED, "rank 17");
    b = tensor_head("t", 0, 0, NULL);
    refused(&b, SC_BAD_MODEL, "element type 0");
    b = tensor_head("t", 29, 0, NULL);
    refused(&b, SC_BAD_MODEL, "element type 29");
    b = tensor_head("t", SC_F32, 0, NULL);
    put_int(&b, 14, 1);
    refused(&b, SC_BAD_MODEL, "external data where none can be");
}

/* A model with one sparse initializer w. */
static enum sc_status open_sparse(
    const struct bytes *values, const struct bytes *indices, int rank, const int64_t *dims, struct sc_model **model)
{
    struct bytes sparse = {.n = 0}, graph = {.n = 0};
    put_message(&sparse, 1, values);
    put_message(&sparse, 2, indices);
    put_packed(&sparse, 3, rank, dims);
    const struct bytes n = node("Add", "x w", "y");
    put_message(&graph, 15, &sparse);
    put_message(&graph, 1, &n);
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 11, 17);
    char path[128];
    return sc_model_open(write_file(path, sizeof path, case_folder, "s.onnx", &b), model);
}

static void sparse_initializers_are_expanded(void **state)
{
    (void)state;
    const int64_t dims[] = {2, 3}, two = 2;
    struct bytes values = tensor_head("w", SC_F32, 1, &two);
    put_bytes(&values, 9, (const float[]){5, 6}, 8);
    const struct bytes linear = numbers(SC_I64, 7, 2, 2, (const int64_t[]){1, 5});
    struct bytes rows = tensor_head("i", SC_I64, 2, (const int64_t[]){2, 2});
    put_packed(&rows, 7, 4, (const int64_t[]){0, 1, 1, 2});
    const float dense[] = {0, 5, 0, 0, 0, 6};
    for (int form = 0; form < 2; form++) {
        struct sc_model *model = NULL;
        assert_int_equal(open_sparse(&values, form ? &rows : &linear, 2, dims, &model), SC_OK);
        struct sc_tensor tensor;
        struct sc_arena arena = {0};
        assert_int_equal(sc_weight_tensor(&model->graph->weights[0], &arena, &tensor), SC_OK);
        assert_memory_equal(tensor.data, dense, sizeof dense);
        sc_arena_release(&arena);
        sc_model_close(model);
    }
}

static void bad_sparse_initializers_are_refused(void **state)
{
    (void)state;
    const int64_t two = 2;
    struct bytes values = tensor_head("w", SC_F32, 1, &two);
    put_bytes(&values, 9, (const float[]){5, 6}, 8);
    static const int64_t indices[][2] = {{0, 6}, {-1, 2}, {3, 3}, {4, 1}, {0, INT64_MAX}};
    struct sc_model *model = NULL;
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        const struct bytes list = numbers(SC_I64, 7, 2, 2, indices[i]);
        assert_int_equal(open_sparse(&values, &list, 2, (const int64_t[]){2, 3}, &model), SC_BAD_MODEL);
        assert_non_null(strstr(sc_error_last()->text, "indices"));
    }
    const struct bytes good = numbers(SC_I64, 7, 2, 2, (const int64_t[]){0, 1});
    const struct bytes three = numbers(SC_I64, 7, 3, 3, (const int64_t[]){0, 1, 2});
    assert_int_equal(open_sparse(&values, &three, 2, (const int64_t[]){2, 3}, &model), SC_BAD_MODEL);
    /* a few bytes that say they are 32 TiB */
    assert_int_equal(open_sparse(&values, &good, 2, (const int64_t[]){1 << 22, 1 << 21}, &model), SC_LIMIT);
}

static void weights_of_four_bits_are_unpacked(void **state)
{
    (void)state;
    struct bytes w = tensor_head("w", SC_I4, 1, &(const int64_t){3}), graph = {.n = 0};
    put_bytes(&w, 9, "\xf1\x08", 2);
    const struct bytes n = node("Foo", "x w", "y");
    put_message(&graph, 5, &w);
    put_message(&graph, 1, &n);
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 11, 21);
    char path[128];
    struct sc_model *model = NULL;
    assert_int_equal(sc_model_open(write_file(path, sizeof path, case_folder, "p.onnx", &b), &model), SC_OK);
    const struct sc_weight *weight = &model->graph->weights[0];
    struct sc_tensor plain;
    struct sc_arena arena = {0};
    assert_int_equal(sc_weight_bytes(weight), 3);
    assert_int_equal(sc_weight_tensor(weight, &arena, &plain), SC_OK);
    assert_int_equal(plain.storage, SC_STORAGE_PLAIN);
    assert_memory_equal(plain.data, ((const int8_t[]){1, -1, -8}), 3);
    sc_arena_release(&arena);
    sc_model_close(model);
}

static void large_typed_values_are_decoded_only_when_asked_for(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct bytes graph = {.n = 0};
    struct bytes w = tensor_head("w", SC_I64, 1, &(const int64_t){N});
    static int64_t values[N];
    for (int i = 0; i < N; i++) {
        values[i] = i % 100;
    }
    put_packed(&w, 7, N, values);
    const struct bytes n = node("Foo", "x w", "y");
    put_message(&graph, 5, &w);
    put_message(&graph, 1, &n);
    close_graph(&graph);
    const struct bytes b = model_of(&graph, 11, 21);
    char path[128];
    struct sc_model *model = NULL;
    assert_int_equal(sc_model_open(write_file(path, sizeof path, case_folder, "l.onnx", &b), &model), SC_OK);
    const struct sc_weight *weight = &model->graph->weights[0];
    assert_true(!weight->decoded && !weight->raw && weight->message && !weight->shape.data);
    struct sc_tensor tensor;
    struct sc_arena arena = {0};
    assert_int_equal(sc_weight_tensor(weight, &arena, &tensor), SC_OK);
    assert_memory_equal(tensor.data, values, sizeof values);
    sc_arena_release(&arena);
    sc_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int32_data_holds_all_small_types),
        cmocka_unit_test(sub_byte_types_in_int32_data_are_packed_bytes),
        cmocka_unit_test(wide_types_have_fields_of_their_own),
        cmocka_unit_test(numbers_may_come_singly_and_in_several_runs),
        cmocka_unit_test(raw_data_is_taken_as_it_lies),
        cmocka_unit_test(strings_may_hold_anything),
        cmocka_unit_test(empty_and_scalar_tensors_are_tensors),
        cmocka_unit_test(sizes_that_do_not_agree_are_refused),
        cmocka_unit_test(bad_dims_and_types_are_refused),
        cmocka_unit_test(sparse_initializers_are_expanded),
        cmocka_unit_test(bad_sparse_initializers_are_refused),
        cmocka_unit_test(weights_of_four_bits_are_unpacked),
        cmocka_unit_test(large_typed_values_are_decoded_only_when_asked_for),
    };
    return cmocka_run_group_tests(tests, make_case_folder, remove_case_folder);
}
