/* SPDX-License-Identifier: Apache-2.0
 * Sequences and optionals in files: read from bytes written by hand, written and read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/model.h"
#include "onnx_bytes.h"

static enum sc_status read_value(
    const struct bytes *b, enum sc_kind kind, struct sc_arena *arena, struct sc_value *value)
{
    char path[128];
    struct sc_fact fact;
    sc_fact_init(&fact);
    fact.kind = kind;
    fact.type = SC_F32;
    fact.item_kind = SC_KIND_TENSOR;
    return sc_value_read_pb(write_file(path, sizeof path, case_folder, "v.pb", b), &fact, arena, value);
}

static struct bytes tensor(float first)
{
    struct bytes b = tensor_head("", SC_F32, 1, (const int64_t[]){2});
    put_bytes(&b, 9, (const float[]){first, -first}, 8);
    return b;
}

static void sequences_of_tensors_are_read(void **state)
{
    (void)state;
    struct bytes b = {.n = 0};
    const struct bytes one = tensor(1), two = tensor(2);
    put_text(&b, 1, "s");
    put_int(&b, 2, 1);
    put_message(&b, 3, &one);
    put_message(&b, 3, &two);
    struct sc_arena arena = {0};
    struct sc_value value;
    assert_int_equal(read_value(&b, SC_KIND_SEQUENCE, &arena, &value), SC_OK);
    assert_int_equal(value.kind, SC_KIND_SEQUENCE);
    assert_int_equal(value.u.sequence.n, 2);
    assert_int_equal(value.u.sequence.type, SC_F32);
    assert_memory_equal(value.u.sequence.items[1].u.tensor.data, ((const float[]){2, -2}), 8);
    sc_arena_release(&arena);
}

static void empty_sequences_take_their_type_from_the_declaration(void **state)
{
    (void)state;
    struct bytes b = {.n = 0};
    put_int(&b, 2, 1);
    struct sc_arena arena = {0};
    struct sc_value value;
    assert_int_equal(read_value(&b, SC_KIND_SEQUENCE, &arena, &value), SC_OK);
    assert_int_equal(value.u.sequence.n, 0);
    assert_int_equal(value.u.sequence.type, SC_F32);
    sc_arena_release(&arena);
}

static void optionals_hold_one_value_or_none(void **state)
{
    (void)state;
    struct bytes full = {.n = 0}, empty = {.n = 0}, nested = {.n = 0}, sequence = {.n = 0};
    const struct bytes t = tensor(3);
    put_int(&full, 2, 1);
    put_message(&full, 3, &t);
    put_int(&empty, 2, 1);
    put_int(&sequence, 2, 1);
    put_message(&sequence, 3, &t);
    put_int(&nested, 2, 3);
    put_message(&nested, 5, &sequence);
    struct sc_arena arena = {0};
    struct sc_value value;
    assert_int_equal(read_value(&full, SC_KIND_OPTIONAL, &arena, &value), SC_OK);
    assert_int_equal(value.u.optional.type, SC_F32);
    assert_memory_equal(value.u.optional.item->u.tensor.data, ((const float[]){3, -3}), 8);
    assert_int_equal(read_value(&empty, SC_KIND_OPTIONAL, &arena, &value), SC_OK);
    assert_null(value.u.optional.item);
    assert_int_equal(value.u.optional.item_kind, SC_KIND_TENSOR);
    assert_int_equal(read_value(&nested, SC_KIND_OPTIONAL, &arena, &value), SC_OK);
    assert_int_equal(value.u.optional.item->u.sequence.n, 1);
    sc_arena_release(&arena);
}

/* {"b": first, <key>: second} as a MapProto. */
static struct bytes map_of(const struct bytes *first, const char *key, const struct bytes *second)
{
    struct bytes b = {.n = 0}, values = {.n = 0};
    put_int(&values, 2, 1);
    put_message(&values, 3, first);
    put_message(&values, 3, second);
    put_int(&b, 2, SC_STRING);
    put_text(&b, 4, "b");
    put_text(&b, 4, key);
    put_message(&b, 5, &values);
    return b;
}

