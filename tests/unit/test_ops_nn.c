/* SPDX-License-Identifier: Apache-2.0
 * Claims about products and normalisations. */
#include "op_case.h"

#include <math.h>

/* Numbers that look random and are exact in f16. */
static void fill(float *x, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float)((int)(seed >> 24) - 128) / 64.0F;
    }
}

static void matmul_broadcasts_batches_of_strided_b(void **state)
{
    (void)state;
    enum { B = 2, H = 3, M = 2, K = 5, N = 4 };
    float a[B * H * M * K], b[H * N * K], want[B * H * M * N];
    fill(a, B * H * M * K, 1);
    fill(b, H * N * K, 2);
    for (int i = 0; i < B * H; i++) {
        for (int m = 0; m < M; m++) {
            for (int n = 0; n < N; n++) {
                double sum = 0;
                for (int k = 0; k < K; k++) {
                    sum += (double)a[(i * M + m) * K + k] * (double)b[((i % H) * N + n) * K + k];
                }
                want[(i * M + m) * N + n] = (float)sum;
            }
        }
    }
    struct op_case c;
    op_open(&c, "", "MatMul", 13, 1);
    op_in(&c, SC_F32, a, DIMS(B, H, M, K));
    struct sc_tensor *t = op_in(&c, SC_F32, b, DIMS(H, K, N));
    t->strides[1] = 1;
    t->strides[2] = K;
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_near(&c, 0, want, 1e-6, DIMS(B, H, M, N));
    op_close(&c);
}

static void naive_product(const float *a, const float *b, int M, int N, int K, float *c)
{
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++) {
            sum += (double)a[i / N * K + k] * (double)b[k * N + i % N];
        }
        c[i] = (float)sum;
    }
}

static void matmul_by_packed_weights_gives_the_bits_of_any_other_way(void **state)
{
    (void)state;
    enum { M = 3, K = 40, N = 21 };
    static float a[M * K], b[K * N], want[M * N];
    fill(a, M * K, 1);
    fill(b, K * N, 2);
    naive_product(a, b, M, N, K, want);
    struct op_case packed, plain, row;
    op_open(&packed, "", "MatMul", 13, 1);
    op_in(&packed, SC_F32, a, DIMS(M, K));
    op_in(&packed, SC_F32, b, DIMS(K, N));
    packed.constant[1] = true;
    assert_int_equal(op_run(&packed), SC_OK);
    op_expect_near(&packed, 0, want, 1e-6, DIMS(M, N));
    op_open(&plain, "", "MatMul", 13, 1);
    op_in(&plain, SC_F32, a, DIMS(M, K));
    op_in(&plain, SC_F32, b, DIMS(K, N));
    assert_int_equal(op_run(&plain), SC_OK);
    assert_memory_equal(op_out(&plain, 0), op_out(&packed, 0), sizeof(want));
    op_open(&row, "", "MatMul", 13, 1); /* one row alone */
    op_in(&row, SC_F32, a + 2 * K, DIMS(K));
    op_in(&row, SC_F32, b, DIMS(K, N));
    assert_int_equal(op_run(&row), SC_OK);
    op_expect_dims(&row, 0, DIMS(N));
    assert_memory_equal(op_out(&row, 0), (const float *)op_out(&packed, 0) + 2 * N, N * sizeof(float));
    op_close(&packed);
    op_close(&plain);
    op_close(&row);
}

static void matmul_of_integers_wraps_and_of_nothing_is_zero(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "MatMul", 13, 1);
    op_in(&c, SC_I32, (int32_t[]){INT32_MAX, 1}, DIMS(1, 2));
    op_in(&c, SC_I32, (int32_t[]){2, 3}, DIMS(2, 1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I32, (int32_t[]){1}, DIMS(1, 1)); /* 2^32 - 2 + 3 */
    op_close(&c);
    const float none[1] = {0};
    op_open(&c, "", "MatMul", 13, 1);
    op_in(&c, SC_F32, none, DIMS(2, 0));
    op_in(&c, SC_F32, none, DIMS(0, 2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){0, 0, 0, 0}, DIMS(2, 2));
    op_close(&c);
    op_open(&c, "", "MatMul", 13, 1);
    op_in(&c, SC_F32, none, DIMS(2, 3));
    op_in(&c, SC_F32, none, DIMS(2, 3));
    op_expect_failure(&c, SC_BAD_INPUT, "3 and 2");
    op_close(&c);
}

