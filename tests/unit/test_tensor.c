/* SPDX-License-Identifier: Apache-2.0
 * Shapes, strided copies, packed storage and values. Copies are compared with an index-by-index walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tensor/pack.h"
#include "tensor/value.h"

static void types_have_the_numbers_of_the_format(void **state)
{
    (void)state;
    assert_int_equal(SC_F32, 1);
    assert_int_equal(SC_BF16, 16);
    assert_int_equal(SC_F6E3M2, 28);
    assert_string_equal(sc_type_name(SC_F8E4M3FNUZ), "float8e4m3fnuz");
    assert_int_equal(sc_type_find("int64", 5), SC_I64);
    assert_int_equal(sc_type_find("int6", 4), SC_TYPE_NONE);
    assert_false(sc_type_valid(0));
    assert_false(sc_type_valid(29));
    assert_false(sc_type_valid(INT64_MAX));
    assert_int_equal(sc_type_bytes((enum sc_type)1000), 0);
}

static void overflowing_and_negative_dims_are_refused(void **state)
{
    (void)state;
    const int64_t huge[] = {INT64_MAX, INT64_MAX};
    const int64_t hidden[] = {0, INT64_MAX, 4};
    const int64_t negative[] = {2, -1};
    const int64_t edge[] = {(int64_t)1 << 44};
    const int64_t past[] = {((int64_t)1 << 44) + 1};
    assert_int_not_equal(sc_dims_check("x", SC_F32, 2, huge), SC_OK);
    assert_int_not_equal(sc_dims_check("x", SC_F32, 3, hidden), SC_OK);
    assert_int_not_equal(sc_dims_check("x", SC_F32, 2, negative), SC_OK);
    assert_int_equal(sc_dims_check("x", SC_F32, 1, edge), SC_OK);
    assert_int_not_equal(sc_dims_check("x", SC_F32, 1, past), SC_OK);
    assert_int_not_equal(sc_dims_check("x", SC_F32, SC_MAX_RANK + 1, huge), SC_OK);
    assert_int_equal(sc_dims_check("x", SC_F32, 0, NULL), SC_OK);
}

static void packed_sizes_round_up_to_bytes(void **state)
{
    (void)state;
    assert_int_equal(sc_packed_bytes(SC_I4, 5), 3);
    assert_int_equal(sc_packed_bytes(SC_U2, 5), 2);
    assert_int_equal(sc_packed_bytes(SC_F6E2M3, 4), 3);
    assert_int_equal(sc_packed_bytes(SC_F6E2M3, 5), 4);
    assert_int_equal(sc_packed_bytes(SC_F32, 5), 20);
    assert_int_equal(sc_packed_bytes(SC_C128, (int64_t)1 << 42), (int64_t)1 << 46);
    assert_int_equal(sc_packed_bytes(SC_U4, 0), 0);
}

static void density_ignores_dims_of_one_and_empty_tensors(void **state)
{
    (void)state;
    struct sc_tensor tensor;
    sc_tensor_init(&tensor, SC_F32, 3, (const int64_t[]){2, 1, 3});
    assert_true(sc_tensor_is_dense(&tensor));
    tensor.strides[1] = 77;
    assert_true(sc_tensor_is_dense(&tensor));
    tensor.strides[0] = 4;
    assert_false(sc_tensor_is_dense(&tensor));
    tensor.dims[2] = 0;
    assert_true(sc_tensor_is_dense(&tensor));
    sc_tensor_init(&tensor, SC_F32, 0, NULL);
    assert_true(sc_tensor_is_dense(&tensor));
    assert_int_equal(sc_tensor_count(&tensor), 1);
}

/* The slow definition: one element at a time, by its index. */
static void copy_by_index(const struct sc_tensor *from, char *to)
{
    const size_t width = sc_type_bytes(from->type);
    const int64_t count = sc_tensor_count(from);
    for (int64_t e = 0; e < count; e++) {
        int64_t rest = e, at = 0;
        for (int i = from->rank - 1; i >= 0; i--) {
            at += rest % from->dims[i] * from->strides[i];
            rest /= from->dims[i];
        }
        memcpy(to + (size_t)e * width, (const char *)from->data + at * (int64_t)width, width);
    }
}

