/* SPDX-License-Identifier: Apache-2.0
 * Claims about comparing a value with a recorded one. */
#include <math.h>

#include "graph_case.h"
#include "tensor/narrow.h"

static const struct sc_tolerance loose = {.relative = 1e-3, .absolute = 1e-7};

static struct sc_value vector(enum sc_type type, int64_t n, void *data)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    sc_tensor_init(&value.u.tensor, type, 1, &n);
    value.u.tensor.data = data;
    return value;
}

static enum sc_status compare_floats(float a, float r)
{
    const struct sc_value x = vector(SC_F32, 1, &a), y = vector(SC_F32, 1, &r);
    return sc_compare_values("x", &x, &y, &loose);
}

static void floats_may_differ_by_the_tolerance(void **state)
{
    (void)state;
    assert_ok(compare_floats(1000.9F, 1000.0F));
    assert_fails(SC_BAD_INPUT, "element 0", compare_floats(1001.1F, 1000.0F));
    assert_ok(compare_floats(5e-8F, 0.0F));
    assert_fails(SC_BAD_INPUT, "recorded was 0", compare_floats(2e-7F, 0.0F));
    assert_ok(compare_floats(-0.0F, 0.0F));
}

static void nan_equals_nan_and_nothing_else(void **state)
{
    (void)state;
    assert_ok(compare_floats(NAN, -NAN));
    assert_int_equal(compare_floats(NAN, 1.0F), SC_BAD_INPUT);
    assert_int_equal(compare_floats(1.0F, NAN), SC_BAD_INPUT);
    assert_int_equal(compare_floats(NAN, INFINITY), SC_BAD_INPUT);
}

static void infinities_equal_themselves_alone(void **state)
{
    (void)state;
    assert_ok(compare_floats(INFINITY, INFINITY));
    assert_ok(compare_floats(-INFINITY, -INFINITY));
    assert_int_equal(compare_floats(INFINITY, -INFINITY), SC_BAD_INPUT);
    assert_int_equal(compare_floats(1.0F, INFINITY), SC_BAD_INPUT);
    assert_int_equal(compare_floats(INFINITY, 1.0F), SC_BAD_INPUT);
    assert_int_equal(compare_floats(3e38F, INFINITY), SC_BAD_INPUT);
}

static void what_is_small_may_differ_by_a_share_of_the_largest(void **state)
{
    (void)state;
    const struct sc_tolerance share = {.of_largest = 0.01};
    enum { N = 600 }; /* the largest lies in another window than what differs */
    float a[N] = {0}, r[N] = {0};
    r[0] = -INFINITY;
    r[1] = -200;
    memcpy(a, r, sizeof r);
    a[N - 1] = 1.9F;
    const struct sc_value x = vector(SC_F32, N, a), y = vector(SC_F32, N, r);
    assert_ok(sc_compare_values("x", &x, &y, &share));
    a[N - 1] = 2.125F;
    assert_fails(SC_BAD_INPUT, "element 599 is 2.125", sc_compare_values("x", &x, &y, &share));
}

static void the_first_difference_is_named(void **state)
{
    (void)state;
    float a[1000], r[1000];
    for (int i = 0; i < 1000; i++) {
        a[i] = r[i] = (float)i;
    }
    a[700] = 1.5F;
    a[900] = 0.0F;
    const struct sc_value x = vector(SC_F32, 1000, a), y = vector(SC_F32, 1000, r);
    assert_fails(
        SC_BAD_INPUT, "logits: element 700 is 1.5, recorded was 700", sc_compare_values("logits", &x, &y, &loose));
}

static void integers_and_booleans_are_compared_exactly(void **state)
{
    (void)state;
    int64_t a = INT64_C(9007199254740993), r = INT64_C(9007199254740992); /* equal as f64 */
    unsigned char t = 1, f = 0;
    const struct sc_value x = vector(SC_I64, 1, &a), y = vector(SC_I64, 1, &r);
    assert_ok(sc_compare_values("x", &x, &x, &loose));
    assert_int_equal(sc_compare_values("x", &x, &y, &loose), SC_BAD_INPUT);
    const struct sc_value yes = vector(SC_BOOL, 1, &t), no = vector(SC_BOOL, 1, &f);
    assert_int_equal(sc_compare_values("x", &yes, &no, &loose), SC_BAD_INPUT);
}

static void half_floats_are_compared_as_numbers(void **state)
{
    (void)state;
    uint16_t a = sc_f16_from_f32(1024.0F), r = sc_f16_from_f32(1025.0F), far = sc_f16_from_f32(1027.0F);
    const struct sc_value x = vector(SC_F16, 1, &a), y = vector(SC_F16, 1, &r), z = vector(SC_F16, 1, &far);
    assert_ok(sc_compare_values("x", &x, &y, &loose));
    assert_int_equal(sc_compare_values("x", &x, &z, &loose), SC_BAD_INPUT);
}

static void complex_numbers_are_compared_in_both_parts(void **state)
{
    (void)state;
    float a[4] = {1, 2, 3, 4}, r[4] = {1, 2, 3, 5};
    const struct sc_value x = vector(SC_C64, 2, a), y = vector(SC_C64, 2, r);
    assert_ok(sc_compare_values("x", &x, &x, &loose));
    assert_int_equal(sc_compare_values("x", &x, &y, &loose), SC_BAD_INPUT);
}

