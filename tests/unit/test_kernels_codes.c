/* SPDX-License-Identifier: Apache-2.0
 * Kernels on whole numbers in blocks, on every level: codes are exact, chains of floats are judged by doubles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/kernels/kernels.h"

#define EACH_LEVEL                                                                                                     \
    for (int isa = 0; isa < SC_ISA_N; isa++)                                                                           \
        for (const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa); kernels != NULL; kernels = NULL)

static void codes_are_low_bits_first_less_the_middle(void **state)
{
    (void)state;
    uint8_t packed[96];
    int8_t codes[97];
    for (int i = 0; i < 96; i++) {
        packed[i] = (uint8_t)(i * 73 + 5);
    }
    static const int widths[] = {2, 4, 8};
    EACH_LEVEL
    {
        for (int w = 0; w < 3; w++) {
            const int bits = widths[w], mask = (1 << bits) - 1;
            for (int n = 16; n <= 96; n += 16) {
                codes[n] = 99;
                kernels->unpack_codes(packed, bits, n, codes);
                for (int i = 0; i < n; i++) {
                    assert_int_equal(codes[i], (packed[i * bits / 8] >> (i * bits % 8) & mask) - (1 << (bits - 1)));
                }
                assert_int_equal(codes[n], 99);
            }
        }
    }
}

static void the_largest_of_a_block_becomes_127(void **state)
{
    (void)state;
    float x[70];
    int8_t codes[71];
    for (int i = 0; i < 70; i++) {
        x[i] = (float)((i * 37) % 101 - 50) * 0.25F;
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= 70; n++) {
            struct sc_coded coded = {.codes = codes};
            float most = 0;
            int32_t sum = 0;
            codes[n] = 99;
            for (int i = 0; i < n; i++) {
                most = fmaxf(most, fabsf(x[i]));
            }
            kernels->code_block(x, n, &coded);
            assert_true(coded.scale == most / 127.0F);
            for (int i = 0; i < n; i++) {
                const float inverse = most > 0 ? 127.0F / most : 0;
                assert_int_equal(codes[i], (int)nearbyintf(x[i] * inverse));
                sum += codes[i];
            }
            assert_int_equal(coded.sum, sum);
            assert_int_equal(codes[n], 99);
        }
    }
}

static void what_is_no_number_stays_none(void **state)
{
    (void)state;
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    EACH_LEVEL
    {
        for (int at = 0; at < 40; at++) {
            float x[40] = {1, -2, 3};
            int8_t codes[40];
            struct sc_coded coded = {.codes = codes};
            x[at] = odd[at % 3];
            kernels->code_block(x, 40, &coded);
            assert_true(isnan(coded.scale));
        }
    }
}

/* -128 among the weights, the largest sums, zero points or none, every length of a block. */
static void products_of_codes_are_exact_within_a_block(void **state)
{
    (void)state;
    enum { LONGEST = 1024 };
    static int8_t a[3 * LONGEST], b[16 * 3 * LONGEST];
    static const int64_t lengths[] = {16, 32, 48, 64, 128, LONGEST};
    for (int i = 0; i < 3 * LONGEST; i++) {
        a[i] = (int8_t)(i % 3 == 0 ? 127 : i % 3 == 1 ? -127 : (i * 31) % 255 - 127);
    }
    for (int i = 0; i < 16 * 3 * LONGEST; i++) {
        b[i] = (int8_t)(i % 5 < 2 ? -128 : i % 5 == 2 ? 127 : (i * 57) % 256 - 128);
    }
    EACH_LEVEL
    {
        for (int c = 0; c < 2 * 6; c++) {
            const int64_t block = lengths[c / 2], blocks = 3;
            float a_scales[3] = {0.5F, 2.0F, 0.125F}, b_scales[48], y[16];
            int32_t a_sums[3] = {7, -900, 31}, zeros[48];
            for (int i = 0; i < 48; i++) {
                b_scales[i] = 0.25F * (float)(i % 7 + 1);
                zeros[i] = i * 5 - 128;
            }
            const struct sc_code_dot dot = {.block = block,
                .blocks = blocks,
                .a = a,
                .b = b,
                .b_stride = blocks * block,
                .a_scales = a_scales,
                .b_scales = b_scales,
                .a_sums = a_sums,
                .zeros = c % 2 ? zeros : NULL};
            kernels->dot_codes(&dot, y);
            for (int column = 0; column < 16; column++) {
                double want = 0, size = 0;
                for (int64_t i = 0; i < blocks; i++) {
                    int32_t sum = c % 2 ? -zeros[16 * i + column] * a_sums[i] : 0;
                    for (int64_t k = i * block; k < (i + 1) * block; k++) {
                        sum += a[k] * b[column * blocks * block + k];
                    }
                    const double part = sum * (double)a_scales[i] * (double)b_scales[16 * i + column];
                    want += part;
                    size += fabs(part);
                }
                assert_true(fabs((double)y[column] - want) <= 4e-7 * size); /* three roundings of floats */
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_low_bits_first_less_the_middle),
        cmocka_unit_test(the_largest_of_a_block_becomes_127),
        cmocka_unit_test(what_is_no_number_stays_none),
        cmocka_unit_test(products_of_codes_are_exact_within_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
