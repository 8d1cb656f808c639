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

enum { LONGEST = 1024, BLOCKS = 3, ROWS = 19, PANELS = 5, N = 16 * PANELS };

static uint8_t entries[N * BLOCKS * LONGEST], packed[N * BLOCKS * LONGEST]; /* [k][N], and as kernels have them */

/* The largest codes more often than others. */
static void fill_panels(int bits, int64_t length)
{
    const int mask = (1 << bits) - 1, quads = 8 / bits;
    memset(packed, 0, sizeof packed);
    for (int64_t k = 0; k < length; k++) {
        for (int j = 0; j < N; j++) {
            const int64_t i = k * N + j, panel = j / 16 * length * 2 * bits;
            entries[i] = (uint8_t)(i % 5 < 2 ? mask : (i * 57) & mask);
            packed[panel + k / 4 / quads * 64 + j % 16 * 4 + k % 4] |= (uint8_t)(entries[i] << (k / 4 % quads * bits));
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
                struct sc_code_panels panel = {
                    .bits = bits, .block = block, .blocks = 64 / block, .codes = packed, .scales = scales, .zero = 8};
                panel.float_zeros = block == 32 ? zeros : NULL;
                fill_panels(bits, 64);
                to[16 * 64] = 99;
                kernels->widen_codes(&panel, to);
                for (int64_t k = 0; k < 64; k++) {
                    for (int64_t j = 0; j < 16; j++) {
                        const int64_t at = k / block * 16 + j;
                        const float want = ((float)entries[k * N + j] - (block == 32 ? zeros[at] : 8.0F)) * scales[at];
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
static float a_floats[ROWS * BLOCKS * LONGEST], a_scales[ROWS * BLOCKS], y[ROWS * N + 1];
static int32_t a_sums[ROWS * BLOCKS];

/* What goes with each panel lies in a place of its own, `STRIDE` bytes from the next. */
enum { STRIDE = 16 * BLOCKS * LONGEST };
static _Alignas(64) uint8_t panels_room[PANELS * STRIDE], zeros_room[PANELS * STRIDE];
static _Alignas(64) float scales_room[PANELS * STRIDE / 4], float_zeros_room[PANELS * STRIDE / 4];

static float scale_at(int64_t i, int64_t column)
{
    return scales_room[column / 16 * (STRIDE / 4) + 16 * i + column % 16];
}

enum zero_kind { ONE_ZERO, WHOLE_ZEROS, FLOAT_ZEROS, N_ZERO_KINDS };

static struct sc_code_panels set_panels(int bits, int64_t block, enum zero_kind kind)
{
    fill_panels(bits, BLOCKS * block);
    const int64_t bytes = BLOCKS * block * 2 * bits;
    for (int p = 0; p < PANELS; p++) {
        memcpy(panels_room + p * STRIDE, packed + p * bytes, (size_t)bytes);
        for (int i = 0; i < 16 * BLOCKS; i++) {
            scales_room[p * (STRIDE / 4) + i] = 0.25F * (float)((i + p) % 7 + 1);
            float_zeros_room[p * (STRIDE / 4) + i] = 0.75F * (float)((i + p) % 11);
            zeros_room[p * STRIDE + i] = (uint8_t)((i * 3 + p) % 16);
        }
    }
    return (struct sc_code_panels){.bits = bits,
        .block = block,
        .blocks = BLOCKS,
        .codes = panels_room,
        .scales = scales_room,
        .zeros = kind == WHOLE_ZEROS ? zeros_room : NULL,
        .float_zeros = kind == FLOAT_ZEROS ? float_zeros_room : NULL,
        .zero = (float)(1 << (bits - 1)),
        .panels = PANELS,
        .stride = STRIDE};
}

static double zero_at(const struct sc_code_panels *b, int64_t i, int64_t column)
{
    const int64_t panel = column / 16, at = 16 * (b->by_column ? 0 : i) + column % 16;
    return b->zeros      ? b->zeros[panel * STRIDE + at]
        : b->float_zeros ? (double)b->float_zeros[panel * (STRIDE / 4) + at]
                         : (double)b->zero;
}

static void check_dot(void (*run)(const struct sc_code_dot *dot), const struct sc_code_dot *dot)
{
    y[dot->rows * N] = 99;
    run(dot);
    assert_true(y[dot->rows * N] == 99);
    for (int64_t at = 0; at < dot->rows * N; at++) {
        const int64_t row = at / N, column = at % N;
        double want = 0, size = 0;
        for (int64_t i = 0; i < BLOCKS; i++) {
            int32_t sum = -(int32_t)zero_at(&dot->b, i, column) * a_sums[row * BLOCKS + i];
            for (int64_t k = i * dot->b.block; k < (i + 1) * dot->b.block; k++) {
                sum += a[row * dot->a_stride + k] * entries[k * N + column];
            }
            const double part = sum * (double)a_scales[row * BLOCKS + i] * (double)scale_at(i, column);
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
        a_floats[i] = 0.0625F * (float)((i * 37) % 255 - 127);
    }
    for (int i = 0; i < ROWS * BLOCKS; i++) {
        a_scales[i] = 0.125F * (float)(i % 5 + 1);
        a_sums[i] = i * 131 - 900;
    }
}

static struct sc_code_dot set_dot(int bits, int64_t block, enum zero_kind kind)
{
    return (struct sc_code_dot){.b = set_panels(bits, block, kind),
        .a_stride = BLOCKS * LONGEST,
        .a = a,
        .a_scales = a_scales,
        .a_sums = a_sums,
        .y = y,
        .y_stride = N};
}

/* The largest sums, zero points of each column or one, every length of a block, all numbers of rows. */
static void products_of_codes_are_exact_within_a_block(void **state)
{
    (void)state;
    static const int64_t lengths[] = {16, 32, 64, LONGEST};
    fill_rows();
    for (int c = 0; c < 3 * 4 * 2; c++) {
        struct sc_code_dot dot = set_dot(2 << c % 3, lengths[c / 3 % 4], c / 12 ? WHOLE_ZEROS : ONE_ZERO);
        EACH_LEVEL
        {
            for (dot.rows = 0; dot.rows <= ROWS; dot.rows += dot.b.block == LONGEST ? ROWS : 1) {
                check_dot(kernels->dot_codes, &dot);
                if (kernels->dot_codes_vnni && sc_kernels_have_vnni()) {
                    check_dot(kernels->dot_codes_vnni, &dot);
                }
            }
        }
    }
}

/* A row's and a panel's bits do not depend on their neighbours, nor on which instructions there are. */
static void rows_are_the_same_alone_and_together(void **state)
{
    (void)state;
    fill_rows();
    EACH_LEVEL
    {
        for (int vnni = 0; vnni <= (kernels->dot_codes_vnni && sc_kernels_have_vnni()); vnni++) {
            struct sc_code_dot dot = set_dot(4, 32, ONE_ZERO);
            dot.rows = ROWS;
            (vnni ? kernels->dot_codes_vnni : kernels->dot_codes)(&dot);
            dot.rows = dot.b.panels = 1;
            for (int at = 0; at < ROWS * PANELS; at++) {
                const int row = at / PANELS, panel = at % PANELS;
                float alone[16];
                dot.a = a + row * dot.a_stride;
                dot.a_scales = a_scales + row * BLOCKS;
                dot.a_sums = a_sums + row * BLOCKS;
                dot.b.codes = panels_room + panel * STRIDE;
                dot.b.scales = scales_room + panel * (STRIDE / 4);
                dot.y = alone;
                kernels->dot_codes(&dot);
                assert_memory_equal(alone, y + row * N + 16 * panel, sizeof alone);
            }
        }
    }
}

/* Widened panels and products of tiles: what dot_floats has to give to the last bit. */
static void multiply_in_steps(const struct sc_kernels *kernels, const struct sc_code_rows *r, float *to)
{
    static float wide[16 * BLOCKS * LONGEST];
    for (int p = 0; p < PANELS; p++) {
        struct sc_code_panels panel = r->b;
        panel.codes += p * STRIDE;
        panel.scales += p * (STRIDE / 4);
        panel.zeros = panel.zeros ? panel.zeros + p * STRIDE : NULL;
        panel.float_zeros = panel.float_zeros ? panel.float_zeros + p * (STRIDE / 4) : NULL;
        kernels->widen_codes(&panel, wide);
        const struct sc_gemm_tile tile = {.m = r->rows,
            .k = r->k,
            .panels = 1,
            .a = r->a,
            .a_stride = r->a_stride,
            .b = wide,
            .c = to + 16 * p,
            .c_stride = N,
            .n = 16};
        kernels->gemm_tile(&tile);
    }
}

/* Of all kinds of codes and zero points, rows that end anywhere in the last block, all numbers of rows and panels. */
static void floats_times_codes_are_products_of_the_widened(void **state)
{
    (void)state;
    static float want[ROWS * N];
    fill_rows();
    for (int c = 0; c < 3 * N_ZERO_KINDS * 2; c++) {
        struct sc_code_rows r = {.b = set_panels(2 << c % 3, c % 2 ? 64 : 16, (enum zero_kind)(c / 3 % N_ZERO_KINDS)),
            .a = a_floats,
            .a_stride = BLOCKS * LONGEST,
            .y = y,
            .y_stride = N};
        r.b.by_column = c % 4 == 3;
        EACH_LEVEL
        {
            for (int n = 0; n < 32; n++) {
                r.rows = n % 10;
                r.b.panels = 1 + n % PANELS;
                r.k = (BLOCKS - 1) * r.b.block + 1 + n * 7 % r.b.block;
                multiply_in_steps(kernels, &r, want);
                memset(y, 0, sizeof y);
                kernels->dot_floats(&r);
                for (int64_t row = 0; row < r.rows; row++) {
                    assert_memory_equal(y + row * N, want + row * N, (size_t)r.b.panels * 16 * sizeof(float));
                }
                assert_true(y[r.rows * N] == 0);
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
        cmocka_unit_test(floats_times_codes_are_products_of_the_widened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
