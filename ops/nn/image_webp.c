/* SPDX-License-Identifier: Apache-2.0
 * WebP by libwebp; transparency is dropped. */
#include "ops/nn/image.h"

#ifdef SC_HAVE_WEBP
#include <webp/decode.h>

bool sc_image_webp(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    int width, height;
    return WebPGetInfo(data, bytes, &width, &height) && sc_image_room(arena, width, height, image) &&
        WebPDecodeRGBInto(data, bytes, image->rgb, 3 * (size_t)width * (size_t)height, 3 * width) != NULL;
}
#else
bool sc_image_webp(const uint8_t *data, size_t bytes, struct sc_arena *arena, struct sc_image *image)
{
    (void)data, (void)bytes, (void)arena, (void)image;
    return false;
}
#endif
