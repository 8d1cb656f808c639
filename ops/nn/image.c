/* SPDX-License-Identifier: Apache-2.0
 * Which decoder it is. */
#include "ops/nn/image.h"

#include <string.h>

bool sc_image_room(struct sc_arena *arena, int64_t width, int64_t height, struct sc_image *image)
{
    if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX || width * height > 1 << 28) {
        return false;
    }
    *image = (struct sc_image){width, height, sc_arena_alloc(arena, 3 * (size_t)(width * height))};
    return image->rgb != NULL;
}

static const struct {
    const char *start;
    size_t offset, bytes;
    sc_image_fn *decode;
} formats[] = {
    {"\xff\xd8\xff", 0, 3, sc_image_jpeg},
    {"\x89PNG\r\n", 0, 6, sc_image_png},
    {"BM", 0, 2, sc_image_bmp},
    {"WEBP", 8, 4, sc_image_webp},
    {"II*\0", 0, 4, sc_image_tiff},
    {"MM\0*", 0, 4, sc_image_tiff},
    {"jP  ", 4, 4, sc_image_jpeg2000},
    {"\xff\x4f\xff\x51", 0, 4, sc_image_jpeg2000},
    {"P", 0, 1, sc_image_pnm},
};

bool sc_image_decode(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (bytes >= formats[i].offset + formats[i].bytes &&
            memcmp(data + formats[i].offset, formats[i].start, formats[i].bytes) == 0) {
            return formats[i].decode(data, bytes, arena, image);
        }
    }
    return false;
}

const char *sc_image_formats(void)
{
    return "BMP PNM"
#ifdef SC_HAVE_JPEG
           " JPEG"
#endif
#ifdef SC_HAVE_JPEG2000
           " JPEG2000"
#endif
#ifdef SC_HAVE_PNG
           " PNG"
#endif
#ifdef SC_HAVE_TIFF
           " TIFF"
#endif
#ifdef SC_HAVE_WEBP
           " WebP"
#endif
        ;
}