static void strings_are_compared_byte_for_byte(void **state)
{
    (void)state;
    struct sc_string a[2] = {{"same", 4}, {"a\0b", 3}}, r[2] = {{"same", 4}, {"a\0c", 3}},
                     shorter[2] = {{"same", 4}, {"a", 1}};
    const struct sc_value x = vector(SC_STRING, 2, a), y = vector(SC_STRING, 2, r), z = vector(SC_STRING, 2, shorter);
    assert_ok(sc_compare_values("x", &x, &x, &loose));
    assert_fails(SC_BAD_INPUT, "element 1", sc_compare_values("x", &x, &y, &loose));
    assert_fails(SC_BAD_INPUT, "element 1", sc_compare_values("x", &x, &z, &loose));
}

static void types_and_dims_must_be_equal(void **state)
{
    (void)state;
    float a[4] = {1, 2, 3, 4};
    int32_t i[4] = {1, 2, 3, 4};
    const struct sc_value x = vector(SC_F32, 4, a), shorter = vector(SC_F32, 3, a), other = vector(SC_I32, 4, i);
    struct sc_value square = x;
    sc_tensor_init(&square.u.tensor, SC_F32, 2, (const int64_t[]){2, 2});
    square.u.tensor.data = a;
    assert_fails(SC_BAD_INPUT, "float[3]", sc_compare_values("x", &x, &shorter, &loose));
    assert_fails(SC_BAD_INPUT, "int32[4]", sc_compare_values("x", &x, &other, &loose));
    assert_fails(SC_BAD_INPUT, "float[2,2]", sc_compare_values("x", &x, &square, &loose));
}

static void packed_recordings_are_unpacked(void **state)
{
    (void)state;
    signed char plain[3] = {-8, 7, 1};
    unsigned char packed[2] = {0x78, 0x01}, wrong[2] = {0x78, 0x02};
    const struct sc_value x = vector(SC_I4, 3, plain);
    struct sc_value y = vector(SC_I4, 3, packed), z = vector(SC_I4, 3, wrong);
    y.u.tensor.storage = z.u.tensor.storage = SC_STORAGE_PACKED;
    assert_ok(sc_compare_values("x", &x, &y, &loose));
    assert_fails(SC_BAD_INPUT, "element 2 is 1, recorded was 2", sc_compare_values("x", &x, &z, &loose));
}

static void sequences_are_compared_item_by_item(void **state)
{
    (void)state;
    float a = 1, b = 2;
    struct sc_value items[2] = {vector(SC_F32, 1, &a), vector(SC_F32, 1, &b)};
    struct sc_value swapped[2] = {items[1], items[0]};
    struct sc_value x = {.kind = SC_KIND_SEQUENCE}, y = x, one = x;
    x.u.sequence.n = y.u.sequence.n = 2;
    one.u.sequence.n = 1;
    x.u.sequence.items = one.u.sequence.items = items;
    y.u.sequence.items = swapped;
    assert_ok(sc_compare_values("x", &x, &x, &loose));
    assert_int_equal(sc_compare_values("x", &x, &y, &loose), SC_BAD_INPUT);
    assert_fails(SC_BAD_INPUT, "2 items, recorded was 1", sc_compare_values("x", &x, &one, &loose));
    assert_fails(SC_BAD_INPUT, "got a sequence, recorded was a tensor", sc_compare_values("x", &x, &items[0], &loose));
}

static void an_optional_equals_what_it_holds(void **state)
{
    (void)state;
    float a = 1, b = 2;
    const struct sc_value one = vector(SC_F32, 1, &a), two = vector(SC_F32, 1, &b);
    struct sc_value full = {.kind = SC_KIND_OPTIONAL}, other = full, empty = full;
    full.u.optional.item = &one;
    other.u.optional.item = &two;
    assert_ok(sc_compare_values("x", &full, &full, &loose));
    assert_ok(sc_compare_values("x", &full, &one, &loose));
    assert_ok(sc_compare_values("x", &one, &full, &loose));
    assert_ok(sc_compare_values("x", &empty, &empty, &loose));
    assert_int_equal(sc_compare_values("x", &full, &other, &loose), SC_BAD_INPUT);
    assert_int_equal(sc_compare_values("x", &full, &empty, &loose), SC_BAD_INPUT);
    assert_int_equal(sc_compare_values("x", &empty, &full, &loose), SC_BAD_INPUT);
    assert_int_equal(sc_compare_values("x", &empty, &one, &loose), SC_BAD_INPUT);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    struct sc_value nested[20] = {{.kind = SC_KIND_OPTIONAL}};
    for (int i = 1; i < 20; i++) {
        nested[i].kind = SC_KIND_OPTIONAL;
        nested[i].u.optional.item = &nested[i - 1];
    }
    assert_int_equal(sc_compare_values("x", &nested[19], &nested[19], &loose), SC_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_may_differ_by_the_tolerance),
        cmocka_unit_test(nan_equals_nan_and_nothing_else),
        cmocka_unit_test(infinities_equal_themselves_alone),
        cmocka_unit_test(what_is_small_may_differ_by_a_share_of_the_largest),
        cmocka_unit_test(the_first_difference_is_named),
        cmocka_unit_test(integers_and_booleans_are_compared_exactly),
        cmocka_unit_test(half_floats_are_compared_as_numbers),
        cmocka_unit_test(complex_numbers_are_compared_in_both_parts),
        cmocka_unit_test(strings_are_compared_byte_for_byte),
        cmocka_unit_test(types_and_dims_must_be_equal),
        cmocka_unit_test(packed_recordings_are_unpacked),
        cmocka_unit_test(sequences_are_compared_item_by_item),
        cmocka_unit_test(an_optional_equals_what_it_holds),
        cmocka_unit_test(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
