/* SPDX-License-Identifier: Apache-2.0
 * Kernels on bytes against plain loops, on every level: integers are exact. */
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

enum { ROWS = 19, PANELS = 8, QUADS = 9 };

static int8_t a[ROWS * QUADS * 4];
static uint8_t b[PANELS * QUADS * 64];

/* The ends of both ranges, where products of pairs leave 16 bits. */
static void fill(void)
{
    for (size_t i = 0; i < sizeof a; i++) {
        a[i] = (int8_t)(i % 7 < 3 ? -128 : i % 7 < 5 ? 127 : (int)(i * 31 % 256) - 128);
    }
    for (size_t i = 0; i < sizeof b; i++) {
        b[i] = (uint8_t)(i % 5 < 3 ? 255 : i * 57);
    }
}

static void check_tile(void (*run)(const struct sc_byte_tile *tile), int64_t m, int64_t panels, int64_t quads)
{
    static int32_t c[ROWS * PANELS * 16];
    const int64_t stride = PANELS * 16;
    memset(c, 0x5a, sizeof c);
    const struct sc_byte_tile tile = {.m = m,
        .quads = quads,
        .panels = panels,
        .a = a,
        .a_stride = (int64_t)QUADS * 4,
        .b = b,
        .panel_stride = (int64_t)QUADS * 64,
        .c = c,
        .c_stride = stride};
    run(&tile);
    for (int64_t at = 0; at < ROWS * stride; at++) {
        const int64_t row = at / stride, column = at % stride;
        int32_t sum = 0;
        for (int64_t k = 0; k < quads * 4; k++) {
            const int64_t panel = column / 16 * QUADS * 64;
            sum += a[row * QUADS * 4 + k] * b[panel + k / 4 * 64 + column % 16 * 4 + k % 4];
        }
        assert_int_equal(c[at], row < m && column < panels * 16 ? sum : 0x5a5a5a5a);
    }
}

static void tiles_are_exact_for_all_numbers_of_rows_and_panels(void **state)
{
    (void)state;
    fill();
    EACH_LEVEL
    {
        for (int64_t m = 0; m <= ROWS; m++) {
            for (int64_t panels = 1; panels <= PANELS; panels++) {
                check_tile(kernels->byte_tile, m, panels, m % QUADS);
                if (kernels->byte_tile_vnni && sc_kernels_have_vnni()) {
                    check_tile(kernels->byte_tile_vnni, m, panels, m % QUADS);
                }
            }
        }
    }
}

static void quads_interleave_rows_and_add_to_their_sums(void **state)
{
    (void)state;
    fill();
    EACH_LEVEL
    {
        for (int turn = 0; turn <= 0x80; turn += 0x80) {
            const uint8_t *rows[4] = {b, b + 17, b + 40, b + 3};
            uint8_t to[64];
            int32_t sums[16];
            for (int j = 0; j < 16; j++) {
                sums[j] = j;
            }
            kernels->byte_quads(rows, (uint8_t)turn, to, turn ? sums : NULL);
            for (int j = 0; j < 16; j++) {
                int32_t sum = j;
                for (int i = 0; i < 4; i++) {
                    assert_int_equal(to[4 * j + i], rows[i][j] ^ turn);
                    sum += to[4 * j + i];
                }
                assert_int_equal(sums[j], turn ? sum : j);
            }
        }
    }
}

static void a_row_is_turned_and_summed(void **state)
{
    (void)state;
    fill();
    int8_t y[71];
    EACH_LEVEL
    {
        for (int n = 0; n <= 70; n++) {
            int32_t sum = 0;
            y[n] = 99;
            const int32_t got = kernels->byte_row(b, n, 0x80, y);
            for (int i = 0; i < n; i++) {
                assert_int_equal(y[i], b[i] - 128);
                sum += y[i];
            }
            assert_int_equal(got, sum);
            assert_int_equal(y[n], 99);
        }
    }
}

