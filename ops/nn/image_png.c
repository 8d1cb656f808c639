/* SPDX-License-Identifier: Apache-2.0
 * PNG by libpng; transparency is dropped. */
#include "ops/nn/image.h"

#ifdef SC_HAVE_PNG
#include <png.h>

bool sc_image_png(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&png, data, bytes)) {
        return false;
    }
    png.format = PNG_FORMAT_RGBA;
    const bool fits = sc_image_room(arena, png.width, png.height, image);
    uint8_t *rgba = fits ? sc_arena_alloc(arena, PNG_IMAGE_SIZE(png)) : NULL;
    if (!rgba || !png_image_finish_read(&png, NULL, rgba, 0, NULL)) {
        png_image_free(&png);
        return false;
    }
    for (int64_t i = 0; i < image->width * image->height; i++) {
        for (int c = 0; c < 3; c++) {
            image->rgb[3 * i + c] = rgba[4 * i + c];
        }
    }
    return true;
}
#else
bool sc_image_png(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    (void)data, (void)bytes, (void)arena, (void)image;
    return false;
}
#endif