static void gemm_scales_then_adds_a_broadcast_c(void **state)
{
    (void)state;
    static const enum sc_type types[2] = {SC_F32, SC_F64};
    for (int t = 0; t < 2; t++) {
        const float a32[6] = {1, 2, 3, 4, 5, 6}, b32[6] = {1, 0, 0, 1, 1, 1}, c32[2] = {10, 20};
        double a[6], b[6], c64[2];
        for (int i = 0; i < 6; i++) {
            a[i] = (double)a32[i];
            b[i] = (double)b32[i];
            c64[i % 2] = (double)c32[i % 2];
        }
        struct op_case c;
        op_open(&c, "", "Gemm", 13, 1); /* A' is [2, 3] given as [3, 2], B' is [3, 2] given as [2, 3] */
        op_float(&c, "alpha", 2);
        op_float(&c, "beta", 0.5F);
        op_int(&c, "transA", 1);
        op_int(&c, "transB", 1);
        op_in(&c, types[t], t ? (const void *)a : a32, DIMS(3, 2));
        op_in(&c, types[t], t ? (const void *)b : b32, DIMS(2, 3));
        op_in(&c, types[t], t ? (const void *)c64 : c32, DIMS(2));
        assert_int_equal(op_run(&c), SC_OK);
        const float want32[4] = {7, 28, 9, 34}; /* 2 * [[1, 9], [2, 12]] + [5, 10] */
        const double want[4] = {7, 28, 9, 34};
        op_expect(&c, 0, types[t], t ? (const void *)want : want32, DIMS(2, 2));
        op_close(&c);
    }
    const float none[6] = {0};
    struct op_case c;
    op_open(&c, "", "Gemm", 13, 1);
    op_in(&c, SC_F32, none, DIMS(2, 3));
    op_in(&c, SC_F32, none, DIMS(3, 2));
    op_in(&c, SC_F32, none, DIMS(3));
    op_expect_failure(&c, SC_BAD_INPUT, "does not broadcast");
    op_close(&c);
}

static void norms_of_a_row_are_as_the_clause_says(void **state)
{
    (void)state;
    const float x[4] = {1, 2, 3, 6}, scale[4] = {1, 2, 1, 1}, bias[4] = {0, 0, 1, 0};
    const double rms = sqrt((1 + 4 + 9 + 36) / 4.0), mean = 3, deviation = sqrt((4 + 1 + 0 + 9) / 4.0);
    float want_rms[4], want_layer[4];
    for (int i = 0; i < 4; i++) {
        want_rms[i] = (float)((double)x[i] / rms * (double)scale[i]);
        want_layer[i] = (float)(((double)x[i] - mean) / deviation * (double)scale[i] + (double)bias[i]);
    }
    struct op_case c;
    op_open(&c, "", "RMSNormalization", 23, 1);
    op_float(&c, "epsilon", 0);
    op_in(&c, SC_F32, x, DIMS(1, 4));
    op_in(&c, SC_F32, scale, DIMS(4));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_near(&c, 0, want_rms, 1e-6, DIMS(1, 4));
    op_close(&c);
    const int versions[] = {1, 16, 17}; /* before 17 it is ONNX Runtime's, and the same */
    for (int v = 0; v < 3; v++) {
        op_open(&c, "", "LayerNormalization", versions[v], 3);
        op_float(&c, "epsilon", 0);
        op_in(&c, SC_F32, x, DIMS(1, 4));
        op_in(&c, SC_F32, scale, DIMS(4));
        op_in(&c, SC_F32, bias, DIMS(4));
        assert_int_equal(op_run(&c), SC_OK);
        op_expect_near(&c, 0, want_layer, 1e-6, DIMS(1, 4));
        op_expect_near(&c, 1, (float[]){3}, 0, DIMS(1, 1));
        op_expect_near(&c, 2, (float[]){(float)(1 / deviation)}, 1e-6, DIMS(1, 1));
        op_close(&c);
    }
    op_open(&c, "", "RMSNormalization", 23, 1);
    op_in(&c, SC_F32, x, DIMS(1, 4));
    op_in(&c, SC_F32, scale, DIMS(3));
    op_expect_failure(&c, SC_BAD_INPUT, "does not broadcast");
    op_close(&c);
}