/* Windows of seven entries at sixteen positions in runs of 5, 5 and 6. */
static void windows_of_runs_become_quads(void **state)
{
    (void)state;
    fill();
    static const int64_t offsets[7] = {0, 1, 2, 30, 31, 32, 200};
    EACH_LEVEL
    {
        for (int64_t step = 1; step <= 3; step++) {
            struct sc_byte_windows windows = {.x = b, .offsets = offsets, .k = 7, .step = step, .n_runs = 3};
            int32_t sums[16] = {0};
            uint8_t to[128];
            for (int r = 0; r < 3; r++) {
                windows.runs[r].from = 60 * r;
                windows.runs[r].at = 5 * r;
                windows.runs[r].n = r < 2 ? 5 : 6;
            }
            windows.sums = sums;
            kernels->gather_bytes(&windows, to);
            for (int j = 0; j < 16; j++) {
                const int run = j < 10 ? j / 5 : 2;
                int32_t sum = 0;
                for (int k = 0; k < 8; k++) {
                    const int want = k < 7 ? b[offsets[k] + 60 * run + (j - 5 * run) * step] : 0;
                    assert_int_equal(to[k / 4 * 64 + j * 4 + k % 4], want);
                    sum += want;
                }
                assert_int_equal(sums[j], sum);
            }
        }
    }
}

static void taps_are_summed_at_every_step(void **state)
{
    (void)state;
    fill();
    static const int64_t offsets[5] = {0, 1, 60, 61, 300};
    static const int8_t w[5] = {-128, 127, 3, 0, -7};
    int32_t sums[71];
    EACH_LEVEL
    {
        for (int n = 0; n <= 70; n++) {
            struct sc_byte_taps taps = {.x = b, .offsets = offsets, .n_taps = 5, .step = n % 4 + 1, .n = n};
            taps.w = n % 3 ? w : NULL;
            sums[n] = 99;
            kernels->byte_taps(&taps, sums);
            for (int i = 0; i < n; i++) {
                int32_t sum = 0;
                for (int t = 0; t < 5; t++) {
                    sum += (n % 3 ? w[t] : 1) * b[offsets[t] + i * taps.step];
                }
                assert_int_equal(sums[i], sum);
            }
            assert_int_equal(sums[n], 99);
        }
    }
}

static void shifts_wrap_around(void **state)
{
    (void)state;
    int32_t x[40], y[40], c[41];
    for (int i = 0; i < 40; i++) {
        x[i] = i * 123456789;
        y[i] = -i * 987654321;
    }
    EACH_LEVEL
    {
        for (int n = 0; n <= 40; n++) {
            const struct sc_sum_shift shift = {.add = INT32_MAX, .factor = {77, -5}, .x = {x, n % 2 ? y : NULL}};
            for (int i = 0; i <= 40; i++) {
                c[i] = i * 1000003;
            }
            kernels->shift_sums(&shift, c, n);
            for (int i = 0; i <= 40; i++) {
                const uint32_t want = (uint32_t)i * 1000003U + (uint32_t)INT32_MAX + (uint32_t)x[i % 40] * 77U +
                    (n % 2 ? (uint32_t)y[i % 40] * (uint32_t)-5 : 0U);
                assert_int_equal((uint32_t)c[i], i < n ? want : (uint32_t)i * 1000003U);
            }
        }
    }
}

static void sums_become_bytes_half_to_even_within_the_type(void **state)
{
    (void)state;
    static const int32_t sums[] = {0, 1, 2, 3, 5, -1, -3, 1000, -1000, INT32_MAX, INT32_MIN, 508, 510, 511};
    enum { N = sizeof sums / sizeof *sums };
    double factors[N];
    uint8_t y[N];
    for (int i = 0; i < N; i++) {
        factors[i] = i % 2 ? 0.5 : 1e300;
    }
    factors[3] = (double)NAN;
    EACH_LEVEL
    {
        for (int c = 0; c < 4; c++) {
            struct sc_byte_rounding rounding = {.bias = 2, .zero = 3, .factors = factors + 1, .is_signed = c / 2};
            if (c % 2) {
                rounding.factors = factors;
                rounding.factor_step = 1;
            }
            kernels->sums_to_bytes(&rounding, sums, N, y);
            for (int i = 0; i < N; i++) {
                const double low = c / 2 ? -128 : 0, high = c / 2 ? 127 : 255;
                const double value = rint((sums[i] + 2.0) * (c % 2 ? factors[i] : 0.5)) + 3;
                const int want = (int)(value >= low ? fmin(value, high) : low);
                assert_int_equal(c / 2 ? (int8_t)y[i] : y[i], want);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_exact_for_all_numbers_of_rows_and_panels),
        cmocka_unit_test(quads_interleave_rows_and_add_to_their_sums),
        cmocka_unit_test(a_row_is_turned_and_summed),
        cmocka_unit_test(windows_of_runs_become_quads),
        cmocka_unit_test(taps_are_summed_at_every_step),
        cmocka_unit_test(shifts_wrap_around),
        cmocka_unit_test(sums_become_bytes_half_to_even_within_the_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