static struct bytes scalar(float number)
{
    struct bytes b = tensor_head("", SC_F32, 0, NULL);
    put_bytes(&b, 9, &number, 4);
    return b;
}

static void maps_are_read_and_written_in_the_order_of_their_keys(void **state)
{
    (void)state;
    const struct bytes one = scalar(1), two = scalar(2), map = map_of(&one, "a", &two);
    struct bytes sequence = {.n = 0};
    put_message(&sequence, 6, &map);
    struct sc_arena arena = {0};
    struct sc_value value, again;
    assert_int_equal(read_value(&sequence, SC_KIND_SEQUENCE, &arena, &value), SC_OK);
    assert_int_equal(value.u.sequence.n, 1);
    assert_true(sc_value_is_map(&value.u.sequence.items[0]));
    assert_int_equal(read_value(&map, SC_KIND_MAP, &arena, &value), SC_OK);
    assert_true(sc_value_is_map(&value));
    assert_memory_equal(value.u.sequence.items[1].u.tensor.data, ((const float[]){2, 1}), 8);
    char path[] = "/tmp/test_model_value_pb_XXXXXX";
    struct sc_fact fact;
    sc_fact_of(&fact, &value);
    assert_int_equal(fact.kind, SC_KIND_MAP);
    assert_int_equal(fact.key_type, SC_STRING);
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(sc_value_write_pb(path, "m", &value), SC_OK);
    assert_int_equal(sc_value_read_pb(path, &fact, &arena, &again), SC_OK);
    assert_int_equal(unlink(path), 0);
    assert_true(sc_value_is_map(&again));
    assert_memory_equal(again.u.sequence.items[1].u.tensor.data, ((const float[]){2, 1}), 8);
    sc_arena_release(&arena);
}