static void batch_norm_in_training_takes_the_population_s_variance(void **state)
{
    (void)state;
    const float x[4] = {1, 3, 5, 7}, one[1] = {1}, zero[1] = {0}, mean[1] = {10}, variance[1] = {2};
    struct op_case c;
    op_open(&c, "", "BatchNormalization", 15, 3);
    op_int(&c, "training_mode", 1);
    op_float(&c, "epsilon", 0);
    op_float(&c, "momentum", 0.5F);
    op_in(&c, SC_F32, x, DIMS(2, 1, 2));
    op_in(&c, SC_F32, one, DIMS(1));
    op_in(&c, SC_F32, zero, DIMS(1));
    op_in(&c, SC_F32, mean, DIMS(1));
    op_in(&c, SC_F32, variance, DIMS(1));
    assert_int_equal(op_run(&c), SC_OK);
    const float s = sqrtf(5);
    op_expect_near(&c, 0, (float[]){-3 / s, -1 / s, 1 / s, 3 / s}, 1e-6, DIMS(2, 1, 2));
    op_expect_near(&c, 1, (float[]){7}, 1e-6, DIMS(1)); /* (10 + 4) / 2 */
    op_expect_near(&c, 2, (float[]){3.5F}, 1e-6, DIMS(1)); /* (2 + 5) / 2 */
    op_close(&c);
}

static void rotary_rotates_pairs_by_position(void **state)
{
    (void)state;
    const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}; /* [1, 2, 1 * 4] */
    const float cosines[4] = {1, 1, 0, 0}, sines[4] = {0, 0, 1, 1}; /* position 1 is a quarter turn */
    const int64_t ids[2] = {0, 1};
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        struct op_case c;
        op_open(&c, "", "RotaryEmbedding", 23, 1);
        op_int(&c, "num_heads", 1);
        op_int(&c, "interleaved", interleaved);
        op_in(&c, SC_F32, x, DIMS(1, 2, 4));
        op_in(&c, SC_F32, cosines, DIMS(2, 2));
        op_in(&c, SC_F32, sines, DIMS(2, 2));
        op_in(&c, SC_I64, ids, DIMS(1, 2));
        assert_int_equal(op_run(&c), SC_OK);
        const float halves[8] = {1, 2, 3, 4, -7, -8, 5, 6}, pairs[8] = {1, 2, 3, 4, -6, 5, -8, 7};
        op_expect_near(&c, 0, interleaved ? pairs : halves, 0, DIMS(1, 2, 4));
        op_close(&c);
    }
    const int64_t bad[2] = {0, 2};
    struct op_case c;
    op_open(&c, "", "RotaryEmbedding", 23, 1);
    op_int(&c, "num_heads", 1);
    op_in(&c, SC_F32, x, DIMS(1, 2, 4));
    op_in(&c, SC_F32, cosines, DIMS(2, 2));
    op_in(&c, SC_F32, sines, DIMS(2, 2));
    op_in(&c, SC_I64, bad, DIMS(1, 2));
    op_expect_failure(&c, SC_BAD_INPUT, "position 2");
    op_close(&c);
}

static void conv_pads_strides_and_groups(void **state)
{
    (void)state;
    const float x[6] = {1, 2, 3, 4, 5, 6}, w[4] = {1, 1, 1, -1}, bias[2] = {0, 100}; /* two channels of three */
    const int64_t pads[2] = {1, 0}, strides[1] = {2};
    struct op_case c;
    op_open(&c, "", "Conv", 11, 1);
    op_int(&c, "group", 2);
    op_ints(&c, "pads", 2, pads);
    op_ints(&c, "strides", 1, strides);
    op_in(&c, SC_F32, x, DIMS(1, 2, 3));
    op_in(&c, SC_F32, w, DIMS(2, 1, 2));
    op_in(&c, SC_F32, bias, DIMS(2));
    c.constant[1] = true;
    assert_int_equal(op_run(&c), SC_OK);
    op_expect_near(&c, 0, (float[]){1, 5, 96, 99}, 0, DIMS(1, 2, 2));
    op_close(&c);
    op_open(&c, "", "Conv", 11, 1);
    op_in(&c, SC_F32, x, DIMS(1, 2, 3));
    op_in(&c, SC_F32, w, DIMS(1, 1, 4));
    op_expect_failure(&c, SC_BAD_INPUT, "do not fit");
    op_close(&c);
    op_open(&c, "", "Conv", 11, 1);
    op_in(&c, SC_F32, x, DIMS(1, 1, 3));
    op_in(&c, SC_F32, w, DIMS(1, 1, 4));
    op_expect_failure(&c, SC_BAD_INPUT, "a window of 4");
    op_close(&c);
}

