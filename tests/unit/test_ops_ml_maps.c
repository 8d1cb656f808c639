/* SPDX-License-Identifier: Apache-2.0
 * Claims about ZipMap, CastMap and DictVectorizer. Numbers are worked out by hand from the clauses. */
#include "op_harness.h"

/* A map whose memory is the caller's. */
struct entries {
    struct sc_value items[2];
};

static void op_in_map(
    struct op_test *t, struct entries *e, enum sc_type key_type, void *keys, enum sc_type type, void *values, int64_t n)
{
    for (int c = 0; c < 2; c++) {
        e->items[c].kind = SC_KIND_TENSOR;
        sc_tensor_init(&e->items[c].u.tensor, c ? type : key_type, 1, &n);
        e->items[c].u.tensor.data = c ? values : keys;
    }
    const struct sc_value map = {.kind = SC_KIND_MAP, .u.sequence = {.type = type, .n = 2, .items = e->items}};
    op_in_value(t, &map);
}

static void rows_become_maps_in_the_order_of_their_keys(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "ai.onnx.ml", "ZipMap", 1);
    op_ints(&t, "classlabels_int64s", 3, (const int64_t[]){5, -1, 2});
    op_in(&t, SC_F32, OP_DIMS(2, 3), OP_VALUES(1, 2, 3, 4, 5, 6));
    assert_int_equal(op_run(&t, 1), SC_OK);
    const struct sc_value *maps = t.out[0].u.sequence.items;
    assert_int_equal(t.out[0].u.sequence.n, 2);
    assert_true(sc_value_is_map(&maps[0]) && sc_value_is_map(&maps[1]));
    assert_memory_equal(maps[0].u.sequence.items[0].u.tensor.data, ((const int64_t[]){-1, 2, 5}), 24);
    assert_memory_equal(maps[1].u.sequence.items[1].u.tensor.data, ((const float[]){5, 6, 4}), 12);
    op_close(&t);
}

static void labels_have_to_be_one_a_column_and_none_twice(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "ai.onnx.ml", "ZipMap", 1);
    op_ints(&t, "classlabels_int64s", 2, (const int64_t[]){1, 2});
    op_in(&t, SC_F32, OP_DIMS(1, 3), OP_VALUES(1, 2, 3));
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (ZipMap): X has 3 columns for 2 class labels");
    op_close(&t);
    op_open(&t, "ai.onnx.ml", "ZipMap", 1);
    op_ints(&t, "classlabels_int64s", 2, (const int64_t[]){1, 1});
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(1, 2));
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (ZipMap): a class label is given twice");
    op_close(&t);
    op_open(&t, "ai.onnx.ml", "ZipMap", 1);
    op_in(&t, SC_F32, OP_DIMS(1, 2), OP_VALUES(1, 2));
    op_fails(
        &t, 1, SC_BAD_MODEL, "node 'n' (ZipMap): has none of 'classlabels_int64s' and 'classlabels_strings', want one");
    op_close(&t);
}

static void values_go_where_the_vocabulary_has_their_key(void **state)
{
    (void)state;
    struct sc_string keys[2] = {{"a", 1}, {"c", 1}};
    float values[2] = {4, 8};
    static const char *const words[] = {"a", "c", "b", "z"};
    struct sc_string vocabulary[4];
    struct entries e;
    struct op_test t;
    for (int i = 0; i < 4; i++) {
        vocabulary[i] = (struct sc_string){words[i], 1};
    }
    for (int short_of = 0; short_of < 2; short_of++) {
        op_open(&t, "ai.onnx.ml", "DictVectorizer", 1);
        struct sc_attribute *a = op_attribute(&t, "string_vocabulary", SC_ATTRIBUTE_STRINGS, short_of ? 1 : 4);
        a->u.strings = vocabulary;
        op_in_map(&t, &e, SC_STRING, keys, SC_F32, values, 2);
        if (short_of) {
            op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (DictVectorizer): 1 of 2 keys of X are not in the vocabulary");
        } else {
            assert_int_equal(op_run(&t, 1), SC_OK);
            op_gives(&t, 0, SC_F32, OP_DIMS(4), OP_VALUES(4, 8, 0, 0), 0);
        }
        op_close(&t);
    }
}