static void copies_of_any_strides_equal_the_slow_walk(void **state)
{
    (void)state;
    static unsigned char memory[1 << 20], fast[1 << 20], slow[1 << 20];
    static const enum sc_type types[] = {SC_U8, SC_F16, SC_F32, SC_I64, SC_C128};
    for (size_t i = 0; i < sizeof memory; i++) {
        memory[i] = (unsigned char)(i * 2654435761u >> 13);
    }
    srand(1);
    for (int round = 0; round < 3000; round++) {
        struct sc_tensor t;
        int64_t dims[5];
        const int rank = rand() % 6;
        for (int i = 0; i < rank; i++) {
            dims[i] = rand() % 8 == 0 ? rand() % 40 : 1 + rand() % 6;
        }
        if (sc_dims_product(dims, 0, rank) > 20000) {
            continue;
        }
        sc_tensor_init(&t, types[round % 5], rank, dims);
        int64_t low = 0, high = 0;
        for (int i = rank - 1; i > 0; i--) { /* permute */
            const int j = rand() % (i + 1);
            const int64_t d = t.dims[i], s = t.strides[i];
            t.dims[i] = t.dims[j], t.strides[i] = t.strides[j];
            t.dims[j] = d, t.strides[j] = s;
        }
        for (int i = 0; i < rank; i++) { /* broadcast, reverse, step */
            const int change = rand() % 8;
            t.strides[i] *= change == 0 ? 0 : change == 1 ? -1 : change == 2 ? 2 : 1;
            const int64_t reach = t.dims[i] > 0 ? (t.dims[i] - 1) * t.strides[i] : 0;
            *(reach < 0 ? &low : &high) += reach;
        }
        const int64_t width = (int64_t)sc_type_bytes(t.type);
        if ((high - low + 1) * width > (int64_t)sizeof memory) {
            continue;
        }
        t.data = memory - low * width;
        sc_tensor_copy_dense(&t, fast);
        copy_by_index(&t, (char *)slow);
        assert_memory_equal(fast, slow, (size_t)(sc_tensor_count(&t) * width));
    }
}

static void packed_elements_lie_low_bits_first(void **state)
{
    (void)state;
    const unsigned char nibbles[] = {0x21, 0xf8, 0x07};
    signed char plain[8];
    sc_unpack(SC_I4, nibbles, 0, 5, plain);
    assert_memory_equal(plain, ((const signed char[]){1, 2, -8, -1, 7}), 5);
    sc_unpack(SC_U4, nibbles, 1, 3, plain);
    assert_memory_equal(plain, ((const signed char[]){2, 8, 15}), 3);
    const unsigned char pairs[] = {0xe4}; /* 0, 1, 2, 3 */
    sc_unpack(SC_I2, pairs, 0, 4, plain);
    assert_memory_equal(plain, ((const signed char[]){0, 1, -2, -1}), 4);
    sc_unpack(SC_U2, pairs, 1, 3, plain);
    assert_memory_equal(plain, ((const signed char[]){1, 2, 3}), 3);
    const unsigned char sixes[] = {0x41, 0x20, 0x0c}; /* 1, 33 (low bits 01, high 0000), 2 ... as a bit stream */
    sc_unpack(SC_F6E2M3, sixes, 0, 4, plain);
    assert_memory_equal(plain, ((const signed char[]){1, 1, 2, 3}), 4);
}

