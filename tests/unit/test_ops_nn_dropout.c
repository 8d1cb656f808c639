/* SPDX-License-Identifier: Apache-2.0
 * Dropout: what falls out is what numpy says for a seed, past the first block of its generator. */
#include "op_harness.h"

enum { N = 2000 };

/* For numpy.random.seed(seed), random_sample(2000) >= 0.3: how many, the sum of their places, and those around the end
 * of the generator's first 312 numbers. */
static const struct {
    int64_t seed, count, places;
    const char *kept;
} numpy[] = {
    {0, 1393, 1398940, "00010100010111100010"},
    {1, 1412, 1417586, "11011110001100111001"},
    {4294967295, 1420, 1413155, "00111001000111110101"},
};

static void train(struct op_test *t, enum sc_type type, const int64_t *seed, double ratio)
{
    static double x[N];
    for (int i = 0; i < N; i++) {
        x[i] = i % 8 + 1;
    }
    op_open(t, "", "Dropout", 22);
    if (seed) {
        op_int(t, "seed", *seed);
    }
    op_in(t, type, OP_DIMS(N), x);
    op_in(t, SC_F64, OP_SCALAR, &ratio);
    op_in(t, SC_BOOL, OP_SCALAR, OP_VALUES(1));
    op_passes(t, 2);
    op_has_shape(t, 0, type, OP_DIMS(N));
    op_has_shape(t, 1, SC_BOOL, OP_DIMS(N));
    for (int i = 0; i < N; i++) {
        const double wanted = sc_number_at(&t->out[1].u.tensor, i) * (double)(float)(x[i] / (1 - ratio));
        const double found = sc_number_at(&t->out[0].u.tensor, i);
        assert_true(fabs(found - wanted) <= wanted / (type == SC_F16 ? 2000 : 1e7));
    }
}

static void a_seed_drops_what_numpy_drops(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof numpy / sizeof numpy[0]; k++) {
        struct op_test t;
        int64_t count = 0, places = 0;
        train(&t, k == 1 ? SC_F16 : SC_F32, &numpy[k].seed, 0.3);
        for (int i = 0; i < N; i++) {
            const int64_t kept = (int64_t)sc_number_at(&t.out[1].u.tensor, i);
            count += kept;
            places += i * kept;
            assert_true(i < 305 || i >= 325 || numpy[k].kept[i - 305] == '0' + kept);
        }
        assert_int_equal(count, numpy[k].count);
        assert_int_equal(places, numpy[k].places);
        op_close(&t);
    }
}

static void without_a_seed_the_ratio_drops(void **state)
{
    (void)state;
    struct op_test t;
    double count = 0;
    train(&t, SC_F64, NULL, 0.25);
    for (int i = 0; i < N; i++) {
        count += sc_number_at(&t.out[1].u.tensor, i);
    }
    assert_true(fabs(count / N - 0.75) < 5 * sqrt(0.25 * 0.75 / N));
    op_close(&t);
}

static void nothing_drops_out_of_inference(void **state)
{
    (void)state;
    static const enum sc_type types[] = {SC_F16, SC_BF16}, masks[] = {SC_F16, SC_BOOL};
    for (int k = 0; k < 2; k++) { /* the mask of old versions has the type of the data */
        struct op_test t;
        op_open(&t, "", "Dropout", k == 0 ? 7 : 13);
        op_in(&t, types[k], OP_DIMS(3), OP_VALUES(1, -2, 3));
        op_passes(&t, 2);
        op_gives(&t, 0, types[k], OP_DIMS(3), OP_VALUES(1, -2, 3), 0);
        op_gives(&t, 1, masks[k], OP_DIMS(3), OP_VALUES(1, 1, 1), 0);
        op_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_drops_what_numpy_drops),
        cmocka_unit_test(without_a_seed_the_ratio_drops),
        cmocka_unit_test(nothing_drops_out_of_inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