static void pooling_starts_no_window_in_the_padding(void **state)
{
    (void)state;
    const float x[4] = {1, 2, 3, 4};
    const int64_t kernel[1] = {2}, strides[1] = {2}, pads[2] = {1, 1};
    struct op_case c;
    op_open(&c, "", "MaxPool", 12, 2);
    op_ints(&c, "kernel_shape", 1, kernel);
    op_ints(&c, "strides", 1, strides);
    op_ints(&c, "pads", 2, pads);
    op_int(&c, "ceil_mode", 1);
    op_in(&c, SC_F32, x, DIMS(1, 1, 4));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){1, 3, 4}, DIMS(1, 1, 3));
    op_expect(&c, 1, SC_I64, (int64_t[]){0, 2, 3}, DIMS(1, 1, 3));
    op_close(&c);
    for (int include = 0; include < 2; include++) {
        op_open(&c, "", "AveragePool", 11, 1);
        op_ints(&c, "kernel_shape", 1, kernel);
        op_ints(&c, "strides", 1, strides);
        op_ints(&c, "pads", 2, pads);
        op_int(&c, "count_include_pad", include);
        op_in(&c, SC_F32, x, DIMS(1, 1, 4));
        assert_int_equal(op_run(&c), SC_OK);
        const float with[3] = {0.5F, 2.5F, 2}, without[3] = {1, 2.5F, 4};
        op_expect_near(&c, 0, include ? with : without, 0, DIMS(1, 1, 3));
        op_close(&c);
    }
}

static void linear_attention_in_pieces_gives_the_bits_of_the_whole(void **state)
{
    (void)state;
    enum { T = 5, D = 3, CUT = 2 };
    float q[T * D], k[T * D], v[T * D], decay[T], beta[T];
    fill(q, T * D, 1);
    fill(k, T * D, 2);
    fill(v, T * D, 3);
    fill(decay, T, 4);
    fill(beta, T, 5);
    struct op_case whole, part[2];
    const int first[3] = {0, CUT, T};
    for (int i = -1; i < 2; i++) {
        struct op_case *c = i < 0 ? &whole : &part[i];
        const int at = i < 0 ? 0 : first[i], n = i < 0 ? T : first[i + 1] - at;
        op_open(c, "", "LinearAttention", 27, 2);
        op_int(c, "q_num_heads", 1);
        op_int(c, "kv_num_heads", 1);
        op_in(c, SC_F32, q + at * D, DIMS(1, n, D));
        op_in(c, SC_F32, k + at * D, DIMS(1, n, D));
        op_in(c, SC_F32, v + at * D, DIMS(1, n, D));
        if (i == 1) {
            op_in(c, SC_F32, op_out(&part[0], 1), DIMS(1, 1, D, D));
        } else {
            op_in_absent(c);
        }
        op_in(c, SC_F32, decay + at, DIMS(1, n, 1));
        op_in(c, SC_F32, beta + at, DIMS(1, n, 1));
        assert_int_equal(op_run(c), SC_OK);
    }
    assert_memory_equal(op_out(&part[0], 0), op_out(&whole, 0), CUT * D * sizeof(float));
    assert_memory_equal(op_out(&part[1], 0), (const float *)op_out(&whole, 0) + CUT * D, (T - CUT) * D * sizeof(float));
    assert_memory_equal(op_out(&part[1], 1), op_out(&whole, 1), D * D * sizeof(float));
    op_close(&whole);
    op_close(&part[0]);
    op_close(&part[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_broadcasts_batches_of_strided_b),
        cmocka_unit_test(matmul_by_packed_weights_gives_the_bits_of_any_other_way),
        cmocka_unit_test(matmul_of_integers_wraps_and_of_nothing_is_zero),
        cmocka_unit_test(gemm_scales_then_adds_a_broadcast_c),
        cmocka_unit_test(norms_of_a_row_are_as_the_clause_says),
        cmocka_unit_test(batch_norm_in_training_takes_the_population_s_variance),
        cmocka_unit_test(rotary_rotates_pairs_by_position),
        cmocka_unit_test(conv_pads_strides_and_groups),
        cmocka_unit_test(pooling_starts_no_window_in_the_padding),
        cmocka_unit_test(linear_attention_in_pieces_gives_the_bits_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