static void packing_undoes_unpacking(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_I4, SC_U4, SC_I2, SC_U2, SC_F4E2M1, SC_F6E2M3, SC_F6E3M2, SC_I8, SC_F32};
    unsigned char packed[64], again[64], plain[256];
    for (size_t i = 0; i < sizeof packed; i++) {
        packed[i] = (unsigned char)(i * 37 + 11);
    }
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        const int64_t count = 64 * 8 / sc_type_bits(types[t]) / 4 * 4;
        const size_t bytes = sc_packed_bytes(types[t], count);
        sc_unpack(types[t], packed, 0, count, plain);
        sc_pack(types[t], plain, count, again);
        assert_memory_equal(packed, again, bytes);
        for (int64_t from = 0; from < 9; from++) { /* any start gives the same elements */
            const size_t width = sc_type_bytes(types[t]);
            unsigned char part[256];
            sc_unpack(types[t], packed, from, 7, part);
            assert_memory_equal(part, plain + (size_t)from * width, 7 * width);
        }
    }
}

static void values_are_copied_deeply(void **state)
{
    (void)state;
    struct sc_arena arena = {0};
    char text[] = "abc";
    struct sc_string string = {text, 3};
    struct sc_value items[2] = {{.kind = SC_KIND_TENSOR}, {.kind = SC_KIND_TENSOR}};
    sc_tensor_init(&items[0].u.tensor, SC_STRING, 0, NULL);
    items[0].u.tensor.data = &string;
    float numbers[] = {1, 2, 3, 4, 5, 6};
    sc_tensor_init(&items[1].u.tensor, SC_F32, 2, (const int64_t[]){3, 2});
    items[1].u.tensor.strides[0] = 1, items[1].u.tensor.strides[1] = 3; /* the transpose of [2, 3] */
    items[1].u.tensor.data = numbers;
    struct sc_value sequence = {.kind = SC_KIND_SEQUENCE};
    sequence.u.sequence.n = 2, sequence.u.sequence.items = items;
    struct sc_value optional = {.kind = SC_KIND_OPTIONAL};
    optional.u.optional.item = &sequence, optional.u.optional.item_kind = SC_KIND_SEQUENCE;
    struct sc_value copy;
    assert_int_equal(sc_value_copy(&arena, &optional, &copy), SC_OK);
    memset(text, 'x', 3);
    memset(numbers, 0, sizeof numbers);
    const struct sc_value *inside = copy.u.optional.item;
    assert_int_equal(inside->kind, SC_KIND_SEQUENCE);
    const struct sc_string *s = inside->u.sequence.items[0].u.tensor.data;
    assert_string_equal(s->data, "abc");
    assert_memory_equal(
        inside->u.sequence.items[1].u.tensor.data, ((const float[]){1, 4, 2, 5, 3, 6}), 6 * sizeof(float));
    const struct sc_value caches = {.kind = SC_KIND_STATE};
    assert_int_equal(sc_value_copy(&arena, &caches, &copy), SC_INTERNAL);
    sc_arena_release(&arena);
}

static void tensors_are_named_by_type_and_dims(void **state)
{
    (void)state;
    struct sc_tensor t;
    char buffer[64];
    sc_tensor_init(&t, SC_F32, 3, (const int64_t[]){2, 3, 64});
    assert_string_equal(sc_tensor_text(&t, buffer, sizeof buffer), "float[2,3,64]");
    sc_tensor_init(&t, SC_I64, 0, NULL);
    assert_string_equal(sc_tensor_text(&t, buffer, sizeof buffer), "int64[]");
    assert_string_equal(sc_tensor_text(&t, buffer, 4), "int");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_the_numbers_of_the_format),
        cmocka_unit_test(overflowing_and_negative_dims_are_refused),
        cmocka_unit_test(packed_sizes_round_up_to_bytes),
        cmocka_unit_test(density_ignores_dims_of_one_and_empty_tensors),
        cmocka_unit_test(copies_of_any_strides_equal_the_slow_walk),
        cmocka_unit_test(packed_elements_lie_low_bits_first),
        cmocka_unit_test(packing_undoes_unpacking),
        cmocka_unit_test(values_are_copied_deeply),
        cmocka_unit_test(tensors_are_named_by_type_and_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