static void maps_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const struct bytes one = scalar(1), wide = tensor(1), none = {.n = 0};
    const struct bytes two_each = map_of(&one, "a", &wide), twice = map_of(&one, "b", &one);
    struct bytes more_keys = map_of(&one, "a", &one), of_floats = {.n = 0};
    struct sc_arena arena = {0};
    struct sc_value value;
    assert_int_equal(read_value(&two_each, SC_KIND_MAP, &arena, &value), SC_BAD_MODEL);
    put_text(&more_keys, 4, "c");
    assert_int_equal(read_value(&more_keys, SC_KIND_MAP, &arena, &value), SC_BAD_MODEL);
    put_int(&of_floats, 2, SC_F32);
    assert_int_equal(read_value(&of_floats, SC_KIND_MAP, &arena, &value), SC_UNSUPPORTED);
    assert_int_equal(read_value(&none, SC_KIND_MAP, &arena, &value), SC_UNSUPPORTED);
    assert_int_equal(read_value(&twice, SC_KIND_MAP, &arena, &value), SC_BAD_INPUT);
    sc_arena_release(&arena);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    struct bytes mixed = {.n = 0}, two = {.n = 0}, map = {.n = 0}, deep = {.n = 0}, none = {.n = 0};
    const struct bytes t = tensor(3);
    struct sc_arena arena = {0};
    struct sc_value value;
    put_message(&mixed, 3, &t);
    put_message(&mixed, 5, &none);
    assert_int_equal(read_value(&mixed, SC_KIND_SEQUENCE, &arena, &value), SC_BAD_MODEL);
    put_message(&two, 3, &t);
    put_message(&two, 5, &none);
    assert_int_equal(read_value(&two, SC_KIND_OPTIONAL, &arena, &value), SC_BAD_MODEL);
    put_message(&map, 6, &none);
    assert_int_equal(read_value(&map, SC_KIND_SEQUENCE, &arena, &value), SC_UNSUPPORTED);
    for (int i = 0; i < 20; i++) {
        struct bytes around = {.n = 0};
        put_message(&around, 5, &deep);
        deep = around;
    }
    assert_int_equal(read_value(&deep, SC_KIND_SEQUENCE, &arena, &value), SC_LIMIT);
    struct sc_fact fact;
    sc_fact_init(&fact);
    assert_int_equal(sc_value_read_pb("/nonexistent.pb", &fact, &arena, &value), SC_IO);
    sc_arena_release(&arena);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    const signed char nibbles[] = {-8, 7, -1};
    const struct sc_string strings[] = {{"a\0b", 3}, {"", 0}};
    struct sc_value items[3] = {{.kind = SC_KIND_TENSOR}, {.kind = SC_KIND_TENSOR}, {.kind = SC_KIND_TENSOR}};
    sc_tensor_init(&items[0].u.tensor, SC_F32, 2, (const int64_t[]){3, 2});
    items[0].u.tensor.strides[0] = 1, items[0].u.tensor.strides[1] = 3;
    items[0].u.tensor.data = (void *)(uintptr_t)numbers;
    sc_tensor_init(&items[1].u.tensor, SC_I4, 1, (const int64_t[]){3});
    items[1].u.tensor.data = (void *)(uintptr_t)nibbles;
    sc_tensor_init(&items[2].u.tensor, SC_STRING, 1, (const int64_t[]){2});
    items[2].u.tensor.data = (void *)(uintptr_t)strings;
    struct sc_value sequence = {.kind = SC_KIND_SEQUENCE}, optional = {.kind = SC_KIND_OPTIONAL};
    sequence.u.sequence.n = 3, sequence.u.sequence.items = items;
    optional.u.optional.item = &sequence;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/w.pb", case_folder);
    assert_int_equal(sc_value_write_pb(path, "o", &optional), SC_OK);
    struct sc_arena arena = {0};
    struct sc_value value;
    struct sc_fact fact;
    sc_fact_init(&fact);
    fact.kind = SC_KIND_OPTIONAL;
    assert_int_equal(sc_value_read_pb(path, &fact, &arena, &value), SC_OK);
    const struct sc_value *read = value.u.optional.item->u.sequence.items;
    assert_memory_equal(read[0].u.tensor.data, ((const float[]){1, 4, 2, 5, 3, 6}), 24);
    assert_memory_equal(read[1].u.tensor.data, nibbles, 3);
    assert_memory_equal(((const struct sc_string *)read[2].u.tensor.data)[0].data, "a\0b", 3);
    const struct sc_value caches = {.kind = SC_KIND_STATE};
    assert_int_not_equal(sc_value_write_pb(path, "c", &caches), SC_OK);
    sc_arena_release(&arena);
}

static void written_tensors_have_the_format_s_bytes(void **state)
{
    (void)state;
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    const signed char nibbles[] = {1, -1, -8};
    sc_tensor_init(&value.u.tensor, SC_I4, 1, (const int64_t[]){3});
    value.u.tensor.data = (void *)(uintptr_t)nibbles;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/b.pb", case_folder);
    assert_int_equal(sc_value_write_pb(path, "t", &value), SC_OK);
    const unsigned char expected[] = {0x08, 3, 0x10, 22, 0x42, 1, 't', 0x4a, 2, 0xf1, 0x08};
    struct sc_file file;
    assert_int_equal(sc_file_map(path, &file), SC_OK);
    assert_int_equal(file.bytes, sizeof expected);
    assert_memory_equal(file.data, expected, sizeof expected);
    sc_file_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_of_tensors_are_read),
        cmocka_unit_test(empty_sequences_take_their_type_from_the_declaration),
        cmocka_unit_test(optionals_hold_one_value_or_none),
        cmocka_unit_test(maps_are_read_and_written_in_the_order_of_their_keys),
        cmocka_unit_test(maps_that_do_not_fit_are_refused),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(written_tensors_have_the_format_s_bytes),
    };
    return cmocka_run_group_tests(tests, make_case_folder, remove_case_folder);
}
