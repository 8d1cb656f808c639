/* SPDX-License-Identifier: Apache-2.0
 * ImageDecoder on pictures written byte by byte: two pixels, (255,0,0) and (1,2,3). The official cases have the formats
 * that need more bytes. */
#include "op_harness.h"
#include "ops/nn/image.h"

static const uint8_t png[] = {137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 1, 8,
    2, 0, 0, 0, 123, 64, 232, 221, 0, 0, 0, 15, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 192, 200, 196, 12, 0, 6,
    11, 1, 6, 4, 11, 153, 45, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130};

static const uint8_t bmp[] = {'B', 'M', 62, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0,
    24, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 3, 2, 1, 0, 0};

/* 4 bits a pixel, two colors, from the top: colors 1 and 0 */
static const uint8_t indexed[] = {'B', 'M', 66, 0, 0, 0, 0, 0, 0, 0, 62, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0, 255, 255,
    255, 255, 1, 0, 4, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 2, 1, 0, 0, 0, 255,
    0, 0x10, 0, 0, 0};

static void decode(
    const char *format, const void *bytes, int64_t n, int64_t width, int64_t channels, const double *wanted)
{
    struct op_test t;
    op_open(&t, "", "ImageDecoder", 20);
    if (format) {
        op_text(&t, "pixel_format", format);
    }
    op_in_raw(&t, SC_U8, 1, &n, bytes);
    op_passes(&t, 1);
    op_gives(&t, 0, SC_U8, OP_DIMS(width ? 1 : 0, width, channels), wanted, 0);
    op_close(&t);
}

static void pictures_become_pixels(void **state)
{
    (void)state;
    const double *rgb = OP_VALUES(255, 0, 0, 1, 2, 3);
    decode(NULL, bmp, sizeof bmp, 2, 3, rgb);
    decode("RGB", indexed, sizeof indexed, 2, 3, rgb);
    decode("BGR", bmp, sizeof bmp, 2, 3, OP_VALUES(0, 0, 255, 3, 2, 1));
    decode("Grayscale", bmp, sizeof bmp, 2, 1, OP_VALUES(76, 2));
    if (strstr(sc_image_formats(), " PNG")) {
        decode("RGB", png, sizeof png, 2, 3, rgb);
    }
}

static void portable_pictures_become_pixels(void **state)
{
    (void)state;
    static const char p3[] = "P3 # a comment\n2 1\n510 510 0 0 2 4 6", p6[] = "P6\n2 1\n255\n\xff\0\0\1\2\3";
    static const char p1[] = "P1 2 1\n10", p2[] = "P2 2 1 5 5 1", p4[] = "P4 2 1\n\x40",
                      p5[] = "P5 2 1 65535\n\xff\xff\0\0";
    decode("RGB", p3, sizeof p3 - 1, 2, 3, OP_VALUES(255, 0, 0, 1, 2, 3));
    decode("RGB", p6, sizeof p6 - 1, 2, 3, OP_VALUES(255, 0, 0, 1, 2, 3));
    decode("RGB", p1, sizeof p1 - 1, 2, 3, OP_VALUES(0, 0, 0, 255, 255, 255));
    decode("RGB", p2, sizeof p2 - 1, 2, 3, OP_VALUES(255, 255, 255, 51, 51, 51));
    decode("RGB", p4, sizeof p4 - 1, 2, 3, OP_VALUES(255, 255, 255, 0, 0, 0));
    decode("RGB", p5, sizeof p5 - 1, 2, 3, OP_VALUES(255, 255, 255, 0, 0, 0));
}

/* "If it can't decode for any reason, it will return an empty matrix": every picture cut at every byte, and starts of
 * formats with nothing behind them. */
static void what_cannot_be_decoded_is_empty(void **state)
{
    (void)state;
    static const char *const starts[] = {"", "B", "BM", "P", "P6", "P6 2 1", "P6 99999 99999 255 ", "P3 2 1 0 1 1 1",
        "no picture", "\xff\xd8\xff\xe0", "RIFF....WEBPVP8 ", "MM", "II*", "....jP  ", "\xff\x4f\xff\x51......"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        decode("RGB", starts[i], (int64_t)strlen(starts[i]), 0, 3, NULL);
    }
    for (int64_t n = 0; n < (int64_t)sizeof png - 12; n++) { /* the last chunk says nothing */
        decode("RGB", png, n, 0, 3, NULL);
    }
    for (int64_t n = 0; n < (int64_t)sizeof bmp; n++) {
        decode("Grayscale", bmp, n, 0, 1, NULL);
    }
}

/* Every byte of a picture changed: whatever comes out, nothing is read outside. */
static void damaged_pictures_are_pixels_or_empty(void **state)
{
    (void)state;
    uint8_t damaged[sizeof indexed];
    for (size_t at = 2; at < sizeof indexed; at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct sc_arena arena = {0};
            struct sc_image image = {0};
            memcpy(damaged, indexed, sizeof indexed);
            damaged[at] ^= (uint8_t)(1 << bit);
            if (sc_image_decode(damaged, sizeof damaged, &arena, &image)) {
                assert_true(image.width > 0 && image.height > 0 && image.rgb);
            }
            sc_arena_release(&arena);
        }
    }
}

static void other_pixel_formats_are_refused(void **state)
{
    (void)state;
    struct op_test t;
    op_open(&t, "", "ImageDecoder", 20);
    op_text(&t, "pixel_format", "CMYK");
    op_in_raw(&t, SC_U8, OP_DIMS((int64_t)sizeof bmp), bmp);
    op_fails(&t, 1, SC_BAD_MODEL, "node 'n' (ImageDecoder): pixel_format is 'CMYK', want RGB, BGR or Grayscale");
    op_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_become_pixels),
        cmocka_unit_test(portable_pictures_become_pixels),
        cmocka_unit_test(what_cannot_be_decoded_is_empty),
        cmocka_unit_test(damaged_pictures_are_pixels_or_empty),
        cmocka_unit_test(other_pixel_formats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
