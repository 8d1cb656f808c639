/* SPDX-License-Identifier: Apache-2.0
 * Broadcasting of facts with unknown dims and symbols, and loops over strided operands. */
#include "op_harness.h"

#include "ops/broadcast.h"

#define BATCH (-2)
#define LENGTH (-3)

static void dims_join_by_what_is_known_of_them(void **state)
{
    (void)state;
    static const struct {
        int64_t a, b, wanted;
    } cases[] = {{3, 3, 3}, {1, 3, 3}, {3, 1, 3}, {0, 1, 0}, {BATCH, BATCH, BATCH}, {BATCH, 1, BATCH},
        {BATCH, LENGTH, SC_DIM_UNKNOWN}, {SC_DIM_UNKNOWN, BATCH, SC_DIM_UNKNOWN}, {SC_DIM_UNKNOWN, 5, 5}, {5, BATCH, 5},
        {SC_DIM_UNKNOWN, 1, SC_DIM_UNKNOWN}, {SC_DIM_UNKNOWN, SC_DIM_UNKNOWN, SC_DIM_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t dim = 77;
        assert_true(sc_broadcast_dim(cases[i].a, cases[i].b, &dim));
        assert_int_equal(dim, cases[i].wanted);
        assert_true(sc_broadcast_dim(cases[i].b, cases[i].a, &dim));
        assert_int_equal(dim, cases[i].wanted);
    }
    int64_t dim;
    assert_false(sc_broadcast_dim(2, 3, &dim));
    assert_false(sc_broadcast_dim(0, 3, &dim));
}

static void an_unknown_rank_leaves_the_rank_unknown(void **state)
{
    (void)state;
    struct op_test t;
    struct sc_fact a, b, out;
    const struct sc_fact *in[3] = {&a, NULL, &b};
    op_open(&t, "", "Add", 14);
    sc_fact_init(&a);
    sc_fact_init(&out);
    sc_fact_tensor(&b, SC_F32, OP_DIMS(2, LENGTH));
    assert_int_equal(sc_broadcast_facts(&t.graph, &t.node, 3, in, &out), SC_OK);
    assert_int_equal(out.rank, -1);
    sc_fact_tensor(&a, SC_F32, OP_DIMS(BATCH, 1, 1));
    assert_int_equal(sc_broadcast_facts(&t.graph, &t.node, 3, in, &out), SC_OK);
    assert_int_equal(out.rank, 3);
    assert_int_equal(out.dims[0], BATCH);
    assert_int_equal(out.dims[1], 2);
    assert_int_equal(out.dims[2], LENGTH);
    op_close(&t);
}

static void subtract(void *arg, const struct sc_span *span)
{
    (void)arg;
    const float *a = span->in[0], *b = span->in[1];
    float *y = span->out;
    for (int64_t i = 0; i < span->n; i++) {
        y[i] = a[i * span->step[0]] - b[i * span->step[1]];
    }
}

static void strided_operands_are_walked_where_they_lie(void **state)
{
    (void)state;
    enum { N = 150, M = 130 };
    static float x[N * M], row[M], y[N * M];
    for (int i = 0; i < N * M; i++) {
        x[i] = (float)i;
    }
    for (int j = 0; j < M; j++) {
        row[j] = (float)(1000 * j);
    }
    struct sc_tensor a, b, out; /* a is x seen transposed, b is reversed and stands for every row */
    const int64_t dims[2] = {N, M};
    sc_tensor_init(&a, SC_F32, 2, dims);
    a.strides[0] = 1;
    a.strides[1] = N;
    a.data = x;
    sc_tensor_init(&b, SC_F32, 1, dims + 1);
    b.strides[0] = -1;
    b.data = row + M - 1;
    sc_tensor_init(&out, SC_F32, 2, dims);
    out.data = y;
    const struct sc_tensor *in[2] = {&a, &b};
    struct sc_broadcast loop;
    struct sc_team *team;
    const struct sc_team_options options = {.n_workers = 2};
    assert_int_equal(sc_team_create(&options, &team), SC_OK);
    sc_broadcast_init(&loop, 2, in, &out);
    sc_broadcast_run(&loop, team, subtract, NULL);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < M; j++) {
            assert_true(y[i * M + j] == x[j * N + i] - row[M - 1 - j]);
        }
    }
    sc_team_free(team);
}

static void axes_that_move_together_are_one(void **state)
{
    (void)state;
    static float data[24];
    struct sc_tensor whole, vector, one;
    const int64_t dims[4] = {2, 3, 1, 4};
    sc_tensor_init(&whole, SC_F32, 4, dims);
    whole.data = data;
    sc_tensor_init(&vector, SC_F32, 1, dims + 3);
    vector.data = data;
    sc_tensor_init(&one, SC_F32, 0, NULL);
    one.data = data;
    struct sc_broadcast loop;
    sc_broadcast_init(&loop, 2, (const struct sc_tensor *const[]){&whole, &one}, &whole);
    assert_int_equal(loop.rank, 1);
    assert_int_equal(loop.dims[0], 24);
    sc_broadcast_init(&loop, 2, (const struct sc_tensor *const[]){&whole, &vector}, &whole);
    assert_int_equal(loop.rank, 2);
    assert_int_equal(loop.dims[0], 6);
    assert_int_equal(loop.dims[1], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dims_join_by_what_is_known_of_them),
        cmocka_unit_test(an_unknown_rank_leaves_the_rank_unknown),
        cmocka_unit_test(strided_operands_are_walked_where_they_lie),
        cmocka_unit_test(axes_that_move_together_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
