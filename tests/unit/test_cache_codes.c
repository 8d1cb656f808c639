/* SPDX-License-Identifier: Apache-2.0
 * Claims about the codes of quantised caches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/kernels/cache_codes.h"
#include "tensor/value.h"

static void halves_go_to_even_and_what_does_not_fit_to_the_nearest(void **state)
{
    (void)state;
    const float x[7] = {1.25F, -1.25F, 1000.0F, -1000.0F, 0.1F, NAN, 3.0F};
    const float scales[7] = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.0F};
    uint8_t codes[7], halves[4];
    sc_codes_narrow(SC_I8, scales, 7, x, codes);
    assert_memory_equal(codes, ((int8_t[7]){2, -2, 127, -128, 0, -128, 3}), 7);
    sc_codes_narrow(SC_U8, scales, 7, x, halves);
    assert_memory_equal(halves, ((uint8_t[4]){0x6A, 0x0F, 0x08, 0x8B}), 4); /* low first, 8 more; an odd one beside 0 */
    const float wide[4] = {1.0F, -0.5F, 1e6F, -1e6F}, one[4] = {1, 0.5F, 1, 1};
    sc_codes_narrow(SC_F8E4M3FN, one, 4, wide, codes);
    assert_memory_equal(codes, ((uint8_t[4]){0x38, 0xB8, 0x7E, 0xFE}), 4); /* 1, -1, 448, -448 */
}

/* A row, and a page of keys that has the same bytes turned: the same numbers, on every level. */
static void rows_and_pages_stand_for_the_same_numbers(void **state)
{
    (void)state;
    enum { WIDTH = 37, HEADS = 2 };
    static const enum sc_type types[3] = {SC_I8, SC_U8, SC_F8E4M3FN};
    static float scales[HEADS * WIDTH], page[WIDTH * SC_PAGE_ROWS], row[WIDTH], expected[WIDTH];
    static uint8_t bytes[SC_PAGE_ROWS][WIDTH], turned[WIDTH][SC_PAGE_ROWS];
    for (int i = 0; i < HEADS * WIDTH; i++) {
        scales[i] = 0.01F * (float)(i + 1);
    }
    for (int i = 0; i < SC_PAGE_ROWS * WIDTH; i++) {
        bytes[i / WIDTH][i % WIDTH] = (uint8_t)(i * 89 % 127); /* no NaN of float8 */
        turned[i % WIDTH][i / WIDTH] = bytes[i / WIDTH][i % WIDTH];
    }
    for (int t = 0; t < 3; t++) {
        for (int isa = SC_ISA_BASE; isa < SC_ISA_N; isa++) {
            const struct sc_kernels *kernels = sc_kernels_at((enum sc_isa)isa);
            if (!kernels) {
                continue;
            }
            const struct sc_cache_codes codes = {.type = types[t], .width = WIDTH, .scales = scales};
            sc_codes_widen_page(kernels, &codes, 1, turned[0], page);
            for (int j = 0; j < SC_PAGE_ROWS; j++) {
                sc_codes_widen(kernels, &codes, 1, bytes[j], row);
                for (int d = 0; d < WIDTH; d++) {
                    const int whole = types[t] == SC_U8 ? (bytes[j][d / 2] >> 4 * (d % 2) & 15) - 8 : bytes[j][d];
                    expected[d] = (float)whole * scales[WIDTH + d];
                    assert_true(row[d] == page[d * SC_PAGE_ROWS + j]);
                }
                if (types[t] != SC_F8E4M3FN) {
                    assert_memory_equal(row, expected, sizeof row);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_go_to_even_and_what_does_not_fit_to_the_nearest),
        cmocka_unit_test(rows_and_pages_stand_for_the_same_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
