/* SPDX-License-Identifier: Apache-2.0
 * Claims about quantised operators: com.microsoft's blocks, and the linear ones. */
#include "op_case.h"
#include "tensor/convert.h"

static void matmul_nbits_is_the_product_of_the_widened_weights(void **state)
{
    (void)state;
    enum { M = 2, K = 40, N = 3, BLOCK = 32, BLOCKS = 2 };
    float a[M * K], scales[N * BLOCKS], want[M * N];
    unsigned char b[N * BLOCKS * BLOCK / 2], zeros[N];
    for (int i = 0; i < M * K; i++) {
        a[i] = (float)(i % 7) - 3;
    }
    for (int i = 0; i < (int)sizeof(b); i++) {
        b[i] = (unsigned char)(i * 37);
    }
    for (int i = 0; i < N * BLOCKS; i++) {
        scales[i] = 0.25F * (float)(i + 1);
    }
    for (int i = 0; i < N; i++) {
        zeros[i] = (unsigned char)(0x53 + i); /* low nibble: first block */
    }
    for (int with_zeros = 0; with_zeros < 2; with_zeros++) {
        for (int i = 0; i < M * N; i++) {
            const int n = i % N;
            double sum = 0;
            for (int k = 0; k < K; k++) {
                const int code = b[n * BLOCKS * BLOCK / 2 + k / 2] >> (k % 2 * 4) & 15;
                const int zero = with_zeros ? zeros[n] >> (k / BLOCK * 4) & 15 : 8;
                sum += (double)a[i / N * K + k] * (code - zero) * (double)scales[n * BLOCKS + k / BLOCK];
            }
            want[i] = (float)sum;
        }
        struct op_case c;
        op_open(&c, "com.microsoft", "MatMulNBits", 1, 1);
        op_int(&c, "K", K);
        op_int(&c, "N", N);
        op_int(&c, "bits", 4);
        op_int(&c, "block_size", BLOCK);
        op_in(&c, SC_F32, a, DIMS(1, M, K));
        op_in(&c, SC_U8, b, DIMS(N, BLOCKS, BLOCK / 2));
        op_in(&c, SC_F32, scales, DIMS(N * BLOCKS));
        if (with_zeros) {
            op_in(&c, SC_U8, zeros, DIMS(N));
        }
        assert_int_equal(op_run(&c), SC_OK);
        op_expect_near(&c, 0, want, 1e-6, DIMS(1, M, N));
        op_close(&c);
    }
    struct op_case c;
    op_open(&c, "com.microsoft", "MatMulNBits", 1, 1);
    op_int(&c, "K", K);
    op_int(&c, "N", N);
    op_int(&c, "block_size", BLOCK);
    op_in(&c, SC_F32, a, DIMS(M, K));
    op_in(&c, SC_U8, b, DIMS(N, 1, BLOCK / 2)); /* a block too few */
    op_in(&c, SC_F32, scales, DIMS(N * BLOCKS));
    op_expect_failure(&c, SC_BAD_INPUT, "input 1");
    op_close(&c);
}

static void gather_of_blocks_counts_codes_from_eight(void **state)
{
    (void)state;
    unsigned char data[2 * 16];
    const float scales[2] = {1, 0.5F};
    float want[32];
    for (int i = 0; i < 32; i++) {
        data[i] = (unsigned char)(i * 29);
    }
    for (int k = 0; k < 32; k++) {
        want[k] = 0.5F * (float)((data[16 + k / 2] >> (k % 2 * 4) & 15) - 8);
    }
    struct op_case c;
    op_open(&c, "com.microsoft", "GatherBlockQuantized", 1, 1);
    op_int(&c, "block_size", 32);
    op_in(&c, SC_U8, data, DIMS(2, 16));
    op_in(&c, SC_I64, (int64_t[]){-1}, DIMS(1));
    op_in(&c, SC_F32, scales, DIMS(2, 1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, want, DIMS(1, 32));
    op_close(&c);
}

/* An index outside of the table gives zeros; a scale of 8-bit floats may be that of a whole axis. */
static void gather_of_small_floats_has_no_zero_points(void **state)
{
    (void)state;
    static unsigned char data[4 * 3];
    float numbers[4 * 3], want[2 * 3] = {0};
    for (int i = 0; i < 12; i++) {
        numbers[i] = (float)(i - 5);
    }
    sc_convert(SC_F32, numbers, SC_F8E4M3FN, data, 12, 0);
    for (int k = 0; k < 3; k++) {
        want[3 + k] = numbers[2 * 3 + k] * 0.5F;
    }
    struct op_case c;
    op_open(&c, "com.microsoft", "GatherBlockQuantized", 1, 1);
    op_int(&c, "block_size", 0);
    op_in(&c, SC_F8E4M3FN, data, DIMS(4, 3));
    op_in(&c, SC_I64, (int64_t[]){4, 2}, DIMS(2));
    op_in(&c, SC_F32, (float[]){0.5F}, DIMS(1, 1));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, want, DIMS(2, 3));
    op_close(&c);
}