static void a_vocabulary_of_other_keys_is_refused(void **state)
{
    (void)state;
    struct sc_string keys[1] = {{"a", 1}};
    float values[1] = {4};
    struct entries e;
    struct op_test t;
    op_open(&t, "ai.onnx.ml", "DictVectorizer", 1);
    op_ints(&t, "int64_vocabulary", 1, (const int64_t[]){1});
    op_in_map(&t, &e, SC_STRING, keys, SC_F32, values, 1);
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (DictVectorizer): X is not a map with keys of int64");
    op_close(&t);
}

static void open_cast(struct op_test *t, struct entries *e, const char *to, const char *form, int64_t most)
{
    static int64_t keys[2] = {1, 3};
    static float values[2] = {2.5F, -1};
    op_open(t, "ai.onnx.ml", "CastMap", 1);
    op_text(t, "cast_to", to);
    op_text(t, "map_form", form);
    op_int(t, "max_map", most);
    op_in_map(t, e, SC_I64, keys, SC_F32, values, 2);
}

static void maps_are_packed_densely_or_by_their_keys(void **state)
{
    (void)state;
    struct entries e;
    struct op_test t;
    open_cast(&t, &e, "TO_FLOAT", "DENSE", 1);
    assert_int_equal(op_run(&t, 1), SC_OK);
    op_gives(&t, 0, SC_F32, OP_DIMS(1, 2), OP_VALUES(2.5, -1), 0);
    op_close(&t);
    open_cast(&t, &e, "TO_INT64", "SPARSE", 5);
    assert_int_equal(op_run(&t, 1), SC_OK);
    op_gives(&t, 0, SC_I64, OP_DIMS(1, 5), OP_VALUES(0, 2, 0, -1, 0), 0);
    op_close(&t);
    open_cast(&t, &e, "TO_STRING", "SPARSE", 4);
    assert_int_equal(op_run(&t, 1), SC_OK);
    op_gives_strings(&t, 0, OP_DIMS(1, 4), (const char *const[]){"", "2.5", "", "-1.0"});
    op_close(&t);
}

static void what_cast_map_cannot_do_is_refused(void **state)
{
    (void)state;
    struct entries e;
    struct op_test t;
    open_cast(&t, &e, "TO_FLOAT", "SPARSE", 3);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (CastMap): key 3 is not in 0 to max_map - 1, 2");
    op_close(&t);
    open_cast(&t, &e, "TO_DOUBLE", "DENSE", 1);
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (CastMap): cast_to is 'TO_DOUBLE', want TO_FLOAT, TO_INT64 or TO_STRING");
    op_close(&t);
    open_cast(&t, &e, "TO_FLOAT", "TIGHT", 1);
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (CastMap): map_form is 'TIGHT', want DENSE or SPARSE");
    op_close(&t);
    open_cast(&t, &e, "TO_FLOAT", "SPARSE", 0);
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (CastMap): max_map is 0, want 1 to 2147483647");
    op_close(&t);
    int64_t keys[1] = {0};
    struct sc_string words[1] = {{"x", 1}};
    op_open(&t, "ai.onnx.ml", "CastMap", 1);
    op_in_map(&t, &e, SC_I64, keys, SC_STRING, words, 1);
    op_fails(&t, 1, SC_BAD_INPUT, "node 'n' (CastMap): 'x' is not a number");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_maps_in_the_order_of_their_keys),
        cmocka_unit_test(labels_have_to_be_one_a_column_and_none_twice),
        cmocka_unit_test(values_go_where_the_vocabulary_has_their_key),
        cmocka_unit_test(a_vocabulary_of_other_keys_is_refused),
        cmocka_unit_test(maps_are_packed_densely_or_by_their_keys),
        cmocka_unit_test(what_cast_map_cannot_do_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
