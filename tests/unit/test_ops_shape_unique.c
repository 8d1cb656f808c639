/* SPDX-License-Identifier: Apache-2.0
 * Unique of single elements of every type, against a search through all of them in the order of sc_element_order. */
#include "op_harness.h"
#include "ops/shape/element.h"

enum { N = 700 };

static const void *element(const struct sc_tensor *x, int64_t i)
{
    return (const char *)x->data + (size_t)i * sc_type_bytes(x->type);
}

static bool is_first(const struct sc_tensor *x, int64_t i)
{
    bool first = true;
    for (int64_t k = 0; first && k < i; k++) {
        first = sc_element_order(x->type, element(x, k), element(x, i)) != 0;
    }
    return first;
}

/* How many equal element i, and how many different ones come before it. */
struct place {
    int64_t count, before;
};

static struct place find(const struct sc_tensor *x, const bool *firsts, int64_t i, bool by_value)
{
    struct place place = {0, 0};
    for (int64_t k = 0; k < N; k++) {
        const int order = sc_element_order(x->type, element(x, k), element(x, i));
        place.count += order == 0;
        place.before += firsts[k] && (by_value ? order < 0 : k < i);
    }
    return place;
}

static void check(enum sc_type type, const void *data, bool by_value)
{
    struct op_test t;
    op_open(&t, "", "Unique", 11);
    op_int(&t, "sorted", by_value);
    op_in_raw(&t, type, OP_DIMS(N), data);
    op_passes(&t, 4);
    const struct sc_tensor *x = &t.in[0].u.tensor, *y = &t.out[0].u.tensor, *firsts = &t.out[1].u.tensor,
                           *inverse = &t.out[2].u.tensor, *counts = &t.out[3].u.tensor;
    int64_t groups = 0;
    bool first[N];
    for (int64_t i = 0; i < N; i++) {
        first[i] = is_first(x, i);
    }
    for (int64_t i = 0; i < N; i++) {
        const int64_t at = sc_index_at(inverse, i);
        assert_true(at >= 0 && at < sc_tensor_count(y));
        assert_int_equal(sc_element_order(type, element(y, at), element(x, i)), 0);
        if (first[i]) {
            const struct place place = find(x, first, i, by_value);
            assert_int_equal(at, place.before);
            assert_int_equal(sc_index_at(firsts, at), i);
            assert_int_equal(sc_index_at(counts, at), place.count);
            groups++;
        }
    }
    assert_int_equal(groups, sc_tensor_count(y));
    assert_int_equal(groups, sc_tensor_count(firsts));
    assert_int_equal(groups, sc_tensor_count(counts));
    op_close(&t);
}

static void single_elements_of_every_type_are_grouped(void **state)
{
    (void)state;
    static const double special[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1, -1, 0.5, -2.5, 200};
    static const enum sc_type types[] = {
        SC_F32, SC_F64, SC_F16, SC_I8, SC_I16, SC_I32, SC_I64, SC_U8, SC_U16, SC_U32, SC_U64, SC_BOOL};
    static double x[N];
    static uint64_t data[N];
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        for (int i = 0; i < N; i++) {
            x[i] = i % 3 ? (double)(i * 7919 % 83 - 20) / 2 : special[i / 3 % 10];
        }
        sc_convert(SC_F64, x, types[k], data, N, 0);
        if (types[k] == SC_I64 || types[k] == SC_U64) { /* beyond 2^53 too */
            for (int i = 0; i < N; i += 2) {
                data[i] = (uint64_t)(i % 32) * 0x3000000000000001U + (uint64_t)i % 3;
            }
        }
        check(types[k], data, true);
        check(types[k], data, false);
    }
}

static void nothing_has_no_groups(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "Unique", 11);
    op_in(&t, SC_F32, OP_DIMS(0), NULL);
    op_passes(&t, 4);
    op_has_shape(&t, 0, SC_F32, OP_DIMS(0));
    op_has_shape(&t, 3, SC_I64, OP_DIMS(0));
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_elements_of_every_type_are_grouped),
        cmocka_unit_test(nothing_has_no_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
