/* SPDX-License-Identifier: Apache-2.0
 * Claims about digests of values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "launch/value_digest.h"

static struct sc_value tensor(enum sc_type type, void *data, int rank, const int64_t *dims)
{
    struct sc_value value = {.kind = SC_KIND_TENSOR};
    sc_tensor_init(&value.u.tensor, type, rank, dims);
    value.u.tensor.data = data;
    return value;
}

static uint64_t digest(const struct sc_value *value)
{
    return sc_digest_value(SC_DIGEST_START, value);
}

static void strides_do_not_count(void **state)
{
    (void)state;
    float rows[] = {1, 2, 3, 4, 5, 6};
    float columns[] = {1, 4, 2, 5, 3, 6};
    struct sc_value a = tensor(SC_F32, rows, 2, (int64_t[]){2, 3});
    struct sc_value b = tensor(SC_F32, columns, 2, (int64_t[]){2, 3});
    b.u.tensor.strides[0] = 1;
    b.u.tensor.strides[1] = 2;
    assert_true(digest(&a) == digest(&b));
}

static void every_bit_type_and_dim_counts(void **state)
{
    (void)state;
    float zero[] = {0, 1};
    float minus[] = {-0.0F, 1};
    struct sc_value a = tensor(SC_F32, zero, 1, (int64_t[]){2});
    struct sc_value b = tensor(SC_F32, minus, 1, (int64_t[]){2});
    struct sc_value c = tensor(SC_I32, zero, 1, (int64_t[]){2});
    struct sc_value d = tensor(SC_F32, zero, 2, (int64_t[]){2, 1});
    assert_true(digest(&a) != digest(&b));
    assert_true(digest(&a) != digest(&c));
    assert_true(digest(&a) != digest(&d));
    assert_true(sc_digest_value(digest(&a), &b) != sc_digest_value(digest(&b), &a));
}

static void strings_count_by_their_bytes_not_their_addresses(void **state)
{
    (void)state;
    char same[] = "ab";
    struct sc_string one[] = {{"ab", 2}, {"c", 1}}, two[] = {{same, 2}, {"c", 1}}, other[] = {{"a", 1}, {"bc", 2}};
    struct sc_value a = tensor(SC_STRING, one, 1, (int64_t[]){2});
    struct sc_value b = tensor(SC_STRING, two, 1, (int64_t[]){2});
    struct sc_value c = tensor(SC_STRING, other, 1, (int64_t[]){2});
    assert_true(digest(&a) == digest(&b));
    assert_true(digest(&a) != digest(&c));
}

static void sequences_and_optionals_count_what_they_hold(void **state)
{
    (void)state;
    int32_t numbers[] = {1, 2};
    struct sc_value items[2] = {tensor(SC_I32, numbers, 1, (int64_t[]){1}), tensor(SC_I32, numbers + 1, 0, NULL)};
    struct sc_value two = {.kind = SC_KIND_SEQUENCE, .u.sequence = {SC_I32, 2, items}};
    struct sc_value one = {.kind = SC_KIND_SEQUENCE, .u.sequence = {SC_I32, 1, items}};
    struct sc_value full = {.kind = SC_KIND_OPTIONAL, .u.optional = {items, SC_KIND_TENSOR, SC_I32}};
    struct sc_value empty = {.kind = SC_KIND_OPTIONAL, .u.optional = {NULL, SC_KIND_TENSOR, SC_I32}};
    const uint64_t all[] = {digest(&two), digest(&one), digest(&full), digest(&empty), digest(items)};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < i; j++) {
            assert_true(all[i] != all[j]);
        }
    }
}

static void joining_counts_the_order(void **state)
{
    (void)state;
    const uint64_t a = SC_DIGEST_START, b = sc_digest_join(a, 1), c = sc_digest_join(a, 2);
    assert_true(b != c);
    assert_true(sc_digest_join(b, 2) != sc_digest_join(c, 1));
    assert_true(sc_digest_join(b, 2) != sc_digest_join(b, UINT64_C(2) << 56));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_do_not_count),
        cmocka_unit_test(every_bit_type_and_dim_counts),
        cmocka_unit_test(strings_count_by_their_bytes_not_their_addresses),
        cmocka_unit_test(sequences_and_optionals_count_what_they_hold),
        cmocka_unit_test(joining_counts_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
