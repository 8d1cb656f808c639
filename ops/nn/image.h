/* SPDX-License-Identifier: Apache-2.0
 * Encoded pictures in memory. One file a format; those that need a library that the build has not found decode
 * nothing. */
#ifndef SC_OPS_NN_IMAGE_H
#define SC_OPS_NN_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Rows from the top, three bytes a pixel: red, green, blue. */
struct sc_image {
    int64_t width, height;
    uint8_t *rgb;
};

/* False when the bytes are no such picture, broken, or too large; the arena may have grown. */
typedef bool sc_image_fn(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image);

sc_image_fn sc_image_bmp, sc_image_pnm, sc_image_jpeg, sc_image_jpeg2000, sc_image_png, sc_image_tiff, sc_image_webp;

/* Sets the size and gives memory for it; false when it is none, or past 2^28 pixels. */
bool sc_image_room(struct sc_arena *arena, int64_t width, int64_t height, struct sc_image *image);

/* Tells the format by the first bytes. */
bool sc_image_decode(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image);

/* "BMP PNM JPEG ...": what this build decodes. */
const char *sc_image_formats(void);

#endif