static void quantize_rounds_half_to_even_and_saturates(void **state)
{
    (void)state;
    const float x[6] = {1, 3, 5, -1000, 1000, -3}; /* halves: 0.5, 1.5, 2.5 */
    struct op_case c;
    op_open(&c, "", "QuantizeLinear", 13, 1);
    op_in(&c, SC_F32, x, DIMS(6));
    op_in(&c, SC_F32, (float[]){2}, 0, NULL);
    op_in(&c, SC_I8, (int8_t[]){1}, 0, NULL);
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I8, (int8_t[]){1, 3, 3, -128, 127, -1}, DIMS(6));
    op_close(&c);
}

static void dequantize_has_scales_per_axis_and_block(void **state)
{
    (void)state;
    const unsigned char x[4] = {10, 20, 30, 40};
    struct op_case c;
    op_open(&c, "", "DequantizeLinear", 13, 1);
    op_int(&c, "axis", 0);
    op_in(&c, SC_U8, x, DIMS(2, 2));
    op_in(&c, SC_F32, (float[]){1, 2}, DIMS(2));
    op_in(&c, SC_U8, (unsigned char[]){0, 10}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){10, 20, 40, 60}, DIMS(2, 2));
    op_close(&c);
    op_open(&c, "", "DequantizeLinear", 21, 1);
    op_int(&c, "axis", 0);
    op_int(&c, "block_size", 3);
    op_in(&c, SC_U8, x, DIMS(4));
    op_in(&c, SC_F32, (float[]){1, 2}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_F32, (float[]){10, 20, 30, 80}, DIMS(4));
    op_close(&c);
    op_open(&c, "", "DequantizeLinear", 13, 1);
    op_int(&c, "axis", 0);
    op_in(&c, SC_U8, x, DIMS(4));
    op_in(&c, SC_F32, (float[]){1, 2}, DIMS(2));
    op_expect_failure(&c, SC_BAD_INPUT, "has shape [2], want [4]");
    op_close(&c);
}

static void matmul_integer_subtracts_zero_points_of_rows_and_columns(void **state)
{
    (void)state;
    struct op_case c;
    op_open(&c, "", "MatMulInteger", 10, 1);
    op_in(&c, SC_U8, (unsigned char[]){11, 12, 13, 14}, DIMS(2, 2));
    op_in(&c, SC_I8, (int8_t[]){1, 2, 3, 4}, DIMS(2, 2));
    op_in(&c, SC_U8, (unsigned char[]){10, 12}, DIMS(2));
    op_in(&c, SC_I8, (int8_t[]){0, 1}, DIMS(2));
    assert_int_equal(op_run(&c), SC_OK);
    op_expect(&c, 0, SC_I32, (int32_t[]){7, 7, 7, 7}, DIMS(2, 2)); /* [[1, 2], [1, 2]] * [[1, 1], [3, 3]] */
    op_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_nbits_is_the_product_of_the_widened_weights),
        cmocka_unit_test(gather_of_blocks_counts_codes_from_eight),
        cmocka_unit_test(gather_of_small_floats_has_no_zero_points),
        cmocka_unit_test(quantize_rounds_half_to_even_and_saturates),
        cmocka_unit_test(dequantize_has_scales_per_axis_and_block),
        cmocka_unit_test(matmul_integer_subtracts_zero_points_of_rows_and_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
