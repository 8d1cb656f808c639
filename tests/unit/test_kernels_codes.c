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

enum { LONGEST = 1024, BLOCKS = 3, ROWS = 19 };

static uint8_t entries[16 * BLOCKS * LONGEST], packed[16 * BLOCKS * LONGEST]; /* [k][16], and as kernels have them */

/* The largest codes more often than others. */
static void fill_panel(int bits, int64_t length)
{
    const int mask = (1 << bits) - 1, quads = 8 / bits;
    memset(packed, 0, sizeof packed);
    for (int64_t k = 0; k < length; k++) {
        for (int j = 0; j < 16; j++) {
            const int64_t i = k * 16 + j;
            entries[i] = (uint8_t)(i % 5 < 2 ? mask : (i * 57) & mask);
            packed[k / 4 / quads * 64 + 4 * j + k % 4] |= (uint8_t)(entries[i] << (k / 4 % quads * bits));
        }
    }
}

static void codes_become_floats(void **state)
{
    (void)state;
    static float to[16 * 64 + 1];
    float scales[64], zeros[64];
    for (int i = 0; i < 64; i++) {
        scales[i] = 0.1F * (float)(i % 9 + 1);
        zeros[i] = 0.5F * (float)(i % 11);
    }
    EACH_LEVEL
    {
        for (int bits = 2; bits <= 8; bits *= 2) {
            for (int64_t block = 16; block <= 64; block *= 2) {
                struct sc_code_panel panel = {
                    .bits = bits, .block = block, .blocks = 64 / block, .codes = packed, .scales = scales, .zero = 8};
                panel.zeros = block == 32 ? zeros : NULL;
                fill_panel(bits, 64);
                to[16 * 64] = 99;
                kernels->widen_codes(&panel, to);
                for (int64_t k = 0; k < 64; k++) {
                    for (int64_t j = 0; j < 16; j++) {
                        const int64_t at = k / block * 16 + j;
                        const float want = ((float)entries[k * 16 + j] - (block == 32 ? zeros[at] : 8.0F)) * scales[at];
                        assert_true(to[k * 16 + j] == want);
                    }
                }
                assert_true(to[16 * 64] == 99);
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

static int8_t a[ROWS * BLOCKS * LONGEST];
static float a_scales[ROWS * BLOCKS], b_scales[16 * BLOCKS], y[ROWS * 16 + 1];
static int32_t a_sums[ROWS * BLOCKS], zeros[16 * BLOCKS];

static void check_dot(void (*run)(const struct sc_code_dot *dot), const struct sc_code_dot *dot)
{
    y[dot->rows * 16] = 99;
    run(dot);
    assert_true(y[dot->rows * 16] == 99);
    for (int64_t at = 0; at < dot->rows * 16; at++) {
        const int64_t row = at / 16, column = at % 16;
        double want = 0, size = 0;
        for (int64_t i = 0; i < dot->blocks; i++) {
            const int32_t zero = dot->zeros ? dot->zeros[16 * i + column] : dot->zero;
            int32_t sum = -zero * a_sums[row * dot->blocks + i];
            for (int64_t k = i * dot->block; k < (i + 1) * dot->block; k++) {
                sum += a[row * dot->a_stride + k] * entries[k * 16 + column];
            }
            const double part = sum * (double)a_scales[row * dot->blocks + i] * (double)b_scales[16 * i + column];
            want += part;
            size += fabs(part);
        }
        assert_true(fabs((double)y[at] - want) <= 4e-7 * size); /* three roundings of floats */
    }
}

static void fill_rows(void)
{
    for (int i = 0; i < ROWS * BLOCKS * LONGEST; i++) {
        a[i] = (int8_t)(i % 3 == 0 ? 127 : i % 3 == 1 ? -127 : (i * 31) % 255 - 127);
    }
    for (int i = 0; i < ROWS * BLOCKS; i++) {
        a_scales[i] = 0.125F * (float)(i % 5 + 1);
        a_sums[i] = i * 131 - 900;
    }
    for (int i = 0; i < 16 * BLOCKS; i++) {
        b_scales[i] = 0.25F * (float)(i % 7 + 1);
        zeros[i] = i % 16;
    }
}

/* The largest sums, zero points of each column or one, every length of a block, all numbers of rows. */
static void products_of_codes_are_exact_within_a_block(void **state)
{
    (void)state;
    static const int64_t lengths[] = {16, 32, 64, LONGEST};
    fill_rows();
    for (int c = 0; c < 3 * 4 * 2; c++) {
        const int bits = 2 << c % 3;
        struct sc_code_dot dot = {.bits = bits,
            .block = lengths[c / 3 % 4],
            .blocks = BLOCKS,
            .a_stride = BLOCKS * LONGEST,
            .a = a,
            .a_scales = a_scales,
            .a_sums = a_sums,
            .b = packed,
            .b_scales = b_scales,
            .zeros = c / 12 ? zeros : NULL,
            .zero = 1 << (bits - 1),
            .y = y};
        fill_panel(bits, BLOCKS * dot.block);
        EACH_LEVEL
        {
            for (dot.rows = 0; dot.rows <= ROWS; dot.rows += dot.block == LONGEST ? ROWS : 1) {
                check_dot(kernels->dot_codes, &dot);
                if (kernels->dot_codes_vnni && sc_kernels_have_vnni()) {
                    check_dot(kernels->dot_codes_vnni, &dot);
                }
            }
        }
    }
}

/* A row's bits do not depend on its neighbours, nor on which instructions there are. */
static void rows_are_the_same_alone_and_together(void **state)
{
    (void)state;
    fill_rows();
    fill_panel(4, 96);
    EACH_LEVEL
    {
        for (int vnni = 0; vnni <= (kernels->dot_codes_vnni && sc_kernels_have_vnni()); vnni++) {
            struct sc_code_dot dot = {.bits = 4,
                .block = 32,
                .blocks = 3,
                .rows = ROWS,
                .a_stride = 96,
                .a = a,
                .a_scales = a_scales,
                .a_sums = a_sums,
                .b = packed,
                .b_scales = b_scales,
                .zero = 8,
                .y = y};
            (vnni ? kernels->dot_codes_vnni : kernels->dot_codes)(&dot);
            for (int row = 0; row < ROWS; row++) {
                float alone[16];
                dot.rows = 1;
                dot.a = a + row * 96;
                dot.a_scales = a_scales + row * 3;
                dot.a_sums = a_sums + row * 3;
                dot.y = alone;
                kernels->dot_codes(&dot);
                assert_memory_equal(alone, y + row * 16, sizeof alone);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_become_floats),
        cmocka_unit_test(the_largest_of_a_block_becomes_127),
        cmocka_unit_test(what_is_no_number_stays_none),
        cmocka_unit_test(products_of_codes_are_exact_within_a_block),
        cmocka_unit_test(rows_are_the_same_alone_and_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
